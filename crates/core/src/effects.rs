//! Derives the effects that must be performed now from the state of a run.

use std::sync::Arc;

use interlock_expr::text::{Files, MissingInput};
use serde_json::{Value, json};

use crate::{
    attempt::CallStatus,
    command::{Effect, EffectStatus},
    conversation::beside,
    fill::{Filled, fill, kind_of},
    machine::{Activity, Capture, Machine, State},
    names::FramePath,
    place::{item_title, shown_path},
    run::{Frame, Run, Running, RunningAt},
};

/// Returns the effect due for each frame, in the order of the frames.
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

/// Returns the files that the texts of the state at `path` still need, by absolute path.
///
/// `files` are those read so far. If the result is empty, a [`crate::command::CommandKind::Supply`] is complete.
#[must_use]
pub fn missing_files(machine: &Machine, run: &Run, path: &FramePath, files: &Files) -> Vec<String> {
    match filled(machine, run, path, files) {
        Some(Err(MissingInput::File(file))) => vec![file],
        _ => Vec::new(),
    }
}

/// Fills the texts of the state at `path` with current values, not with those at the state's entry.
///
/// `None`: the run is not in that state, or the state has no texts.
///
/// # Errors
/// A file is missing (see [`missing_files`]), or a text cannot be filled.
pub fn fill_now(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    files: &Files,
) -> Result<Option<Value>, MissingInput> {
    match filled(machine, run, path, files).transpose()? {
        Some(Filled::Work(input, _)) => Ok(Some(input)),
        Some(Filled::Nothing | Filled::Tested(..)) | None => Ok(None),
    }
}

/// Fills the texts of the state at `path`; `None`: the run is not in that state.
fn filled(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    files: &Files,
) -> Option<Result<Filled, MissingInput>> {
    let frame = run.frame(path)?;
    let state = frame.state(machine)?;
    let beside = beside(machine, run, path);
    Some(fill(state, frame, run.places(), files, beside.as_ref()))
}

fn effect(machine: &Machine, run: &Run, path: &FramePath) -> Option<Effect> {
    let frame = run
        .frame(path)
        .filter(|frame| frame.stay.request.is_none())?;
    let state = frame.state(machine)?;
    let seq = frame.stay.entered_seq;
    let mut effect = Effect {
        id: format!("{}/{path}/{seq}", run.id),
        attempt: 1,
        kind: kind_of(&state.activity),
        frame: path.clone(),
        path: shown_path(machine, run, path),
        title: item_title(machine, run, path),
        input: Arc::default(),
        file: None,
        key: match &state.capture {
            Some(Capture::Key(key)) => Some(key.clone()),
            _ => None,
        },
        status: EffectStatus::Running,
        late_ms: None,
    };
    if let Some(running) = frame.stay.effect() {
        effect.attempt = running.attempt;
        effect.kind.clone_from(&running.kind);
        effect.input = Arc::clone(&running.input);
        effect.file.clone_from(&running.file);
        effect.status = match running.at {
            RunningAt::Started if asks(frame) => EffectStatus::Person,
            RunningAt::Started => started(state),
            RunningAt::Waiting(until) => EffectStatus::Waiting(until),
            RunningAt::Lost => EffectStatus::Lost,
        };
        effect.late_ms = late_ms(state, running);
        return Some(effect);
    }
    if machine.limits.at_once.is_some() || frame.stay.waits_at_join() {
        // It begins when there is room, or when the lines have met.
        return None;
    }
    not_started(run, frame, state, effect)
}

/// Returns the deadline of a task; `None`: it has no time limit, or waits for a person.
pub(crate) fn late_ms(state: &State, running: &Running) -> Option<u64> {
    let bounded = matches!(state.activity, Activity::Task(_)) && running.at != RunningAt::Lost;
    let limit = state.timeout_ms.filter(|_| bounded)?;
    Some(running.since_ms.saturating_add(limit))
}

/// Returns whether a stage waits for a person's answer about one of its calls.
#[must_use]
pub fn asks(frame: &Frame) -> bool {
    let calls = frame
        .stay
        .stage_attempt()
        .into_iter()
        .flat_map(|progress| &progress.calls);
    calls
        .into_iter()
        .any(|call| matches!(call.status, CallStatus::Asked))
}

const fn started(state: &State) -> EffectStatus {
    match &state.activity {
        Activity::Ask(_) | Activity::Pause(_) => EffectStatus::Person,
        _ => EffectStatus::Running,
    }
}

/// Completes an effect whose start is not an event: files are to be read, or the run is not durable.
fn not_started(run: &Run, frame: &Frame, state: &State, mut effect: Effect) -> Option<Effect> {
    match &state.activity {
        Activity::Wait { wait_ms } => {
            effect.input = Arc::new(json!({ "wait_ms": wait_ms }));
            effect.status = EffectStatus::Waiting(frame.stay.entered_ms.saturating_add(*wait_ms));
            Some(effect)
        }
        Activity::Task(_)
        | Activity::Stage(_)
        | Activity::Ask(_)
        | Activity::Pause(_)
        | Activity::Test(_) => {
            match fill(state, frame, run.places(), &Files::new(), None) {
                Err(MissingInput::File(file)) => effect.status = EffectStatus::Reading(vec![file]),
                Ok(Filled::Work(input, file)) => {
                    effect.input = Arc::new(input);
                    effect.file = file;
                    effect.status = started(state);
                }
                Ok(Filled::Nothing | Filled::Tested(..)) | Err(MissingInput::Wrong(_)) => {
                    effect.input = Arc::new(Value::Null);
                    effect.status = started(state);
                }
            }
            Some(effect)
        }
        Activity::Parallel(_) if frame.stay.items().is_some() => {
            // One command starts only so many items: the next are due at once.
            effect.status = EffectStatus::Waiting(frame.stay.entered_ms);
            Some(effect)
        }
        Activity::Await
        | Activity::Choice
        | Activity::Call(_)
        | Activity::Parallel(_)
        | Activity::Final { .. } => None,
    }
}
