//! Converts recorded calls for the engine.

use std::rc::Rc;

use indexmap::IndexMap;
use interlock_core::{
    call::{CallKind, ControlTool, ToolCall},
    command::{Command, CommandKind},
    machine::{Machine, Object},
};
use interlock_sessions::{Call, Ended, Session};
use interlock_simulate::{Scenario, call, input::ToolLine, read_again};

use crate::classes::Classes;

/// A recorded call, ready to be judged.
#[derive(Debug)]
pub(crate) struct JudgedCall {
    /// Index in the session.
    pub(crate) index: usize,
    pub(crate) made: Rc<Made>,
    /// Whether it ran.
    pub(crate) ran: bool,
    /// Whether it succeeded; an unknown outcome counts as a success without an exit code.
    pub(crate) ok: bool,
    pub(crate) exit: Option<i64>,
    pub(crate) bytes: u64,
    /// Whether it is a shell line that succeeded with an unknown exit code.
    pub(crate) exit_unknown: bool,
}

/// A call as it was made, independent of its outcome.
#[derive(Debug)]
pub(crate) struct Made {
    /// Number of its class.
    pub(crate) class: u32,
    /// The call; `Err` with the reason why it cannot be judged.
    pub(crate) call: Result<ToolCall, &'static str>,
    /// Command that proposes it to the engine.
    pub(crate) proposal: Option<Command>,
    /// Requested transition, with its data.
    pub(crate) asks: Option<(String, Object)>,
}

impl Made {
    fn new(classes: &mut Classes, call: Result<ToolCall, &'static str>, recorded: &Call) -> Self {
        let propose = |call: &ToolCall| Command {
            // Nothing that is followed depends on the time.
            at_ms: 0,
            kind: CommandKind::Propose(Box::new(call.clone())),
        };
        let asks = call.as_ref().ok().and_then(|call| asked(call, recorded));
        Self {
            class: match &call {
                Ok(call) => classes.number(call, asks.is_some()),
                Err(_) => classes.fresh(),
            },
            proposal: call.as_ref().ok().map(propose),
            asks,
            call,
        }
    }

    /// Returns whether it may write files.
    pub(crate) fn writes(&self) -> bool {
        let call = self.call.as_ref();
        call.is_ok_and(|call| !call.facts.writes.is_empty())
    }
}

/// Maximum number of calls in the cache; beyond it, the cache is cleared.
const REMEMBERED_MAX: usize = 8_192;

/// The calls that were made in one place, where the same ones are made again and again.
#[derive(Debug)]
pub(crate) struct Calls {
    /// Where they were made.
    scenario: Option<Scenario>,
    /// Calls by tool, arguments and caller.
    made: IndexMap<String, Rc<Made>>,
    classes: Classes,
}

impl Calls {
    pub(crate) fn new(machine: &Machine) -> Self {
        Self {
            scenario: None,
            made: IndexMap::new(),
            classes: Classes::of(machine),
        }
    }

    /// Reconstructs every call of a session.
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
            // The log's record of a call is parsed again.
            Some(_) => None,
            None => serde_json::to_string(&(tool, input, agent, &session.client, files)).ok(),
        };
        let known = key.as_ref().and_then(|key| self.made.get(key));
        if let Some(known) = known {
            return Rc::clone(known);
        }
        let call = made(session, scenario, recorded);
        let made = Rc::new(Made::new(&mut self.classes, call, recorded));
        if let Some(key) = key {
            if self.made.len() >= REMEMBERED_MAX {
                self.made.clear();
            }
            self.made.insert(key, Rc::clone(&made));
        }
        made
    }
}

/// Reconstructs a recorded call, with its facts.
///
/// # Errors
/// Returns what the recording does not contain of it.
pub fn made(
    session: &Session,
    scenario: &Scenario,
    recorded: &Call,
) -> Result<ToolCall, &'static str> {
    // The log contains only a summary of a call.
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

/// Returns the transition that a call of a control tool requests.
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
