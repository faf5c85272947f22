//! Folds the joining of regions, and separates joined regions again.

use std::sync::Arc;

use crate::{
    dialogue::Message,
    event::{Merged, MessageRange},
    run::{Entry, Frame, RegionBefore, RegionEnd},
};

/// Separates regions that continued as one; each waits again in its earlier state.
pub(super) fn separate(frame: &mut Frame, first: &str) {
    let joined = frame.regions.iter_mut().find(|region| region.name == first);
    let Some(others) = joined.map(Arc::make_mut).and_then(|region| {
        let before = *region.before_join.take()?;
        region.frame = before.frame;
        region.base = before.base;
        Some(before.others)
    }) else {
        return;
    };
    for region in &mut frame.regions {
        if others.contains(&region.name) {
            let region = Arc::make_mut(region);
            region.ended = None;
            region.frame.stay.entry = Entry::WaitingAtJoin;
        }
    }
}

/// Joins regions that wait at one state: the first of them continues for all.
pub(super) fn converge(
    frame: &mut Frame,
    first: &str,
    others: &[String],
    merged: &Merged,
    may_separate: bool,
) {
    let base = Arc::clone(&frame.line.context);
    // A region that continues alone has nothing to merge.
    let mut merged = (!others.is_empty()).then(|| (merged, history(frame, merged)));
    for region in &mut frame.regions {
        if region.name == first {
            let region = Arc::make_mut(region);
            let Some((merged, history)) = merged.take() else {
                region.frame.stay.entry = Entry::Open;
                continue;
            };
            if may_separate {
                region.before_join = Some(Box::new(RegionBefore {
                    frame: region.frame.clone(),
                    base: region.base.clone(),
                    others: others.to_vec(),
                }));
            }
            region.frame.stay.entry = Entry::Open;
            region.frame.line.context = Arc::clone(&base);
            write_merged(&mut region.frame, merged, history);
            region.frame.line.appended = merged
                .conversation
                .as_ref()
                .map(|conversation| conversation.appended.clone())
                .unwrap_or_default();
            region.base = Some(Arc::clone(&base));
            region.frame.stay.before_join = None;
        } else if others.contains(&region.name) {
            let region = Arc::make_mut(region);
            region.ended = Some(RegionEnd::Merged);
            region.frame.stay.entry = Entry::Open;
        }
    }
}

/// Folds the merged results of regions into the frame above them.
pub(super) fn join(frame: &mut Frame, merged: &Merged) {
    let history = history(frame, merged);
    write_merged(frame, merged, history);
    if let Some(conversation) = &merged.conversation {
        frame
            .line
            .appended
            .extend(conversation.appended.iter().cloned());
    }
}

/// Writes the merged results of regions into a frame.
fn write_merged(frame: &mut Frame, merged: &Merged, history: Vec<Message>) {
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
    dialogue.last_speaker.clone_from(&conversation.last_speaker);
    dialogue.task = merged.output.clone();
    dialogue.gathered |= conversation.gathered;
}

/// Returns the merged messages of regions.
fn history(holder: &Frame, merged: &Merged) -> Vec<Message> {
    let conversation = merged.conversation.as_ref();
    let ranges = conversation.map_or(&[][..], |conversation| &conversation.messages);
    let of = |range: &MessageRange| -> &[Message] {
        let dialogue = match &range.line {
            None => holder.line.dialogue.as_deref(),
            Some(name) => {
                let region = holder.region(name);
                region.and_then(|region| region.frame.line.dialogue.as_deref())
            }
        };
        let all = dialogue.map_or(&[][..], |dialogue| &dialogue.history);
        all.get(range.from..range.to).unwrap_or_default()
    };
    ranges.iter().flat_map(|range| of(range).to_vec()).collect()
}
