//! A passkey in the browser, with a virtual authenticator: enrolled, used, and not provided.

use interlock_testkit::{interlock::Interlock, room::Room};
use serde_json::{Value, json};

use crate::e2e_console::{INTERLOCK, browser::Browser, page::Console};

const WORKFLOW: &str = "id: release
initial: draft
states:
  draft:
    on: {SHIP: {target: shipped, approval: passkey, approval_message: Ship it?}}
  shipped: {type: final}
";

/// Checks that a page has no errors.
fn clean(browser: &Browser, what: &str) {
    let found = browser.tell("examine", json!({}));
    assert_eq!(found["found"], json!([]), "{what}");
}

fn count(interlock: &Interlock<'_>, run: &str, name: &str) -> usize {
    let events = interlock.events(run).unwrap();
    events.iter().filter(|event| event["event"] == name).count()
}

#[test]
fn a_person_enrols_a_passkey_and_approves_with_it() {
    let room = Room::new().unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    let mut command = room.command(INTERLOCK);
    command.args(["passkey", "add", "laptop", "--no-open"]);
    let mut console = Console::start(&mut command);
    let browser = Browser::start();
    let url = |port: u16, page: &str| json!({ "url": format!("http://localhost:{port}/#/{page}") });
    let shown = browser.tell("open", url(console.port, "passkey"));
    browser.tell("authenticator", json!({}));
    console.types(shown["number"].as_str().unwrap(), "y\n");
    browser.tell("inside", json!({}));
    clean(&browser, "passkey");
    // An authenticator that does not verify its person enrols nothing.
    browser.tell("verifies", json!({ "verified": false }));
    let refused = browser.tell(
        "said",
        json!({ "name": "Make the passkey", "of": "[role=alert]" }),
    );
    assert!(
        refused["text"].as_str().unwrap().contains("no passkey"),
        "{refused}"
    );
    browser.tell("verifies", json!({ "verified": true }));
    let made = browser.tell(
        "said",
        json!({ "name": "Make the passkey", "of": "main [role=status]" }),
    );
    let text = made["text"].as_str().unwrap();
    assert!(text.contains("`laptop` is enrolled (ES256)"), "{text}");
    assert!(console.terminal.end().unwrap().success());

    room.write("flow.yaml", WORKFLOW).unwrap();
    let run = interlock.start("flow.yaml").unwrap();
    interlock
        .by_a_person(&["send", "SHIP", "--run", &run])
        .unwrap();
    let mut console = Console::open(&room);
    let shown = browser.tell("visit", url(console.port, "inbox"));
    console.types(shown["number"].as_str().unwrap(), "y\n");
    browser.tell("inside", json!({}));
    browser.tell(
        "waits",
        json!({ "of": "article", "text": "a passkey, on the page" }),
    );
    clean(&browser, "inbox");
    let in_vain = |why: &str| {
        let said = browser.tell("approveInVain", json!({}));
        let text = said["text"].as_str().unwrap();
        assert!(text.contains("was given no passkey"), "{why}: {text}");
        assert_eq!(count(&interlock, &run, "ApprovalGranted"), 0, "{why}");
    };
    browser.tell("verifies", json!({ "verified": false }));
    in_vain("nobody is verified");
    // Another authenticator has other keys.
    let kept: Value = browser.tell("authenticator", json!({}));
    in_vain("the passkey is elsewhere");
    browser.tell("passkeys", json!({ "credentials": kept["credentials"] }));
    browser.tell("approve", json!({}));
    assert_eq!(count(&interlock, &run, "ApprovalGranted"), 1);
    let log = interlock.run(&["log", &run, "--verify"]).unwrap();
    let said = String::from_utf8_lossy(&log.stdout).into_owned();
    assert!(said.contains("is signed by the passkey `laptop`"), "{said}");
    browser.tell("page", json!({ "name": "Trust", "wait": "table tbody tr" }));
    browser.tell("waits", json!({ "of": "main", "text": "laptop" }));
    browser.tell(
        "press",
        json!({ "name": "Check all logs", "text": "1 intact" }),
    );
    clean(&browser, "trust");
    let problems = browser.tell("problems", json!({}));
    assert_eq!(problems["problems"], json!([]));
}
