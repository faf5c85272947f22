//! Positions of the frames of a run, as paths and titles for people.

use crate::{
    machine::{Activity, Machine, ModelStage},
    names::FramePath,
    run::{Frame, Phase, Run},
};

/// Returns the machine that the frame at `path` runs in.
#[must_use]
pub fn machine_of<'a>(machine: &'a Machine, run: &Run, path: &FramePath) -> Option<&'a Machine> {
    let mut own = machine.called(run.root.machine.as_ref())?;
    let mut frame = &run.root;
    for name in path.names() {
        frame = &frame.region(name)?.frame;
        if let Some(key) = &frame.machine {
            own = machine.machines.get(key)?;
        }
    }
    Some(own)
}

/// Returns the path of the current state of the frame at `path`, as shown to people.
///
/// The path consists of the state in the file, then the branch or machine id, then the inner state:
/// `building/lint/lint_run`.
#[must_use]
pub fn shown_path(machine: &Machine, run: &Run, path: &FramePath) -> String {
    let mut own = machine.called(run.root.machine.as_ref());
    let mut frame = &run.root;
    let mut shown = shown_state(own, frame);
    for name in path.names() {
        let Some(next) = frame.region(name) else {
            break;
        };
        if !names_by_states_alone(own, frame) {
            shown.push('/');
            shown.push_str(name);
        }
        frame = &next.frame;
        if let Some(key) = &frame.machine {
            own = machine.machines.get(key);
        }
        let state = shown_state(own, frame);
        // A branch that is one state only is shown by its name.
        if !state.is_empty() {
            shown.push('/');
            shown.push_str(&state);
        }
    }
    shown
}

/// Returns the title of the state at `path`: `process-file 2 of 3` for the region of an item, otherwise the path.
#[must_use]
pub fn title(machine: &Machine, run: &Run, path: &FramePath) -> String {
    item_title(machine, run, path).unwrap_or_else(|| shown_path(machine, run, path))
}

/// Returns the title of the state at `path` if it lies within the region of an item.
///
/// Numbers of enclosing lists follow: `check 1 of 4 in 2 of 3`.
#[must_use]
pub fn item_title(machine: &Machine, run: &Run, path: &FramePath) -> Option<String> {
    let mut numbers: Vec<String> = Vec::new();
    let mut at = path.clone();
    while let Some((parent, _)) = at.split_last() {
        numbers.extend(item_number(machine, run, &at));
        at = parent;
    }
    (!numbers.is_empty()).then(|| state_with(machine, run, path, &numbers.join(" in ")))
}

/// Returns the title of the state at `path` if it is the region of an item itself: `process-file 2 of 3`.
#[must_use]
pub fn numbered(machine: &Machine, run: &Run, path: &FramePath) -> Option<String> {
    let number = item_number(machine, run, path)?;
    Some(state_with(machine, run, path, &number))
}

/// Returns `2 of 3` if the frame at `path` is the region of an item.
fn item_number(machine: &Machine, run: &Run, path: &FramePath) -> Option<String> {
    let (parent, name) = path.split_last()?;
    let frame = run.frame(&parent)?;
    let state = machine_of(machine, run, &parent)?.states.get(&frame.at)?;
    let spreads = state.activity.items().is_some();
    spreads.then(|| format!("{name} of {}", frame.regions.len()))
}

fn state_with(machine: &Machine, run: &Run, path: &FramePath, numbers: &str) -> String {
    let own = machine_of(machine, run, path);
    let state = run.frame(path).map(|frame| shown_state(own, frame));
    format!("{} {numbers}", state.unwrap_or_default())
}

/// Returns the titles of the open states, in the order written.
#[must_use]
pub fn titles(machine: &Machine, run: &Run) -> Vec<String> {
    let leaves = standing(run);
    leaves
        .iter()
        .map(|leaf| title(machine, run, leaf))
        .collect()
}

/// Finds the region whose state has the path `shown`, and returns its title; `None`: it belongs to no list of items.
#[must_use]
pub fn title_of(machine: &Machine, run: &Run, shown: &str) -> Option<String> {
    let mut open = vec![FramePath::root()];
    while let Some(path) = open.pop() {
        if shown_path(machine, run, &path) == shown
            && let Some(title) = item_title(machine, run, &path)
        {
            return Some(title);
        }
        let below = run.frame(&path)?.regions.iter();
        open.extend(below.map(|region| path.child(&region.name)));
    }
    None
}

/// Returns whether paths leave out the machine that `frame` calls, because its name only prefixes variables.
fn names_by_states_alone(own: Option<&Machine>, frame: &Frame) -> bool {
    let state = own.and_then(|own| own.states.get(&frame.at));
    state.is_some_and(|state| match &state.activity {
        Activity::Call(call) => call.namespace.is_some(),
        _ => false,
    })
}

fn shown_state(own: Option<&Machine>, frame: &Frame) -> String {
    own.map_or(&frame.at, |own| own.shown(&frame.at))
        .to_string()
}

/// Returns the frame to report on: one below `wanted` if that is open, otherwise the first open one.
#[must_use]
pub fn focus(run: &Run, wanted: Option<&FramePath>) -> FramePath {
    let leaves = standing(run);
    let named = wanted.and_then(|wanted| leaves.iter().find(|leaf| wanted.holds(leaf)));
    named.or(leaves.first()).cloned().unwrap_or_default()
}

/// Returns the current frames of a run, even after it has ended; never empty.
#[must_use]
pub fn standing(run: &Run) -> Vec<FramePath> {
    let mut leaves = run.open_leaves();
    if run.phase == Phase::Cancelled {
        collect(&run.root, &FramePath::root(), &mut leaves);
    }
    if leaves.is_empty() {
        leaves.push(FramePath::root());
    }
    leaves
}

fn collect(frame: &Frame, path: &FramePath, leaves: &mut Vec<FramePath>) {
    let mut open = frame.open_regions().peekable();
    if open.peek().is_none() {
        leaves.push(path.clone());
        return;
    }
    for region in open {
        collect(&region.frame, &path.child(&region.name), leaves);
    }
}

/// Returns the stage that a frame is in.
#[must_use]
pub fn stage_of<'m>(machine: &'m Machine, frame: &Frame) -> Option<&'m ModelStage> {
    match &frame.state(machine)?.activity {
        Activity::Stage(stage) => Some(stage),
        _ => None,
    }
}
