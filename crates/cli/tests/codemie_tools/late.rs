//! The time limit of a state with hanging servers: pending work is ended, and the state fails with that reason.

use std::{net::TcpListener, thread};

use interlock_testkit::provider::Reply;
use serde_json::{Value, json};

use crate::codemie_tools::{all_ended, made, of_tool, place::Place, run, server, write};

/// Runs a workflow whose state has a limit of one second, and checks that it ends by that.
fn ends_late(place: &Place) {
    let said = run(place, "go").ended(1);
    let said = said.says(&["timeout"]);
    assert!(!said.out.contains("done"), "{said:?}");
    let events = place.events();
    let cause = &events.last().unwrap()["cause"];
    assert_eq!(cause["code"], "timeout", "{cause}");
    all_ended(place);
}

/// Returns a server that does not answer this method.
fn mute(place: &Place, method: &str) -> Value {
    let mark = place.project().display().to_string();
    let mut zoo = server("zoo", &mark);
    let settings = zoo["config"]["args"][0].as_str().unwrap();
    let mut settings: Value = serde_json::from_str(settings).unwrap();
    settings["mute"] = json!([method]);
    zoo["config"]["args"][0] = json!(settings.to_string());
    zoo
}

#[test]
fn a_call_that_hangs_ends_with_the_time_of_its_state() {
    let place = made(&json!({"states": []}), Vec::new());
    let mark = place.project().display().to_string();
    let mut workflow = of_tool(json!({
        "tool": "look", "mcp_server": server("zoo", &mark), "tool_args": {"steps": [{"until_cancelled": 1}]},
    }));
    workflow["states"][0]["timeout"] = json!(1);
    write(&place, &workflow);
    ends_late(&place);
}

#[test]
fn a_server_that_does_not_start_ends_with_the_time_of_its_state() {
    for method in ["initialize", "tools/list"] {
        let place = made(&json!({"states": []}), Vec::new());
        let tool =
            json!({"tool": "look", "mcp_server": mute(&place, method), "tool_args": {"n": 1}});
        let mut workflow = of_tool(tool);
        workflow["states"][0]["timeout"] = json!(1);
        write(&place, &workflow);
        ends_late(&place);
    }
}

#[test]
fn a_server_of_an_agent_that_does_not_start_ends_with_the_time_of_its_state() {
    let place = made(&json!({"states": []}), Vec::new());
    let workflow = json!({
        "assistants": [{"id": "a", "system_prompt": "x", "mcp_servers": [mute(&place, "initialize")]}],
        "states": [{"id": "only", "assistant_id": "a", "timeout": 1, "next": {"state_id": "end"}}],
    });
    write(&place, &workflow);
    ends_late(&place);
    assert!(place.provider.asked().is_empty());
}

#[test]
fn an_address_that_never_answers_ends_with_the_time_of_its_state() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    let tool = json!({"tool": "http_request", "tool_args": {"url": format!("http://{at}/")}});
    let mut workflow = of_tool(tool);
    workflow["states"][0]["timeout"] = json!(1);
    ends_late(&made(&workflow, Vec::new()));
}

#[test]
fn a_model_that_is_asked_about_records_ends_with_the_time_of_its_state() {
    let mut workflow = of_tool(json!({"tool": "bash", "tool_args": {"command": "echo thing"}}));
    workflow["custom_nodes"] = json!([{"id": "sum", "custom_node_id": "state_processor_node", "config": {"state_id": "only"}}]);
    workflow["states"][0]["next"] = json!({"state_id": "all"});
    let all = json!({
        "id": "all", "custom_node_id": "sum", "task": "What?", "timeout": 1, "next": {"state_id": "end"},
    });
    workflow["states"].as_array_mut().unwrap().push(all);
    let place = made(&workflow, vec![Reply::page(200, "").silent_at(0)]);
    ends_late(&place);
    assert_eq!(place.provider.asked().len(), 1);
}
