//! `list`: one line a run.

use interlock_store::{Listed, RunSummary};
use serde_json::{Value, json};

use crate::{app::App, args::ListArgs, commands::log::time, failure::Done, output::Style};

pub(crate) fn run(app: &App, args: &ListArgs) -> Done {
    let project = app.project();
    let runs = app.home()?.list_runs()?;
    let damaged = |run: &RunSummary| matches!(run.listed, Listed::Damaged { .. });
    for run in runs
        .iter()
        .filter(|run| args.all || run.is_of(&project) || damaged(run))
    {
        let line = line(run);
        if args.json {
            app.output.json(&line)?;
        } else {
            app.output.line(&sentence(app, &line))?;
        }
    }
    Ok(())
}

fn line(run: &RunSummary) -> Value {
    match &run.listed {
        Listed::Damaged { why } => json!({ "run": run.id, "status": "damaged", "message": why }),
        Listed::Known(card) => json!({
            "run": run.id,
            "workflow": card.workflow,
            "name": card.name,
            "project": card.project_root,
            "created": time(card.created_ms),
            "state": card.state.join(", "),
            "status": card.status,
            "events": card.events,
        }),
    }
}

fn sentence(app: &App, line: &Value) -> String {
    let get = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    let id = app.output.styled(Style::Bold, get("run"));
    if get("status") == "damaged" {
        return format!(
            "{id}  {}  {}",
            app.output.styled(Style::Red, "damaged"),
            get("message")
        );
    }
    let name = if get("name").is_empty() {
        String::new()
    } else {
        format!(" ({})", get("name"))
    };
    format!(
        "{id}  {:<18} {}{name} in {}  {}",
        get("status"),
        get("workflow"),
        get("state"),
        get("created")
    )
}
