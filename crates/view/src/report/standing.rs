//! What a durable run stands at until a person says something: questions, pauses, effects that were cut off.

use interlock_core::{
    attempt::CallStatus,
    command::{Effect, EffectStatus},
    effects,
    machine::{EffectKind, Machine},
    run::Run,
};
use serde::Serialize;
use serde_json::Value;

/// Something that a durable run stands at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The effect's id.
    pub id: String,
    /// Why it stands.
    pub kind: StandsFor,
    /// The path of its state, as shown.
    pub path: String,
    /// What people call it where it is for an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What a person is told: the question, the reason of the pause, or what was cut off.
    pub message: String,
    /// When the state was entered, in milliseconds since 1970.
    pub since_ms: u64,
}

/// Why a durable run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StandsFor {
    /// A person is asked.
    Question,
    /// A person goes on with it.
    Pause,
    /// It was cut off: a person says what became of it.
    Lost,
    /// A call of a model stage or a tool state was cut off, and may have written: a person says what became of it.
    LostCall,
}

/// Lists what a durable run stands at, in the order of the frames.
#[must_use]
pub fn standing(machine: &Machine, run: &Run) -> Vec<Standing> {
    effects(machine, run)
        .into_iter()
        .filter_map(|effect| {
            let kind = match effect.status {
                EffectStatus::Person if effect.kind == EffectKind::Pause => StandsFor::Pause,
                // What a stage asks is a request of its own, with an id to answer it by.
                EffectStatus::Person if effect.kind == EffectKind::Stage => return None,
                EffectStatus::Person => StandsFor::Question,
                // Of a file with a conversation only tools that may have written are not simply called again.
                EffectStatus::Lost
                    if effect.kind == EffectKind::Stage || machine.conversation.is_some() =>
                {
                    StandsFor::LostCall
                }
                EffectStatus::Lost => StandsFor::Lost,
                EffectStatus::Reading(_) | EffectStatus::Running | EffectStatus::Waiting(_) => {
                    return None;
                }
            };
            let since_ms = run
                .frame(&effect.frame)
                .map_or(0, |frame| frame.stay.entered_ms);
            Some(Standing {
                message: message(run, kind, &effect),
                id: effect.id,
                kind,
                path: effect.path,
                title: effect.title,
                since_ms,
            })
        })
        .collect()
}

fn message(run: &Run, kind: StandsFor, effect: &Effect) -> String {
    let word = |key| effect.input.get(key).and_then(Value::as_str);
    let text = match kind {
        StandsFor::Question => word("question"),
        StandsFor::Pause => word("reason"),
        StandsFor::Lost | StandsFor::LostCall => None,
    };
    if let Some(text) = text {
        return text.to_owned();
    }
    match cut_off(run, effect) {
        Some(tool) => format!("`{tool}` was cut off while it ran"),
        None => format!("`{}` was cut off in try {}", effect.kind, effect.attempt),
    }
}

/// Returns the tool of the call of a stage that was cut off, and may have written.
fn cut_off<'a>(run: &'a Run, effect: &Effect) -> Option<&'a str> {
    let progress = run.frame(&effect.frame)?.stay.stage_attempt()?;
    let calls = progress.calls.iter();
    let mut running = calls.filter(|call| call.status == CallStatus::Running { reads: false });
    running.next().map(|call| call.tool.as_str())
}
