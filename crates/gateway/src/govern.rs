//! The policy interface of a session: what it asks before it forwards anything.
//!
//! A session knows MCP but no run; the policy knows the run but no protocol. Calls of a policy may access the disk: a session
//! makes them where they block nobody else.

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

/// Client name in the bindings of gateway sessions that no hook knows.
pub(crate) const CLIENT: &str = "gateway";

/// The client that opens a session of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// The client that started this process.
    Stdio,
    /// A client over HTTP without a credential of a run.
    Nobody,
    /// The holder of a run's credential.
    Run(RunId),
}

/// A call of a server tool.
#[derive(Debug, Clone, Copy)]
pub struct GatewayCall<'a> {
    /// The tool.
    pub tool: ListedTool<'a>,
    /// Arguments, unchanged.
    pub arguments: &'a Object,
    /// `_meta` of the call, in which a client may name its own id of the call.
    pub meta: Option<&'a Object>,
    /// `requestState` that continues a call that asked for input (2026-07-28).
    pub request_state: Option<&'a Value>,
    /// Whether the call brings the input that the server asked for (2026-07-28).
    pub answers_input: bool,
    /// Time of arrival, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A request for a resource or a prompt of a server.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// Name of the server in the configuration; empty: the wrapped one.
    pub server: &'a str,
    /// Requested resource or prompt.
    pub of: ReadingOf<'a>,
    /// Time of arrival, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A refused reading: an error with the code for invalid parameters (-32602).
#[derive(Debug, Clone, PartialEq)]
pub struct NotRead {
    /// Message of the error.
    pub message: String,
    /// Data of the error.
    pub data: Value,
}

/// Decision about a call.
#[derive(Debug, Clone)]
pub enum CallDecision {
    /// The call is forwarded to the server.
    Pass(Ticket),
    /// The call is answered here with a `CallToolResult`.
    Answer(Value),
    /// A person is asked first.
    Ask(Question),
}

/// Identifies an allowed call, so that its result is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Id of the call in the run's log; `None`: the session is bound to no run.
    pub call: Option<CallId>,
    /// Limit of the result in bytes; `None`: none.
    pub bytes_max: Option<u64>,
}

/// Question to a person before a call is allowed.
#[derive(Debug, Clone)]
pub struct Question {
    /// Message shown to the person.
    pub message: String,
    /// Key of the answer, opaque to the session and never shown to the model.
    pub key: String,
    /// `CallToolResult` if no person can be asked here.
    pub unasked: Value,
}

/// Answer of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonSaid {
    /// The person approved.
    Yes,
    /// The person rejected, with a note for the agent.
    No {
        /// The note; empty: none.
        note: String,
    },
    /// The question was closed without an answer.
    Nothing,
}

/// What a client gets instead of the outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instead {
    /// A `CallToolResult`.
    Result(Value),
    /// A JSON-RPC error.
    Error(Value),
}

/// Governs one session of the gateway.
pub trait SessionPolicy: Send {
    /// Begins a question: until the next one, answers may rely on one look at the disk.
    fn begin(&mut self) {}

    /// Returns the definitions of the gateway's own tools, in order.
    fn own_tools(&self) -> Vec<Value>;

    /// Returns the instructions for the model about the own tools.
    fn instructions(&self) -> String;

    /// Answers a call of an own tool with a `CallToolResult`; returns `None` if no own tool has the name.
    fn own_call(&mut self, name: &str, call: &OwnCall<'_>) -> Option<CallDecision>;

    /// Returns for each tool, in order, whether the client sees it now.
    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool>;

    /// Decides about a call of a server's tool.
    fn call(&mut self, call: &GatewayCall<'_>) -> CallDecision;

    /// Decides about a reading; returns `Some` if it is refused.
    fn read(&mut self, reading: &Reading<'_>) -> Option<NotRead>;

    /// Decides again after a person answered.
    fn answered(&mut self, key: &str, said: &PersonSaid, at_ms: u64) -> CallDecision;

    /// Records the result of an allowed call; returns `Some` if the client gets something else in its place.
    ///
    /// A result that only names a task, or that asks for input, leaves the call open: the result of the task is recorded here
    /// later, with the same ticket.
    fn ended(&mut self, ticket: &Ticket, result: CallEnd<'_>, at_ms: u64) -> Option<Instead>;

    /// Returns whether the visible tools may have changed since the last call.
    fn changed(&mut self) -> bool;
}

/// A call of one of the gateway's own tools.
#[derive(Debug, Clone, Copy)]
pub struct OwnCall<'a> {
    /// Arguments, unchanged.
    pub arguments: &'a Object,
    /// `_meta` of the call.
    pub meta: Option<&'a Object>,
    /// Time of arrival, in milliseconds since 1970.
    pub at_ms: u64,
}

/// How a call of a server tool ended.
#[derive(Debug, Clone, Copy)]
pub enum CallEnd<'a> {
    /// With a `CallToolResult`, `isError` or not.
    Result(&'a RawValue),
    /// With a JSON-RPC error.
    Error(&'a RawValue),
    /// It was cancelled or the server is gone; what it did is unknown.
    Unknown,
}
