//! What the console of a team reads: lists with what waits, runs in words, graphs, heads; and who may not.

use interlock_core::{event::Event, names::RunId};
use interlock_shared::{Role, SharedRuns};
use interlock_store::EventLog as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    api::{Fleet, Served, bearer, done, proposal, start_body, token},
    provider::Provider,
    server::{ROLE, new_name},
    world::World,
};

fn line(served: &Served, token: &str, query: &str) -> Vec<Value> {
    let page = served.get(token, &format!("/v1/runs{query}"));
    assert_eq!(page.status, 200, "{page:?}");
    page.json()["runs"].as_array().unwrap().clone()
}

#[test]
fn a_list_says_where_each_run_stands_and_what_waits() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let (ana, cy) = (
        fleet.token(Role::Person, "ana"),
        fleet.token(Role::Person, "cy"),
    );
    let agent = fleet.token(Role::Agent, "ben");
    let (idle, run) = (served.run(&ana), served.run(&ana));
    let listed = line(served, &cy, "");
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["run"], json!(run));
    assert_eq!(listed[0]["status"], json!("running"));
    assert_eq!(listed[0]["state"], json!(["working"]));
    assert_eq!(listed[0]["waiting"], json!(0));
    assert!(line(served, &cy, "?waiting=1").is_empty());

    let asked = served.decide(&agent, &run, "d", done());
    let waiting = line(served, &cy, "?waiting=1");
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0]["run"], json!(run));
    assert_eq!(waiting[0]["status"], json!("awaiting_approval"));
    assert_eq!(waiting[0]["waiting"], json!(1));
    served.answer(&cy, &run, &asked["request"], &asked["seq"]);
    assert!(line(served, &cy, "?waiting=1").is_empty());
    assert_eq!(line(served, &cy, "")[0]["state"], json!(["done"]));

    // What another program has appended is read again, once.
    let stored = || {
        let of = format!("SELECT standing, waiting FROM interlock.runs WHERE run = '{idle}'");
        fleet.server.sql(&fleet.name, &of)
    };
    assert!(stored().contains("running"), "{}", stored());
    let world = World::new();
    let runs = SharedRuns::new(fleet.acme.clone(), world.home.path(), None);
    let mut log = runs.open_run(&RunId::new(&idle)).unwrap();
    let (seq, at_ms) = (&listed[1]["seq"], &listed[1]["last_ms"]);
    let cancelled = Event::RunCancelled {
        by: "ben".to_owned(),
    };
    let (seq, at_ms) = (seq.as_u64().unwrap(), at_ms.as_u64().unwrap());
    log.append(seq, at_ms, &[cancelled]).unwrap();
    assert_eq!(stored(), "|");
    let listed = line(served, &cy, "");
    assert_eq!(listed[1]["status"], json!("cancelled"));
    assert!(stored().contains("cancelled"));
    for query in ["?waiting=2", "?waiting=", "?waiting=1&waiting=1", "?x=1"] {
        let refused = served.get(&cy, &format!("/v1/runs{query}"));
        assert_eq!(
            (refused.status, refused.code()),
            (400, "bad_request".into())
        );
    }
}

#[test]
fn a_run_is_told_in_words_and_drawn() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ben");
    let run = served.run(&ana);
    let of = |rest: &str| served.get(&ana, &format!("/v1/runs/{run}{rest}")).json();
    served.decide(&agent, &run, "c1", proposal("c1", "Bash"));
    let plain = of("/events");
    assert!(plain["events"][0].get("told").is_none());
    let told = of("/events?told=1");
    let events = told["events"].as_array().unwrap();
    assert_eq!(events[0]["told"]["title"], json!("RunStarted"));
    let denied = events.last().unwrap();
    assert_eq!(denied["told"]["title"], json!("CallDenied"));
    assert_eq!(denied["told"]["level"], json!("alarming"));
    let detail = denied["told"]["detail"].as_str().unwrap();
    assert!(detail.contains("Bash"), "{detail}");
    // The same bytes as without, which the hash covers.
    assert_eq!(denied["hash"], plain["events"][events.len() - 1]["hash"]);
    assert_eq!(denied["event"], plain["events"][events.len() - 1]["event"]);

    let here = |graph: &Value| {
        let nodes = graph["marks"]["nodes"].as_object().unwrap();
        nodes
            .values()
            .filter(|node| node["here"] == json!(1))
            .count()
    };
    let graph = of("/graph");
    assert_eq!(graph["seq"], told["seq"]);
    assert!(graph["scene"]["items"].as_array().unwrap().len() > 2);
    assert_eq!(here(&graph), 1);
    served.decide(
        &agent,
        &run,
        "n",
        json!({ "transition": { "event": "NOTE" } }),
    );
    let later = of("/graph");
    assert_eq!(later["scene"], graph["scene"]);
    let taken = |graph: &Value| graph["marks"]["edges"].as_object().unwrap().len();
    assert_eq!(taken(&later), taken(&graph) + 1);

    let asked = served.decide(&agent, &run, "d", done());
    let view = of("");
    let card = &view["asked"][0];
    assert_eq!(card["request"], asked["request"]);
    assert_eq!(card["headline"], json!("DONE: working -> done"));
    assert_eq!(card["kind"], json!("approval"));
    let rows = card["rows"].as_array().unwrap();
    assert!(
        rows.iter().any(|row| row["name"] == json!("rests on")),
        "{rows:?}"
    );
    assert!(view["evidence"].as_array().unwrap().is_empty());
    assert!(view.get("bundle").is_none() && view.get("policy").is_none());
    let policy = "[roles]\nstart = [\"*\"]\napprove = [\"*\"]\n";
    fleet.acme.load_people(policy, "the owner", None).unwrap();
    assert_eq!(of("")["policy"], json!(1));
}

#[test]
fn a_token_says_whose_it_is_and_reads_only_its_own() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ben");
    let run = served.run(&ana);
    let me = served.get(&ana, "/v1/me").json();
    assert_eq!(
        (&me["tenant"], &me["subject"]),
        (&json!("acme"), &json!("ana"))
    );
    assert_eq!(me["may"], json!(["start", "approve"]));
    let policy = "[roles]\nstart = [\"*\"]\napprove = [\"cy\"]\nadminister = [\"ana\", \"ben\"]\n";
    fleet.acme.load_people(policy, "the owner", None).unwrap();
    let may = |token: &str| served.get(token, "/v1/me").json()["may"].clone();
    assert_eq!(may(&ana), json!(["start", "administer"]));
    assert_eq!(may(&agent), json!([]));
    assert_eq!(may(&fleet.token(Role::Worker, "ci")), json!(["start"]));

    for path in [
        "/v1/me",
        "/v1/audit/heads",
        &format!("/v1/runs/{run}/graph"),
    ] {
        assert_eq!(served.ask("GET", path, &[], "").status, 401, "{path}");
    }
    for role in [Role::Agent, Role::Worker] {
        let refused = served.get(&fleet.token(role, "ben"), "/v1/audit/heads");
        assert_eq!(
            (refused.status, refused.code()),
            (403, "forbidden_role".into())
        );
    }
    assert_eq!(
        served.get(&ana, "/v1/audit/heads").json()["heads"],
        json!([])
    );
    let globex = fleet.server.tenant_in(&fleet.name, "globex");
    let eve = token(&globex, Role::Person, "eve");
    let foreign = served.get(&eve, &format!("/v1/runs/{run}/graph"));
    assert_eq!((foreign.status, foreign.code()), (404, "not_found".into()));
    assert!(line(served, &eve, "").is_empty() && line(served, &eve, "?waiting=1").is_empty());
}

/// The page itself is the same for everybody, and lets nothing in.
#[test]
fn the_page_is_sent_with_strict_headers() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/team.js", "text/javascript; charset=utf-8"),
        ("/team.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let reply = served.ask("GET", path, &[], "");
        assert_eq!(reply.status, 200, "{path}");
        for header in [
            &format!("content-type: {kind}"),
            "content-security-policy: default-src 'none'; script-src 'self';",
            "require-trusted-types-for 'script'; trusted-types 'none'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cache-control: no-cache",
        ] {
            assert!(
                reply.head.contains(header),
                "{path}: {header} in {}",
                reply.head
            );
        }
        for word in ["'unsafe", "set-cookie", "access-control"] {
            assert!(!reply.head.contains(word), "{path}: {word}");
        }
        let tag = reply
            .head
            .lines()
            .find_map(|line| line.strip_prefix("etag: "));
        let known = format!("If-None-Match: {}", tag.unwrap());
        let again = served.ask("GET", path, &[known], "");
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
        assert_eq!(served.ask("POST", path, &[], "").status, 405, "{path}");
    }
    let page = served.ask("GET", "/", &[], "").text;
    assert!(
        !page.contains("<style") && !page.contains("onload"),
        "{page}"
    );
    for path in [
        "/manifest.json",
        "/index.html",
        "/../Cargo.toml",
        "/team.js/",
    ] {
        assert_eq!(served.ask("GET", path, &[], "").status, 404, "{path}");
    }
}

#[test]
fn pages_of_other_sites_are_refused_even_with_a_token() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let ana = fleet.token(Role::Person, "ana");
    let own = format!("Origin: http://{}", served.address());
    let ask = |more: &[&str]| {
        let mut headers = vec![bearer(&ana)];
        headers.extend(more.iter().map(|header| (*header).to_owned()));
        let reply = served.ask("GET", "/v1/runs", &headers, "");
        (reply.status, reply.code())
    };
    let refused = (403, "other_site".to_owned());
    assert_eq!(ask(&["Sec-Fetch-Site: cross-site"]), refused);
    assert_eq!(ask(&["Sec-Fetch-Site: same-site", &own]), refused);
    assert_eq!(ask(&["Origin: http://evil.example"]), refused);
    assert_eq!(ask(&["Origin: null"]), refused);
    assert_eq!(ask(&[&own]).0, 200);
    assert_eq!(ask(&["Sec-Fetch-Site: same-origin", &own]).0, 200);
    assert_eq!(ask(&[]).0, 200);
    // Nothing was started.
    let headers = [
        bearer(&ana),
        "Idempotency-Key: k".to_owned(),
        "Content-Type: application/json".to_owned(),
        "Origin: http://evil.example".to_owned(),
    ];
    let reply = served.ask("POST", "/v1/runs", &headers, &start_body().to_string());
    assert_eq!(reply.code(), "other_site");
    assert!(line(served, &ana, "").is_empty());
    // A browser that asks whether another site may send its requests is told nothing.
    let preflight = [
        "Origin: http://evil.example".to_owned(),
        "Access-Control-Request-Method: POST".to_owned(),
        "Access-Control-Request-Headers: authorization".to_owned(),
    ];
    let reply = served.ask("OPTIONS", "/v1/runs", &preflight, "");
    assert_eq!(reply.status, 405);
    assert!(!reply.head.contains("access-control"), "{}", reply.head);
}

#[test]
fn a_code_is_exchanged_only_for_the_page_and_the_issuer_that_it_is_from() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(mut provider) = Provider::start() else {
        return;
    };
    let place = TempDir::new().unwrap();
    let file = place.path().join("sign-in.toml");
    let config = format!(
        "[[people]]\ntenant = \"acme\"\nissuer = \"{}\"\nclient_id = \"interlock\"\n",
        provider.issuer
    );
    std::fs::write(&file, config).unwrap();
    let words = fleet.server.words(&fleet.name, ROLE);
    let served = Served::start_with(&words, &["--sign-in", file.to_str().unwrap()]);
    let own = format!("http://{}", served.address());
    let post = |path: &str, origin: &str, body: &Value| {
        let mut headers = vec!["Content-Type: application/json".to_owned()];
        if !origin.is_empty() {
            headers.push(format!("Origin: {origin}"));
            headers.push("Sec-Fetch-Site: same-origin".to_owned());
        }
        let reply = served.ask("POST", path, &headers, &body.to_string());
        (reply.status, reply.code(), reply.text)
    };
    let ask = json!({
        "tenant": "acme", "issuer": provider.issuer, "state": "s", "nonce": "n", "challenge": "c",
    });
    let (status, _, text) = post("/v1/sign-in/page", &own, &ask);
    assert_eq!(status, 200, "{text}");
    let url = serde_json::from_str::<Value>(&text).unwrap()["url"].clone();
    let url = url.as_str().unwrap();
    assert!(url.starts_with(&provider.issuer), "{url}");
    let back = own.replace(':', "%3A").replace('/', "%2F");
    assert!(url.contains(&format!("redirect_uri={back}%2F")), "{url}");
    assert!(
        url.contains("code_challenge=c&code_challenge_method=S256"),
        "{url}"
    );

    let code = json!({
        "tenant": "acme", "issuer": provider.issuer, "code": new_name("c"), "verifier": "v",
        "nonce_secret": "s",
    });
    let with = |of: &Value, key: &str, value: &str| {
        let mut body = of.clone();
        body[key] = json!(value);
        body
    };
    for (path, body) in [("/v1/sign-in/page", &ask), ("/v1/sign-in/code", &code)] {
        // Only a page that says where it is, encrypted or on this machine, is sent back to.
        for origin in [
            "",
            "null",
            "http://team.example",
            "https://team.example/x",
            "ftp://a",
        ] {
            let (status, code, text) = post(path, origin, body);
            assert_eq!(
                (status, code.as_str()),
                (400, "bad_request"),
                "{origin}: {text}"
            );
        }
        for (key, value) in [("issuer", "https://evil.example"), ("tenant", "globex")] {
            let (status, code, text) = post(path, &own, &with(body, key, value));
            assert_eq!((status, code.as_str()), (401, "sign_in_refused"), "{text}");
        }
    }
    for (key, value) in [("code", ""), ("verifier", "a b"), ("nonce_secret", "")] {
        let (status, ..) = post("/v1/sign-in/code", &own, &with(&code, key, value));
        assert_eq!(status, 400, "{key}");
    }
    let (status, refusal, text) = post("/v1/sign-in/code", &own, &code);
    assert_eq!(
        (status, refusal.as_str()),
        (401, "sign_in_refused"),
        "{text}"
    );
    provider.end();
    let (status, refusal, text) = post("/v1/sign-in/code", &own, &code);
    assert_eq!((status, refusal.as_str()), (503, "issuer_away"), "{text}");
}
