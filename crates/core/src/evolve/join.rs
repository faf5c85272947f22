//! Folds regions that join into the frame above them, and parts them again.

use std::sync::Arc;

use crate::{
    dialogue::Message,
    event::{Merged, MessageRange},
    run::{Entry, Frame, Met, RegionEnd},
};

/// Has lines that had met wait again, each as it was.
pub(super) fn part(frame: &mut Frame, first: &str) {
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
            region.frame.stay.entry = Entry::WaitingAtJoin;
        }
    }
}

/// Puts lines that wait at one state together; the first of them goes on.
pub(super) fn meet(
    frame: &mut Frame,
    first: &str,
    others: &[String],
    merged: &Merged,
    may_part: bool,
) {
    let base = Arc::clone(&frame.line.context);
    // Of a line that goes on alone, nothing is brought together.
    let mut brought = (!others.is_empty()).then(|| (merged, history(frame, merged)));
    for region in &mut frame.regions {
        if region.name == first {
            let region = Arc::make_mut(region);
            let Some((merged, history)) = brought.take() else {
                region.frame.stay.entry = Entry::Open;
                continue;
            };
            if may_part {
                region.met = Some(Box::new(Met {
                    frame: region.frame.clone(),
                    base: region.base.clone(),
                    others: others.to_vec(),
                }));
            }
            region.frame.stay.entry = Entry::Open;
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
            region.ended = Some(RegionEnd::Merged);
            region.frame.stay.entry = Entry::Open;
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
fn bring(frame: &mut Frame, merged: &Merged, history: Vec<Message>) {
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

/// Returns the messages that regions bring together.
fn history(holder: &Frame, merged: &Merged) -> Vec<Message> {
    let conversation = merged.conversation.as_ref();
    let ranges = conversation.map_or(&[][..], |conversation| &conversation.messages);
    let of = |range: &MessageRange| -> &[Message] {
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
