//! The conversation that a region carries: its values for templates, its text for models, and its length.

mod before;

pub use before::{OutputBefore, Undo, output_before, outputs_before};

use interlock_expr::{
    template::Template,
    text::{Beside, Expr, Piece, Text},
};
use serde_json::{Value, json};

use crate::{
    dialogue::{Conversation, Message, condense},
    machine::{Condensing, Machine, ModelStage, Object},
    names::FramePath,
    place::stage_of,
    run::{Frame, Run},
};

/// Number of bytes that count as one token.
const TOKEN_BYTES: usize = 4;
/// Text sent to a model if a stage has no task.
const NO_TASK: &str = "-";
/// Maximum number of tokens of one text sent to a model, unless the workflow allows longer conversations.
const SENT_TOKENS: u64 = 50_000;

/// Truncates a text of a conversation for a model, with a notice; the log keeps all of it.
#[must_use]
pub fn sent(machine: &Machine, text: String) -> String {
    let tokens_max = condensing(machine).map_or(SENT_TOKENS, |limits| limits.tokens_max);
    cut(text, tokens_max.max(SENT_TOKENS))
}

fn condensing(machine: &Machine) -> Option<&Condensing> {
    machine.conversation.as_ref()?.condensing.as_ref()
}

/// Returns the code of the failure if a text of a stage cannot be filled.
pub(crate) const fn text_fault(machine: &Machine) -> &'static str {
    match machine.conversation {
        Some(_) => "template_error",
        None => "stage_invalid",
    }
}

/// Returns the values that templates see besides the context; `None`: the machine has no conversation.
#[must_use]
pub fn beside(machine: &Machine, run: &Run, path: &FramePath) -> Option<Beside> {
    let rules = machine.conversation.as_ref()?;
    let frame = run.frame(path)?;
    let own = machine.called(frame.machine.as_ref())?;
    let dialogue = frame.line.dialogue.as_deref();
    let mut known = Object::new();
    if let Some(item) = dialogue.and_then(|dialogue| dialogue.item.as_ref()) {
        known.insert("item".to_owned(), item.value.clone());
        known.insert("index".to_owned(), json!(item.index));
        known.insert("total".to_owned(), json!(item.total));
    }
    known.insert("state".to_owned(), json!(own.shown(&frame.at)));
    known.insert("run".to_owned(), json!(run.id));
    let input = run.input().map_or("", |input| input.text.as_str());
    known.insert("input".to_owned(), json!(input));
    if let Some(caught) = frame.line.caught.as_deref() {
        let error = json!({
            "code": caught.name, "message": caught.message, "state": caught.state,
        });
        known.insert("error".to_owned(), error);
    }
    let mut values = Object::new();
    let task = dialogue.map(|dialogue| dialogue.given().clone());
    values.insert("task".to_owned(), task.unwrap_or_default());
    values.insert("interlock".to_owned(), Value::Object(known));
    Some(Beside {
        values,
        strict: rules.strict,
        ..Beside::default()
    })
}

/// Completes the task of a stage for its model.
///
/// `filled` is the task with its holes filled. One line is added for the item, if the task does not mention it,
/// and one for each file that was attached to the run.
pub(crate) fn complete_task(
    machine: &Machine,
    run: &Run,
    frame: &Frame,
    task: &Text,
    filled: String,
) -> String {
    let mut lines = vec![if filled.trim().is_empty() {
        NO_TASK.to_owned()
    } else {
        filled
    }];
    let dialogue = frame.line.dialogue.as_deref();
    if let Some(item) = dialogue.and_then(|dialogue| dialogue.item.as_ref()) {
        let names: Vec<String> = templates(task).flat_map(Template::names).collect();
        let is_named = |name: &String| {
            matches!(name.as_str(), "task" | "interlock") || item.keys.contains(name)
        };
        if !names.iter().any(is_named) {
            let item = sent(machine, Conversation::text_of(&item.value));
            lines.push(format!("Current task: {item}"));
        }
    }
    let attached = run.input().into_iter().flat_map(|input| &input.attached);
    lines.extend(attached.map(|name| format!("File attached: {name}")));
    lines.join("\n")
}

fn templates(text: &Text) -> impl Iterator<Item = &Template> {
    text.pieces.iter().filter_map(|piece| match piece {
        Piece::Hole(Expr::Template(template)) => Some(template),
        _ => None,
    })
}

/// Returns whether the conversation must be condensed before the stage of `frame` sees it.
pub(crate) fn is_too_long(machine: &Machine, frame: &Frame) -> bool {
    let sees = |stage: &ModelStage| stage.history;
    let (Some(condensing), Some(dialogue), true) = (
        condensing(machine),
        frame.line.dialogue.as_deref(),
        stage_of(machine, frame).is_some_and(sees),
    ) else {
        return false;
    };
    condense::is_due(&dialogue.history, condensing)
}

/// Returns the conversation that the stage at `path` sees, oldest message first; it may be empty.
#[must_use]
pub fn seen_history<'r>(machine: &Machine, run: &'r Run, path: &FramePath) -> &'r [Message] {
    let Some(frame) = run.frame(path) else {
        return &[];
    };
    let sees = stage_of(machine, frame).is_some_and(|stage| stage.history);
    match frame.line.dialogue.as_deref() {
        Some(dialogue) if sees => &dialogue.history,
        _ => &[],
    }
}

/// Returns the model that the workflow names for the stage at `path`; `None`: it names none.
///
/// A summarising state uses the model of the assistant that spoke last in its region.
#[must_use]
pub fn stage_model<'m>(machine: &'m Machine, run: &Run, path: &FramePath) -> Option<&'m str> {
    let frame = run.frame(path)?;
    let own = machine.called(frame.machine.as_ref())?;
    let state = frame.state(machine)?;
    let spoke = frame
        .line
        .dialogue
        .as_deref()
        .and_then(|dialogue| dialogue.last_speaker.as_ref());
    let speaker = spoke.filter(|_| state.ends_lines);
    let speaker = speaker.and_then(|speaker| own.states.get(speaker));
    speaker.unwrap_or(state).model.as_deref()
}

/// Truncates a text to a number of tokens, four bytes each, and says so in it.
#[must_use]
pub fn cut(text: String, tokens_max: u64) -> String {
    let max = usize::try_from(tokens_max).unwrap_or(usize::MAX);
    let bytes = max.saturating_mul(TOKEN_BYTES);
    if text.len() <= bytes {
        return text;
    }
    let kept = text.get(..text.floor_char_boundary(bytes)).unwrap_or("");
    let all = text.len().div_ceil(TOKEN_BYTES);
    format!("{kept}\n[cut: the first {max} of about {all} tokens]")
}
