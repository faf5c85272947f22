//! The bodies of requests and replies, from which the OpenAPI document is generated.

use std::collections::BTreeMap;

use interlock_core::{
    call::{CallResult, ToolCall, WrittenPath},
    command::{AGENT, Answer, CommandKind, LineEnd, LineStart, TransitionRequest},
    event::{ProbedCommand, ProtectedChange, TokenPlace, ToolChange},
    machine::Object,
    names::{AgentId, CallId, FramePath},
    substance::{Checked, FrozenChange},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::tokens::{Identity, Role};

/// Any JSON object.
type AnyObject = BTreeMap<String, Value>;

/// A run to start.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartBody {
    /// The workflow file. It is compiled by the server, and cannot refer to other files.
    pub(crate) workflow: WorkflowFile,
    /// The name of one workflow, if the file has several.
    #[serde(default)]
    pub(crate) select: Option<String>,
    /// The name of the run.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Keys that override the workflow's context.
    #[serde(default)]
    #[schemars(with = "AnyObject")]
    pub(crate) input: Object,
}

/// A workflow file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowFile {
    /// Its name: `fix.yaml`. A name that ends in `.json` is read as JSON.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// A command to a run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandBody {
    /// The command.
    pub(crate) command: WireCommand,
    /// The epoch of the run's carrier; any other one is refused.
    #[serde(default)]
    pub(crate) epoch: Option<u64>,
}

/// What a run is asked to do, or what is reported to it: an object with one key.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireCommand {
    /// Judge a tool call, given with the facts that its machine derived.
    Propose(#[schemars(with = "AnyObject")] Box<ToolCall>),
    /// Record the result of an allowed call.
    Record(#[schemars(with = "AnyObject")] CallResult),
    /// Record that an allowed shell line has started.
    #[serde(rename_all = "snake_case")]
    StartLine {
        /// The call that the line belongs to.
        #[schemars(with = "String")]
        call: CallId,
        /// How far the kernel confines it.
        level: String,
        /// Parts of the plan that the machine cannot enforce.
        #[serde(default)]
        not_held: Vec<String>,
    },
    /// Record the end of a shell line.
    EndLine {
        /// The call that the line belongs to.
        #[schemars(with = "String")]
        call: CallId,
        /// The frame that the line was judged in.
        #[serde(default)]
        #[schemars(with = "Vec<String>")]
        path: FramePath,
        /// The exit code, if it is known.
        #[serde(default)]
        exit: Option<i64>,
        /// The paths that the line was seen to write.
        #[serde(default)]
        #[schemars(with = "Vec<AnyObject>")]
        wrote: Vec<WrittenPath>,
        /// How each command of the line ended.
        #[serde(default)]
        #[schemars(with = "Vec<AnyObject>")]
        commands: Vec<ProbedCommand>,
        /// Whether it may have written more than `wrote`.
        #[serde(default)]
        unseen: bool,
        /// What else was checked.
        #[serde(default)]
        #[schemars(with = "AnyObject")]
        checked: Checked,
    },
    /// Take the transition that an event leads to.
    Transition {
        /// The event.
        event: String,
        /// Data merged into the context if the transition is taken.
        #[serde(default)]
        #[schemars(with = "AnyObject")]
        data: Object,
        /// The branch that should take it.
        #[serde(default)]
        branch: Option<String>,
        /// The sub-agent that asks.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        agent: Option<AgentId>,
    },
    /// Release the branch of a sub-agent that has stopped.
    ReleaseAgent {
        /// The sub-agent.
        #[schemars(with = "String")]
        agent: AgentId,
    },
    /// Ask whether the agent may finish here.
    Finish {},
    /// Report files that changed without a call that changed them.
    ReportFiles {
        /// Some of the files, relative to the project.
        files: Vec<String>,
        /// The call before which they changed.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        before: Option<CallId>,
    },
    /// Report the current differences of frozen files.
    ReportFrozen {
        /// The differences.
        #[schemars(with = "Vec<AnyObject>")]
        changes: Vec<FrozenChange>,
    },
    /// Report protected things that changed without a person's consent.
    ReportProtected {
        /// The changes.
        #[schemars(with = "Vec<AnyObject>")]
        changes: Vec<ProtectedChange>,
    },
    /// Report that a person's token was seen where the agent reads or writes.
    ReportToken {
        /// The place.
        #[schemars(with = "String")]
        place: TokenPlace,
    },
    /// Report a server tool that differs from when the run first saw it.
    ReportTool(#[schemars(with = "AnyObject")] ToolChange),
    /// Pause the run.
    Pause {
        /// The reason.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Resume the run, for a person.
    Resume {
        /// The changes of protected things that the person has seen and accepts: `changed` of the run.
        #[serde(default)]
        #[schemars(with = "Vec<AnyObject>")]
        changes: Vec<ProtectedChange>,
    },
    /// Cancel the run, for a person.
    Cancel {},
}

impl WireCommand {
    /// Returns why the role may not send this; `None`: it may.
    pub(crate) fn refusal(&self, role: Role) -> Option<&'static str> {
        match self {
            Self::Transition { .. } | Self::Pause { .. } => None,
            Self::Resume { .. } | Self::Cancel {} => {
                role.drives().then_some("only a person resumes and cancels")
            }
            _ => {
                let is_person = role == Role::Person;
                is_person.then_some("only the token of an agent or a worker reports its calls")
            }
        }
    }

    /// Returns whether the sender does work of the run with it, which other people approve.
    pub(crate) fn drives(&self, role: Role) -> bool {
        role.drives() || matches!(self, Self::Transition { .. })
    }

    /// Returns whether a person approves something with it.
    pub(crate) fn accepts(&self) -> bool {
        matches!(self, Self::Resume { changes } if !changes.is_empty())
    }

    /// Returns the command as sent by `identity`.
    ///
    /// INVARIANT: the name in it is the token's, and nothing in it answers a request.
    pub(crate) fn kind(&self, identity: &Identity) -> CommandKind {
        let by = match identity.role {
            Role::Person => identity.subject.clone(),
            Role::Agent | Role::Worker => AGENT.to_owned(),
        };
        match self.clone() {
            Self::Propose(mut call) => {
                // The machine of an agent cannot tell whether a person has agreed in the client's prompt.
                call.prompts_in = None;
                CommandKind::Propose(call)
            }
            Self::Record(result) => CommandKind::Record(result),
            Self::StartLine {
                call,
                level,
                not_held,
            } => CommandKind::StartLine(LineStart {
                call,
                level,
                not_held,
            }),
            Self::EndLine {
                call,
                path,
                exit,
                wrote,
                commands,
                unseen,
                checked,
            } => CommandKind::EndLine(LineEnd {
                call,
                path,
                exit,
                wrote,
                commands,
                unseen,
                checked,
            }),
            Self::Transition {
                event,
                data,
                branch,
                agent,
            } => CommandKind::Transition(TransitionRequest {
                event,
                data,
                branch,
                agent: agent.filter(|_| identity.role.drives()),
                by,
                approved_by: None,
            }),
            Self::ReleaseAgent { agent } => CommandKind::ReleaseAgent { agent },
            Self::Finish {} => CommandKind::Finish,
            Self::ReportFiles { files, before } => CommandKind::ReportFiles { files, before },
            Self::ReportFrozen { changes } => CommandKind::ReportFrozen { changes },
            Self::ReportProtected { changes } => CommandKind::ReportProtected { changes },
            Self::ReportToken { place } => CommandKind::ReportToken { place },
            Self::ReportTool(change) => CommandKind::ReportTool(change),
            Self::Pause { reason } => CommandKind::Pause { by, reason },
            Self::Resume { changes } => CommandKind::Resume {
                by,
                seen: Some(changes),
            },
            Self::Cancel {} => CommandKind::Cancel { by },
        }
    }
}

/// A person's answer to a request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    /// The id of the request.
    pub(crate) request: String,
    /// Whether it is approved.
    pub(crate) yes: bool,
    /// The number of events that the person has seen: `seq` of the run. A later request is not answered.
    pub(crate) seen: u64,
    /// A note for the agent.
    #[serde(default)]
    pub(crate) note: Option<String>,
    /// Corrections to the data of the transition.
    #[serde(default)]
    #[schemars(with = "AnyObject")]
    pub(crate) data: Object,
}

impl AnswerBody {
    /// Returns the command as sent by `by`.
    pub(crate) fn kind(&self, by: &str) -> CommandKind {
        let answer = Answer {
            by: by.to_owned(),
            data: self.data.clone(),
            note: self.note.clone(),
            path: Some(self.request.clone()),
            before: Some(self.seen),
            ..Answer::default()
        };
        if self.yes {
            CommandKind::Approve(answer)
        } else {
            CommandKind::Reject(answer)
        }
    }
}

/// A run that was started.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Started {
    /// Its id.
    pub(crate) run: String,
    /// The id of its workflow.
    pub(crate) workflow: String,
    /// The number of its events.
    pub(crate) seq: u64,
    /// The states that it is in.
    pub(crate) state: Value,
    /// Whether it is `running`, `awaiting_approval` or anything else.
    pub(crate) status: String,
}

/// How a run has answered a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// It is done, or the call may run.
    Accepted,
    /// The transition waits for a person.
    Pending,
    /// The call waits for a person.
    Ask,
    /// It was refused.
    Refused,
}

/// The answer of a run to a command. The same command with the same key gets the same answer, byte for byte.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Decided {
    /// The id of the run.
    pub(crate) run: String,
    /// How the run has answered.
    pub(crate) verdict: Verdict,
    /// The code of the refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// A sentence for the agent or the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The id of the request that waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<String>,
    /// The frame that was addressed.
    pub(crate) path: Vec<String>,
    /// The number of events before the command.
    pub(crate) from: u64,
    /// The number of events after it.
    pub(crate) seq: u64,
    /// The time at which it was decided, by the clock of the database.
    pub(crate) at_ms: u64,
}

/// A page of runs, the newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct RunPage {
    /// The runs.
    pub(crate) runs: Vec<RunLine>,
    /// The id for `before` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// A run in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct RunLine {
    /// Its id.
    pub(crate) run: String,
    /// The id of its workflow.
    pub(crate) workflow: String,
    /// Its name.
    pub(crate) name: Option<String>,
    /// Who started it through this server.
    pub(crate) started_by: Option<String>,
    /// The number of its events.
    pub(crate) seq: u64,
    /// When it was created, in milliseconds since 1970.
    pub(crate) created_ms: u64,
    /// When its last event was recorded, in milliseconds since 1970.
    pub(crate) last_ms: u64,
}

/// A run, and what waits for a person in it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct RunView {
    /// Its id.
    pub(crate) run: String,
    /// The id of its workflow.
    pub(crate) workflow: String,
    /// Its name.
    pub(crate) name: Option<String>,
    /// Who started it.
    pub(crate) started_by: Option<String>,
    /// The number of its events.
    pub(crate) seq: u64,
    /// The hash of its last event.
    pub(crate) hash: String,
    /// The epoch of its carrier.
    pub(crate) epoch: u64,
    /// State, status, context, tools, events and limits, as `interlock status --json` has them.
    pub(crate) report: Value,
    /// The requests that wait for a person.
    pub(crate) requests: Vec<Value>,
    /// Changes of protected things that no person has accepted.
    pub(crate) changed: Vec<Value>,
}

/// Events of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct EventPage {
    /// The events, in order.
    pub(crate) events: Vec<EventLine>,
    /// The number for `from` of the next request.
    pub(crate) next: u64,
}

/// An event as recorded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct EventLine {
    /// Its number, from 0.
    pub(crate) seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// Its hash, which covers the previous one.
    pub(crate) hash: String,
    /// The event, with exactly the bytes that its hash covers.
    #[schemars(with = "AnyObject")]
    pub(crate) event: Box<RawValue>,
}

/// The state of the server.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct Health {
    /// Always `true`; a server that cannot answer sends an error.
    pub(crate) ok: bool,
}

/// Any error.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// The error.
    pub(crate) error: ErrorLine,
}

/// An error.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ErrorLine {
    /// A stable code.
    pub(crate) code: String,
    /// One sentence, with what to do.
    pub(crate) message: String,
}
