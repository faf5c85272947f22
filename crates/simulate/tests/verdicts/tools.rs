//! The tools of every client: how each is classified, and the facts of its arguments.

use std::{collections::BTreeSet, fmt::Write as _};

use interlock_clients::{ClientId, control_tool, plain_call, tool};
use interlock_core::names::CallId;
use interlock_facts::{Proposal, facts};
use serde_json::{Map, Value, json};

use crate::verdicts::places;

/// Names of tools: those of clients, some of servers, and some that look similar.
const NAMES: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Delete",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "ListDir",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadFile",
    "SendMessage",
    "Shell",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "Write",
    "apply_patch",
    "bash",
    "close_agent",
    "codebase_search",
    "create",
    "create_file",
    "delete",
    "delete_file",
    "edit",
    "edit_file",
    "exec_command",
    "file_search",
    "glob",
    "google_web_search",
    "grep",
    "grep_search",
    "interlock_get_state",
    "interlock_pause",
    "interlock_start",
    "interlock_transition",
    "list",
    "list_dir",
    "list_directory",
    "local_shell",
    "ls",
    "mcp__fs__write_file",
    "mcp__interlock__interlock_transition",
    "mcp_interlock_interlock_start",
    "multiedit",
    "notebook_edit",
    "patch",
    "powershell",
    "read",
    "read_bash",
    "read_file",
    "read_many_files",
    "replace",
    "report_intent",
    "run_in_background",
    "run_shell_command",
    "run_terminal_cmd",
    "save_memory",
    "search_file_content",
    "search_replace",
    "send_input",
    "shell",
    "skill",
    "spawn_agent",
    "stop_bash",
    "str_replace",
    "str_replace_editor",
    "task",
    "todowrite",
    "unified_exec",
    "update_plan",
    "view",
    "view_image",
    "wait",
    "web_fetch",
    "web_search",
    "webfetch",
    "websearch",
    "write",
    "write_bash",
    "write_file",
    "write_stdin",
    "rEAD",
    "Read ",
    "read\u{200b}",
    "nothing_known",
];

/// Arguments of tools, one key each.
fn keys() -> Vec<(&'static str, Value)> {
    let patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n+z\n*** Delete File: f.txt\n*** Add File: n.txt\n+1\n*** End Patch\n";
    vec![
        ("file_path", json!("src/a.py")),
        ("filePath", json!("src/a.py")),
        ("path", json!("../project/docs/spec.md")),
        ("absolute_path", json!("/project/f.txt")),
        ("target_file", json!("~/.bashrc")),
        ("notebook_path", json!("n.ipynb")),
        ("dir_path", json!("src")),
        ("paths", json!(["src/a.py", "/etc/passwd"])),
        ("old_string", json!("x")),
        ("oldString", json!("x")),
        ("old_str", json!("x\nkeep")),
        ("new_string", json!("y\nz")),
        ("newString", json!("y\nz")),
        ("new_str", json!("y\nz\n")),
        ("replace_all", json!(true)),
        ("replaceAll", json!(true)),
        (
            "edits",
            json!([{"old_string": "x", "new_string": "1\n2"}, {"oldString": "keep", "newString": ""}]),
        ),
        ("content", json!("a\nb\nc")),
        ("contents", json!("a")),
        ("file_text", json!("a\nb")),
        ("new_source", json!("a")),
        ("command", json!("cat f.txt > g.txt; rm -r src")),
        ("cmd", json!(["bash", "-lc", "touch a"])),
        ("input", json!(patch)),
        ("patch", json!(patch)),
        ("patchText", json!(patch)),
        ("workdir", json!("src")),
        ("directory", json!("/tmp")),
        ("working_directory", json!("src")),
        ("pattern", json!("**/*.py")),
        ("glob", json!("*.rs")),
        ("query", json!("x")),
        ("url", json!("https://example.com/a")),
        ("prompt", json!("do it")),
        ("event", json!("NEXT")),
        ("branch", json!("left")),
        ("env", json!({"PATH": "./bin"})),
        ("run_in_background", json!(true)),
    ]
}

/// Returns the findings of every tool of every client, by name.
pub(crate) fn found() -> Vec<(String, String)> {
    let whole: Map<String, Value> = keys()
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    let mut inputs = vec![
        Value::Object(whole.clone()),
        json!({}),
        json!("ls > a"),
        json!(null),
    ];
    // Each key alone, and each with a value of another type.
    for (number, (key, value)) in keys().into_iter().enumerate() {
        inputs.push(json!({ key: value }));
        let mut odd = whole.clone();
        let other = if number % 2 == 0 {
            json!(7)
        } else {
            json!(["a"])
        };
        odd.insert(key.to_owned(), other);
        inputs.push(Value::Object(odd));
    }
    let mut all = Vec::new();
    let mut kinds = BTreeSet::new();
    for (word, client) in ClientId::ALL {
        for name in NAMES {
            // Of names that are classified alike, only one gets all arguments.
            let kind = format!("{:?}", tool(client, name));
            let given = if kinds.insert(kind) { inputs.len() } else { 2 };
            let given = inputs.iter().take(given);
            all.push((format!("{word} {name}"), seen(client, name, given)));
        }
    }
    all
}

fn seen<'v>(client: ClientId, name: &str, inputs: impl Iterator<Item = &'v Value>) -> String {
    let (disk, context) = (places::disk(), places::plain());
    let context = context.resolved(&disk);
    let mut text = format!(
        "{:?} {:?}\n",
        tool(client, name),
        control_tool(client, name)
    );
    let mut last = String::new();
    for input in inputs {
        let plain = plain_call(client, name, input);
        let (name, known, input) = match &plain {
            Ok(plain) => (&*plain.name, plain.tool, &*plain.input),
            Err(why) => {
                writeln!(text, "{why}").unwrap();
                continue;
            }
        };
        let proposal = Proposal {
            id: CallId::new("c"),
            tool: name,
            common: known.common,
            shape: known.shape,
            input,
            doubled: None,
            agent: None,
            branch: None,
        };
        let call = facts(proposal, &context, &disk);
        let now = format!("{:?} {:?} {:?}", call.kind, call.facts, call.branch);
        // A repeated result is left out.
        if now != last {
            writeln!(text, "{} {} {now}", call.tool, call.summary).unwrap();
            last = now;
        }
    }
    text
}
