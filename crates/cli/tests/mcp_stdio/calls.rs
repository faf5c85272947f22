//! Calls: cancelled, with progress, many at once, large, and with requests to the client.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::mcp_stdio::{THROUGH, WAYS, Way, World, is_note, note, steps, text};

const MANY: usize = 200;
const LARGE: usize = 10 << 20;

#[test]
fn a_cancelled_call_is_cancelled_at_the_server_and_its_late_answer_is_dropped() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let late = json!({"send": {"id": "$id", "result": {"content": [{"type": "text", "text": "late"}]}}});
        let script =
            steps(json!([note("begun"), {"until_cancelled": true}, late, note("answered")]));
        let id = client.call("do", &script).unwrap();
        client
            .wait_for(|message| is_note(message, "begun"))
            .unwrap();
        let cancel = json!({"requestId": id, "reason": "enough", "unknown": "kept"});
        client.tell("notifications/cancelled", &cancel).unwrap();
        client
            .wait_for(|message| is_note(message, "answered"))
            .unwrap();
        let late = client.kept().iter().find(|message| message["id"] == id);
        assert_eq!(late, None, "{way:?}");
        assert!(
            world.log().contains("\"reason\":\"enough\""),
            "{way:?}: {}",
            world.log()
        );
        assert!(world.log().contains("\"unknown\":\"kept\""), "{way:?}");
        // The session goes on, even with the same id, which no pending call has any more.
        let again =
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "do"}});
        client.send(&again).unwrap();
        assert!(client.answer(&id).unwrap()["result"].is_object(), "{way:?}");
    }
}

#[test]
fn cancelling_what_is_not_under_way_disturbs_nothing() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        for id in [json!(4711), json!("nobody"), Value::Null] {
            client
                .tell("notifications/cancelled", &json!({ "requestId": id }))
                .unwrap();
        }
        client.tell("notifications/cancelled", &json!({})).unwrap();
        let answer = client
            .request("tools/call", &json!({"name": "do", "arguments": {}}))
            .unwrap();
        assert!(answer["result"].is_object(), "{way:?}: {answer}");
    }
}

#[test]
fn progress_of_two_calls_with_equal_tokens_reaches_the_client_for_each() {
    for way in WAYS {
        for token in [json!("same"), json!(7)] {
            let world = World::new(way);
            let mut client = world.open(&json!({}));
            let mut ids = Vec::new();
            for name in ["first", "second"] {
                let progress = json!({"send": {"method": "notifications/progress", "params": {
                    "progressToken": "$token", "progress": 1, "total": 1.0, "message": name, "unknown": "kept",
                }}});
                let arguments = steps(json!([{"gather": 2}, progress]));
                let params = json!({"name": "do", "arguments": arguments, "_meta": {"progressToken": token}});
                ids.push(client.ask("tools/call", &params).unwrap());
            }
            for name in ["first", "second"] {
                let told = client
                    .wait_for(|message| message["params"]["message"] == name)
                    .unwrap();
                assert_eq!(told["params"]["progressToken"], token, "{way:?}: {told}");
                assert_eq!(
                    told["params"]["total"].to_string(),
                    "1.0",
                    "{way:?}: {told}"
                );
                assert_eq!(told["params"]["unknown"], "kept", "{way:?}: {told}");
            }
            for id in ids {
                assert!(client.answer(&id).unwrap()["result"].is_object(), "{way:?}");
            }
        }
    }
}

#[test]
fn two_hundred_calls_at_once_each_get_their_own_answer_in_whatever_order() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let mut ids = Vec::new();
        for number in 0..MANY {
            let result = json!({"content": [{"type": "text", "text": format!("number {number}")}]});
            let arguments = steps(json!([{"gather": MANY}, {"result": result}]));
            ids.push(client.call("do", &arguments).unwrap());
        }
        for (number, id) in ids.iter().enumerate() {
            let answer = client.answer(id).unwrap();
            assert_eq!(text(&answer), format!("number {number}"), "{way:?}");
        }
        assert_eq!(client.close().unwrap().rest, Vec::<Value>::new(), "{way:?}");
    }
}

#[test]
fn ten_megabytes_pass_in_both_directions() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let id = client.call("do", &steps(json!([{"text": LARGE}]))).unwrap();
        let answer = client.answer(&id).unwrap();
        assert_eq!(text(&answer).len(), LARGE, "{way:?}");
        let large = "y".repeat(LARGE);
        let echo = json!({"steps": [{"echo": true}], "large": large});
        let id = client.call("do", &echo).unwrap();
        let answer = client.answer(&id).unwrap();
        let came: Value = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!(came["params"]["arguments"]["large"], large, "{way:?}");
    }
}

#[test]
fn the_server_may_ask_for_a_message_a_form_and_roots_and_gets_what_the_client_says() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let asks = [
            (
                "sampling/createMessage",
                json!({"messages": [], "maxTokens": 10, "unknown": 1.50}),
            ),
            (
                "elicitation/create",
                json!({"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
            ),
            ("roots/list", json!({})),
            ("x/unknown", json!({"kept": [1, {"as": "it was"}]})),
        ];
        let script: Vec<Value> = asks
            .iter()
            .map(|(method, params)| json!({"ask": {"method": method, "params": params}}))
            .collect();
        let call = client.call("do", &steps(json!(script))).unwrap();
        let mut said = Vec::new();
        for (index, (method, params)) in asks.iter().enumerate() {
            let mut asked = client.incoming(method).unwrap();
            if *method == "elicitation/create" && way != Way::Direct {
                let message = asked["params"]["message"].as_str().unwrap();
                let own = message.split_once(" asks] ").map(|(_, own)| own.to_owned());
                assert!(message.starts_with("[the server"), "{way:?}: {message}");
                asked["params"]["message"] = json!(own);
            }
            assert_eq!(asked["params"], *params, "{way:?}: {method}");
            // The client refuses the last request, as it may.
            let answer = if index == 3 {
                json!({"error": {"code": -32601, "message": "not here", "data": {"kept": true}}})
            } else {
                json!({"result": {"said": method, "number": 1.0, "unknown": {"kept": true}}})
            };
            let mut whole = answer.clone();
            whole["jsonrpc"] = json!("2.0");
            whole["id"] = asked["id"].clone();
            client.send(&whole).unwrap();
            said.push(answer);
        }
        let answer = client.answer(&call).unwrap();
        let heard = &answer["result"]["structuredContent"]["answers"];
        for (index, said) in said.iter().enumerate() {
            let key = if index == 3 { "error" } else { "result" };
            assert_eq!(heard[index][key], said[key], "{way:?}");
        }
    }
}

#[test]
fn questions_of_many_calls_are_answered_to_the_call_that_asked() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let mut calls = Vec::new();
        for number in 0..20 {
            let ask = json!({"ask": {"method": "roots/list", "params": {"number": number}}});
            calls.push(client.call("do", &steps(json!([ask]))).unwrap());
        }
        let mut asked = Vec::new();
        for _ in &calls {
            asked.push(client.incoming("roots/list").unwrap());
        }
        let ids: BTreeSet<String> = asked.iter().map(|one| one["id"].to_string()).collect();
        assert_eq!(
            ids.len(),
            calls.len(),
            "{way:?}: ids of questions under way are unique"
        );
        for one in asked.iter().rev() {
            let result = json!({"roots": [], "number": one["params"]["number"]});
            client
                .send(&json!({"jsonrpc": "2.0", "id": one["id"], "result": result}))
                .unwrap();
        }
        for (number, id) in calls.iter().enumerate() {
            let answer = client.answer(id).unwrap();
            let heard = &answer["result"]["structuredContent"]["answers"][0]["result"];
            assert_eq!(heard["number"], number, "{way:?}: {answer}");
        }
    }
}

#[test]
fn a_server_may_ping_its_client_and_be_pinged() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        assert_eq!(
            client.request("ping", &json!({})).unwrap()["result"],
            json!({}),
            "{way:?}"
        );
        let call = client
            .call("do", &steps(json!([{"ask": {"method": "ping"}}])))
            .unwrap();
        if way == Way::Direct {
            let asked = client.incoming("ping").unwrap();
            client
                .send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {}}))
                .unwrap();
        } else {
            // The gateway may answer by itself or pass the request on.
            let message = client
                .wait_for(|message| message["method"] == "ping" || message["id"] == call)
                .unwrap();
            if message["method"] == "ping" {
                client
                    .send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {}}))
                    .unwrap();
            } else {
                assert_eq!(
                    message["result"]["structuredContent"]["answers"][0]["result"],
                    json!({})
                );
                continue;
            }
        }
        let answer = client.answer(&call).unwrap();
        assert_eq!(
            answer["result"]["structuredContent"]["answers"][0]["result"],
            json!({}),
            "{way:?}"
        );
    }
}
