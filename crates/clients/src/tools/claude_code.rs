//! The tools of Claude Code.

use interlock_facts::{EditFields, Shape};

use super::rows::{
    BASH, CODE, CONVERSATION, EDIT, ELSE, FOREIGN, GLOB, GREP, OF_SERVERS, PATCH, REMOTE, Row,
    SKILL, WEB, WRITE, offered, other,
};

/// The tools, grouped by their abilities.
pub(super) const ROWS: &[Row] = &[
    // Shells. `Monitor` watches a line, or an address that is not one.
    offered("Bash", BASH),
    offered("Monitor", BASH),
    other("PowerShell", FOREIGN),
    // Files.
    offered("Edit", EDIT),
    offered("Write", WRITE),
    other(
        "MultiEdit",
        Shape::MultiEdit {
            path: "file_path",
            edits: "edits",
            fields: EditFields::SNAKE,
        },
    ),
    offered(
        "NotebookEdit",
        Shape::Notebook {
            path: "notebook_path",
        },
    ),
    other("apply_patch", PATCH),
    offered(
        "Read",
        Shape::Read {
            paths: &["file_path"],
        },
    ),
    other(
        "NotebookRead",
        Shape::Read {
            paths: &["notebook_path"],
        },
    ),
    other("Grep", GREP),
    other("Glob", GLOB),
    other("LS", Shape::Read { paths: &["path"] }),
    other("LSP", ELSE),
    other("SendUserFile", ELSE),
    // The web, and servers.
    offered("WebFetch", WEB),
    offered("WebSearch", WEB),
    other("ListMcpResourcesTool", OF_SERVERS),
    other("ReadMcpResourceTool", OF_SERVERS),
    other("ReadMcpResourceDirTool", OF_SERVERS),
    // Sub-agents: their calls come to the hooks of this session.
    offered("Agent", Shape::SubAgent),
    other("Task", Shape::SubAgent),
    offered("Workflow", Shape::Script { text: "script" }),
    offered("SendMessage", Shape::Message { to: "to" }),
    // Prompts that this session receives later.
    offered("ScheduleWakeup", Shape::Prompt { text: "prompt" }),
    offered("CronCreate", Shape::Prompt { text: "prompt" }),
    // Worktrees of the same repository, and the way back.
    offered("EnterWorktree", ELSE),
    offered("ExitWorktree", ELSE),
    // Tools whose effects nothing confines.
    offered("Skill", SKILL),
    other("SlashCommand", SKILL),
    other("REPL", CODE),
    other("RemoteTrigger", REMOTE),
    other("SendToProject", REMOTE),
    // The conversation.
    offered("ToolSearch", CONVERSATION),
    offered("DeferredToolPlaceholder", CONVERSATION),
    offered("CronList", CONVERSATION),
    offered("CronDelete", CONVERSATION),
    offered("ListAgents", CONVERSATION),
    offered("ReportFindings", CONVERSATION),
    offered("TaskCreate", CONVERSATION),
    offered("TaskGet", CONVERSATION),
    offered("TaskList", CONVERSATION),
    offered("TaskUpdate", CONVERSATION),
    offered("TaskOutput", CONVERSATION),
    offered("TaskStop", CONVERSATION),
    other("GetTask", CONVERSATION),
    other("BashOutput", CONVERSATION),
    other("KillBash", CONVERSATION),
    other("KillShell", CONVERSATION),
    other("Yield", CONVERSATION),
    other("TodoWrite", CONVERSATION),
    other("TodoRead", CONVERSATION),
    other("AskUserQuestion", CONVERSATION),
    other("EnterPlanMode", CONVERSATION),
    other("ExitPlanMode", CONVERSATION),
    other("SendUserMessage", CONVERSATION),
    other("PushNotification", CONVERSATION),
    other("GetGoal", CONVERSATION),
    other("SetGoal", CONVERSATION),
    other("PauseGoal", CONVERSATION),
    other("StructuredOutput", CONVERSATION),
    other("SubagentHandback", CONVERSATION),
    other("WrapUp", CONVERSATION),
    other("EndConversation", CONVERSATION),
    other("WaitForMcpServers", CONVERSATION),
];
