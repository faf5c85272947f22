//! How each client reports the cases' calls to its hook, and interprets the answers.

use std::fs;

use interlock_clients::ClientId;
use interlock_simulate::{
    InputLine,
    cases::Case,
    input::{ResultLine, ToolLine},
};
use interlock_testkit::room::Room;
use serde_json::{Value, json};

/// A moment that a client reports to its hook.
pub(crate) enum Telling {
    /// A tool is about to be called.
    Before,
    /// It was called.
    After { ok: bool, exit: i64, text: String },
}

/// The input of a client's hook process.
pub(crate) struct Said {
    pub(crate) argument: Option<&'static str>,
    pub(crate) input: Value,
}

/// A row: the common tool, the client's own, and its arguments by the common ones.
type Row = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const CODEX: &[Row] = &[("Task", "spawn_agent", &[]), ("Agent", "spawn_agent", &[])];
const GEMINI: &[Row] = &[
    ("Bash", "run_shell_command", &[]),
    ("Edit", "replace", &[("replace_all", "allow_multiple")]),
    ("Write", "write_file", &[]),
    ("Read", "read_file", &[]),
    ("Grep", "grep_search", &[("path", "dir_path")]),
    ("Glob", "glob", &[("path", "dir_path")]),
    ("LS", "list_directory", &[("path", "dir_path")]),
    ("Task", "invoke_agent", &[]),
    ("Agent", "invoke_agent", &[]),
    ("WebFetch", "web_fetch", &[]),
    ("WebSearch", "google_web_search", &[]),
];
const COPILOT: &[Row] = &[
    ("Bash", "bash", &[]),
    (
        "Edit",
        "edit",
        &[
            ("file_path", "path"),
            ("old_string", "old_str"),
            ("new_string", "new_str"),
        ],
    ),
    (
        "Write",
        "create",
        &[("file_path", "path"), ("content", "file_text")],
    ),
    ("Read", "view", &[("file_path", "path")]),
    ("Grep", "grep", &[]),
    ("Glob", "glob", &[]),
    ("Task", "task", &[]),
    ("Agent", "task", &[]),
];
const CURSOR: &[Row] = &[
    ("Bash", "Shell", &[]),
    ("Edit", "StrReplace", &[("file_path", "path")]),
    ("Write", "Write", &[("content", "contents")]),
    ("Glob", "Glob", &[("pattern", "glob_pattern")]),
];
const OPENCODE: &[Row] = &[
    ("Bash", "bash", &[]),
    (
        "Edit",
        "edit",
        &[
            ("file_path", "filePath"),
            ("old_string", "oldString"),
            ("new_string", "newString"),
            ("replace_all", "replaceAll"),
        ],
    ),
    ("Write", "write", &[("file_path", "filePath")]),
    ("Read", "read", &[("file_path", "filePath")]),
    ("Grep", "grep", &[]),
    ("Glob", "glob", &[]),
    ("LS", "list", &[]),
    ("Task", "task", &[]),
    ("Agent", "task", &[]),
];

/// Codex's setting for a turn: without its own sandbox.
const TURN: &str =
    r#"{"type":"turn_context","payload":{"sandbox_policy":{"type":"danger-full-access"}}}"#;

/// How a client talks to its hook.
pub(crate) trait Speaks {
    /// Creates the files that the client would have in its room.
    fn prepare(self, room: &Room);
    /// Returns the variables that the client sets for its hooks.
    fn variables(self) -> &'static [(&'static str, &'static str)];
    /// Returns whether the client reports everything that a case is about.
    fn tells(self, workflow: &str, case: &Case) -> bool;
    /// Returns the arguments of a call in the client's form.
    fn plain(self, line: &ToolLine) -> Value;
    /// Returns the input of the hook.
    fn says(self, telling: &Telling, line: &ToolLine, room: &Room, call: &str) -> Said;
    /// Returns the arguments that the client is to run instead of the agent's.
    fn carried(self, answer: &Value) -> Option<Value>;
    /// Returns the verdict and its reason.
    fn verdict(self, answer: &Value) -> (&'static str, String);
}

impl Speaks for ClientId {
    fn prepare(self, room: &Room) {
        if self == Self::Codex {
            fs::write(room.path("rollout.jsonl"), format!("{TURN}\n")).unwrap();
        }
    }

    fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::ClaudeCode => &[],
            Self::Copilot => &[("SHELL", "/bin/bash"), ("COPILOT_ALLOW_ALL", "true")],
            _ => &[("SHELL", "/bin/bash")],
        }
    }

    fn tells(self, workflow: &str, case: &Case) -> bool {
        // Without `interlock exec`, there is no exit code, and no control of the environment.
        let carries = !matches!(self, Self::Gemini | Self::Cursor);
        let wants_it = ["evidence", "_env", "env:", "\"env\"", "env_overrides"];
        let fits = carries || !wants_it.iter().any(|word| workflow.contains(word));
        let names_agents = matches!(self, Self::ClaudeCode | Self::Codex);
        let has_agents = case
            .steps
            .iter()
            .any(|step| matches!(&step.line, InputLine::Tool(line) if line.agent.is_some()));
        fits && (names_agents || !has_agents)
            && failures(case).all(|(shell, result)| match self {
                Self::ClaudeCode | Self::Copilot | Self::Cursor => true,
                // They do not report a tool that threw an error.
                Self::Opencode => shell,
                // Nor the end of a line that is not rewritten, such as those in free states.
                Self::Codex => shell && !workflow.contains("interrupts:"),
                // It reports every line as a success.
                Self::Gemini => !shell && result.exit.is_none(),
            })
    }

    fn plain(self, line: &ToolLine) -> Value {
        renamed(self, line).1
    }

    fn says(self, telling: &Telling, line: &ToolLine, room: &Room, call: &str) -> Said {
        let (tool, input) = renamed(self, line);
        let before = matches!(telling, Telling::Before);
        let (ok, exit, text) = match telling {
            Telling::Before => (true, 0, String::new()),
            Telling::After { ok, exit, text } => (*ok && *exit == 0, *exit, text.clone()),
        };
        let shell = line.tool == "Bash";
        let cwd = room.project();
        let mut argument = None;
        let input = match self {
            Self::ClaudeCode => claude(&tool, &input, (before, ok, exit), &text, shell),
            Self::Codex => json!({
                "hook_event_name": if before { "PreToolUse" } else { "PostToolUse" },
                "permission_mode": "bypassPermissions",
                "transcript_path": room.path("rollout.jsonl"),
                "tool_name": tool, "tool_input": input, "tool_response": text,
            }),
            Self::Gemini => json!({
                "hook_event_name": if before { "BeforeTool" } else { "AfterTool" },
                "tool_name": tool, "tool_input": input,
                "tool_response": {
                    "llmContent": text,
                    "error": (!ok).then(|| json!({"message": "it failed"})),
                },
            }),
            Self::Copilot => {
                argument = Some(match (before, ok || shell) {
                    (true, _) => "preToolUse",
                    (false, true) => "postToolUse",
                    (false, false) => "postToolUseFailure",
                });
                json!({
                    "sessionId": "session", "toolName": tool, "toolArgs": input,
                    "toolResult": { "resultType": "success", "textResultForLlm": text },
                })
            }
            Self::Cursor => json!({
                "hook_event_name": match (before, ok) {
                    (true, _) => "preToolUse",
                    (false, true) => "postToolUse",
                    (false, false) => "postToolUseFailure",
                },
                "conversation_id": "session", "workspace_roots": [&cwd],
                "tool_name": tool, "tool_input": input, "tool_output": text,
            }),
            Self::Opencode => json!({
                "event": if before { "tool.execute.before" } else { "tool.execute.after" },
                "session": "session", "directory": &cwd, "call": call,
                "tool": tool, "args": input, "carries": true,
                "output": text, "metadata": { "exit": exit },
            }),
        };
        let mut input = input;
        if !matches!(self, Self::Opencode) {
            input["cwd"] = json!(cwd);
        }
        if matches!(self, Self::ClaudeCode | Self::Codex | Self::Gemini) {
            input["session_id"] = json!("session");
        }
        if !matches!(self, Self::Gemini | Self::Copilot | Self::Opencode) {
            input["tool_use_id"] = json!(call);
        }
        if let Some(agent) = &line.agent {
            input["agent_id"] = json!(agent);
        }
        Said { argument, input }
    }

    fn carried(self, answer: &Value) -> Option<Value> {
        let at = match self {
            Self::ClaudeCode | Self::Codex => "/hookSpecificOutput/updatedInput",
            Self::Gemini => "/hookSpecificOutput/tool_input",
            Self::Copilot => "/modifiedArgs",
            Self::Cursor => "/updated_input",
            Self::Opencode => "/args",
        };
        answer.pointer(at).cloned()
    }

    fn verdict(self, answer: &Value) -> (&'static str, String) {
        let (word, reason) = match self {
            Self::ClaudeCode | Self::Codex => (
                "/hookSpecificOutput/permissionDecision",
                "/hookSpecificOutput/permissionDecisionReason",
            ),
            Self::Gemini => ("/decision", "/reason"),
            Self::Copilot => ("/permissionDecision", "/permissionDecisionReason"),
            Self::Cursor => ("/permission", "/user_message"),
            Self::Opencode => ("/deny", "/deny"),
        };
        let text = |at: &str| answer.pointer(at).and_then(Value::as_str);
        let reason = text(reason).unwrap_or_default().to_owned();
        match text(word) {
            Some("ask") => ("ask", String::new()),
            // If no person answers the client, an ask becomes a denial that says so.
            Some(_) if reason.contains("`interlock approve ") => ("ask", String::new()),
            None | Some("allow") => ("allow", String::new()),
            Some(_) => ("deny", reason),
        }
    }
}

fn claude(
    tool: &str,
    input: &Value,
    (before, ok, exit): (bool, bool, i64),
    text: &str,
    shell: bool,
) -> Value {
    let mut said = json!({
        "hook_event_name": match (before, ok) {
            (true, _) => "PreToolUse",
            (false, true) => "PostToolUse",
            (false, false) => "PostToolUseFailure",
        },
        "permission_mode": "default", "tool_name": tool, "tool_input": input,
    });
    if ok && shell {
        said["tool_response"] =
            json!({ "stdout": text, "stderr": "", "interrupted": false, "isImage": false });
    } else if ok {
        said["tool_response"] = json!(text);
    } else if exit == 0 {
        said["error"] = json!("it failed");
    } else {
        said["error"] = json!(format!("Exit code {exit}"));
    }
    said
}

/// Lists the failed results of a case, and whether each is a shell's.
fn failures(case: &Case) -> impl Iterator<Item = (bool, &ResultLine)> {
    let mut shell = false;
    case.steps.iter().filter_map(move |step| match &step.line {
        InputLine::Tool(line) => {
            shell = line.tool == "Bash";
            None
        }
        InputLine::Result(line) if !line.ok || line.exit.is_some_and(|exit| exit != 0) => {
            Some((shell, line))
        }
        _ => None,
    })
}

/// Returns the client's own name of a tool, and the arguments under the client's names.
fn renamed(client: ClientId, line: &ToolLine) -> (String, Value) {
    let table = match client {
        ClientId::ClaudeCode => &[],
        ClientId::Codex => CODEX,
        ClientId::Gemini => GEMINI,
        ClientId::Copilot => COPILOT,
        ClientId::Cursor => CURSOR,
        ClientId::Opencode => OPENCODE,
    };
    let row = table.iter().find(|(common, ..)| *common == line.tool);
    let Some((_, own, fields)) = row else {
        return (line.tool.clone(), line.input.clone());
    };
    let Value::Object(arguments) = &line.input else {
        return ((*own).to_owned(), line.input.clone());
    };
    let arguments = arguments.iter().map(|(key, value)| {
        let row = fields.iter().find(|(common, _)| common == key);
        let key = row.map_or(key.as_str(), |(_, own)| own);
        (key.to_owned(), value.clone())
    });
    ((*own).to_owned(), Value::Object(arguments.collect()))
}
