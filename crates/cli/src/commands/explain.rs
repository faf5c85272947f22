//! `explain`: what a shell line would do in a state, and which rule decides.

use interlock_facts::RealDisk;
use interlock_simulate::explain;

use crate::{
    app::App,
    args::ExplainArgs,
    commands::simulate::setting,
    failure::{Done, Failure},
    live,
};

pub(crate) fn run(app: &App, args: &ExplainArgs) -> Done {
    let loaded = live::load(app, &args.workflow)?;
    let explanation = explain(
        &loaded.machine,
        &args.state,
        &args.line,
        &setting(app, args.level),
        &RealDisk,
    )
    .map_err(Failure::usage)?;
    if args.json {
        return app.output.json(&explanation);
    }
    app.output
        .painted(&format!("{}\n", explanation.render(app.output.colours())))
}
