//! Calls of servers' tools, judged and recorded through the interface for sessions.

use std::fs;

use crate::gateway::governed_session::{Session, WORK, names, said, started, transition};
use crate::gateway::world::World;
use interlock_core::{
    event::{Event, TokenPlace},
    names::RunId,
};
use interlock_gateway::govern::{CallDecision, Caller, ReadingOf, SessionPolicy as _};
use serde_json::{Value, json};

#[test]
fn a_session_without_a_run_is_left_alone() {
    let world = World::with(WORK);
    let mut session = Session::new(&world);
    let ticket = session.passes("fs", "write_file", &json!({"path": "/etc/passwd"}));
    assert_eq!((ticket.call.clone(), ticket.bytes_max), (None, None));
    assert_eq!(session.ended(&ticket, &said("done")), None);
    assert_eq!(session.shown(&[("fs", "write_file")]), [true]);
    assert_eq!(
        session.reads(ReadingOf::Resource("file:///etc/passwd")),
        None
    );
    assert!(world.runs().is_empty());
}

#[test]
fn an_unlisted_tool_is_denied_with_what_is_possible() {
    let world = World::with(WORK);
    let run = started(&world);
    let mut session = Session::new(&world);
    let (code, text) = session.denied("fs", "write_file", &json!({"path": "a", "content": ""}));
    assert_eq!(code, "tool_not_allowed");
    assert!(text.contains("look") && text.contains("READY"), "{text}");
    let ticket = session.passes("web", "look", &json!({}));
    assert_eq!(session.ended(&ticket, &said("seen")), None);
    assert_eq!(
        names(&world, &run),
        ["RunStarted", "CallDenied", "CallAllowed", "CallEnded"]
    );
    assert_eq!(world.run(&run).root.stay.used.calls, 1);
}

#[test]
fn rules_mean_a_tool_by_its_plain_and_its_whole_names() {
    let rows = [
        ("look", "web", "look", true),
        ("web__look", "web", "look", true),
        ("mcp__web__look", "web", "look", true),
        ("mcp__web__*", "web", "look", true),
        ("mcp__other__look", "web", "look", false),
        ("other__look", "web", "look", false),
        // A tool with the name of a client's own tool is identified by its full name only.
        ("Read", "web", "Read", false),
        ("Bash", "web", "Bash", false),
        ("mcp__web__Read", "web", "Read", true),
        // Nor by another name of a client's own tool.
        ("Write", "web", "write_file", false),
        ("write_file", "web", "write_file", true),
        // A tool with a name like another server's tool is not that tool.
        ("fs__write", "web", "fs__write", false),
        ("mcp__fs__write", "web", "mcp__fs__write", false),
        ("mcp__interlock__look", "", "look", true),
    ];
    for (rule, server, tool, passes) in rows {
        let world = World::with(&format!(
            "{{id: w, initial: a, states: {{a: {{allowed_tools: ['{rule}'], on: {{GO: b}}}}, b: {{type: final}}}}}}"
        ));
        started(&world);
        let mut session = Session::new(&world);
        assert_eq!(session.shown(&[(server, tool)]), [passes], "{rule} {tool}");
        let ruling = session.call(server, tool, &json!({}));
        let passed = matches!(ruling, CallDecision::Pass(_));
        assert_eq!(passed, passes, "{rule} {server} {tool}");
    }
}

#[test]
fn a_persons_token_in_what_a_server_is_told_or_says_is_void() {
    let escaped = |token: &str| token.replacen('i', "\\u0069", 1);
    for text in [str::to_owned, escaped] {
        let world = World::with(WORK);
        let run = started(&world);
        let mut session = Session::new(&world);
        let token = world.home.make_token(Vec::new()).unwrap();
        let ticket = session.passes("web", "look", &json!({}));
        let result = said("TOKEN").to_string().replace("TOKEN", &text(&token));
        session.ended_as(&ticket, result);
        assert_eq!(world.home.token_made_below(&token).unwrap(), None);
        assert_eq!(seen_at(&world, &run), [TokenPlace::Result]);
    }
    let world = World::with(WORK);
    let run = started(&world);
    let mut session = Session::new(&world);
    let token = world.home.make_token(Vec::new()).unwrap();
    let (code, _) = session.denied("web", "look", &json!({ "at": [token] }));
    assert_eq!(code, "protected");
    assert_eq!(world.home.token_made_below(&token).unwrap(), None);
    assert_eq!(seen_at(&world, &run), [TokenPlace::Call]);
}

/// Returns the places where a person's token was reported to the run.
fn seen_at(world: &World, run: &RunId) -> Vec<TokenPlace> {
    let events = world.events(run).into_iter();
    let places = events.filter_map(|event| match event {
        Event::TokenSeen { place, .. } => Some(place),
        _ => None,
    });
    places.collect()
}

#[test]
fn a_disallowed_tool_is_denied_by_any_of_its_names() {
    for rule in ["look", "web__look", "mcp__web__look", "mcp__*"] {
        let world = World::with(&format!(
            "{{id: w, initial: a, states: {{a: {{disallowed_tools: ['{rule}'], on: {{GO: b}}}}, b: {{type: final}}}}}}"
        ));
        started(&world);
        let mut session = Session::new(&world);
        assert_eq!(
            session.denied("web", "look", &json!({})).0,
            "tool_disallowed"
        );
        assert_eq!(session.shown(&[("web", "look")]), [false], "{rule}");
    }
}

#[test]
fn the_list_follows_the_run_whoever_moves_it() {
    let world = World::with(WORK);
    let mut session = Session::new(&world);
    let tools = [
        ("web", "look"),
        ("fs", "write_file"),
        ("fs", "list_directory"),
    ];
    assert!(!session.governor.changed(), "nothing was listed before");
    assert_eq!(session.shown(&tools), [true, true, true]);
    assert!(!session.governor.changed(), "nothing has happened");
    let run = started(&world);
    assert!(session.governor.changed(), "a run holds the session now");
    assert_eq!(session.shown(&tools), [true, false, true]);
    transition(&world, &run, "READY");
    assert!(session.governor.changed(), "a person moved it");
    assert_eq!(session.shown(&tools), [true, true, false]);
    session.passes("fs", "write_file", &json!({"path": "a", "content": "x"}));
    transition(&world, &run, "DONE");
    assert!(session.governor.changed(), "it is over");
    assert_eq!(session.shown(&tools), [true, true, true]);
    let ticket = session.passes("fs", "anything", &json!({}));
    assert_eq!(ticket.call, None);
}

#[test]
fn a_run_that_cannot_be_read_denies_every_call() {
    let world = World::with(WORK);
    let run = started(&world);
    let mut session = Session::new(&world);
    let ticket = session.passes("web", "look", &json!({}));
    let database = world
        .home
        .path()
        .join("runs")
        .join(run.as_str())
        .join("run.db");
    // Overwritten in place, as by a process that has the file open already.
    let bytes = fs::read(&database).unwrap();
    let kept = bytes.iter().take(16).copied();
    let damaged = kept.chain(bytes.iter().skip(16).map(|byte| !byte));
    fs::write(&database, damaged.collect::<Vec<u8>>()).unwrap();
    let others = [
        Session::of(&world, Caller::Run(run.clone()), ""),
        // One that begins only now.
        Session::new(&world),
        session,
    ];
    for mut session in others {
        assert_eq!(session.denied("web", "look", &json!({})).0, "unavailable");
        assert_eq!(session.shown(&[("web", "look")]), [false]);
        assert_eq!(
            session
                .reads(ReadingOf::Prompt("x", &Value::Null))
                .as_deref(),
            Some("unavailable")
        );
        // A result that cannot be counted is withheld, too.
        if let Some(withheld) = session.ended(&ticket, &said("secret")) {
            assert_eq!(withheld["isError"], true);
            assert!(!withheld.to_string().contains("secret"), "{withheld}");
        }
    }
}

#[test]
fn after_the_end_of_its_run_a_session_is_free() {
    let world = World::with("{id: w, initial: a, states: {a: {on: {GO: b}}, b: {type: final}}}");
    let run = started(&world);
    let mut session = Session::new(&world);
    let settings = json!({"path": ".interlock/config.toml", "content": ""});
    assert_eq!(session.denied("fs", "write_file", &settings).0, "protected");
    transition(&world, &run, "GO");
    session.passes("fs", "write_file", &settings);
}
