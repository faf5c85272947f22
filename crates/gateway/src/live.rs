//! A run that has been opened, to be asked and told of.

use std::time::Duration;

use interlock_clients::Watched;
use interlock_core::{
    Decision, Reply, addressed,
    call::{CallFacts, CallKind, ControlTool, ToolCall},
    command::{Ask, Command},
    decide,
    event::Event,
    machine::Machine,
    names::{AgentId, CallId, Digest, FramePath, RunId},
    refusal::{Code, Refusal},
    run::{Phase, Run},
};
use interlock_facts::CallContext;
use interlock_store::{EventLog as _, Home, RunLog, StoreError, ToolPin, submit, submit_made};
use interlock_view::{
    notice,
    report::{self, Status},
};

use crate::{governor_queue::waiting, tools::ToolText};

/// A run that has been opened.
#[derive(Debug)]
pub(crate) struct Live {
    log: RunLog,
    pub(crate) machine: Machine,
    pub(crate) run: Run,
}

/// A run that is kept open.
#[derive(Debug)]
pub(crate) struct CachedRun(pub(crate) Live);

impl Drop for CachedRun {
    fn drop(&mut self) {
        self.0.log.tidy_up();
    }
}

/// A control call as the engine is asked about it.
#[derive(Debug, Clone)]
pub(crate) struct Proposed {
    pub(crate) tool: ControlTool,
    pub(crate) id: CallId,
    pub(crate) digest: Digest,
    pub(crate) summary: String,
    pub(crate) agent: Option<AgentId>,
    pub(crate) at_ms: u64,
}

impl Live {
    /// Opens a run that exists.
    pub(crate) fn open(home: &Home, id: &RunId) -> Result<Self, StoreError> {
        let log = home.open_run(id)?;
        let machine = log.machine()?;
        let run = log.load()?;
        Ok(Self { log, machine, run })
    }

    /// Brings it to what the log says, where others have written meanwhile.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        if self.log.count()? != self.run.seq {
            self.run = self.log.load()?;
        }
        Ok(())
    }

    /// Tells whether its log lies where it was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        self.log.is_in_place()
    }

    /// Compares what is protected with the run's start; a change that nobody confirmed pauses it.
    pub(crate) fn watch(
        &mut self,
        watched: &mut Watched,
        context: &CallContext,
        at_ms: u64,
    ) -> Result<(), StoreError> {
        let changes = watched.changes(&self.log, &self.run.accepted, context, at_ms)?;
        if !changes.is_empty() {
            self.ask(at_ms, Ask::ReportProtected { changes })?;
        }
        Ok(())
    }

    /// Reads the tools of servers that the run has pinned.
    pub(crate) fn tool_pins(&self) -> Result<Vec<ToolPin>, StoreError> {
        self.log.folder().tool_pins()
    }

    /// Pins the tools that the run has not seen yet; returns all that are pinned.
    pub(crate) fn pin_tools(&self, seen: Vec<ToolPin>) -> Result<Vec<ToolPin>, StoreError> {
        self.log.folder().pin_tools(seen)
    }

    /// Keeps it open from question to question.
    pub(crate) fn kept(self) -> CachedRun {
        let Self { log, machine, run } = self;
        let log = log.kept().resting(rest);
        CachedRun(Self { log, machine, run })
    }

    /// Takes a run that has just begun.
    pub(crate) const fn begun(log: RunLog, machine: Machine, run: Run) -> Self {
        Self { log, machine, run }
    }

    pub(crate) fn id(&self) -> &RunId {
        self.log.run()
    }

    /// Asks the run and records what follows.
    pub(crate) fn ask(&mut self, at_ms: u64, ask: Ask) -> Result<Decision, StoreError> {
        submit(
            &mut self.log,
            &self.machine,
            &mut self.run,
            &Command { at_ms, ask },
        )
    }

    /// Asks what depends on the run, which others may have moved since it was looked at.
    pub(crate) fn ask_made(
        &mut self,
        at_ms: u64,
        mut ask: impl FnMut(&Machine, &Run) -> Ask,
    ) -> Result<Decision, StoreError> {
        let machine = &self.machine;
        submit_made(&mut self.log, machine, &mut self.run, at_ms, |run| {
            ask(machine, run)
        })
    }

    /// Asks whether a control call may be made now; a no is recorded.
    ///
    /// For those that no other command judges: the hook may not have been there to do it.
    pub(crate) fn judge(
        &mut self,
        proposed: &Proposed,
    ) -> Result<Result<(), (Refusal, Decision)>, StoreError> {
        let command = Command {
            at_ms: proposed.at_ms,
            ask: Ask::Propose(Box::new(proposed.call())),
        };
        let foreseen = decide(&self.machine, &self.run, &command);
        if !matches!(foreseen.reply, Reply::Refused(_) | Reply::Ask(_)) {
            return Ok(Ok(()));
        }
        let decision = submit(&mut self.log, &self.machine, &mut self.run, &command)?;
        Ok(match &decision.reply {
            Reply::Refused(refusal) | Reply::Ask(refusal) => Err((refusal.clone(), decision)),
            Reply::Accepted | Reply::Parked { .. } => Ok(()),
        })
    }

    /// Returns the frame that a call of `agent` in `branch` is about.
    ///
    /// Only a name that is wrong is an error; a run that is over has no open frame.
    pub(crate) fn focus(
        &self,
        branch: Option<&str>,
        agent: Option<&AgentId>,
    ) -> Result<Option<FramePath>, Refusal> {
        match addressed(&self.machine, &self.run, branch, agent) {
            Ok(path) => Ok(Some(path)),
            Err(refusal) if branch.is_some() && !self.run.is_over() => Err(refusal),
            Err(_) => Ok(None),
        }
    }

    /// Says in one sentence what `events` brought about, after `said`.
    pub(crate) fn brought_about(&self, events: &[Event], said: &str) -> String {
        let moved = notice(&self.machine, &self.run, events);
        moved.unwrap_or_else(|| format!("{said}; {}", self.standing()))
    }

    /// Says where the run stands, in half a sentence.
    pub(crate) fn standing(&self) -> String {
        let seen = report::report(&self.machine, &self.run, None);
        let cause = match &self.run.phase {
            Phase::Ended {
                cause: Some(cause), ..
            } => format!(": {}", cause.message),
            _ => String::new(),
        };
        match seen.status {
            Status::Running => format!("now in `{}`", seen.state),
            status => format!(
                "now in `{}`, {}{cause}",
                seen.state,
                status.as_str().replace('_', " ")
            ),
        }
    }
}

impl Proposed {
    fn call(&self) -> ToolCall {
        ToolCall {
            id: self.id.clone(),
            tool: format!("interlock_{}", ToolText::of(self.tool).name),
            common: None,
            served_as: Vec::new(),
            foreign: false,
            kind: CallKind::Control(self.tool),
            digest: self.digest.clone(),
            summary: self.summary.clone(),
            agent: self.agent.clone(),
            branch: None,
            prompts_in: None,
            facts: CallFacts::default(),
        }
    }
}

/// How long is waited at a time for another process's transaction, and how often.
const REST: Duration = Duration::from_millis(2);
const RESTS_MAX: i32 = 750;

/// Waits for another process's transaction; `false`: it has held on for too long.
fn rest(times: i32) -> bool {
    let waits = times < RESTS_MAX;
    if waits {
        waiting(|| std::thread::sleep(REST));
    }
    waits
}

/// Returns the code and sentence of a reply that is a no.
pub(crate) fn refusal(reply: &Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) | Reply::Ask(refusal) => refusal.clone(),
        Reply::Accepted | Reply::Parked { .. } => {
            Refusal::new(Code::NothingPending, "nothing was refused")
        }
    }
}
