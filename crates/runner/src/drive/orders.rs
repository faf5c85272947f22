//! Converts an effect of the engine to an order for its executor.

use std::path::PathBuf;

use interlock_core::{
    command::Effect,
    guard::{Guard, with_parts},
    machine::{Activity, Machine, State, Target, Transition},
    names::{EventName, FramePath},
    run::{Frame, Run},
};

use crate::order::{Capture, Order};

/// Creates the order for `effect`.
pub(super) fn order(machine: &Machine, run: &Run, effect: &Effect, alone: bool) -> Order {
    let capture = match (&effect.file, &effect.key) {
        (Some(file), _) => Some(Capture::File(PathBuf::from(file))),
        (None, Some(_)) => Some(Capture::Text),
        (None, None) => None,
    };
    let lists = lists_items(machine, run, &effect.frame);
    Order {
        id: effect.id.clone(),
        attempt: effect.attempt,
        kind: effect.kind.clone(),
        path: effect.path.clone(),
        title: effect.title.clone().unwrap_or_else(|| effect.path.clone()),
        input: effect.input.as_ref().clone(),
        read_whole: capture.is_none() && (lists || is_read(machine, run, &effect.frame)),
        shown: !lists,
        stage: None,
        node: None,
        capture,
        label: label(machine, run, &effect.frame),
        alone,
    }
}

/// A frame with its machine and state.
struct Stand<'a> {
    machine: &'a Machine,
    frame: &'a Frame,
    state: &'a State,
}

fn stand<'a>(machine: &'a Machine, run: &'a Run, path: &FramePath) -> Option<Stand<'a>> {
    let frame = run.frame(path)?;
    let machine = machine.called(frame.machine.as_ref())?;
    let state = machine.states.get(&frame.at)?;
    Some(Stand {
        machine,
        frame,
        state,
    })
}

/// Returns the names of the branches that the frame at `path` runs in; `None` outside of branches.
fn label(machine: &Machine, run: &Run, path: &FramePath) -> Option<String> {
    let mut names = Vec::new();
    let mut path = path.clone();
    while let Some((parent, name)) = path.split_last() {
        let forks = stand(machine, run, &parent).is_some_and(|outer| outer.state.activity.forks());
        if forks {
            names.push(name.to_owned());
        }
        path = parent;
    }
    names.reverse();
    (!names.is_empty()).then(|| names.join("/"))
}

/// Returns whether the output of the state at `path` is the list of a loop's items.
fn lists_items(machine: &Machine, run: &Run, path: &FramePath) -> bool {
    let Some(here) = stand(machine, run, path) else {
        return false;
    };
    let done = here.state.on.get(&EventName::new("done"));
    let mut transitions = done.into_iter().flat_map(|rule| &rule.transitions);
    transitions.any(|transition| match &transition.target {
        Target::State(name) => here
            .machine
            .states
            .get(name)
            .is_some_and(|state| state.activity.lines().is_some()),
        Target::Return | Target::End(_) => false,
    })
}

/// Returns whether the run reads the output of the state at `path` although nothing captures it.
fn is_read(machine: &Machine, run: &Run, path: &FramePath) -> bool {
    let Some(here) = stand(machine, run, path) else {
        return true;
    };
    let done = here.state.on.get(&EventName::new("done"));
    let transitions = done.map_or(&[][..], |rule| &rule.transitions);
    if transitions
        .iter()
        .any(|one| reads_output(one, here.machine))
    {
        return true;
    }
    let ends = transitions
        .iter()
        .any(|one| matches!(one.target, Target::End(_)));
    let parent = path.split_last().map(|(parent, _)| parent);
    // The last output of a called machine is the output of the calling state.
    ends && here.frame.machine.is_some()
        && parent.is_some_and(|parent| {
            stand(machine, run, &parent).is_some_and(|outer| {
                matches!(outer.state.activity, Activity::Call(_))
                    && (outer.state.capture.is_some() || is_read(machine, run, &parent))
            })
        })
}

fn reads_output(transition: &Transition, machine: &Machine) -> bool {
    let mut guards = with_parts(&machine.guards, &transition.guards).into_iter();
    guards.any(|guard| {
        matches!(
            guard,
            Guard::Field(_) | Guard::Output(_) | Guard::Expression(_)
        )
    })
}
