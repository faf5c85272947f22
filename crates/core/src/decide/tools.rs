//! Changes around a run that a person has to decide about: changed server tools, and a project that widens permissions.

use super::{Answered, Reply, Work};
use crate::{
    event::{Event, TokenPlace, ToolChange},
    names::Digest,
    refusal::{Code, Refusal},
};

impl Work<'_> {
    /// Records a person's decision about the project.
    pub(super) fn decide_trust(
        &mut self,
        project: &str,
        word: &str,
        digest: &Digest,
        by: &str,
    ) -> Answered {
        self.emit(Event::TrustDecided {
            project: project.to_owned(),
            word: word.to_owned(),
            digest: digest.clone(),
            by: by.to_owned(),
        });
        Ok(Reply::Accepted)
    }

    /// Records that a person's token was exposed to the agent.
    pub(super) fn report_token(&mut self, place: TokenPlace) -> Answered {
        self.open()?;
        self.emit(Event::TokenSeen { place });
        Ok(Reply::Accepted)
    }

    /// Records that the agent tried to answer in a person's place.
    pub(super) fn report_console(&mut self, pid: u32, program: &str, request: &str) -> Answered {
        self.open()?;
        self.emit(Event::ConsoleRefused {
            pid,
            program: program.to_owned(),
            request: request.to_owned(),
        });
        Ok(Reply::Accepted)
    }

    /// Records a change that no person has seen yet.
    pub(super) fn report_tool(&mut self, change: &ToolChange) -> Answered {
        self.open()?;
        let waits = self.run.tools_changed.contains(change);
        let accepted = self.run.tools_accepted.iter().any(|known| {
            known.server == change.server
                && known.tool == change.tool
                && known.digest == change.found
        });
        if !waits && !accepted {
            self.emit(Event::ToolChanged(change.clone()));
        }
        Ok(Reply::Accepted)
    }

    /// Accepts a tool in the version that was reported last.
    pub(super) fn accept_tool(&mut self, server: &str, tool: &str, by: &str) -> Answered {
        self.open()?;
        let waiting = &self.run.tools_changed;
        let is_meant = |change: &&ToolChange| change.server == server && change.tool == tool;
        let Some(change) = waiting.iter().find(is_meant) else {
            let names: Vec<String> = waiting
                .iter()
                .map(|change| format!("`{} {}`", change.server, change.tool))
                .collect();
            let there = if names.is_empty() {
                "no tool of a server has changed".to_owned()
            } else {
                format!("those that changed are {}", names.join(", "))
            };
            return Err(Refusal::new(
                Code::NothingPending,
                format!("`{server} {tool}` waits for nobody: {there}"),
            ));
        };
        let digest = change.found.clone();
        self.emit(Event::ToolAccepted {
            server: server.to_owned(),
            tool: tool.to_owned(),
            digest,
            by: by.to_owned(),
        });
        Ok(Reply::Accepted)
    }
}
