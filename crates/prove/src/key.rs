//! What two runs must have in common for every rule to treat them alike.
//!
//! A run is copied, and what no rule can read any more is taken out of the
//! copy: sequence numbers become what guards ask of them, values of the
//! context the classes that guards tell apart. Whatever is not known to be
//! without effect stays in.

use std::sync::Arc;

use interlock_core::{
    Reply,
    command::{Answer, Command, CommandKind},
    decide,
    event::{About, Cause},
    guard::Since,
    machine::Object,
    names::{Digest, FramePath, StateName},
    run::{Frame, Phase, Region, RegionEnd, Run, Seen, Used as Counts},
};
use interlock_simulate::with_what_it_takes;
use serde_json::Value;

use crate::{model::Model, substance};

/// A run without what no rule reads, taken apart: each region stands by itself.
#[derive(Debug)]
pub(crate) struct Stripped {
    /// Everything but the parts.
    pub(crate) rest: Run,
    /// Each region of the outermost frame; that frame itself where it has none.
    pub(crate) parts: Vec<Part>,
    /// For each key of evidence which guards it satisfies, by age alone; empty: none.
    pub(crate) words: Vec<String>,
}

/// A region, or the outermost frame.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) text: Vec<u8>,
    /// Calls and files used in its open stays; with fewer, more is permitted.
    pub(crate) used: Vec<u64>,
    /// How many of each there may be.
    pub(crate) limits: Vec<u64>,
}

impl Part {
    fn new(text: Vec<u8>, used: Vec<(u64, u64)>) -> Self {
        let (used, limits) = used.into_iter().unzip();
        Self { text, used, limits }
    }
}

/// Takes a run apart.
pub(crate) fn strip(model: &Model, run: &Run) -> Stripped {
    let mut copy = run.clone();
    let words = seen_words(model, run);
    copy.evidence.clear();
    copy.last_write = None;
    for baseline in copy.baselines.values_mut() {
        // Only whether it is from before the last approval matters: then another takes its place.
        baseline.after = (baseline.after == run.approved).then_some(0);
        // All reports that are tried say the same.
        baseline.digest = Digest::default();
        (baseline.passed, baseline.ran) = (0, 0);
    }
    copy.approved = (model.reads_reports && run.takes_baseline()).then_some(0);
    copy.seq = 0;
    copy.finish_refusals = 0;
    copy.settled.clear();
    copy.confined = None;
    if let Phase::Ended { cause, .. } = &mut copy.phase {
        *cause = None;
    }
    let waits = still_valid(model, run);
    let root = FramePath::root();
    let mut used = Vec::new();
    let above = Arc::clone(&copy.root.line.context);
    frame_alone(
        model,
        &mut copy.root,
        (None, false),
        &mut used,
        &waits,
        &root,
    );
    let regions = std::mem::take(&mut copy.root.regions);
    if regions.is_empty() {
        let blank = Frame::entering(None, StateName::new(""), Arc::default(), 0, 0);
        let frame = std::mem::replace(&mut copy.root, blank);
        let text = bytes(serde_json::to_vec(&frame), &frame);
        let (rest, parts) = (copy, vec![Part::new(text, used)]);
        return Stripped { rest, parts, words };
    }
    let parts = regions.into_iter().map(|mut region| {
        let mut used = Vec::new();
        below(model, &mut region, &above, &mut used, &waits, &root);
        Part::new(bytes(serde_json::to_vec(&region), &region), used)
    });
    let parts = parts.collect();
    Stripped {
        rest: copy,
        parts,
        words,
    }
}

impl Stripped {
    /// Returns the text of everything but the parts.
    pub(crate) fn rest_text(&self) -> Vec<u8> {
        bytes(serde_json::to_vec(&self.rest), &self.rest)
    }
}

/// Says of each key of evidence which guards it satisfies, by age alone.
pub(crate) fn seen_words(model: &Model, run: &Run) -> Vec<String> {
    let entries = entries(run);
    let all = model.evidence.values().zip(seen(model, run));
    all.map(|(asked, seen)| word(model, run, (asked.as_slice(), seen), &entries))
        .collect()
}

/// Returns what was seen of each key of evidence.
pub(crate) fn seen<'r>(model: &'r Model, run: &'r Run) -> impl Iterator<Item = Option<&'r Seen>> {
    // Both maps are in the order of their keys.
    let mut known = run.evidence.iter().peekable();
    model.evidence.keys().map(move |key| {
        while known.next_if(|(other, _)| *other < key).is_some() {}
        let found = known.next_if(|(other, _)| *other == key);
        found.map(|(_, seen)| seen)
    })
}

/// Takes the text of a value; what cannot be written is like nothing else: its debug text tells it apart.
fn bytes(text: serde_json::Result<Vec<u8>>, value: &dyn std::fmt::Debug) -> Vec<u8> {
    text.unwrap_or_else(|_| format!("{value:?}").into_bytes())
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

/// Returns the path of each live frame and when it entered its state, in the order of [`entries`].
pub(crate) fn stays(run: &Run) -> Vec<(FramePath, u64)> {
    fn collect(frame: &Frame, path: FramePath, found: &mut Vec<(FramePath, u64)>) {
        let below = frame.regions.iter();
        let below: Vec<_> = below
            .map(|region| (region, path.child(&region.name)))
            .collect();
        found.push((path, frame.stay.entered_seq));
        for (region, path) in below {
            collect(&region.frame, path, found);
        }
    }
    let mut found = Vec::new();
    collect(&run.root, FramePath::root(), &mut found);
    found
}

/// Says of what was seen which guards it satisfies, as far as only age decides.
///
/// What satisfies none now never will again: only a new call can, and it takes its place.
fn word(
    model: &Model,
    run: &Run,
    (asked, seen): (&[(i64, Since)], Option<&Seen>),
    entries: &[u64],
) -> String {
    let Some(seen) = seen else {
        return String::new();
    };
    let mut word = String::new();
    for (wanted, since) in asked {
        let fits = seen.exit == Some(*wanted);
        match since {
            Since::RunStart => word.push(bit(fits)),
            Since::LastEdit => word.push(bit(fits && !seen.is_before_an_edit(run))),
            Since::StateEntry => {
                word.extend(entries.iter().map(|at| bit(fits && seen.begun_seq > *at)));
            }
        }
    }
    if !word.contains('1') {
        return String::new();
    }
    if model.reads_substance {
        let report = seen.report.as_ref().map(substance::plain);
        word.push_str(&format!(" {report:?} {:?}", seen.frozen));
    }
    word
}

const fn bit(is: bool) -> char {
    if is { '1' } else { '0' }
}

/// Orders what was seen of keys that no rule tells apart, and says what stands where now.
///
/// Nothing is moved while a person is asked: the question names what its guards have read.
pub(crate) fn order_alike<W: Ord + Copy>(
    groups: &[Vec<usize>],
    words: &mut [W],
) -> Vec<(usize, usize)> {
    let mut moved = Vec::new();
    for group in groups {
        let of_group = group.iter().filter_map(|key| words.get(*key));
        if of_group.is_sorted_by(|one, other| one >= other) {
            continue;
        }
        let mut seen: Vec<(W, usize)> = group
            .iter()
            .filter_map(|key| Some((*words.get(*key)?, *key)))
            .collect();
        seen.sort_by_key(|(word, _)| std::cmp::Reverse(*word));
        for (to, (word, from)) in group.iter().zip(seen) {
            if let Some(place) = words.get_mut(*to) {
                *place = word;
            }
            moved.push((from, *to));
        }
    }
    moved
}

/// Moves what was seen to the keys that it counts for from now on.
pub(crate) fn move_seen(model: &Model, run: &mut Run, moved: &[(usize, usize)]) {
    let name = |index: usize| model.evidence.keys().nth(index);
    let taken: Vec<(usize, Option<Seen>)> = moved
        .iter()
        .map(|(from, to)| (*to, name(*from).and_then(|key| run.evidence.remove(key))))
        .collect();
    for (to, seen) in taken {
        if let (Some(key), Some(seen)) = (name(to), seen) {
            run.evidence.insert(key.clone(), seen);
        }
    }
}

/// Returns for each parked frame whether a yes would still be accepted.
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
                kind: CommandKind::Approve(with_what_it_takes(
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

fn below(
    model: &Model,
    region: &mut Arc<Region>,
    above: &Object,
    used: &mut Vec<(u64, u64)>,
    waits: &[(FramePath, bool)],
    path: &FramePath,
) {
    let region = Arc::make_mut(region);
    if let Some(RegionEnd::Failed(cause)) = &mut region.ended {
        *cause = Cause::default();
    }
    let ended = region.ended.is_some();
    if ended {
        region.frame.stay.used = Counts::default();
    }
    let path = path.child(&region.name);
    let own = Arc::clone(&region.frame.line.context);
    frame_alone(
        model,
        &mut region.frame,
        (Some(above), ended),
        used,
        waits,
        &path,
    );
    for region in &mut region.frame.regions {
        below(model, region, &own, used, waits, &path);
    }
}

fn frame_alone(
    model: &Model,
    frame: &mut Frame,
    (above, ended): (Option<&Object>, bool),
    used: &mut Vec<(u64, u64)>,
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
    let leaf = frame.regions.is_empty() && !ended;
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

/// Calls of a stay that has none left, as they are counted.
const OUT: u64 = 1_000_000;

/// Counts what is used up as far as a limit makes it count.
fn limits(model: &Model, frame: &mut Frame, used: &mut Vec<(u64, u64)>, leaf: bool) {
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
        Some(_) if out => now.calls = OUT,
        Some(limit) if limit <= model.counted_to => {}
        Some(limit) => {
            used.push((now.calls, limit));
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
                used.push((count, limit));
            }
        }
    }
}

/// Says of one piece of evidence which guards it satisfies, by age.
pub(crate) fn seen_word(model: &Model, run: &Run, key: &str) -> String {
    let asked = model.evidence.get(key).map_or(&[][..], Vec::as_slice);
    word(model, run, (asked, run.evidence.get(key)), &entries(run))
}
