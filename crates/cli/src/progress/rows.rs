//! Running states as rows of a tree: each container, followed by its contents.

use std::collections::HashSet;

use interlock_core::{
    command::{Effect, EffectStatus},
    machine::Machine,
    names::FramePath,
    place::{numbered, shown_path, title},
    run::Run,
};

/// One row of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Number of rows that contain it.
    pub(super) depth: usize,
    /// Name below the row that contains it.
    pub(super) name: String,
    /// The state's path.
    pub(super) path: String,
    /// Title, if no row shows its container.
    pub(super) title: String,
    /// When its state was entered, in milliseconds since 1970.
    pub(super) since_ms: u64,
    pub(super) kind: Kind,
}

/// Kind of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// It contains others.
    Holds,
    /// It runs for one item after the other.
    Loop { ended: u64, failed: u64, all: u64 },
    /// It is running: the effect and the attempt.
    Runs { id: String, attempt: u32 },
    /// The next attempt begins at this time, in milliseconds since 1970.
    Waits { until_ms: u64, attempt: u32 },
    /// A person is needed.
    Stands,
}

/// Returns the rows of a run with these `effects`.
pub(super) fn rows(machine: &Machine, run: &Run, effects: &[Effect]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut seen = HashSet::new();
    for effect in effects {
        let names = effect.frame.names();
        let mut frame = FramePath::root();
        let mut holder: Option<String> = None;
        for (depth, name) in names.iter().enumerate() {
            let path = shown_path(machine, run, &frame);
            if seen.insert(frame.clone()) {
                let mut row = holding(run, &frame, depth, holder.as_deref(), path.clone());
                row.title = title(machine, run, &frame);
                row.name = numbered(machine, run, &frame).unwrap_or(row.name);
                rows.push(row);
            }
            holder = Some(path);
            frame = frame.child(name);
        }
        let since = run.frame(&effect.frame).map(|frame| frame.stay.entered_ms);
        let name = numbered(machine, run, &effect.frame);
        rows.push(Row {
            depth: names.len(),
            name: name.unwrap_or_else(|| below(&effect.path, holder.as_deref())),
            path: effect.path.clone(),
            title: title(machine, run, &effect.frame),
            since_ms: since.unwrap_or_default(),
            kind: kind(effect),
        });
    }
    rows
}

fn holding(run: &Run, at: &FramePath, depth: usize, holder: Option<&str>, path: String) -> Row {
    let frame = run.frame(at);
    let items = frame.and_then(|frame| frame.stay.items());
    Row {
        depth,
        name: below(&path, holder),
        title: path.clone(),
        path,
        since_ms: frame.map(|frame| frame.stay.entered_ms).unwrap_or_default(),
        kind: items.map_or(Kind::Holds, |items| Kind::Loop {
            ended: items.ended,
            failed: items.failed,
            all: u64::try_from(items.all.len()).unwrap_or(u64::MAX),
        }),
    }
}

fn kind(effect: &Effect) -> Kind {
    match effect.status {
        EffectStatus::Reading(_) | EffectStatus::Running => Kind::Runs {
            id: effect.id.clone(),
            attempt: effect.attempt,
        },
        EffectStatus::Waiting(until_ms) => Kind::Waits {
            until_ms,
            attempt: effect.attempt,
        },
        EffectStatus::Person | EffectStatus::Lost => Kind::Stands,
    }
}

/// Returns the part of `path` that the containing row does not show.
fn below(path: &str, holder: Option<&str>) -> String {
    let rest = holder.and_then(|holder| path.strip_prefix(holder)?.strip_prefix('/'));
    rest.unwrap_or(path).to_owned()
}
