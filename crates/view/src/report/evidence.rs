//! The evidence that a state's guards read, in lines for people.

use interlock_core::{
    guard::{Guard, Since},
    holds::leaves,
    machine::Machine,
    names::FramePath,
    place::machine_of,
    run::Run,
};
use serde::Serialize;

use super::meaning::{Basis, meaning};

/// Evidence that a guard reads, as one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceLine {
    /// The command or the tool, how it ended, and whether that still counts.
    pub text: String,
    /// Whether it holds now.
    pub holds: bool,
    /// Sequence number of the call's verdict; `None`: no such call was seen.
    pub seq: Option<u64>,
}

/// Lists the evidence for the guards of the transitions from the frame at `path`.
#[must_use]
pub fn evidence(machine: &Machine, run: &Run, path: &FramePath) -> Vec<EvidenceLine> {
    let found = run.frame(path).and_then(|frame| {
        let own = machine_of(machine, run, path)?;
        Some((own, own.states.get(&frame.at)?))
    });
    let Some((own, state)) = found.filter(|_| !run.is_over()) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (event, rule) in &state.on {
        for (index, transition) in rule.transitions.iter().enumerate() {
            let edits: Vec<(u64, u64)> = leaves(own, &transition.guards)
                .into_iter()
                .filter_map(|guard| edited_since(run, guard))
                .collect();
            let meant = meaning(machine, run, path, event, Some(index));
            for basis in meant.map(|meant| meant.bases).unwrap_or_default() {
                let told = of_basis(&basis, &edits);
                all.extend(told.filter(|told| !all.contains(told)));
            }
        }
    }
    all
}

/// Returns the call that is a guard's evidence and the later edit that invalidates it; `None` if no edit does.
fn edited_since(run: &Run, guard: &Guard) -> Option<(u64, u64)> {
    let Guard::Evidence(evidence) = guard else {
        return None;
    };
    let seen = run.evidence.get(&evidence.key())?;
    let is_stale = evidence.since == Since::LastEdit && seen.is_before_an_edit(run);
    is_stale.then_some((seen.begun_seq, run.last_write?))
}

fn of_basis(basis: &Basis, edits: &[(u64, u64)]) -> Option<EvidenceLine> {
    let Basis::Seen {
        what,
        exit,
        begun_seq,
        holds,
        ..
    } = basis
    else {
        return None;
    };
    let seen = match (begun_seq, exit) {
        (None, _) => "not seen".to_owned(),
        (Some(seq), Some(exit)) => format!("exit {exit} (event {seq})"),
        (Some(seq), None) => format!("exit not known (event {seq})"),
    };
    let edit = begun_seq.and_then(|seq| edits.iter().find(|(begun, _)| *begun == seq));
    let stale = match (begun_seq, holds, edit) {
        (Some(_), false, Some((_, edit))) => {
            format!(", does not count since the edit of event {edit}")
        }
        (Some(_), false, None) => ", does not count now".to_owned(),
        _ => String::new(),
    };
    Some(EvidenceLine {
        text: format!("`{what}`: {seen}{stale}"),
        holds: *holds,
        seq: *begun_seq,
    })
}
