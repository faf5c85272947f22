//! From a recorded call to the one that the engine judges.

use interlock_core::{
    call::{CallKind, ControlTool, ToolCall},
    command::{Command, CommandKind},
};
use interlock_sessions::{Call, Ended, Session};
use interlock_simulate::{Scenario, call, input::ToolLine, read_again};

/// A recorded call, ready to be judged.
#[derive(Debug)]
pub(crate) struct JudgedCall {
    /// Its place in the session.
    pub(crate) index: usize,
    /// The call; `Err`: why it cannot be judged.
    pub(crate) call: Result<ToolCall, &'static str>,
    /// What asks the engine about it.
    pub(crate) proposal: Option<Command>,
    /// The transition that it asks for, and with which data.
    pub(crate) asks: Option<(String, interlock_core::machine::Object)>,
    /// Whether it ran.
    pub(crate) ran: bool,
    /// Whether it succeeded; what the recording does not say counts as a success without an exit code.
    pub(crate) ok: bool,
    pub(crate) exit: Option<i64>,
    pub(crate) bytes: u64,
    /// Whether it is a shell line that was seen to succeed, and whose exit code is not known.
    pub(crate) exit_unknown: bool,
}

/// Makes every call of a session again.
pub(crate) fn judged(session: &Session, scenario: &Scenario) -> Vec<JudgedCall> {
    let calls = session.calls.iter().enumerate();
    calls
        .map(|(index, recorded)| one(session, scenario, index, recorded))
        .collect()
}

fn one(session: &Session, scenario: &Scenario, index: usize, recorded: &Call) -> JudgedCall {
    let call = made(session, scenario, recorded);
    let is_shell = call
        .as_ref()
        .is_ok_and(|call| matches!(call.kind, CallKind::Shell));
    let asks = call.as_ref().ok().and_then(|call| asked(call, recorded));
    let propose = |call: &ToolCall| Command {
        // Nothing that is followed hangs on the time.
        at_ms: 0,
        kind: CommandKind::Propose(Box::new(call.clone())),
    };
    JudgedCall {
        index,
        proposal: call.as_ref().ok().map(propose),
        asks,
        ran: recorded.ended != Ended::NotRun,
        ok: recorded.ended != Ended::Failed,
        exit: recorded.exit,
        bytes: recorded.bytes,
        exit_unknown: is_shell && recorded.exit.is_none() && recorded.ended != Ended::Failed,
        call,
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
fn asked(call: &ToolCall, recorded: &Call) -> Option<(String, interlock_core::machine::Object)> {
    if call.kind != CallKind::Control(ControlTool::Transition) {
        return None;
    }
    let event = recorded.input.get("event")?.as_str()?.to_owned();
    let data = recorded.input.get("data").and_then(|data| data.as_object());
    let data = data.into_iter().flatten();
    let data = data.map(|(key, value)| (key.clone(), value.clone()));
    Some((event, data.collect()))
}
