//! The workflow that guards every session of a project, for sessions that no hook sees.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use interlock_clients::{policy_machine, start_policy};
use interlock_core::{machine::Machine, names::RunId, policy::OnDenied};
use interlock_project::Environment;
use interlock_store::{ClientProcess, SessionKey};
use interlock_tool_names::served_names;

use super::{
    CLIENT, ListedTool,
    cached::{Cached, Stamp},
};
use crate::{
    governor_queue::waiting,
    refused::{Refused, Word},
};

/// Files that change whenever the project's configuration does.
const CONFIGURED: [&str; 2] = [".interlock", ".interlock/config.toml"];

/// Locked while a run begins: other sessions of this process wait here as long as necessary.
///
/// If a hundred begin at once, most would give up at the lock file, which is meant for other processes.
static TURN: Mutex<()> = Mutex::new(());

/// The policy of the project, as it applies to one session.
#[derive(Debug)]
pub(super) struct ProjectPolicy {
    environment: Environment,
    root: PathBuf,
    key: SessionKey,
    process: Option<ClientProcess>,
    machine: Cached<Option<Box<Machine>>, 2>,
}

impl ProjectPolicy {
    pub(super) fn new(
        environment: Environment,
        root: &Path,
        session: &str,
        process: Option<ClientProcess>,
    ) -> Self {
        Self {
            environment,
            root: root.to_owned(),
            key: SessionKey::new(CLIENT, session),
            process,
            machine: Cached::new(),
        }
    }

    /// Begins the run of the policy, if there is one and the session is still `free`.
    pub(super) fn begin(
        &mut self,
        at_ms: u64,
        free: impl FnOnce() -> bool,
    ) -> Result<Option<RunId>, Refused> {
        if self.machine()?.is_none() {
            return Ok(None);
        }
        self.environment.at_ms = at_ms;
        let holder = (&self.key, self.process.clone());
        let begun = waiting(|| {
            let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            start_policy(&self.environment, &self.root, holder, free)
        });
        Ok(begun.map_err(unavailable)?.map(|binding| binding.run))
    }

    /// Returns which tools the first state of the policy shows; `None` if there is no policy.
    pub(super) fn shown(&mut self, tools: &[ListedTool<'_>]) -> Result<Option<Vec<bool>>, Refused> {
        let Some(machine) = self.machine()? else {
            return Ok(None);
        };
        let first = machine.states.get(&machine.initial);
        let shown = |tool: &ListedTool<'_>| {
            let names = served_names(tool.server, tool.name);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            first.is_none_or(|state| {
                let policy = &state.policy;
                let listed = policy.lists_as_written(&names) || policy.on_denied == OnDenied::Ask;
                listed && !policy.disallows(&names)
            })
        };
        Ok(Some(tools.iter().map(shown).collect()))
    }

    fn machine(&mut self) -> Result<Option<&Machine>, Refused> {
        let seen = Stamp::look(&self.root, CONFIGURED);
        if self.machine.get(seen).is_none() {
            let found = policy_machine(&self.environment, &self.root).map_err(unavailable)?;
            self.machine.keep(seen, found.map(Box::new));
        }
        Ok(self.machine.last().and_then(|found| found.as_deref()))
    }
}

fn unavailable(why: String) -> Refused {
    Refused::new(Word::Unavailable, why)
}
