//! The server through real frames, in each revision that clients use.

use std::sync::atomic::{AtomicI64, Ordering};

use interlock_core::call::ControlTool::Transition;
use interlock_gateway::{
    GatewayError, ServerSet, Settings, ToolPrefix, notes::Notes, stdio, upstream::Running,
};
use rmcp::{
    model::{CallToolRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, ClientServiceExt as _},
};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex,
    split,
};

use crate::gateway::world::{NOW, World, process};

const WORK: &str = "{id: w, initial: a, states: {a: {allowed_tools: [Read], on: {GO: {target: b, requires_approval: true}, ON: b}}, b: {type: final}}}";

/// A client that writes frames by hand.
struct Client {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    version: &'static str,
    id: AtomicI64,
}

impl Client {
    async fn send(&mut self, frame: &str) {
        self.write.write_all(frame.as_bytes()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a request and returns the whole answer.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.id.fetch_add(1, Ordering::Relaxed);
        let mut params = params;
        if self.version >= "2026-07-28" {
            let meta = params
                .as_object_mut()
                .unwrap()
                .entry("_meta")
                .or_insert(json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!(self.version);
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
        }
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&frame.to_string()).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    async fn open(&mut self) -> Value {
        if self.version >= "2026-07-28" {
            return self.ask("server/discover", json!({})).await["result"].clone();
        }
        let params = json!({"protocolVersion": self.version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = self.ask("initialize", params).await["result"].clone();
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        answer
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self
            .ask("tools/call", json!({"name": name, "arguments": arguments}))
            .await;
        assert_eq!(answer["error"], Value::Null, "{answer}");
        answer["result"].clone()
    }
}

/// Serves only the control tools.
async fn serve(settings: Settings, far: DuplexStream) -> Result<(), GatewayError> {
    let (running, _) = Running::new();
    let (notes, _) = Notes::to_channel();
    let gateway = ServerSet::default().gateway(&settings, notes, running)?;
    let (read, write) = split(far);
    stdio::serve(&gateway, read, write).await
}

/// Runs a client script with a server; the server must end successfully after the client has disconnected.
fn play<F>(settings: Settings, version: &'static str, script: impl FnOnce(Client) -> F)
where
    F: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (near, far) = duplex(4_096);
        let server = tokio::spawn(serve(settings, far));
        let (read, write) = split(near);
        let client = Client {
            read: BufReader::new(read),
            write,
            version,
            id: AtomicI64::new(1),
        };
        script(client).await;
        server.await.unwrap().unwrap();
    });
}

const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

#[test]
fn every_revision_is_answered_in_its_own_words() {
    for version in VERSIONS {
        let world = World::with(WORK);
        let run = world.started_for("s1");
        play(world.settings(), version, async |mut client| {
            let opened = client.open().await;
            let new = version >= "2026-07-28";
            match new {
                true => assert!(
                    opened["supportedVersions"]
                        .as_array()
                        .unwrap()
                        .contains(&json!(version)),
                    "{opened}"
                ),
                false => assert_eq!(opened["protocolVersion"], version),
            }
            assert_eq!(
                opened["capabilities"],
                json!({"tools": {}}),
                "nothing that is not there"
            );
            assert!(
                opened["instructions"]
                    .as_str()
                    .unwrap()
                    .contains("interlock_transition"),
                "{opened}"
            );
            let listed = client.ask("tools/list", json!({})).await["result"].clone();
            assert_eq!(
                listed["cacheScope"] == "private" && listed["ttlMs"] == 0,
                new,
                "{listed}"
            );
            assert_eq!(listed["resultType"] == "complete", new);
            assert_eq!(listed["tools"].as_array().unwrap().len(), 6);
            let result = client.call("interlock_get_state", json!({})).await;
            assert_eq!(result["structuredContent"]["run"], json!(run));
            assert_eq!(result["isError"], false);
            assert_eq!(result["resultType"] == "complete", new);
            assert_eq!(result["content"].as_array().unwrap().len(), 1);
            assert!(
                result["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("Phase: a."),
                "{result}"
            );
        });
    }
}

#[test]
fn a_refusal_is_a_result() {
    for version in VERSIONS {
        let world = World::with(WORK);
        world.started_for("s1");
        play(world.settings(), version, async |mut client| {
            client.open().await;
            for (arguments, code) in [
                (json!({"event": "NO"}), "unknown_event"),
                (json!({}), "invalid_arguments"),
                (json!({"event": 7}), "invalid_arguments"),
            ] {
                let result = client.call("interlock_transition", arguments).await;
                assert_eq!(result["isError"], true);
                assert_eq!(result["structuredContent"]["code"], code);
                assert!(
                    result["content"][0]["text"]
                        .as_str()
                        .unwrap()
                        .contains(code),
                    "{result}"
                );
            }
            let refused = client
                .call("interlock_transition", json!({"event": "NO"}))
                .await;
            assert_eq!(refused["structuredContent"]["tools"], json!(["Read"]));
            assert_eq!(refused["structuredContent"]["events"][1]["event"], "ON");
        });
    }
}

#[test]
fn a_client_that_probes_with_discover_may_still_initialize() {
    let world = World::with(WORK);
    world.started_for("s1");
    play(world.settings(), "2026-07-28", async |mut client| {
        client.open().await;
        client.version = "2025-11-25";
        assert_eq!(client.open().await["protocolVersion"], "2025-11-25");
        let result = client.call("interlock_get_state", json!({})).await;
        assert_eq!(result["structuredContent"]["state"], "a");
    });
}

#[test]
fn a_revision_nobody_knows_is_answered_with_one_that_is() {
    let world = World::with(WORK);
    play(world.settings(), "1999-01-01", async |mut client| {
        assert_eq!(client.open().await["protocolVersion"], "2025-11-25");
    });
}

#[test]
fn both_names_are_answered_and_one_is_listed() {
    for (prefix, start) in [
        (ToolPrefix::Interlock, "interlock_start"),
        (ToolPrefix::Statewright, "statewright_load_workflow"),
    ] {
        let world = World::with(WORK);
        let settings = Settings {
            tool_prefix: prefix,
            ..world.settings()
        };
        play(settings, "2025-06-18", async |mut client| {
            assert!(
                client.open().await["instructions"]
                    .as_str()
                    .unwrap()
                    .contains(&format!("{prefix}_get_state"))
            );
            let listed = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
            let names: Vec<&str> = listed
                .as_array()
                .unwrap()
                .iter()
                .map(|tool| tool["name"].as_str().unwrap())
                .collect();
            let own = |name: &str| format!("{prefix}_{name}");
            assert_eq!(
                names,
                [
                    &own("get_state"),
                    &own("transition"),
                    &own("list_workflows"),
                    start,
                    &own("pause"),
                    &own("create_workflow")
                ]
            );
            assert!(!listed.to_string().contains("{p}"), "{listed}");
            let started = client
                .call("statewright_load_workflow", json!({"workflow": "w"}))
                .await;
            assert_eq!(started["structuredContent"]["ok"], true, "{started}");
            for name in ["interlock_get_state", "statewright_get_state"] {
                assert_eq!(
                    client.call(name, json!({})).await["structuredContent"]["state"],
                    "a"
                );
            }
        });
    }
}

#[test]
fn there_is_no_tool_to_open_the_interlock() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    play(world.settings(), "2025-11-25", async |mut client| {
        client.open().await;
        for name in [
            "interlock_approve",
            "statewright_deactivate",
            "interlock_force_state",
            "interlock_resume",
            "interlock_",
            "get_state",
            "mcp__interlock__interlock_get_state",
        ] {
            let answer = client
                .ask("tools/call", json!({"name": name, "arguments": {}}))
                .await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            assert!(
                answer["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("interlock_get_state")
            );
        }
    });
    assert_eq!(world.events(&run).len(), 1);
}

#[test]
fn each_tool_says_what_it_takes_and_what_it_does() {
    let world = World::new();
    play(world.settings(), "2025-11-25", async |mut client| {
        client.open().await;
        let listed = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
        for tool in listed.as_array().unwrap() {
            let schema = &tool["inputSchema"];
            assert_eq!(
                (&schema["type"], &schema["additionalProperties"]),
                (&json!("object"), &json!(false))
            );
            for (_, property) in schema["properties"].as_object().unwrap() {
                assert!(
                    property["description"].as_str().unwrap().len() > 10
                        && property["type"].is_string(),
                    "{tool}"
                );
            }
            let looks = ["interlock_get_state", "interlock_list_workflows"]
                .contains(&tool["name"].as_str().unwrap());
            assert_eq!(tool["annotations"]["readOnlyHint"], looks, "{tool}");
            assert_eq!(tool["annotations"]["destructiveHint"], false);
            assert_eq!(tool["annotations"]["openWorldHint"], false);
            assert!(tool["description"].as_str().unwrap().len() > 60);
        }
        assert_eq!(listed[1]["inputSchema"]["required"], json!(["event"]));
        assert_eq!(
            listed[5]["inputSchema"]["required"],
            json!(["name", "definition"])
        );
    });
}

#[test]
fn numbers_pass_exactly_both_ways() {
    for version in VERSIONS {
        let world = World::with(WORK);
        let run = world.started_for("s1");
        play(world.settings(), version, async |mut client| {
            client.open().await;
            let data: Value = serde_json::from_str(
                r#"{"a":9007199254740993,"b":0.10000000000000000001,"c":[1.0,-0.0,1e400]}"#,
            )
            .unwrap();
            let result = client
                .call("interlock_transition", json!({"event": "ON", "data": data}))
                .await;
            let text = result["structuredContent"]["context"].to_string();
            assert_eq!(
                text,
                r#"{"a":9007199254740993,"b":0.10000000000000000001,"c":[1.0,-0.0,1e+400]}"#
            );
        });
        assert_eq!(
            world.run(&run).root.line.context["a"].to_string(),
            "9007199254740993"
        );
    }
}

#[test]
fn the_call_the_client_names_finds_its_note() {
    let world = World::with(WORK);
    let first = world.started_for("s1");
    let second = world.started_for("s2");
    let now = u64::try_from(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_millis(),
    )
    .unwrap();
    for (run, call) in [(&first, "toolu_1"), (&second, "toolu_2")] {
        world.note(Transition, r#"{"event": "GO"}"#, |note| {
            note.run = Some(run.clone());
            note.call = Some(call.into());
            note.asked = call == "toolu_2";
            note.process = Some(process(77));
            note.at_ms = now.max(NOW);
        });
    }
    play(world.settings(), "2025-11-25", async |mut client| {
        client.open().await;
        for (call, run, status) in [
            ("toolu_2", &second, "completed"),
            ("toolu_1", &first, "awaiting_approval"),
        ] {
            let params = json!({"name": "interlock_transition", "arguments": {"event": "GO"}, "_meta": {"claudecode/toolUseId": call, "progressToken": 7}});
            let answer = client.ask("tools/call", params).await;
            assert_eq!(
                answer["result"]["structuredContent"]["run"],
                json!(run),
                "{answer}"
            );
            assert_eq!(answer["result"]["structuredContent"]["status"], status);
        }
    });
}

#[test]
fn what_is_asked_before_the_client_goes_is_still_answered() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    play(world.settings(), "2025-11-25", async |mut client| {
        client.open().await;
        let call = |id: u32| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"interlock_transition","arguments":{{"event":"ON"}}}}}}"#
            )
        };
        client.send(&format!("{}\n{}", call(50), call(51))).await;
        client.write.shutdown().await.unwrap();
        let mut answers = [client.next().await, client.next().await];
        answers.sort_by_key(|answer| answer["id"].as_u64());
        let codes = answers.map(|answer| answer["result"]["structuredContent"]["code"].clone());
        assert_eq!(codes, [Value::Null, json!("no_run")]);
        let mut rest = String::new();
        client.read.read_line(&mut rest).await.unwrap();
        assert_eq!(rest, "", "and nothing else");
    });
    assert!(world.run(&run).is_over());
}

#[test]
fn a_client_that_says_nothing_is_no_error() {
    play(World::new().settings(), "2025-11-25", async |client| {
        drop(client)
    });
}

#[test]
fn what_is_no_message_does_not_end_the_server() {
    let world = World::with(WORK);
    world.started_for("s1");
    play(world.settings(), "2025-11-25", async |mut client| {
        client.open().await;
        for junk in [
            "",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nonsense\"}",
            "not json",
        ] {
            client.send(junk).await;
        }
        let refused = client.next().await;
        assert_eq!(refused["error"]["code"], -32700, "{refused}");
        assert_eq!(refused["id"], Value::Null);
        let answer = client.ask("nonsense/method", json!({})).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        let answer = client.ask("tools/call", json!({"arguments": {}})).await;
        assert!(answer["error"].is_object(), "no name: {answer}");
        assert_eq!(
            client.call("interlock_get_state", json!({})).await["isError"],
            false
        );
        let unnamed = client
            .ask("tools/call", json!({"name": "interlock_get_state"}))
            .await;
        assert_eq!(
            unnamed["result"]["isError"], false,
            "arguments may be left out"
        );
    });
}

#[test]
fn another_implementation_of_a_client_is_served() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions },
    ] {
        let world = World::with(WORK);
        world.started_for("s1");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (near, far) = duplex(4_096);
            let server = tokio::spawn(serve(world.settings(), far));
            let client = ().serve_with_lifecycle(split(near), lifecycle).await.unwrap();
            assert_eq!(client.list_all_tools().await.unwrap().len(), 6);
            let result = client
                .call_tool(CallToolRequestParams::new("interlock_get_state"))
                .await
                .unwrap();
            assert_eq!(result.is_error, Some(false));
            client.cancel().await.unwrap();
            server.await.unwrap().unwrap();
        });
    }
}

#[test]
fn only_prefixes_that_hooks_know_can_be_chosen() {
    for (text, known) in [
        ("interlock", Some(ToolPrefix::Interlock)),
        ("statewright_", Some(ToolPrefix::Statewright)),
        ("Interlock", None),
        ("evil", None),
        ("", None),
    ] {
        let parsed: Result<ToolPrefix, _> = text.parse();
        assert_eq!(parsed.ok(), known, "{text}");
    }
}
