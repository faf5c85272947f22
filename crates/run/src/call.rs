//! A proposed tool call, as the engine receives it.

use interlock_tool_names::SHELL;
use serde::{Deserialize, Serialize};

use crate::{
    facts::ShellFacts,
    names::{AgentId, CallId, Digest},
    parts::ProbedCommand,
    policy::{CommandEntry, Policy},
    substance::Checked,
};

/// A tool call that an agent proposes, with the facts needed for a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id of the call, unique within the run.
    pub id: CallId,
    /// Name of the tool in the client.
    pub tool: String,
    /// Common name of the tool, if it differs.
    pub common: Option<String>,
    /// Further names that rules can use, for a tool of a server behind the gateway.
    ///
    /// Matched exactly: such a tool is never matched by another tool's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served_as: Vec<String>,
    /// Whether the client has no tool of this name although another client does.
    ///
    /// Such a call is allowed and counts as evidence by its own name only, and is forbidden by every name of that tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Kind of the tool.
    pub kind: CallKind,
    /// Digest of the tool's name and arguments.
    pub digest: Digest,
    /// The arguments as one line, for people.
    pub summary: String,
    /// Sub-agent that proposes the call; `None`: the main agent.
    pub agent: Option<AgentId>,
    /// Branch that the call names.
    pub branch: Option<String>,
    /// Session whose person is asked in the client's own prompt if the call needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_in: Option<String>,
    /// What the call would do.
    pub facts: CallFacts,
}

impl ToolCall {
    /// Returns the names by which the call can be listed and counts as evidence.
    #[must_use]
    pub fn listed_names(&self) -> Vec<&str> {
        if self.foreign {
            return vec![self.tool.as_str()];
        }
        self.names()
    }

    /// Returns the names by which the call can be disallowed.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = vec![self.tool.as_str()];
        names.extend(self.common.as_deref().filter(|name| *name != self.tool));
        names.extend(self.served_as.iter().map(String::as_str));
        names
    }

    /// Returns whether `policy` lists the tool, or the other tools whose work it does.
    ///
    /// An empty list allows every tool.
    #[must_use]
    pub fn is_listed(&self, policy: &Policy) -> bool {
        if self.foreign || !self.served_as.is_empty() {
            return policy.lists_as_written(&self.listed_names());
        }
        let parts = &self.facts.parts;
        let by_parts =
            || !parts.is_empty() && parts.iter().all(|part| policy.lists(&[part.as_str()]));
        policy.lists(&self.listed_names()) || by_parts()
    }

    /// Returns whether `policy` disallows the tool or a tool whose work it does.
    #[must_use]
    pub fn is_disallowed(&self, policy: &Policy) -> bool {
        let parts = &self.facts.parts;
        // A client's shell is one by any name; a server's tool is meant by its own alone.
        let is_shell = self.kind == CallKind::Shell
            && self.served_as.is_empty()
            && !self
                .names()
                .iter()
                .any(|name| name.to_ascii_lowercase().starts_with("mcp"));
        policy.disallows(&self.names())
            || is_shell && policy.disallows(&[SHELL])
            || parts.iter().any(|part| policy.disallows(&[part.as_str()]))
    }
}

/// Kind of the tool that a call uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// One of Interlock's own tools.
    Control(ControlTool),
    /// The client's tool that starts a sub-agent.
    SubAgent,
    /// Manages the conversation only: asks the person, keeps lists, finds tools.
    Conversation,
    /// A shell.
    Shell,
    /// Writes files by itself.
    Edit,
    /// Anything else.
    Other,
}

/// A tool with which an agent controls its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlTool {
    /// Reports the state of the run.
    GetState,
    /// Asks for a transition.
    Transition,
    /// Lists the workflows.
    ListWorkflows,
    /// Starts a run.
    Start,
    /// Pauses the run.
    Pause,
    /// Writes a draft workflow.
    CreateWorkflow,
}

/// What a call would do, as far as is known before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    /// Description of the protected thing that the call touches.
    pub protected: Option<String>,
    /// Why the arguments cannot be judged; such a call is denied.
    pub malformed: Option<String>,
    /// Description of the file that the call would write outside its allowed places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// Why a process that the call starts would not be confined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unheld: Option<String>,
    /// Paths that the call reads, relative to the project root if inside it.
    pub reads: Vec<String>,
    /// All paths that the call writes.
    pub writes: Vec<FileWrite>,
    /// Common names of the tools whose work the call does: a patch edits, writes and deletes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Lines touched by the operation: the larger of lines removed and added.
    pub edit_lines: Option<u64>,
    /// Whether the tool only reads files of this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_reads: bool,
    /// What the shell line would do.
    pub shell: Option<ShellFacts>,
    /// Directories outside the project that a shell line changes to, as written.
    pub outside_directories: Vec<String>,
    /// Indices of commands that run outside the project or in an unknown directory.
    pub strayed: Vec<usize>,
    /// Directory that each command runs in, relative to the project root, links resolved; `""`: the root.
    ///
    /// `None`: outside the project, or unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<Option<String>>,
    /// Entries of the person's configuration for privileged and system commands.
    pub allowed_by_person: Vec<CommandEntry>,
    /// Whether the line will run without blocked variables.
    pub environment_held: bool,
    /// Whether the kernel will refuse every write that the state does not allow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kernel_holds: bool,
}

/// A path that a call writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWrite {
    /// Normalised absolute path, links resolved; `None`: unknown.
    pub path: Option<String>,
    /// Path relative to the project root; `None`: outside it.
    pub relative: Option<String>,
    /// Area that the path lies in.
    pub place: PathArea,
    /// What writes the path: the tool, or a command or redirection of a shell line.
    pub by: String,
    /// Whether the path is removed or moved away.
    pub removes: bool,
    /// Whether everything below the path is included.
    pub recursive: bool,
    /// Number of lines touched, if known.
    pub lines: Option<u64>,
    /// State on disk before the call, to compare with later.
    pub before: Option<String>,
}

/// Area that a written path lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathArea {
    /// Inside the project.
    Project,
    /// A temporary or cache directory.
    Scratch,
    /// Anywhere else.
    Outside,
    /// The project root, one of its parents, `.git`, home or `/` as a whole.
    Whole,
    /// Unknown.
    Unknown,
}

/// Result of an allowed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// Id of the call; `None`: the last allowed one.
    pub id: Option<CallId>,
    /// Whether it succeeded.
    pub ok: bool,
    /// Exit code of a shell line, if known for certain.
    pub exit: Option<i64>,
    /// Size of the result in bytes.
    pub bytes: u64,
    /// Paths that the call was seen to write, beyond those in its facts.
    pub wrote: Vec<WrittenPath>,
    /// How each command of a shell line was seen to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<ProbedCommand>,
    /// What else was checked of a shell line because a guard asks for it.
    #[serde(default, skip_serializing_if = "Checked::is_nothing")]
    pub checked: Checked,
}

/// A path that a call was seen to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenPath {
    /// Normalised absolute path.
    pub path: String,
    /// Path relative to the project root; `None`: outside it.
    pub relative: Option<String>,
}
