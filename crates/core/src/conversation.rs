//! The conversation that the lines of a run carry: what templates see of it, what a model is told, when it is too long.

use serde_json::{Value, json};

use crate::{
    dialogue::{Dialogue, Said, condense},
    machine::{Machine, ModelStage, Object},
    names::{FramePath, StateName},
    run::{Frame, Run},
    stage::stage_of,
    template::Template,
    text::{Beside, Expr, Piece, Text},
};

/// What a model is told where a stage has no task.
const NO_TASK: &str = "-";

/// Returns what templates see beside the context; `None`: the machine has no conversation.
#[must_use]
pub fn beside(machine: &Machine, run: &Run, path: &FramePath) -> Option<Beside> {
    let rules = machine.conversation.as_ref()?;
    let frame = run.frame(path)?;
    let own = machine.called(frame.machine.as_ref())?;
    let dialogue = frame.dialogue.as_deref();
    let opening = run.opening.as_deref();
    let mut known = Object::new();
    if let Some(item) = dialogue.and_then(|dialogue| dialogue.item.as_ref()) {
        known.insert("item".to_owned(), item.value.clone());
        known.insert("index".to_owned(), json!(item.index));
        known.insert("total".to_owned(), json!(item.total));
    }
    known.insert("state".to_owned(), json!(own.shown(&frame.at)));
    known.insert("run".to_owned(), json!(run.id));
    let input = opening.map_or("", |opening| opening.text.as_str());
    known.insert("input".to_owned(), json!(input));
    if let Some(caught) = frame.caught.as_deref() {
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

/// Completes the task of a stage as the model is told it.
///
/// `filled` is the task with its holes filled. A line names the item that a
/// task says nothing of, and one each file that came with the run.
pub(crate) fn complete_task(run: &Run, frame: &Frame, task: &Text, filled: String) -> String {
    let mut lines = vec![if filled.trim().is_empty() {
        NO_TASK.to_owned()
    } else {
        filled
    }];
    let dialogue = frame.dialogue.as_deref();
    if let Some(item) = dialogue.and_then(|dialogue| dialogue.item.as_ref()) {
        let names: Vec<String> = templates(task).flat_map(Template::names).collect();
        let is_named = |name: &String| {
            matches!(name.as_str(), "task" | "interlock") || item.keys.contains(name)
        };
        if !names.iter().any(is_named) {
            lines.push(format!("Current task: {}", Dialogue::text_of(&item.value)));
        }
    }
    let attached = run.opening.iter().flat_map(|opening| &opening.attached);
    lines.extend(attached.map(|name| format!("File attached: {name}")));
    lines.join("\n")
}

fn templates(text: &Text) -> impl Iterator<Item = &Template> {
    text.pieces.iter().filter_map(|piece| match piece {
        Piece::Hole(Expr::Template(template)) => Some(template),
        _ => None,
    })
}

/// Tells whether the conversation is to be condensed before the stage of `frame` sees it.
pub(crate) fn is_too_long(machine: &Machine, frame: &Frame) -> bool {
    let sees = |stage: &ModelStage| stage.history;
    let rules = machine.conversation.as_ref();
    let condensing = rules.and_then(|rules| rules.condensing.as_ref());
    let (Some(condensing), Some(dialogue), true) = (
        condensing,
        frame.dialogue.as_deref(),
        stage_of(machine, frame).is_some_and(sees),
    ) else {
        return false;
    };
    condense::is_due(&dialogue.history, condensing)
}

/// Returns the conversation that the stage at `path` sees, oldest message first; empty: none.
#[must_use]
pub fn seen_history<'r>(machine: &Machine, run: &'r Run, path: &FramePath) -> &'r [Said] {
    let Some(frame) = run.frame(path) else {
        return &[];
    };
    let sees = stage_of(machine, frame).is_some_and(|stage| stage.history);
    match frame.dialogue.as_deref() {
        Some(dialogue) if sees => &dialogue.history,
        _ => &[],
    }
}

/// Returns the model that the workflow wants for the stage at `path`; `None`: it names none.
///
/// A state that sums up takes that of the assistant which spoke last on its line.
#[must_use]
pub fn stage_model<'m>(machine: &'m Machine, run: &Run, path: &FramePath) -> Option<&'m str> {
    let frame = run.frame(path)?;
    let own = machine.called(frame.machine.as_ref())?;
    let state = own.states.get(&frame.at)?;
    let spoke = frame
        .dialogue
        .as_deref()
        .and_then(|dialogue| dialogue.spoke.as_ref());
    let speaker = spoke.filter(|_| state.ends_lines);
    let speaker = speaker.and_then(|speaker| own.states.get(speaker));
    speaker.unwrap_or(state).model.as_deref()
}

/// Finds the output that a person may change before the state at `path` begins: its line, and the state that put it out.
///
/// Where lines have met, `of` says which of the states before is meant; see [`states_before`].
/// A state without a name stands for the input of the run. `None`: lines have
/// met, or others that rest on the same output have begun.
#[must_use]
pub fn output_before(
    run: &Run,
    path: &FramePath,
    of: Option<&str>,
) -> Option<(FramePath, StateName)> {
    let is_meant = |state: &StateName| of.is_none_or(|of| of == state.as_str());
    let met = lines_before(run, path);
    if !met.is_empty() {
        let mut meant = met.into_iter().filter(|(_, state)| is_meant(state));
        let only = meant.next()?;
        return meant.next().is_none().then_some(only);
    }
    let only = only_output_before(run, path)?;
    is_meant(&only.1).then_some(only)
}

/// Returns the states whose outputs the state at `path` begins with, where lines have met; empty: they have not.
#[must_use]
pub fn states_before(run: &Run, path: &FramePath) -> Vec<StateName> {
    let lines = lines_before(run, path);
    lines.into_iter().map(|(_, state)| state).collect()
}

/// Returns the lines that met at `path`, each with the state that it came from.
fn lines_before(run: &Run, path: &FramePath) -> Vec<(FramePath, StateName)> {
    let Some((parent, name)) = path.split_last() else {
        return Vec::new();
    };
    let Some(holder) = run.frame(&parent) else {
        return Vec::new();
    };
    let line = holder.children.iter().find(|child| child.name == name);
    // An output since then is what the next state begins with.
    let line = line.filter(|child| child.frame.before.is_none());
    let Some(met) = line.and_then(|child| child.met.as_deref()) else {
        return Vec::new();
    };
    let others = holder
        .children
        .iter()
        .filter(|child| met.others.contains(&child.name))
        .map(|child| (child.name.as_str(), &child.frame));
    std::iter::once((name, &met.frame))
        .chain(others)
        .filter_map(|(name, frame)| {
            let before = frame.before.as_ref()?;
            Some((parent.child(name), before.state.clone()))
        })
        .collect()
}

fn only_output_before(run: &Run, path: &FramePath) -> Option<(FramePath, StateName)> {
    let frame = run.frame(path)?;
    if let Some(before) = &frame.before {
        return Some((path.clone(), before.state.clone()));
    }
    let (parent, name) = path.split_last()?;
    let holder = run.frame(&parent)?;
    let own = holder.children.iter().find(|child| child.name == name)?;
    let untouched = holder
        .children
        .iter()
        .all(|child| is_untouched(holder, &child.frame));
    let before = holder.before.as_ref()?;
    (own.base.is_none() && untouched).then(|| (parent, before.state.clone()))
}

/// Tells whether a line has not begun its first state yet.
fn is_untouched(holder: &Frame, line: &Frame) -> bool {
    line.steps == holder.steps + 1
        && line.effect.is_none()
        && line.children.is_empty()
        && line.before.is_none()
}
