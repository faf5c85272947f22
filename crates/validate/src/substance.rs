//! Evidence with a report, where the agent may write the report itself.

use interlock_core::{
    glob::path_matches,
    guard::{EvidenceGuard, Guard, with_parts},
    policy::Policy,
};

use crate::{Check, FindingCode, GuardRoot, Place, guards::transition_guards};

/// Tools that write any file.
const EDITORS: [&str; 2] = ["Write", "Edit"];

impl Check<'_, '_> {
    /// Warns of states whose way on rests on a report that the agent may write there by an edit, or by
    /// a program that it leaves running.
    pub(super) fn reports(&mut self) {
        let machine = self.machine;
        let mut found = Vec::new();
        for (at, guard) in transition_guards(machine) {
            let GuardRoot::Transition { state, .. } = &at.site.root else {
                continue;
            };
            let parts = with_parts(&machine.guards, std::slice::from_ref(guard));
            let asked = parts.into_iter().filter_map(|part| match part {
                Guard::Evidence(evidence) => Some(evidence),
                _ => None,
            });
            let policy = &at.state.policy;
            for evidence in asked {
                if let Some((message, help)) = forged(evidence, policy, state.as_str()) {
                    found.push((Place::Guard(at.site.clone()), message, help));
                }
            }
        }
        for (place, message, help) in found {
            self.warning(FindingCode::WritableReport, place, message, help);
        }
    }
}

/// Says how the report of `evidence` may come from the agent in a state of this policy.
fn forged(
    evidence: &EvidenceGuard,
    policy: &Policy,
    state: &str,
) -> Option<(String, &'static str)> {
    let report = evidence.report.as_ref()?;
    let path = &report.source.path;
    if !policy.background.is_empty() {
        return Some((
            format!(
                "in `{state}` a program of `background` may write the report `{path}` while the command runs"
            ),
            "remove `background` from this state, or name none there that runs code of the project",
        ));
    }
    let frozen = evidence.frozen.iter().any(|one| path_matches(one, path));
    let edits = EDITORS.iter().any(|tool| policy.lets_pass(&[tool]));
    (edits && !frozen && policy.allowed_tools.is_some()).then(|| {
        (
            format!(
                "`{state}` lets the agent write the report `{path}` by an edit; such a report does not count, and its code may be written there too"
            ),
            "require the report in a separate state without tools that write",
        )
    })
}
