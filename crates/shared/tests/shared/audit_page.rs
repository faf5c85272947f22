//! The page of the book about audit and bundles, and the tables of JSON keys, with the built program.

use std::{collections::BTreeSet, fs, process::Command};

use interlock_testkit::collector::Collector;
use serde_json::{Value, json};

use crate::{
    api::{Served, start_body},
    keys,
    program::{Place, commands},
    server::{ROLE, new_name},
};

const FIX: &str = "id: fix
initial: working
states:
  working:
    allowed_tools: [Read, Edit]
    on:
      DONE: {target: done, requires_approval: true}
  done: {type: final}
";

/// Prepares what the pages take for granted: keys, a folder of workflows, tokens, and a log.
fn prepared(place: &Place<'_>) {
    let state = place.state();
    keys::write(&state.join("keys"), "team", 1);
    keys::write(&state.join("keys"), "audit", 2);
    for name in ["team", "audit"] {
        let public = fs::read(state.join(format!("keys/{name}.pub"))).unwrap();
        fs::write(state.join(format!("{name}.pub")), public).unwrap();
    }
    for (folder, text) in [
        ("workflows", FIX.to_owned()),
        ("own", FIX.replace("[Read, Edit]", "[Read]")),
    ] {
        fs::create_dir_all(state.join(folder)).unwrap();
        fs::write(state.join(folder).join("fix.yaml"), text).unwrap();
    }
    place.call(&["init"], 0);
    for (role, name, file) in [
        ("person", "ana", "ana.token"),
        ("person", "ben", "ben.token"),
        ("agent", "ana", "agent.token"),
    ] {
        place.call(
            &["token", "create", "--role", role, "--for", name, "-o", file],
            0,
        );
    }
}

/// Starts the server with the options of the page, and its relative paths made absolute.
fn served(place: &Place<'_>, options: &[&str]) -> Served {
    let state = place.state();
    let absolute = |option: &&str| match option.split_once('=') {
        Some((tenant, file)) => format!("{tenant}={}", state.join(file).display()),
        None => (*option).to_owned(),
    };
    let options: Vec<String> = options.iter().map(absolute).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let words = place.server.words(&place.database, ROLE);
    Served::start_with(&words, &options)
}

/// Runs every command on the book's page that can be run here, as printed.
#[test]
fn the_page_of_the_book_is_true() {
    let Some(place) = Place::new() else { return };
    let page = include_str!("../../../../docs/src/audit.md");
    let state = place.state();
    fs::create_dir_all(&state).unwrap();
    prepared(&place);
    let mut server: Option<Served> = None;
    let mut run = String::new();
    let mut called = [0, 0];
    let collector = Collector::start("200 OK").unwrap();
    for line in commands(page) {
        let line = line
            .replace("01k9", &run)
            .replace("~/", &format!("{}/", state.display()))
            .replace("http://127.0.0.1:4318", &collector.endpoint());
        let line = match &server {
            Some(server) => line.replace("127.0.0.1:4680", server.address()),
            None => line,
        };
        let Some(words) = line.strip_prefix("interlock shared ") else {
            let mut shell = Command::new("sh");
            let said = shell
                .args(["-c", &line])
                .current_dir(&state)
                .output()
                .unwrap();
            let text = String::from_utf8(said.stdout).unwrap();
            called[1] += 1;
            if line.contains(" > ") {
                assert!(said.status.success(), "{line}");
                continue;
            }
            let value: Value =
                serde_json::from_str(&text).unwrap_or_else(|_| panic!("{line}\n{text}"));
            assert!(value.get("error").is_none(), "{line}\n{text}");
            if line.contains("/v1/runs") {
                run = value["run"].as_str().unwrap().to_owned();
            }
            continue;
        };
        let words: Vec<&str> = words.split(' ').collect();
        called[0] += 1;
        if words[0] == "serve" {
            server = Some(served(&place, &words[1..]));
            continue;
        }
        let said = place.command(&words).output().unwrap();
        let (out, err) = (
            String::from_utf8(said.stdout).unwrap(),
            String::from_utf8(said.stderr).unwrap(),
        );
        assert!(said.status.success(), "{line}\n{out}\n{err}");
    }
    assert_eq!(called, [14, 3]);
    // What the collector was sent is a file.
    let records: Vec<Value> = collector
        .posted()
        .iter()
        .flat_map(|posted| {
            assert_eq!(posted.path, "/v1/logs");
            let scope = &posted.body["resourceLogs"][0]["scopeLogs"][0];
            scope["logRecords"].as_array().unwrap().clone()
        })
        .collect();
    let bodies: Vec<&str> = records
        .iter()
        .map(|record| record["body"]["stringValue"].as_str().unwrap())
        .collect();
    fs::write(state.join("sent.jsonl"), bodies.join("\n") + "\n").unwrap();
    place.call(&["audit", "verify", "sent.jsonl", "--key", "audit.pub"], 0);
    let attribute = |record: &Value, key: &str| {
        let attributes = record["attributes"].as_array().unwrap();
        let found = attributes.iter().find(|pair| pair["key"] == key);
        found.map(|pair| pair["value"].clone())
    };
    let kind = |record| attribute(record, "interlock.audit.kind").unwrap();
    assert_eq!(kind(&records[0]), json!({ "stringValue": "beginning" }));
    let last = records.last().unwrap();
    assert_eq!(kind(last), json!({ "stringValue": "head" }));
    for (number, record) in records[1..records.len() - 1].iter().enumerate() {
        let seq = json!({ "intValue": number.to_string() });
        assert_eq!(attribute(record, "interlock.audit.seq"), Some(seq));
        let line: Value = serde_json::from_str(bodies[number + 1]).unwrap();
        let at = format!("{}000000", line["entry"]["at_ms"]);
        assert_eq!(record["timeUnixNano"], json!(at));
        assert_eq!(
            kind(record),
            json!({ "stringValue": line["entry"]["kind"] })
        );
    }
    // The lines that the page shows are of the form that is written.
    let line = fs::read_to_string(state.join("served.jsonl")).unwrap();
    let shown: Vec<Value> = page
        .lines()
        .filter(|line| line.starts_with("{\""))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let lines: Vec<Value> = line
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&shown[0]), keys(&lines[0]));
    assert_eq!(keys(&shown[1]), keys(&lines[1]));
    assert_eq!(keys(&shown[1]["entry"]), keys(&lines[1]["entry"]));
    assert_eq!(keys(&shown[2]), keys(lines.last().unwrap()));
    assert_eq!(
        keys(&shown[2]["head"]),
        keys(&lines.last().unwrap()["head"])
    );
    let kinds: BTreeSet<&str> = lines
        .iter()
        .filter_map(|line| line["entry"]["kind"].as_str())
        .collect();
    for kind in kinds {
        assert!(
            page.contains(&format!("`{kind}`")),
            "{kind} is not on the page"
        );
    }
}

/// Lists every key of an object by its path, as far as the table goes into it.
fn found(value: &Value, path: &str, known: &BTreeSet<String>, keys: &mut BTreeSet<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        let is_described = known
            .iter()
            .any(|known| known.starts_with(&format!("{path}.")));
        keys.insert(path.clone());
        if is_described {
            found(value, &path, known, keys);
        }
    }
}

#[test]
fn signing_commands_print_the_keys_of_their_tables() {
    let Some(place) = Place::new() else { return };
    let state = place.state();
    fs::create_dir_all(&state).unwrap();
    prepared(&place);
    for name in ["team", "audit"] {
        fs::rename(
            state.join(format!("keys/{name}.key")),
            state.join(format!("{name}.key")),
        )
        .unwrap();
    }
    let page = include_str!("../../../../docs/src/json.md");
    // In the order in which one needs the other.
    let (audit, rest) = page
        .split_once("## shared audit export")
        .unwrap()
        .1
        .split_once("## shared bundle")
        .unwrap();
    let (bundle, start) = rest.split_once("## shared start").unwrap();
    let start = start.split_once("\n## ").unwrap().0;
    let mut server: Option<Served> = None;
    let mut called = 0;
    for part in [bundle, start, audit] {
        let mut blocks = part.split("```sh\n").skip(1);
        for block in &mut blocks {
            let (lines, table) = block.split_once("```\n").unwrap();
            let mut known = BTreeSet::new();
            for row in table.lines().filter(|line| line.starts_with("| `")) {
                let first = row.split(" | ").next().unwrap();
                known.extend(first.split('`').skip(1).step_by(2).map(str::to_owned));
            }
            for line in lines.lines() {
                if line.contains(" start ") && server.is_none() {
                    server = Some(served(&place, &["--bundle-key", "acme=team.pub"]));
                }
                let line = match &server {
                    Some(server) => line.replace("127.0.0.1:4680", server.address()),
                    None => line.to_owned(),
                };
                if line.contains("cut.jsonl") {
                    let whole = fs::read_to_string(state.join("audit.jsonl")).unwrap();
                    let cut = whole.trim_end().rsplit_once('\n').unwrap().0;
                    fs::write(state.join("cut.jsonl"), format!("{cut}\n")).unwrap();
                }
                let words: Vec<&str> = line
                    .strip_prefix("interlock shared ")
                    .unwrap()
                    .split(' ')
                    .collect();
                let said = place.command(&words).output().unwrap();
                let text = String::from_utf8(said.stdout).unwrap();
                let value = text.lines().next().unwrap_or_default();
                let value: Value = serde_json::from_str(value).unwrap_or_else(|_| {
                    panic!("{line}: {}", String::from_utf8_lossy(&said.stderr))
                });
                let mut keys = BTreeSet::new();
                found(&value, "", &known, &mut keys);
                assert_eq!(keys, known, "{line}");
                called += 1;
            }
        }
    }
    assert_eq!(called, 8);
}

/// What belongs in the hands of few is asked for: keys that others can read, and keys in the wrong place, are refused.
#[test]
fn keys_are_taken_only_where_they_belong() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(place) = Place::new() else { return };
    let state = place.state();
    fs::create_dir_all(&state).unwrap();
    prepared(&place);
    let export = |key: &str| ["audit", "export", "--key", key, "-o", "a.jsonl"].map(str::to_owned);
    let call = |words: &[String], code| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        place.call(&words, code)
    };
    call(&export("keys/audit.key"), 0);
    let mode = fs::metadata(state.join("a.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let (_, err) = place.call(&["audit", "export"], 1);
    assert!(
        err.contains("attest.key") && err.contains("interlock attest keygen"),
        "{err}"
    );
    for (key, said) in [
        ("none.key", "cannot read the key"),
        ("audit.pub", "others can read the key"),
    ] {
        let (_, err) = call(&export(key), 1);
        assert!(err.contains(said), "{err}");
    }
    let verify = ["audit", "verify", "a.jsonl", "--key", "keys/audit.key"];
    let (_, err) = place.call(&verify, 1);
    assert!(err.contains("it holds a private key"), "{err}");
    for (option, said) in [
        ("team.pub", "is not TENANT=FILE"),
        ("Acme=team.pub", "cannot name a tenant"),
        ("acme=none.pub", "cannot read `none.pub`"),
    ] {
        let (_, err) = place.call(
            &["serve", "--listen", "127.0.0.1:0", "--bundle-key", option],
            1,
        );
        assert!(err.contains(said), "{err}");
    }
    let twice = [
        "serve",
        "--bundle-key",
        "acme=team.pub",
        "--bundle-key",
        "acme=audit.pub",
    ];
    let (_, err) = place.call(&twice, 1);
    assert!(err.contains("twice"), "{err}");
    let (_, err) = place.call(
        &[
            "audit",
            "export",
            "--from",
            "yesterday",
            "--key",
            "keys/audit.key",
        ],
        1,
    );
    assert!(err.contains("neither a number nor a time"), "{err}");

    // A folder with anything else, a link, or a workflow with errors makes no bundle.
    let create = |folder: &str| {
        let words = [
            "bundle",
            "create",
            folder,
            "--name",
            "shop",
            "--revision",
            "1",
            "--key",
            "keys/team.key",
            "-o",
            "b",
        ];
        place.call(&words, 1).1
    };
    fs::create_dir(state.join("other")).unwrap();
    fs::write(state.join("other/notes.txt"), "x").unwrap();
    assert!(create("other").contains("no plain path of a workflow file"));
    fs::remove_file(state.join("other/notes.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", state.join("other/a.yaml")).unwrap();
    assert!(create("other").contains("not a regular file"));
    fs::remove_file(state.join("other/a.yaml")).unwrap();
    assert!(create("other").contains("has no files"));
    fs::write(state.join("other/a.yaml"), "id: x\n").unwrap();
    assert!(create("other").contains("`a.yaml` of the bundle is no workflow"));
    assert!(!state.join("b").exists());
    // A server that starts runs from bundles says so to whoever sends a workflow.
    let server = served(&place, &["--bundle-key", "acme=team.pub"]);
    let ana = fs::read_to_string(state.join("ana.token")).unwrap();
    let reply = server.post(ana.trim(), "/v1/runs", &new_name("k"), &start_body());
    assert_eq!(reply.json()["error"]["code"], json!("no_bundle"));
}

#[test]
fn a_collector_that_refuses_is_named_with_what_it_has_accepted() {
    let Some(place) = Place::new() else { return };
    fs::create_dir_all(place.state()).unwrap();
    prepared(&place);
    let export = |otlp: &[&str], code| {
        let words = ["audit", "export", "--key", "keys/audit.key", "--otlp"];
        place.call(&[&words, otlp].concat(), code)
    };
    let collector = Collector::start("400 Bad Request").unwrap();
    let (out, err) = export(&[&collector.endpoint()], 1);
    assert_eq!(out, "");
    assert!(err.contains("answered 400"), "{err}");
    assert!(err.contains("0 lines were accepted before"), "{err}");
    let (_, err) = export(&[], 1);
    assert!(err.contains("no collector is named"), "{err}");
    let (_, err) = export(&["ftp://collector"], 1);
    assert!(err.contains("is not an endpoint"), "{err}");
    let taken = Collector::start("200 OK").unwrap();
    let mut command = place.command(&["audit", "export", "--key", "keys/audit.key", "--otlp"]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .env(
            "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
            taken.endpoint() + "/own",
        )
        .env("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "x-key=a%20b");
    assert!(command.status().unwrap().success());
    let posted = taken.posted();
    assert_eq!(posted[0].path, "/own");
    assert_eq!(posted[0].header("x-key"), Some("a b"));
    // The command line counts more than the variables.
    let mut command = place.command(&["audit", "export", "--key", "keys/audit.key", "--otlp"]);
    command
        .arg(taken.endpoint())
        .env("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://127.0.0.1:1");
    assert!(command.status().unwrap().success());
    assert_eq!(taken.posted().last().unwrap().path, "/v1/logs");
}
