//! Decides a command against a run: returns events and a reply, or a refusal.

mod activities;
mod adopt;
mod calls;
mod carry;
mod conversation;
mod durable;
mod failures;
mod hooks;
mod interrupts;
mod machines;
mod nodes;
mod passkeys;
mod people;
mod prompts;
mod protected;
mod question;
mod regions;
mod settle;
mod stage;
mod tools;
mod transitions;

pub use prompts::{Question, question};
pub use stage::{stage_task, stage_text};

use std::sync::Arc;

use conversation::opened;
use transitions::state_of;

use crate::{
    command::{Command, CommandKind},
    event::{Event, ProtectedChange},
    evolve,
    holds::Scope,
    machine::{Machine, Object, State},
    names::{AgentId, ApprovalId, FramePath},
    pending::pending,
    refusal::{Code, Refusal},
    run::{DurableRun, Frame, Phase, Run, RunKind},
};

/// Maximum number of times that an agent is stopped from finishing without a transition in between.
const FINISH_REFUSALS_MAX: u32 = 3;

/// The result of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Events to append and fold, in this order; a refusal is an event, too.
    pub events: Vec<Event>,
    /// Reply to the caller.
    pub reply: Reply,
    /// Path of the frame that was addressed, if one was found.
    pub path: FramePath,
}

/// The reply to the caller of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The command is done, or the call may run.
    Accepted,
    /// The transition waits for a person.
    Pending {
        /// Message shown to the person.
        message: String,
        /// Id of the request.
        id: ApprovalId,
    },
    /// The call needs a person's grant.
    Ask(Refusal),
    /// The command was refused.
    Refused(Refusal),
}

/// Decides `command` against `run`.
///
/// This function is total and pure: the same inputs give the same decision, and it never panics.
#[must_use]
pub fn decide(machine: &Machine, run: &Run, command: &Command) -> Decision {
    if let (CommandKind::Propose(call), Phase::Open) = (&command.kind, &run.phase) {
        // The path taken most: no copy of the run is made.
        return calls::propose(machine, run, call, command.at_ms);
    }
    let mut work = Work {
        machine,
        run: run.clone(),
        events: Vec::new(),
        at_ms: command.at_ms,
        path: FramePath::root(),
        due: Vec::new(),
        settling: false,
        moves: 0,
        items_started: 0,
    };
    let reply = match &command.kind {
        CommandKind::Start { input, by, durable } => work.start(input, by, durable.as_ref()),
        CommandKind::Propose(_) => work.propose_outside_a_run(),
        CommandKind::Record(result) => work.record(result),
        CommandKind::StartLine(start) => work.start_line(start),
        CommandKind::EndLine(end) => work.end_line(end),
        CommandKind::Transition(request) => work.transition(request),
        CommandKind::AskInPrompt { request, prompt } => work.ask_in_prompt(request, prompt),
        CommandKind::ClosePrompts {
            session,
            agent,
            call,
            why,
        } => work.close_prompts(session, agent.as_ref(), call.as_ref(), *why),
        CommandKind::ReleaseAgent { agent } => work.release_agent(agent),
        CommandKind::Finish => work.end_of_work(),
        CommandKind::Approve(answer) => work.approve(answer),
        CommandKind::Reject(answer) => work.reject(answer),
        CommandKind::Stage {
            path,
            attempt,
            command,
        } => work.stage(path, *attempt, command),
        CommandKind::Node {
            path,
            attempt,
            command,
        } => work.node(path, *attempt, command),
        CommandKind::EndActivity { path, outcome } => work.end_activity(path.as_deref(), outcome),
        CommandKind::Pause { by, reason } => work.pause(by, reason.as_ref()),
        CommandKind::Resume { by, seen } => work.resume(by, seen.as_deref()),
        CommandKind::ReportFrozen { changes } => work.report_frozen(changes),
        CommandKind::ReportFiles { files, before } => work.report_files(files, before.as_ref()),
        CommandKind::ReportProtected { changes } => work.report_protected(changes),
        CommandKind::ReportConsole {
            pid,
            program,
            request,
        } => work.report_console(*pid, program, request),
        CommandKind::ReportToken { place } => work.report_token(*place),
        CommandKind::ReportTool(change) => work.report_tool(change),
        CommandKind::AcceptTool { server, tool, by } => work.accept_tool(server, tool, by),
        CommandKind::DecideTrust {
            project,
            word,
            digest,
            by,
        } => work.decide_trust(project, word, digest, by),
        CommandKind::Cancel { by } => work.cancel(by),
        CommandKind::Advance => work.advance(),
        CommandKind::Supply { path, files } => work.supply(path, files),
        CommandKind::LoseEffects => work.lose_effects(),
        CommandKind::SettleEffect { path, how, by } => work.settle_effect(path.as_deref(), how, by),
        CommandKind::Reopen { by } => work.reopen(by),
        CommandKind::Adopt { machine, by } => work.adopt(machine, by),
        CommandKind::SetVariables { values, by } => work.set_variables(values, by),
    };
    let reply = reply
        .and_then(|reply| work.begin_due().map(|()| reply))
        .unwrap_or_else(Reply::Refused);
    Decision {
        events: work.events,
        reply,
        path: work.path,
    }
}

/// The reply to a command, or a refusal.
type Answered = Result<Reply, Refusal>;

/// A decision in progress: the events so far, and the run after them.
#[derive(Debug)]
struct Work<'a> {
    machine: &'a Machine,
    run: Run,
    events: Vec<Event>,
    at_ms: u64,
    path: FramePath,
    /// Frames to continue with, the next one last.
    due: Vec<FramePath>,
    settling: bool,
    /// Number of transitions that the run took by itself since the last effect.
    moves: usize,
    /// Number of items of loops started by this command.
    items_started: u32,
}

impl<'a> Work<'a> {
    /// Records an event and folds it into the run.
    fn emit(&mut self, event: Event) {
        evolve::fold(&mut self.run, &event);
        self.events.push(event);
    }

    /// Returns the frame at `path` and its machine.
    fn stand(&self, path: &FramePath) -> Result<(&Frame, &'a Machine), Refusal> {
        let frame = self.run.frame(path).ok_or_else(|| no_frame(path))?;
        let machine = self
            .machine
            .called(frame.machine.as_ref())
            .ok_or_else(|| no_frame(path))?;
        Ok((frame, machine))
    }

    /// Returns the frame at `path` and its state.
    fn at(&self, path: &FramePath) -> Result<(&Frame, &'a State), Refusal> {
        let (frame, machine) = self.stand(path)?;
        Ok((frame, state_of(machine, frame)?))
    }

    /// Returns whether the frame at `path` exists and no branch around it has ended.
    fn is_open(&self, path: &FramePath) -> bool {
        let mut frame = &self.run.root;
        for name in path.names() {
            match frame.region(name).filter(|region| region.is_open()) {
                Some(region) => frame = &region.frame,
                None => return false,
            }
        }
        !self.run.is_over()
    }

    /// Returns the values that guards of the machine are evaluated against in `frame`.
    const fn scope<'s>(&'s self, machine: &'s Machine, frame: &'s Frame) -> Scope<'s> {
        Scope {
            machine,
            run: &self.run,
            frame,
        }
    }

    /// Refuses commands to a run that has not begun, has ended or is paused.
    fn open_and_going(&self) -> Result<(), Refusal> {
        self.open()?;
        match &self.run.paused {
            Some(pause) => Err(Refusal::new(
                Code::Paused,
                format!("the run is paused by {}", pause.by),
            )),
            None => Ok(()),
        }
    }

    fn open(&self) -> Result<(), Refusal> {
        match self.run.phase {
            Phase::Open => Ok(()),
            Phase::New => Err(Refusal::new(
                Code::RunOver,
                "the run has not begun: start it first",
            )),
            Phase::Ended { .. } | Phase::Cancelled => Err(Refusal::new(
                Code::RunOver,
                "the run is over and cannot continue: start a new one",
            )),
        }
    }

    fn start(&mut self, input: &Object, by: &str, durable: Option<&DurableRun>) -> Answered {
        if self.run.phase != Phase::New {
            return Err(Refusal::new(Code::RunOpen, "the run has begun already"));
        }
        let durable = durable.filter(|_| self.machine.durable);
        if self.machine.durable && durable.is_none() {
            // INVARIANT: what nobody carries out holds no agent either.
            return Err(Refusal::new(
                Code::InvalidArguments,
                format!(
                    "`{}` is a workflow of steps that Interlock runs itself, not one that guards an agent",
                    self.machine.id
                ),
            ));
        }
        let mut context = self.machine.context.clone();
        context.extend(input.clone());
        self.emit(Event::RunStarted {
            run: self.run.id.clone(),
            machine: self.machine.id.clone(),
            hash: self.machine.hash.clone(),
            initial: self.machine.initial.clone(),
            context,
            by: by.to_owned(),
            at_ms: self.at_ms,
            kind: durable.map_or(RunKind::Guarded, |durable| {
                let durable = opened(self.machine, durable.clone());
                RunKind::Durable(Arc::new(durable))
            }),
        });
        self.settle(&FramePath::root())?;
        Ok(Reply::Accepted)
    }

    fn propose_outside_a_run(&self) -> Answered {
        match self.run.phase {
            // An ended run guards nothing.
            Phase::Ended { .. } | Phase::Cancelled => Ok(Reply::Accepted),
            Phase::New | Phase::Open => self.open().map(|()| Reply::Accepted),
        }
    }

    /// Releases the branch of a sub-agent that has stopped, so that others can continue its work.
    fn release_agent(&mut self, agent: &AgentId) -> Answered {
        if self.run.phase == Phase::Open {
            self.assume_all_of(agent)?;
        }
        if self.run.agents.contains_key(agent) && !self.run.away.contains(agent) {
            self.emit(Event::AgentReleased {
                agent: agent.clone(),
            });
        }
        Ok(Reply::Accepted)
    }

    /// Refuses to let the agent finish while the workflow requires more work.
    ///
    /// After [`FINISH_REFUSALS_MAX`] refusals without a transition, the agent may finish.
    fn end_of_work(&mut self) -> Answered {
        let waits = self.run.paused.is_some() || !pending(self.machine, &self.run).is_empty();
        let is_free = self.machine.finish.is_optional()
            || self.run.phase != Phase::Open
            || waits
            || self.run.finish_refusals >= FINISH_REFUSALS_MAX;
        if is_free {
            return Ok(Reply::Accepted);
        }
        self.emit(Event::FinishRefused {
            attempt: self.run.finish_refusals.saturating_add(1),
        });
        Err(Refusal::new(
            Code::FinishRequired,
            format!(
                "the work is not finished: `{}` is to end in a final state, and no person is waited for",
                self.machine.id
            ),
        ))
    }

    fn pause(&mut self, by: &str, reason: Option<&String>) -> Answered {
        self.open()?;
        if self.run.paused.is_none() {
            self.emit(Event::RunPaused {
                by: by.to_owned(),
                reason: reason.cloned(),
            });
        }
        Ok(Reply::Accepted)
    }

    fn resume(&mut self, by: &str, seen: Option<&[ProtectedChange]>) -> Answered {
        self.open()?;
        if seen.is_some_and(|seen| seen != self.run.changed) {
            return Err(Refusal::new(
                Code::Paused,
                "the run stays paused: other protected things have changed than were shown",
            ));
        }
        if self.run.paused.is_some() || !self.run.changed.is_empty() {
            self.emit(Event::RunResumed { by: by.to_owned() });
        }
        Ok(Reply::Accepted)
    }

    fn cancel(&mut self, by: &str) -> Answered {
        self.open()?;
        if self.run.is_durable() {
            return self.cancel_durable(by);
        }
        self.on_leave(&FramePath::root())?;
        self.emit(Event::RunCancelled { by: by.to_owned() });
        Ok(Reply::Accepted)
    }
}

/// Makes the refusal for a frame that the run or its machine no longer has.
fn no_frame(path: &FramePath) -> Refusal {
    Refusal::new(
        Code::UnknownBranch,
        format!("no frame `{path}` is open in this run"),
    )
}
