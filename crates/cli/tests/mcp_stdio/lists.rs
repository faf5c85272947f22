//! Lists: long, changing, and of several servers.

use interlock_testkit::mcp::stdio::Client;
use serde_json::{Value, json};

use crate::mcp_stdio::{INTERLOCK, THROUGH, WAYS, Way, World, is_note, note, script, steps, text};

/// Returns the tools of all pages except the gateway's own, and the number of pages.
fn all_tools(client: &mut Client) -> (Vec<Value>, usize) {
    let (mut tools, mut pages, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let answer = client.request("tools/list", &params).unwrap();
        let result = &answer["result"];
        let page = result["tools"]
            .as_array()
            .unwrap_or_else(|| unreachable!("{answer}"));
        tools.extend(page.iter().filter(|tool| !is_own(tool)).cloned());
        pages += 1;
        match &result["nextCursor"] {
            Value::Null => return (tools, pages),
            cursor => params = json!({ "cursor": cursor }),
        }
    }
}

fn is_own(tool: &Value) -> bool {
    tool["name"]
        .as_str()
        .is_some_and(|name| name.starts_with("interlock_"))
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

#[test]
fn a_thousand_tools_are_listed_in_pages_as_the_server_has_them() {
    let settings = json!({"many": 1000, "page": 90});
    let direct = all_tools(&mut World::new(Way::Direct).open(&settings));
    assert_eq!((direct.0.len(), direct.1), (1001, 12));
    for way in THROUGH {
        let through = all_tools(&mut World::new(way).open(&settings));
        assert_eq!(through.0, direct.0, "{way:?}");
    }
}

#[test]
fn a_cursor_nobody_gave_is_the_servers_own_affair_or_an_error() {
    for way in THROUGH {
        let world = World::new(way);
        let mut client = world.open(&json!({"many": 10, "page": 3}));
        for cursor in [json!("nonsense"), json!(""), json!(7)] {
            let answer = client
                .request("tools/list", &json!({ "cursor": cursor }))
                .unwrap();
            let is_error = answer["error"]["code"] == -32602;
            assert!(
                is_error || answer["result"]["tools"].is_array(),
                "{way:?}: {answer}"
            );
        }
        assert!(
            client.request("ping", &json!({})).unwrap()["result"].is_object(),
            "{way:?}"
        );
    }
}

#[test]
fn a_change_of_the_list_is_announced_and_seen() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        assert_eq!(names(&all_tools(&mut client).0), ["do"], "{way:?}");
        let added =
            json!([{"name": "added", "description": "New.", "inputSchema": {"type": "object"}}]);
        let changed = json!({"send": {"method": "notifications/tools/list_changed"}});
        let call = client
            .call("do", &steps(json!([{"set_tools": added}, changed])))
            .unwrap();
        client.incoming("notifications/tools/list_changed").unwrap();
        client.answer(&call).unwrap();
        assert_eq!(names(&all_tools(&mut client).0), ["do", "added"], "{way:?}");
        let id = client.call("added", &steps(json!([]))).unwrap();
        assert!(client.answer(&id).unwrap()["result"].is_object(), "{way:?}");
    }
}

#[test]
fn other_changes_pass_in_both_directions() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        for method in [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/x/unknown",
        ] {
            let params = json!({"kept": method, "number": 1.0});
            let send = json!({"send": {"method": method, "params": params}});
            let call = client.call("do", &steps(json!([send]))).unwrap();
            assert_eq!(
                client.incoming(method).unwrap()["params"],
                params,
                "{way:?}"
            );
            client.answer(&call).unwrap();
        }
        client
            .tell(
                "notifications/roots/list_changed",
                &json!({"kept": "roots"}),
            )
            .unwrap();
        client
            .tell("notifications/x/unknown", &json!({"kept": "unknown"}))
            .unwrap();
        // Its answer comes after both notifications.
        client.request("echo/here", &json!({})).unwrap();
        for method in [
            "notifications/roots/list_changed",
            "notifications/x/unknown",
        ] {
            assert!(
                world.log().contains(method),
                "{way:?}: {method}: {}",
                world.log()
            );
        }
    }
}

#[test]
fn a_server_that_floods_with_changes_does_not_hold_up_its_calls() {
    for way in WAYS {
        let world = World::new(way);
        let mut client = world.open(&json!({}));
        let message = json!({"method": "notifications/tools/list_changed"});
        let flood = json!({"flood": {"times": 2_000, "message": message}});
        let flooding = client
            .call("do", &steps(json!([flood, note("flooded")])))
            .unwrap();
        let other = client.call("do", &steps(json!([]))).unwrap();
        assert!(
            client.answer(&other).unwrap()["result"].is_object(),
            "{way:?}"
        );
        client
            .wait_for(|message| is_note(message, "flooded"))
            .unwrap();
        assert!(
            client.answer(&flooding).unwrap()["result"].is_object(),
            "{way:?}"
        );
        let seen = client
            .kept()
            .iter()
            .any(|one| one["method"] == message["method"]);
        assert!(seen, "{way:?}: at least one of them is handed on");
    }
}

#[test]
fn tools_of_two_servers_keep_their_names_where_they_can_and_reach_their_own() {
    for way in THROUGH {
        let world = World::new(way);
        let program = script();
        let mut config = String::new();
        for (server, tool) in [("one", "only_one"), ("two", "only_two")] {
            let tool = json!({"name": tool, "description": "Is there once.", "inputSchema": {"type": "object"}});
            let log = world.room.path(&format!("{server}.log"));
            let settings = json!({"tools": [tool], "log": log}).to_string();
            config += &format!(
                "[mcp.{server}]\ncommand = {:?}\nargs = [{settings:?}]\n",
                program
            );
        }
        world.configure(&config);
        let mut command = world.room.command(INTERLOCK);
        command.arg("gateway");
        let (mut client, _) = Client::open(command, "2025-11-25", &json!({})).unwrap();
        let mut seen = all_tools(&mut client).0;
        seen.sort_by_key(|tool| tool["name"].to_string());
        assert_eq!(
            names(&seen),
            ["one__do", "only_one", "only_two", "two__do"],
            "{way:?}"
        );
        for (tool, log) in [
            ("one__do", "one.log"),
            ("two__do", "two.log"),
            ("only_two", "two.log"),
        ] {
            let mark = format!("marked {way:?} {tool}");
            let id = client
                .call(tool, &json!({"steps": [{"echo": true}], "mark": mark}))
                .unwrap();
            let answer = client.answer(&id).unwrap();
            assert!(text(&answer).contains(&mark), "{way:?}: {answer}");
            let came = std::fs::read_to_string(world.room.path(log)).unwrap();
            assert!(came.contains(&mark), "{way:?}: {tool} went elsewhere");
            let own = tool.rsplit("__").next().unwrap();
            let call = came.lines().find(|line| line.contains(&mark)).unwrap();
            let call: Value = serde_json::from_str(call).unwrap();
            assert_eq!(
                call["params"]["name"], own,
                "{way:?}: the server knows its tool by its own name"
            );
        }
        let id = client.call("do", &json!({})).unwrap();
        let answer = client.answer(&id).unwrap();
        assert!(
            answer["error"].is_object() || answer["result"]["isError"] == true,
            "{way:?}: {answer}"
        );
    }
}
