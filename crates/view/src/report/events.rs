//! Where each event of a state leads, and whether it may be taken now.

use interlock_core::{
    holds::{Scope, unmet},
    machine::{Activity, Machine, Rule, State, Target, Transition},
    names::{EventName, FramePath, StateName},
    place::machine_of,
    run::Run,
};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// One event of the current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventReport {
    /// The event.
    pub event: EventName,
    /// Where it leads.
    pub targets: Targets,
    /// Whether its guards hold now.
    pub ready: bool,
}

/// Where an event leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Targets {
    /// To one state.
    Plain(StateName),
    /// To one of several, depending on guards, branches or a called machine.
    OneOf(Vec<StateName>),
}

impl Serialize for EventReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event", &self.event)?;
        match &self.targets {
            Targets::Plain(state) => map.serialize_entry("target", state)?,
            Targets::OneOf(states) => {
                map.serialize_entry("target", &None::<()>)?;
                map.serialize_entry("targets", states)?;
            }
        }
        map.serialize_entry("ready", &self.ready)?;
        map.end()
    }
}

/// Reports the events that may be asked for in the frame at `path`.
pub(super) fn events(machine: &Machine, run: &Run, path: &FramePath) -> Vec<EventReport> {
    ways_on(machine, run, path)
        .into_iter()
        .map(|(event, rule)| EventReport {
            event: event.clone(),
            targets: rule_targets(machine, run, path, rule),
            ready: rule
                .transitions
                .iter()
                .any(|transition| ready(machine, run, path, transition)),
        })
        .collect()
}

/// Returns the events that may be asked for in the frame at `path`, as written.
///
/// The ends of an activity that Interlock carries out are nobody's to ask for.
pub(crate) fn ways_on<'a>(
    machine: &'a Machine,
    run: &Run,
    path: &FramePath,
) -> Vec<(&'a EventName, &'a Rule)> {
    let state = run
        .frame(path)
        .and_then(|frame| machine_of(machine, run, path).and_then(|own| own.states.get(&frame.at)));
    let Some(state) = state.filter(|_| !run.is_over()) else {
        return Vec::new();
    };
    if matches!(state.activity, Activity::Final { .. }) {
        return Vec::new();
    }
    let own_end = |event: &EventName| matches!(event.as_str(), "done" | "error");
    state
        .on
        .iter()
        .filter(|(event, _)| !(state.raises_own_events() && own_end(event)))
        .collect()
}

fn ready(machine: &Machine, run: &Run, path: &FramePath, transition: &Transition) -> bool {
    let somewhere = transition.target != Target::Return
        || run
            .frame(path)
            .is_some_and(|frame| frame.line.handling.is_some());
    somewhere && guards_hold(machine, run, path, transition)
}

/// Returns whether every guard of `transition` holds now at `path`.
pub(crate) fn guards_hold(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    transition: &Transition,
) -> bool {
    let own = run
        .frame(path)
        .and_then(|frame| Some((frame, machine.called(frame.machine.as_ref())?)));
    own.is_some_and(|(frame, machine)| {
        unmet(
            Scope {
                machine,
                run,
                frame,
            },
            &transition.guards,
        )
        .is_empty()
    })
}

fn rule_targets(machine: &Machine, run: &Run, path: &FramePath, rule: &Rule) -> Targets {
    let mut states = Vec::new();
    let mut plain = !rule.branched;
    for transition in &rule.transitions {
        let (found, direct) = resolved(machine, run, path, &transition.target);
        states.extend(found);
        plain = plain && direct;
    }
    match states.as_slice() {
        [only] if plain => Targets::Plain(only.clone()),
        _ => Targets::OneOf(states),
    }
}

/// Returns the states a target leads to, and whether it is a state by itself.
pub(crate) fn resolved(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    target: &Target,
) -> (Vec<StateName>, bool) {
    match target {
        Target::End(_) => (Vec::new(), false),
        Target::Return => {
            let back = run
                .frame(path)
                .and_then(|frame| frame.line.handling.as_ref())
                .map(|handling| handling.return_to.clone());
            (back.into_iter().collect(), false)
        }
        Target::State(name) => {
            let generated = machine_of(machine, run, path)
                .and_then(|own| own.states.get(name))
                .filter(|state| state.shown_as.is_some());
            generated.map_or_else(|| (vec![name.clone()], true), |state| (ends(state), false))
        }
    }
}

/// Returns where a generated composite state leads when it has ended.
fn ends(state: &State) -> Vec<StateName> {
    ["done", "error"]
        .iter()
        .filter_map(|event| state.on.get(*event))
        .flat_map(|rule| &rule.transitions)
        .filter_map(|transition| match &transition.target {
            Target::State(name) => Some(name.clone()),
            Target::Return | Target::End(_) => None,
        })
        .collect()
}
