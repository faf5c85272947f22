//! What happens around the calls of a guarded session: servers, traces, protected files.

use std::fs;

use interlock_testkit::{
    mcp::{http, listening::Listening, stdio::Client},
    programs,
};
use serde_json::{Value, json};

use super::{INTERLOCK, World, call, code, seen, two_states};

#[test]
fn a_call_that_is_only_told_reaches_no_server() {
    let world = World::new(&two_states(), "planning");
    world.start();
    let mut client = world.open(&json!({}));
    // A server that carries out requests without an id would carry this one out unjudged.
    let write = json!({"name": "write_file", "arguments": {"path": "a", "content": "x"}});
    client.tell("tools/call", &write).unwrap();
    client
        .tell("resources/read", &json!({"uri": "file:///x"}))
        .unwrap();
    client.tell("notifications/unknown", &json!({})).unwrap();
    call(&mut client, "look", &json!({}));
    assert_eq!(world.reached("write_file"), 0);
    let log = fs::read_to_string(world.room.path("server.log")).unwrap();
    assert!(!log.contains("resources/read"), "{log}");
    assert!(log.contains("notifications/unknown"), "{log}");
}

#[test]
fn a_protected_file_that_changed_stops_the_next_call() {
    let states = json!({"free": {"on": {"END": "done"}}, "done": {"type": "final"}});
    let world = World::new(&states, "free");
    world.room.write(".claude/settings.json", "{}").unwrap();
    let run = world.start();
    let mut client = world.open(&json!({}));
    call(&mut client, "look", &json!({}));
    // Changed by something other than a tool: nothing passes before a person has seen it.
    let hooks = "{\"hooks\": {\"Stop\": [1]}}";
    world.room.write(".claude/settings.json", hooks).unwrap();
    assert_eq!(code(&call(&mut client, "look", &json!({}))), "paused");
    assert_eq!(world.reached("look"), 1);
    let end = json!({"event": "END"});
    let moved = call(&mut client, "interlock_transition", &end);
    assert_eq!(code(&moved), "paused");
    let status = world.interlock().status(&run).unwrap();
    assert_eq!(status["status"], "paused");
    assert!(
        status.to_string().contains(".claude/settings.json"),
        "{status}"
    );
    world.interlock().by_a_person(&["resume", &run]).unwrap();
    call(&mut client, "look", &json!({}));
    assert_eq!(world.reached("look"), 2);
    drop(client);
    // Another process of the gateway compares with the same baseline.
    world.room.write(".mcp.json", "{}").unwrap();
    let mut client = world.open(&json!({}));
    assert_eq!(code(&call(&mut client, "look", &json!({}))), "paused");
    assert_eq!(world.reached("look"), 2);
}

/// Returns a configuration of scripted servers, none of which has resources.
fn servers(world: &World, names: &[&str]) -> String {
    let script = programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap();
    let settings = json!({"tools": world.tools, "log": world.room.path("server.log")});
    let server = json!({"command": script, "args": [settings.to_string()]});
    names
        .iter()
        .map(|name| {
            let (command, argument) = (&server["command"], &server["args"][0]);
            format!("[mcp.{name}]\ncommand = {command}\nargs = [{argument}]\n")
        })
        .collect()
}

#[test]
fn a_forbidden_resource_is_refused_also_where_no_server_has_any() {
    let states = json!({"free": {"on": {"END": "done"}}, "done": {"type": "final"}});
    for names in [&["one", "two"][..], &["one"]] {
        let world = World::new(&states, "free");
        let config = servers(&world, names);
        world.room.write(".interlock/config.toml", &config).unwrap();
        check_that_it_is_refused(&world);
    }
}

fn check_that_it_is_refused(world: &World) {
    let run = world.start();
    let mut command = world.room.command(INTERLOCK);
    command.arg("gateway");
    let mut client = Client::open(command, "2025-11-25", &json!({})).unwrap().0;
    let state = world.room.state().join("interlock");
    let uri = format!("file://{}/token.json", state.display());
    for method in ["resources/read", "resources/subscribe"] {
        let answer = client.request(method, &json!({ "uri": uri })).unwrap();
        assert_eq!(answer["error"]["data"]["code"], "protected", "{answer}");
        let harmless = json!({"uri": "file:///nothing"});
        let answer = client.request(method, &harmless).unwrap();
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    let events = world.interlock().events(&run).unwrap();
    let denied = events.iter().filter(|event| event["event"] == "CallDenied");
    assert_eq!(denied.count(), 2);
}

#[test]
fn the_servers_of_a_wrapped_workflow_are_behind_its_gateway() {
    let world = World::new(&two_states(), "planning");
    let script = programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap();
    let settings = json!({"tools": world.tools, "log": world.room.path("server.log")});
    let wrapped = json!({
        "definition": {"id": "work", "initial": "planning", "states": two_states()},
        "upstream_servers": {"files": {"command": script, "args": [settings.to_string()]}},
    });
    let place = ".interlock/workflows/work.json";
    world.room.write(place, &wrapped.to_string()).unwrap();
    let open = |arguments: &[&str]| {
        let mut command = world.room.command(INTERLOCK);
        command.arg("gateway").args(arguments);
        Client::open(command, "2025-11-25", &json!({})).unwrap().0
    };
    assert_eq!(seen(&mut open(&[])), [""; 0], "nobody has named it");
    assert!(seen(&mut open(&["--servers-of", "work"])).contains(&"look".to_owned()));
    // Over HTTP as well.
    let mut serve = world.room.command(INTERLOCK);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--servers-of", "work"]);
    let serve = Listening::start(serve).unwrap();
    let mut client = http::Client::new(serve.url()).unwrap();
    client.open("2025-11-25", &json!({})).unwrap();
    let list = client.request("tools/list", &json!({})).unwrap();
    assert!(list.to_string().contains("\"look\""), "{list}");
    let looked = client.call("look", &json!({})).unwrap();
    assert!(looked["result"].is_object(), "{looked}");
    assert_eq!(world.reached("look"), 1);
    drop(serve);
    // Errors in the servers are reported at the start.
    for command in ["gateway", "serve"] {
        let wrong = world
            .interlock()
            .run(&[command, "--servers-of", "nothing"])
            .unwrap();
        assert!(!wrong.status.success());
        let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
        assert!(told.contains("nothing"), "{told}");
    }
    // As the project's policy it brings its servers with it, too, and guards them.
    world
        .room
        .write(".interlock/config.toml", "workflow = \"work\"\n")
        .unwrap();
    let mut client = open(&[]);
    assert_eq!(seen(&mut client), ["look"]);
    call(&mut client, "look", &json!({}));
    let write = json!({"path": "a", "content": "x"});
    assert_eq!(
        code(&call(&mut client, "write_file", &write)),
        "tool_not_allowed"
    );
    assert_eq!((world.reached("look"), world.reached("write_file")), (2, 0));
}

#[test]
fn a_call_belongs_to_the_trace_that_its_client_names() {
    let states = json!({"free": {"on": {"END": "done"}}, "done": {"type": "final"}});
    let world = World::new(&states, "free");
    let run = world.start();
    let trace = |trace: char, span: char| {
        let (trace, span) = (trace.to_string().repeat(32), span.to_string().repeat(16));
        format!("00-{trace}-{span}-01")
    };
    let mut command = world.command();
    command.env("TRACEPARENT", trace('a', 'b'));
    let mut client = Client::open(command, "2025-11-25", &json!({})).unwrap().0;
    let params =
        json!({"name": "look", "arguments": {}, "_meta": {"traceparent": trace('c', 'd')}});
    client.request("tools/call", &params).unwrap();
    call(
        &mut client,
        "write_file",
        &json!({"path": "a", "content": "x"}),
    );
    let ended = call(
        &mut client,
        "interlock_transition",
        &json!({"event": "END"}),
    );
    assert_eq!(ended["result"]["isError"], false, "{ended}");
    drop(client);
    let told = world
        .interlock()
        .run(&["telemetry", "--stdout", &run])
        .unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let spans = told["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    let named = |end: &str| {
        let found = spans
            .iter()
            .find(|span| span["name"].as_str().unwrap().ends_with(end));
        found.unwrap()
    };
    let state = named("state free");
    for (tool, trace, parent) in [("look", "c", "d"), ("write_file", "a", "b")] {
        let span = named(tool);
        assert_eq!(span["traceId"], trace.repeat(32), "{span}");
        assert_eq!(span["parentSpanId"], parent.repeat(16), "{span}");
        // The link to the run is kept.
        assert_eq!(span["links"][0]["spanId"], state["spanId"]);
        assert_eq!(span["links"][0]["traceId"], state["traceId"]);
    }
    assert_eq!(state.get("links"), None);
}
