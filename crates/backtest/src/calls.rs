//! From a recorded call to the one that the engine judges.

use std::rc::Rc;

use indexmap::IndexMap;
use interlock_core::{
    call::{CallKind, ControlTool, ToolCall},
    command::{Command, CommandKind},
    machine::Object,
};
use interlock_sessions::{Call, Ended, Session};
use interlock_simulate::{Scenario, call, input::ToolLine, read_again};

use crate::nodes::short;

/// A recorded call, ready to be judged.
#[derive(Debug)]
pub(crate) struct JudgedCall {
    /// Its place in the session.
    pub(crate) index: usize,
    pub(crate) made: Rc<Made>,
    /// Whether it ran.
    pub(crate) ran: bool,
    /// Whether it succeeded; what the recording does not say counts as a success without an exit code.
    pub(crate) ok: bool,
    pub(crate) exit: Option<i64>,
    pub(crate) bytes: u64,
    /// Whether it is a shell line that was seen to succeed, and whose exit code is not known.
    pub(crate) exit_unknown: bool,
}

/// A call as it was made, whatever came of it.
#[derive(Debug)]
pub(crate) struct Made {
    /// Two that were made with the same arguments may have the same number; others never do.
    pub(crate) number: u32,
    /// The call; `Err`: why it cannot be judged.
    pub(crate) call: Result<ToolCall, &'static str>,
    /// What asks the engine about it.
    pub(crate) proposal: Option<Command>,
    /// The transition that it asks for, and with which data.
    pub(crate) asks: Option<(String, Object)>,
}

impl Made {
    fn new(number: u32, call: Result<ToolCall, &'static str>, recorded: &Call) -> Self {
        let propose = |call: &ToolCall| Command {
            // Nothing that is followed hangs on the time.
            at_ms: 0,
            kind: CommandKind::Propose(Box::new(call.clone())),
        };
        Self {
            number,
            proposal: call.as_ref().ok().map(propose),
            asks: call.as_ref().ok().and_then(|call| asked(call, recorded)),
            call,
        }
    }

    /// Tells whether it may write files.
    pub(crate) fn writes(&self) -> bool {
        let call = self.call.as_ref();
        call.is_ok_and(|call| !call.facts.writes.is_empty())
    }
}

/// Calls that are remembered at once; after that all are forgotten.
const REMEMBERED_MAX: usize = 8_192;

/// The calls that were made in one place: the same ones are made again and again.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Where they were made.
    scenario: Option<Scenario>,
    /// By the tool, its arguments, and who called it.
    made: IndexMap<String, Rc<Made>>,
    /// How many there have been.
    count: usize,
}

impl Calls {
    /// Makes every call of a session again.
    pub(crate) fn of(&mut self, session: &Session, scenario: &Scenario) -> Vec<JudgedCall> {
        if self.scenario.as_ref() != Some(scenario) {
            self.made.clear();
            self.scenario = Some(scenario.clone());
        }
        let calls = session.calls.iter().enumerate();
        calls
            .map(|(index, recorded)| self.one(session, scenario, index, recorded))
            .collect()
    }

    fn one(
        &mut self,
        session: &Session,
        scenario: &Scenario,
        index: usize,
        recorded: &Call,
    ) -> JudgedCall {
        let made = self.made(session, scenario, recorded);
        let call = made.call.as_ref();
        let is_shell = call.is_ok_and(|call| matches!(call.kind, CallKind::Shell));
        JudgedCall {
            index,
            made,
            ran: recorded.ended != Ended::NotRun,
            ok: recorded.ended != Ended::Failed,
            exit: recorded.exit,
            bytes: recorded.bytes,
            exit_unknown: is_shell && recorded.exit.is_none() && recorded.ended != Ended::Failed,
        }
    }

    fn made(&mut self, session: &Session, scenario: &Scenario, recorded: &Call) -> Rc<Made> {
        let Call {
            tool,
            input,
            agent,
            files,
            record,
            ..
        } = recorded;
        let key = match record {
            // What a log keeps of a call is read anew.
            Some(_) => None,
            None => serde_json::to_string(&(tool, input, agent, &session.client, files)).ok(),
        };
        let known = key.as_ref().and_then(|key| self.made.get(key));
        if let Some(known) = known {
            return Rc::clone(known);
        }
        let number = short(self.count);
        self.count += 1;
        let call = made(session, scenario, recorded);
        let made = Rc::new(Made::new(number, call, recorded));
        if let Some(key) = key {
            if self.made.len() >= REMEMBERED_MAX {
                self.made.clear();
            }
            self.made.insert(key, Rc::clone(&made));
        }
        made
    }
}

/// Makes a recorded call again, with its facts.
///
/// # Errors
/// What the recording does not keep of it.
pub fn made(
    session: &Session,
    scenario: &Scenario,
    recorded: &Call,
) -> Result<ToolCall, &'static str> {
    // A log keeps of a call what it shows of it.
    if let Some(record) = &recorded.record {
        return read_again(scenario, record).map(|again| again.call);
    }
    let line = ToolLine {
        tool: recorded.tool.clone(),
        input: recorded.input.clone(),
        agent: recorded.agent.clone(),
        client: session.client.clone(),
        files: recorded.files.clone(),
        ..ToolLine::default()
    };
    Ok(call(scenario, &line, recorded.id.clone()))
}

/// Returns the transition that a call of Interlock's own tool asks for.
fn asked(call: &ToolCall, recorded: &Call) -> Option<(String, Object)> {
    if call.kind != CallKind::Control(ControlTool::Transition) {
        return None;
    }
    let event = recorded.input.get("event")?.as_str()?.to_owned();
    let data = recorded.input.get("data").and_then(|data| data.as_object());
    let data = data.into_iter().flatten();
    let data = data.map(|(key, value)| (key.clone(), value.clone()));
    Some((event, data.collect()))
}
