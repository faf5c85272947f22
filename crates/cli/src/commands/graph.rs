//! `graph`: draws a workflow.

use interlock_core::{event::Event, machine::Machine};
use interlock_graph::Graph;
use interlock_store::EventLog as _;

use crate::{
    app::App,
    args::{GraphArgs, GraphFormat},
    failure::{Done, Failure},
    live::{self, Live},
};

pub(crate) fn run(app: &App, args: &GraphArgs) -> Done {
    let text = match (&args.run, &args.workflow) {
        (Some(run), workflow) => of_run(app, run, workflow.as_deref(), args.format)?,
        (None, workflow) => {
            let workflow = workflow.clone().map_or_else(|| app.own_workflow(), Ok)?;
            let loaded = live::load_to_read(app, &workflow)?;
            draw(&loaded.machine, None, &[], args.format)
        }
    };
    match &args.output {
        Some(path) => {
            let written = std::fs::write(path, text);
            Ok(written.map_err(|error| {
                anyhow::anyhow!("`{}` cannot be written: {error}", path.display())
            })?)
        }
        None => app.output.document(&text),
    }
}

/// Draws a run; `workflow` says which workflow it belongs to, if several have its name.
fn of_run(
    app: &App,
    run: &str,
    workflow: Option<&str>,
    format: GraphFormat,
) -> Result<String, Failure> {
    let live = match workflow {
        Some(workflow) => of_workflow(app, run, workflow)?,
        None => live::open(app, Some(run))?,
    };
    let events: Vec<Event> = live
        .log
        .events(0)
        .map(|recorded| recorded.map(|recorded| recorded.event))
        .collect::<Result<_, _>>()?;
    Ok(draw(&live.machine, Some(&live.run), &events, format))
}

fn of_workflow(app: &App, run: &str, workflow: &str) -> Result<Live, Failure> {
    let machine = live::load_to_read(app, workflow)?.machine.id;
    let full = format!("{machine}/{run}");
    let live = live::open(app, Some(&full)).or_else(|_| live::open(app, Some(run)))?;
    if live.machine.id == machine {
        return Ok(live);
    }
    Err(anyhow::anyhow!(
        "run `{run}` belongs to `{}`, not to `{machine}`: leave out the workflow",
        live.machine.id
    )
    .into())
}

/// Draws a machine, with the current state of a run.
pub(crate) fn draw(
    machine: &Machine,
    run: Option<&interlock_core::run::Run>,
    taken: &[Event],
    format: GraphFormat,
) -> String {
    let graph = Graph::of(machine, run, taken);
    match format {
        GraphFormat::Mermaid => graph.mermaid(),
        GraphFormat::Dot => graph.dot(),
        GraphFormat::Svg => graph.svg(),
    }
}
