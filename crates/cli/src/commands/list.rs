//! `runs`: prints one line per run; `list`: also prints the workflows of steps first.

use std::path::{Path, PathBuf};

use interlock_core::{names::RunId, place::titles};
use interlock_formats::{Source, Workflows as _, description_of, parent_of};
use interlock_project::{Library, Origin};
use interlock_runner::holder;
use interlock_store::{EventLog as _, Home, Listed, RunCard, RunSummary};
use interlock_view::report::state_paths;
use serde_json::{Value, json};

use crate::{
    app::App,
    args::ListArgs,
    failure::{Done, Failure},
    live::put,
    log_line::time,
    output::Style,
    standing::{Wait, attempt_sentence, attempts, waits},
};

pub(crate) fn run(app: &App, args: &ListArgs) -> Done {
    if !args.json && !args.paused {
        workflows(app)?;
    }
    runs(app, args)
}

/// Lists only the runs.
pub(crate) fn runs(app: &App, args: &ListArgs) -> Done {
    let home = app.home()?;
    let roots = [app.project(), app.flow_project()];
    let here: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let of_here = |run: &RunSummary| here.iter().any(|root| run.is_of(root));
    let runs = match args.all {
        true => home.list_runs()?,
        false => home.list_runs_in(&here, |_| true)?,
    };
    for run in runs {
        let wanted = match run.listed.card() {
            None => !args.paused,
            Some(card) => {
                let is_open = !card.is_over();
                (args.all && !args.paused) || (is_open && (args.all || of_here(&run)))
            }
        };
        if !wanted {
            continue;
        }
        let line = line(&home, &run);
        if args.paused && !waits_for_a_person(&line) {
            continue;
        }
        if args.json {
            app.output.json(&line)?;
        } else {
            app.output.line(&sentence(app, &line))?;
        }
    }
    Ok(())
}

/// Returns whether only a person can continue the run; this includes a run of steps that no process runs.
fn waits_for_a_person(line: &Value) -> bool {
    let status = line.get("status").and_then(Value::as_str);
    let is_left = line.get("runner").is_some_and(Value::is_null);
    is_left || matches!(status, Some("waiting" | "paused" | "awaiting_approval"))
}

/// Lists the workflows of steps.
fn workflows(app: &App) -> Done {
    let library = app.library_to_read();
    for entry in library.list() {
        if entry.origin == Origin::Shipped {
            continue;
        }
        let Ok(source) = library.open_named(&entry.name) else {
            continue;
        };
        if !interlock_formats::is_of_steps(&source) {
            continue;
        }
        let parent = parent(&library, &source);
        let hidden: Vec<String> = library
            .hidden(&entry.name)
            .iter()
            .map(|path| format!("`{}`", shown(app, path)))
            .collect();
        let hides = if hidden.is_empty() {
            String::new()
        } else {
            format!("  hides {}", hidden.join(", "))
        };
        let name = app.output.styled(Style::Bold, &entry.name);
        let file = shown(app, Path::new(&source.name));
        let about = description_of(&source)
            .and_then(|text| text.lines().next().map(|line| format!("  {}", line.trim())))
            .unwrap_or_default();
        app.output
            .line(&format!("{name}{parent}  {file}{about}{hides}"))?;
    }
    Ok(())
}

/// Names the parent of a workflow.
fn parent(library: &Library, source: &Source) -> String {
    let Some(parent) = parent_of(source) else {
        return String::new();
    };
    match library.resolve(source, &parent) {
        Some(Ok(_)) => format!(" (extends {parent})"),
        _ => format!(" (extends {parent}, which is missing)"),
    }
}

/// Shortens a path relative to the current directory.
fn shown(app: &App, path: &Path) -> String {
    let relative = path.strip_prefix(&app.directory).unwrap_or(path);
    relative.display().to_string()
}

fn line(home: &Home, run: &RunSummary) -> Value {
    match &run.listed {
        Listed::Damaged { .. } | Listed::Unreachable { .. } => {
            let (status, why) = run.listed.problem().unwrap_or_default();
            json!({ "run": run.id, "status": status, "message": why })
        }
        Listed::Known(card) => {
            let mut line = known(run, card);
            if !card.is_over() && home.is_durable(&run.id) {
                // A run that ended or was removed meanwhile is listed as it was.
                let _ = of_steps(home, &run.id, &mut line);
            }
            line
        }
    }
}

fn known(run: &RunSummary, card: &RunCard) -> Value {
    json!({
        "run": run.id,
        "workflow": card.workflow,
        "name": card.name,
        "project": card.project_root,
        "created": time(card.created_ms),
        "state": card.state.join(", "),
        "status": card.status,
        "events": card.events,
    })
}

/// Adds what a run of steps waits for, since when, and which process runs it.
fn of_steps(home: &Home, run: &RunId, line: &mut Value) -> Result<(), Failure> {
    let log = home.open_run(run)?;
    let (machine, run) = (log.machine()?, log.load()?);
    let attempts = attempts(&log, &machine, &run)?;
    let titles = titles(&machine, &run);
    if titles != state_paths(&machine, &run).0 {
        put(line, "titles", json!(titles));
    }
    put(line, "attempts", Value::Array(attempts));
    let waits = waits(&machine, &run);
    put(
        line,
        "waits",
        waits.iter().map(Wait::line).collect::<Value>(),
    );
    put(line, "runner", json!(holder(log.folder().work())));
    Ok(())
}

fn sentence(app: &App, line: &Value) -> String {
    let get = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    let id = app.output.styled(Style::Bold, get("run"));
    if let status @ ("damaged" | "unreachable") = get("status") {
        return format!(
            "{id}  {}  {}",
            app.output.styled(Style::Red, status),
            get("message")
        );
    }
    let name = if get("name").is_empty() {
        String::new()
    } else {
        format!(" ({})", get("name"))
    };
    format!(
        "{id}  {:<18} {}{name} in {}  {}{}",
        get("status"),
        get("workflow"),
        state(line),
        get("created"),
        remarks(line)
    )
}

/// Names the current states of a run by their titles.
fn state(line: &Value) -> String {
    let titles = line.get("titles").and_then(Value::as_array);
    let titles = titles.map(|titles| titles.iter().filter_map(Value::as_str));
    let paths = line.get("state").and_then(Value::as_str);
    titles.map_or_else(
        || paths.unwrap_or_default().to_owned(),
        |titles| titles.collect::<Vec<_>>().join(", "),
    )
}

/// Describes what a run of steps waits for, or that no process runs it.
fn remarks(line: &Value) -> String {
    let waits = line.get("waits").and_then(Value::as_array);
    let Some(waits) = waits else {
        return String::new();
    };
    let get = |wait: &Value, key: &str| {
        let text = wait.get(key).and_then(Value::as_str);
        let first = text.and_then(|text| text.lines().next());
        first.unwrap_or_default().to_owned()
    };
    if waits.is_empty() {
        let nobody = line.get("runner").is_none_or(Value::is_null);
        return if nobody {
            "  cut off: `interlock resume` continues it".to_owned()
        } else {
            let attempts = line.get("attempts").and_then(Value::as_array);
            let attempts = attempts.into_iter().flatten().map(attempt_sentence);
            attempts.map(|attempt| format!("  {attempt}")).collect()
        };
    }
    let texts: Vec<String> = waits
        .iter()
        .map(|wait| format!("  {} since {}", get(wait, "message"), get(wait, "since")))
        .collect();
    texts.concat()
}
