//! The tools of MCP servers for a run's own stages: real servers, called from plain threads.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use interlock_core::{
    machine::Object,
    names::{CallId, RunId},
};
use interlock_project::{Environment, Servers};
use interlock_runner::mcp::{CallError, ToolServers, ToolServersSettings, WantedServer};
use interlock_store::Home;
use interlock_testkit::{
    interlock::Interlock, mcp::listening::Listening, processes, programs, room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// Time limit for any wait, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    room: Room,
    notes: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new() -> Self {
        Self {
            room: Room::new().unwrap(),
            notes: Arc::default(),
        }
    }

    /// Returns a word that is in the command lines of this world's servers only.
    fn word(&self) -> String {
        self.room.project().display().to_string()
    }

    fn script(&self, settings: &Value) -> Value {
        let mut settings = settings.clone();
        settings["marked"] = json!(self.word());
        let script = programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap();
        json!({"command": script, "args": [settings.to_string()]})
    }

    fn wanted(&self, name: &str, written: &Value) -> WantedServer {
        WantedServer::written(name, written.as_object().unwrap(), &self.room.project()).unwrap()
    }

    fn start(&self, wanted: Vec<WantedServer>) -> ToolServers {
        self.start_for(wanted, None)
    }

    fn start_for(&self, wanted: Vec<WantedServer>, run: Option<RunId>) -> ToolServers {
        let notes = Arc::clone(&self.notes);
        ToolServers::start(ToolServersSettings {
            environment: Environment {
                home: Home::at(self.room.state().join("interlock")),
                configuration: None,
                directory: self.room.project(),
                ..Environment::of_process().unwrap()
            },
            plugins: Vec::new(),
            wanted,
            configured: Servers::new(),
            run,
            reserved: Vec::new(),
            message_bytes_max: 1_000_000,
            note: Box::new(move |line| notes.lock().unwrap().push(line)),
        })
        .unwrap()
    }

    /// Waits until no server of this world runs any more.
    fn all_ended(&self) {
        let until = Instant::now() + PATIENCE;
        while !processes::with_word(&self.word()).is_empty() {
            assert!(Instant::now() < until, "servers run on");
            thread::yield_now();
        }
    }
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn object(value: &Value) -> Object {
    value.as_object().cloned().unwrap()
}

fn names(servers: &ToolServers) -> Vec<String> {
    let tools = servers.tools().unwrap();
    tools.into_iter().map(|tool| tool.name).collect()
}

fn pid(servers: &ToolServers, name: &str) -> u64 {
    let result = servers.call(name, Object::new(), None).wait().unwrap();
    result.structured.unwrap()["pid"].as_u64().unwrap()
}

#[test]
fn names_are_plain_where_they_are_unique_and_results_come_whole() {
    let world = World::new();
    let one = world.wanted(
        "one",
        &world.script(&json!({"tools": [tool("look", "Looks.")]})),
    );
    let modern =
        json!({"tools": [tool("two", "Twice."), tool("transition", "Ours?")], "era": "modern"});
    let mut two = world.wanted("My two!", &world.script(&modern));
    assert_eq!(two.name, "My-two");
    two.name = "two".to_owned();
    let servers = world.start(vec![one, two]);
    // Both servers have `do`; a tool that has the name of one of the gateway's own stays the server's here.
    assert_eq!(
        names(&servers),
        ["one__do", "look", "two__do", "two", "transition"]
    );
    let tools = servers.tools().unwrap();
    assert_eq!(
        (tools[1].server.as_str(), tools[1].tool.as_str()),
        ("one", "look")
    );
    assert_eq!(tools[1].definition["description"], "Looks.");
    assert_eq!(tools[0].definition["name"], "do");
    let content = json!([
        {"type": "text", "text": "first"}, {"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"},
    ]);
    for name in ["one__do", "look", "two__do", "two", "transition"] {
        let result = json!({"content": content, "structuredContent": {"name": name}, "isError": name == "look", "resultType": "complete"});
        let arguments = object(&json!({"steps": [{"result": result}]}));
        let called = servers.call(name, arguments, None).wait().unwrap();
        assert_eq!(called.ok, name != "look");
        assert_eq!(called.text, "first\n[image, image/png, 6 bytes]");
        assert_eq!(called.structured, Some(json!({"name": name})));
        assert_eq!(json!(called.content), content);
    }
    let refused = object(&json!({"steps": [{"error": {"code": -32602, "message": "not so"}}]}));
    let error = servers.call("look", refused, None).wait().unwrap_err();
    assert_eq!(
        (error.code(), error.to_string()),
        ("server_error", "not so".to_owned())
    );
    let error = servers
        .call("nothing", Object::new(), None)
        .wait()
        .unwrap_err();
    assert_eq!(error.code(), "unknown_tool");
    drop(servers);
    world.all_ended();
}

#[test]
fn every_transport_is_reached_as_it_is_written() {
    let world = World::new();
    let fixture = programs::built("interlock-fixture", "mcp-fixture", INTERLOCK).unwrap();
    let mut listen = world.room.command(&fixture);
    listen.args(["--http", "0"]);
    let listening = Listening::start(listen).unwrap();
    let written = [
        json!({"command": fixture, "args": [], "env": {"A": 1}}),
        json!({"url": listening.url(), "type": "streamable-http", "headers": {"X-A": "b"}, "auth_token": "t"}),
    ];
    for written in &written {
        let servers = world.start(vec![world.wanted("fixture", written)]);
        assert!(
            names(&servers).contains(&"test_simple_text".to_owned()),
            "{written}"
        );
        let result = servers
            .call("test_simple_text", Object::new(), None)
            .wait()
            .unwrap();
        assert!(
            result.ok && result.text.starts_with("This is"),
            "{}",
            result.text
        );
        let failed = servers
            .call("test_error_handling", Object::new(), None)
            .wait()
            .unwrap();
        assert!(!failed.ok, "{failed:?}");
    }
    // The gateway itself serves the older transport, HTTP with SSE, which a lone `url` selects, too.
    let config = format!("[mcp.fixture]\ncommand = {fixture:?}\n");
    world.room.write(".interlock/config.toml", &config).unwrap();
    let mut serve = world.room.command(INTERLOCK);
    serve.args(["serve", "--listen", "127.0.0.1:0"]);
    let serve = Listening::start(serve).unwrap();
    let url = serve.url().replace("/mcp", "/sse");
    let servers = world.start(vec![world.wanted("old", &json!({"url": url}))]);
    assert!(names(&servers).contains(&"test_simple_text".to_owned()));
    let result = servers
        .call("test_simple_text", Object::new(), None)
        .wait()
        .unwrap();
    assert!(result.text.starts_with("This is"), "{}", result.text);
    for (wrong, why) in [
        (json!({}), "neither"),
        (json!({"command": "a", "url": "http://b"}), "both"),
        (json!({"command": "a", "type": "sse"}), "`stdio`"),
        (json!({"url": "ftp://b"}), "not an address"),
        (json!({"url": "http://b", "type": "pigeon"}), "pigeon"),
        (json!({"command": "a", "args": [["b"]]}), "`args`"),
        (json!({"command": "a", "timeout": 5}), "`timeout`"),
    ] {
        let root = PathBuf::from("/");
        let refused = WantedServer::written("x", wrong.as_object().unwrap(), &root).unwrap_err();
        assert!(refused.contains(why), "{wrong}: {refused}");
    }
}

#[test]
fn only_what_is_taken_is_there() {
    let world = World::new();
    let tools = json!({"tools": [tool("look", "Looks."), tool("touch", "Touches.")]});
    let mut one = world.wanted("one", &world.script(&tools));
    one.only = Some(vec!["look".to_owned()]);
    let servers = world.start(vec![one]);
    assert_eq!(names(&servers), ["look"]);
    let error = servers
        .call("touch", Object::new(), None)
        .wait()
        .unwrap_err();
    assert_eq!(error.code(), "unknown_tool");
}

#[test]
fn a_definition_that_changes_is_refused_until_a_person_accepts_it() {
    let world = World::new();
    let states = json!({"free": {"on": {"END": "done"}}, "done": {"type": "final"}});
    let workflow = json!({"id": "work", "initial": "free", "states": states});
    world
        .room
        .write("workflow.json", &workflow.to_string())
        .unwrap();
    let interlock = Interlock::new(INTERLOCK, &world.room);
    let run = interlock.start("workflow.json").unwrap();
    for pinned in [None, Some(RunId::new(run.clone()))] {
        let tools = json!({"tools": [tool("look", "Looks.")]});
        let one = world.wanted("one", &world.script(&tools));
        let servers = world.start_for(vec![one], pinned.clone());
        assert_eq!(names(&servers), ["do", "look"]);
        let changed = json!([tool("look", "Looks, and tells others.")]);
        let told = json!({"method": "notifications/tools/list_changed"});
        let steps = object(&json!({"steps": [{"set_tools": changed}, {"send": told}]}));
        servers.call("do", steps, None).wait().unwrap();
        let error = servers
            .call("look", Object::new(), None)
            .wait()
            .unwrap_err();
        assert!(matches!(error, CallError::Changed(_)), "{error}");
        assert!(error.to_string().contains("description changed"), "{error}");
        assert_eq!(names(&servers), ["do"], "nor is it shown to a model");
        if pinned.is_none() {
            continue;
        }
        // The pins are stored beside the log: a restart of everything changes nothing.
        drop(servers);
        let tools = json!({"tools": changed});
        let servers = world.start_for(vec![world.wanted("one", &world.script(&tools))], pinned);
        assert_eq!(names(&servers), ["do"]);
        interlock
            .by_a_person(&["tools", &run, "--accept", "one", "look"])
            .unwrap();
        assert_eq!(names(&servers), ["do", "look"]);
        servers.call("look", Object::new(), None).wait().unwrap();
    }
}

#[test]
fn a_list_that_could_not_be_read_is_read_again() {
    let world = World::new();
    let tools = json!({"tools": [tool("look", "Looks.")]});
    let servers = world.start(vec![world.wanted("one", &world.script(&tools))]);
    assert_eq!(names(&servers), ["do", "look"]);
    let changed = json!([tool("look", "Looks, and tells others.")]);
    let told = json!({"method": "notifications/tools/list_changed"});
    let steps =
        object(&json!({"steps": [{"set_tools": changed}, {"fail_lists": 1}, {"send": told}]}));
    servers.call("do", steps, None).wait().unwrap();
    let look = || {
        servers
            .call("look", Object::new(), None)
            .wait()
            .unwrap_err()
    };
    // What may have changed is not called, and what has changed is seen as soon as it can be.
    let error = look();
    assert!(error.to_string().contains("no list today"), "{error}");
    let error = look();
    assert!(matches!(error, CallError::Changed(_)), "{error}");
}

#[test]
fn a_call_that_is_dropped_or_takes_too_long_is_cancelled_at_its_server() {
    let world = World::new();
    let log = world.room.path("server.log");
    let script = world.script(&json!({"tools": [tool("wait", "Waits.")], "log": log}));
    let servers = Arc::new(world.start(vec![world.wanted("one", &script)]));
    names(&servers);
    let steps = || object(&json!({"steps": [{"until_cancelled": true}]}));
    let logged = |word: &str| {
        let until = Instant::now() + PATIENCE;
        while !std::fs::read_to_string(&log).unwrap().contains(word) {
            assert!(Instant::now() < until, "`{word}` never came to the server");
            thread::yield_now();
        }
    };
    let call = servers.call("wait", steps(), None);
    logged("until_cancelled");
    assert_eq!(call.wait_for(Duration::from_millis(1)), None);
    call.cancel();
    logged("notifications/cancelled");
    let late = servers.call("wait", steps(), Some(Duration::from_millis(50)));
    assert_eq!(late.wait().unwrap_err().code(), "timeout");
    // A call that waits while everything ends gets an error, and no process stays.
    let waiting = Arc::clone(&servers);
    let call = waiting.call("wait", steps(), None);
    drop((servers, waiting));
    assert_eq!(call.wait().unwrap_err().code(), "cancelled");
    world.all_ended();
}

#[test]
fn a_server_for_single_use_is_begun_for_each_call_and_ended_with_it() {
    let world = World::new();
    let mut written = world.script(
        &json!({"tools": [tool("look", "Looks."), tool("pause", "Is the gateway's, too.")]}),
    );
    written["single_usage"] = json!(true);
    let fresh = world.wanted("fresh", &written);
    assert!(fresh.single_usage);
    let kept = world.wanted(
        "kept",
        &world.script(&json!({"tools": [tool("stay", "Stays.")]})),
    );
    let servers = world.start(vec![fresh, kept]);
    assert_eq!(
        names(&servers),
        ["fresh__do", "look", "pause", "kept__do", "stay"]
    );
    let of = |name: &str| -> BTreeSet<u64> { (0..3).map(|_| pid(&servers, name)).collect() };
    assert_eq!(
        (of("look").len(), of("pause").len(), of("stay").len()),
        (3, 3, 1)
    );
    drop(servers);
    world.all_ended();
}

#[test]
fn many_threads_call_at_once_and_each_gets_its_own_answer() {
    let world = World::new();
    let script = world.script(&json!({"tools": [tool("look", "Looks.")]}));
    let servers = world.start(vec![world.wanted("one", &script)]);
    names(&servers);
    thread::scope(|scope| {
        for number in 0..16 {
            let servers = &servers;
            scope.spawn(move || {
                for round in 0..20 {
                    let mark = format!("{number}/{round}");
                    let result = json!({"content": [{"type": "text", "text": mark}]});
                    let steps = object(&json!({"steps": [{"result": result}]}));
                    let called = servers.call("look", steps, None).wait().unwrap();
                    assert_eq!(called.text, mark);
                }
            });
        }
    });
}

#[test]
fn a_server_that_is_down_is_said_and_leaves_the_others_alone() {
    let world = World::new();
    let script = world.script(&json!({"tools": [tool("look", "Looks.")]}));
    let gone = world.wanted("gone", &json!({"command": "/nothing/here"}));
    let servers = world.start(vec![gone.clone(), world.wanted("one", &script)]);
    assert_eq!(names(&servers), ["do", "look"]);
    assert_eq!(servers.silent(), ["gone"]);
    assert!(
        world
            .notes
            .lock()
            .unwrap()
            .iter()
            .any(|note| note.contains("/nothing/here"))
    );
    drop(servers);
    let servers = world.start(vec![gone]);
    let error = servers.tools().unwrap_err();
    assert!(error.to_string().contains("/nothing/here"), "{error}");
}

#[test]
fn what_a_call_would_do_is_found_for_its_judge() {
    let world = World::new();
    let script = world.script(&json!({"tools": [tool("write_file", "Writes.")]}));
    let servers = world.start(vec![world.wanted("files", &script)]);
    let arguments = object(&json!({"path": "a.txt", "content": "x\ny\n"}));
    let id = || CallId::new("c1");
    assert_eq!(
        servers.proposed(id(), "write_file", &arguments),
        None,
        "nothing was listed"
    );
    names(&servers);
    let call = servers.proposed(id(), "write_file", &arguments).unwrap();
    assert!(
        call.served_as
            .contains(&"mcp__files__write_file".to_owned()),
        "{call:?}"
    );
    let facts = format!("{:?}", call.facts);
    assert!(facts.contains("a.txt"), "{facts}");
}
