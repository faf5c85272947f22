//! A corpus of texts that would have an effect if they were interpreted, in a real browser: page by page.

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::{Value, json};

use crate::e2e_console::{INTERLOCK, browser::Browser, corpus::corpus, page::Console};

const SESSION: &str = "5b1e8f2c-8d2b-4c55-9a3f-0d7f3f0a6c11";
const FILE: &str = ".interlock/workflows/nasty.yaml";

/// Returns a workflow that came with a cloned repository.
fn workflow(texts: &[String]) -> String {
    let all = json!(texts.join(" "));
    let one = json!(texts[0]);
    format!(
        "id: nasty
initial: working
context: {{note: {all}}}
states:
  working:
    instructions: {all}
    on:
      SHIP: {{target: done, requires_approval: true, approval_message: {one}}}
  done: {{type: final}}
"
    )
}

fn proposes(room: &Room, id: &str, tool: &str, input: &Value) {
    let told = before_tool(room, SESSION, id, tool, input);
    let told = room.write("told.json", &told.to_string()).unwrap();
    let hook = format!("'{INTERLOCK}' hook claude-code < {}", told.display());
    // A shell does not count as a client.
    let mut client = room.command("find");
    client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &hook, ";"]);
    assert!(client.output().unwrap().status.success());
}

#[test]
fn nothing_that_an_agent_writes_is_more_than_text_on_any_page_story() {
    let room = Room::new().unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    let texts: Vec<String> = corpus()
        .into_iter()
        .filter(|text| !text.contains('\0'))
        .collect();
    room.write(FILE, &workflow(&texts)).unwrap();
    let run = interlock.start_for_session(FILE, SESSION).unwrap();
    let other = interlock.start(FILE).unwrap();
    for (at, text) in texts.iter().enumerate() {
        let input = json!({ "file_path": text, "content": text, "command": text });
        for tool in ["Write", "Bash", text] {
            proposes(&room, &format!("{at} {tool}"), tool, &input);
        }
    }
    let mut data = serde_json::Map::new();
    // Keys that begin with `_` are refused.
    for text in texts.iter().filter(|text| !text.starts_with('_')) {
        data.insert(text.clone(), json!(text));
    }
    let data = Value::Object(data).to_string();
    interlock
        .by_a_person(&["send", "SHIP", "--run", &run, "--data", &data])
        .unwrap();
    let events = interlock.events(&run).unwrap();
    let verdict = |name: &str| {
        let found = events.iter().find(|event| event["event"] == name);
        found.map(|event| event["seq"].as_u64().unwrap() + 1)
    };

    let mut console = Console::open(&room);
    let browser = Browser::start();
    let url = format!("http://localhost:{}/", console.port);
    let shown = browser.tell("open", json!({ "url": url }));
    console.types(shown["number"].as_str().unwrap(), "y\n");
    browser.tell("inside", json!({}));
    let at = verdict("CallAllowed")
        .or_else(|| verdict("CallDenied"))
        .unwrap();
    for hash in [
        "#/inbox".to_owned(),
        "#/runs".to_owned(),
        format!("#/runs/{run}"),
        format!("#/runs/{run}?at={at}"),
        format!("#/runs/{run}/what-if?workflow=nasty"),
        format!("#/compare/{run}/{other}"),
        "#/workflows".to_owned(),
        "#/workflows/nasty".to_owned(),
        "#/cost".to_owned(),
        "#/trust".to_owned(),
        "#/<img src=x onerror=alert(1)>".to_owned(),
        "#/runs/<img src=x onerror=alert(1)>".to_owned(),
    ] {
        let examined = browser.tell("examine", json!({ "hash": hash }));
        assert_eq!(examined["found"], json!([]), "{hash}");
        let foreign = browser.tell("foreign", json!({}));
        assert_eq!(foreign["found"], json!([]), "{hash}");
        let problems = browser.tell("problems", json!({}));
        assert_eq!(problems["problems"], json!([]), "{hash}");
    }
}
