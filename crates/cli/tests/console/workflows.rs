//! Workflows over HTTP: listed, checked, drawn, edited and simulated as texts, and written only over the version that
//! the page read.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::console::{
    FLOW, World,
    page::{Answer, Console},
};

/// Returns a console with a project that has its own workflow.
pub(crate) fn open(world: &World) -> (Console, String) {
    world
        .room
        .write(".interlock/workflows/shop.yaml", FLOW)
        .unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    (console, bearer)
}

/// Returns the page's draft of it.
pub(crate) fn draft(world: &World, text: &str, more: &Value) -> Value {
    let mut draft = json!({ "file": shop(world), "text": text });
    for (key, value) in more.as_object().into_iter().flatten() {
        draft[key] = value.clone();
    }
    draft
}

/// Returns the file of the project's workflow.
fn shop(world: &World) -> PathBuf {
    let root = world.room.project().canonicalize().unwrap();
    root.join(".interlock/workflows/shop.yaml")
}

fn put(console: &Console, bearer: &str, name: &str, etag: Option<&str>, text: &str) -> Answer {
    let mut headers = console.headers("PUT", Some(bearer));
    headers.extend(etag.map(|etag| ("If-Match".to_owned(), etag.to_owned())));
    let body = json!({ "text": text }).to_string();
    console.send(
        "PUT",
        &format!("/api/v1/workflows/files/{name}"),
        &headers,
        &body,
    )
}

#[test]
fn a_workflow_is_written_over_what_the_page_read_and_nothing_else() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let listed = console.get("workflows", &bearer).json();
    let own = listed["workflows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "shop")
        .unwrap();
    assert_eq!(
        (&own["origin"], &own["errors"]),
        (&json!("project"), &json!(0)),
        "{listed}"
    );

    let opened = console.get("workflows/files/shop", &bearer).json();
    assert_eq!(
        (&opened["text"], &opened["locked"]),
        (&json!(FLOW), &Value::Null)
    );
    let etag = opened["etag"].as_str().unwrap();
    let operations =
        json!({ "operations": [{ "rename_state": { "name": "draft", "to": "writing" } }] });
    let edited = console
        .post(
            "workflows/edit",
            Some(&bearer),
            &draft(&world, FLOW, &operations),
        )
        .json();
    let text = edited["text"].as_str().unwrap();
    assert_eq!(text, FLOW.replace("draft", "writing"));
    let read = || world.room.read(".interlock/workflows/shop.yaml").unwrap();
    assert_eq!(read(), FLOW, "an edit of a text writes nothing");

    assert_eq!(put(&console, &bearer, "shop", None, text).status, 428);
    assert_eq!(
        put(&console, &bearer, "shop", Some("\"other\""), text).status,
        412
    );
    assert_eq!(put(&console, "0123", "shop", Some(etag), text).status, 401);
    assert_eq!(
        put(&console, &bearer, "..%2F..%2Fflow", Some(etag), text).status,
        404
    );
    assert_eq!(
        put(&console, &bearer, "bugfix", Some(etag), text).status,
        403,
        "a shipped one"
    );
    assert_eq!(read(), FLOW);
    let written = put(&console, &bearer, "shop", Some(etag), text);
    assert_eq!(written.status, 200, "{written:?}");
    assert_eq!(read(), text);
    // The run keeps the copy that it began with.
    let state = console
        .get(&format!("runs/{}/state", world.run), &bearer)
        .body;
    assert!(
        state.contains("draft") && !state.contains("writing"),
        "{state}"
    );
    // Somebody else has written it since.
    world
        .room
        .write(".interlock/workflows/shop.yaml", FLOW)
        .unwrap();
    let etag = written.json()["etag"].as_str().unwrap().to_owned();
    assert_eq!(
        put(&console, &bearer, "shop", Some(&etag), "id: x\n").status,
        412
    );
    assert_eq!(read(), FLOW);
}

#[test]
fn a_text_is_checked_drawn_and_played_and_nothing_runs() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let post = |path: &str, body: &Value| {
        console
            .post(&format!("workflows/{path}"), Some(&bearer), body)
            .json()
    };
    let broken = FLOW.replace("SHIP: {target: shipped", "SHIP: {target: nowhere");
    let found = post("check", &draft(&world, &broken, &json!({})));
    let codes: Vec<&str> = found["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["code"].as_str())
        .collect();
    assert!(codes.contains(&"undefined_state"), "{found}");
    assert_eq!(found["diagnostics"][0]["line"], 8, "{found}");
    assert_eq!(
        post("layout", &draft(&world, &broken, &json!({})))["scene"],
        Value::Null
    );
    let drawn = post("layout", &draft(&world, FLOW, &json!({})));
    assert!(drawn["scene"].to_string().contains("shipped"), "{drawn}");

    let lines = json!({ "lines": [{ "tool": "Bash", "input": { "command": "rm flow.yaml" } }, { "transition": "SHIP" }] });
    let played = post("simulate", &draft(&world, FLOW, &lines));
    assert_eq!(played["answers"][0]["verdict"], "deny", "{played}");
    assert_eq!(
        played["answers"][1]["status"], "awaiting_approval",
        "{played}"
    );
    let short = json!({ "lines": ["Bash rm flow.yaml", "SHIP", "approve alice", "DONE"] });
    let played = post("simulate", &draft(&world, FLOW, &short));
    assert_eq!(played["answers"][3]["status"], "completed", "{played}");
    assert_eq!(
        played["marks"].as_array().unwrap().len(),
        5,
        "those of the start, too: {played}"
    );
    let here = |marks: &Value| {
        let nodes = marks["nodes"].as_object().unwrap().clone();
        nodes
            .into_iter()
            .find(|(_, node)| node["here"] == 1)
            .unwrap()
            .0
    };
    assert_ne!(
        here(&played["marks"][0]),
        here(&played["marks"][3]),
        "{played}"
    );
    let unknown = json!({ "lines": [{ "toool": "Bash" }] });
    assert_eq!(
        post("simulate", &draft(&world, FLOW, &unknown))["ok"],
        false
    );
    assert!(world.room.read("flow.yaml").is_some());

    let operations = json!({ "operations": [{ "remove_state": { "name": "shipped" } }] });
    let refused = post("edit", &draft(&world, FLOW, &operations));
    assert_eq!(
        (&refused["code"], &refused["diagnostics"][0]["line"]),
        (&json!("in_use"), &json!(8)),
        "{refused}"
    );
}

#[test]
fn a_workflow_with_characters_that_do_not_show_is_not_changed_here() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let hidden = FLOW.replace("Ship the release?", "Ship\u{202e} it?");
    world
        .room
        .write(
            ".interlock/workflows/odd.yaml",
            &hidden.replace("id: shop", "id: odd"),
        )
        .unwrap();
    let opened = console.get("workflows/files/odd", &bearer).json();
    assert!(
        opened["text"].as_str().unwrap().contains("\\u{202e}"),
        "{opened}"
    );
    assert!(opened["locked"].is_string(), "{opened}");
    let etag = opened["etag"].as_str().unwrap();
    let shown = opened["text"].as_str().unwrap();
    assert_eq!(put(&console, &bearer, "odd", Some(etag), shown).status, 403);
}

#[test]
fn the_states_of_a_text_come_with_their_places() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let outline = |text: &str, machine: Option<&str>| {
        let body = json!({ "file": shop(&world), "text": text, "machine": machine });
        console
            .post("workflows/layout", Some(&bearer), &body)
            .json()["outline"]
            .clone()
    };
    let flow = outline(FLOW, None);
    assert_eq!(
        (&flow["format"], &flow["rest"]["initial"]),
        (&json!("native"), &json!("draft"))
    );
    let state = &flow["states"][1];
    assert_eq!(state["at"], "/states/shipped");
    let place = |end: usize| usize::try_from(state["span"][end].as_u64().unwrap()).unwrap();
    assert_eq!(
        FLOW.get(place(0)..place(1)),
        Some("shipped: {on: {DONE: done}}")
    );
    // A text with errors has its states, too; one that cannot be parsed has none.
    let broken = FLOW.replace("SHIP: {target: shipped", "SHIP: {target: nowhere");
    assert_eq!(outline(&broken, None)["states"][0]["name"], "draft");
    assert_eq!(outline("states: [", None), Value::Null);
    // One of several, whose keys are escaped in their pointers.
    let several = "workflows:\n  a: {id: a, initial: x, states: {x: {type: final}}}\n  b/c: {id: b, initial: y, states: {y~: {}}}\n";
    assert_eq!(outline(several, None), Value::Null);
    assert_eq!(
        outline(several, Some("b/c"))["states"][0]["at"],
        "/workflows/b~1c/states/y~0"
    );
    let items = outline(
        "execution_config: {}\nassistants: []\nstates:\n  - {id: one, task: t}\n",
        None,
    );
    assert_eq!(items["states"][0]["at"], "/states/0", "{items}");

    let schema = |format: &str| console.get(&format!("workflows/schema?format={format}"), &bearer);
    assert!(schema("native").body.contains("max_iterations"));
    assert!(schema("pipeline").body.contains("stages"));
    assert_eq!(schema("other").status, 404);
}
