//! A proposed tool call, as the engine sees it.

use interlock_tool_names::SHELL;
use serde::{Deserialize, Serialize};

use crate::{
    facts::ShellFacts,
    names::{AgentId, CallId, Digest},
    parts::ProbedCommand,
    policy::{CommandEntry, Policy},
    substance::Checked,
};

/// A tool call an agent proposes, with the facts a verdict needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the run.
    pub id: CallId,
    /// The client's own name of the tool.
    pub tool: String,
    /// The common name of the same tool, when it has another.
    pub common: Option<String>,
    /// Further names that rules may mean it by, for a tool of a server behind the gateway.
    ///
    /// Taken as they are: such a tool is never meant by another tool's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served_as: Vec<String>,
    /// Whether its client has no tool of this name, though another client has one.
    ///
    /// Such a call passes and proves by its own name alone, and is forbidden by every name of that tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// What kind of tool it is.
    pub kind: CallKind,
    /// Digest of the tool's name and arguments.
    pub digest: Digest,
    /// The arguments in one line, for people.
    pub summary: String,
    /// The sub-agent that proposes it; `None`: the main agent.
    pub agent: Option<AgentId>,
    /// The branch the call names.
    pub branch: Option<String>,
    /// The session whose person is asked in the client's own prompt, should it need a person's yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_in: Option<String>,
    /// What it would do.
    pub facts: CallFacts,
}

impl ToolCall {
    /// Returns the names by which it may be listed, and by which it is evidence.
    #[must_use]
    pub fn listed_names(&self) -> Vec<&str> {
        if self.foreign {
            return vec![self.tool.as_str()];
        }
        self.names()
    }

    /// Returns the names by which it may be disallowed.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = vec![self.tool.as_str()];
        names.extend(self.common.as_deref().filter(|name| *name != self.tool));
        names.extend(self.served_as.iter().map(String::as_str));
        names
    }

    /// Tells whether `policy` lists the tool, or everything it does by the names of other tools.
    ///
    /// Where it lists nothing at all, every tool passes.
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

    /// Tells whether `policy` disallows the tool, or anything it does.
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

/// What kind of tool a call is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// One of Interlock's own tools.
    Control(ControlTool),
    /// The client's tool that starts a sub-agent.
    SubAgent,
    /// Only manages the conversation: asks the person, keeps lists, finds tools.
    Conversation,
    /// A shell.
    Shell,
    /// Writes files by itself.
    Edit,
    /// Anything else.
    Other,
}

/// One of the tools an agent controls its run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlTool {
    /// Reports where the run stands.
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

/// What a call would do, as far as it can be known before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    /// The protected thing it touches, in words.
    pub protected: Option<String>,
    /// Why its arguments cannot be judged; such a call is denied.
    pub malformed: Option<String>,
    /// The file it would write where its tool may not go, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// Why nothing would hold what it starts to the run, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unheld: Option<String>,
    /// Paths it reads, relative to the project root where inside it.
    pub reads: Vec<String>,
    /// Every path it writes, by tool or by shell.
    pub writes: Vec<FileWrite>,
    /// Common names of the tools it does the work of: a patch edits, writes and deletes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Lines touched by the operation: the larger of lines removed and added.
    pub edit_lines: Option<u64>,
    /// Whether its tool does nothing but read files of this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_reads: bool,
    /// What its shell line would do.
    pub shell: Option<ShellFacts>,
    /// Directories a shell line changes to that lie outside the project, as written.
    pub outside_directories: Vec<String>,
    /// Indices of commands of the line that run outside the project, or nobody knows where.
    pub strayed: Vec<usize>,
    /// Where each command of the line runs, relative to the project root, links resolved; `""`: at the root.
    ///
    /// `None`: outside the project, or nobody knows where.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<Option<String>>,
    /// Entries of the person's configuration for commands of class privilege and system.
    pub allowed_by_person: Vec<CommandEntry>,
    /// Whether the line will run where blocked variables do not exist.
    pub environment_held: bool,
    /// Whether it will run where the kernel refuses every write that its state does not allow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kernel_holds: bool,
}

/// One path a call writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWrite {
    /// The normalised absolute path, links resolved; `None`: not known.
    pub path: Option<String>,
    /// The same relative to the project root; `None`: not inside it.
    pub relative: Option<String>,
    /// Where it lies.
    pub place: PathArea,
    /// What writes it: the tool, or the command or redirection of a shell line.
    pub by: String,
    /// Whether it is removed or moved away.
    pub removes: bool,
    /// Whether everything below it is meant.
    pub recursive: bool,
    /// Lines touched, when known.
    pub lines: Option<u64>,
    /// What the disk says of it before the call, where a later look can be compared with it.
    pub before: Option<String>,
}

/// Where a written path lies.
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
    /// Not known.
    Unknown,
}

/// What became of an allowed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// Which call; `None`: the last allowed one.
    pub id: Option<CallId>,
    /// Whether it succeeded.
    pub ok: bool,
    /// The exit code of a shell line, when known for sure.
    pub exit: Option<i64>,
    /// Bytes of the result.
    pub bytes: u64,
    /// Paths it was seen to write, beyond those its facts named.
    pub wrote: Vec<WrittenPath>,
    /// How commands of a shell line were seen to end, each by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<ProbedCommand>,
    /// What else was seen of a shell line, where a guard asks for it.
    #[serde(default, skip_serializing_if = "Checked::is_nothing")]
    pub checked: Checked,
}

/// A path that a call was seen to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenPath {
    /// The normalised absolute path.
    pub path: String,
    /// The same relative to the project root; `None`: not inside it.
    pub relative: Option<String>,
}
