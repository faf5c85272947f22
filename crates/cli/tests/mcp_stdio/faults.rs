//! Faults: dead servers, silent servers, damaged lines, a client that disconnects.

use std::path::Path;

use serde_json::{Value, json};

use crate::mcp_stdio::{THROUGH, WAYS, Way, World, is_note, note, steps, text};

fn pid(answer: &Value) -> u64 {
    answer["result"]["structuredContent"]["pid"]
        .as_u64()
        .unwrap_or_else(|| unreachable!("{answer}"))
}

fn is_running(pid: u64) -> bool {
    // A process that has ended but was not waited for has no command line.
    std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"))
        .is_ok_and(|line| !line.is_empty())
}

#[test]
fn a_server_that_dies_is_started_again_and_its_calls_are_told() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let first = client.call("do", &steps(json!([]))).unwrap();
        let first = pid(&client.answer(&first).unwrap());
        let waiting = client
            .call("do", &steps(json!([note("hanging"), {"hang": true}])))
            .unwrap();
        client
            .wait_for(|message| is_note(message, "hanging"))
            .unwrap();
        let killing = client.call("do", &steps(json!([{"exit": 3}]))).unwrap();
        for id in [waiting, killing] {
            let answer = client.answer(&id).unwrap();
            assert_eq!(answer["error"]["code"], -32603, "{way:?}: {answer}");
            assert!(answer["error"]["message"].is_string(), "{way:?}: {answer}");
        }
        let mut again = json!({});
        // Until the server is back each call gets an error at once.
        while again["result"].is_null() {
            let id = client.call("do", &steps(json!([]))).unwrap();
            again = client.answer(&id).unwrap();
            let is_told = again["error"]["code"] == -32603;
            assert!(again["result"].is_object() || is_told, "{way:?}: {again}");
        }
        assert_ne!(pid(&again), first, "{way:?}");
        let log = world.log();
        let greetings = log
            .lines()
            .filter(|line| line.contains("\"initialize\""))
            .collect::<Vec<_>>();
        assert_eq!(greetings.len(), 2, "{way:?}: greeted anew");
        let params = |line: &str| serde_json::from_str::<Value>(line).unwrap()["params"].clone();
        assert_eq!(
            params(greetings[0]),
            params(greetings[1]),
            "{way:?}: as the client first did"
        );
    }
}

#[test]
fn a_server_that_dies_at_every_start_is_an_error_of_each_call_and_not_the_end() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({"greeting": [note("started")]}));
        client
            .wait_for(|message| is_note(message, "started"))
            .unwrap();
        for _ in 0..5 {
            let id = client.call("do", &steps(json!([{"exit": 1}]))).unwrap();
            let answer = client.answer(&id).unwrap();
            assert_eq!(answer["error"]["code"], -32603, "{way:?}: {answer}");
        }
        let answer = client.request("ping", &json!({})).unwrap();
        assert_eq!(answer["result"], json!({}), "{way:?}: {answer}");
        assert!(client.close().unwrap().status.success(), "{way:?}");
    }
}

#[test]
fn a_server_that_cannot_be_started_is_said_so() {
    for way in THROUGH {
        let world = World::new(way);
        let command = world.wrapped(&["/nowhere/to/be/found", "{}"]);
        let mut client = interlock_testkit::mcp::stdio::Client::start(command).unwrap();
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
        let id = client.ask("initialize", &params);
        // It may report the error at once and end, or answer first.
        let answer = id.and_then(|id| client.answer(&id));
        if let Ok(answer) = answer {
            let told = answer.to_string();
            assert!(
                answer["result"].is_object() || told.contains("/nowhere/to/be/found"),
                "{way:?}: {told}"
            );
        }
    }
}

#[test]
fn a_call_that_is_never_answered_holds_up_nothing_and_ends_with_the_session() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({"mute": ["resources/list"]}));
        client.ask("resources/list", &json!({})).unwrap();
        let hanging = client.call("do", &steps(json!([{"hang": true}]))).unwrap();
        let other = client.call("do", &steps(json!([]))).unwrap();
        let pid = pid(&client.answer(&other).unwrap());
        let ended = client.close().unwrap();
        assert!(ended.status.success(), "{way:?}: {}", ended.stderr);
        let answered = ended.rest.iter().find(|message| message["id"] == hanging);
        assert!(
            answered.is_none_or(|answer| answer["error"].is_object()),
            "{way:?}: {answered:?}"
        );
        assert!(
            !is_running(pid),
            "{way:?}: the server is gone with its client"
        );
    }
}

#[test]
fn a_client_that_leaves_without_a_word_leaves_no_server_behind() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let id = client.call("do", &steps(json!([]))).unwrap();
        let pid = pid(&client.answer(&id).unwrap());
        client
            .call("do", &steps(json!([{"until_cancelled": true}])))
            .unwrap();
        let ended = client.close().unwrap();
        assert!(ended.status.success(), "{way:?}: {}", ended.stderr);
        assert!(!is_running(pid), "{way:?}");
    }
}

#[test]
fn lines_of_a_server_that_are_no_messages_are_passed_over() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({"greeting": [{"raw": "Server is listening!"}]}));
        let script = steps(json!([
            {"raw": "debug: something"}, {"raw": ""}, {"raw": "{\"half\":"}, {"raw": "null"}, {"raw": "[]"},
            {"raw": "{}"}, {"raw": "{\"jsonrpc\":\"2.0\",\"id\":\"nobody\",\"result\":{}}"},
            {"bytes": [255, 254, 123, 125]}, {"raw": "\u{1b}[31mred\u{1b}[0m"},
        ]));
        let id = client.call("do", &script).unwrap();
        assert!(client.answer(&id).unwrap()["result"].is_object(), "{way:?}");
        let ended = client.close().unwrap();
        assert_eq!(
            ended.rest,
            Vec::<Value>::new(),
            "{way:?}: nothing of it reaches the client"
        );
        assert!(ended.status.success(), "{way:?}");
    }
}

#[test]
fn damaged_lines_of_a_client_are_answered_with_an_error_and_reach_no_server() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let lines: [(&[u8], i64); 7] = [
            (b"{\"half\":\n", -32700),
            (b"\xff\xfe{}\n", -32700),
            (b"damaged\n", -32700),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1000,\"method\":7}\n", -32600),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"damaged/id\"}\n",
                -32600,
            ),
            (b"\"damaged text\"\n", -32600),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1001,\"method\":\"damaged/params\",\"params\":7}\n",
                -32600,
            ),
        ];
        for (line, code) in lines {
            client.write(line).unwrap();
            let answer = client
                .wait_for(|message| message["error"].is_object())
                .unwrap();
            let found = &answer["error"]["code"];
            // Invalid params (-32602) is accepted, too, where an invalid request (-32600) is expected.
            let is_it = *found == code || (*found == -32602 && code == -32600);
            assert!(
                is_it,
                "{way:?}: {}: {answer}",
                String::from_utf8_lossy(line)
            );
        }
        let answer = client.request("echo/after", &json!({})).unwrap();
        assert!(answer["result"].is_object(), "{way:?}");
        assert!(!world.log().contains("damaged"), "{way:?}: {}", world.log());
    }
}

#[test]
fn a_call_with_a_key_twice_is_refused_and_reaches_no_server() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let lines = [
            r#"{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"do","name":"other","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":"twice","method":"tools/call","method":"tools/list","params":{"name":"do"}}"#,
            r#"{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"do","arguments":{"a":{"b":1,"b":2}}}}"#,
            r#"{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"do","arguments":{"a":1,"\u0061":2}}}"#,
        ];
        for line in lines {
            client.write(format!("{line}\n").as_bytes()).unwrap();
            let answer = client
                .wait_for(|message| message["error"].is_object())
                .unwrap();
            let code = &answer["error"]["code"];
            assert!(*code == -32600 || *code == -32700, "{way:?}: {answer}");
        }
        client.request("echo/after", &json!({})).unwrap();
        assert!(!world.log().contains("twice"), "{way:?}: {}", world.log());
        assert!(
            !world.log().contains("tools/call"),
            "{way:?}: {}",
            world.log()
        );
    }
}

#[test]
fn a_batch_is_taken_apart_in_the_revision_that_has_batches() {
    for way in THROUGH {
        let world = World::new(way);
        let (mut client, _) = world.open_as(&json!({}), "2025-03-26", &json!({}));
        let batch = json!([
            {"jsonrpc": "2.0", "id": "a", "method": "echo/one", "params": {}},
            {"jsonrpc": "2.0", "method": "notifications/x", "params": {}},
            {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "do", "arguments": {"steps": []}}},
        ]);
        client.send(&batch).unwrap();
        for id in ["a", "b"] {
            assert!(
                client.answer(&json!(id)).unwrap()["result"].is_object(),
                "{way:?}: {id}"
            );
        }
    }
}

#[test]
fn an_id_that_is_under_way_twice_answers_neither_with_the_other() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        for name in ["first", "second"] {
            let result = json!({"content": [{"type": "text", "text": name}]});
            let arguments = steps(json!([{"result": result}]));
            let call = json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": {"name": "do", "arguments": arguments}});
            client.send(&call).unwrap();
        }
        let answers = [
            client.answer(&json!("same")).unwrap(),
            client.answer(&json!("same")).unwrap(),
        ];
        let is_refused = answers
            .iter()
            .any(|answer| answer["error"]["code"] == -32600);
        let mut texts: Vec<&str> = answers.iter().map(text).collect();
        texts.sort_unstable();
        assert!(
            is_refused || texts == ["first", "second"],
            "{way:?}: {answers:?}"
        );
    }
}

#[test]
fn requests_before_initialize_neither_hang_nor_pass_unjudged() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client =
            interlock_testkit::mcp::stdio::Client::start(world.command(&json!({}))).unwrap();
        let answer = client.request("ping", &json!({})).unwrap();
        assert!(
            answer["result"].is_object() || answer["error"].is_object(),
            "{way:?}: {answer}"
        );
        let answer = client
            .request("tools/call", &json!({"name": "do"}))
            .unwrap();
        assert!(
            answer["result"].is_object() || answer["error"].is_object(),
            "{way:?}: {answer}"
        );
        assert_ne!(Way::Direct, way);
    }
}
