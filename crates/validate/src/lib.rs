//! Checks a machine for mistakes that need no syntax to be seen.
//!
//! Knows no file: a finding says where in the machine it is, and the format
//! that the workflow was written in knows which line that is.

mod approval;
mod circles;
mod graph;
mod guards;
mod keys;
mod loops;
mod place;
mod policy;
mod privilege;
mod proofs;
mod reach;
mod substance;
mod targets;
pub(crate) mod tools;

use std::fmt;

use interlock_core::{machine::Machine, names::MachineId};
use serde::{Deserialize, Serialize};

pub use place::{GuardRoot, GuardSite, Location, Place};

use graph::Graph;

/// One thing the checks have to say about a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The stable word for it.
    pub code: FindingCode,
    /// Whether it stops the workflow.
    pub severity: Severity,
    /// What is wrong, in the user's words.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where it is.
    pub at: Location,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The workflow does not load.
    Error,
    /// It loads, and something is likely not meant.
    Warning,
    /// It loads; a word on what something does here.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

macro_rules! finding_codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal)*) => {
        /// The stable words for what the checks find.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum FindingCode {
            $($(#[$doc])* $name,)*
        }

        impl FindingCode {
            /// Returns the word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

finding_codes! {
    /// A state is named that does not exist.
    UndefinedState = "undefined_state"
    /// A guard is named that does not exist.
    UndefinedGuard = "undefined_guard"
    /// A machine is called that does not exist.
    UndefinedMachine = "undefined_machine"
    /// No state ends the machine.
    NoFinalState = "no_final_state"
    /// Nothing leads to a state.
    UnreachableState = "unreachable_state"
    /// A state from which the machine cannot end.
    DeadEnd = "dead_end"
    /// A way back where no interrupt leads.
    NoReturn = "no_return"
    /// A pattern of paths that is not valid.
    InvalidPattern = "invalid_pattern"
    /// A comparison that can never hold.
    NeverHolds = "never_holds"
    /// Guards that are composed of each other.
    GuardCycle = "guard_cycle"
    /// Guards that are composed of each other deeper than they are evaluated.
    GuardDepth = "guard_depth"
    /// A composed guard without parts.
    EmptyGuard = "empty_guard"
    /// A tool that is both allowed and disallowed.
    ContradictoryPolicy = "contradictory_policy"
    /// A guard reads a key that nothing sets.
    UnsetKey = "unset_key"
    /// A value that the operator does not look at.
    UnusedValue = "unused_value"
    /// A tool name that no known client has.
    UnknownTool = "unknown_tool"
    /// A state that may do everything, unasked.
    UnapprovedPower = "unapproved_power"
    /// A jump of privilege, unasked.
    PrivilegeJump = "privilege_jump"
    /// A person should be asked somewhere and nowhere is.
    NoApproval = "no_approval"
    /// A final state with a way on.
    FinalWithEvents = "final_with_events"
    /// A loop without a bound.
    UnboundedLoop = "unbounded_loop"
    /// A listed command that the state refuses all the same.
    UselessCommand = "useless_command"
    /// A guard wants to have seen a command that no state lets run.
    NoEvidence = "no_evidence"
    /// A report that the agent may write where a guard asks for it.
    WritableReport = "writable_report"
    /// A command where a tool is named.
    MisplacedCommand = "misplaced_command"
    /// A branch that can never succeed.
    EndlessBranch = "endless_branch"
}

/// Returns what the checks find in `machine` and the machines it calls.
///
/// In the order of the machine, not by weight. A mistake does not hide
/// another, but a finding that only follows from a name that does not exist is
/// left out.
#[must_use]
pub fn validate(machine: &Machine) -> Vec<Finding> {
    let called = machine
        .machines
        .iter()
        .map(|(key, called)| (Some(key), called));
    let mut found = Vec::new();
    for (key, checked) in std::iter::once((None, machine)).chain(called) {
        let check = Check {
            root: machine,
            machine: checked,
            key,
            graph: Graph::of(checked),
            found: &mut found,
        };
        check.run();
    }
    found
}

/// One machine while it is checked.
struct Check<'m, 'f> {
    root: &'m Machine,
    machine: &'m Machine,
    key: Option<&'m MachineId>,
    graph: Graph<'m>,
    found: &'f mut Vec<Finding>,
}

impl Check<'_, '_> {
    fn run(mut self) {
        if self.machine.states.is_empty() {
            self.reach();
            return;
        }
        self.targets();
        self.reach();
        self.returns();
        self.guards();
        self.policies();
        self.commands_without_a_shell();
        self.proofs();
        self.reports();
        self.keys();
        self.loops();
        self.privileges();
        self.approvals();
    }

    fn error(&mut self, code: FindingCode, place: Place, message: String, help: &str) {
        self.add(Severity::Error, code, place, message, help);
    }

    fn warning(&mut self, code: FindingCode, place: Place, message: String, help: &str) {
        self.add(Severity::Warning, code, place, message, help);
    }

    fn add(
        &mut self,
        severity: Severity,
        code: FindingCode,
        place: Place,
        message: String,
        help: &str,
    ) {
        self.found.push(Finding {
            code,
            severity,
            message,
            help: Some(help.to_owned()),
            at: Location {
                machine: self.key.cloned(),
                place,
            },
        });
    }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a failed test panics"
    )]
    use serde_json::{Value, json};

    use super::*;

    /// Checks a machine whose states and the rest are given, and compares the words found.
    fn check(states: Value, expected: &[&str]) {
        let machine = json!({
            "id": "m",
            "initial": "a",
            "states": states,
            "limits": interlock_core::machine::Limits::default(),
        });
        let machine: Machine = serde_json::from_value(machine).unwrap();
        let found = validate(&machine);
        let words: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(words, expected, "{found:?}");
    }

    fn leads(to: Value) -> Value {
        json!({ "policy": { "allowed_tools": [] }, "on": { "x": { "transitions": [{ "target": to }] } } })
    }

    #[test]
    fn the_end_of_the_machine_is_an_end() {
        check(json!({ "a": leads(json!({ "end": "success" })) }), &[]);
        check(
            json!({ "a": leads(json!({ "state": "a" })) }),
            &["no_final_state", "unbounded_loop"],
        );
    }

    #[test]
    fn activities_that_interlock_carries_out_lead_on_like_any_other() {
        let end = json!({ "activity": { "final": { "outcome": "success" } } });
        let mut task = leads(json!({ "state": "end" }));
        task["activity"] = json!({ "task": { "kind": { "program": "bash" } } });
        check(json!({ "a": task, "end": end }), &[]);
        let fork = json!({
            "activity": { "parallel": { "over": { "branches": { "one": { "initial": "b", "terminal": "c" } } } } },
            "on": { "done": { "transitions": [{ "target": { "state": "end" } }] } },
        });
        let b = leads(json!({ "state": "c" }));
        check(json!({ "a": fork, "b": b, "c": {}, "end": end }), &[]);
        check(
            json!({ "a": fork, "b": b, "end": end }),
            &["undefined_state", "undefined_state"],
        );
    }

    #[test]
    fn a_call_needs_its_machine() {
        let call = json!({ "activity": { "call": { "machine": "nix" } }, "on": { "done": { "transitions": [{ "target": { "end": "success" } }] } } });
        check(json!({ "a": call }), &["undefined_machine"]);
    }

    #[test]
    fn a_machine_without_states_has_one_fault() {
        check(json!({}), &["no_final_state"]);
    }

    #[test]
    fn an_output_can_be_read_where_there_is_one() {
        let guard =
            json!({ "inline": { "field": { "field": "x", "from": "output", "op": "exists" } } });
        let transition = json!({ "target": { "end": "success" }, "guards": [guard] });
        let state = |activity: Value, event: &str| json!({ "a": { "policy": { "allowed_tools": [] }, "activity": activity, "on": { event: { "transitions": [transition] } } } });
        let task = json!({ "task": { "kind": { "program": "bash" } } });
        check(state(task.clone(), "done"), &[]);
        check(state(task, "go"), &["never_holds"]);
        check(state(json!("await"), "done"), &["never_holds"]);
    }

    #[test]
    fn a_state_is_reached_by_every_way_that_leads_to_it() {
        let end = json!({ "activity": { "final": { "outcome": "success" } } });
        let ways = [
            json!({ "on": { "x": { "transitions": [{ "target": { "state": "b" } }] } } }),
            json!({ "safe_next": "b" }),
            json!({ "safe_next": "b", "on": { "x": { "transitions": [{ "target": { "state": "a" } }] } } }),
        ];
        for mut a in ways {
            a["policy"] = json!({ "allowed_tools": [], "iterations_max": 3 });
            check(json!({ "a": a, "b": end }), &[]);
            check(
                json!({ "a": a, "b": end, "c": end }),
                &["unreachable_state"],
            );
        }
    }

    #[test]
    fn an_approval_that_is_promised_is_looked_for_in_every_machine() {
        let asks = |asks: bool| {
            let mut states = json!({ "a": leads(json!({ "end": "success" })) });
            if asks {
                states["a"]["on"]["x"]["transitions"][0]["approval"] = json!({});
            }
            states
        };
        for (own, called, found) in [
            (true, false, false),
            (false, true, false),
            (false, false, true),
        ] {
            let mut states = asks(own);
            states["b"] = json!({ "activity": { "call": { "machine": "sub" } },
                "on": { "done": { "transitions": [{ "target": { "end": "success" } }] } } });
            states["a"]["on"]["y"] = json!({ "transitions": [{ "target": { "state": "b" } }] });
            let sub = json!({ "id": "sub", "initial": "a", "states": asks(called) });
            let machine = json!({ "id": "m", "initial": "a", "states": states, "machines": { "sub": sub },
                "meta": { "requires_human_approval": true } });
            let machine: Machine = serde_json::from_value(machine).unwrap();
            let words: Vec<&str> = validate(&machine)
                .iter()
                .map(|finding| finding.code.as_str())
                .collect();
            assert_eq!(
                words.contains(&"no_approval"),
                found,
                "{own} {called}: {words:?}"
            );
        }
    }
}
