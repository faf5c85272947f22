//! Workflows tried over HTTP: cases and counterexamples as lines, graphs that open and fold, called machines.

use serde_json::{Value, json};

use crate::console::{
    World,
    workflows::{draft, open},
};

/// A workflow with a test file and properties beside it, each with one failure.
const SOUND: &str = "id: shop
initial: draft
states:
  draft:
    allowed_tools: [Read]
    on: {SHIP: shipped}
  shipped: {on: {DONE: done}}
  done: {type: final}
";
const TESTS: &str = "workflow: shop.yaml
cases:
  - name: from the draft to the end
    steps:
      - {tool: Read, input: {file_path: a}, expect: {verdict: allow}}
      - {result: {ok: true}}
      - {transition: SHIP, expect: {state: shipped}}
      - {transition: DONE, expect: {status: completed}}
  - name: nothing is shipped unseen
    steps:
      - {transition: SHIP, expect: {status: awaiting_approval}}
";
const PROPERTIES: &str = "- {name: a person ships, only_with_person: {enter: shipped}}
- {name: it ends, possible: {enter: done}}
";

#[test]
fn tests_and_counterexamples_come_as_lines_that_play_step_by_step() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let write = |name: &str, text: &str| {
        let path = format!(".interlock/workflows/{name}");
        world.room.write(&path, text).unwrap();
    };
    write("shop.test.yaml", TESTS);
    write("shop.properties.yaml", PROPERTIES);
    write("other.test.yaml", &TESTS.replace("shop.yaml", "other.yaml"));
    let post = |path: &str, more: &Value| {
        let body = draft(&world, SOUND, more);
        console
            .post(&format!("workflows/{path}"), Some(&bearer), &body)
            .json()
    };
    let found = post("cases", &json!({}));
    let files = found["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{found}");
    let cases = &files[0]["cases"];
    assert_eq!(
        (&cases[0]["failed"], &cases[1]["failed"]),
        (&Value::Null, &json!(1)),
        "{found}"
    );
    // Simulated as lines, each step reports whether it is as expected.
    let play =
        |lines: &Value, begun: &Value| post("simulate", &json!({ "lines": lines, "begun": begun }));
    let played = play(&cases[0]["steps"], &cases[0]["begun"]);
    let answers = played["answers"].as_array().unwrap();
    assert!(
        answers
            .iter()
            .all(|answer| answer["differences"].as_array().is_none_or(Vec::is_empty)),
        "{played}"
    );
    assert_eq!(answers[3]["status"], "completed", "{played}");
    let played = play(&cases[1]["steps"], &cases[1]["begun"]);
    let differences = played["answers"][0]["differences"].to_string();
    assert!(differences.contains("awaiting_approval"), "{played}");

    // A run that violates a property is simulated in the same way.
    let proof = post("prove", &json!({}));
    let finding = |name: &str| {
        let findings = proof["findings"].as_array().unwrap();
        findings
            .iter()
            .find(|one| one["property"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(finding("it ends")["verdict"], "holds", "{proof}");
    let broken = finding("a person ships");
    assert_eq!(
        (&broken["verdict"], &broken["line"]),
        (&json!("fails"), &json!(1)),
        "{proof}"
    );
    let lines: Vec<Value> = broken["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["line"].clone())
        .collect();
    let played = play(&json!(lines), &broken["begun"]);
    assert_eq!(played["ok"], true, "{played}");
    let last = played["answers"].as_array().unwrap().last().unwrap();
    assert_eq!(last["state"], "shipped", "{played}");
    // Errors in the properties are reported with their place.
    write(
        "shop.properties.yaml",
        &PROPERTIES.replace("shipped", "nowhere"),
    );
    let proof = post("prove", &json!({}));
    assert_eq!(
        (&proof["ok"], &proof["diagnostics"][0]["line"]),
        (&json!(false), &json!(1)),
        "{proof}"
    );
}

/// A call, a fork and states that can be grouped.
const CALLING: &str = "id: shop
initial: one
states:
  one: {on: {GO: two}}
  two: {on: {CALL: {invoke: pack, on_complete: three, on_fail: done}}}
  three: {on: {SPLIT: {fork: {branches: {a: {initial: four, terminal: done}}, on_complete: done}}}}
  four: {on: {END: done}}
  done: {type: final}
machines:
  pack:
    initial: boxing
    guards: {g: {field: a, op: exists}}
    states:
      boxing: {on: {NEXT: {target: boxed, guard: g}}}
      boxed: {type: final}
";

/// Lists the nodes of a scene.
fn nodes(scene: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut open = vec![scene];
    while let Some(one) = open.pop() {
        if one["group"] == "node" {
            found.push(one.clone());
        }
        open.extend(one["items"].as_array().into_iter().flatten());
    }
    found
}

#[test]
fn a_call_is_opened_in_place_and_states_are_folded() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let scene = |view: Value| {
        let body = draft(&world, CALLING, &json!({ "view": view }));
        let drawn = console
            .post("workflows/layout", Some(&bearer), &body)
            .json();
        nodes(&drawn["scene"])
    };
    let named = |nodes: &[Value], name: &str| -> Vec<Value> {
        nodes
            .iter()
            .filter(|node| node["name"] == name)
            .cloned()
            .collect()
    };
    let plain = scene(json!({}));
    let call = plain
        .iter()
        .find(|node| node["fold"]["what"] == "call")
        .unwrap();
    assert_eq!(call["fold"]["open"], false, "{call}");
    let alone = named(&plain, "boxing");
    assert_eq!(alone.len(), 1);
    // Opened, the machine is drawn inside the call and nowhere else; its marks are those of the machine.
    let opened = scene(json!({ "opened": [call["key"]] }));
    let inside = named(&opened, "boxing");
    assert_eq!(inside.len(), 1, "{opened:?}");
    let id = inside[0]["id"].as_str().unwrap();
    assert_eq!(
        id,
        format!(
            "{}>{}",
            call["id"].as_str().unwrap(),
            alone[0]["id"].as_str().unwrap()
        )
    );
    // Folded states are one node that represents all of them.
    let folded = scene(json!({ "groups": [["one", "two"]] }));
    assert!(
        named(&folded, "one").is_empty() && named(&folded, "two").is_empty(),
        "{folded:?}"
    );
    let group = folded
        .iter()
        .find(|node| node["fold"]["what"] == "group")
        .unwrap();
    let ids = [&group["id"], &group["also"][0]];
    assert_eq!(
        ids,
        [
            &named(&plain, "one")[0]["id"],
            &named(&plain, "two")[0]["id"]
        ]
    );
    let fork = plain
        .iter()
        .find(|node| node["fold"]["what"] == "fork")
        .unwrap();
    assert_eq!(
        named(&scene(json!({ "folded": [fork["key"]] })), "four").len(),
        0
    );
}

#[test]
fn the_form_of_a_machine_that_is_called_edits_that_machine() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let inner = |more: Value| {
        let mut body = draft(&world, CALLING, &more);
        body["inner"] = json!("pack");
        body
    };
    let drawn = console
        .post("workflows/layout", Some(&bearer), &inner(json!({})))
        .json();
    let outline = &drawn["outline"];
    assert_eq!(
        (&outline["base"], &outline["states"][0]["name"]),
        (&json!("/machines/pack"), &json!("boxing"))
    );
    let place =
        usize::try_from(outline["states"][0]["places"]["on/NEXT"].as_u64().unwrap()).unwrap();
    assert!(
        CALLING
            .get(place..)
            .unwrap()
            .starts_with("NEXT: {target: boxed")
    );
    let place = usize::try_from(outline["places"]["guards/g"].as_u64().unwrap()).unwrap();
    assert!(CALLING.get(place..).unwrap().starts_with("g: {field: a"));
    let operations =
        json!({ "operations": [{ "rename_state": { "name": "boxed", "to": "packed" } }] });
    let edited = console
        .post("workflows/edit", Some(&bearer), &inner(operations))
        .json();
    assert_eq!(
        edited["text"],
        json!(CALLING.replace("boxed", "packed")),
        "{edited}"
    );
}
