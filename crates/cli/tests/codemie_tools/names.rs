//! Servers are identified by their start parameters, whatever their names are.

use interlock_testkit::provider::{Reply, call, text};
use serde_json::{Value, json};

use crate::codemie_tools::{
    all_ended, configure, made, place::Place, run, says, script, server, write,
};

/// Returns a server called `zoo` with one tool of this name besides `do`.
fn zoo(place: &Place, tool: &str) -> Value {
    let mark = place.project().display().to_string();
    let settings = json!({
        "tools": [{"name": tool, "description": format!("Does {tool}."), "inputSchema": {"type": "object"}}],
        "marked": mark,
    });
    json!({"name": "zoo", "config": {"command": script(), "args": [settings.to_string()]}})
}

/// Returns a project of two assistants, `a` and then `b`, with these servers; each calls `do` once.
fn of_two(first: impl Fn(&Place) -> Value, second: impl Fn(&Place) -> Value) -> Place {
    let turn = || {
        vec![
            Reply::say(vec![call("do", json!({}))]),
            Reply::say(vec![text("done")]),
        ]
    };
    let place = made(&json!({"states": []}), [turn(), turn()].concat());
    let state = |id: &str, next: &str| {
        json!({
            "id": id, "assistant_id": id, "task": "Go.",
            "next": {"state_id": next, "include_in_llm_history": false},
        })
    };
    let workflow = json!({
        "assistants": [
            {"id": "a", "system_prompt": "x", "mcp_servers": [first(&place)]},
            {"id": "b", "system_prompt": "x", "mcp_servers": [second(&place)]},
        ],
        "states": [state("a", "b"), state("b", "end")],
    });
    write(&place, &workflow);
    place
}

/// Returns the names of the tools in a request, sorted.
fn tools(place: &Place, number: usize) -> Vec<String> {
    let asked = place.provider.asked();
    let all = asked[number].body["tools"].as_array().cloned();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let mut names: Vec<String> = all.unwrap_or_default().iter().map(name).collect();
    names.sort();
    names
}

/// Returns the process that answered the call whose result is in a request.
fn pid(place: &Place, number: usize) -> Value {
    let results = place.provider.asked()[number].results();
    let told: Value = serde_json::from_str(results.last().unwrap()).unwrap();
    told["pid"].clone()
}

#[test]
fn two_servers_of_one_name_are_two() {
    let place = of_two(|place| zoo(place, "look"), |place| zoo(place, "feed"));
    run(&place, "go").ended(0);
    assert_eq!(tools(&place, 0), ["do", "look"]);
    assert_eq!(tools(&place, 2), ["do", "feed"]);
    assert_ne!(pid(&place, 1), pid(&place, 3));
    all_ended(&place);
}

#[test]
fn one_server_is_shared_unless_it_is_for_single_usage_or_has_other_values() {
    let with = |key: &'static str, value: Value| {
        move |place: &Place| {
            let mut zoo = zoo(place, "look");
            zoo[key] = value.clone();
            zoo
        }
    };
    let plain = || with("description", json!("The zoo."));
    let alias = |name: &str| with("integration_alias", json!(name));
    for (place, is_shared) in [
        (of_two(plain(), plain()), true),
        (of_two(alias("x"), alias("x")), true),
        (of_two(alias("x"), alias("y")), false),
        (of_two(alias("x"), plain()), false),
    ] {
        configure(
            &place,
            "[integrations.x]\nenv = { TOKEN = 'secret-of-x' }\n[integrations.y]\nenv = { TOKEN = 'secret-of-y' }\n",
        );
        run(&place, "go").ended(0);
        assert_eq!(pid(&place, 1) == pid(&place, 3), is_shared);
        all_ended(&place);
    }
}

#[test]
fn a_server_of_the_run_with_the_name_of_an_own_one_is_not_seen() {
    let place = of_two(|place| zoo(place, "look"), |place| zoo(place, "look"));
    let other = zoo(&place, "feed")["config"]["args"][0].clone();
    let text = format!(
        "[mcp.zoo]\ncommand = {:?}\nargs = ['''{}''']\n",
        script(),
        other.as_str().unwrap()
    );
    configure(&place, &text);
    run(&place, "go").ended(0);
    assert_eq!(tools(&place, 0), ["do", "look"]);
    all_ended(&place);
}

#[test]
fn what_the_file_says_of_a_server_counts() {
    // `[name]` and `$name` are plain text.
    let place = made(
        &json!({"states": []}),
        vec![
            Reply::say(vec![call("look", json!({"steps": says("seen")}))]),
            Reply::say(vec![text("done")]),
        ],
    );
    let mark = place.project().display().to_string();
    let log = place.project().join("[name] $HOME.log");
    let mut zoo = server("zoo", &mark);
    let mut settings: Value =
        serde_json::from_str(zoo["config"]["args"][0].as_str().unwrap()).unwrap();
    settings["log"] = json!(log);
    zoo["config"]["args"][0] = json!(settings.to_string());
    zoo["tools"] = json!(["look"]);
    let workflow = json!({
        "assistants": [{"id": "a", "system_prompt": "x", "mcp_servers": [zoo]}],
        "states": [{"id": "only", "assistant_id": "a", "next": {"state_id": "end"}}],
    });
    write(&place, &workflow);
    run(&place, "go").ended(0);
    assert_eq!(tools(&place, 0), ["look"]);
    assert!(log.exists());
    all_ended(&place);
}
