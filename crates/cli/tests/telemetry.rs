//! Spans of runs, as a collector receives them.

mod stages;

use std::{
    collections::BTreeSet,
    io::Write as _,
    process::{Command, Output, Stdio},
};

use interlock_testkit::{
    collector::{Collector, Posted},
    interlock::{Interlock, before_tool},
    room::Room,
    terminal,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const FLOW: &str = "id: shop
initial: draft
states:
  draft: {allowed_tools: [Read], on: {DONE: done}}
  done: {type: final}
";

struct Scene {
    room: Room,
    collector: Collector,
    run: String,
    /// The token of the person, made below the process that plays the client.
    token: String,
}

impl Scene {
    fn new(status: &'static str) -> Self {
        let room = Room::new().unwrap();
        room.write("flow.yaml", FLOW).unwrap();
        let collector = Collector::start(status).unwrap();
        let run = Interlock::new(INTERLOCK, &room)
            .start_for_session("flow.yaml", "s1")
            .unwrap();
        let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
        let text = String::from_utf8(shown.stdout).unwrap();
        let token = text.lines().last().unwrap().to_owned();
        Self {
            room,
            collector,
            run,
            token,
        }
    }

    fn hook(&self, told: &Value, variables: &[(&str, &str)]) -> Output {
        let mut command = self.room.command(INTERLOCK);
        command.args(["hook", "claude-code"]);
        command.envs(variables.iter().copied());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let text = told.to_string();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap()
    }

    /// Plays a call that is allowed and ends, one that is refused, and the end of the run.
    fn play(&self) {
        let read = json!({ "file_path": self.room.file("secret-plan.md") });
        let allowed = before_tool(&self.room, "s1", "t1", "Read", &read);
        let mut ended = allowed.clone();
        ended["hook_event_name"] = json!("PostToolUse");
        ended["tool_response"] = json!("text");
        let refused = before_tool(&self.room, "s1", "t2", "WebFetch", &json!({ "url": "x" }));
        for told in [allowed, ended, refused] {
            assert!(self.hook(&told, &[]).status.success());
        }
        let mut send = self.room.command(INTERLOCK);
        send.args(["send", "DONE", "--run", &self.run]);
        send.env("INTERLOCK_TOKEN", &self.token);
        ends(send, 0);
    }

    fn telemetry(&self, arguments: &[&str]) -> Command {
        let mut command = self.room.command(INTERLOCK);
        command
            .arg("telemetry")
            .args(arguments)
            .stdin(Stdio::null());
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", self.collector.endpoint());
        command
    }
}

#[track_caller]
fn ends(mut command: Command, code: i32) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{errors}");
    errors
}

fn spans(posted: &[Posted]) -> Vec<Value> {
    posted.iter().flat_map(Posted::spans).collect()
}

fn attribute<'s>(span: &'s Value, name: &str) -> &'s Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|one| one["key"] == name);
    found.map_or(&Value::Null, |one| &one["value"]["stringValue"])
}

#[test]
fn no_proxy_stands_before_a_collector_of_this_machine() {
    let scene = Scene::new("200 OK");
    scene.play();
    let mut command = scene.telemetry(&[&scene.run]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        // Nobody listens on this port.
        command.env(name, "http://127.0.0.1:9");
    }
    ends(command, 0);
    assert_eq!(scene.collector.posted().len(), 1);
}

#[test]
fn a_run_its_states_and_its_calls_are_spans() {
    let scene = Scene::new("200 OK");
    scene.play();
    let mut command = scene.telemetry(&[&scene.run]);
    command.env("OTEL_SERVICE_NAME", "guard");
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20k");
    ends(command, 0);
    let posted = scene.collector.posted();
    assert_eq!(posted.len(), 1);
    assert_eq!(posted[0].path, "/v1/traces");
    assert_eq!(posted[0].header("authorization"), Some("Bearer k"));
    assert_eq!(posted[0].header("content-type"), Some("application/json"));
    let resource = &posted[0].body["resourceSpans"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), "guard");
    let spans = spans(&posted);
    let of = |name: &str| {
        let found = spans.iter().find(|span| span["name"] == name);
        found.unwrap_or_else(|| panic!("no `{name}` in {spans:?}"))
    };
    let (run, state) = (of("invoke_agent claude-code"), of("state draft"));
    assert_eq!(state["parentSpanId"], run["spanId"]);
    assert_eq!(attribute(run, "gen_ai.operation.name"), "invoke_agent");
    assert_eq!(attribute(run, "interlock.status"), "completed");
    let (allowed, refused) = (of("execute_tool Read"), of("execute_tool WebFetch"));
    for call in [allowed, refused] {
        assert_eq!(call["parentSpanId"], state["spanId"]);
        assert_eq!(attribute(call, "gen_ai.operation.name"), "execute_tool");
    }
    assert_eq!(attribute(allowed, "interlock.verdict"), "allow");
    assert_eq!(attribute(refused, "interlock.verdict"), "deny");
    assert_eq!(attribute(refused, "interlock.code"), "tool_not_allowed");
    let text = posted[0].body.to_string();
    assert!(!text.contains("secret-plan"), "nobody asked for arguments");
}

#[test]
fn what_was_told_is_told_again_only_when_asked_and_alike() {
    let scene = Scene::new("200 OK");
    scene.play();
    ends(scene.telemetry(&[]), 0);
    ends(scene.telemetry(&[]), 0);
    let first = scene.collector.posted();
    assert_eq!(first.len(), 1, "nothing was new");
    ends(scene.telemetry(&["--again"]), 0);
    let both = scene.collector.posted();
    let ids = |posted: &Posted| -> BTreeSet<String> {
        let all = posted.spans();
        all.iter().map(|span| span["spanId"].to_string()).collect()
    };
    assert_eq!(ids(&both[0]), ids(&both[1]));
}

#[test]
fn arguments_are_told_when_asked_for() {
    let scene = Scene::new("200 OK");
    scene.play();
    let mut command = scene.telemetry(&[]);
    command.env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
    ends(command, 0);
    let text = scene.collector.posted()[0].body.to_string();
    assert!(text.contains("secret-plan"));
}

#[test]
fn a_run_belongs_to_the_trace_it_was_started_in() {
    let scene = Scene::new("200 OK");
    let mut start = scene.room.command(INTERLOCK);
    start.args(["start", "flow.yaml", "--session", "s2", "--json"]);
    start.env(
        "TRACEPARENT",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    );
    let output = start.output().unwrap();
    let started: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = started["run"].as_str().unwrap();
    Interlock::new(INTERLOCK, &scene.room)
        .by_a_person(&["cancel", run])
        .unwrap();
    ends(scene.telemetry(&[run]), 0);
    let spans = spans(&scene.collector.posted());
    let whole = spans
        .iter()
        .find(|span| span["name"] == "invoke_agent shop")
        .unwrap();
    assert_eq!(whole["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(whole["parentSpanId"], "b7ad6b7169203331");
}

#[test]
fn a_hook_has_it_told_and_waits_for_nothing() {
    let scene = Scene::new("200 OK");
    let refused = before_tool(&scene.room, "s1", "t1", "WebFetch", &json!({ "url": "x" }));
    let endpoint = scene.collector.endpoint();
    let output = scene.hook(&refused, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("deny"));
    let told = |posted: &[Posted]| {
        spans(posted)
            .iter()
            .any(|span| span["name"] == "execute_tool WebFetch")
    };
    scene.collector.wait_for(told).unwrap();
}

#[test]
fn a_collector_that_is_gone_changes_no_verdict() {
    let scene = Scene::new("200 OK");
    let refused = before_tool(&scene.room, "s1", "t1", "WebFetch", &json!({ "url": "x" }));
    for endpoint in ["http://127.0.0.1:1", "nonsense"] {
        let output = scene.hook(&refused, &[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)]);
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("deny"));
    }
    let mut command = scene.telemetry(&[]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    assert!(ends(command, 1).contains("cannot be reached"));
}

#[test]
fn a_collector_that_says_no_is_told_again_later() {
    let scene = Scene::new("401 Unauthorized");
    scene.play();
    assert!(ends(scene.telemetry(&[]), 1).contains("401"));
    assert!(ends(scene.telemetry(&[]), 1).contains("401"));
    let posted = scene.collector.posted();
    assert_eq!(
        posted.len(),
        2,
        "the second time nothing was taken for told"
    );
}

#[test]
fn without_an_endpoint_it_is_off() {
    let scene = Scene::new("200 OK");
    scene.play();
    let mut command = scene.telemetry(&[]);
    command.env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
    assert!(ends(command, 2).contains("telemetry is off"));
    let mut command = scene.telemetry(&["--stdout"]);
    command.env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
    let output = command.output().unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(printed.to_string().contains("execute_tool Read"));
    assert_eq!(scene.collector.posted().len(), 0);
}

#[test]
fn a_project_cannot_choose_the_collector() {
    let scene = Scene::new("200 OK");
    let endpoint = format!(
        "[telemetry]\nendpoint = \"{}\"\n",
        scene.collector.endpoint()
    );
    scene
        .room
        .write(".interlock/config.toml", &endpoint)
        .unwrap();
    let output = Interlock::new(INTERLOCK, &scene.room)
        .run(&["start", "flow.yaml", "--session", "s2"])
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("telemetry.endpoint"), "{errors}");
}
