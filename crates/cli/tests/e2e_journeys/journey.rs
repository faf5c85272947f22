//! The actions of a model from the first prompt to the final state, independent of any client.

use interlock_testkit::proposal::Proposal;
use serde_json::{Value, json};

/// One path through a shipped workflow, with its project.
pub(crate) struct Journey {
    /// The name of the workflow.
    pub(crate) workflow: &'static str,
    /// The files of the project.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Later changes, as a separate commit.
    pub(crate) change: Vec<(&'static str, String)>,
    /// The line that runs the project's test suite.
    pub(crate) suite: &'static str,
    /// Whether the suite fails before the work.
    pub(crate) fails_before: bool,
    pub(crate) steps: Vec<Step>,
    /// The expected files at the end, each by a part of its text.
    pub(crate) left: Vec<(&'static str, &'static str)>,
}

/// One proposal of the model, and its expected result.
pub(crate) enum Step {
    /// Is allowed, and its result contains this text.
    Do(Proposal, &'static str),
    /// Is allowed, and leads to another state by itself.
    Detour(Proposal, &'static str),
    /// Is refused with this code.
    Refused(Proposal, &'static str),
    /// A transition that leads to this state at once.
    Go(Proposal, &'static str),
    /// A transition that waits for a person, whose approval leads to this state.
    Park(Proposal, &'static str),
}

impl Step {
    pub(crate) fn proposal(&self) -> &Proposal {
        match self {
            Step::Do(proposal, _)
            | Step::Detour(proposal, _)
            | Step::Refused(proposal, _)
            | Step::Go(proposal, _)
            | Step::Park(proposal, _) => proposal,
        }
    }

    /// Returns the entries of the run's log for the step.
    pub(crate) fn logged(&self) -> Vec<String> {
        let to = |state: &str| format!("to {state}");
        match self {
            Step::Do(..) => vec!["allowed".to_owned()],
            Step::Detour(_, state) => vec!["allowed".to_owned(), to(state)],
            Step::Refused(_, code) => vec![(*code).to_owned()],
            Step::Go(_, state) => vec![to(state)],
            Step::Park(_, state) => vec!["waits for a person".to_owned(), to(state)],
        }
    }

    /// Returns the text that the result must contain, if any.
    pub(crate) fn shows(&self) -> &'static str {
        match self {
            Step::Do(_, text) | Step::Refused(_, text) => text,
            Step::Detour(..) | Step::Go(..) | Step::Park(..) => "",
        }
    }
}

pub(crate) fn read(path: &str, shows: &'static str) -> Step {
    Step::Do(Proposal::read(path), shows)
}

pub(crate) fn search(word: &'static str, folder: &str, shows: &'static str) -> Step {
    Step::Do(Proposal::search(word, folder), shows)
}

pub(crate) fn shell(line: &str, shows: &'static str) -> Step {
    Step::Do(Proposal::shell(line), shows)
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Step {
    Step::Do(Proposal::edit(path, old, new), "")
}

pub(crate) fn write(path: &str, content: &str) -> Step {
    Step::Do(Proposal::write(path, content), "")
}

pub(crate) fn refused(proposal: Proposal, code: &'static str) -> Step {
    Step::Refused(proposal, code)
}

pub(crate) fn go(event: &str, data: Value, state: &'static str) -> Step {
    Step::Go(transition(event, data), state)
}

pub(crate) fn park(event: &str, data: Value, state: &'static str) -> Step {
    Step::Park(transition(event, data), state)
}

fn transition(event: &str, data: Value) -> Proposal {
    let arguments = match data {
        Value::Null => json!({"event": event}),
        data => json!({"event": event, "data": data}),
    };
    Proposal::tool("interlock", "interlock_transition", arguments)
}
