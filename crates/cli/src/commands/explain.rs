//! `explain`: shows what a shell line would do in a state, and which rule decides.

use interlock_confine::shell_of_person;
use interlock_facts::RealDisk;
use interlock_shell::Dialect;
use interlock_simulate::{Scenario, explain};

use crate::{
    app::{App, variable},
    args::{ExplainArgs, ShellName},
    commands::simulate::setting,
    failure::{Done, Failure},
    live,
};

pub(crate) fn run(app: &App, args: &ExplainArgs) -> Done {
    let loaded = live::load(app, &args.workflow)?;
    let setting = Scenario {
        shell: shell(args.shell),
        variables: std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .collect(),
        ..setting(app, args.level)
    };
    let explanation = explain(
        &loaded.machine,
        &args.state,
        &args.line,
        &setting,
        &RealDisk,
    )
    .map_err(Failure::usage)?;
    if args.json {
        return app.output.json(&explanation);
    }
    app.output
        .painted(&format!("{}\n", explanation.render(app.output.colours())))
}

/// Returns the shell to assume: by default the person's own.
fn shell(named: Option<ShellName>) -> Dialect {
    match named {
        Some(ShellName::Bash) => Dialect::Bash,
        Some(ShellName::Zsh) => Dialect::Zsh,
        Some(ShellName::Sh | ShellName::Dash) => Dialect::Posix,
        None => shell_of_person(|name| variable(name)?.into_string().ok()),
    }
}
