//! The state of a run of steps, for `status`.

use interlock_core::{
    attempt::Usage,
    event::Cause,
    machine::Machine,
    names::FramePath,
    place::{shown_path, title_of, titles},
    run::{Frame, Phase, Run},
};
use interlock_runner::holder;
use interlock_view::report::state_paths;
use serde_json::{Value, json};

use super::{
    attempts::attempts,
    halted::{code, waits},
};
use crate::{
    failure::Failure,
    live::{Live, put},
    origin::{Difference, differences},
};

/// Adds the parts of a run of steps.
pub(crate) fn describe(live: &Live, line: &mut Value) -> Result<(), Failure> {
    put(line, "name", json!(live.log.name()?));
    let runner = holder(live.log.folder().work());
    put(line, "runner", json!(runner));
    let waits: Vec<Value> = waits(&live.machine, &live.run)
        .iter()
        .map(super::halted::Wait::line)
        .collect();
    put(line, "waits", Value::Array(waits));
    put(line, "items", json!(items(&live.machine, &live.run)));
    let attempts = attempts(&live.log, &live.machine, &live.run)?;
    put(line, "attempts", Value::Array(attempts));
    let spent = live.run.spent;
    // Nodes that are not stages may call models, too.
    if live.machine.has_stages() || spent != Usage::default() {
        put(line, "spent", json!(spent));
    }
    if live.run.is_over() {
        put(line, "code", json!(code(&live.run)));
    }
    put(line, "failure", failure(&live.machine, &live.run));
    let titles = titles(&live.machine, &live.run);
    if titles != state_paths(&live.machine, &live.run).0 {
        put(line, "titles", json!(titles));
    }
    put(line, "handled", handled(&live.run));
    let origin = live.log.folder().origin()?.unwrap_or_default();
    let changed: Vec<Value> = differences(&origin).iter().map(Difference::line).collect();
    put(line, "files_changed", Value::Array(changed));
    if let Some(places) = live.run.places() {
        put(line, "directory", json!(places.run_dir));
    }
    Ok(())
}

/// Describes why the run failed.
fn failure(machine: &Machine, run: &Run) -> Value {
    let Phase::Ended {
        cause: Some(cause), ..
    } = &run.phase
    else {
        return Value::Null;
    };
    let mut told = told(cause);
    if let Some(title) = title_of(machine, run, &cause.state) {
        put(&mut told, "title", json!(title));
    }
    told
}

fn told(cause: &Cause) -> Value {
    json!({ "code": cause.number(), "state": cause.state, "message": cause.message })
}

/// Describes the last handled error.
fn handled(run: &Run) -> Value {
    run.root.line.caught.as_deref().map_or(
        Value::Null,
        |caught| json!({ "code": caught.code, "state": caught.state, "message": caught.message }),
    )
}

/// Describes the progress of each list whose items run.
fn items(machine: &Machine, run: &Run) -> Vec<Value> {
    let mut found = Vec::new();
    let mut open: Vec<(&Frame, FramePath)> = vec![(&run.root, FramePath::root())];
    while let Some((frame, path)) = open.pop() {
        if let Some(items) = frame.stay.items() {
            found.push(json!({
                "path": shown_path(machine, run, &path),
                "ended": items.ended,
                "failed": items.failed,
                "all": items.all.len(),
            }));
        }
        let below = frame.regions.iter().filter(|child| child.ended.is_none());
        open.extend(below.map(|child| (&child.frame, path.child(&child.name))));
    }
    found
}
