//! What two runs must have in common for every rule to treat them alike.
//!
//! A run is copied, and what no rule can read any more is taken out of the
//! copy: sequence numbers become what guards ask of them, values of the
//! context the classes that guards tell apart. Whatever is not known to be
//! without effect stays in.

use std::{collections::BTreeMap, sync::Arc};

use interlock_core::{
    Reply,
    command::{Answer, Ask, Command},
    decide,
    event::About,
    guard::Since,
    machine::Object,
    names::{Digest, FramePath},
    run::{Frame, Phase, Run, Seen, Used as Counts},
};
use interlock_simulate::with_what_it_takes;
use serde_json::Value;

use crate::{model::Model, substance};

/// A state of the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Vec<u8>);

#[cfg(test)]
impl Key {
    /// Returns it as text, for a failed test.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// Calls used in open stays; with fewer, more is permitted.
pub(crate) type Used = Vec<u64>;

/// Returns the state of the graph that a run is in, and what it has used beyond that.
pub(crate) fn key(model: &Model, run: &Run) -> (Key, Used) {
    let mut copy = run.clone();
    let entries = entries(run);
    copy.evidence = alike(model, evidence(model, run, &entries));
    copy.last_write = None;
    for baseline in copy.baselines.values_mut() {
        // Only whether it is from before the last approval matters: then another takes its place.
        baseline.after = (baseline.after == run.approved).then_some(0);
        // All reports that are tried say the same.
        baseline.digest = Digest::default();
        (baseline.passed, baseline.ran) = (0, 0);
    }
    let reports = model
        .machine
        .evidence_guards()
        .any(|one| one.report.is_some());
    copy.approved = (reports && run.takes_baseline()).then_some(0);
    copy.seq = 0;
    copy.finish_refusals = 0;
    copy.settled.clear();
    copy.confined = None;
    if let Phase::Ended { cause, .. } = &mut copy.phase {
        *cause = None;
    }
    let mut used = Used::new();
    let waits = still_valid(model, run);
    frame_at(
        model,
        &mut copy.root,
        None,
        &mut used,
        &waits,
        &FramePath::root(),
    );
    let text = serde_json::to_vec(&copy);
    // A run that cannot be written is like no other: its own text tells it apart.
    let bytes = text.unwrap_or_else(|_| format!("{run:?}").into_bytes());
    (Key(bytes), used)
}

/// Returns when each live frame entered its state, outermost first.
fn entries(run: &Run) -> Vec<u64> {
    fn collect(frame: &Frame, found: &mut Vec<u64>) {
        found.push(frame.stay.entered_seq);
        for region in &frame.regions {
            collect(&region.frame, found);
        }
    }
    let mut found = Vec::new();
    collect(&run.root, &mut found);
    found
}

/// Keeps of what was seen which guards it satisfies, as far as only age decides.
///
/// What satisfies none now never will again: only a new call can, and it takes its place.
fn evidence(model: &Model, run: &Run, entries: &[u64]) -> BTreeMap<String, Seen> {
    let mut kept = BTreeMap::new();
    for (key, seen) in &run.evidence {
        let mut word = String::new();
        for (wanted, since) in model.evidence.get(key).into_iter().flatten() {
            let fits = seen.exit == Some(*wanted);
            match since {
                Since::RunStart => word.push(bit(fits)),
                Since::LastEdit => word.push(bit(fits && !seen.is_before_an_edit(run))),
                Since::StateEntry => {
                    word.extend(entries.iter().map(|at| bit(fits && seen.begun_seq > *at)));
                }
            }
        }
        if word.contains('1') {
            let bits = u64::from_str_radix(&word, 2).unwrap_or(seen.begun_seq);
            kept.insert(
                key.clone(),
                Seen {
                    begun_seq: bits,
                    exit: None,
                    after_writes: false,
                    ended_seq: None,
                    report: seen.report.as_ref().map(substance::plain),
                    frozen: seen.frozen.clone(),
                },
            );
        }
    }
    kept
}

const fn bit(is: bool) -> char {
    if is { '1' } else { '0' }
}

/// Orders what was seen of keys that no rule tells apart.
fn alike(model: &Model, mut evidence: BTreeMap<String, Seen>) -> BTreeMap<String, Seen> {
    for group in &model.alike {
        let mut seen: Vec<Seen> = group
            .iter()
            .filter_map(|key| evidence.remove(key))
            .collect();
        seen.sort_by_key(|one| std::cmp::Reverse(one.begun_seq));
        for (key, one) in group.iter().zip(seen) {
            evidence.insert(key.clone(), one);
        }
    }
    evidence
}

/// Tells of each parked frame whether a yes would still be taken.
///
/// A question is void once what its guards read has changed, which another branch may bring about.
fn still_valid(model: &Model, run: &Run) -> Vec<(FramePath, bool)> {
    let parked = run.open_leaves().into_iter().filter(|path| {
        run.frame(path)
            .is_some_and(|frame| frame.stay.request.is_some())
    });
    parked
        .map(|path| {
            let yes = Command {
                at_ms: 0,
                ask: Ask::Approve(with_what_it_takes(
                    &model.machine,
                    run,
                    Answer {
                        by: "a person".to_owned(),
                        path: answer_path(run, &path),
                        ..Answer::default()
                    },
                )),
            };
            let taken = matches!(decide(&model.machine, run, &yes).reply, Reply::Accepted);
            (path, taken)
        })
        .collect()
}

/// Names the request of a frame to whoever answers; `None`: the only one.
pub(crate) fn answer_path(run: &Run, path: &FramePath) -> Option<String> {
    (!path.is_root() && run.frame(path).is_some()).then(|| path.to_string())
}

fn frame_at(
    model: &Model,
    frame: &mut Frame,
    above: Option<&Object>,
    used: &mut Used,
    waits: &[(FramePath, bool)],
    path: &FramePath,
) {
    let own = Arc::clone(&frame.line.context);
    frame.line.context = Arc::new(context(model, &own, above));
    if !model.reads_output {
        frame.line.output = Arc::new(Value::Null);
    }
    frame.line.caught = None;
    if let Some(handling) = &mut frame.line.handling {
        handling.file.clear();
    }
    for hit in &mut frame.line.queue {
        hit.file.clear();
    }
    let leaf = frame.regions.is_empty() && frame.stay.used != Counts::default();
    limits(model, frame, used, leaf);
    let stay = &mut frame.stay;
    stay.entered_seq = 0;
    stay.entered_ms = 0;
    stay.note = None;
    stay.failure = None;
    if let Some(request) = &mut stay.request {
        let valid = waits.iter().any(|(at, valid)| at == path && *valid);
        request.seq = 0;
        request.entered_seq = 0;
        request.question = Digest::new(if valid { "valid" } else { "void" });
        if let About::Transition(asked) = &mut request.about {
            // What it would bring into the context counts by class, and beside what is there.
            let mut after = own.as_ref().clone();
            after.extend(std::mem::take(&mut asked.data));
            asked.data = context(model, &after, above);
        }
    }
    for region in &mut frame.regions {
        let region = Arc::make_mut(region);
        region.cause = None;
        if region.ended.is_some() {
            region.frame.stay.used = Counts::default();
        }
        let below = path.child(&region.name);
        frame_at(model, &mut region.frame, Some(&own), used, waits, &below);
    }
}

/// Returns the classes of what guards read, and what of it is not as in the frame above.
fn context(model: &Model, context: &Object, above: Option<&Object>) -> Object {
    let mut classes = Object::new();
    for (index, cell) in model.cells.cells.iter().enumerate() {
        let value = context.get(&cell.key);
        let class = model.cells.class(index, value);
        let changed = match above {
            Some(above) if above.get(&cell.key) != value => "changed ",
            _ => "",
        };
        classes.insert(cell.key.clone(), Value::String(format!("{changed}{class}")));
    }
    classes
}

/// Counts what is used up as far as a limit makes it count.
fn limits(model: &Model, frame: &mut Frame, used: &mut Used, leaf: bool) {
    let policy = model
        .state(frame.machine.as_ref(), &frame.at)
        .filter(|_| leaf)
        .map(|state| &state.policy);
    let calls = policy.and_then(|policy| policy.iterations_max);
    let bytes = policy.and_then(|policy| policy.result_bytes_max);
    let files = policy.and_then(|policy| policy.files_max);
    let now = &mut frame.stay.used;
    let out = calls.is_some_and(|limit| now.calls >= limit)
        || bytes.is_some_and(|limit| now.bytes >= limit);
    match calls {
        None => now.calls = 0,
        Some(_) if out => now.calls = 1_000_000,
        Some(limit) if limit <= model.counted_to => {}
        Some(_) => {
            used.push(now.calls);
            now.calls = 0;
        }
    }
    now.bytes = u64::from(out);
    match files {
        None => now.files.clear(),
        Some(limit) => {
            let count = u64::try_from(now.files.len()).unwrap_or(u64::MAX);
            // A file that was written may be written again when no other may.
            now.files = now
                .files
                .iter()
                .map(|file| model.file_class(file))
                .collect();
            if count >= limit {
                now.files.insert("full".to_owned());
            } else {
                used.push(count);
            }
        }
    }
}

/// Says of one piece of evidence which guards it satisfies, by age.
pub(crate) fn seen_word(model: &Model, run: &Run, key: &str) -> String {
    let mut only = run.clone();
    only.evidence.retain(|known, _| known == key);
    let kept = evidence(model, &only, &entries(run));
    kept.get(key)
        .map_or_else(String::new, |seen| seen.begun_seq.to_string())
}
