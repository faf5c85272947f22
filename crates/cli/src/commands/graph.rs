//! `graph`: a workflow as a picture.

use interlock_core::{event::Event, machine::Machine};
use interlock_graph::Graph;
use interlock_store::EventLog as _;

use crate::{
    app::App,
    args::{GraphArgs, GraphFormat},
    failure::{Done, Failure},
    live,
};

pub(crate) fn run(app: &App, args: &GraphArgs) -> Done {
    let text = match (&args.run, &args.workflow) {
        (Some(run), _) => of_run(app, run, args.format)?,
        (None, Some(workflow)) => {
            let loaded = live::load_to_read(app, workflow)?;
            draw(&loaded.machine, None, &[], args.format)
        }
        (None, None) => {
            return Err(Failure::usage(anyhow::anyhow!(
                "name a workflow, or a run with --run"
            )));
        }
    };
    match &args.output {
        Some(path) => {
            let written = std::fs::write(path, text);
            Ok(written.map_err(|error| {
                anyhow::anyhow!("`{}` cannot be written: {error}", path.display())
            })?)
        }
        None => app.output.text(&text),
    }
}

fn of_run(app: &App, run: &str, format: GraphFormat) -> Result<String, Failure> {
    let live = live::open(app, Some(run))?;
    let events: Vec<Event> = live
        .log
        .events(0)
        .map(|recorded| recorded.map(|recorded| recorded.event))
        .collect::<Result<_, _>>()?;
    Ok(draw(&live.machine, Some(&live.run), &events, format))
}

/// Draws a machine, and where a run stands in it.
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
