//! `run`: carries a workflow of steps out.

use crate::{
    app::App,
    args::CarryArgs,
    authority,
    durable::{self, Terms},
    failure::{Done, Failure},
};

pub(crate) fn run(app: &App, args: &CarryArgs) -> Done {
    let terms = Terms {
        headless: args.headless,
        json: args.json,
    };
    authority::not_below_an_agent(app)?;
    let Some(workflow) = &args.workflow else {
        return Err(Failure::usage(anyhow::anyhow!("name a workflow")));
    };
    let steps = durable::of_steps(app, workflow)?;
    if args.text.is_some() || args.input.is_some() {
        return Err(Failure::usage(anyhow::anyhow!(
            "`{}` takes no text: its variables are set with `--var NAME=VALUE`",
            steps.loaded.machine.id
        )));
    }
    let started = durable::begin(app, &steps, args)?;
    durable::carry(app, started.log, &steps.loaded.machine, terms)
}
