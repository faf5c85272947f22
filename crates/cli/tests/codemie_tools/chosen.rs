//! Servers chosen by a run's data: recorded first, and asked about if nobody trusts the project.

use interlock_testkit::{
    provider::{Reply, call, text},
    terminal::Terminal,
};
use serde_json::{Value, json};

use crate::codemie_tools::{
    all_ended, configure, made, place::Place, run, says, script, server, write,
};

/// Returns a workflow whose tool state starts a server named by the input, or by an agent before it.
fn of_input(place: &Place) -> Value {
    let mark = place.project().display().to_string();
    let mut zoo = server("zoo", &mark);
    zoo["config"]["command"] = json!("{{ program }}");
    let tool = json!({
        "id": "t", "tool": "look", "mcp_server": zoo,
        "tool_args": {"steps": says("seen")},
    });
    json!({
        "tools": [tool],
        "states": [{"id": "only", "tool_id": "t", "next": {"state_id": "end"}}],
    })
}

fn place() -> Place {
    let place = made(&json!({"states": []}), Vec::new());
    write(&place, &of_input(&place));
    place
}

fn input() -> String {
    json!({"program": script()}).to_string()
}

fn noted(place: &Place, code: &str) -> Vec<String> {
    let events = place.events().into_iter();
    let noted = events.filter(|event| event["event"] == "Noted" && event["code"] == code);
    noted
        .map(|event| event["message"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn in_a_trusted_project_it_is_in_the_log_and_runs() {
    let place = place();
    let project = place.project().canonicalize().unwrap();
    configure(&place, &format!("[trust]\nprojects = [{project:?}]\n"));
    let said = run(&place, &input()).ended(0);
    assert_eq!(said.out.trim(), "seen");
    let notes = noted(&place, "server_start");
    assert!(notes[0].contains(script().to_str().unwrap()), "{notes:?}");
    assert_eq!(notes.len(), 1);
    assert!(noted(&place, "server_allowed").is_empty());
    all_ended(&place);
}

#[test]
fn where_nobody_can_be_asked_nothing_starts() {
    let place = place();
    let marker = place.project().join("started");
    let input = json!({"program": "touch", "marker": marker}).to_string();
    let mut workflow = of_input(&place);
    workflow["tools"][0]["mcp_server"]["config"]["args"] = json!(["{{ marker }}"]);
    write(&place, &workflow);
    run(&place, &input)
        .ended(1)
        .says(&["server_not_allowed", "started by `touch", "[trust]"]);
    assert!(!marker.exists());
    assert_eq!(noted(&place, "server_start").len(), 1);
}

#[test]
fn a_person_at_the_terminal_is_asked() {
    for (typed, code, word) in [("y\n", 0, "seen"), ("n\n", 1, "did not allow")] {
        let place = place();
        let command = place.command(&["run", "flow", &input()]);
        let mut terminal = Terminal::start(&command, 60, 200).unwrap();
        let asked = "[y]es, [n]o";
        terminal
            .wait_for(asked, |screen| screen.contains(asked))
            .unwrap();
        assert!(terminal.screen().contains("mcp-script"));
        terminal.press(typed).unwrap();
        let status = terminal.end().unwrap();
        assert_eq!(status.code(), Some(code), "{}", terminal.screen());
        assert!(terminal.screen().contains(word), "{}", terminal.screen());
        let allowed = noted(&place, "server_allowed");
        assert_eq!(allowed.len(), usize::from(code == 0), "{allowed:?}");
        all_ended(&place);
    }
}

#[test]
fn what_a_model_said_starts_nothing_for_another_agent() {
    let place = made(
        &json!({"states": []}),
        vec![Reply::say(vec![text("touch")])],
    );
    let marker = place.project().join("started");
    let zoo = json!({"name": "zoo", "config": {"command": "{{ program }}", "args": [marker]}});
    let workflow = json!({
        "assistants": [
            {"id": "a", "system_prompt": "x"},
            {"id": "b", "system_prompt": "x", "mcp_servers": [zoo]},
        ],
        "states": [
            {"id": "one", "assistant_id": "a", "next": {"state_id": "two", "output_key": "program"}},
            {"id": "two", "assistant_id": "b", "next": {"state_id": "end"}},
        ],
    });
    write(&place, &workflow);
    run(&place, "go").ended(1).says(&["server_not_allowed"]);
    assert!(!marker.exists());
    assert_eq!(noted(&place, "server_start").len(), 1);
}

#[test]
fn a_template_that_comes_to_nothing_is_named() {
    for (input, why) in [
        (json!({"program": "  "}), "is empty: `{{ program }}`"),
        // A name without a value is not a program either.
        (json!({}), "cannot be filled"),
    ] {
        let words = format!("`command` of the server `zoo` {why}");
        let said = run(&place(), &input.to_string()).ended(1);
        said.says(&["template_error", &words]);
    }
}

#[test]
fn an_agent_is_told_of_the_tools_once_it_is_allowed() {
    let place = made(
        &json!({"states": []}),
        vec![
            Reply::say(vec![call("look", json!({"steps": says("seen")}))]),
            Reply::say(vec![text("done")]),
        ],
    );
    let mark = place.project().display().to_string();
    let mut zoo = server("zoo", &mark);
    zoo["config"]["command"] = json!("{{ program }}");
    let workflow = json!({
        "assistants": [{"id": "a", "system_prompt": "x", "mcp_servers": [zoo]}],
        "states": [{"id": "only", "assistant_id": "a", "next": {"state_id": "end"}}],
    });
    write(&place, &workflow);
    let project = place.project().canonicalize().unwrap();
    configure(&place, &format!("[trust]\nprojects = [{project:?}]\n"));
    run(&place, &input()).ended(0);
    assert_eq!(place.provider.asked()[1].results(), ["seen"]);
    assert_eq!(noted(&place, "server_start").len(), 1);
    all_ended(&place);
}
