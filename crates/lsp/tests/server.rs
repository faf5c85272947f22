//! The server as a client sees it: messages in, messages out.

use interlock_formats::{NoWorkflows, check, flowstate_schema, schema};
use interlock_lsp::Server;
use serde_json::{Value, json};

use crate::support::{Client, FLOW, URI};

#[test]
fn a_mistake_is_shown_at_its_place_in_utf16() {
    let text = "id: a\r\ninitial: w\r\nstates:\r\n  w: {instructions: \"\u{1f600}\u{fc}\", on: {GO: nowhere}}\r\n  d: {type: final}\r\n";
    let mut client = Client::new();
    let found = client.open(URI, text);
    let errors: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["code"] == "undefined_state")
        .collect();
    assert_eq!(errors.len(), 1, "{found}");
    assert_eq!(errors[0]["severity"], 1);
    let line = "  w: {instructions: \"\u{1f600}\u{fc}\", on: {GO: nowhere}}";
    let before = line.split("nowhere").next().unwrap();
    let start = before.encode_utf16().count();
    assert_eq!(
        errors[0]["range"],
        json!({ "start": { "line": 3, "character": start }, "end": { "line": 3, "character": start + 7 } })
    );
}

#[test]
fn changes_are_applied_in_their_order_and_the_last_version_is_checked() {
    let mut client = Client::new();
    assert_eq!(client.open(URI, FLOW), json!([]));
    let change = |line: u32, from: u32, to: u32, text: &str| {
        json!({
            "range": {
                "start": { "line": line, "character": from },
                "end": { "line": line, "character": to },
            },
            "text": text,
        })
    };
    // `initial: draft` becomes `initial: lost`, by way of `initial: l`.
    client.notify(
        "textDocument/didChange",
        &json!({
            "textDocument": { "uri": URI, "version": 2 },
            "contentChanges": [change(1, 9, 14, "l"), change(1, 10, 10, "ost")],
        }),
    );
    let published = client.published(URI);
    assert_eq!(published["version"], 2);
    let first = &published["diagnostics"][0];
    assert_eq!(first["code"], "undefined_state", "{published}");
    assert_eq!(first["range"]["end"]["character"], 13);
}

#[test]
fn a_whole_new_text_replaces_the_old_one() {
    let mut client = Client::new();
    client.open(URI, "id: [");
    client.notify(
        "textDocument/didChange",
        &json!({
            "textDocument": { "uri": URI, "version": 7 },
            "contentChanges": [{ "text": FLOW }],
        }),
    );
    let published = client.published(URI);
    assert_eq!(published["diagnostics"], json!([]));
    assert_eq!(published["version"], 7);
}

#[test]
fn keys_states_guards_and_tools_are_offered_where_they_may_stand() {
    for (text, offered, not_offered) in [
        ("id: f\n|", "initial", "allowed_tools"),
        ("id: f\nstates:\n  w:\n    |", "allowed_tools", "initial"),
        (
            "id: f\ninitial: |\nstates:\n  w: {}\n  d: {type: final}",
            "w",
            "initial",
        ),
        (
            "id: f\nstates:\n  w:\n    on:\n      GO: |\n  d: {type: final}",
            "d",
            "target",
        ),
        ("id: f\nstates:\n  w:\n    type: |", "final", "w"),
        (
            "id: f\nguards:\n  ok: {field: a, op: eq, value: 1}\nstates:\n  w:\n    on: {GO: {target: w, guard: |}}",
            "ok",
            "w",
        ),
        ("id: f\nstates:\n  w:\n    allowed_tools: [|]", "Read", "w"),
        (
            "id: f\nstates:\n  w:\n    allowed_tools:\n      - |",
            "Read",
            "w",
        ),
        ("stages:\n  a:\n    |", "next", "on_fail"),
        (
            "start-at: a\nstates:\n  a:\n    tool: bash\n    next: |\n  b: {tool: bash}",
            "b",
            "tool",
        ),
        ("states:\n  - id: a\n    |", "assistant_id", "start-at"),
        (
            "states:\n  - id: a\n    next:\n      state_id: |\n  - id: b",
            "b",
            "assistant_id",
        ),
    ] {
        let mut client = Client::new();
        let at = client.open_at(URI, text);
        let answer = client.ask("textDocument/completion", URI, at);
        let labels: Vec<&str> = answer["items"]
            .as_array()
            .unwrap_or_else(|| panic!("{text:?}: {answer}"))
            .iter()
            .map(|item| item["label"].as_str().unwrap())
            .collect();
        assert!(labels.contains(&offered), "{text:?}: {labels:?}");
        assert!(!labels.contains(&not_offered), "{text:?}: {labels:?}");
    }
}

#[test]
fn what_is_taken_from_the_list_is_text_that_reads_well() {
    let uri = "file:///p/.interlock/workflows/a.json";
    let mut client = Client::new();
    let at = client.open_at(uri, "{\"id\": \"f\", \"states\": {\"w\": {}}, \"ini|\"}");
    let answer = client.ask("textDocument/completion", uri, at);
    let items = answer["items"].as_array().unwrap();
    let item = items
        .iter()
        .find(|item| item["label"] == "initial")
        .unwrap();
    assert_eq!(item["textEdit"]["newText"], "\"initial\": ");
    let range = &item["textEdit"]["range"];
    assert_eq!(
        (&range["start"]["character"], &range["end"]["character"]),
        (&json!(33), &json!(38))
    );
    assert_eq!(item["filterText"], "\"initial\"");
}

#[test]
fn hovering_says_what_a_key_and_a_state_are() {
    let description = |schema: Value, pointer: &str| {
        let found = schema.pointer(&format!("{pointer}/description"));
        found.and_then(Value::as_str).unwrap().to_owned()
    };
    let initial = description(schema(), "/$defs/workflow/properties/initial");
    let on_error = description(flowstate_schema(), "/$defs/state/properties/on-error");
    for (text, said) in [
        ("id: f\ninit|ial: w\nstates: {w: {}}", initial.as_str()),
        (
            "id: f\ninitial: w\nstates:\n  w: {instructions: Do the work, on: {GO: w|}}",
            "Do the work",
        ),
        (
            "id: f\ninitial: w|\nstates:\n  w: {on: {GO: w}}",
            "Events: `GO`",
        ),
        (
            "id: f\nstates:\n  w: {on: {GO: {target: w, guards: [o|k]}}}\nguards:\n  ok: {field: a, op: eq, value: 1}",
            "op: eq",
        ),
        (
            "start-at: a\nstates:\n  a:\n    tool: bash\n    on-err|or: {_: a}",
            &on_error,
        ),
    ] {
        let mut client = Client::new();
        let at = client.open_at(URI, text);
        let answer = client.ask("textDocument/hover", URI, at);
        let value = answer["contents"]["value"].as_str().unwrap_or_default();
        assert!(value.contains(said), "{text:?}: {answer}");
    }
}

#[test]
fn a_name_leads_to_where_it_is_defined() {
    for (text, line, character) in [
        ("id: f\ninitial: w|\nstates:\n  v: {}\n  w: {}", 4, 2),
        ("id: f\nstates:\n  \"w x\": {on: {GO: \"w |x\"}}", 2, 2),
        (
            "id: f\nstates:\n  w: {on: {GO: {target: w, guard: |w}}}\nguards:\n  w: {field: a, op: eq, value: 1}",
            4,
            2,
        ),
        (
            "start-at: b|\nstates:\n  a: {tool: bash}\n  b: {tool: bash}",
            3,
            2,
        ),
        (
            "states:\n  - id: a\n    next: {state_ids: [b|]}\n  - id: b",
            3,
            8,
        ),
        ("stages:\n  a: {next: b|}\n  b: {}", 2, 2),
    ] {
        let mut client = Client::new();
        let at = client.open_at(URI, text);
        let answer = client.ask("textDocument/definition", URI, at);
        assert_eq!(answer["uri"], URI, "{text:?}: {answer}");
        let start = &answer["range"]["start"];
        assert_eq!(
            start,
            &json!({ "line": line, "character": character }),
            "{text:?}"
        );
    }
}

#[test]
fn the_outline_has_states_with_their_events_and_guards() {
    let mut client = Client::new();
    client.open(URI, FLOW);
    let answer = client.request(
        "textDocument/documentSymbol",
        &json!({ "textDocument": { "uri": URI } }),
    );
    let names: Vec<&str> = answer
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["draft", "done", "failed", "checked"]);
    assert_eq!(answer[0]["children"][0]["name"], "SHIP");
    for one in answer.as_array().unwrap() {
        let inside = |at: &Value| {
            (
                at["line"].as_u64().unwrap(),
                at["character"].as_u64().unwrap(),
            )
        };
        let (whole, name) = (&one["range"], &one["selectionRange"]);
        assert!(inside(&whole["start"]) <= inside(&name["start"]));
        assert!(inside(&name["end"]) <= inside(&whole["end"]));
    }
}

#[test]
fn a_request_that_is_cancelled_before_its_turn_is_answered_so() {
    let mut server = Server::new();
    for (id, method) in [
        (1, "initialize"),
        (2, "textDocument/hover"),
        (3, "shutdown"),
    ] {
        server.receive(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} }));
    }
    server.receive(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 2 } }));
    server.receive(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 9 } }));
    let mut answers = Vec::new();
    while !server.is_idle() {
        answers.extend(server.step());
    }
    assert_eq!(answers.len(), 3);
    let of = |id: i32| answers.iter().find(|one| one["id"] == id).unwrap();
    assert_eq!(of(2)["error"]["code"], -32800);
    assert_eq!(of(3)["result"], Value::Null);
    assert!(of(3).get("error").is_none());
}

#[test]
fn requests_are_answered_while_a_document_is_checked() {
    let mut client = Client::new();
    let server = client.server();
    let opened = json!({ "uri": URI, "version": 1, "text": FLOW });
    server
        .receive(json!({ "method": "textDocument/didOpen", "params": { "textDocument": opened } }));
    assert!(server.job().is_none(), "messages come first");
    while !server.is_idle() {
        assert_eq!(server.step(), Vec::<Value>::new());
    }
    let job = server.job().unwrap();
    assert!(server.job().is_none(), "one at a time");
    let position = json!({ "line": 1, "character": 2 });
    let params = json!({ "textDocument": { "uri": URI }, "position": position });
    server.receive(json!({ "id": 5, "method": "textDocument/hover", "params": params }));
    assert_eq!(server.step()[0]["id"], 5);
    server.finish(job.run(&|source| check(source, &NoWorkflows)));
    assert_eq!(
        server.step()[0]["method"],
        "textDocument/publishDiagnostics"
    );
}

#[test]
fn what_was_found_in_an_older_text_is_not_published() {
    let mut client = Client::new();
    client.open(URI, FLOW);
    let change = |version: u32, text: &str| {
        let document = json!({ "uri": URI, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        json!({ "method": "textDocument/didChange", "params": params })
    };
    let server = client.server();
    server.receive(change(2, "id: ["));
    server.step();
    let job = server.job().unwrap();
    server.receive(change(3, FLOW));
    server.step();
    server.finish(job.run(&|source| check(source, &NoWorkflows)));
    assert!(server.is_idle(), "nothing is sent");
    let published = client.published(URI);
    assert_eq!(published["version"], 3);
    assert_eq!(published["diagnostics"], json!([]));
}

#[test]
fn the_protocol_is_kept() {
    let mut server = Server::new();
    let mut ask = |message: Value| {
        server.receive(message);
        let answers = server.step();
        answers.into_iter().next().unwrap_or_default()
    };
    let code = |answer: Value| answer["error"]["code"].clone();
    assert_eq!(
        code(ask(json!({ "id": 1, "method": "textDocument/hover" }))),
        -32002
    );
    let ready = ask(json!({ "id": 2, "method": "initialize", "params": {} }));
    assert_eq!(
        ready["result"]["capabilities"]["positionEncoding"],
        "utf-16"
    );
    assert_eq!(
        code(ask(json!({ "id": 3, "method": "initialize" }))),
        -32600
    );
    assert_eq!(code(ask(json!({ "id": 4, "method": "no/such" }))), -32601);
    assert_eq!(
        code(ask(
            json!({ "id": 5, "method": "textDocument/hover", "params": [] })
        )),
        -32602
    );
    assert_eq!(code(ask(json!(null))), -32600);
    assert_eq!(ask(json!({ "method": "$/setTrace" })), Value::Null);
    assert_eq!(ask(json!({ "id": 6, "method": "shutdown" }))["id"], 6);
    assert_eq!(
        code(ask(json!({ "id": 7, "method": "textDocument/hover" }))),
        -32600
    );
    assert!(!server.has_ended());
    server.receive(json!({ "method": "exit" }));
    server.step();
    assert!(server.has_ended() && server.is_shut_down());
}

#[test]
fn nothing_is_said_of_files_that_are_no_workflows() {
    let mut client = Client::new();
    assert_eq!(
        client.open("file:///p/compose.yaml", "services: {web: {image: x}}"),
        json!([])
    );
    assert_eq!(client.open("file:///p/broken.yaml", "a: ["), json!([]));
    let home = "file:///p/.interlock/workflows/broken.yaml";
    assert_eq!(client.open(home, "a: [")[0]["severity"], 1);
    let answer = client.ask("textDocument/hover", "file:///p/compose.yaml", (0, 2));
    assert_eq!(answer, Value::Null);
}

#[test]
fn a_closed_document_has_no_problems_any_more() {
    let mut client = Client::new();
    assert_ne!(
        client.open(URI, "id: f\ninitial: x\nstates: {w: {}}"),
        json!([])
    );
    client.notify(
        "textDocument/didClose",
        &json!({ "textDocument": { "uri": URI } }),
    );
    assert_eq!(client.published(URI)["diagnostics"], json!([]));
}
