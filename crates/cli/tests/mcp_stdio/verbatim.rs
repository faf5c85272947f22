//! Messages that the gateway does not know are passed on as they were written.

use serde_json::{Value, json};

use crate::mcp_stdio::{THROUGH, WAYS, Way, World, able, is_note, note, steps, text};

#[test]
fn the_greeting_of_the_server_is_the_gateways() {
    let settings = json!({});
    let direct = World::new(Way::Direct)
        .open_as(&settings, "2025-06-18", &able())
        .1;
    for way in THROUGH {
        let world = World::new(way);
        let (_client, through) = world.open_as(&settings, "2025-06-18", &able());
        let (direct, through) = (&direct["result"], &through["result"]);
        assert_eq!(
            through["protocolVersion"], direct["protocolVersion"],
            "{way:?}"
        );
        assert_eq!(through["capabilities"], direct["capabilities"], "{way:?}");
        assert_eq!(
            through["unknown"].to_string(),
            direct["unknown"].to_string(),
            "{way:?}"
        );
        let told = through["instructions"].as_str().unwrap_or_default();
        assert!(told.contains("Do as you are told."), "{way:?}: {told}");
    }
}

#[test]
fn every_revision_of_the_older_era_is_agreed_on_as_without_us() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        for way in WAYS {
            let world = World::new(way);
            let (mut client, hello) = world.open_as(&json!({}), version, &json!({}));
            assert_eq!(hello["result"]["protocolVersion"], version, "{way:?}");
            let id = client.call("do", &json!({})).unwrap();
            assert!(
                client.answer(&id).unwrap()["result"].is_object(),
                "{way:?} {version}"
            );
        }
    }
}

#[test]
fn what_the_client_declares_reaches_the_server() {
    for way in WAYS {
        let world = World::new(way);
        let declared = json!({"sampling": {"tools": {}}, "experimental": {"codex/auth-change": {}}, "unknown": {"kept": 1.0}});
        let (mut client, _) = world.open_as(&json!({}), "2025-11-25", &declared);
        client.request("echo/here", &json!({})).unwrap();
        let log = world.log();
        let hello = log
            .lines()
            .find(|line| line.contains("\"initialize\""))
            .unwrap();
        let hello: Value = serde_json::from_str(hello).unwrap();
        assert_eq!(hello["params"]["capabilities"], declared, "{way:?}");
        assert_eq!(hello["params"]["clientInfo"]["name"], "scripted", "{way:?}");
        assert!(log.contains("notifications/initialized"), "{way:?}: {log}");
    }
}

#[test]
fn unknown_methods_and_fields_pass_in_both_directions() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let params: Value = serde_json::from_str(
            r#"{"deep": [[[{"a": null}]]], "number": 1.0, "large": 123456789012345678901234567890, "small": 1e-7, "text": "\u0000\ud83d\ude00", "_meta": {"x": {"y": []}}}"#,
        )
        .unwrap();
        let answer = client.request("echo/anything", &params).unwrap();
        assert_eq!(
            answer["result"]["echo"]["params"].to_string(),
            params.to_string(),
            "{way:?}"
        );
        let nothing = json!({"jsonrpc": "2.0", "id": "bare", "method": "echo/bare"});
        client.send(&nothing).unwrap();
        let answer = client.answer(&json!("bare")).unwrap();
        assert_eq!(
            answer["result"]["echo"].get("params"),
            None,
            "{way:?}: {answer}"
        );
        let refused = client.request("nobody/knows", &json!({})).unwrap();
        assert_eq!(
            refused["error"],
            json!({"code": -32601, "message": "method not found", "data": {"method": "nobody/knows"}}),
            "{way:?}"
        );
    }
}

#[test]
fn a_result_keeps_every_character_of_its_numbers_and_the_order_of_its_fields() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let result: Value = serde_json::from_str(
            r#"{"zebra": 1.50, "content": [{"type": "text", "text": "t", "annotations": {"priority": 0.70, "unknown": 1E2}}], "apple": 18446744073709551616, "structuredContent": {"b": 1, "a": [2]}, "_meta": {"k": "v"}, "isError": false}"#,
        )
        .unwrap();
        let id = client
            .call("do", &steps(json!([{ "result": result }])))
            .unwrap();
        let answer = client.answer(&id).unwrap();
        assert_eq!(answer["result"].to_string(), result.to_string(), "{way:?}");
    }
}

#[test]
fn errors_are_not_wrapped_twice() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let error = json!({"code": -32002, "message": "my own words", "data": {"uri": "x", "n": 1.0}, "unknown": true});
        let id = client
            .call("do", &steps(json!([{ "error": error }])))
            .unwrap();
        let answer = client.answer(&id).unwrap();
        assert_eq!(answer["error"].to_string(), error.to_string(), "{way:?}");
        let failed =
            json!({"isError": true, "content": [{"type": "text", "text": "as a tool fails"}]});
        let id = client
            .call("do", &steps(json!([{ "result": failed }])))
            .unwrap();
        assert_eq!(client.answer(&id).unwrap()["result"], failed, "{way:?}");
    }
}

#[test]
fn a_megabyte_of_meta_passes_in_both_directions() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let large = "m".repeat(1 << 20);
        let meta = json!({"example.org/large": large, "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", "n": 1.0});
        let arguments = steps(json!([{"result": {"content": [], "_meta": {"back": large}}}]));
        let id = client
            .ask(
                "tools/call",
                &json!({"name": "do", "arguments": arguments, "_meta": meta}),
            )
            .unwrap();
        let answer = client.answer(&id).unwrap();
        assert_eq!(answer["result"]["_meta"]["back"], large, "{way:?}");
        let log = world.log();
        let call = log
            .lines()
            .find(|line| line.contains("tools/call"))
            .unwrap();
        let call: Value = serde_json::from_str(call).unwrap();
        assert_eq!(
            call["params"]["_meta"]["example.org/large"], large,
            "{way:?}"
        );
        assert_eq!(
            call["params"]["_meta"]["traceparent"], meta["traceparent"],
            "{way:?}"
        );
    }
}

#[test]
fn ids_are_the_clients_own_whatever_they_look_like() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let ids = r#"["text", "", "1", 1, 0, -7, 123456789012345678901234567890, "ünïcödé \u0007", "a much longer one, with spaces"]"#;
        let ids: Vec<Value> = serde_json::from_str(ids).unwrap();
        // Twice: an id may be used again once it was answered.
        for round in 0..2 {
            for (number, id) in ids.iter().enumerate() {
                let result =
                    json!({"content": [{"type": "text", "text": format!("{round}.{number}")}]});
                let arguments = steps(json!([{ "result": result }]));
                let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "do", "arguments": arguments}});
                client.send(&call).unwrap();
            }
            for (number, id) in ids.iter().enumerate() {
                let answer = client.answer(id).unwrap();
                assert_eq!(text(&answer), format!("{round}.{number}"), "{way:?}: {id}");
                assert_eq!(answer["id"].to_string(), id.to_string(), "{way:?}");
            }
        }
    }
}

#[test]
fn messages_of_a_server_keep_their_order() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let script: Vec<Value> = (0..500)
            .map(|number| note(&format!("note {number}")))
            .collect();
        let id = client.call("do", &steps(json!(script))).unwrap();
        client.answer(&id).unwrap();
        let seen: Vec<&Value> = client.kept().iter().collect();
        assert_eq!(seen.len(), 500, "{way:?}");
        for (number, message) in seen.iter().enumerate() {
            assert!(
                is_note(message, &format!("note {number}")),
                "{way:?}: {message}"
            );
        }
    }
}
