//! What a yes to a transition means: where it leads, and what it rests on.

use interlock_core::{
    event::Event,
    guard::{EvidenceOf, Guard, Source},
    holds::{Scope, evidence_holds, field_value, leaves},
    machine::{Machine, Target},
    names::{EventName, FramePath},
    place::{machine_of, shown_path},
    run::Run,
};
use serde_json::Value;

use super::events::resolved;

/// What a yes to a transition means.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// The state that is left, as shown.
    pub from: String,
    /// The states it may lead to, as shown; none: what is called or forked decides.
    pub to: Vec<String>,
    /// What its guards read.
    pub bases: Vec<Basis>,
}

/// Something that a guard of a transition reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// What Interlock saw of a call.
    Seen {
        /// The command or the tool, as the workflow names it.
        what: String,
        /// The exit code that is wanted; `None`: a tool that is to succeed.
        wanted: Option<i64>,
        /// The exit code that was seen; `None`: it is not known, or nothing was seen.
        exit: Option<i64>,
        /// Sequence number of the call's verdict; `None`: no such call was seen.
        begun_seq: Option<u64>,
        /// Whether it holds now.
        holds: bool,
    },
    /// What the context or an output says: an agent's word.
    Said {
        /// The field.
        field: String,
        /// Its value; `None`: it is missing.
        value: Option<Value>,
    },
}

/// Returns what a yes to transition `index` of `event` means in the frame at `path`.
#[must_use]
pub fn meaning(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    event: &EventName,
    index: Option<usize>,
) -> Option<Meaning> {
    let frame = run.frame(path)?;
    let own = machine_of(machine, run, path)?;
    let rule = own.states.get(&frame.at)?.on.get(event)?;
    let transition = match index {
        Some(index) => rule.transitions.get(index)?,
        None => rule.transitions.first()?,
    };
    let scope = Scope {
        machine: own,
        run,
        frame,
    };
    let (to, _) = resolved(machine, run, path, &transition.target);
    let mut to: Vec<String> = to
        .iter()
        .map(|state| own.shown(state).to_string())
        .collect();
    if let Target::End(outcome) = &transition.target {
        to.push(format!("the end ({outcome:?})").to_lowercase());
    }
    Some(Meaning {
        from: shown_path(machine, run, path),
        to,
        bases: leaves(own, &transition.guards)
            .into_iter()
            .filter_map(|guard| basis(scope, guard))
            .collect(),
    })
}

fn basis(scope: Scope<'_>, guard: &Guard) -> Option<Basis> {
    match guard {
        Guard::Evidence(evidence) => {
            let seen = scope.run.evidence.get(&evidence.key());
            let (what, wanted) = match &evidence.of {
                EvidenceOf::Command {
                    text,
                    exit,
                    directory,
                    ..
                } => {
                    let place = directory.as_ref().map(|place| format!(" (in {place})"));
                    (format!("{text}{}", place.unwrap_or_default()), Some(*exit))
                }
                EvidenceOf::Tool { tool, path } => {
                    let of = path.as_deref().map(|path| format!(" {path}"));
                    (format!("{tool}{}", of.unwrap_or_default()), None)
                }
            };
            let beside = evidence.substance_shown();
            let beside = beside.map_or_else(String::new, |beside| format!(" with {beside}"));
            Some(Basis::Seen {
                what: format!("{what}{beside}"),
                wanted,
                exit: seen.and_then(|seen| seen.exit),
                begun_seq: seen.map(|seen| seen.begun_seq),
                holds: evidence_holds(scope, evidence),
            })
        }
        Guard::Field(field) => {
            let of = match field.from {
                Source::Context => "",
                Source::Output => "output of ",
            };
            Some(Basis::Said {
                field: format!("{of}{}", field.field),
                value: field_value(scope.frame, field),
            })
        }
        _ => None,
    }
}

/// Says which transitions of `events` were taken: event, from and to.
#[must_use]
pub fn moves(events: &[Event]) -> Vec<(String, String, String)> {
    let taken = events.iter().filter_map(|event| match event {
        Event::TransitionTaken {
            event, from, to, ..
        } => Some((event.to_string(), from.to_string(), to.to_string())),
        _ => None,
    });
    taken.collect()
}
