//! `check`: the diagnostics of a file, and their format.

use serde_json::json;

use super::{FLOW, call, err, out, room, value};

#[test]
fn check_names_line_column_and_the_nearest_name() {
    let room = room();
    room.write("bad.yaml", &FLOW.replace("allowed_tools", "alowed_tools"))
        .unwrap();
    err(
        &call(&room, &["check", "bad.yaml"]),
        1,
        &["bad.yaml:6:5", "did you mean `allowed_tools`?"],
    );
    let found = value(&call(&room, &["check", "--json", "bad.yaml"]), 1);
    assert_eq!(found["diagnostics"][0]["line"], json!(6));
    assert_eq!(found["diagnostics"][0]["column"], json!(5));
    out(&call(&room, &["check", "flow.yaml"]), 0);
}

#[test]
fn a_workflow_is_invoked_by_its_name_or_by_its_id() {
    let room = room();
    let called = "id: child-id\ninitial: x\nstates: {x: {on: {DONE: y}}, y: {type: final}}\n";
    room.write(".interlock/workflows/file-name.yaml", called)
        .unwrap();
    for (name, code) in [("file-name", 0), ("child-id", 0), ("nobody", 1)] {
        let caller = format!(
            "id: caller\ninitial: a\nstates:\n  a: {{on: {{GO: {{invoke: {name}, on_complete: b, on_fail: b}}}}}}\n  b: {{type: final}}\n"
        );
        room.write("caller.yaml", &caller).unwrap();
        let checked = call(&room, &["check", "caller.yaml"]);
        assert_eq!(checked.status.code(), Some(code), "{name}: {checked:?}");
    }
}

#[test]
fn what_is_only_not_configured_here_may_be_a_note() {
    let room = room();
    let flow = "assistants:
  - {id: a, system_prompt: x, model: elsewhere/m, tools: [{name: jira_search}], datasource_ids: [docs]}
states:
  - {id: s, assistant_id: a, task: t, next: {state_id: end}}
";
    room.write("codemie.yaml", flow).unwrap();
    let plain = value(&call(&room, &["check", "codemie.yaml", "--json"]), 1);
    assert_eq!(plain["errors"], 3, "{plain}");
    let assumed = ["check", "codemie.yaml", "--assume-configured", "--json"];
    let assumed = value(&call(&room, &assumed), 0);
    assert_eq!(assumed["errors"], 0, "{assumed}");
    let notes = assumed["diagnostics"].as_array().unwrap().iter();
    assert_eq!(notes.filter(|found| found["severity"] == "note").count(), 3);
    // An error in the file itself stays an error.
    room.write(
        "codemie.yaml",
        &flow.replace("assistant_id: a", "assistant_id: b"),
    )
    .unwrap();
    let wrong = ["check", "codemie.yaml", "--assume-configured", "--json"];
    assert_eq!(value(&call(&room, &wrong), 1)["errors"], 1);
}

#[test]
fn of_very_many_remarks_a_person_is_shown_the_first() {
    let room = room();
    let states: Vec<String> = (0..400)
        .map(|at| format!("  s{at}: {{on: {{NEXT: s{}}}}}", (at + 1) % 400))
        .collect();
    let ring = format!("id: ring\ninitial: s0\nstates:\n{}\n", states.join("\n"));
    room.write("ring.yaml", &ring).unwrap();
    let checked = call(&room, &["check", "ring.yaml"]);
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(said.contains("more remarks are not shown"), "{said}");
    // An error is shown however many warnings precede it.
    assert!(said.contains("error["), "{said}");
    let checked = call(&room, &["check", "ring.yaml", "--json"]);
    let all = String::from_utf8_lossy(&checked.stdout)
        .matches("unapproved_power")
        .count();
    assert_eq!(all, 400);
}

#[test]
fn a_jump_in_what_an_agent_may_do_is_a_remark_unless_somebody_approves_it() {
    let room = room();
    for (approval, remarks) in [("false", 1), ("true", 0)] {
        let flow = format!(
            "id: flow
initial: look
states:
  look:
    allowed_tools: [Read]
    on:
      GO: {{target: act, requires_approval: {approval}}}
  act:
    allowed_tools: [Bash]
    on: {{DONE: end}}
  end: {{type: final}}
"
        );
        room.write("flow.yaml", &flow).unwrap();
        let checked = call(&room, &["check", "flow.yaml", "--json"]);
        let found = value(&checked, 0);
        let found = found["diagnostics"].as_array().unwrap().iter();
        let jumps = found.filter(|found| found["code"] == "privilege_jump");
        assert_eq!(jumps.count(), remarks, "{approval}");
    }
}

#[test]
fn a_file_whose_warnings_fail_is_not_called_ok() {
    let room = room();
    let open = "id: w\ninitial: a\nstates:\n  a: {on: {DONE: b}}\n  b: {type: final}\n";
    room.write("open.yaml", open).unwrap();
    let said = |arguments: &[&str], code: i32| {
        let output = call(&room, arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        said(&["check", "open.yaml"], 0),
        "ok open.yaml (1 remark)\n"
    );
    let denied = said(&["check", "--deny-warnings", "open.yaml"], 1);
    assert_eq!(denied, "failed open.yaml: 1 warning\n");
}
