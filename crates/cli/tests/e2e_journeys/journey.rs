//! What a model does from the first prompt to the final state, in no client's words.

use interlock_testkit::proposal::Proposal;
use serde_json::{Value, json};

/// One way through a shipped workflow, with the project it is gone in.
pub(crate) struct Journey {
    /// The workflow, by its name.
    pub(crate) workflow: &'static str,
    /// The files of the project.
    pub(crate) files: Vec<(&'static str, String)>,
    /// What has been changed since, as a commit of its own.
    pub(crate) change: Vec<(&'static str, String)>,
    /// The line that runs the project's test suite.
    pub(crate) suite: &'static str,
    /// Whether the suite fails before the work.
    pub(crate) fails_before: bool,
    pub(crate) steps: Vec<Step>,
    /// Files as they must be in the end, by a piece of their text.
    pub(crate) left: Vec<(&'static str, &'static str)>,
}

/// One thing that the model proposes, and what must come of it.
pub(crate) enum Step {
    /// Passes, and the model reads this text in its result.
    Do(Proposal, &'static str),
    /// Passes and leads to another state by itself.
    Detour(Proposal, &'static str),
    /// Is refused with this code.
    Refused(Proposal, &'static str),
    /// A transition that leads to this state at once.
    Go(Proposal, &'static str),
    /// A transition that waits for a person, whose yes leads to this state.
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

    /// What the run's log says of the step.
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

    /// What the model must read in its result, if anything.
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
