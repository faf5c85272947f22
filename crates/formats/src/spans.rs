//! The positions of a machine's parts in its files.

use std::collections::HashMap;

use interlock_core::names::MachineId;
use interlock_validate::{GuardRoot, Location, Place};

use crate::source::Span;

/// Positions of a machine's parts while it is read.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    spans: HashMap<Location, Span>,
}

impl Spans {
    /// Records the position of `place` in the machine `key`.
    pub(crate) fn note(&mut self, machine: Option<&MachineId>, place: Place, span: Span) {
        self.spans.insert(
            Location {
                machine: machine.cloned(),
                place,
            },
            span,
        );
    }

    /// Returns the position of `location`, or of what contains it.
    pub(crate) fn find(&self, location: &Location) -> Option<Span> {
        let mut at = Some(location.clone());
        while let Some(location) = at {
            if let Some(span) = self.spans.get(&location) {
                return Some(*span);
            }
            at = outer(location);
        }
        None
    }
}

/// Returns the place that contains `location`.
fn outer(location: Location) -> Option<Location> {
    let place = match location.place {
        Place::Machine => return None,
        Place::Initial
        | Place::Meta(_)
        | Place::State(_)
        | Place::Pattern(_)
        | Place::Handler(_) => Place::Machine,
        Place::AllowedTool(state, _)
        | Place::DisallowedTool(state, _)
        | Place::AllowedCommand(state, _)
        | Place::SafeNext(state)
        | Place::Events(state)
        | Place::Event(state, _)
        | Place::BranchInitial(state, _)
        | Place::BranchTerminal(state, _)
        | Place::CalledMachine(state) => Place::State(state),
        Place::Target(state, event, _) => Place::Event(state, event),
        Place::GuardItems(site)
        | Place::GuardOperator(site)
        | Place::GuardValue(site)
        | Place::GuardField(site) => Place::Guard(site),
        Place::Guard(mut site) => match (site.part.pop(), &site.root) {
            (Some(_), _) => Place::Guard(site),
            (None, GuardRoot::Named(_)) => Place::Machine,
            (None, GuardRoot::Transition { state, event, .. }) => {
                Place::Event(state.clone(), event.clone())
            }
            (None, GuardRoot::Gate(state, _) | GuardRoot::Assertion(state, _)) => {
                Place::State(state.clone())
            }
        },
    };
    Some(Location {
        machine: location.machine,
        place,
    })
}
