//! Classifies calls by the kind of work they do.

use interlock_core::{
    call::{CallKind, ToolCall},
    facts::{CommandClass, ShellFacts},
};
use interlock_tool_names::FETCHERS;

/// A kind of work; a phase consists of one or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Reads.
    Look,
    /// Changes files.
    Edit,
    /// Runs code of the project.
    Run,
    /// Changes the version control repository.
    Commit,
    /// Accesses the network.
    Fetch,
}

impl Level {
    /// Returns the name of a phase of this kind.
    pub(crate) const fn phase(self) -> &'static str {
        match self {
            Self::Look => "looking",
            Self::Edit => "editing",
            Self::Run => "running",
            Self::Commit => "committing",
            Self::Fetch => "fetching",
        }
    }

    /// Returns the name of the event that leads to it.
    pub(crate) const fn event(self) -> &'static str {
        match self {
            Self::Look => "LOOK",
            Self::Edit => "EDIT",
            Self::Run => "RUN",
            Self::Commit => "COMMIT",
            Self::Fetch => "FETCH",
        }
    }

    /// Returns the kind of a call by its facts; `None` if the call belongs to the work around it.
    pub(crate) fn of(call: &ToolCall) -> Option<Self> {
        match call.kind {
            CallKind::Control(_) | CallKind::Conversation | CallKind::SubAgent => None,
            CallKind::Edit => Some(Self::Edit),
            CallKind::Shell => call.facts.shell.as_ref().map(|shell| {
                let writes = !call.facts.writes.is_empty();
                of_line(shell, writes)
            }),
            CallKind::Other if call.facts.only_reads => Some(Self::Look),
            CallKind::Other => {
                let names = call.names();
                let fetches = names.iter().any(|name| FETCHERS.contains(name));
                fetches.then_some(Self::Fetch)
            }
        }
    }
}

fn of_line(shell: &ShellFacts, writes: bool) -> Level {
    let has = |class: CommandClass| shell.commands.iter().any(|command| command.class == class);
    let changes = writes || shell.commands.iter().any(|command| command.changes_unnamed);
    let runs = [
        CommandClass::ProjectCode,
        CommandClass::Interpreter,
        CommandClass::Unknown,
    ];
    if has(CommandClass::VersionControl) && (changes || !shell.network.is_empty()) {
        Level::Commit
    } else if !shell.network.is_empty() || has(CommandClass::Network) {
        Level::Fetch
    } else if runs.into_iter().any(has) || shell.unreadable.is_some() {
        Level::Run
    } else if changes {
        Level::Edit
    } else {
        Level::Look
    }
}
