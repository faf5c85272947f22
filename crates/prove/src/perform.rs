//! One step of the graph, done by the engine itself on a real run.

use interlock_core::{names::FramePath, run::Run};

use crate::{
    atlas::Leaf,
    model::{MORE, Model},
    moves::{Act, Done, LastProposed, Tried, Try, attempt_next, call},
    table::Kind,
};

/// Does what is tried at a leaf, once or until a limit is used up.
pub(crate) fn perform(
    model: &Model,
    run: &Run,
    leaf: &Leaf,
    what: &Try,
    kind: Kind,
    last: &mut LastProposed,
) -> Tried {
    let mut tried = attempt_next(model, run, leaf, what, last);
    if kind == Kind::Plain {
        return tried;
    }
    let done = tried.done.take();
    tried.done = done.and_then(|done| used_up(model, run, leaf, &done, kind));
    tried
}

/// Uses up a limit with calls that change nothing else, in one step.
///
/// A call that leaves the run in the same state does so each time, so that only the count differs.
fn used_up(model: &Model, run: &Run, leaf: &Leaf, done: &Done, kind: Kind) -> Option<Done> {
    let state = model.state(leaf.standing.0.as_ref(), &leaf.standing.1)?;
    match kind {
        Kind::Plain => None,
        Kind::Repeated => {
            let limit = state.policy.iterations_max?;
            let calls = run.frame(&leaf.path)?.stay.used.calls;
            repeated(done, &leaf.path, limit - calls.min(limit))
        }
        Kind::Bytes => with_bytes(
            model,
            run,
            &leaf.path,
            &done.act,
            state.policy.result_bytes_max,
        ),
        Kind::Files => with_files(model, run, done, &leaf.path, state.policy.files_max?),
    }
}

/// Returns whether a step used up a call of its leaf.
pub(crate) fn counts(run: &Run, done: &Done, path: &FramePath) -> bool {
    let calls = |run: &Run| run.frame(path).map(|frame| frame.stay.used.calls);
    matches!(done.act, Act::Call { .. })
        && calls(run)
            .zip(calls(&done.run))
            .is_some_and(|(before, after)| after > before)
}

/// Returns whether a leaf stays in its state, so that it goes on counting.
pub(crate) fn stays(run: &Run, done: &Done, path: &FramePath) -> bool {
    let entered = |run: &Run| run.frame(path).map(|frame| frame.stay.entered_seq);
    entered(run).is_some() && entered(run) == entered(&done.run)
}

/// Does a call whose result takes all the bytes that a state allows.
fn with_bytes(
    model: &Model,
    run: &Run,
    path: &FramePath,
    act: &Act,
    limit: Option<u64>,
) -> Option<Done> {
    let mut act = act.clone();
    let Act::Call { end, .. } = &mut act else {
        return None;
    };
    end.bytes = limit?;
    call(model, run, path, act)
}

/// Writes as many further files of the same kind as a state allows.
fn with_files(
    model: &Model,
    run: &Run,
    writes: &Done,
    path: &FramePath,
    limit: u64,
) -> Option<Done> {
    let before = run.frame(path)?;
    let Act::Call {
        times: 1, class, ..
    } = &writes.act
    else {
        return None;
    };
    let mut full = writes.run.clone();
    let after = full.frame_mut(path)?;
    let stays = after.at == before.at && after.stay.entered_seq == before.stay.entered_seq;
    let call = &model.classes.get(*class)?.call;
    let written = call
        .facts
        .writes
        .iter()
        .find_map(|write| write.path.as_deref());
    let class =
        model.file_class(written.filter(|path| stays && after.stay.used.files.contains(*path))?);
    let count = u64::try_from(before.stay.used.files.len()).unwrap_or(limit);
    after.stay.used.files.clone_from(&before.stay.used.files);
    for number in count..limit {
        after
            .stay
            .used
            .files
            .insert(format!("{class}{MORE}{number}"));
    }
    (count < limit).then(|| times(writes, full, limit - count, true))
}

/// Counts a call that changes nothing else as often as `left` says.
pub(crate) fn repeated(idle: &Done, path: &FramePath, left: u64) -> Option<Done> {
    let mut run = idle.run.clone();
    let frame = run.frame_mut(path)?;
    frame.stay.used.calls = frame.stay.used.calls.saturating_add(left.saturating_sub(1));
    Some(times(idle, run, left, false))
}

fn times(done: &Done, run: Run, count: u64, other_files: bool) -> Done {
    let mut act = done.act.clone();
    if let Act::Call { times, files, .. } = &mut act {
        *times = count;
        *files = other_files;
    }
    Done {
        act,
        facts: done.facts.clone(),
        bits: done.bits.clone(),
        run,
    }
}
