//! The control tools, answered from the store: one method per tool.
//!
//! This module knows no protocol. Every failure becomes an answer, and a run that guards a session keeps guarding it.

mod caller;
mod draft;
mod start;
mod workflows;

use std::path::{Path, PathBuf};

use interlock_clients::notify;
use interlock_core::{
    Reply,
    call::ControlTool,
    command::{CommandKind, Consent, TransitionRequest},
    machine::Object,
    names::{ApprovalId, CallId, Digest, RunId},
    pending::pending,
};
use serde_json::Value;

use crate::{
    answer::{Answer, RunReply},
    arguments::Arguments,
    govern,
    live::{Live, Proposed, refusal},
    refused::{Refused, Word},
    settings::Settings,
    tools::ToolText,
};

use caller::Caller;
pub(crate) use caller::{Caller as Noted, CallerRun};

/// Maximum number of characters of the arguments that the log keeps.
const SUMMARY_CHARS_MAX: usize = 200;
/// Name of the caller in the log.
const AGENT: &str = "agent";

/// A call of a control tool as received.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// Arguments, unchanged.
    pub arguments: Object,
    /// Id that the client gave the call, if known.
    pub call: Option<CallId>,
    /// Time of arrival, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Incoming {
    /// Returns the digest of these arguments, computed as in the hook.
    pub(crate) fn digest(&self) -> Digest {
        interlock_facts::control_digest(&Value::Object(self.arguments.clone()))
    }
}

/// A transition that waits for a person.
#[derive(Debug, Clone)]
pub(crate) struct Parking {
    pub(crate) run: RunId,
    pub(crate) id: ApprovalId,
    pub(crate) event: String,
    /// Question for the person.
    pub(crate) message: String,
    pub(crate) noted: Noted,
}

/// Answers the control tools of one client process.
#[derive(Debug)]
pub struct Control {
    settings: Settings,
    who: govern::Caller,
    project_root: PathBuf,
    /// The run this process started last.
    started: Option<RunId>,
}

impl Control {
    /// Creates the control tools for the project of `settings`.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::of_caller(settings, govern::Caller::Stdio)
    }

    /// Creates the control tools for the caller `who`.
    pub(crate) fn of_caller(settings: Settings, who: govern::Caller) -> Self {
        let project_root = settings.environment.project();
        Self {
            settings,
            who,
            project_root,
            started: None,
        }
    }

    /// Adopts a run that was begun for this process in another way.
    pub(crate) fn adopt(&mut self, run: RunId) {
        self.started = Some(run);
    }

    pub(crate) fn project_root(&self) -> &Path {
        &self.project_root
    }

    /// Answers a call of any control tool.
    pub fn answer(&mut self, tool: ControlTool, incoming: &Incoming) -> Answer {
        match tool {
            ControlTool::GetState => self.get_state(incoming),
            ControlTool::Transition => self.transition(incoming),
            ControlTool::ListWorkflows => self.list_workflows(incoming),
            ControlTool::Start => self.start(incoming),
            ControlTool::Pause => self.pause(incoming),
            ControlTool::CreateWorkflow => self.create_workflow(incoming),
        }
    }

    /// Reports the state of the run.
    pub fn get_state(&mut self, incoming: &Incoming) -> Answer {
        self.stated(incoming).unwrap_or_else(Answer::from)
    }

    /// Requests a transition.
    pub fn transition(&mut self, incoming: &Incoming) -> Answer {
        self.moved(incoming).unwrap_or_else(Answer::from)
    }

    /// Lists the workflows that can be started.
    pub fn list_workflows(&mut self, incoming: &Incoming) -> Answer {
        self.listed(incoming).unwrap_or_else(Answer::from)
    }

    /// Starts a run and binds the session to it.
    pub fn start(&mut self, incoming: &Incoming) -> Answer {
        self.begun(incoming).unwrap_or_else(Answer::from)
    }

    /// Pauses the run until a person resumes it.
    pub fn pause(&mut self, incoming: &Incoming) -> Answer {
        self.paused(incoming).unwrap_or_else(Answer::from)
    }

    /// Writes a draft of a workflow for a person to adopt.
    pub fn create_workflow(&mut self, incoming: &Incoming) -> Answer {
        self.drafted(incoming).unwrap_or_else(Answer::from)
    }

    /// Determines the caller, then parses the arguments.
    ///
    /// In this order, because the hook's note is for this call even if its arguments are invalid.
    fn receive<'a>(
        &self,
        tool: ControlTool,
        incoming: &'a Incoming,
    ) -> Result<(Caller, Arguments<'a>), Refused> {
        let caller = self.caller(tool, incoming)?;
        let arguments = Arguments::check(ToolText::of(tool), &incoming.arguments)?;
        Ok((caller, arguments))
    }

    fn stated(&self, incoming: &Incoming) -> Result<Answer, Refused> {
        let (caller, arguments) = self.receive(ControlTool::GetState, incoming)?;
        let run = match self.held(&caller, incoming)? {
            CallerRun::Run(run) => run,
            CallerRun::Nothing => return Ok(Answer::without_run(&self.no_run(), Object::new())),
            CallerRun::Several(runs) => return Err(several(runs)),
        };
        let live = self.open(&run)?;
        let message = format!("run `{run}` of `{}`: {}", live.machine.id, live.standing());
        match live.focus(arguments.text("branch"), caller.agent()) {
            Ok(focus) => Ok(Answer::of_run(
                &live,
                &RunReply {
                    message,
                    events: &[],
                    focus: focus.as_ref(),
                },
            )),
            Err(refusal) => Ok(Answer::no(
                &live,
                &refusal,
                &RunReply {
                    message,
                    events: &[],
                    focus: None,
                },
            )),
        }
    }

    fn moved(&self, incoming: &Incoming) -> Result<Answer, Refused> {
        self.moving(incoming).map(|(answer, _)| answer)
    }

    /// Requests a transition; also returns what now waits for a person.
    pub(crate) fn moving(&self, incoming: &Incoming) -> Result<(Answer, Option<Parking>), Refused> {
        let (caller, arguments) = self.receive(ControlTool::Transition, incoming)?;
        let mut live = self.open(&self.the_run(&caller, incoming)?)?;
        let event = arguments.text("event").unwrap_or_default().to_owned();
        let request = TransitionRequest {
            data: arguments.object("data"),
            branch: arguments.text("branch").map(str::to_owned),
            agent: caller.agent().cloned(),
            by: AGENT.to_owned(),
            approved_by: self.approved_by(&caller),
            event: event.clone(),
        };
        let before = live.run.seq;
        let decision = live.ask(incoming.at_ms, CommandKind::Transition(request))?;
        notify::tell(
            self.settings.environment.configuration.as_deref(),
            &self.project_root,
            (&live.machine, &live.run),
            before,
        );
        let mut parking = None;
        let mut said = RunReply {
            message: String::new(),
            events: &decision.events,
            focus: Some(&decision.path),
        };
        match &decision.reply {
            Reply::Accepted => {
                said.message = live.brought_about(&decision.events, &format!("`{event}` taken"))
            }
            Reply::Pending { message, id } => {
                let waiting = pending(&live.machine, &live.run);
                let by_passkey = waiting
                    .iter()
                    .any(|one| one.id() == *id && one.takes_passkey());
                let how = if by_passkey {
                    "with a passkey, on the page of `interlock console`".to_owned()
                } else {
                    format!("`interlock approve {} {id}`", live.id())
                };
                said.message = format!(
                    "a person has to approve `{event}`: {message} Until they answer ({how}) nothing passes: stop here and tell them"
                );
                parking = Some(Parking {
                    run: live.id().clone(),
                    id: id.clone(),
                    event,
                    message: message.clone(),
                    noted: caller,
                });
            }
            Reply::Ask(_) | Reply::Refused(_) => {
                let answer = Answer::no(&live, &refusal(&decision.reply), &said);
                return Ok((answer, None));
            }
        }
        Ok((Answer::of_run(&live, &said), parking))
    }

    /// Returns the person who approved this exact call in the client's prompt.
    ///
    /// The engine accepts it only for the question that the person saw.
    fn approved_by(&self, caller: &Caller) -> Option<Consent> {
        // Only the server that the client itself started may accept its person's approval: any other process could be the agent's
        // own.
        let note = caller.note.as_ref().filter(|note| note.asked)?;
        if note.process.is_none() || self.settings.ancestors.first() != note.process.as_ref() {
            return None;
        }
        Some(Consent {
            by: self.settings.person.clone(),
            question: note.question.clone()?,
        })
    }

    fn paused(&self, incoming: &Incoming) -> Result<Answer, Refused> {
        let (caller, arguments) = self.receive(ControlTool::Pause, incoming)?;
        let mut live = self.open(&self.the_run(&caller, incoming)?)?;
        if let Some(answer) = judged(&mut live, ControlTool::Pause, &caller, incoming)? {
            return Ok(answer);
        }
        let reason = arguments
            .text("reason")
            .filter(|reason| !reason.is_empty())
            .map(str::to_owned);
        let decision = live.ask(
            incoming.at_ms,
            CommandKind::Pause {
                by: AGENT.to_owned(),
                reason,
            },
        )?;
        let said = RunReply {
            message: format!(
                "paused; a person continues with `interlock resume {}`",
                live.id()
            ),
            events: &decision.events,
            focus: None,
        };
        match decision.reply {
            Reply::Accepted | Reply::Pending { .. } => Ok(Answer::of_run(&live, &said)),
            Reply::Ask(_) | Reply::Refused(_) => {
                Ok(Answer::no(&live, &refusal(&decision.reply), &said))
            }
        }
    }

    pub(crate) fn open(&self, run: &RunId) -> Result<Live, Refused> {
        Ok(Live::open(&self.settings.environment.home, run)?)
    }

    /// Returns the run that the call is for; there must be one.
    fn the_run(&self, caller: &Caller, incoming: &Incoming) -> Result<RunId, Refused> {
        match self.held(caller, incoming)? {
            CallerRun::Run(run) => Ok(run),
            CallerRun::Nothing => Err(Refused::new(Word::NoRun, self.no_run())),
            CallerRun::Several(runs) => Err(several(runs)),
        }
    }

    fn no_run(&self) -> String {
        let name = |tool| ToolText::of(tool).full_name(self.settings.tool_prefix);
        let (list, start) = (name(ControlTool::ListWorkflows), name(ControlTool::Start));
        format!(
            "no run guards this session, so nothing is restricted: `{list}` lists the available workflows, `{start}` starts one"
        )
    }
}

/// Asks the engine whether a control call is allowed; returns `None` if it is.
fn judged(
    live: &mut Live,
    tool: ControlTool,
    caller: &Caller,
    incoming: &Incoming,
) -> Result<Option<Answer>, Refused> {
    let digest = incoming.digest();
    let arguments = serde_json::to_string(&incoming.arguments).unwrap_or_default();
    let own_id = || CallId::new(format!("control-{}-{}", incoming.at_ms, digest));
    let proposed = Proposed {
        tool,
        id: incoming.call.clone().unwrap_or_else(own_id),
        summary: interlock_facts::one_line(&arguments, SUMMARY_CHARS_MAX),
        digest,
        agent: caller.agent().cloned(),
        at_ms: incoming.at_ms,
    };
    let Err((refusal, decision)) = live.judge(&proposed)? else {
        return Ok(None);
    };
    let said = RunReply {
        message: String::new(),
        events: &decision.events,
        focus: Some(&decision.path),
    };
    Ok(Some(Answer::no(live, &refusal, &said)))
}

pub(crate) fn several(runs: Vec<RunId>) -> Refused {
    let names: Vec<String> = runs.iter().map(|run| format!("`{run}`")).collect();
    let message = format!(
        "several runs are open in this project and it is unknown which one guards this session: {}; a person binds it with `interlock resume RUN --session ID`, or cancels the others",
        names.join(", ")
    );
    Refused {
        runs,
        ..Refused::new(Word::SeveralRuns, message)
    }
}
