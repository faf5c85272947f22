//! The console of a team in a real browser: people who look at runs, and answer there.

use interlock_shared::{AuditExpected, Role, verify_audit};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    api::{Fleet, Served, done, proposal},
    browser::Browser,
    keys,
    provider::Provider,
    server::{ROLE, new_name},
};

const PAGE: &str = include_str!("../../../../docs/src/shared-console.md");

/// Text that would do something if it were taken for markup.
const MARKUP: &str = "<img src=x onerror=alert(1)>";

const WORKFLOW: &str = "id: fix
initial: working
states:
  working:
    allowed_tools: [Read, Edit]
    max_iterations: 1000
    on:
      DONE: {target: done, requires_approval: true, guard: {evidence: {command: cargo test}}}
      SHIP: {target: done, requires_approval: true}
      NOTE: working
  done: {type: final}
";

/// Starts a run whose name, calls and data are markup; the name would turn the direction of what follows.
fn begun(served: &Served, token: &str) -> String {
    let name = format!("{MARKUP}\u{202e}");
    let body = json!({ "workflow": { "name": "fix.yaml", "text": WORKFLOW }, "name": name });
    let reply = served.post(token, "/v1/runs", &new_name("k"), &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["run"].as_str().unwrap().to_owned()
}

/// Has an agent ask for the transition that a person has to approve.
fn asks(served: &Served, agent: &str, run: &str) -> Value {
    let data = json!({ "summary": MARKUP, "mail": "ana@example.org" });
    let ship = json!({ "transition": { "event": "SHIP", "data": data } });
    let body = json!({ "command": ship }).to_string();
    // A plain `@` is sent as two.
    let body = body.replace('@', "@@");
    let path = format!("/v1/runs/{run}/commands");
    let asked = served.post_text(agent, &path, &new_name("k"), &body);
    assert_eq!(asked.json()["verdict"], json!("pending"), "{asked:?}");
    asked.json()
}

fn open(browser: &Browser, served: &Served, who: &str) {
    let url = format!("http://{}/", served.address());
    browser.tell(who, "open", &json!({ "url": url }));
}

fn enter(browser: &Browser, served: &Served, who: &str, token: &str) {
    open(browser, served, who);
    let entered = browser.tell(who, "paste", &json!({ "token": token }));
    assert_eq!(entered["inside"], json!(true), "{entered}");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Nothing that anybody's page complained of, and nothing that it sent elsewhere or with a token in an address.
fn check_traffic(browser: &Browser, served: &Served, tokens: &[&str]) {
    let problems = browser.tell("", "problems", &json!({}));
    assert_eq!(problems["problems"], json!([]));
    let own = format!("http://{}/", served.address());
    let sent = browser.tell("", "requests", &json!({}));
    let sent = sent["requests"].as_array().unwrap();
    assert!(sent.len() > 8, "{sent:?}");
    for one in sent {
        let url = text(&one["url"]);
        let is_saved = url.starts_with(&format!("blob:{own}"));
        assert!(url.starts_with(&own) || is_saved, "{one}");
        for token in tokens {
            let secret = token.rsplit('.').next().unwrap();
            assert!(!url.contains(secret), "{one}");
            assert!(!text(&one["body"]).contains(secret), "{one}");
        }
    }
}

#[test]
fn one_person_begins_and_another_approves_on_the_page() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(browser) = Browser::start() else {
        return;
    };
    let served = &fleet.served;
    let (ana, cy) = (
        fleet.token(Role::Person, "ana"),
        fleet.token(Role::Person, "cy"),
    );
    let agent = fleet.token(Role::Agent, "ben");
    let run = begun(served, &ana);
    served.decide(&agent, &run, "c1", proposal("c1", MARKUP));
    enter(&browser, served, "ana", &ana);
    browser.waits("ana", "main", "Nothing waits for a person.");
    let asked = asks(served, &agent, &run);

    // Without a reload, with what is asked in full, and as text.
    let card = browser.waits("ana", "main", "SHIP");
    for part in [
        "working -> done",
        "summary = \"<img src=x onerror=alert(1)>\"",
        "mail = \"ana@example.org\"",
        "started by ana",
        "You started this run: another person has to answer.",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }
    let kept = browser.tell("ana", "kept", &json!({}));
    assert_eq!(kept["title"], json!("(1) Interlock"));

    // Who started it is refused, in the words of the server, and nothing is recorded.
    let refused = browser.tell("ana", "answer", &json!({ "choice": "Approve" }));
    assert!(
        text(&refused["said"]).contains("another person has to answer"),
        "{refused}"
    );
    let view = served.get(&cy, &format!("/v1/runs/{run}")).json();
    assert_eq!(view["seq"], asked["seq"]);

    // Ana looks at the run when Cy approves it.
    let run_page = format!("#/runs/{run}");
    let options = json!({ "hash": run_page, "wait": "svg [role=treeitem]" });
    let shown = browser.tell("ana", "go", &options);
    for part in [MARKUP, "CallDenied", "cargo test", "not seen"] {
        assert!(text(&shown["text"]).contains(part), "{part}: {shown}");
    }
    enter(&browser, served, "cy", &cy);
    browser.waits("cy", "main", "SHIP");
    let note = "seen @ noon";
    let approved = browser.tell(
        "cy",
        "answer",
        &json!({ "choice": "Approve", "note": note }),
    );
    assert_eq!(approved["said"], json!("Approved."), "{approved}");
    browser.waits("cy", "main", "Nothing waits for a person.");
    browser.waits("ana", "header.row", "Completed");
    let all = browser.waits("ana", "main", "ApprovalGranted");
    assert!(all.contains("cy seen @ noon"), "{all}");
    browser.tell("ana", "gone", &json!({ "of": "article" }));

    // The answer carries what the person had seen.
    let sent = browser.tell("", "requests", &json!({}));
    let answer = sent["requests"]
        .as_array()
        .unwrap()
        .iter()
        .rfind(|one| one["method"] == json!("POST") && text(&one["url"]).ends_with("/answers"));
    let body: Value = serde_json::from_str(text(&answer.unwrap()["body"])).unwrap();
    assert_eq!(body["seen"], asked["seq"]);
    assert_eq!(body["yes"], json!(true));
    let events = served.get(&cy, &format!("/v1/runs/{run}/events")).text;
    assert!(events.contains("seen @@ noon"), "{events}");

    let listed = json!({ "hash": "#/runs", "wait": "tbody tr" });
    let listed = browser.tell("cy", "go", &listed);
    let name = format!("{MARKUP}\\u{{202e}}");
    for part in [&*name, "Completed", "done", "ana"] {
        assert!(text(&listed["text"]).contains(part), "{part}: {listed}");
    }
    for who in ["ana", "cy"] {
        let foreign = browser.tell(who, "foreign", &json!({}));
        assert_eq!(foreign["found"], json!([]), "{who}");
        let kept = browser.tell(who, "kept", &json!({}));
        assert_eq!(kept["local"], json!(0));
        assert_eq!(kept["cookies"], json!(""));
        assert_eq!(kept["session"], json!(["interlock.token"]));
    }
    check_traffic(&browser, served, &[&ana, &cy]);

    // The tab keeps the token for a reload, and forgets it when the person signs out.
    browser.tell("cy", "reload", &json!({ "wait": "nav" }));
    browser.tell("cy", "press", &json!({ "name": "Sign out" }));
    browser.waits("cy", "main", "Or use a token");
    let kept = browser.tell("cy", "kept", &json!({}));
    assert_eq!(kept["session"], json!([]));
}

#[test]
fn votes_are_counted_on_the_page_and_rules_are_shown() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(browser) = Browser::start() else {
        return;
    };
    let policy = "[groups]\ndevelopers = [\"ana\", \"cy\", \"dana\"]\n[roles]\nstart = [\"@developers\"]\n\
         approve = [\"@developers\"]\n[[approval]]\nfrom = [\"@developers\"]\ncount = 2\n";
    fleet.acme.load_people(policy, "the owner", None).unwrap();
    let served = &fleet.served;
    let run = begun(served, &fleet.token(Role::Person, "ana"));
    let agent = fleet.token(Role::Agent, "ben");
    asks(served, &agent, &run);
    for name in ["cy", "dana", "eve"] {
        enter(&browser, served, name, &fleet.token(Role::Person, name));
        let card = browser.waits(name, "main", "SHIP");
        assert!(card.contains("of 2 from group developers"), "{card}");
    }
    let refused = browser.tell("eve", "answer", &json!({ "choice": "Approve" }));
    assert!(
        text(&refused["before"]).contains("The policy does not let you approve."),
        "{refused}"
    );
    assert!(
        text(&refused["said"]).contains("the policy does not let you approve"),
        "{refused}"
    );
    let first = browser.tell("cy", "answer", &json!({ "choice": "Approve" }));
    assert!(
        text(&first["said"]).contains("others have to approve, too: 1 of 2 from group developers"),
        "{first}"
    );
    // Another person sees the vote without a reload.
    let card = browser.waits("dana", "article", "cy says yes");
    assert!(card.contains("1 of 2"), "{card}");
    let no = json!({ "choice": "Reject", "note": "not on a Friday" });
    let second = browser.tell("dana", "answer", &no);
    assert_eq!(second["said"], json!("Rejected."), "{second}");
    browser.waits("cy", "main", "Nothing waits for a person.");
    let view = served.get(&agent, &format!("/v1/runs/{run}")).json();
    assert_eq!(view["report"]["status"], json!("running"));
    check_traffic(&browser, served, &[]);
}

/// A request that was opened after the page was read is not the one that the person has seen.
#[test]
fn what_came_after_the_page_was_read_is_not_approved() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(browser) = Browser::start() else {
        return;
    };
    let served = &fleet.served;
    let run = begun(served, &fleet.token(Role::Person, "ana"));
    let agent = fleet.token(Role::Agent, "ben");
    let first = asks(served, &agent, &run);
    let cy = fleet.token(Role::Person, "cy");
    enter(&browser, served, "cy", &cy);
    browser.waits("cy", "main", "SHIP");
    browser.tell("cy", "freeze", &json!({}));
    let path = format!("/v1/runs/{run}/answers");
    let no = json!({ "request": first["request"], "yes": false, "seen": first["seq"] });
    let dana = fleet.token(Role::Person, "dana");
    assert_eq!(
        served.post(&dana, &path, "n", &no).json()["verdict"],
        json!("accepted")
    );
    let second = asks(served, &agent, &run);
    assert_ne!(first["request"], second["request"]);
    let stale = browser.tell("cy", "answer", &json!({ "choice": "Approve" }));
    assert!(
        !text(&stale["said"]).is_empty() && text(&stale["said"]) != "Approved.",
        "{stale}"
    );
    let view = served.get(&cy, &format!("/v1/runs/{run}")).json();
    assert_eq!(view["report"]["status"], json!("awaiting_approval"));
    assert_eq!(view["asked"][0]["request"], second["request"]);
    // As soon as the page reads again, it shows the second one.
    browser.tell("cy", "thaw", &json!({}));
    browser.tell("cy", "reload", &json!({ "wait": "article" }));
    let second = browser.tell("cy", "answer", &json!({ "choice": "Approve" }));
    assert_eq!(second["said"], json!("Approved."), "{second}");
}

/// What waits besides transitions: a call, and changes of protected things.
#[test]
fn a_call_and_changes_of_protected_things_are_answered_on_the_page() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(browser) = Browser::start() else {
        return;
    };
    let served = &fleet.served;
    let workflow = "id: g\ninitial: w\nstates:\n  w:\n    allowed_tools: [Read]\n    on_denied: ask\n    \
         on: {DONE: done}\n  done: {type: final}\n";
    let body = json!({ "workflow": { "name": "g.yaml", "text": workflow } });
    let ana = fleet.token(Role::Person, "ana");
    let started = served.post(&ana, "/v1/runs", "g", &body).json();
    let run = started["run"].as_str().unwrap();
    let agent = fleet.token(Role::Agent, "ben");
    let mut call = proposal("c1", "Deploy");
    call["propose"]["summary"] = json!(format!("production {MARKUP}"));
    let asked = served.decide(&agent, run, "c1", call);
    assert_eq!(asked["verdict"], json!("ask"), "{asked}");
    for who in ["ana", "cy"] {
        enter(&browser, served, who, &fleet.token(Role::Person, who));
        let card = browser.waits(who, "main", "may this one call run?");
        assert!(card.contains(MARKUP) && card.contains("Deploy"), "{card}");
    }
    let granted = browser.tell("cy", "answer", &json!({ "choice": "Approve" }));
    assert_eq!(granted["said"], json!("Approved."), "{granted}");
    browser.waits("ana", "main", "Nothing waits for a person.");

    let change =
        json!({ "path": "@project/.interlock/config.toml", "what": MARKUP, "fate": "changed" });
    let report = json!({ "report_protected": { "changes": [change] } });
    served.decide(&agent, run, "r", report);
    let card = browser.waits("cy", "main", "Protected things were changed");
    assert!(card.contains("@project/.interlock/config.toml"), "{card}");
    browser.waits("ana", "main", "Protected things were changed");
    let accept = json!({ "choice": "Accept them and go on" });
    let refused = browser.tell("ana", "answer", &accept);
    assert!(
        text(&refused["said"]).contains("another person has to answer"),
        "{refused}"
    );
    let accepted = browser.tell("cy", "answer", &accept);
    assert_eq!(accepted["said"], json!("Accepted."), "{accepted}");
    browser.waits("ana", "main", "Nothing waits for a person.");
    let view = served.get(&ana, &format!("/v1/runs/{run}")).json();
    assert_eq!(view["changed"], json!([]));
    for who in ["ana", "cy"] {
        assert_eq!(browser.tell(who, "foreign", &json!({}))["found"], json!([]));
    }
    check_traffic(&browser, served, &[]);
}

#[test]
fn every_page_is_usable_without_a_mouse_in_both_colours_and_in_a_narrow_window() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = TempDir::new().unwrap();
    keys::write(place.path(), "audit", 7);
    let path = place.path().join("audit.key");
    let words = fleet.server.words(&fleet.name, ROLE);
    let served = Served::start_with(&words, &["--audit-key", path.to_str().unwrap()]);
    let policy =
        "[roles]\nstart = [\"*\"]\napprove = [\"*\"]\n[[approval]]\nfrom = [\"*\"]\ncount = 2\n";
    fleet.acme.load_people(policy, "the owner", None).unwrap();
    let run = begun(&served, &fleet.token(Role::Person, "ana"));
    let agent = fleet.token(Role::Agent, "ben");
    served.decide(&agent, &run, "c1", proposal("c1", "Bash"));
    asks(&served, &agent, &run);
    let cy = fleet.token(Role::Person, "cy");
    open(&browser, &served, "cy");
    let shots = std::env::var("TEAM_SHOTS").ok();
    let examine = |name: &str| {
        let shot = shots.as_ref().map(|place| format!("{place}/{name}"));
        let examined = browser.tell("cy", "examine", &json!({ "shot": shot }));
        assert_eq!(examined["found"], json!([]), "{name}");
    };
    examine("sign-in");
    browser.tell("cy", "paste", &json!({ "token": cy }));
    browser.waits("cy", "main", "SHIP");
    examine("waiting");
    let run_page = format!("#/runs/{run}");
    browser.tell(
        "cy",
        "go",
        &json!({ "hash": run_page, "wait": "svg [role=treeitem]" }),
    );
    browser.waits("cy", "main", "RunStarted");
    examine("run");
    browser.tell("cy", "go", &json!({ "hash": "#/runs", "wait": "tbody tr" }));
    examine("runs");
    browser.tell(
        "cy",
        "go",
        &json!({ "hash": "#/audit", "wait": "#main pre" }),
    );
    browser.waits("cy", "main", "Nothing is signed yet.");

    // What is downloaded is the audit, signed.
    let saved = browser.tell("cy", "download", &json!({}));
    assert_eq!(saved["name"], json!("acme-audit.jsonl"));
    let public = [keys::key(7).public()];
    let expected = AuditExpected {
        keys: &public,
        from: 0,
        run: None,
        at_least: 0,
    };
    let file = text(&saved["text"]);
    let verified = verify_audit(&mut file.as_bytes(), &expected).unwrap();
    let shown = browser.waits("cy", "main", &verified.hash);
    assert!(
        shown.contains(&format!("{} entries", verified.entries)),
        "{shown}"
    );
    assert!(shown.contains("loaded by the owner"), "{shown}");
    examine("audit");
    check_traffic(&browser, &served, &[&cy]);
}

/// The tokens of agents and strangers show nothing.
#[test]
fn only_the_token_of_a_person_opens_the_page() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(browser) = Browser::start() else {
        return;
    };
    open(&browser, &fleet.served, "x");
    let agent = fleet.token(Role::Agent, "ben");
    for (token, said) in [
        (agent.as_str(), "This is the token of an agent."),
        ("ils_acme.0.0", "the token is unknown, expired or revoked"),
    ] {
        let entered = browser.tell("x", "paste", &json!({ "token": token }));
        assert_eq!(entered["inside"], json!(false), "{entered}");
        assert!(text(&entered["text"]).contains(said), "{entered}");
        let kept = browser.tell("x", "kept", &json!({}));
        assert_eq!(kept["session"], json!([]));
        browser.tell("x", "reload", &json!({ "wait": "input[type=password]" }));
    }
    // A token that is revoked while the page is open: the page says so, and forgets it.
    let (id, token) = fleet.acme.make_token(Role::Person, "cy", 1).unwrap();
    browser.tell("x", "paste", &json!({ "token": token }));
    browser.waits("x", "main", "Nothing waits for a person.");
    fleet.acme.revoke_token(&id).unwrap();
    browser.waits("x", "main", "the token is unknown, expired or revoked");
    let kept = browser.tell("x", "kept", &json!({}));
    assert_eq!(kept["session"], json!([]));
}

#[test]
fn people_sign_in_on_the_page_with_their_issuer() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(provider) = Provider::start() else {
        return;
    };
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = TempDir::new().unwrap();
    let file = place.path().join("sign-in.toml");
    let config = format!(
        "[[people]]\ntenant = \"acme\"\nissuer = \"{}\"\nclient_id = \"interlock\"\nminutes = 30\n",
        provider.issuer
    );
    std::fs::write(&file, config).unwrap();
    keys::write(place.path(), "audit", 7);
    // The command of the page, with the files of this place.
    let line = PAGE
        .lines()
        .find(|line| line.starts_with("interlock shared serve "));
    let line = line
        .unwrap()
        .replace("~/keys", place.path().to_str().unwrap());
    let line = line.replace("sign-in.toml", file.to_str().unwrap());
    let options: Vec<&str> = line.split(' ').skip(3).collect();
    assert_eq!(options.len(), 4);
    let served = Served::start_with(&fleet.server.words(&fleet.name, ROLE), &options);
    let url = format!("http://{}/", served.address());
    let open = |who: &str, account: &str| {
        let headers = json!({ "x-account": account });
        browser.tell(who, "open", &json!({ "url": url, "headers": headers }));
    };
    open("cy", "cy");
    let inside = browser.tell("cy", "signIn", &json!({ "tenant": "acme" }));
    assert!(
        text(&inside["person"]).contains("cy@example.org"),
        "{inside}"
    );
    // Nothing of the sign-in stays in the address, in the history or in the tab, but the token.
    assert_eq!(inside["address"], json!(url));
    let kept = browser.tell("cy", "kept", &json!({}));
    assert_eq!(kept["session"], json!(["interlock.token"]));
    assert_eq!(kept["local"], json!(0));

    // A code that another site has sent along is not exchanged, whether this tab has begun a sign-in or not.
    open("eve", "eve");
    for (query, said) in [
        (
            "code=stolen&state=forged",
            "This tab has not begun this sign-in",
        ),
        (
            "code=stolen&state=own&iss=http://evil.example",
            "Another issuer has answered",
        ),
        (
            "error=access_denied&error_description=no&state=own",
            "The issuer signs nobody in: no.",
        ),
    ] {
        browser.tell("eve", "plant", &json!({ "issuer": provider.issuer }));
        let options = json!({ "url": format!("{url}?{query}"), "of": "main", "text": said });
        let shown = browser.tell("eve", "visit", &options);
        assert_eq!(shown["address"], json!(url));
    }
    let forged = format!("{url}?code=stolen&state=own");
    let options = json!({ "url": forged, "of": "main", "text": "This tab has not begun" });
    browser.tell("eve", "visit", &options);
    let sent = browser.tell("", "requests", &json!({}));
    let exchanged = sent["requests"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| text(&one["url"]).ends_with("/v1/sign-in/code"));
    assert_eq!(exchanged.count(), 1);

    let problems = browser.tell("", "problems", &json!({}));
    assert_eq!(problems["problems"], json!([]));
    // Who has signed in approves what others have begun.
    let run = served.run(&fleet.token(Role::Person, "ana"));
    let agent = fleet.token(Role::Agent, "ana");
    served.decide(&agent, &run, "d", done());
    browser.waits("cy", "main", "DONE");
    let approved = browser.tell("cy", "answer", &json!({ "choice": "Approve" }));
    assert_eq!(approved["said"], json!("Approved."), "{approved}");
}
