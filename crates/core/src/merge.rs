//! Merges the results of regions. No other module does.
//!
//! A merge is computed once, when it is decided, and recorded in the event that joins the regions. Folding a log does not
//! use these rules, so that changing them never changes the meaning of an old log.
//!
//! Branches of a fork contribute the keys they changed, and branches of steps the keys they captured. Regions with a
//! conversation contribute their contexts, messages and outputs.

use std::{collections::BTreeSet, sync::Arc};

use interlock_expr::number::deep_equal;
use serde_json::{Value, json};

use crate::{
    dialogue::{Conversation, Message},
    evolve::UPSTREAM,
    machine::{Machine, Merge, Object, Outcome},
    names::StateName,
    parts::{Merged, MergedConversation, MessageRange, RegionOutcome},
    run::{Frame, Region, RegionEnd},
};

/// Merges the branches of a fork that ended with `outcome`.
pub(crate) fn branches(machine: &Machine, frame: &Frame, rule: Merge, outcome: Outcome) -> Object {
    let mut context = match (rule, outcome) {
        (Merge::Captured, _) => captured(frame),
        (_, Outcome::Success) => changed(frame),
        (_, Outcome::Failure) => Object::new(),
    };
    if context.shift_remove(UPSTREAM).is_some() && outcome == Outcome::Success {
        context.insert(UPSTREAM.to_owned(), upstream(machine, frame));
    }
    context
}

/// Merges the changes of successful branches, in the order written.
fn changed(frame: &Frame) -> Object {
    let mut merged = Object::new();
    for region in succeeded(frame) {
        for (key, value) in region.frame.line.context.iter() {
            if !is_same(frame.line.context.get(key), Some(value)) {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
    merged
}

/// Merges the captured keys of all branches, including failed ones, in the order written.
fn captured(frame: &Frame) -> Object {
    let mut merged = Object::new();
    for region in &frame.regions {
        for key in &region.frame.line.captured {
            if let Some(value) = region.frame.line.context.get(key) {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
    merged
}

/// Merges the results that the stages of all branches submitted, in the order of the stages.
fn upstream(machine: &Machine, frame: &Frame) -> Value {
    let of = |frame: &Frame| {
        let upstream = frame.line.context.get(UPSTREAM);
        upstream
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let before = of(frame);
    let mut all = before.clone();
    for region in &frame.regions {
        let new = of(&region.frame)
            .into_iter()
            .filter(|(stage, payload)| !is_same(before.get(stage), Some(payload)));
        all.extend(new);
    }
    let written = machine
        .states
        .keys()
        .filter_map(|state| all.shift_remove_entry(state.as_str()))
        .collect::<Vec<_>>();
    let mut ordered = Object::new();
    ordered.extend(written);
    ordered.extend(all);
    Value::Object(ordered)
}

/// Merges regions that wait at one state; the first of them continues with the result.
pub(crate) fn converging(holder: &Frame, names: &[&str]) -> Merged {
    let arrived: Vec<&Region> = (holder.regions.iter().map(AsRef::as_ref))
        .filter(|region: &&Region| names.contains(&region.name.as_str()))
        .collect();
    let outputs = arrived.iter().map(|region| listed(&region.frame)).collect();
    merge_regions(holder, &arrived, Value::Array(outputs), true)
}

/// Merges the regions of a fork that have all ended: the output is the list of their outputs, or that of a single region.
pub(crate) fn fork(holder: &Frame) -> Merged {
    let ended: Vec<&Region> = succeeded(holder).collect();
    let output = match ended.as_slice() {
        [only] => task_of(&only.frame),
        several => Value::Array(several.iter().map(|region| listed(&region.frame)).collect()),
    };
    merge_regions(holder, &ended, output, false)
}

/// Merges the regions of items, in the order of the items; with `collects`, a failed region contributes its error.
pub(crate) fn items(holder: &Frame, collects: bool) -> Merged {
    let counts: Vec<&Region> = succeeded(holder).collect();
    let outputs = holder
        .regions
        .iter()
        .filter_map(|region| match &region.ended {
            Some(RegionEnd::Succeeded { .. }) => Some(listed(&region.frame)),
            Some(RegionEnd::Failed(cause)) if collects => Some(json!({ "error": cause.message })),
            _ => None,
        });
    let output = Value::Array(outputs.collect());
    let mut merged = merge_regions(holder, &counts, output, true);
    if let Some(conversation) = &mut merged.conversation {
        // The steps of failed regions count, too.
        let all = holder.regions.iter().map(|region| region.frame.line.steps);
        conversation.steps = all.max().unwrap_or(holder.line.steps);
        let appended = holder.regions.iter();
        conversation.appended = appended
            .flat_map(|region| region.frame.line.appended.iter().cloned())
            .collect();
    }
    merged
}

fn succeeded(frame: &Frame) -> impl Iterator<Item = &Region> {
    let ended = |region: &&Region| region.ended_as(RegionOutcome::Succeeded);
    frame.regions.iter().map(AsRef::as_ref).filter(ended)
}

fn merge_regions(holder: &Frame, regions: &[&Region], output: Value, gathered: bool) -> Merged {
    let before = &holder.line.context;
    let after = context(before, regions);
    let removed: Vec<String> = (before.keys())
        .filter(|key| !after.contains_key(*key))
        .cloned()
        .collect();
    let steps = regions.iter().map(|region| region.frame.line.steps).max();
    let appended: BTreeSet<String> = regions
        .iter()
        .flat_map(|region| region.frame.line.appended.iter().cloned())
        .collect();
    Merged {
        context: after
            .into_iter()
            .filter(|(key, value)| before.get(key) != Some(value))
            .collect(),
        removed,
        output,
        conversation: Some(MergedConversation {
            messages: messages(holder.line.dialogue.as_deref(), regions),
            last_speaker: last_spoken(holder.line.dialogue.as_deref(), regions),
            gathered,
            steps: steps.unwrap_or(holder.line.steps),
            appended,
        }),
    }
}

fn task_of(frame: &Frame) -> Value {
    frame
        .line
        .dialogue
        .as_ref()
        .map_or(Value::Null, |dialogue| dialogue.task.clone())
}

/// Returns the last output of a region as an entry of a list.
fn listed(frame: &Frame) -> Value {
    Conversation::listed(&task_of(frame))
}

/// Returns whether two values are equal; numbers are compared by value.
fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => deep_equal(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Merges the keys that regions wrote, in order: the last writer of a key wins, and appended lists are joined.
fn context(before: &Arc<Object>, regions: &[&Region]) -> Object {
    let mut merged: Object = before.as_ref().clone();
    for region in regions {
        let base = region.base.as_ref().unwrap_or(before);
        let own: &[String] = region
            .frame
            .line
            .dialogue
            .as_ref()
            .and_then(|dialogue| dialogue.item.as_ref())
            .map_or(&[], |item| item.keys.as_slice());
        for (key, value) in region.frame.line.context.iter() {
            let written = !is_same(before.get(key), Some(value));
            let of_item = own.contains(key) && !region.frame.line.captured.contains(key);
            if !written || of_item {
                continue;
            }
            let joined = region
                .frame
                .line
                .appended
                .contains(key)
                .then(|| join_lists(merged.get(key), base.get(key), value))
                .flatten();
            merged.insert(key.clone(), joined.unwrap_or_else(|| value.clone()));
        }
        for key in before.keys() {
            // What a region removed is gone, unless it never saw it.
            if !region.frame.line.context.contains_key(key)
                && region.frame.line.removed.contains(key)
            {
                merged.shift_remove(key);
            }
        }
    }
    merged
}

/// Appends to `so_far` the values that a region appended to `base`.
fn join_lists(so_far: Option<&Value>, base: Option<&Value>, value: &Value) -> Option<Value> {
    let list = |value: Option<&Value>| match value {
        None => Some(Vec::new()),
        Some(Value::Array(items)) => Some(items.clone()),
        // The former value is the first item.
        Some(one) => Some(vec![one.clone()]),
    };
    let (mut so_far, base) = (list(so_far)?, list(base)?);
    let value = value.as_array()?;
    let (own, rest) = value.split_at_checked(base.len())?;
    if !own
        .iter()
        .zip(&base)
        .all(|(one, other)| deep_equal(one, other))
    {
        return None;
    }
    let same = so_far.iter().zip(&base);
    let shared = same
        .take_while(|(one, other)| deep_equal(one, other))
        .count();
    if shared < base.len() {
        so_far.extend(base.get(shared..)?.iter().cloned());
    }
    so_far.extend(rest.iter().cloned());
    Some(Value::Array(so_far))
}

/// Returns the state of the assistant that spoke last, in the order of the regions.
fn last_spoken(before: Option<&Conversation>, regions: &[&Region]) -> Option<StateName> {
    let spoke = |dialogue: Option<&Conversation>| dialogue?.last_speaker.clone();
    let newest = regions
        .iter()
        .rev()
        .find_map(|region| spoke(region.frame.line.dialogue.as_deref()));
    newest.or_else(|| spoke(before))
}

/// Lists the messages of the merged conversation: the earlier ones, then those of each region, in order.
fn messages(before: Option<&Conversation>, regions: &[&Region]) -> Vec<MessageRange> {
    let before: &[Message] = before.map_or(&[], |dialogue| dialogue.history.as_slice());
    let mut cleared = !regions.is_empty();
    let mut new = Vec::new();
    for (at, region) in regions.iter().enumerate() {
        let history = history_of(region);
        // What regions said before they split is said once.
        let shared = history.get(..region.shared).filter(|shared| {
            let mut earlier = regions.iter().take(at).map(|region| history_of(region));
            shared.len() > before.len() && earlier.any(|other| other.starts_with(shared))
        });
        let from = match shared {
            Some(shared) => Some(shared.len()),
            None => history.starts_with(before).then_some(before.len()),
        };
        cleared &= from.is_none();
        let from = from.unwrap_or_default();
        if from < history.len() {
            new.push(MessageRange {
                line: Some(region.name.clone()),
                from,
                to: history.len(),
            });
        }
    }
    if !cleared && !before.is_empty() {
        let all = MessageRange {
            line: None,
            from: 0,
            to: before.len(),
        };
        new.insert(0, all);
    }
    new
}

fn history_of(region: &Region) -> &[Message] {
    let dialogue = region.frame.line.dialogue.as_deref();
    dialogue.map_or(&[], |dialogue| dialogue.history.as_slice())
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
