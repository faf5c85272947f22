//! Spans of a run whose stages call a model.

use std::{fs, process::Command};

use interlock_testkit::{
    collector::{Collector, Posted},
    provider::{Provider, Reply, Script, call},
    room::Room,
};
use serde_json::{Value, json};

use super::{INTERLOCK, attribute, ends, spans};

const FLOW: &str = "id: two
stages:
  Plan:
    body: plan
    allowedTools: [Read]
    completionTool: submit_plan
    completionSchema: {required: [step]}
    turnCap: 5
    next: Work
  Work: {body: work, allowedTools: [], completionTool: submit, completionSchema: {}, turnCap: 1, next: end}
";
const PRICE: &str = "[prices.\"openai/scripted\"]\ninput = 1\noutput = 2\n";

struct Scene {
    room: Room,
    collector: Collector,
    provider: Provider,
}

impl Scene {
    /// Makes a pipeline whose first stage reads, is refused and submits twice; the second one only talks.
    fn new() -> Self {
        let room = Room::new().unwrap();
        room.write("flow.yaml", FLOW).unwrap();
        room.write("notes.md", "secret-plan\n").unwrap();
        let directory = room.config().join("interlock");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("config.toml"), PRICE).unwrap();
        let calls = vec![
            call("Read", json!({"file_path": "notes.md"})),
            call("Write", json!({"file_path": "x", "content": "secret-plan"})),
        ];
        let replies = vec![
            Reply::status(503, &json!({})),
            Reply::say(calls),
            Reply::say(vec![call("submit_plan", json!({}))]),
            Reply::say(vec![call("submit_plan", json!({"step": "secret-plan"}))]),
            Reply::say(vec![interlock_testkit::provider::text("secret-plan")]),
        ];
        Self {
            room,
            collector: Collector::start("200 OK").unwrap(),
            provider: Provider::start(Script::replies(replies)).unwrap(),
        }
    }

    fn run(&self) -> Command {
        let mut command = self.room.command(INTERLOCK);
        command.args(["run", "flow.yaml", "x", "--headless", "--name", "n"]);
        command.args(["--model", "openai/scripted"]);
        command.env("OPENAI_BASE_URL", format!("{}/v1", self.provider.url()));
        command.env("OPENAI_API_KEY", "a-key");
        command
    }

    fn told(&self) -> Vec<Posted> {
        let mut tell = self.room.command(INTERLOCK);
        tell.arg("telemetry");
        tell.env("OTEL_EXPORTER_OTLP_ENDPOINT", self.collector.endpoint());
        ends(tell, 0);
        self.collector.posted()
    }
}

fn named<'s>(spans: &'s [Value], name: &str) -> Vec<&'s Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

fn value<'s>(span: &'s Value, name: &str) -> &'s Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|one| one["key"] == name);
    found.map_or(&Value::Null, |one| &one["value"])
}

#[test]
fn an_attempt_of_a_stage_its_messages_and_its_calls_are_spans() {
    let scene = Scene::new();
    ends(scene.run(), 1);
    let posted = scene.told();
    let spans = spans(&posted);
    let (plan, state) = (
        named(&spans, "invoke_agent Plan")[0],
        named(&spans, "state Plan")[0],
    );
    assert_eq!(plan["parentSpanId"], state["spanId"]);
    assert_eq!(attribute(plan, "interlock.outcome"), "ok");
    assert_eq!(value(plan, "interlock.turns")["intValue"], "3");
    assert_eq!(plan["events"][0]["name"], "interlock.completion_rejected");

    let chats = named(&spans, "chat scripted");
    assert_eq!(
        chats.len(),
        4,
        "the try that came to nothing is part of the first"
    );
    for chat in &chats[..3] {
        assert_eq!(chat["parentSpanId"], plan["spanId"]);
        assert_eq!(chat["kind"], 3);
        assert_eq!(attribute(chat, "gen_ai.operation.name"), "chat");
        assert_eq!(attribute(chat, "gen_ai.provider.name"), "openai");
        assert_eq!(attribute(chat, "gen_ai.request.model"), "scripted");
        let reasons = &value(chat, "gen_ai.response.finish_reasons")["arrayValue"]["values"];
        assert_eq!(reasons[0]["stringValue"], "tool_calls");
    }
    let number = |span: &Value, name: &str| -> i64 {
        let text = value(span, name)["intValue"].as_str().unwrap();
        text.parse().unwrap()
    };
    for tokens in ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"] {
        let sum: i64 = chats[..3].iter().map(|chat| number(chat, tokens)).sum();
        assert!(sum > 0);
        assert_eq!(number(plan, tokens), sum);
    }
    let cost = value(chats[0], "interlock.cost_usd")["doubleValue"].as_f64();
    let (input, output) = (
        number(chats[0], "gen_ai.usage.input_tokens"),
        number(chats[0], "gen_ai.usage.output_tokens"),
    );
    let micros = (cost.unwrap() * 1e12).round() / 1e6;
    assert_eq!(format!("{micros}"), format!("{}", input + 2 * output));

    let (read, write) = (
        named(&spans, "execute_tool Read")[0],
        named(&spans, "execute_tool Write")[0],
    );
    for (call, verdict, source) in [(read, "allow", "stage"), (write, "deny", "grant")] {
        assert_eq!(call["parentSpanId"], plan["spanId"]);
        assert_eq!(attribute(call, "interlock.verdict"), verdict);
        assert_eq!(attribute(call, "interlock.source"), source);
    }
    let text = posted[0].body.to_string();
    assert!(
        !text.contains("secret-plan"),
        "nobody asked for what models said"
    );
}

#[test]
fn a_stage_that_comes_to_nothing_says_why() {
    let scene = Scene::new();
    ends(scene.run(), 1);
    let spans = spans(&scene.told());
    let work = named(&spans, "invoke_agent Work")[0];
    assert_eq!(attribute(work, "error.type"), "cap_hit");
    assert_eq!(work["status"]["code"], 2);
    assert_eq!(
        attribute(named(&spans, "invoke_agent two")[0], "interlock.status"),
        "failed"
    );
}

#[test]
fn a_run_of_stages_has_itself_told_where_a_collector_is_named() {
    let scene = Scene::new();
    let mut run = scene.run();
    run.env("OTEL_EXPORTER_OTLP_ENDPOINT", scene.collector.endpoint());
    ends(run, 1);
    let is_told = |posted: &[Posted]| !named(&spans(posted), "invoke_agent two").is_empty();
    scene.collector.wait_for(is_told).unwrap();
}

#[test]
fn without_a_collector_nothing_of_a_stage_is_told() {
    let scene = Scene::new();
    ends(scene.run(), 1);
    assert_eq!(scene.collector.posted().len(), 0);
}
