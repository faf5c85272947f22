//! Changed tools of servers: recorded once, and accepted by a person in their current form.

use interlock_core::{
    Reply,
    command::{Command, CommandKind},
    decide,
    event::{Event, ToolChange},
    evolve,
    machine::{Machine, Object},
    names::{Digest, RunId},
    refusal::Code,
    run::Run,
};
use serde_json::json;

fn machine() -> Machine {
    serde_json::from_value(json!({ "id": "m", "initial": "a", "states": {"a": {}} })).unwrap()
}

fn started() -> Run {
    let by = "ana".to_owned();
    let input = Object::new();
    ask(
        Run::new(RunId::new("r")),
        CommandKind::Start {
            input,
            by,
            durable: None,
        },
    )
    .0
}

fn ask(run: Run, command: CommandKind) -> (Run, Vec<&'static str>, Reply) {
    let decision = decide(
        &machine(),
        &run,
        &Command {
            at_ms: 0,
            kind: command,
        },
    );
    let names = decision.events.iter().map(Event::name).collect();
    let run = decision.events.iter().fold(run, evolve);
    (run, names, decision.reply)
}

fn report(found: &str) -> CommandKind {
    report_of("look", found)
}

fn report_of(tool: &str, found: &str) -> CommandKind {
    report_at("web", tool, found)
}

fn report_at(server: &str, tool: &str, found: &str) -> CommandKind {
    CommandKind::ReportTool(ToolChange {
        server: server.to_owned(),
        tool: tool.to_owned(),
        pinned: Digest::new("0"),
        found: Digest::new(found),
        parts: vec!["description".to_owned()],
    })
}

fn accept(tool: &str) -> CommandKind {
    CommandKind::AcceptTool {
        server: "web".to_owned(),
        tool: tool.to_owned(),
        by: "ana".to_owned(),
    }
}

#[test]
fn a_change_is_told_once_and_leaves_the_run_going() {
    let (run, events, _) = ask(started(), report("1"));
    assert_eq!(events, ["ToolChanged"]);
    let (run, events, _) = ask(run, report("1"));
    assert!(events.is_empty(), "{events:?}");
    let (run, events, _) = ask(run, report("2"));
    assert_eq!(events, ["ToolChanged"]);
    assert_eq!(run.tools_changed.len(), 1);
    assert!(run.paused.is_none());
}

#[test]
fn what_is_accepted_is_the_definition_reported_last() {
    let (run, _, _) = ask(started(), report("1"));
    let (run, _, _) = ask(run, report("2"));
    let (run, events, _) = ask(run, accept("look"));
    assert_eq!(events, ["ToolAccepted"]);
    assert!(run.tools_changed.is_empty());
    let (run, events, _) = ask(run, report("2"));
    assert!(events.is_empty(), "{events:?}");
    let (run, events, _) = ask(run, report("1"));
    assert_eq!(events, ["ToolChanged"], "the earlier one was not accepted");
    let (run, _, _) = ask(run, accept("look"));
    assert_eq!(run.tools_accepted.len(), 1);
}

#[test]
fn one_accepted_tool_leaves_the_others_of_its_server_reported() {
    let (run, _, _) = ask(started(), report("1"));
    let (run, _, _) = ask(run, report_of("find", "7"));
    assert_eq!(run.tools_changed.len(), 2);
    let (run, _, _) = ask(run, accept("look"));
    let left: Vec<_> = run
        .tools_changed
        .iter()
        .map(|one| one.tool.as_str())
        .collect();
    assert_eq!(left, ["find"]);
    let (run, _, _) = ask(run, accept("find"));
    assert_eq!(run.tools_accepted.len(), 2, "each has its own");
}

#[test]
fn nothing_is_accepted_that_did_not_change() {
    let (run, _, _) = ask(started(), report("1"));
    let (_, events, reply) = ask(run, accept("other"));
    assert!(events.is_empty());
    let Reply::Refused(refusal) = reply else {
        unreachable!("{reply:?}")
    };
    assert_eq!(refusal.code, Code::NothingPending);
    assert!(
        refusal.message.contains("`web look`"),
        "{}",
        refusal.message
    );
}

#[test]
fn one_accepted_definition_is_of_its_server_its_tool_and_its_text_alone() {
    let (run, _, _) = ask(started(), report("1"));
    let (run, _, _) = ask(run, accept("look"));
    for (server, tool, found, is_news) in [
        ("web", "look", "1", false),
        ("web", "look", "2", true),
        ("web", "find", "1", true),
        ("files", "look", "1", true),
        ("files", "find", "2", true),
    ] {
        let (_, events, _) = ask(run.clone(), report_at(server, tool, found));
        assert_eq!(!events.is_empty(), is_news, "{server} {tool} {found}");
    }
}

#[test]
fn no_more_changes_wait_than_a_person_can_look_at() {
    let mut run = started();
    for number in 0..300 {
        run = ask(run, report_of(&format!("tool{number}"), "1")).0;
    }
    assert_eq!(run.tools_changed.len(), 256);
    // A newer report of a pending change replaces it.
    let (run, _, _) = ask(run, report_of("tool7", "2"));
    assert_eq!(run.tools_changed.len(), 256);
    let newest = run.tools_changed.last().unwrap();
    assert_eq!(
        (newest.tool.as_str(), newest.found.as_str()),
        ("tool7", "2")
    );
}
