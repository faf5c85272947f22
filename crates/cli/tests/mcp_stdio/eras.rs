//! The protocol version without sessions over standard streams, and the translation between the two kinds.

use interlock_testkit::{mcp::stdio::Client, programs};
use serde_json::{Value, json};

use crate::mcp_stdio::{INTERLOCK, THROUGH, WAYS, Way, World, steps, text};

const NEW: &str = "2026-07-28";

fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": {"name": "scripted", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// Sends a request as clients without sessions do: with the version and the capabilities in it.
fn ask(client: &mut Client, method: &str, params: Value, capabilities: &Value) -> Value {
    let mut params = params;
    params["_meta"] = meta(capabilities);
    client.ask(method, &params).unwrap()
}

fn request(client: &mut Client, method: &str, params: Value, capabilities: &Value) -> Value {
    let id = ask(client, method, params, capabilities);
    client.answer(&id).unwrap()
}

fn fixture(world: &World) -> Client {
    let program = programs::built("interlock-fixture", "mcp-fixture", INTERLOCK).unwrap();
    Client::start(world.wrapped(&[&program.to_string_lossy()])).unwrap()
}

#[test]
fn a_client_of_the_newer_era_discovers_and_calls() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = fixture(&world);
        let found = request(&mut client, "server/discover", json!({}), &json!({}));
        let result = &found["result"];
        assert!(
            result["supportedVersions"]
                .as_array()
                .unwrap()
                .contains(&json!(NEW)),
            "{way:?}: {found}"
        );
        assert_eq!(result["resultType"], "complete", "{way:?}");
        assert!(
            result["capabilities"]["tools"].is_object(),
            "{way:?}: {found}"
        );
        let list = request(&mut client, "tools/list", json!({}), &json!({}));
        assert!(
            list["result"]["ttlMs"].is_number() && list["result"]["cacheScope"].is_string(),
            "{way:?}: {list}"
        );
        let call = json!({"name": "greet", "arguments": {"name": "you"}});
        let answer = request(&mut client, "tools/call", call, &json!({}));
        assert_eq!(text(&answer), "Hello, you!", "{way:?}: {answer}");
        assert_eq!(answer["result"]["resultType"], "complete", "{way:?}");
    }
}

#[test]
fn a_tool_that_needs_input_gets_it_in_the_next_round() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = fixture(&world);
        let able = json!({"elicitation": {}, "sampling": {}, "roots": {}});
        request(&mut client, "server/discover", json!({}), &able);
        let name = "test_input_required_result_request_state";
        let first = request(
            &mut client,
            "tools/call",
            json!({"name": name, "arguments": {}}),
            &able,
        );
        assert_eq!(
            first["result"]["resultType"], "input_required",
            "{way:?}: {first}"
        );
        let state = first["result"]["requestState"].clone();
        let given = json!({"confirm": {"action": "accept", "content": {"ok": true}}});
        let again =
            json!({"name": name, "arguments": {}, "inputResponses": given, "requestState": state});
        let second = request(&mut client, "tools/call", again.clone(), &able);
        assert_eq!(text(&second), "state-ok", "{way:?}: {second}");
        let mut tampered = again;
        tampered["requestState"] = json!(format!("{}x", state.as_str().unwrap()));
        let refused = request(&mut client, "tools/call", tampered, &able);
        assert!(refused["error"].is_object(), "{way:?}: {refused}");
    }
}

#[test]
fn a_subscription_tells_of_changes_until_it_is_cancelled() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = fixture(&world);
        request(&mut client, "server/discover", json!({}), &json!({}));
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        let listen = ask(&mut client, "subscriptions/listen", wanted, &json!({}));
        let said = client
            .incoming("notifications/subscriptions/acknowledged")
            .unwrap();
        let key = "io.modelcontextprotocol/subscriptionId";
        assert_eq!(said["params"]["_meta"][key], listen, "{way:?}: {said}");
        // The fixture acknowledges the subscription before it listens: a change in between reaches nobody.
        let is_change = |message: &Value| message["method"] == "notifications/tools/list_changed";
        while !client.kept().iter().any(is_change) {
            let change = json!({"name": "test_trigger_tool_change", "arguments": {}});
            request(&mut client, "tools/call", change, &json!({}));
        }
        let told = client.wait_for(is_change).unwrap();
        assert_eq!(told["params"]["_meta"][key], listen, "{way:?}: {told}");
        client
            .tell("notifications/cancelled", &json!({"requestId": listen}))
            .unwrap();
        let after = request(&mut client, "tools/list", json!({}), &json!({}));
        assert!(after["result"]["tools"].is_array(), "{way:?}: {after}");
    }
}

#[test]
fn a_version_nobody_speaks_is_refused_with_the_list_of_those_we_do() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = fixture(&world);
        let mut params = json!({"_meta": meta(&json!({}))});
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v999.0.0");
        let id = client.ask("server/discover", &params).unwrap();
        let answer = client.answer(&id).unwrap();
        assert_eq!(answer["error"]["code"], -32022, "{way:?}: {answer}");
        let supported = answer["error"]["data"]["supported"].as_array().unwrap();
        assert!(supported.contains(&json!(NEW)), "{way:?}: {answer}");
    }
}

#[test]
fn an_older_client_works_with_a_server_of_the_newer_era() {
    for way in THROUGH {
        let world = World::new(way);
        let (mut client, hello) =
            world.open_as(&json!({"era": "modern"}), "2025-06-18", &json!({}));
        assert_eq!(
            hello["result"]["protocolVersion"], "2025-06-18",
            "{way:?}: {hello}"
        );
        let list = client.request("tools/list", &json!({})).unwrap();
        let tools = list["result"]["tools"].as_array().unwrap();
        assert!(
            tools.iter().any(|tool| tool["name"] == "do"),
            "{way:?}: {list}"
        );
        let id = client.call("do", &steps(json!([]))).unwrap();
        let answer = client.answer(&id).unwrap();
        assert!(
            answer["result"]["structuredContent"]["pid"].is_number(),
            "{way:?}: {answer}"
        );
        let log = world.log();
        let call = log
            .lines()
            .find(|line| line.contains("tools/call"))
            .unwrap();
        let call: Value = serde_json::from_str(call).unwrap();
        let said = &call["params"]["_meta"];
        assert_eq!(
            said["io.modelcontextprotocol/protocolVersion"], NEW,
            "{way:?}: {call}"
        );
        assert!(
            said["io.modelcontextprotocol/clientCapabilities"].is_object(),
            "{way:?}: {call}"
        );
    }
}

#[test]
fn an_older_client_is_asked_what_a_server_of_the_newer_era_needs() {
    for way in THROUGH {
        let world = World::new(way);
        let able = json!({"elicitation": {"form": {}}});
        let (mut client, _) = world.open_as(&json!({"era": "modern"}), "2025-11-25", &able);
        let form = json!({"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}});
        let asked = json!({"method": "elicitation/create", "params": form});
        let needed = json!({"resultType": "input_required", "inputRequests": {"who": asked}, "requestState": "opaque"});
        let id = client
            .call("do", &steps(json!([{ "result": needed }])))
            .unwrap();
        let question = client.incoming("elicitation/create").unwrap();
        let message = question["params"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("[the server") && message.ends_with("asks] Who?"),
            "{way:?}: {question}"
        );
        let said = json!({"action": "accept", "content": {"name": "Ada"}});
        client
            .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": said}))
            .unwrap();
        // The scripted server asks again and again: the second question shows that the first answer reached it.
        client.incoming("elicitation/create").unwrap();
        let log = world.log();
        let again = log
            .lines()
            .filter(|line| line.contains("tools/call"))
            .nth(1)
            .unwrap();
        let again: Value = serde_json::from_str(again).unwrap();
        assert_eq!(
            again["params"]["inputResponses"]["who"], said,
            "{way:?}: {again}"
        );
        assert_eq!(
            again["params"]["requestState"], "opaque",
            "{way:?}: {again}"
        );
        client
            .tell("notifications/cancelled", &json!({ "requestId": id }))
            .unwrap();
        assert!(
            client.request("ping", &json!({})).unwrap()["result"].is_object(),
            "{way:?}"
        );
    }
}

#[test]
fn a_client_of_the_newer_era_works_with_an_older_server() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = Client::start(world.command(&json!({}))).unwrap();
        let found = request(&mut client, "server/discover", json!({}), &json!({}));
        assert!(
            found["result"]["capabilities"]["tools"].is_object(),
            "{way:?}: {found}"
        );
        let list = request(&mut client, "tools/list", json!({}), &json!({}));
        assert_eq!(list["result"]["resultType"], "complete", "{way:?}: {list}");
        assert!(list["result"]["ttlMs"].is_number(), "{way:?}: {list}");
        let call = json!({"name": "do", "arguments": steps(json!([]))});
        let answer = request(&mut client, "tools/call", call, &json!({}));
        assert_eq!(
            answer["result"]["resultType"], "complete",
            "{way:?}: {answer}"
        );
        assert!(world.log().contains("\"initialize\""), "{way:?}");
        assert_ne!(way, Way::Direct);
    }
}

#[test]
fn a_client_of_the_newer_era_is_asked_in_rounds_what_an_older_server_asks() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = Client::start(world.command(&json!({}))).unwrap();
        let able = json!({"elicitation": {"form": {}}});
        request(&mut client, "server/discover", json!({}), &able);
        let form = json!({"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}});
        let script = steps(json!([{"ask": {"method": "elicitation/create", "params": form}}]));
        let call = json!({"name": "do", "arguments": script});
        let first = request(&mut client, "tools/call", call.clone(), &able);
        assert_eq!(
            first["result"]["resultType"], "input_required",
            "{way:?}: {first}"
        );
        let (key, question) = first["result"]["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        assert_eq!(question["method"], "elicitation/create", "{way:?}: {first}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("[the server") && message.ends_with("asks] Who?"),
            "{way:?}: {first}"
        );
        let said = json!({"action": "accept", "content": {"name": "Ada"}});
        let mut again = call;
        again["inputResponses"] = json!({ key.as_str(): said });
        again["requestState"] = first["result"]["requestState"].clone();
        let second = request(&mut client, "tools/call", again, &able);
        let heard = &second["result"]["structuredContent"]["answers"][0]["result"];
        assert_eq!(*heard, said, "{way:?}: {second}");
    }
}
