//! Folds lines that meet, split and spread over items.

use std::sync::Arc;

use serde_json::Value;

use super::{activities::open_branch, enter, region_mut, requests};
use crate::{
    dialogue::{Conversation, Item, Said, Speaker},
    event::{BranchOutcome, Event, Merged, MessageRange},
    machine::Object,
    run::{Frame, Met, Region, Run},
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
            merged,
            may_part,
        } => {
            let Some((parent, name)) = path.split_last() else {
                return;
            };
            if let Some(frame) = run.frame_mut(&parent) {
                meet(frame, name, others, merged.as_ref(), *may_part);
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
                let mut lines = frame.regions.iter_mut();
                let Some(line) = lines.find(|region| region.name == name) else {
                    return;
                };
                let line = Arc::make_mut(line);
                line.ended = Some(BranchOutcome::Merged);
                let from = line.frame.clone();
                let mut holder = Frame {
                    regions: Vec::new(),
                    ..from.clone()
                };
                for branch in branches {
                    open_branch(&mut holder, branch, seq, from.stay.entered_ms);
                }
                let base = Arc::clone(&from.line.context);
                let shared = from.line.dialogue.as_ref();
                let shared = shared.map_or(0, |dialogue| dialogue.history.len());
                frame
                    .regions
                    .extend(holder.regions.into_iter().map(|region| {
                        let base = Some(Arc::clone(&base));
                        let region = Arc::unwrap_or_clone(region);
                        Arc::new(Region {
                            base,
                            shared,
                            ..region
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
                frame.regions = items
                    .iter()
                    .enumerate()
                    .map(|(at, value)| {
                        let mut region = Frame::entering(
                            frame.machine.clone(),
                            initial.clone(),
                            seen_by_item(frame, value, keys.as_deref()),
                            seq,
                            frame.stay.entered_ms,
                        );
                        region.line.steps =
                            frame.line.steps + u64::from(frame.line.dialogue.is_some());
                        region.line.dialogue = Some(Arc::new(of_item(frame, value, at + 1, total)));
                        Arc::new(Region::open(&(at + 1).to_string(), region))
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
                if let Some(dialogue) = &mut frame.line.dialogue {
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
            if let Some(region) = region_mut(run, path) {
                region.ended = Some(BranchOutcome::Succeeded);
                region.exit = Some(exit.clone());
                region.also.clone_from(also);
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
        Event::ItemsParted { path, item } => {
            if let Some(frame) = run.frame_mut(path)
                && let Some(before) = frame.stay.before_join.take()
            {
                *frame = *before;
            }
            if let Some(region) = region_mut(run, &path.child(item)) {
                region.ended = None;
                region.exit = None;
                region.also = Vec::new();
            }
        }
        _ => {}
    }
}

/// Returns the context that the line of an item begins with.
fn seen_by_item(frame: &Frame, value: &Value, keys: Option<&[String]>) -> Arc<Object> {
    let mut context = match keys {
        None => Arc::clone(&frame.line.context),
        Some(keys) => {
            let kept = frame
                .line
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
    let mut dialogue = frame.line.dialogue.as_deref().cloned().unwrap_or_default();
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
    let line = frame.regions.iter_mut().find(|region| region.name == first);
    let Some(met) = line.map(Arc::make_mut).and_then(|region| {
        let met = *region.met.take()?;
        region.frame = met.frame;
        region.base = met.base;
        Some(met.others)
    }) else {
        return;
    };
    for region in &mut frame.regions {
        if met.contains(&region.name) {
            let region = Arc::make_mut(region);
            region.ended = None;
            region.frame.stay.gathering = true;
        }
    }
}

/// Puts lines that wait at one state together; the first of them goes on.
fn meet(
    frame: &mut Frame,
    first: &str,
    others: &[String],
    merged: Option<&Merged>,
    may_part: bool,
) {
    let base = Arc::clone(&frame.line.context);
    // Of lines that only go on, nothing is brought together.
    let mut brought = merged.map(|merged| (merged, history(frame, merged)));
    for region in &mut frame.regions {
        if region.name == first {
            let region = Arc::make_mut(region);
            let Some((merged, history)) = brought.take() else {
                region.frame.stay.gathering = false;
                continue;
            };
            if may_part {
                region.met = Some(Box::new(Met {
                    frame: region.frame.clone(),
                    base: region.base.clone(),
                    others: others.to_vec(),
                }));
            }
            region.frame.stay.gathering = false;
            region.frame.line.context = Arc::clone(&base);
            bring(&mut region.frame, merged, history);
            region.frame.line.appended = merged
                .conversation
                .as_ref()
                .map(|conversation| conversation.appended.clone())
                .unwrap_or_default();
            region.base = Some(Arc::clone(&base));
            region.frame.stay.before_join = None;
        } else if others.contains(&region.name) {
            let region = Arc::make_mut(region);
            region.ended = Some(BranchOutcome::Merged);
            region.frame.stay.gathering = false;
        }
    }
}

/// Folds what regions have brought together into the frame above them.
pub(super) fn join(frame: &mut Frame, merged: &Merged) {
    let history = history(frame, merged);
    bring(frame, merged, history);
    if let Some(conversation) = &merged.conversation {
        frame
            .line
            .appended
            .extend(conversation.appended.iter().cloned());
    }
}

/// Puts what regions have brought together into a frame.
fn bring(frame: &mut Frame, merged: &Merged, history: Vec<Said>) {
    let context = Arc::make_mut(&mut frame.line.context);
    for key in &merged.removed {
        context.shift_remove(key);
    }
    context.extend(merged.context.clone());
    let Some(conversation) = &merged.conversation else {
        return;
    };
    frame.line.steps = conversation.steps;
    frame.before = None;
    let dialogue = Arc::make_mut(frame.line.dialogue.get_or_insert_with(Arc::default));
    dialogue.history = history;
    dialogue.spoke.clone_from(&conversation.spoke);
    dialogue.task = merged.output.clone();
    dialogue.gathered |= conversation.gathered;
}

/// Returns the messages that regions bring together.
fn history(holder: &Frame, merged: &Merged) -> Vec<Said> {
    let conversation = merged.conversation.as_ref();
    let ranges = conversation.map_or(&[][..], |conversation| &conversation.messages);
    let of = |range: &MessageRange| -> &[Said] {
        let line = match &range.line {
            None => holder.line.dialogue.as_deref(),
            Some(name) => {
                let mut lines = holder.regions.iter();
                let line = lines.find(|region| region.name == *name);
                line.and_then(|region| region.frame.line.dialogue.as_deref())
            }
        };
        let all = line.map_or(&[][..], |dialogue| &dialogue.history);
        all.get(range.from..range.to).unwrap_or_default()
    };
    ranges.iter().flat_map(|range| of(range).to_vec()).collect()
}
