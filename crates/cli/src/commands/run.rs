//! `run`: runs a workflow of steps.

use interlock_formats::load;

use crate::{
    app::App,
    args::CarryArgs,
    authority,
    durable::{self, Terms, Wishes},
    failure::{Done, Failure},
    live,
};

pub(crate) fn run(app: &App, args: &CarryArgs) -> Done {
    let terms = Terms {
        headless: args.headless,
        json: args.json,
        stages: args.stages.clone(),
    };
    if let Some(name) = &args.resume {
        return resume(app, args, name, &terms);
    }
    authority::not_below_an_agent(app)?;
    let Some(workflow) = &args.workflow else {
        return Err(Failure::usage(anyhow::anyhow!("name a workflow")));
    };
    let steps = durable::of_steps(app, workflow, args.strict)?;
    if (args.text.is_some() || args.input.is_some()) && !steps.takes_text() {
        return Err(Failure::usage(anyhow::anyhow!(
            "`{}` takes no text: its variables are set with `--var NAME=VALUE`",
            steps.loaded.machine.id
        )));
    }
    let begun = durable::begin(app, &steps, args, &terms)?;
    durable::carry(app, begun, &steps.loaded.machine, &terms)
}

/// Continues a run instead of starting one, which only a person may do.
fn resume(app: &App, args: &CarryArgs, name: &str, terms: &Terms) -> Done {
    let by = authority::person(app, None)?;
    let wanted = match &args.workflow {
        Some(workflow) => format!("{}/{name}", called(app, workflow)),
        None => name.to_owned(),
    };
    let live = live::open(app, Some(&wanted))?;
    if !live.machine.durable {
        return Err(Failure::usage(anyhow::anyhow!(
            "`{name}` guards an agent: continue it with `interlock resume {name}`"
        )));
    }
    let wishes = Wishes {
        by,
        variables: args.variables.clone(),
        ..Wishes::default()
    };
    durable::proceed(app, live, &wishes, terms)
}

/// Returns the name of a workflow whose file may be malformed or gone.
fn called(app: &App, workflow: &str) -> String {
    let library = app.library_to_read();
    let loaded = library
        .open(workflow)
        .ok()
        .and_then(|source| load(&source, None, &library).ok());
    loaded.map_or_else(
        || workflow.to_owned(),
        |loaded| loaded.machine.id.to_string(),
    )
}
