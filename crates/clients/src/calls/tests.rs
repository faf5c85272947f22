use interlock_core::{
    names::{FramePath, RunId},
    run::ShellLine,
};
use serde_json::json;

use super::*;
use crate::{ClientId, input::Event};

/// The program that carries lines.
const PROGRAM: &str = "/opt/interlock";

/// Reads the end of a call as Gemini CLI, which gives calls no ids, or Claude Code tells it.
fn told(client: ClientId, tool: &str, arguments: &Value) -> (Input, ToolUse) {
    let event = match client {
        ClientId::Gemini => "AfterTool",
        _ => "PostToolUse",
    };
    let told = json!({
        "session_id": "s", "cwd": "/p", "hook_event_name": event, "tool_name": tool,
        "tool_use_id": "t1", "tool_input": arguments, "tool_response": "x",
    });
    let input = crate::read(client, told.to_string().as_bytes(), None);
    let input = input.unwrap_or_else(|why| unreachable!("{why}"));
    let Event::AfterTool { tool, .. } = input.event.clone() else {
        unreachable!("{:?}", input.event)
    };
    (input, tool)
}

/// Returns a call that is open under `id`, of the tool and the arguments that it was proposed with.
fn open(id: &str, (input, used): &(Input, ToolUse)) -> OpenCall {
    let digest = as_proposed(input, used, None).unwrap_or_default();
    OpenCall {
        id: CallId::new(id),
        path: FramePath::root(),
        entered_seq: 0,
        begun_seq: 0,
        asked: false,
        digest,
        marks: Default::default(),
        line: None,
        told: false,
        assumed: false,
        overlapped: false,
    }
}

/// Returns which of the `calls` has ended.
fn which(calls: &[OpenCall], (input, used): &(Input, ToolUse)) -> Option<String> {
    let mut run = Run::new(RunId::new("r"));
    run.calls = calls.iter().cloned().collect();
    let program = Some(Path::new(PROGRAM));
    ended(&run, input, used, program).map(|id| id.to_string())
}

fn read(path: &str) -> (Input, ToolUse) {
    told(ClientId::Gemini, "read_file", &json!({ "file_path": path }))
}

fn line(line: &str) -> (Input, ToolUse) {
    let arguments = json!({ "command": line });
    told(ClientId::Gemini, "run_shell_command", &arguments)
}

#[test]
fn the_end_of_a_call_without_an_id_is_that_of_the_oldest_open_one_with_its_arguments() {
    let calls = [
        open("hook-1-9", &read("a")),
        open("hook-2-9", &read("b")),
        open("hook-3-9", &read("b")),
    ];
    let of_b = Some("hook-2-9".to_owned());
    assert_eq!(which(&calls, &read("b")), of_b);
    assert_eq!(which(&calls, &read("c")), None);
    let next = Some("hook-3-9".to_owned());
    let change = |change: fn(&mut OpenCall)| {
        let mut calls = calls.clone();
        change(&mut calls[1]);
        which(&calls, &read("b"))
    };
    assert_eq!(
        change(|call| call.asked = true),
        next,
        "it waits for a person"
    );
    assert_eq!(change(|call| call.told = true), next, "its end was told");
    assert_eq!(
        change(|call| call.id = CallId::new("toolu_2")),
        next,
        "the client has an id for it"
    );
    assert_eq!(
        change(|call| call.id = CallId::new("hook-2-9@helper")),
        next,
        "it is a sub-agent's"
    );
}

#[test]
fn the_end_of_a_sub_agents_call_is_of_one_of_its_own() {
    let mut of_helper = read("a");
    of_helper.0.agent = Some(AgentId::new("helper"));
    let calls = [
        open("hook-1-9", &read("a")),
        open("hook-2-9@other", &read("a")),
        open("hook-3-9@helper", &read("a")),
    ];
    assert_eq!(
        which(&calls, &of_helper),
        Some("hook-3-9@helper".to_owned())
    );
    assert_eq!(which(&calls, &read("a")), Some("hook-1-9".to_owned()));
}

#[test]
fn a_call_without_an_id_gets_one_of_its_own_moment_process_and_agent() {
    let (_, used) = read("a");
    let mut run = Run::new(RunId::new("r"));
    let id = |run: &Run, agent: Option<&str>| {
        let agent = agent.map(AgentId::new);
        let proposed = proposed(run, agent.as_ref(), &used);
        proposed.id.as_ref().map(ToString::to_string)
    };
    let first = id(&run, None);
    let process = std::process::id();
    assert_eq!(first, Some(format!("hook-0-{process}")));
    assert_eq!(id(&run, Some("a")), Some(format!("hook-0-{process}@a")));
    run.seq = 7;
    assert_ne!(id(&run, None), first);
    let (_, own) = told(ClientId::ClaudeCode, "Read", &json!({"file_path": "a"}));
    let kept = proposed(&run, None, &own);
    assert_eq!(kept.id, Some(CallId::new("t1")), "the client's own");
}

#[test]
fn what_the_client_numbers_is_found_by_that_and_what_was_seen_written_by_its_file() {
    let own = told(ClientId::ClaudeCode, "Read", &json!({"file_path": "a"}));
    assert_eq!(which(&[], &own), Some("t1".to_owned()));
    let writes = |id: &str, file: &str| {
        let mut call = open(id, &read(file));
        call.marks.files = vec![file.to_owned()];
        call
    };
    let mut seen = read("x");
    seen.1.wrote = Some("/p/b".to_owned());
    let calls = [
        writes("hook-1-9", "/p/a"),
        writes("hook-2-9@helper", "/p/b"),
        writes("hook-3-9", "/p/b"),
    ];
    assert_eq!(which(&calls, &seen), Some("hook-2-9@helper".to_owned()));
    assert_eq!(which(&calls[..1], &seen), None);
}

#[test]
fn a_line_that_was_rewritten_is_known_as_it_was_proposed() {
    let program = Path::new(PROGRAM);
    let carried = line::carried(program, "00ff", "make").unwrap_or_default();
    let calls = [
        open("hook-1-9", &line("ls")),
        open("hook-2-9", &line("make")),
    ];
    assert_eq!(which(&calls, &line(&carried)), Some("hook-2-9".to_owned()));
    // What else was said with it is left out: it is the one whose end `exec` has told.
    let other = line::carried(program, "00ff", "make all").unwrap_or_default();
    assert_eq!(which(&calls, &line(&other)), None);
    let mut told = calls.clone();
    told[1].line = Some(ShellLine {
        ended_seq: Some(4),
        ..ShellLine::default()
    });
    assert_eq!(which(&told, &line(&other)), Some("hook-2-9".to_owned()));
    assert_eq!(
        which(&told, &line("make all")),
        None,
        "it was not rewritten"
    );
}

#[test]
fn a_call_is_another_than_was_asked_about_where_its_arguments_are_others() {
    let asked = told(ClientId::ClaudeCode, "Bash", &json!({"command": "make"}));
    let mut run = Run::new(RunId::new("r"));
    let mut call = open("t1", &asked);
    call.asked = true;
    run.calls.push_back(call);
    let is_another_of = |run: &Run, command: &str| {
        let (input, used) = told(ClientId::ClaudeCode, "Bash", &json!({"command": command}));
        let id = CallId::new("t1");
        is_another(run, &id, &input, &used, Some(Path::new(PROGRAM)))
    };
    assert!(!is_another_of(&run, "make"));
    let carried = line::carried(Path::new(PROGRAM), "00ff", "make").unwrap_or_default();
    assert!(!is_another_of(&run, &carried), "rewritten since");
    assert!(is_another_of(&run, "make install"));
    if let Some(call) = run.calls.front_mut() {
        call.asked = false;
    }
    assert!(!is_another_of(&run, "make install"), "nobody was asked");
}
