//! The server of a log: what it refuses, and how it says so.

use std::net::TcpListener;

use interlock_core::names::RunId;
use interlock_shared::{FORMAT, Role};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    api::{Fleet, Served, bearer, command, done, proposal, start_body, token},
    cluster::until,
    server::{ROLE, new_name, server},
};

#[test]
fn an_id_of_another_tenant_is_not_found_at_any_address() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let other = fleet.server.tenant_in(&fleet.name, "globex");
    let ana = fleet.token(Role::Person, "ana");
    let run = served.run(&ana);
    let document = served.ask("GET", "/v1/openapi.json", &[], "").json();
    let mut asked = 0;
    for role in [Role::Person, Role::Agent, Role::Worker] {
        let theirs = token(&other, role, "eve");
        assert_eq!(served.get(&theirs, "/v1/runs").json()["runs"], json!([]));
        for (path, methods) in document["paths"].as_object().unwrap() {
            if !path.contains("{run}") {
                continue;
            }
            for method in methods.as_object().unwrap().keys() {
                let bodies = [
                    json!({ "command": done() }),
                    json!({ "request": "a1", "yes": true, "seen": 9 }),
                ];
                let body = &bodies[usize::from(path.ends_with("answers"))];
                // Theirs, one that nobody has, and none at all.
                let mut replies = [
                    run.as_str(),
                    "01k00000000000000000000000",
                    "x",
                    "..",
                    "%2e%2e",
                ]
                .map(|id| {
                    let path = path.replace("{run}", id);
                    match method.as_str() {
                        "get" => served.get(&theirs, &path),
                        _ => served.post(&theirs, &path, &new_name("k"), body),
                    }
                });
                asked += 1;
                if path.ends_with("answers") && role != Role::Person {
                    assert!(
                        replies
                            .iter()
                            .all(|reply| matches!(reply.status, 403 | 404))
                    );
                    continue;
                }
                for reply in &mut replies {
                    assert_eq!(reply.status, 404, "{method} {path} {reply:?}");
                    assert_eq!(reply.code(), "not_found");
                }
                assert_eq!(replies[0].text, replies[1].text, "{path}");
            }
        }
    }
    assert_eq!(asked, 18);
    assert_eq!(fleet.verified(&run), 1);
}

#[test]
fn without_a_valid_token_nothing_is_answered() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let ana = fleet.token(Role::Person, "ana");
    let run = served.run(&ana);
    let (id, revoked) = fleet.acme.make_token(Role::Person, "ben", 1).unwrap();
    assert_eq!(served.get(&revoked, "/v1/runs").status, 200);
    assert!(fleet.acme.revoke_token(&id).unwrap());
    assert!(!fleet.acme.revoke_token("0000000000000000").unwrap());
    let (id, expired) = fleet.acme.make_token(Role::Person, "cy", 1).unwrap();
    let past = format!(
        "UPDATE interlock.tokens SET expires_at = now() - interval '1 second' WHERE id = '{id}'"
    );
    fleet.server.sql(&fleet.name, &past);
    until("the revoked token is refused", || {
        served.get(&revoked, "/v1/runs").status == 401
    });
    let mut wrong = ana.clone();
    let last = if wrong.pop() == Some('0') { '1' } else { '0' };
    wrong.push(last);
    let foreign = ana.replacen("ils_acme.", "ils_globex.", 1);
    let document = served.ask("GET", "/v1/openapi.json", &[], "").json();
    for token in ["", "x", "ils_acme", &revoked, &expired, &wrong, &foreign] {
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, described) in methods.as_object().unwrap() {
                let is_open = described.get("security").is_none();
                let reply = served.ask(
                    &method.to_uppercase(),
                    &path.replace("{run}", &run),
                    &[bearer(token)],
                    "",
                );
                let open = if method == "post" { 415 } else { 200 };
                assert_eq!(
                    reply.status,
                    if is_open { open } else { 401 },
                    "{method} {path}"
                );
                if !is_open {
                    assert!(reply.head.contains("www-authenticate: bearer"));
                    assert_eq!(reply.code(), "unauthorized");
                }
            }
        }
    }
    let two = [bearer(&ana), bearer(&ana)];
    assert_eq!(served.ask("GET", "/v1/runs", &two, "").status, 401);
    assert_eq!(
        served
            .ask("GET", &format!("/v1/runs?token={ana}"), &[], "")
            .status,
        401
    );
    // What the database and the server's log have is no token.
    let stored = fleet
        .server
        .sql(&fleet.name, "SELECT tokens FROM interlock.tokens");
    let secret = |token: &str| token.rsplit('.').next().unwrap().to_owned();
    for token in [&ana, &revoked, &expired] {
        assert!(!stored.contains(&secret(token)));
        assert!(!served.errors().contains(&secret(token)));
    }
    let statuses: Vec<String> = fleet
        .acme
        .tokens()
        .unwrap()
        .into_iter()
        .map(|card| card.status)
        .collect();
    assert_eq!(statuses, ["expired", "revoked", "valid"]);
}

#[test]
fn what_is_malformed_or_too_large_is_refused_with_a_code() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ana");
    let run = served.run(&ana);
    let commands = format!("/v1/runs/{run}/commands");
    let body = json!({ "command": done() }).to_string();
    let json_kind = "Content-Type: application/json".to_owned();
    let key = |key: &str| format!("Idempotency-Key: {key}");
    let long_key = "k".repeat(201);
    let own = |headers: &[String]| [&[bearer(&agent)], headers].concat();
    let large = format!(
        "{{\"command\":{{\"pause\":{{\"reason\":\"{}\"}}}}}}",
        "a".repeat(3 << 20)
    );
    let deep = format!(
        "{{\"command\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let stale = json!({ "command": done(), "epoch": 7 }).to_string();
    let k = key("k");
    for (headers, body, status, code) in [
        (vec![json_kind.clone()], &*body, 400, "bad_request"),
        (
            vec![json_kind.clone(), key(&long_key)],
            &body,
            400,
            "bad_request",
        ),
        (
            vec![json_kind.clone(), key("a b")],
            &body,
            400,
            "bad_request",
        ),
        (
            vec![json_kind.clone(), key("a"), key("b")],
            &body,
            400,
            "bad_request",
        ),
        (vec![k.clone()], &body, 415, "not_json"),
        (
            vec![k.clone(), "Content-Type: text/plain".to_owned()],
            &body,
            415,
            "not_json",
        ),
        (
            vec![k.clone(), json_kind.clone()],
            &large,
            413,
            "body_too_large",
        ),
        (
            vec![k.clone(), json_kind.clone()],
            &deep,
            400,
            "bad_request",
        ),
        (vec![k.clone(), json_kind.clone()], "", 400, "bad_request"),
        (
            vec![k.clone(), json_kind.clone()],
            "{\"command\":{\"other\":{}}}",
            400,
            "bad_request",
        ),
        (
            vec![k.clone(), json_kind.clone()],
            "{\"command\":{\"finish\":{}},\"by\":\"ana\"}",
            400,
            "bad_request",
        ),
        (
            vec![k.clone(), json_kind.clone()],
            "{\"command\":{\"transition\":{\"event\":\"DONE\",\"data\":{\"a\":1,\"a\":2}}}}",
            400,
            "bad_request",
        ),
        (
            vec![k.clone(), json_kind.clone()],
            &stale,
            409,
            "stale_epoch",
        ),
    ] {
        let reply = served.ask("POST", &commands, &own(&headers), body);
        assert_eq!(
            (reply.status, &*reply.code()),
            (status, code),
            "{headers:?}"
        );
    }
    for (method, path, status, code) in [
        ("GET", "/v1", 404, "not_found"),
        ("POST", "/", 405, "method_not_allowed"),
        ("GET", "/v2/runs", 404, "not_found"),
        ("DELETE", "/v1/runs", 405, "method_not_allowed"),
        ("PUT", &*commands, 405, "method_not_allowed"),
        ("GET", "/v1/runs?limit=1", 400, "bad_request"),
        ("GET", "/v1/runs?before=x", 404, "not_found"),
        (
            "GET",
            &*format!("/v1/runs/{run}/events?from=-1"),
            400,
            "bad_request",
        ),
        (
            "GET",
            &*format!("/v1/runs/{run}/events?from=99999999999999999999"),
            400,
            "bad_request",
        ),
        (
            "GET",
            &*format!("/v1/runs/{run}/events?from=1&from=2"),
            400,
            "bad_request",
        ),
        (
            "GET",
            &*format!("/v1/runs/{run}/events?told=yes"),
            400,
            "bad_request",
        ),
    ] {
        let reply = served.ask(method, path, &[bearer(&ana)], "");
        assert_eq!(
            (reply.status, &*reply.code()),
            (status, code),
            "{method} {path}"
        );
    }
    for (change, status, code) in [
        (
            json!({ "text": "id: x\n", "name": "x.yaml" }),
            422,
            "workflow_invalid",
        ),
        (
            json!({ "text": "start-at: a\nstates:\n  a: {run: 'true', end: true}\n", "name": "x.yaml" }),
            422,
            "",
        ),
    ] {
        let reply = served.post(
            &ana,
            "/v1/runs",
            &new_name("k"),
            &json!({ "workflow": change }),
        );
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(
            reply.code().contains(code) && !reply.code().is_empty(),
            "{reply:?}"
        );
    }
    for name in ["", " a", "a\nb"] {
        let mut body = start_body();
        body["name"] = json!(name);
        let reply = served.post(&ana, "/v1/runs", &new_name("k"), &body);
        assert_eq!(reply.code(), "bad_request", "{name:?}");
    }
    assert_eq!(fleet.verified(&run), 1);
    assert!(
        served
            .send("nonsense\r\n\r\n")
            .is_none_or(|reply| reply.status == 400)
    );
}

#[test]
fn a_carrier_with_an_old_epoch_appends_nothing() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let worker = fleet.token(Role::Worker, "ci");
    let run = served.run(&worker);
    let epoch = fleet.acme.take_epoch(&RunId::new(&*run), "w1").unwrap();
    let path = format!("/v1/runs/{run}/commands");
    let send = |key: &str, epoch: u64| {
        let body = json!({ "command": proposal(key, "Read"), "epoch": epoch });
        served.post(&worker, &path, key, &body)
    };
    assert_eq!(send("a", epoch).status, 200);
    fleet.acme.take_epoch(&RunId::new(&*run), "w2").unwrap();
    assert_eq!(send("b", epoch).code(), "stale_epoch");
    assert_eq!(send("b", epoch + 1).status, 200);
    // What was recorded before is still answered.
    assert!(send("a", epoch).is_repeated());
}

#[test]
fn a_server_says_what_is_wrong_with_its_database() {
    let Some(server) = server() else { return };
    let name = server.new_database();
    let acme = server.tenant_in(&name, "acme");
    let words = server.words(&name, ROLE);
    let served = Served::start(&words);
    let ana = token(&acme, Role::Person, "ana");
    let run = served.run(&ana);
    let ready = || served.ask("GET", "/readyz", &[], "");
    assert_eq!(ready().json(), json!({ "ok": true }));
    let fault = |sql: &str, code: &str| {
        server.sql(&name, sql);
        until(code, || ready().status == 503 && ready().code() == code);
    };
    fault(
        "INSERT INTO interlock.migrations (format) VALUES (99)",
        "database_newer",
    );
    fault(
        "DELETE FROM interlock.migrations WHERE format > 1",
        "database_older",
    );
    assert_eq!(served.ask("GET", "/healthz", &[], "").status, 200);
    let formats =
        format!("INSERT INTO interlock.migrations (format) SELECT generate_series(2, {FORMAT})");
    server.sql(&name, &formats);
    until("it is ready", || ready().status == 200);
    // Read-only: a command is refused, and accepted later with the same key.
    server.sql(
        &name,
        &format!("ALTER ROLE {ROLE} IN DATABASE {name} SET default_transaction_read_only = on"),
    );
    server.sql(&name, &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"));
    until("it is read-only", || {
        ready().status == 503 && ready().code() == "database_read_only"
    });
    let refused = served.command(&ana, &run, "k", done());
    assert_eq!(refused.code(), "database_read_only");
    server.sql(
        &name,
        &format!("ALTER ROLE {ROLE} IN DATABASE {name} RESET default_transaction_read_only"),
    );
    server.sql(&name, &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"));
    until("it is ready again", || ready().status == 200);
    until("it records again", || {
        served.command(&ana, &run, "k", done()).status == 200
    });
    let place = words.split(' ').next().unwrap().replace("host=", "");
    assert!(
        !refused.text.contains(&place) && !refused.text.contains(ROLE),
        "{refused:?}"
    );
    drop((served, acme));
    server.drop_database(&name);
}

#[test]
fn a_server_is_not_started_in_the_clear_or_without_a_log() {
    let Some(server) = server() else { return };
    let name = server.new_database();
    let words = server.words(&name, ROLE);
    let state = TempDir::new().unwrap();
    let said = |arguments: &[&str]| {
        let output = command(&words, &state)
            .arg("serve")
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&["--listen", "127.0.0.1:0"]).contains("interlock shared init"));
    server.tenant_in(&name, "acme");
    for wide in ["0.0.0.0:0", "[::]:0", "192.0.2.1:4690"] {
        let text = said(&["--listen", wide]);
        assert!(
            text.contains("in the clear") && text.contains("--behind-proxy"),
            "{text}"
        );
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert!(said(&["--listen", &address]).contains("cannot be listened on"));
    server.drop_database(&name);
}

#[test]
fn only_so_many_requests_wait_for_events() {
    use std::{
        io::{Read as _, Write as _},
        net::TcpStream,
    };
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let ana = fleet.token(Role::Person, "ana");
    let run = served.run(&ana);
    let path = format!("/v1/runs/{run}/events?from=1");
    let request = format!(
        "GET {path}&wait=60 HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n",
        bearer(&ana)
    );
    let sent = || {
        let mut stream = TcpStream::connect(served.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    };
    let mut waiting: Vec<TcpStream> = (0..300).map(|_| sent()).collect();
    let mut refused = 0;
    until("all but 256 are refused", || {
        waiting.retain_mut(|stream| {
            let mut answer = [0; 4096];
            let Ok(count) = stream.read(&mut answer) else {
                return true;
            };
            let answer = String::from_utf8_lossy(&answer[..count]);
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
            assert!(answer.contains("too_many_followers"), "{answer}");
            refused += 1;
            false
        });
        refused == 44
    });
    assert_eq!(waiting.len(), 256);
    // Whoever does not wait is answered, and commands are decided.
    assert_eq!(served.get(&ana, &path).status, 200);
    drop(waiting);
    until("others may wait", || {
        served.get(&ana, &format!("{path}&wait=1")).status == 200
    });
}
