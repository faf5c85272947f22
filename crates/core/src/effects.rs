//! Derives what must be done now from where a run is.

use serde_json::json;

use crate::{
    command::Effect,
    machine::{Activity, Machine},
    names::FramePath,
    report::shown_path,
    run::Run,
};

/// Returns the effects that should be running, in the order of the frames.
#[must_use]
pub fn effects(machine: &Machine, run: &Run) -> Vec<Effect> {
    if run.paused.is_some() {
        return Vec::new();
    }
    run.open_leaves()
        .iter()
        .filter_map(|path| effect(machine, run, path))
        .collect()
}

fn effect(machine: &Machine, run: &Run, path: &FramePath) -> Option<Effect> {
    let frame = run.frame(path).filter(|frame| frame.parked.is_none())?;
    let state = machine
        .called(frame.machine.as_ref())?
        .states
        .get(&frame.at)?;
    let (kind, input) = match &state.activity {
        Activity::Task(work) | Activity::Stage(work) | Activity::Ask(work) => {
            (work.kind.clone(), json!(work.input))
        }
        Activity::Wait { wait_ms } => ("wait".to_owned(), json!({ "wait_ms": wait_ms })),
        Activity::Await
        | Activity::Choice
        | Activity::Test(_)
        | Activity::Pause(_)
        | Activity::Each(_)
        | Activity::Call(_)
        | Activity::Fork(_)
        | Activity::Map(_)
        | Activity::Final { .. } => return None,
    };
    let seq = frame.entered_seq;
    Some(Effect {
        id: format!("{}/{path}/{seq}", run.id),
        kind,
        frame: path.clone(),
        path: shown_path(machine, run, path),
        input,
    })
}
