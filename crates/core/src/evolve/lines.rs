//! Folds lines that meet, split and spread over items.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use super::{activities::open_branch, child_mut, enter, requests};
use crate::{
    dialogue::{Conversation, Item, Said, Speaker},
    event::{BranchOutcome, Event},
    machine::Object,
    names::StateName,
    run::{Child, Frame, Met, Run},
};

/// Folds an event of lines.
pub(super) fn apply_lines(run: &mut Run, event: &Event) {
    let seq = run.seq;
    match event {
        Event::LineWaits { path } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.stay.gathering = true;
            }
        }
        Event::LinesMet {
            path,
            others,
            may_part,
        } => {
            let Some((parent, name)) = path.split_last() else {
                return;
            };
            if let Some(frame) = run.frame_mut(&parent) {
                meet(frame, name, others, *may_part);
            }
        }
        Event::LinesParted { path } => {
            if let Some((parent, name)) = path.split_last()
                && let Some(frame) = run.frame_mut(&parent)
            {
                part(frame, name);
            }
        }
        Event::LineSplit { path, branches } => {
            let Some((parent, name)) = path.split_last() else {
                return;
            };
            if let Some(frame) = run.frame_mut(&parent) {
                let mut lines = frame.children.iter_mut();
                let Some(line) = lines.find(|child| child.name == name) else {
                    return;
                };
                let line = Arc::make_mut(line);
                line.ended = Some(BranchOutcome::Merged);
                let from = line.frame.clone();
                let mut holder = Frame {
                    children: Vec::new(),
                    ..from.clone()
                };
                for branch in branches {
                    open_branch(&mut holder, branch, seq, from.stay.entered_ms);
                }
                let base = Arc::clone(&from.context);
                let shared = from.dialogue.as_ref();
                let shared = shared.map_or(0, |dialogue| dialogue.history.len());
                frame
                    .children
                    .extend(holder.children.into_iter().map(|child| {
                        let base = Some(Arc::clone(&base));
                        let child = Arc::unwrap_or_clone(child);
                        Arc::new(Child {
                            base,
                            shared,
                            ..child
                        })
                    }));
            }
        }
        Event::ItemsSpread {
            path,
            items,
            initial,
            keys,
        } => {
            if let Some(frame) = run.frame_mut(path) {
                let total = items.len();
                frame.children = items
                    .iter()
                    .enumerate()
                    .map(|(at, value)| {
                        let mut child = Frame::entering(
                            frame.machine.clone(),
                            initial.clone(),
                            seen_by_item(frame, value, keys.as_deref()),
                            seq,
                            frame.stay.entered_ms,
                        );
                        child.steps = frame.steps + u64::from(frame.dialogue.is_some());
                        child.dialogue = Some(Arc::new(of_item(frame, value, at + 1, total)));
                        Arc::new(Child::open(&(at + 1).to_string(), child))
                    })
                    .collect();
            }
        }
        Event::ItemPassed {
            path,
            to,
            value,
            at_ms,
        } => {
            run.entered += 1;
            if let Some(frame) = run.frame_mut(path) {
                enter(frame, to, seq, *at_ms);
                if let Some(dialogue) = &mut frame.dialogue {
                    let dialogue = Arc::make_mut(dialogue);
                    if let (Some(value), Some(item)) = (value, dialogue.item.as_mut()) {
                        item.value = value.clone();
                    }
                    dialogue.task = dialogue
                        .item
                        .as_ref()
                        .map_or(Value::Null, |item| item.value.clone());
                    dialogue.gathered = false;
                }
            }
            requests::forget_stay(run, path, *at_ms);
        }
        Event::ItemDone { path, exit, also } => {
            if let Some(child) = child_mut(run, path) {
                child.ended = Some(BranchOutcome::Succeeded);
                child.exit = Some(exit.clone());
                child.also.clone_from(also);
            }
        }
        Event::LinesLeft {
            path,
            to,
            exits,
            at_ms,
            ..
        } => {
            run.entered += 1;
            if let Some(frame) = run.frame_mut(path) {
                let before_join = frame.stay.before_join.take();
                enter(frame, to, seq, *at_ms);
                frame.stay.before_join = before_join;
                frame.stay.exits.clone_from(exits);
            }
            requests::forget_stay(run, path, *at_ms);
        }
        Event::SpreadJoined {
            path,
            collects,
            may_part,
        } => {
            if let Some(frame) = run.frame_mut(path) {
                let before = may_part.then(|| Box::new(frame.clone()));
                join_spread(frame, *collects);
                frame.stay.before_join = before;
            }
        }
        Event::ItemsParted { path, item } => {
            if let Some(frame) = run.frame_mut(path)
                && let Some(before) = frame.stay.before_join.take()
            {
                *frame = *before;
            }
            if let Some(child) = child_mut(run, &path.child(item)) {
                child.ended = None;
                child.exit = None;
                child.also = Vec::new();
            }
        }
        _ => {}
    }
}

/// Returns the context that the line of an item begins with.
fn seen_by_item(frame: &Frame, value: &Value, keys: Option<&[String]>) -> Arc<Object> {
    let mut context = match keys {
        None => Arc::clone(&frame.context),
        Some(keys) => {
            let kept = frame
                .context
                .iter()
                .filter(|(key, _)| keys.iter().any(|wanted| wanted == *key));
            Arc::new(
                kept.map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            )
        }
    };
    if let Value::Object(fields) = value {
        Arc::make_mut(&mut context).extend(fields.clone());
    }
    context
}

fn of_item(frame: &Frame, value: &Value, index: usize, total: usize) -> Conversation {
    let mut dialogue = frame.dialogue.as_deref().cloned().unwrap_or_default();
    dialogue.history.push(Said {
        by: Speaker::Person,
        text: value.to_string(),
    });
    dialogue.task = value.clone();
    dialogue.gathered = false;
    dialogue.item = Some(Item {
        value: value.clone(),
        index,
        total,
        keys: value
            .as_object()
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default(),
    });
    dialogue
}

/// Has lines that had met wait again, each as it was.
fn part(frame: &mut Frame, first: &str) {
    let line = frame.children.iter_mut().find(|child| child.name == first);
    let Some(met) = line.map(Arc::make_mut).and_then(|child| {
        let met = *child.met.take()?;
        child.frame = met.frame;
        child.base = met.base;
        Some(met.others)
    }) else {
        return;
    };
    for child in &mut frame.children {
        if met.contains(&child.name) {
            let child = Arc::make_mut(child);
            child.ended = None;
            child.frame.stay.gathering = true;
        }
    }
}

/// Puts lines that wait at one state together; the first of them goes on.
fn meet(frame: &mut Frame, first: &str, others: &[String], may_part: bool) {
    let base = Arc::clone(&frame.context);
    let arrived: Vec<&Child> = frame
        .children
        .iter()
        .map(AsRef::as_ref)
        .filter(|child: &&Child| child.name == first || others.contains(&child.name))
        .collect();
    let context = merge_contexts(&base, &arrived);
    let history = merge_histories(frame.dialogue.as_deref(), &arrived);
    let spoke = last_spoken(frame.dialogue.as_deref(), &arrived);
    let tasks: Vec<Value> = arrived.iter().map(|child| listed(&child.frame)).collect();
    let steps = arrived
        .iter()
        .map(|child| child.frame.steps)
        .max()
        .unwrap_or_default();
    let appended: BTreeSet<String> = arrived
        .iter()
        .flat_map(|child| child.frame.appended.iter().cloned())
        .collect();
    let several = arrived.len() > 1;
    for child in &mut frame.children {
        if child.name == first {
            let child = Arc::make_mut(child);
            if several && may_part {
                child.met = Some(Box::new(Met {
                    frame: child.frame.clone(),
                    base: child.base.clone(),
                    others: others.to_vec(),
                }));
            }
            child.frame.stay.gathering = false;
            if several {
                child.frame.context = Arc::new(context.clone());
                child.frame.steps = steps;
                child.frame.appended.clone_from(&appended);
                child.base = Some(Arc::clone(&base));
                if let Some(dialogue) = &mut child.frame.dialogue {
                    let dialogue = Arc::make_mut(dialogue);
                    dialogue.history.clone_from(&history);
                    dialogue.spoke.clone_from(&spoke);
                    dialogue.task = Value::Array(tasks.clone());
                    dialogue.gathered = true;
                }
                child.frame.before = None;
                child.frame.stay.before_join = None;
            }
        } else if others.contains(&child.name) {
            let child = Arc::make_mut(child);
            child.ended = Some(BranchOutcome::Merged);
            child.frame.stay.gathering = false;
        }
    }
}

fn task_of(frame: &Frame) -> Value {
    frame
        .dialogue
        .as_ref()
        .map_or(Value::Null, |dialogue| dialogue.task.clone())
}

/// Returns the last output of a line as it stands in a list of several.
fn listed(frame: &Frame) -> Value {
    Conversation::listed(&task_of(frame))
}

/// Ends a spread: what its lines wrote is merged in the order of the items.
fn join_spread(frame: &mut Frame, collects: bool) {
    let counts: Vec<&Child> = frame
        .children
        .iter()
        .map(AsRef::as_ref)
        .filter(|child: &&Child| child.ended == Some(BranchOutcome::Succeeded))
        .collect();
    let context = merge_contexts(&frame.context, &counts);
    let history = merge_histories(frame.dialogue.as_deref(), &counts);
    let spoke = last_spoken(frame.dialogue.as_deref(), &counts);
    let outputs: Vec<Value> = frame
        .children
        .iter()
        .filter_map(|child| match child.ended {
            Some(BranchOutcome::Succeeded) => Some(listed(&child.frame)),
            Some(BranchOutcome::Failed) if collects => {
                let cause = child.cause.as_ref();
                let message = cause.map(|cause| cause.message.clone()).unwrap_or_default();
                Some(json!({ "error": message }))
            }
            _ => None,
        })
        .collect();
    frame.steps = frame
        .children
        .iter()
        .map(|child| child.frame.steps)
        .max()
        .unwrap_or(frame.steps);
    frame.appended.extend(
        frame
            .children
            .iter()
            .flat_map(|child| child.frame.appended.iter().cloned())
            .collect::<Vec<_>>(),
    );
    frame.context = Arc::new(context);
    frame.children = Vec::new();
    frame.before = None;
    frame.output = Arc::new(Value::Array(outputs.clone()));
    let dialogue = Arc::make_mut(frame.dialogue.get_or_insert_with(Arc::default));
    dialogue.history = history;
    dialogue.spoke = spoke;
    dialogue.task = Value::Array(outputs);
    dialogue.gathered = true;
}

/// Ends a fork whose lines have all ended: what they wrote is merged, and the run's result is what they put out.
pub(super) fn join_lines(frame: &mut Frame) {
    let ended: Vec<&Child> = frame
        .children
        .iter()
        .map(AsRef::as_ref)
        .filter(|child: &&Child| child.ended == Some(BranchOutcome::Succeeded))
        .collect();
    let context = merge_contexts(&frame.context, &ended);
    let history = merge_histories(frame.dialogue.as_deref(), &ended);
    let spoke = last_spoken(frame.dialogue.as_deref(), &ended);
    let mut tasks: Vec<Value> = match ended.as_slice() {
        [only] => vec![task_of(&only.frame)],
        several => several.iter().map(|child| listed(&child.frame)).collect(),
    };
    let steps = ended.iter().map(|child| child.frame.steps).max();
    frame.steps = steps.unwrap_or(frame.steps);
    frame.context = Arc::new(context);
    frame.before = None;
    let dialogue = Arc::make_mut(frame.dialogue.get_or_insert_with(Arc::default));
    dialogue.history = history;
    dialogue.spoke = spoke;
    dialogue.task = if tasks.len() == 1 {
        tasks.pop().unwrap_or_default()
    } else {
        Value::Array(tasks)
    };
}

/// Merges what lines wrote, in their order: the last writer of a key wins, appended lists are joined.
fn merge_contexts(before: &Arc<Object>, lines: &[&Child]) -> Object {
    let mut merged: Object = before.as_ref().clone();
    for line in lines {
        let base = line.base.as_ref().unwrap_or(before);
        let own: &[String] = line
            .frame
            .dialogue
            .as_ref()
            .and_then(|dialogue| dialogue.item.as_ref())
            .map_or(&[], |item| item.keys.as_slice());
        for (key, value) in line.frame.context.iter() {
            let written = before.get(key) != Some(value);
            let of_item = own.contains(key) && !line.frame.captured.contains(key);
            if !written || of_item {
                continue;
            }
            let joined = line
                .frame
                .appended
                .contains(key)
                .then(|| join_lists(merged.get(key), base.get(key), value))
                .flatten();
            merged.insert(key.clone(), joined.unwrap_or_else(|| value.clone()));
        }
        for key in before.keys() {
            // What a line removed is gone, unless it never saw it.
            if !line.frame.context.contains_key(key) && line.frame.removed.contains(key) {
                merged.shift_remove(key);
            }
        }
    }
    merged
}

/// Appends to `so_far` what a line has appended to `base`.
fn join_lists(so_far: Option<&Value>, base: Option<&Value>, value: &Value) -> Option<Value> {
    let list = |value: Option<&Value>| match value {
        None => Some(Vec::new()),
        Some(Value::Array(items)) => Some(items.clone()),
        // The former value is the first item.
        Some(one) => Some(vec![one.clone()]),
    };
    let (mut so_far, base) = (list(so_far)?, list(base)?);
    let value = value.as_array()?;
    let rest = value.strip_prefix(base.as_slice())?;
    let shared = so_far.iter().zip(&base).take_while(|(a, b)| a == b).count();
    if shared < base.len() {
        so_far.extend(base.get(shared..)?.iter().cloned());
    }
    so_far.extend(rest.iter().cloned());
    Some(Value::Array(so_far))
}

/// Returns the assistant's state that spoke last, in the order of the lines.
fn last_spoken(before: Option<&Conversation>, lines: &[&Child]) -> Option<StateName> {
    let spoke = |dialogue: Option<&Conversation>| dialogue?.spoke.clone();
    let newest = lines
        .iter()
        .rev()
        .find_map(|line| spoke(line.frame.dialogue.as_deref()));
    newest.or_else(|| spoke(before))
}

/// Appends to the conversation what each line has said, in their order.
fn merge_histories(before: Option<&Conversation>, lines: &[&Child]) -> Vec<Said> {
    let before: &[Said] = before.map_or(&[], |dialogue| dialogue.history.as_slice());
    let mut cleared = !lines.is_empty();
    let mut new = Vec::new();
    let said = |line: &Child| line.frame.dialogue.clone().unwrap_or_default();
    for (at, line) in lines.iter().enumerate() {
        let dialogue = said(line);
        let history = dialogue.history.as_slice();
        // What lines said before they parted is said once.
        let shared = history.get(..line.shared).filter(|shared| {
            let mut earlier = lines.iter().take(at).copied().map(said);
            shared.len() > before.len() && earlier.any(|other| other.history.starts_with(shared))
        });
        if let Some(rest) = shared.and_then(|shared| history.strip_prefix(shared)) {
            cleared = false;
            new.extend(rest.iter().cloned());
            continue;
        }
        match history.strip_prefix(before) {
            Some(rest) => {
                cleared = false;
                new.extend(rest.iter().cloned());
            }
            None => new.extend(history.iter().cloned()),
        }
    }
    if cleared {
        return new;
    }
    let mut all = before.to_vec();
    all.extend(new);
    all
}

#[cfg(test)]
mod tests {
    use super::join_lists;
    use serde_json::json;

    #[test]
    fn appended_lists_are_joined_once() {
        for (so_far, base, value, wanted) in [
            (json!([]), json!([]), json!(["x"]), json!(["x"])),
            (json!(["x"]), json!([]), json!(["x"]), json!(["x", "x"])),
            (json!([1]), json!([1]), json!([1, 2]), json!([1, 2])),
            (json!([1, 2]), json!([1]), json!([1, 3]), json!([1, 2, 3])),
            (json!([]), json!([1]), json!([1, 2]), json!([1, 2])),
        ] {
            let joined = join_lists(Some(&so_far), Some(&base), &value);
            assert_eq!(joined, Some(wanted), "{so_far} {base} {value}");
        }
    }
}
