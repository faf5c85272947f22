//! The checks that a call goes through, in their order, and which of them decided.

use interlock_core::refusal::Code;
use serde::Serialize;

/// A check, as the page on concepts lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it looks at.
    pub about: &'static str,
    /// What came of it.
    pub outcome: CheckOutcome,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The call went on to the next one.
    Passed,
    /// It refused the call, or had a person asked.
    Decided,
    /// One before it had decided.
    NotReached,
}

/// Each check, and the codes that only it gives.
const CHECKS: &[(&str, &[Code])] = &[
    (
        "touches nothing protected, and its arguments can be judged",
        &[Code::Protected, Code::InvalidArguments],
    ),
    (
        "the run is not paused and waits for nobody",
        &[Code::Paused, Code::AwaitingApproval, Code::RunOpen],
    ),
    ("tool calls are left in this state", &[Code::IterationLimit]),
    (
        "bytes of results are left in this state",
        &[Code::ContextBudget],
    ),
    (
        "the tool is allowed in this state",
        &[
            Code::ToolNotAllowed,
            Code::ToolDisallowed,
            Code::GrantDenied,
            Code::UnknownTool,
        ],
    ),
    (
        "the shell line can be read, and what it does is allowed",
        &[
            Code::CommandNotAllowed,
            Code::ShellWrite,
            Code::ShellUnreadable,
            Code::SecretRead,
        ],
    ),
    ("it uses no blocked variable", &[Code::EnvBlocked]),
    (
        "what it writes is within the allowed paths and limits",
        &[Code::OutsideProject, Code::EditTooLarge, Code::TooManyFiles],
    ),
];

/// Lists the checks with what came of each; `refused` is the code of the refusal, `None`: all passed.
///
/// Empty: the code is not of a check, as that of a run that is over.
#[must_use]
pub fn checks(refused: Option<Code>) -> Vec<Check> {
    let decided = match refused {
        None => CHECKS.len(),
        Some(code) => match CHECKS.iter().position(|(_, codes)| codes.contains(&code)) {
            Some(at) => at,
            None => return Vec::new(),
        },
    };
    let outcome = |at: usize| match at.cmp(&decided) {
        std::cmp::Ordering::Less => CheckOutcome::Passed,
        std::cmp::Ordering::Equal => CheckOutcome::Decided,
        std::cmp::Ordering::Greater => CheckOutcome::NotReached,
    };
    CHECKS
        .iter()
        .enumerate()
        .map(|(at, (about, _))| Check {
            about,
            outcome: outcome(at),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_of_the_code_decides_and_those_after_it_are_not_reached() {
        let found = checks(Some(Code::ToolNotAllowed));
        let of = |outcome| {
            found
                .iter()
                .filter(|check| check.outcome == outcome)
                .count()
        };
        assert_eq!(of(CheckOutcome::Passed), 4);
        assert_eq!(of(CheckOutcome::Decided), 1);
        assert_eq!(of(CheckOutcome::NotReached), 3);
        let passed = checks(None);
        assert!(
            passed
                .iter()
                .all(|check| check.outcome == CheckOutcome::Passed)
        );
        assert_eq!(checks(Some(Code::RunOver)), []);
    }

    #[test]
    fn no_code_is_of_two_checks() {
        let mut codes: Vec<Code> = CHECKS
            .iter()
            .flat_map(|(_, codes)| *codes)
            .copied()
            .collect();
        let count = codes.len();
        codes.sort_by_key(|code| code.as_str());
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
