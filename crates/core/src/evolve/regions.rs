//! Folds the events of regions (started, ended, joined, separated) and of called machines.

use std::sync::Arc;

use serde_json::Value;

use super::{
    calls::{free, release},
    enter, hooks, join, merge, region_mut,
    reopen::enter_again,
    requests,
};
use crate::{
    dialogue::{Conversation, Item, Message, Speaker},
    event::{
        BranchStart, Cause, Event, JoinedNext, Merged, RegionKind, RegionOutcome, RegionsStart,
    },
    machine::Object,
    names::{FramePath, MachineId, StateName},
    run::{Entry, Frame, Items, Progress, Region, RegionEnd, Run},
};

/// Folds an event of regions.
pub(super) fn apply_region(run: &mut Run, event: &Event) {
    let seq = run.seq;
    match event {
        Event::ItemsListed { path, items } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.stay.progress = Progress::Items(Items {
                    all: Arc::new(items.clone()),
                    ended: 0,
                    failed: 0,
                    hidden: Vec::new(),
                });
            }
        }
        Event::RegionsStarted { path, start } => start_regions(run, path, start),
        Event::RegionReopened { path, at_ms } => {
            if let Some(region) = region_mut(run, path) {
                region.ended = None;
                enter_again(&mut region.frame, seq, *at_ms, true);
            }
        }
        Event::RegionWaits { path } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.stay.entry = Entry::WaitingAtJoin;
            }
        }
        Event::RegionPassed {
            path,
            to,
            value,
            at_ms,
        } => {
            hooks::on_entry(run);
            if let Some(frame) = run.frame_mut(path) {
                enter(frame, to, seq, *at_ms);
                if let Some(dialogue) = &mut frame.line.dialogue {
                    pass_item(Arc::make_mut(dialogue), value.as_ref());
                }
            }
            requests::forget_stay(run, path, *at_ms);
        }
        Event::RegionEnded {
            path,
            kind: RegionKind::Line,
            cause,
            ..
        } => end_text_line(run, path, cause.is_some()),
        Event::RegionEnded {
            path,
            outcome,
            exits,
            cause,
            ..
        } => end_region(run, path, *outcome, exits, cause.as_ref()),
        Event::Joined {
            path,
            lines,
            merged,
            cause,
            next,
            may_part,
            ..
        } => match lines.split_first() {
            Some((first, others)) => {
                if let Some(frame) = run.frame_mut(path) {
                    join::converge(frame, first, others, merged, *may_part);
                }
            }
            None => join_all(run, path, merged, cause.as_ref(), next.as_ref(), *may_part),
        },
        Event::Parted { path, line } => separate(run, path, line),
        Event::MachineCalled {
            path,
            machine,
            shown,
            initial,
            context,
        } => {
            let entered_ms = entered_ms(run, path);
            if let Some(frame) = run.frame_mut(path) {
                let region = Frame::entering(
                    Some(machine.clone()),
                    initial.clone(),
                    Arc::new(context.clone()),
                    seq,
                    entered_ms,
                );
                frame.regions = vec![Arc::new(Region::open(shown, region))];
            }
            hooks::on_entry(run);
        }
        Event::MachineReturned {
            path,
            merged,
            output,
            cause,
            ..
        } => {
            if let Some(frame) = run.frame_mut(path) {
                merge(frame, merged);
            }
            close_regions(run, path, Some(merged), output, cause.as_ref());
        }
        _ => {}
    }
}

fn start_regions(run: &mut Run, path: &FramePath, start: &RegionsStart) {
    let (seq, ms) = (run.seq, entered_ms(run, path));
    match start {
        RegionsStart::Branches(branches) => {
            if let Some(frame) = run.frame_mut(path) {
                let started = branches
                    .iter()
                    .map(|branch| start_branch(frame, branch, seq, ms));
                let started: Vec<Arc<Region>> = started.map(Arc::new).collect();
                frame.regions = started;
            }
        }
        RegionsStart::Next(branch) => {
            if let Some(frame) = run.frame_mut(path) {
                let started = start_branch(frame, branch, seq, ms);
                frame.regions.push(Arc::new(started));
            }
        }
        RegionsStart::Split(branches) => split(run, path, branches),
        RegionsStart::Items {
            items,
            initial,
            keys,
        } => {
            if let Some(frame) = run.frame_mut(path) {
                let total = items.len();
                let region = |(number, value): (usize, &Value)| {
                    let context = item_context(frame, value, keys.as_deref());
                    let machine = frame.machine.clone();
                    let mut item = Frame::entering(machine, initial.clone(), context, seq, ms);
                    item.line.steps = frame.line.steps + u64::from(frame.line.dialogue.is_some());
                    let dialogue = item_conversation(frame, value, number, total);
                    item.line.dialogue = Some(Arc::new(dialogue));
                    Arc::new(Region::open(&number.to_string(), item))
                };
                let regions: Vec<Arc<Region>> = (1..).zip(items).map(region).collect();
                frame.regions = regions;
            }
        }
        RegionsStart::Line {
            index,
            machine,
            initial,
            keys,
            at_ms,
        } => {
            hooks::on_entry(run);
            if let Some(frame) = run.frame_mut(path) {
                start_text_line(frame, *index, (machine, initial), keys, (seq, *at_ms));
            }
        }
    }
}

/// Creates the region of a branch, which starts with the data of the frame above it.
fn start_branch(frame: &Frame, branch: &BranchStart, seq: u64, ms: u64) -> Region {
    let context = Arc::clone(&frame.line.context);
    let machine = frame.machine.clone();
    let mut started = Frame::entering(machine, branch.initial.clone(), context, seq, ms);
    started.line.caught.clone_from(&frame.line.caught);
    started.line.dialogue.clone_from(&frame.line.dialogue);
    started.line.steps = frame.line.steps + u64::from(frame.line.dialogue.is_some());
    Region::open(&branch.name, started)
}

/// Replaces the region at `path` by several regions of the same parent.
fn split(run: &mut Run, path: &FramePath, branches: &[BranchStart]) {
    let (seq, ms) = (run.seq, entered_ms(run, path));
    let Some(region) = region_mut(run, path) else {
        return;
    };
    region.ended = Some(RegionEnd::Merged);
    let from = &region.frame;
    let shared = from.line.dialogue.as_ref();
    let shared = shared.map_or(0, |dialogue| dialogue.history.len());
    let start = |branch| Region {
        base: Some(Arc::clone(&from.line.context)),
        shared,
        ..start_branch(from, branch, seq, ms)
    };
    let started: Vec<Arc<Region>> = branches.iter().map(start).map(Arc::new).collect();
    let holder = path.split_last().map(|(holder, _)| holder);
    if let Some(frame) = holder.and_then(|holder| run.frame_mut(&holder)) {
        frame.regions.extend(started);
    }
}

/// Starts the machine of a line of text on the context of the frame itself.
fn start_text_line(
    frame: &mut Frame,
    index: u64,
    (machine, initial): (&MachineId, &StateName),
    (item, number): &(String, String),
    (seq, at_ms): (u64, u64),
) {
    let Some(items) = frame.stay.items_mut() else {
        return;
    };
    let text = usize::try_from(index)
        .ok()
        .and_then(|index| items.all.get(index))
        .cloned()
        .unwrap_or_default();
    items.hidden = [item, number]
        .map(|key| (key.clone(), frame.line.context.get(key).cloned()))
        .to_vec();
    let mut context = Arc::clone(&frame.line.context);
    let values = Arc::make_mut(&mut context);
    values.insert(item.clone(), Value::from(text));
    values.insert(number.clone(), Value::from(index.to_string()));
    let mut inner = Frame::entering(Some(machine.clone()), initial.clone(), context, seq, at_ms);
    inner.line.caught.clone_from(&frame.line.caught);
    frame.regions = vec![Arc::new(Region::open(&index.to_string(), inner))];
}

/// Ends the machine of a line of text and returns its context to the frame above it.
fn end_text_line(run: &mut Run, path: &FramePath, failed: bool) {
    let holder = path.split_last().map(|(holder, _)| holder);
    let Some(frame) = holder.and_then(|holder| run.frame_mut(&holder)) else {
        return;
    };
    if let (Some(region), Some(items)) = (frame.regions.pop(), frame.stay.items_mut()) {
        let mut region = Arc::unwrap_or_clone(region);
        let context = Arc::make_mut(&mut region.frame.line.context);
        for (key, before) in std::mem::take(&mut items.hidden) {
            match before {
                Some(before) => drop(context.insert(key, before)),
                None => drop(context.shift_remove(&key)),
            }
        }
        items.ended += 1;
        items.failed += u64::from(failed);
        frame.line.context = region.frame.line.context;
        frame.line.captured.extend(region.frame.line.captured);
        frame.line.caught = region.frame.line.caught;
    }
    frame.regions = Vec::new();
}

fn end_region(
    run: &mut Run,
    path: &FramePath,
    outcome: RegionOutcome,
    exits: &[StateName],
    cause: Option<&Cause>,
) {
    requests::void_below(run, path, "its branch has ended");
    if let Some(region) = region_mut(run, path) {
        region.ended = Some(RegionEnd::new(outcome, exits, cause));
        region.frame.stay.request = None;
    }
    hooks::on_region_end(run, path, outcome);
    release(run, path);
}

fn join_all(
    run: &mut Run,
    path: &FramePath,
    merged: &Merged,
    cause: Option<&Cause>,
    next: Option<&JoinedNext>,
    may_part: bool,
) {
    if let Some(frame) = run.frame_mut(path) {
        let before = may_part.then(|| Box::new(frame.clone()));
        join::join(frame, merged);
        if frame.stay.items().is_some() {
            frame.stay.progress = Progress::None;
        }
        frame.stay.before_join = before;
    }
    // What regions with a conversation wrote counts as captured where they wrote it.
    let captured = merged.conversation.is_none().then_some(&merged.context);
    close_regions(run, path, captured, &merged.output, cause);
    let Some(next) = next else {
        return;
    };
    let seq = run.seq;
    hooks::on_entry(run);
    if let Some(frame) = run.frame_mut(path) {
        let before = frame.stay.before_join.take();
        enter(frame, &next.to, seq, next.at_ms);
        frame.stay.before_join = before;
        if !next.exits.is_empty() {
            frame.stay.progress = Progress::Branches(next.exits.clone());
        }
    }
    requests::forget_stay(run, path, next.at_ms);
}

/// Separates regions that continue as one, or the regions of items that have joined.
fn separate(run: &mut Run, path: &FramePath, first: &str) {
    let Some(frame) = run.frame_mut(path) else {
        return;
    };
    if frame.regions.iter().any(|region| region.name == first) {
        return join::separate(frame, first);
    }
    if let Some(before) = frame.stay.before_join.take() {
        *frame = *before;
    }
    if let Some(region) = region_mut(run, &path.child(first)) {
        region.ended = None;
    }
}

fn close_regions(
    run: &mut Run,
    path: &FramePath,
    captured: Option<&Object>,
    output: &Value,
    cause: Option<&Cause>,
) {
    if let Some(frame) = run.frame_mut(path) {
        frame.regions = Vec::new();
    }
    hooks::on_join(run, path, captured, output, cause);
    free(run, |bound| bound != path && path.holds(bound));
    requests::void_inside(run, path);
}

fn entered_ms(run: &Run, path: &FramePath) -> u64 {
    run.frame(path).map_or(0, |frame| frame.stay.entered_ms)
}

/// Passes the item to the next state of a chain; `value`, if given, replaces it.
fn pass_item(dialogue: &mut Conversation, value: Option<&Value>) {
    if let (Some(value), Some(item)) = (value, dialogue.item.as_mut()) {
        item.value = value.clone();
    }
    let item = dialogue.item.as_ref();
    dialogue.task = item.map_or(Value::Null, |item| item.value.clone());
    dialogue.gathered = false;
}

/// Returns the initial context of an item's region.
fn item_context(frame: &Frame, value: &Value, keys: Option<&[String]>) -> Arc<Object> {
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

fn item_conversation(frame: &Frame, value: &Value, index: usize, total: usize) -> Conversation {
    let mut dialogue = frame.line.dialogue.as_deref().cloned().unwrap_or_default();
    dialogue.history.push(Message {
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
