//! An open run that can be queried and updated.

use std::time::Duration;

use interlock_clients::Watched;
use interlock_core::{
    Decision, Reply, addressed,
    call::{CallFacts, CallKind, ControlTool, ToolCall},
    command::{Command, CommandKind},
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

/// An open run.
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

/// A control call as proposed to the engine.
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
    /// Opens an existing run.
    pub(crate) fn open(home: &Home, id: &RunId) -> Result<Self, StoreError> {
        let log = home.open_run(id)?;
        let machine = log.machine()?;
        let run = log.load()?;
        Ok(Self { log, machine, run })
    }

    /// Updates it from the log, if other processes have written meanwhile.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        if self.log.count()? != self.run.seq {
            self.run = self.log.load()?;
        }
        Ok(())
    }

    /// Returns whether its log is still where it was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        self.log.is_in_place()
    }

    /// Compares the protected files and settings with the run's baseline; an unconfirmed change pauses it.
    pub(crate) fn watch(
        &mut self,
        watched: &mut Watched,
        context: &CallContext,
        at_ms: u64,
    ) -> Result<(), StoreError> {
        let changes = watched.changes(&self.log, &self.run.accepted, context, at_ms)?;
        if !changes.is_empty() {
            self.ask(at_ms, CommandKind::ReportProtected { changes })?;
        }
        Ok(())
    }

    /// Reads the definitions of servers' tools that the run has pinned.
    pub(crate) fn tool_pins(&self) -> Result<Vec<ToolPin>, StoreError> {
        self.log.folder().tool_pins()
    }

    /// Pins the tools that the run has not seen yet; returns all pinned tools.
    pub(crate) fn pin_tools(&self, seen: Vec<ToolPin>) -> Result<Vec<ToolPin>, StoreError> {
        self.log.folder().pin_tools(seen)
    }

    /// Keeps it open between questions.
    pub(crate) fn kept(self) -> CachedRun {
        let Self { log, machine, run } = self;
        let log = log.kept().resting(rest);
        CachedRun(Self { log, machine, run })
    }

    /// Wraps a run that has just begun.
    pub(crate) const fn begun(log: RunLog, machine: Machine, run: Run) -> Self {
        Self { log, machine, run }
    }

    pub(crate) fn id(&self) -> &RunId {
        self.log.run()
    }

    /// Sends a command to the run and records the resulting events.
    pub(crate) fn ask(&mut self, at_ms: u64, command: CommandKind) -> Result<Decision, StoreError> {
        submit(
            &mut self.log,
            &self.machine,
            &mut self.run,
            &Command {
                at_ms,
                kind: command,
            },
        )
    }

    /// Sends a command that depends on the run, which other processes may have moved since it was read.
    pub(crate) fn ask_made(
        &mut self,
        at_ms: u64,
        mut ask: impl FnMut(&Machine, &Run) -> CommandKind,
    ) -> Result<Decision, StoreError> {
        let machine = &self.machine;
        submit_made(&mut self.log, machine, &mut self.run, at_ms, |run| {
            ask(machine, run)
        })
    }

    /// Asks whether a control call is allowed now; a refusal is recorded.
    ///
    /// This is for calls that no other command judges: there may be no hook to do it.
    pub(crate) fn judge(
        &mut self,
        proposed: &Proposed,
    ) -> Result<Result<(), (Refusal, Decision)>, StoreError> {
        let command = Command {
            at_ms: proposed.at_ms,
            kind: CommandKind::Propose(Box::new(proposed.call())),
        };
        let foreseen = decide(&self.machine, &self.run, &command);
        if !matches!(foreseen.reply, Reply::Refused(_) | Reply::Ask(_)) {
            return Ok(Ok(()));
        }
        let decision = submit(&mut self.log, &self.machine, &mut self.run, &command)?;
        Ok(match &decision.reply {
            Reply::Refused(refusal) | Reply::Ask(refusal) => Err((refusal.clone(), decision)),
            Reply::Accepted | Reply::Pending { .. } => Ok(()),
        })
    }

    /// Returns the frame that a call of `agent` in `branch` concerns.
    ///
    /// Only a wrong name is an error; a run that is over has no open frame.
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

    /// Describes in one sentence the effects of `events`, after `said`.
    pub(crate) fn brought_about(&self, events: &[Event], said: &str) -> String {
        let moved = notice(&self.machine, &self.run, events);
        moved.unwrap_or_else(|| format!("{said}; {}", self.standing()))
    }

    /// Describes the state of the run, as a part of a sentence.
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

/// Interval between two attempts while another process's transaction is open, and their number.
const REST: Duration = Duration::from_millis(2);
const RESTS_MAX: i32 = 750;

/// Waits for another process's transaction; returns `false` after too many attempts.
fn rest(times: i32) -> bool {
    let waits = times < RESTS_MAX;
    if waits {
        waiting(|| std::thread::sleep(REST));
    }
    waits
}

/// Returns the code and sentence of a reply that refuses.
pub(crate) fn refusal(reply: &Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) | Reply::Ask(refusal) => refusal.clone(),
        Reply::Accepted | Reply::Pending { .. } => {
            Refusal::new(Code::NothingPending, "nothing was refused")
        }
    }
}
