//! The files that a page's text can access: those of its project, and no others on the machine.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use serde_json::{Value, json};

use crate::console::{FLOW, World, page::Console};

/// An error in it would be shown.
const SECRET: &str = "${ctx.not-for-the-page ${ctx.";

/// Returns a console with a project that has workflows, and a file beside the project that no page may see.
fn open(world: &World) -> (Console, String) {
    world
        .room
        .write(".interlock/workflows/shop.yaml", FLOW)
        .unwrap();
    fs::write(world.room.project().join("../secret.md"), SECRET).unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    (console, bearer)
}

fn root(world: &World) -> PathBuf {
    world.room.project().canonicalize().unwrap()
}

fn shop(world: &World) -> PathBuf {
    root(world).join(".interlock/workflows/shop.yaml")
}

/// Returns a pipeline whose text is in another file.
fn reading(file: &str) -> String {
    format!(
        "id: shop
stages:
  A:
    allowedTools: [Read]
    completionTool: submit
    completionSchema: {{}}
    turnCap: 3
    next: end
    bodyFile: '{file}'
"
    )
}

#[test]
fn a_text_is_that_of_a_workflow_in_the_list() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let elsewhere = root(&world).join("flow.yaml");
    let files = [
        (json!(shop(&world)), 200),
        (json!("bugfix.yaml"), 200),
        (json!("bugfix"), 200),
        (json!("shop.yaml"), 404),
        (json!(elsewhere), 404),
        (json!("/etc/x.yaml"), 404),
        (json!(""), 404),
    ];
    for (file, status) in files {
        for path in ["check", "layout", "edit", "simulate"] {
            let body = json!({ "file": file, "text": FLOW });
            let answer = console.post(&format!("workflows/{path}"), Some(&bearer), &body);
            assert_eq!(answer.status, status, "{path} {file}: {answer:?}");
        }
    }
}

#[test]
fn a_text_names_no_file_outside_of_the_project() {
    let world = World::new();
    let (console, bearer) = open(&world);
    world.room.write("inside.md", "Do it.").unwrap();
    world
        .room
        .write("wrong.md", "Do ${ctx.tsk} ${ctx.")
        .unwrap();
    let secret = root(&world).join("../secret.md").canonicalize().unwrap();
    symlink(&secret, root(&world).join("link.md")).unwrap();
    symlink(secret.parent().unwrap(), root(&world).join("out")).unwrap();
    fs::write(world.room.home().join("secret.md"), SECRET).unwrap();
    let said = |file: &Value, wanted: &str| {
        let body = json!({ "file": file, "text": reading(wanted) });
        let found = console.post("workflows/check", Some(&bearer), &body).json();
        let layout = console.post("workflows/layout", Some(&bearer), &body);
        assert!(!layout.body.contains("not-for-the-page"), "{layout:?}");
        found["diagnostics"].to_string()
    };
    let own = json!(shop(&world));
    for inside in ["@/inside.md", "../../inside.md", "@/x/../inside.md"] {
        let said = said(&own, inside);
        assert!(!said.contains("unreadable_body"), "{inside}: {said}");
    }
    // An error in a file of the project is shown at its place.
    let wrong = said(&own, "@/wrong.md");
    assert!(wrong.contains("wrong.md\""), "{wrong}");
    assert!(said(&own, "@/none.md").contains("there is no file"));
    let absolute = secret.display().to_string();
    for outside in [
        absolute.as_str(),
        "/proc/self/environ",
        "/nowhere/at/all",
        "~/secret.md",
        "~/none.md",
        "@/../secret.md",
        "@/../none.md",
        "../../../secret.md",
        "@/link.md",
        "@/out/secret.md",
    ] {
        let said = said(&own, outside);
        assert!(
            said.contains("is outside of the project") && !said.contains("not-for-the-page"),
            "{outside}: {said}"
        );
    }
    // A shipped workflow has no folder, whatever the console's own folder is.
    let said = said(&json!("bugfix.yaml"), "../secret.md");
    assert!(said.contains("is outside of the project"), "{said}");
}

#[test]
fn a_name_leads_to_no_file_outside_of_the_project() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let outside = root(&world).join("../theirs.yaml");
    fs::write(&outside, FLOW.replace("draft", "not_for_the_page")).unwrap();
    let link = root(&world).join(".interlock/workflows/theirs.yaml");
    symlink(outside.canonicalize().unwrap(), &link).unwrap();

    let listed = console.get("workflows", &bearer).json();
    let rows = listed["workflows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert!(row("theirs")["locked"].is_string(), "{listed}");
    assert_eq!(row("theirs")["format"], Value::Null, "it is not read");
    assert_eq!(row("shop")["locked"], Value::Null);

    let opened = console.get("workflows/files/theirs", &bearer).json();
    assert_eq!(opened["text"], "", "{opened}");
    assert_eq!(opened["locked"], row("theirs")["locked"]);
    let mut headers = console.headers("PUT", Some(&bearer));
    let etag = opened["etag"].as_str().unwrap().to_owned();
    headers.push(("If-Match".to_owned(), etag));
    let body = json!({ "text": "id: x\n" }).to_string();
    let written = console.send("PUT", "/api/v1/workflows/files/theirs", &headers, &body);
    assert_eq!((written.status, written.code().as_str()), (403, "outside"));
    assert!(
        fs::read_to_string(&outside)
            .unwrap()
            .contains("not_for_the_page")
    );

    let check = |file: &PathBuf, text: &str| {
        let body = json!({ "file": file, "text": text });
        console.post("workflows/check", Some(&bearer), &body)
    };
    assert_eq!(check(&link, FLOW).status, 403);
    let calling = "start-at: a\nstates: {a: {tool: sub-flow, arguments: {workflow: theirs}}}\n";
    let said = check(&shop(&world), calling).body;
    assert!(said.contains("is outside of the project"), "{said}");
    assert!(!said.contains("not_for_the_page"), "{said}");
}

#[test]
fn a_name_with_several_files_means_the_one_that_starts() {
    let world = World::new();
    let state = |file: &str| file.replace(['.', '/'], "_");
    // JSON is YAML, too.
    let flow = |file: &str| {
        let states =
            json!({ state(file): { "on": { "DONE": "done" } }, "done": { "type": "final" } });
        json!({ "id": "many", "initial": state(file), "states": states }).to_string()
    };
    let put = |file: &str| {
        let path = format!(".interlock/workflows/{file}");
        world.room.write(&path, &flow(file)).unwrap();
    };
    let (console, bearer) = open(&world);
    // The nearest one each time, as when a run is started.
    for file in ["many.json", "many.yml", "many.yaml", "many/index.yaml"] {
        put(file);
        let listed = console.get("workflows", &bearer).json();
        let rows = listed["workflows"].as_array().unwrap();
        let rows: Vec<&Value> = rows.iter().filter(|row| row["name"] == "many").collect();
        let wanted = root(&world).join(".interlock/workflows").join(file);
        assert_eq!(rows.len(), 1, "{listed}");
        assert_eq!(rows[0]["path"], json!(wanted), "{listed}");
        let opened = console.get("workflows/files/many", &bearer).json();
        assert_eq!(opened["text"], json!(flow(file)), "{opened}");
        let drawn = world.interlock().run(&["graph", "many"]).unwrap();
        let drawn = String::from_utf8_lossy(&drawn.stdout).into_owned();
        assert!(drawn.contains(&state(file)), "{file}: {drawn}");
    }
}

#[test]
fn an_edit_does_not_bring_in_characters_that_do_not_show() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let edit = |to: &str| {
        let operation = json!({ "rename_state": { "name": "draft", "to": to } });
        let body = json!({ "file": shop(&world), "text": FLOW, "operations": [operation] });
        console.post("workflows/edit", Some(&bearer), &body)
    };
    assert_eq!(edit("writing").status, 200);
    for (hidden, code) in [
        ("wri\u{202e}ting", "\\u202e"),
        ("wri\u{200b}ting", "\\u200b"),
    ] {
        let operation = json!({ "set": { "at": "/description", "value": hidden } });
        let body = json!({ "file": shop(&world), "text": FLOW, "operations": [operation] });
        let set = console.post("workflows/edit", Some(&bearer), &body);
        for answer in [edit(hidden), set] {
            // An escape in the file's own syntax, which is saved as it is shown.
            let text = answer.json()["text"].as_str().unwrap().to_owned();
            assert!(text.contains(code) && !text.contains("\\u{"), "{text}");
        }
    }
}

#[test]
fn what_was_said_of_a_file_holds_as_long_as_the_file_is_the_same() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let errors = || {
        let listed = console.get("workflows", &bearer).json();
        let rows = listed["workflows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == "shop").unwrap();
        row["errors"].as_u64().unwrap()
    };
    assert_eq!(errors(), 0);
    let modified = fs::metadata(shop(&world)).unwrap().modified().unwrap();
    let broken = FLOW.replace("target: shipped", "target: nowhere");
    assert_eq!(broken.len(), FLOW.len());
    fs::write(shop(&world), &broken).unwrap();
    let file = fs::File::options().write(true).open(shop(&world)).unwrap();
    file.set_modified(modified).unwrap();
    assert_eq!(errors(), 0, "it is not read again");
    file.set_modified(modified + std::time::Duration::from_secs(1))
        .unwrap();
    assert_ne!(errors(), 0);
}

#[test]
fn a_file_that_opens_can_be_checked() {
    let world = World::new();
    let (console, bearer) = open(&world);
    let line = "# A line that says nothing.\n";
    let text = format!("{FLOW}{}", line.repeat(3_900_000 / line.len()));
    let body = json!({ "file": shop(&world), "text": text });
    let answer = console.post("workflows/check", Some(&bearer), &body);
    assert_eq!(answer.status, 200, "{}", answer.head);
}
