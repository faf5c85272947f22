//! What a durable run stands at until a person says something, and whether what the person says is an answer to it.

use interlock_core::{
    command::{ActivityOutcome, CommandKind, Effect, EffectStatus},
    effects,
    machine::{EffectKind, Machine},
    run::Run,
};
use interlock_fleet::StandingView;
use interlock_view::{
    question::Question,
    report::{StandsFor, standing},
};
use serde_json::json;

use super::problem::Problem;

/// Lists what a run stands at.
pub(super) fn view(machine: &Machine, run: &Run) -> Vec<StandingView> {
    let effects = effects(machine, run);
    let view = |one: interlock_view::report::Standing| {
        let effect = effects.iter().find(|effect| effect.id == one.id);
        let asked = one.kind == StandsFor::Question;
        let question = effect
            .filter(|_| asked)
            .map(|effect| Question::of(&effect.input));
        let options = question
            .and_then(Result::ok)
            .map(|question| question.options);
        StandingView {
            state: one.path,
            kind: json!(one.kind).as_str().unwrap_or_default().to_owned(),
            title: one.title,
            message: one.message,
            options: options
                .into_iter()
                .flatten()
                .map(|option| option.value)
                .collect(),
            elsewhere: effect.and_then(elsewhere).map(str::to_owned),
            since_ms: one.since_ms,
        }
    };
    standing(machine, run).into_iter().map(view).collect()
}

/// Returns why a server cannot take an answer to something.
fn elsewhere(effect: &Effect) -> Option<&'static str> {
    let waits = effect.status == EffectStatus::Person;
    let has_condition = || {
        effect
            .input
            .get("condition")
            .is_some_and(|found| !found.is_null())
    };
    match effect.kind {
        EffectKind::Ask if waits && effect.file.is_some() => Some(
            "the answer is written to a file of the project, where a server writes nothing: give the question an `output` of another kind",
        ),
        EffectKind::Pause if waits && has_condition() => Some(
            "its condition is a program, and a server runs none: use a `pause` without `condition`",
        ),
        _ => None,
    }
}

/// Checks a person's answer to a question or a pause against what the run stands at; other commands are left as they are.
pub(super) fn checked(
    kind: CommandKind,
    (machine, run): (&Machine, &Run),
) -> Result<CommandKind, Problem> {
    let CommandKind::EndActivity { path, outcome } = kind else {
        return Ok(kind);
    };
    // Going on has no output.
    let text = match &outcome {
        ActivityOutcome::Done { output, .. } => output.as_str(),
        ActivityOutcome::Failed(_) => None,
    };
    let (wanted, word) = if text.is_some() {
        (EffectKind::Ask, "no question is open")
    } else {
        (EffectKind::Pause, "nothing is paused by a `pause`")
    };
    let all = effects(machine, run);
    let is_named = |effect: &&Effect| {
        effect.kind == wanted
            && effect.status == EffectStatus::Person
            && path
                .as_ref()
                .is_none_or(|path| *path == effect.path || *path == effect.frame.to_string())
    };
    let mut found = all.iter().filter(is_named);
    let effect = match (found.next(), found.next()) {
        (Some(effect), None) => effect,
        (None, _) => {
            return Err(Problem::standing(format!(
                "{word} there: read `standing` of the run"
            )));
        }
        (Some(_), Some(_)) => {
            return Err(Problem::standing(
                "several states wait for that: name one as `state`, as `standing` of the run has it",
            ));
        }
    };
    if let Some(why) = elsewhere(effect) {
        return Err(Problem::standing(why));
    }
    let output = match text {
        Some(text) => Question::of(&effect.input)
            .and_then(|question| question.answer(text))
            .map_err(Problem::standing)?,
        None => String::new(),
    };
    Ok(CommandKind::EndActivity {
        path: Some(effect.frame.to_string()),
        outcome: ActivityOutcome::done(output),
    })
}
