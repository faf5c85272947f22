//! A tool call before it runs.

use std::path::Path;

use interlock_core::{
    Reply,
    call::{ControlTool, ToolCall},
    command::{Ask, Command, TransitionRequest},
    decide,
    machine::Object,
    names::{CallId, RunId},
    run::Run,
};
use interlock_facts::{Disk, Proposal, RealDisk, Shape, digest, facts};
use interlock_store::{Note, SessionKey};
use serde_json::Value;

use super::{
    answer::{Answer, Trouble, sentence},
    environment::HookEnv,
    guarded::Guarded,
    input::{HookInput, ToolUse},
};
use crate::client::{ClientId, recognise};

/// Bytes of the longest id of a client that is kept as it is.
const ID_MAX: usize = 128;

/// Returns the control tool that is called, if it is one.
pub(super) fn control_call(client: ClientId, call: &ToolUse) -> Option<ControlTool> {
    match recognise(client, &call.tool, &call.input).shape {
        Shape::Control(tool) => Some(tool),
        _ => None,
    }
}

/// Makes the note for the server that is about to receive a control call.
pub(super) fn note(
    env: &HookEnv,
    input: &HookInput,
    call: &ToolUse,
    tool: ControlTool,
    session: &SessionKey,
    project_root: &Path,
    run: Option<RunId>,
) -> Note {
    Note {
        session: session.clone(),
        run,
        project_root: project_root.to_owned(),
        agent: input.agent.clone(),
        process: env.process.clone(),
        call: call.id.as_deref().map(call_id),
        tool,
        digest: arguments_digest(&call.input),
        asked: false,
        at_ms: env.now_ms,
    }
}

/// Returns the digest of a control call's arguments, made alike by hook and server.
#[must_use]
pub fn arguments_digest(arguments: &Value) -> interlock_core::names::Digest {
    let none = Value::Object(Object::new());
    digest(
        "",
        if arguments.is_null() {
            &none
        } else {
            arguments
        },
    )
}

/// Finds the call of a result among those whose outcome is not known.
pub(super) fn open_call(run: &Run, input: &HookInput, call: &ToolUse) -> Option<CallId> {
    let wanted: Box<dyn Fn(&str) -> bool> = match &call.id {
        Some(id) => {
            let id = call_id(id);
            Box::new(move |known| known == id.as_str())
        }
        None => {
            let stem = stem(input, call);
            Box::new(move |known| known.starts_with(&stem))
        }
    };
    let mut open = run.calls.iter().map(|open| &open.id);
    open.find(|id| wanted(id.as_str())).cloned()
}

fn call_id(id: &str) -> CallId {
    if id.len() <= ID_MAX {
        return CallId::from(id);
    }
    CallId::new(digest("", &Value::String(id.to_owned())).as_str())
}

/// What the ids of all calls alike begin with, where the client has none: session, tool, arguments.
fn stem(input: &HookInput, call: &ToolUse) -> String {
    let alike = digest(&format!("{}\n{}", input.session, call.tool), &call.input);
    format!("{alike}.")
}

impl Guarded<'_> {
    /// Finds the facts of a call.
    pub(super) fn facts(&self, call: &ToolUse, disk: &dyn Disk) -> ToolCall {
        let recognised = recognise(self.client, &call.tool, &call.input);
        let surroundings = self.env.surroundings(
            &self.binding.project_root,
            &self.input.directory,
            self.binding.process.as_ref(),
            disk,
        );
        let id = match &call.id {
            Some(id) => call_id(id),
            None => CallId::new(format!("{}{}", stem(self.input, call), self.run.seq)),
        };
        let proposal = Proposal {
            id,
            tool: &call.tool,
            common: recognised.common,
            shape: recognised.shape,
            input: &call.input,
            doubled: call.doubled.as_deref(),
            agent: self.input.agent.clone(),
            branch: None,
        };
        facts(proposal, &surroundings, disk)
    }

    /// Asks the run whether the call may run.
    pub(super) fn judge(&mut self, call: &ToolUse) -> Result<Answer, Trouble> {
        let proposed = self.facts(call, &RealDisk);
        let decision = self.ask(Ask::Propose(Box::new(proposed)))?;
        Ok(match decision.reply {
            Reply::Accepted => match control_call(self.client, call) {
                Some(tool) => self.control(call, tool)?,
                None => Answer::Silent,
            },
            Reply::Ask(refusal) if self.input.asks => Answer::Ask(sentence(&refusal)),
            Reply::Ask(refusal) => Answer::Deny(format!(
                "{} A person can let exactly this call pass: `interlock approve {}`; then propose it again.",
                sentence(&refusal),
                self.run.id
            )),
            Reply::Refused(refusal) => Answer::Deny(sentence(&refusal)),
            Reply::Parked { message } => Answer::Deny(message),
        })
    }

    /// Lets a control call pass, with a note; asks the person where a transition needs a yes.
    fn control(&self, call: &ToolUse, tool: ControlTool) -> Result<Answer, Trouble> {
        let (env, input) = (self.env, self.input);
        let parks = match tool {
            ControlTool::Transition => self.would_park(&call.input),
            _ => None,
        };
        let question = parks.filter(|_| input.asks);
        let mut note = note(
            env,
            input,
            call,
            tool,
            &self.binding.session,
            &self.binding.project_root,
            Some(self.run.id.clone()),
        );
        note.asked = question.is_some();
        env.state.leave_note(&note)?;
        Ok(question.map_or(Answer::Allow, Answer::Ask))
    }

    /// Returns what a person would be asked, if the transition were parked.
    fn would_park(&self, arguments: &Value) -> Option<String> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        let request = TransitionRequest {
            event: text("event")?.to_owned(),
            data: match arguments.get("data") {
                Some(Value::Object(data)) => data.clone(),
                _ => Object::new(),
            },
            branch: text("branch").map(str::to_owned),
            agent: self.input.agent.clone(),
            by: "agent".to_owned(),
            approved_by: None,
        };
        let event = request.event.clone();
        let command = Command {
            at_ms: self.env.now_ms,
            ask: Ask::Transition(request),
        };
        match decide(&self.machine, &self.run, &command).reply {
            Reply::Parked { message } => Some(format!("{event}: {message}")),
            _ => None,
        }
    }
}
