//! Tool states and custom nodes: real files, a real server, secret values.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::unix::fs::symlink,
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread,
};

use interlock_core::{
    event::Event,
    machine::{Machine, ServerWork},
};
use interlock_models::Kind;
use interlock_runner::{Configured, Halt, Nodes, NotStarted, People, ServerRequest, Servers};
use interlock_testkit::provider::{Reply, Script, text};
use interlock_tools::Datasource;
use serde_json::{Value, json};

use crate::runs::{
    flow::{Room, into, to},
    stages::{Scripted, stages},
};

/// A configuration with one integration.
struct Values;

impl Configured for Values {
    fn start(
        &self,
        _: &ServerRequest,
        _: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted> {
        Err(NotStarted {
            why: "no server can be started here".to_owned(),
            passing: false,
        })
    }

    fn trusts_project(&self) -> bool {
        true
    }

    fn server(&self, _: &str) -> Option<ServerWork> {
        None
    }

    fn servers(&self) -> Vec<(String, ServerWork)> {
        Vec::new()
    }

    fn integration(&self, alias: &str) -> Result<Vec<(String, String)>, String> {
        match alias {
            "api" => Ok(vec![("TOKEN".to_owned(), "very-secret-value".to_owned())]),
            _ => Err(format!("the configuration has no `[integrations.{alias}]`")),
        }
    }

    fn run(&self, id: &str) -> Result<(Machine, Vec<Event>), String> {
        Err(format!("there is no run `{id}`"))
    }
}

/// Returns a state that computes `input` and continues with `next`, or ends.
pub(crate) fn node(kind: &str, input: Value, next: Option<&str>) -> Value {
    json!({
        "activity": {"task": {"kind": {"node": kind}, "input": {"plain": input}}},
        "on": {"done": {"transitions": [to(next)]}},
    })
}

pub(crate) fn tool(name: &str, arguments: Value) -> Value {
    let work = json!({"tool": name, "arguments": arguments});
    into(node("tool_call", work, None), "out")
}

pub(crate) fn room(context: Value, states: Value) -> Room {
    let machine = json!({
        "id": "flow", "initial": "a", "durable": true, "context": context, "states": states,
    });
    Room::new(serde_json::from_value::<Machine>(machine).unwrap().seal())
}

fn drive(room: &Room) {
    let project = room.project();
    let place = interlock_facts::CallContext::of_project(project.to_str().unwrap())
        .resolved(&interlock_facts::RealDisk);
    let decided = interlock_confine::Decided::default();
    let mut nodes = Nodes::new(place, decided, "interlock".into(), Arc::new(Values));
    let handbook = project.parent().unwrap().join("handbook");
    if handbook.exists() {
        nodes.datasources = vec![Datasource::at("handbook", &handbook).unwrap()];
    }
    let nodes = Arc::new(nodes);
    let mut host = room.host_with(|context| context.nodes = Some(nodes));
    assert_eq!(host.drive(&room.machine).unwrap(), Halt::Over);
}

/// Returns the code and the message of every failed attempt, in order.
pub(crate) fn failures(room: &Room) -> Vec<(String, String)> {
    let events = room.events().into_iter();
    let failed = events.filter_map(|event| match event {
        Event::ActivityEnded { error, .. } => error,
        Event::AttemptFailed { error, .. } => Some(error),
        _ => None,
    });
    let code = |code: &Value| {
        code.as_str()
            .map_or_else(|| code.to_string(), str::to_owned)
    };
    failed
        .map(|cause| (code(&cause.code), cause.message))
        .collect()
}

/// Sends these responses, one per connection, and reports the requests.
fn server(answers: &[&str]) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answers: Vec<String> = answers.iter().map(ToString::to_string).collect();
    let (tell, got) = channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            tell.send(head.join("\n")).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, got)
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

#[test]
fn a_tool_gets_arguments_of_the_context_and_gives_its_output() {
    let write = json!({"tool": "write_file", "arguments": {
        "path": "{{ folder }}/a.txt", "content": "one\ntwo {{ folder }}",
    }});
    let read = json!({"tool": "read_file", "arguments": {
        "path": "{{ folder }}/a.txt", "offset": "1", "limit": null,
    }});
    let room = room(
        json!({"folder": "out"}),
        json!({
            "a": into(node("tool_call", write, Some("b")), "wrote"),
            "b": into(node("tool_call", read, None), "out"),
        }),
    );
    drive(&room);
    assert_eq!(room.code(), Some(0), "{:?}", failures(&room));
    let wrote: Value = serde_json::from_str(room.variable("wrote").as_str().unwrap()).unwrap();
    assert_eq!(wrote["bytes"], json!(11));
    assert_eq!(room.variable("out"), json!("two out"));
    let written = fs::read_to_string(room.project().join("out/a.txt")).unwrap();
    assert_eq!(written, "one\ntwo out");
}

#[test]
fn a_path_that_leads_out_is_refused() {
    for path in ["../secret.txt", "link/secret.txt", "/etc/hostname"] {
        let room = room(
            json!({}),
            json!({"a": tool("read_file", json!({"path": path}))}),
        );
        let outside = room.project().parent().unwrap().to_owned();
        fs::write(outside.join("secret.txt"), "secret").unwrap();
        symlink(&outside, room.project().join("link")).unwrap();
        drive(&room);
        let failed = failures(&room);
        assert_eq!(failed[0].0, "tool_failed", "{path}");
        assert!(failed[0].1.contains("outside_project"), "{}", failed[0].1);
    }
}

#[test]
fn a_datasource_is_no_place_outside() {
    let read = tool("read_file", json!({"path": "{{ path }}"}));
    let room = room(json!({"path": "../handbook/a.md"}), json!({"a": read}));
    let handbook = room.project().parent().unwrap().join("handbook");
    fs::create_dir(&handbook).unwrap();
    fs::write(handbook.join("a.md"), "text").unwrap();
    drive(&room);
    assert_eq!(room.variable("out"), json!("text"), "{:?}", failures(&room));
}

#[test]
fn arguments_that_do_not_fit_are_not_tried_again() {
    for (arguments, part) in [
        (json!({"path": "a", "limit": "many"}), "limit"),
        (json!({"path": "a", "other": 1}), "other"),
        (json!({"offset": 1}), "path"),
    ] {
        let mut state = tool("read_file", arguments);
        state["retry"] = json!({
            "attempts": 3, "wait_ms": 1, "backoff": "1", "wait_max_ms": 1, "only_passing": true,
        });
        let room = room(json!({}), json!({"a": state}));
        drive(&room);
        let failed = failures(&room);
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].0, "tool_arguments");
        assert!(failed[0].1.contains(part), "{}", failed[0].1);
    }
}

#[test]
fn the_policy_of_the_state_holds_its_tool() {
    for policy in [
        json!({"disallowed_tools": ["write_file"]}),
        json!({"disallowed_tools": ["Write"]}),
        json!({"allowed_tools": ["read_file"]}),
    ] {
        let mut state = tool("write_file", json!({"path": "a", "content": "x"}));
        state["policy"] = policy.clone();
        let room = room(json!({}), json!({"a": state}));
        drive(&room);
        assert_eq!(failures(&room)[0].0, "tool_failed", "{policy}");
        assert!(!room.project().join("a").exists(), "{policy}");
    }
}

#[test]
fn what_may_pass_is_tried_again_and_nothing_else() {
    for (answers, tries, code) in [
        (&["503 Busy", "429 Slow", "200 OK"][..], 3, 0),
        (&["404 Not Found"], 1, 1),
        (&["401 No"], 1, 1),
    ] {
        let texts: Vec<String> = answers
            .iter()
            .map(|status| answer(status, "body"))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (address, _got) = server(&texts);
        let mut state = tool("http_request", json!({"url": address}));
        state["retry"] = json!({
            "attempts": 5, "wait_ms": 1, "backoff": "1", "wait_max_ms": 1, "only_passing": true,
        });
        let room = room(json!({}), json!({"a": state}));
        drive(&room);
        assert_eq!(
            room.code(),
            Some(code),
            "{answers:?}: {:?}",
            failures(&room)
        );
        assert_eq!(room.starts(), tries);
        assert_eq!(
            failures(&room).len(),
            if code == 0 { tries - 1 } else { tries }
        );
    }
}

#[test]
fn values_of_an_integration_reach_the_tool_and_nobody_else() {
    let echo = answer("200 OK", "you sent very-secret-value");
    let (address, got) = server(&[&echo]);
    let mut work = json!({"tool": "http_request", "integration": "api", "arguments": {
        "url": address, "headers": {"Authorization": "Bearer {{ TOKEN }}"},
    }});
    let state = into(node("tool_call", work.clone(), None), "out");
    let first = room(json!({}), json!({"a": state}));
    drive(&first);
    assert!(got.recv().unwrap().contains("Bearer very-secret-value"));
    assert_eq!(first.variable("out"), json!("you sent [secret]"));
    let log = format!("{:?}", first.events());
    assert!(!log.contains("very-secret-value"), "{log}");
    work["integration"] = json!("gone");
    let second = room(json!({}), json!({"a": node("tool_call", work, None)}));
    drive(&second);
    assert!(failures(&second)[0].1.contains("[integrations.gone]"));
}

#[test]
fn a_tool_that_nobody_has_is_named() {
    let room = room(json!({}), json!({"a": tool("tracker/list", json!({}))}));
    drive(&room);
    let failed = failures(&room);
    assert_eq!(failed[0].0, "undefined_tool");
    assert!(failed[0].1.contains("`tracker/list`"), "{}", failed[0].1);
}

#[test]
fn a_transform_needs_no_model_and_no_place() {
    let work = json!({
        "mappings": [{"field": "n", "rule": {"extract": {"path": "a.b"}}}],
        "output_schema": {"properties": {"n": {"type": "integer"}}, "required": ["n"]},
    });
    for (context, code, out) in [
        (json!({"a": {"b": "7"}}), 0, json!(r#"{"n":7}"#)),
        (json!({"a": {"b": "x"}}), 1, json!(null)),
    ] {
        let state = into(node("transform", work.clone(), None), "out");
        let room = room(context, json!({"a": state}));
        assert_eq!(room.drive(), Halt::Over);
        assert_eq!((room.code(), room.variable("out")), (Some(code), out));
        if code == 1 {
            assert_eq!(failures(&room)[0].0, "transform_error");
        }
    }
}

#[test]
fn documents_are_listed_with_what_is_wanted_of_them() {
    let work = json!({
        "datasources": ["handbook"], "filter": ["*.md"], "output_key": "tree", "content": true,
    });
    let state = into(node("documents_tree", work, None), "out");
    let room = room(json!({}), json!({"a": state}));
    let handbook = room.project().parent().unwrap().join("handbook");
    fs::create_dir_all(handbook.join("guide")).unwrap();
    fs::write(handbook.join("guide/a.md"), "text").unwrap();
    fs::write(handbook.join("b.md"), b"\xff\xfe").unwrap();
    fs::write(handbook.join("c.txt"), "no").unwrap();
    symlink("/etc/hostname", handbook.join("link.md")).unwrap();
    drive(&room);
    let out: Value = serde_json::from_str(room.variable("out").as_str().unwrap()).unwrap();
    assert_eq!(
        out,
        json!({"tree": [
            {"source": "handbook:b.md", "file_path": "b.md", "chunk_num": 0},
            {"source": "handbook:guide/a.md", "file_path": "guide/a.md", "chunk_num": 0, "content": "text"},
        ]})
    );
}

#[test]
fn documents_have_their_size_where_that_is_wanted() {
    let work = json!({"datasources": ["handbook"], "output_key": "tree", "metadata": true});
    let state = into(node("documents_tree", work, None), "out");
    let room = room(json!({}), json!({"a": state}));
    let handbook = room.project().parent().unwrap().join("handbook");
    fs::create_dir_all(&handbook).unwrap();
    fs::write(handbook.join("a.md"), "text").unwrap();
    drive(&room);
    let out: Value = serde_json::from_str(room.variable("out").as_str().unwrap()).unwrap();
    let about = &out["tree"][0]["metadata"];
    assert_eq!(about["size"], json!(4), "{out}");
    assert!(
        about["modified_ms"].as_u64().unwrap() > 1_700_000_000_000,
        "{out}"
    );
}

#[test]
fn a_datasource_that_is_not_there_is_named() {
    let work = json!({"datasources": ["wiki"], "output_key": "tree"});
    let room = room(json!({}), json!({"a": node("documents_tree", work, None)}));
    drive(&room);
    assert!(failures(&room)[0].1.contains("[datasources.wiki]"));
}

/// Returns a run of two states with outputs, one that failed, and a node that reads them.
fn looked_back(work: Value) -> Room {
    let constant =
        |value: Value| json!({"mappings": [{"field": "file", "rule": {"constant": value}}]});
    let broken = json!({"tool": "read_file", "arguments": {"path": "gone.txt"}});
    let mut failing = node("tool_call", broken, None);
    failing["on"]["error"] = json!({"transitions": [to(Some("other"))]});
    let mut first = node("transform", constant(json!("a.rs")), Some("part-two"));
    first["on"]["done"] = json!({"transitions": [to(Some("part-two"))]});
    room(
        json!({"who": "ana"}),
        json!({
            "a": node("transform", json!({"mappings": []}), Some("part-one")),
            "part-one": first,
            "part-two": node("transform", constant(json!("b.rs")), Some("part-bad")),
            "part-bad": failing,
            "other": node("transform", constant(json!("no")), Some("part-all")),
            "part-all": into(node("state_records", work, None), "out"),
        }),
    )
}

#[test]
fn records_are_those_of_states_that_begin_so_and_ended_so() {
    let template = "{% for item in items %}{{ item.index }} {{ item.state_id }} {{ item.status }} {{ item.file }} {{ item.output.file }} {{ who }}\n{% endfor %}";
    for (statuses, wanted) in [
        (
            json!(["succeeded"]),
            "1 part-one succeeded a.rs a.rs ana\n2 part-two succeeded b.rs b.rs ana",
        ),
        (json!([]), ""),
    ] {
        let room = looked_back(json!({"state": "part-", "statuses": statuses, "output": template}));
        drive(&room);
        assert_eq!(room.variable("out"), json!(wanted), "{:?}", failures(&room));
    }
    let room = looked_back(json!({"state": "part-", "statuses": ["failed"]}));
    drive(&room);
    let items: Value = serde_json::from_str(room.variable("out").as_str().unwrap()).unwrap();
    let only = &items[0];
    assert_eq!(items.as_array().unwrap().len(), 1);
    assert_eq!(
        (&only["state_id"], &only["status"]),
        (&json!("part-bad"), &json!("failed"))
    );
    assert!(only["output"].as_str().unwrap().contains("gone.txt"));
}

#[test]
fn a_model_is_asked_once_a_record() {
    let said = |words: &str| Reply::say(vec![text(words)]);
    let script = Script::replies(vec![
        said("Here: {\"summary\": \"one\"}"),
        said("```json\n{\"summary\": \"two\"}\n```"),
    ]);
    let models = Scripted::new(Kind::Anthropic, script);
    let room = looked_back(json!({
        "state": "part-", "statuses": ["succeeded", "failed"], "task": "Sum up {{ item.file }} for {{ who }}.",
        "output": "{% for item in items %}{{ item.summary | default('-') }} of {{ item.state_id }};{% endfor %}",
    }));
    let stages = stages(&room, &models, People::default());
    let mut host = room.host_with(|context| context.stages = Some(stages));
    assert_eq!(host.drive(&room.machine).unwrap(), Halt::Over);
    assert_eq!(
        room.variable("out"),
        json!("one of part-one;two of part-two;- of part-bad;"),
        "{:?}",
        failures(&room)
    );
    let asked = models.asked();
    assert_eq!(asked.len(), 2);
    let sent = format!("{asked:?}");
    assert!(sent.contains("Sum up a.rs for ana."), "{sent}");
    let told = room.events().into_iter().filter_map(|event| match event {
        Event::ModelResponded { turn, usage, .. } => Some((turn, usage.tokens() > 0)),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(1, true), (2, true)]);
}
