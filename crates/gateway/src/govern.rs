//! What a session of the gateway asks before it lets something pass.
//!
//! A session knows MCP and no run; who governs knows the run and no protocol.
//! Calls may wait for the disk: a session makes them where that stalls nobody else.

mod asking;
mod cached;
mod governor;
mod lists;
mod opened;
mod pins;
mod policy;
mod results;

use interlock_core::{
    machine::Object,
    names::{CallId, RunId},
};
use serde_json::{Value, value::RawValue};

pub use governor::Governor;
pub use interlock_served::{ListedTool, ReadingOf};

/// The client by which sessions of the gateway are bound that no hook knows.
pub(crate) const CLIENT: &str = "gateway";

/// Who opens a session of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// The client that started this process.
    Stdio,
    /// Whoever reaches the port, without a credential of a run.
    Nobody,
    /// The holder of a run's credential.
    Run(RunId),
}

/// A call of a tool of a server.
#[derive(Debug, Clone, Copy)]
pub struct GatewayCall<'a> {
    /// The tool.
    pub tool: ListedTool<'a>,
    /// The arguments, exact.
    pub arguments: &'a Object,
    /// The call's `_meta`: a client may name its own id of the call there.
    pub meta: Option<&'a Object>,
    /// The `requestState` with which it goes on with a call that wanted input (2026-07-28).
    pub request_state: Option<&'a Value>,
    /// Whether it brings the input that the server wanted (2026-07-28).
    pub answers_input: bool,
    /// When it came, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What else a client asks a server for.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The name of the server in the configuration; empty: the one that is wrapped.
    pub server: &'a str,
    /// What it asks for.
    pub of: ReadingOf<'a>,
    /// When it came, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A reading that may not be: the error of the answer, with the code for invalid parameters (-32602).
#[derive(Debug, Clone, PartialEq)]
pub struct NotRead {
    /// The sentence.
    pub message: String,
    /// The same as a value, for the error's `data`.
    pub data: Value,
}

/// What becomes of a call.
#[derive(Debug, Clone)]
pub enum CallDecision {
    /// It goes to the server.
    Pass(Ticket),
    /// It is answered here, with a `CallToolResult`.
    Answer(Value),
    /// A person is to be asked first.
    Ask(Question),
}

/// Names a call that passed, so that its result is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The call in the run's log; `None`: no run holds the session.
    pub call: Option<CallId>,
    /// Bytes of the result that pass; `None`: all.
    pub bytes_max: Option<u64>,
}

/// What a person is asked before a call passes.
#[derive(Debug, Clone)]
pub struct Question {
    /// What to show to the person.
    pub message: String,
    /// What the answer belongs to; opaque to the session, never shown to the model.
    pub key: String,
    /// The `CallToolResult` where no person can be asked here.
    pub unasked: Value,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonSaid {
    /// Yes.
    Yes,
    /// No, with a note for the agent.
    No {
        /// The note; empty: none.
        note: String,
    },
    /// Neither: the question was closed.
    Nothing,
}

/// What a client gets in place of what a call ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instead {
    /// A `CallToolResult`.
    Result(Value),
    /// A JSON-RPC error.
    Error(Value),
}

/// Governs one session of the gateway.
pub trait SessionPolicy: Send {
    /// Is told that a question begins: what is asked until the next may be answered from one look at the disk.
    fn begin(&mut self) {}

    /// Returns the definitions of the gateway's own tools, in order.
    fn own_tools(&self) -> Vec<Value>;

    /// Returns what the model is told about the own tools.
    fn instructions(&self) -> String;

    /// Answers a call of an own tool with a `CallToolResult`; `None`: no own tool has the name.
    fn own_call(&mut self, name: &str, call: &OwnCall<'_>) -> Option<CallDecision>;

    /// Tells for each tool, in order, whether the client sees it now.
    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool>;

    /// Rules on a call of a server's tool.
    fn call(&mut self, call: &GatewayCall<'_>) -> CallDecision;

    /// Rules on a reading; `Some`: it does not go to the server.
    fn read(&mut self, reading: &Reading<'_>) -> Option<NotRead>;

    /// Rules again once a person answered.
    fn answered(&mut self, key: &str, said: &PersonSaid, at_ms: u64) -> CallDecision;

    /// Records the result of a call that passed; `Some`: what the client gets in its place.
    ///
    /// A result that only names a task, or that wants input, leaves the call open:
    /// what the task ends with is told here later, with the same ticket.
    fn ended(&mut self, ticket: &Ticket, result: CallEnd<'_>, at_ms: u64) -> Option<Instead>;

    /// Tells whether other tools may be visible than when this was asked last.
    fn changed(&mut self) -> bool;
}

/// A call of one of the gateway's own tools.
#[derive(Debug, Clone, Copy)]
pub struct OwnCall<'a> {
    /// The arguments, exact.
    pub arguments: &'a Object,
    /// The call's `_meta`.
    pub meta: Option<&'a Object>,
    /// When it came, in milliseconds since 1970.
    pub at_ms: u64,
}

/// How a call of a server's tool ended.
#[derive(Debug, Clone, Copy)]
pub enum CallEnd<'a> {
    /// With a `CallToolResult`, `isError` or not.
    Result(&'a RawValue),
    /// With a JSON-RPC error.
    Error(&'a RawValue),
    /// Cancelled, or the server is gone: it is not known what it did.
    Unknown,
}
