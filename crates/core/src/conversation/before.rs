//! The outputs that a waiting state begins with, and what must be undone to change each of them.

use crate::{
    event::RegionOutcome,
    machine::Machine,
    names::{FramePath, StateName},
    place::shown_path,
    run::{Frame, Run},
};

/// An output that a person may change before the next state begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputBefore {
    /// Path of the region that produced it.
    pub path: FramePath,
    /// State that produced it; an empty name means the input of the run.
    pub state: StateName,
    /// What must be undone first, in this order.
    pub undo: Vec<Undo>,
    /// Title for people: the state, or `process-file 2 of 3` for the region of an item.
    pub title: String,
    /// Path of the state as shown, if it is for an item.
    shown: Option<String>,
}

/// A step that is undone so that an output can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// Separates the regions that converged at this path.
    Lines(FramePath),
    /// Separates the regions of items that joined at this path; the named one continues.
    Items(FramePath, String),
}

impl OutputBefore {
    /// Returns whether `name` identifies this output by something other than its state's own name.
    fn is_titled(&self, name: &str) -> bool {
        let Some(shown) = self.shown.as_deref() else {
            return false;
        };
        self.title == name || shown == name || self.path.to_string() == name
    }

    fn is_of(&self, name: &str) -> bool {
        self.state.as_str() == name
    }
}

/// Finds the output that is meant: the only one, or the one that `of` names by its state, number or path.
///
/// `None`: no output can be changed, or the name is ambiguous.
#[must_use]
pub fn output_before(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    of: Option<&str>,
) -> Option<OutputBefore> {
    let all = outputs_before(machine, run, path);
    let titled = |one: &&OutputBefore| of.is_some_and(|of| one.is_titled(of));
    if let Some(titled) = all.iter().find(titled) {
        return Some(titled.clone());
    }
    let mut meant = all
        .into_iter()
        .filter(|one| of.is_none_or(|of| one.is_of(of)));
    let only = meant.next()?;
    meant.next().is_none().then_some(only)
}

/// Returns the outputs that the state at `path` begins with, in the order of the regions.
///
/// The list is empty if other states that depend on the same output have begun.
#[must_use]
pub fn outputs_before(machine: &Machine, run: &Run, path: &FramePath) -> Vec<OutputBefore> {
    let Some(frame) = run.frame(path) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let met = lines_before(run, path);
    if met.is_empty() {
        let place = PastFrame::of(machine, run, path, Vec::new());
        collect(machine, frame, &place, &mut found);
    } else {
        for (line, frame) in met {
            let undo = vec![Undo::Lines(path.clone())];
            let place = PastFrame::of(machine, run, &line, undo);
            collect(machine, frame, &place, &mut found);
        }
    }
    if found.is_empty() {
        found.extend(output_of_holder(run, path));
    }
    found
}

/// Position of a frame that may no longer exist in the run.
struct PastFrame {
    path: FramePath,
    undo: Vec<Undo>,
    /// Path as shown, up to the state.
    shown: String,
    /// ` 2 of 3`, with the numbers of enclosing lists; empty: it is in no list.
    numbers: String,
}

impl PastFrame {
    fn of(machine: &Machine, run: &Run, path: &FramePath, undo: Vec<Undo>) -> Self {
        let shown = shown_path(machine, run, path);
        let around = shown.rsplit_once('/');
        Self {
            path: path.clone(),
            undo,
            shown: around.map_or_else(String::new, |(around, _)| format!("{around}/")),
            numbers: String::new(),
        }
    }
}

/// Finds the outputs with which a region reached its state.
fn collect(machine: &Machine, frame: &Frame, place: &PastFrame, found: &mut Vec<OutputBefore>) {
    if let Some(before) = &frame.before {
        let state = machine.shown(&before.state);
        let is_item = !place.numbers.is_empty();
        found.push(OutputBefore {
            path: place.path.clone(),
            state: before.state.clone(),
            undo: place.undo.clone(),
            title: format!("{state}{}", place.numbers),
            shown: is_item.then(|| format!("{}{state}", place.shown)),
        });
        return;
    }
    let Some(was) = frame.stay.before_join.as_deref() else {
        return;
    };
    let total = was.regions.len();
    let holder = format!("{}{}", place.shown, machine.shown(&was.at));
    let within = match place.numbers.as_str() {
        "" => String::new(),
        outer => format!(" in{outer}"),
    };
    for region in &was.regions {
        if !region.ended_as(RegionOutcome::Succeeded) {
            continue;
        }
        let name = &region.name;
        let mut undo = place.undo.clone();
        undo.push(Undo::Items(place.path.clone(), name.clone()));
        let item = PastFrame {
            path: place.path.child(name),
            undo,
            shown: format!("{holder}/{name}/"),
            numbers: format!(" {name} of {total}{within}"),
        };
        collect(machine, &region.frame, &item, found);
    }
}

/// Returns the regions that converged at `path`, each in its earlier state.
fn lines_before<'r>(run: &'r Run, path: &FramePath) -> Vec<(FramePath, &'r Frame)> {
    let Some((parent, name)) = path.split_last() else {
        return Vec::new();
    };
    let Some(holder) = run.frame(&parent) else {
        return Vec::new();
    };
    let region = holder.region(name);
    // An output since then is what the next state begins with.
    let region = region.filter(|region| region.frame.before.is_none());
    let Some(before) = region.and_then(|region| region.before_join.as_deref()) else {
        return Vec::new();
    };
    let others = holder
        .regions
        .iter()
        .filter(|region| before.others.contains(&region.name))
        .map(|region| (parent.child(&region.name), &region.frame));
    std::iter::once((path.clone(), &before.frame))
        .chain(others)
        .collect()
}

/// Returns the output of the state that started the region at `path`, as long as none of the regions has begun.
fn output_of_holder(run: &Run, path: &FramePath) -> Option<OutputBefore> {
    let (parent, name) = path.split_last()?;
    let holder = run.frame(&parent)?;
    let own = holder.region(name)?;
    let untouched = holder
        .regions
        .iter()
        .all(|region| is_untouched(holder, &region.frame));
    let before = holder.before.as_ref()?;
    (own.base.is_none() && untouched).then(|| OutputBefore {
        path: parent,
        state: before.state.clone(),
        undo: Vec::new(),
        title: before.state.to_string(),
        shown: None,
    })
}

/// Returns whether a region has not begun its first state yet.
fn is_untouched(holder: &Frame, line: &Frame) -> bool {
    line.line.steps == holder.line.steps + 1
        && line.stay.effect().is_none()
        && line.regions.is_empty()
        && line.before.is_none()
}
