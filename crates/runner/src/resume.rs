//! Continues a run that waits for a person: answers its question, or resumes its pause.

use interlock_core::{
    Decision, Reply,
    command::{ActivityOutcome, CommandKind, Effect, EffectStatus},
    effects, fill_now,
    machine::{EffectKind, Machine},
    missing_files,
};
use interlock_expr::text::{Files, MissingInput};
use interlock_process::Cancel;
use serde_json::Value;

use crate::{
    carry,
    drive::{self, DriveError},
    host::Host,
    order::{Capture, Failed, Order, Outcome},
    output,
    run_context::RunContext,
    tools::{Question, condition},
};

/// Result of resuming a pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// The run continues.
    GoesOn,
    /// Its condition does not hold yet, for the reason that its command reports.
    NotYet(Failed),
    /// Nothing is paused.
    NothingPaused,
}

/// Resumes the first pause of the run of `host`, if its condition holds.
///
/// # Errors
/// The host fails.
pub fn resume_pause<H: Host>(
    machine: &Machine,
    host: &mut H,
    context: &RunContext,
) -> Result<Resumed, DriveError<H::Error>> {
    let run = host.load().map_err(DriveError::Host)?;
    let paused = effects(machine, &run)
        .into_iter()
        .find(|effect| effect.status == EffectStatus::Person && effect.kind == EffectKind::Pause);
    let Some(effect) = paused else {
        return Ok(Resumed::NothingPaused);
    };
    let wanted = missing_files(machine, &run, &effect.frame, &Files::new());
    let files = drive::read_files(machine, &run, host, &effect.frame, &wanted);
    let unmet = match fill_now(machine, &run, &effect.frame, &files) {
        Ok(input) => unmet(&effect, &input.unwrap_or_default(), context),
        Err(lack) => Some(unfilled(&effect, lack)),
    };
    if let Some(failed) = unmet {
        return Ok(Resumed::NotYet(failed));
    }
    let ask = CommandKind::EndActivity {
        path: Some(effect.frame.to_string()),
        outcome: ActivityOutcome::done(""),
    };
    let decision = drive::command(machine, host, &ask)?;
    went_on(&effect, decision)
}

/// Creates the failure of a pause whose texts cannot be filled at present.
fn unfilled(effect: &Effect, lack: MissingInput) -> Failed {
    let why = match lack {
        MissingInput::Wrong(error) => error.reason,
        MissingInput::File(file) => format!("`{file}` cannot be read here"),
    };
    let message = format!(
        "the condition of `{}` cannot be looked at: {why}",
        effect.path
    );
    Failed::new(1, message)
}

/// Runs the condition of a pause; returns `None` if it holds or there is none.
///
/// `input` is the input of the pause with the present values.
fn unmet(effect: &Effect, input: &Value, context: &RunContext) -> Option<Failed> {
    let prepared = match condition(input, context)? {
        Ok(prepared) => prepared,
        Err(failed) => return Some(failed),
    };
    let order = Order {
        id: format!("{}/condition", effect.id),
        attempt: effect.attempt,
        kind: EffectKind::Program("bash".into()),
        title: effect.title.clone().unwrap_or_else(|| effect.path.clone()),
        path: effect.path.clone(),
        input: Value::Null,
        capture: None,
        label: None,
        alone: true,
        read_whole: false,
        shown: true,
        stage: None,
        node: None,
    };
    let cancel = match Cancel::new() {
        Ok(cancel) => cancel,
        Err(error) => return Some(Failed::new(1, error.to_string())),
    };

    match carry::run(&order, prepared, context, &cancel) {
        Outcome::Done { .. } => None,
        Outcome::Failed(failed) => Some(failed),
        Outcome::Interrupted => Some(Failed::new(130, "the condition was interrupted")),
    }
}

/// Answers the first question of the run of `host` with `text`.
///
/// Returns `None` if nothing is asked.
///
/// # Errors
/// The host fails.
pub fn answer<H: Host>(
    machine: &Machine,
    host: &mut H,
    context: &RunContext,
    text: &str,
) -> Result<Option<Result<(), String>>, DriveError<H::Error>> {
    let run = host.load().map_err(DriveError::Host)?;
    let asked = effects(machine, &run)
        .into_iter()
        .find(|effect| effect.status == EffectStatus::Person && effect.kind == EffectKind::Ask);
    let Some(effect) = asked else {
        return Ok(None);
    };
    let stored = Question::of(&effect.input)
        .and_then(|question| question.answer(text))
        .and_then(|answer| placed(&effect, answer, context));
    let stored = match stored {
        Ok(stored) => stored,
        Err(why) => return Ok(Some(Err(why))),
    };
    let ask = CommandKind::EndActivity {
        path: Some(effect.frame.to_string()),
        outcome: ActivityOutcome::done(stored),
    };
    let decision = drive::command(machine, host, &ask)?;
    went_on(&effect, decision).map(|_| Some(Ok(())))
}

/// Stores an answer in its file, if it goes to one.
fn placed(effect: &Effect, answer: String, context: &RunContext) -> Result<String, String> {
    let order = Order {
        id: effect.id.clone(),
        attempt: effect.attempt,
        kind: effect.kind.clone(),
        title: effect.title.clone().unwrap_or_else(|| effect.path.clone()),
        path: effect.path.clone(),
        input: Value::Null,
        capture: effect.file.clone().map(|file| Capture::File(file.into())),
        label: None,
        alone: true,
        read_whole: false,
        shown: true,
        stage: None,
        node: None,
    };
    match output::written(&order, &answer, context) {
        Outcome::Failed(failed) => Err(failed.message),
        Outcome::Done { .. } | Outcome::Interrupted => Ok(answer),
    }
}

fn went_on<E>(effect: &Effect, decision: Decision) -> Result<Resumed, DriveError<E>> {
    match decision.reply {
        Reply::Refused(refusal) => Err(DriveError::Refused {
            path: effect.path.clone(),
            refusal: Box::new(refusal),
        }),
        _ => Ok(Resumed::GoesOn),
    }
}
