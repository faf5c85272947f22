//! Desktop notifications: shown while the person looks elsewhere, and without secrets.

use interlock_testkit::{interlock::Interlock, provider::Script};
use serde_json::{Value, json};

use crate::e2e_console::{
    INTERLOCK,
    pages::{Sitting, proposes},
    place::Place,
};

const SESSION: &str = "5b1e8f2c-8d2b-4c55-9a3f-0d7f3f0a6c11";
const FLOW: &str = "id: shop
initial: draft
states:
  draft:
    allowed_tools: [Read]
    on_denied: ask
    on:
      SHIP: {target: shipped, requires_approval: true, approval_message: Ship it?}
  shipped: {type: final}
";
const SECRET: &str = "sk-live-0123456789abcdefghij";

#[test]
fn a_request_raises_a_notification_without_its_secrets_while_the_person_looks_elsewhere() {
    let place = Place::new("anthropic", FLOW, Script::replies(Vec::new()));
    place.room.write("shop.yaml", FLOW).unwrap();
    let interlock = Interlock::new(INTERLOCK, &place.room);
    let run = interlock.start_for_session("shop.yaml", SESSION).unwrap();
    let fetches = |id: &str, host: &str| {
        let address = format!("https://{host}/?key={SECRET}");
        let input = json!({ "url": address, "prompt": "x" });
        proposes(&place, id, "WebFetch", &input);
    };
    let person = Sitting::down(&place);
    let browser = &person.browser;
    let raised = |waiting: u32, number: u32| {
        let wanted = json!({ "waiting": waiting, "number": number });
        let found = browser.tell("raised", wanted)["raised"].clone();
        found.as_array().cloned().unwrap_or_default()
    };
    browser.tell("notified", json!({}));
    // A person who looks at the page sees it there.
    fetches("1", "seen.example");
    let card = json!({ "of": "article", "text": "seen.example" });
    browser.tell("waits", card);
    assert_eq!(raised(1, 0), Vec::<Value>::new());
    assert_eq!(browser.tell("away", json!({}))["focus"], false);
    fetches("2", "unseen.example");
    let found = raised(2, 1);
    let body = found[0]["body"].as_str().unwrap();
    assert!(
        body.starts_with("WebFetch") && body.contains("unseen.example"),
        "{body}"
    );
    assert!(
        body.contains("[secret]") && !body.contains(SECRET),
        "{body}"
    );
    assert_eq!(found[0]["came"], "show", "{found:?}");
    let ship = ["send", "SHIP", "--run", &run];
    interlock.by_a_person(&ship).unwrap();
    let found = raised(3, 2);
    assert_eq!(found[1]["body"], "SHIP: draft -> shipped", "{found:?}");
    assert_eq!(browser.tell("problems", json!({}))["problems"], json!([]));
}
