//! Files that are named by calls of servers' tools, resources and prompts.

use crate::gateway::governed_session::{Session, WORK, names, said, started, transition};
use crate::gateway::world::World;
use interlock_gateway::govern::{Caller, ReadingOf, SessionPolicy as _};
use serde_json::{Value, json};

#[test]
fn writes_through_a_server_meet_the_limits_of_the_state() {
    let world = World::with(WORK);
    let run = started(&world);
    transition(&world, &run, "READY");
    let mut session = Session::new(&world);
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    let long = write("a.rs", "1\n2\n3\n4\n");
    assert_eq!(
        session.denied("fs", "write_file", &long).0,
        "edit_too_large"
    );
    session.passes("fs", "write_file", &write("a.rs", "1\n"));
    let project = world.project.to_str().unwrap();
    session.passes(
        "fs",
        "write_file",
        &write(&format!("{project}/./a.rs"), "2\n"),
    );
    session.passes("fs", "write_file", &write("b.rs", "1\n"));
    let third = write("c.rs", "1\n");
    assert_eq!(
        session.denied("fs", "write_file", &third).0,
        "too_many_files"
    );
    let moved = json!({"source": "a.rs", "destination": "d.rs"});
    assert_eq!(
        session.denied("fs", "move_file", &moved).0,
        "too_many_files"
    );
}

#[test]
fn protected_things_stay_so_through_any_server() {
    let world = World::with("{id: w, initial: a, states: {a: {on: {GO: b}}, b: {type: final}}}");
    let run = started(&world);
    let mut session = Session::new(&world);
    let state = world.home.path().to_str().unwrap().to_owned();
    for (tool, arguments) in [
        (
            "write_file",
            json!({"path": ".interlock/config.toml", "content": ""}),
        ),
        (
            "write_file",
            json!({"path": "x/../.mcp.json", "content": ""}),
        ),
        (
            "move_file",
            json!({"source": ".claude/settings.json", "destination": "x"}),
        ),
        (
            "read_text_file",
            json!({"path": format!("{state}/token.json")}),
        ),
        (
            "anything",
            json!({"inner": {"list": [".interlock/workflows/w.yaml"]}}),
        ),
        ("run", json!({"command": "interlock approve"})),
    ] {
        let (code, text) = session.denied("fs", tool, &arguments);
        assert_eq!(code, "protected", "{tool}: {text}");
    }
    assert_eq!(
        names(&world, &run)
            .iter()
            .filter(|name| **name == "CallDenied")
            .count(),
        6
    );
}

#[test]
fn a_write_through_a_server_raises_an_interrupt_and_its_result_says_so() {
    let world = World::with(WORK);
    let run = started(&world);
    transition(&world, &run, "READY");
    let mut session = Session::new(&world);
    session.governor.changed();
    let write = json!({"path": "a.sql", "content": "x"});
    let failed = session.passes("fs", "write_file", &write);
    let error = json!({"content": [{"type": "text", "text": "disk full"}], "isError": true});
    assert_eq!(session.ended(&failed, &error), None);
    assert_eq!(world.run(&run).root.at.as_str(), "building");
    let ticket = session.passes("fs", "write_file", &write);
    let result = session
        .ended(
            &ticket,
            &json!({"content": [{"type": "text", "text": "ok"}], "structuredContent": {"n": 1}}),
        )
        .unwrap();
    assert_eq!(world.run(&run).root.at.as_str(), "checking");
    assert_eq!(result["structuredContent"], json!({"n": 1}));
    let notice = result["content"][1]["text"].as_str().unwrap();
    assert!(
        notice.contains("`checking`") && notice.contains("OK -> back to building"),
        "{notice}"
    );
    assert!(session.governor.changed());
}

#[test]
fn the_project_and_what_lies_above_it_are_removed_in_no_state() {
    for limits in ["", "max_files_per_state: 3,", "blocked_env: [X],"] {
        let world = World::with(&format!(
            "{{id: w, initial: a, states: {{a: {{{limits} on: {{GO: b}}}}, b: {{type: final}}}}}}"
        ));
        started(&world);
        let mut session = Session::new(&world);
        for path in [".", "..", "/"] {
            let arguments = json!({ "path": path });
            let (code, _) = session.denied("fs", "delete_file", &arguments);
            assert_eq!(code, "protected", "{limits} {path}");
            let arguments = json!({"source": path, "destination": "/tmp/elsewhere"});
            let (code, _) = session.denied("fs", "move_file", &arguments);
            assert_eq!(code, "protected", "{limits} {path}");
        }
    }
}

#[test]
fn a_prompt_is_not_filled_with_a_protected_file() {
    let world = World::with(WORK);
    let run = started(&world);
    let mut session = Session::new(&world);
    let state = world.home.path().join("runs").join(run.as_str());
    for path in [
        state.join("run.db").display().to_string(),
        format!("file://{}", state.join("run.db").display()),
    ] {
        let arguments = json!({"path": path});
        let read = ReadingOf::Prompt("summarise", &arguments);
        assert_eq!(session.reads(read).as_deref(), Some("protected"), "{path}");
    }
    let harmless = json!({"path": "src/main.rs"});
    assert_eq!(
        session.reads(ReadingOf::Prompt("summarise", &harmless)),
        None
    );
}

#[test]
fn an_address_of_a_protected_file_is_known_in_every_way_of_writing_it() {
    let world = World::with(WORK);
    let run = started(&world);
    let mut session = Session::new(&world);
    let state = world.home.path().join("runs").join(run.as_str());
    let path = state.join("run.db").display().to_string();
    let ways = [
        format!("file://{path}"),
        format!("file:{path}"),
        format!("FILE://LOCALHOST{path}"),
        format!("file://127.0.0.1{path}"),
        format!("file://elsewhere{path}?x=1#y"),
        format!(" file://{path}"),
        format!("fi\tle://{path}"),
        format!("file:\\\\{path}"),
        format!("memory://{path}"),
        format!("fs://root{path}"),
        format!("memo:{path}"),
        format!("file://{}", path.replace("run.db", "%72un.db")),
    ];
    for uri in &ways {
        let read = session.reads(ReadingOf::Resource(uri));
        assert_eq!(read.as_deref(), Some("protected"), "{uri:?}");
    }
    // A resource at an address that cannot be judged is not read either.
    for uri in ["file:///a\0b", "file:///%zz", "FILE://%00"] {
        let read = session.reads(ReadingOf::Resource(uri));
        assert_eq!(read.as_deref(), Some("invalid_arguments"), "{uri:?}");
    }
    for uri in ["memory://notes/1", "https://example.org/run.db", "note:x"] {
        assert_eq!(session.reads(ReadingOf::Resource(uri)), None, "{uri}");
    }
}

#[test]
fn resources_and_prompts_pass_unless_protected_or_disallowed() {
    let world = World::with(
        r#"{id: w, initial: a, states: {
            a: {allowed_tools: [look], on: {GO: b}},
            b: {disallowed_tools: ["prompts/get", "fs__resources/read"], on: {GO: c}},
            c: {type: final}}}"#,
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let project = world.project.to_str().unwrap().to_owned();
    let protected = format!("file://{}/token.json", world.home.path().display());
    assert_eq!(session.reads(ReadingOf::Resource("demo://x")), None);
    assert_eq!(
        session.reads(ReadingOf::Resource(&format!("file://{project}/a.rs"))),
        None
    );
    assert_eq!(
        session.reads(ReadingOf::Prompt("greet", &Value::Null)),
        None
    );
    for address in [protected.clone(), protected.replace("file://", "FILE://")] {
        let code = session.reads(ReadingOf::Resource(&address));
        assert_eq!(code.as_deref(), Some("protected"), "{address}");
    }
    transition(&world, &run, "GO");
    assert_eq!(
        session
            .reads(ReadingOf::Prompt("greet", &Value::Null))
            .as_deref(),
        Some("tool_disallowed")
    );
    let code = session.reads(ReadingOf::Resource("demo://x"));
    assert_eq!(code.as_deref(), Some("tool_disallowed"));
    assert_eq!(
        world.run(&run).root.stay.used.calls,
        0,
        "they are not calls"
    );
}

#[test]
fn in_branches_a_resource_passes_unless_each_of_them_disallows_it() {
    let disallows = "disallowed_tools: [\"resources/read\"]";
    for (one, two, read) in [
        (true, true, false),
        (true, false, true),
        (false, true, true),
        (false, false, true),
    ] {
        let policy = |is: bool| {
            if is {
                disallows
            } else {
                "allowed_tools: [look]"
            }
        };
        let world = World::with(&format!(
            "{{id: w, initial: a, states: {{
                a: {{on: {{GO: {{fork: {{branches: {{one: {{initial: b, terminal: d}}, two: {{initial: c, terminal: d}}}}, on_complete: e, on_fail: e}}}}}}}},
                b: {{{}, on: {{X: d}}}}, c: {{{}, on: {{X: d}}}}, d: {{type: final}}, e: {{type: final}}}}}}",
            policy(one),
            policy(two)
        ));
        let run = started(&world);
        transition(&world, &run, "GO");
        let mut session = Session::new(&world);
        let found = session.reads(ReadingOf::Resource("demo://x"));
        assert_eq!(found.is_none(), read, "{one} {two}: {found:?}");
    }
}

#[test]
fn a_file_of_a_call_is_where_its_server_works() {
    for (cwd, wanted) in [
        ("", "a.rs"),
        ("cwd = \"sub\"\n", "sub/a.rs"),
        ("cwd = \"sub/deep\"\n", "sub/deep/a.rs"),
    ] {
        let world = World::with(
            "{id: w, initial: a, states: {a: {allowed_tools: [write_file], on: {GO: b}}, b: {type: final}}}",
        );
        let run = started(&world);
        let servers = format!("[mcp.fs]\ncommand = \"fs\"\n{cwd}[mcp.web]\ncommand = \"web\"\n");
        let input = json!({"path": "a.rs", "content": "x"});
        let files = |run: &interlock_core::run::Run| -> Vec<String> {
            let calls = run.calls.iter();
            calls.flat_map(|call| call.marks.files.clone()).collect()
        };
        let mut session = Session::of(&world, Caller::Stdio, &servers);
        session.passes("fs", "write_file", &input);
        let found = files(&world.run(&run));
        let wanted = world.project.canonicalize().unwrap().join(wanted);
        assert_eq!(found, [wanted.to_str().unwrap()], "{cwd}");
        // Another server works in its configured directory.
        session.passes("web", "write_file", &input);
        let plain = world.project.canonicalize().unwrap().join("a.rs");
        let found = files(&world.run(&run));
        assert_eq!(found.last().map(String::as_str), plain.to_str(), "{cwd}");
    }
}

#[test]
fn only_a_literal_true_makes_a_tool_one_that_reads() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {allowed_tools: [\"mcp__fs__write_*\"], on: {GO: b}}, b: {type: final}}}",
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let rows = [
        (json!({"readOnlyHint": true}), true),
        (json!({"readOnlyHint": false}), false),
        (json!({"readOnlyHint": null}), false),
        (json!({"readOnlyHint": "true"}), false),
        (json!({"readOnlyHint": 1}), false),
        (json!({"readOnlyHint": [true]}), false),
        (json!({"readonlyhint": true}), false),
        (json!({}), false),
        (json!([true]), false),
        (json!(true), false),
        (Value::Null, false),
    ];
    for (number, (annotations, reads)) in rows.into_iter().enumerate() {
        session.definition["annotations"] = annotations.clone();
        let written = world.run(&run).root.stay.used.files.len();
        let (tool, path) = (format!("write_note_{number}"), format!("{number}.md"));
        session.passes("fs", &tool, &json!({"path": path}));
        let now = world.run(&run).root.stay.used.files.len();
        assert_eq!(now == written, reads, "{annotations}");
    }
}

#[test]
fn what_a_tool_does_with_files_can_be_set() {
    let world = World::with(WORK);
    let run = started(&world);
    transition(&world, &run, "READY");
    let servers =
        "[mcp.web]\ncommand = \"x\"\n[mcp.web.tools.look]\nwrites = [\"q\"]\ncontent = \"t\"\n";
    let mut session = Session::of(&world, Caller::Stdio, servers);
    let ticket = session.passes("web", "look", &json!({"q": "a.sql", "t": "1\n"}));
    session.ended(&ticket, &said("ok"));
    assert_eq!(world.run(&run).root.at.as_str(), "checking");
}

#[test]
fn a_write_whose_size_nobody_says_is_over_every_limit() {
    let world = World::with(WORK);
    let run = started(&world);
    transition(&world, &run, "READY");
    let servers = "[mcp.web]\ncommand = \"x\"\n[mcp.web.tools.look]\nwrites = [\"q\"]\n";
    let mut session = Session::of(&world, Caller::Stdio, servers);
    let (code, text) = session.denied("web", "look", &json!({"q": "a.rs"}));
    assert_eq!(code, "edit_too_large", "{text}");
    assert_eq!(world.run(&run).root.stay.used.calls, 0);
}
