//! What happened in a tenant, exported with signatures and checked again.

use std::sync::Arc;

use interlock_attest::{PublicKey, SecretKey};
use interlock_shared::{
    AuditError, AuditExpected, AuditFrom, AuditVerified, Database, Role, verify_audit,
};
use serde_json::{Value, json};

use crate::{
    api::{Fleet, Served, done, proposal, token},
    keys::{self, key},
    server::ROLE,
};

/// Exports everything, or one run.
pub(crate) fn exported(
    database: &Database,
    run: Option<&str>,
    key: Option<&Arc<SecretKey>>,
) -> String {
    let run = run.map(interlock_core::names::RunId::new);
    let mut export = database
        .audit(AuditFrom::Entry(0), run.as_ref(), key)
        .unwrap();
    let mut bytes = Vec::new();
    while let Some(part) = export.part().unwrap() {
        bytes.extend(part);
    }
    String::from_utf8(bytes).unwrap()
}

pub(crate) fn expected(keys: &[PublicKey]) -> AuditExpected<'_> {
    AuditExpected {
        keys,
        from: 0,
        run: None,
        at_least: 0,
    }
}

/// Checks a file; returns the code of the refusal.
pub(crate) fn verified(
    text: &str,
    expected: &AuditExpected<'_>,
) -> Result<AuditVerified, &'static str> {
    verify_audit(&mut text.as_bytes(), expected).map_err(|wrong| wrong.refusal.code())
}

/// Has people and agents do something; returns the run.
fn something_happens(fleet: &Fleet<'_>) -> String {
    let served = &fleet.served;
    let (ana, cy) = (
        fleet.token(Role::Person, "ana"),
        fleet.token(Role::Person, "cy"),
    );
    let agent = fleet.token(Role::Agent, "ana");
    let run = served.run(&ana);
    served.decide(&agent, &run, "c1", proposal("c1", "Read"));
    served.decide(&agent, &run, "c2", proposal("c2", "Bash"));
    let asked = served.decide(&agent, &run, "c3", done());
    let answered = served.answer(&cy, &run, &asked["request"], &asked["seq"]);
    assert_eq!(answered.json()["verdict"], json!("accepted"));
    run
}

/// Returns the lines of a file with what each is about.
pub(crate) fn entries(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let entries = lines.filter_map(|line: Value| line.get("entry").cloned());
    entries.collect()
}

#[test]
fn everything_that_happened_is_exported_in_order_and_says_who() {
    let Some(fleet) = Fleet::new() else { return };
    let run = something_happens(&fleet);
    let (id, _) = fleet.acme.make_token(Role::Worker, "ci", 1).unwrap();
    fleet.acme.revoke_token(&id).unwrap();
    let key = key(1);
    let keys = [key.public()];
    let first = exported(&fleet.acme, None, Some(&key));
    let found = verified(&first, &expected(&keys)).unwrap();
    assert_eq!((found.tenant.as_str(), found.from), ("acme", 0));
    let entries_of = entries(&first);
    assert_eq!(found.shown, found.entries);
    assert_eq!(u64::try_from(entries_of.len()).unwrap(), found.entries);
    let of_kind = |kind: &str| -> Vec<&Value> {
        let is_it = |entry: &&Value| entry["kind"] == json!(kind);
        entries_of.iter().filter(is_it).collect()
    };
    assert_eq!(of_kind("run_made")[0]["started_by"], json!("ana"));
    assert_eq!(of_kind("token_made").len(), 4);
    assert_eq!(of_kind("token_revoked")[0]["subject"], json!("ci"));
    let commands = of_kind("command");
    let who: Vec<&str> = commands
        .iter()
        .map(|command| command["subject"].as_str().unwrap())
        .collect();
    assert_eq!(who, ["ana", "ana", "ana", "cy"]);
    assert_eq!(commands[3]["role"], json!("person"));
    assert_eq!(commands[1]["reply"]["code"], json!("tool_not_allowed"));
    let seqs: Vec<u64> = of_kind("event")
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (0..fleet.verified(&run)).collect::<Vec<_>>());
    // No secret, and no hash of one.
    assert!(!first.contains("ils_"));

    // Later entries follow; earlier ones stay as they were, line by line.
    something_happens(&fleet);
    let second = exported(&fleet.acme, None, Some(&key));
    let more = verified(&second, &expected(&keys)).unwrap();
    assert!(more.entries > found.entries);
    let same = usize::try_from(found.entries).unwrap() + 1;
    assert!(first.lines().take(same).eq(second.lines().take(same)));
    // Without a key, up to the last signed head.
    something_happens(&fleet);
    assert_eq!(exported(&fleet.acme, None, None), second);
    // The earlier file is whole by itself, and refused by who knows of more.
    let known = AuditExpected {
        at_least: more.entries,
        ..expected(&keys)
    };
    assert_eq!(verified(&first, &known), Err("shorter"));
    assert!(verified(&second, &known).is_ok());
}

#[test]
fn a_part_is_verified_as_the_part_that_it_says_it_is() {
    let Some(fleet) = Fleet::new() else { return };
    let (run, other) = (something_happens(&fleet), something_happens(&fleet));
    let key = key(1);
    let keys = [key.public()];
    let whole = exported(&fleet.acme, None, Some(&key));
    let all = verified(&whole, &expected(&keys)).unwrap();

    let one = exported(&fleet.acme, Some(&run), Some(&key));
    assert_eq!(verified(&one, &expected(&keys)), Err("other_run"));
    let of_run = AuditExpected {
        run: Some(&run),
        ..expected(&keys)
    };
    let found = verified(&one, &of_run).unwrap();
    assert_eq!(found.entries, all.entries);
    assert!(found.shown > 5 && found.shown < all.shown);
    assert!(entries(&one).iter().all(|entry| entry["run"] == json!(run)));
    // Nothing of the other run but that something happened in it.
    let lines = one.lines().filter(|line| line.contains(&other));
    assert!(lines.clone().count() > 5);
    assert!(lines.clone().all(|line| !line.contains("\"entry\"")));

    let mut export = fleet
        .acme
        .audit(AuditFrom::Entry(5), None, Some(&key))
        .unwrap();
    let mut later = Vec::new();
    while let Some(part) = export.part().unwrap() {
        later.extend(part);
    }
    let later = String::from_utf8(later).unwrap();
    assert_eq!(verified(&later, &expected(&keys)), Err("other_beginning"));
    let from = AuditExpected {
        from: 5,
        ..expected(&keys)
    };
    let found = verified(&later, &from).unwrap();
    assert_eq!((found.from, found.shown), (5, all.entries - 5));
    // A time gives the entries from the first one on that is not older.
    let at_ms = entries(&whole)[9]["at_ms"].as_u64().unwrap();
    let mut export = fleet
        .acme
        .audit(AuditFrom::Time(at_ms), None, None)
        .unwrap();
    let header: Value = serde_json::from_slice(&export.part().unwrap().unwrap()).unwrap();
    assert!((1..=9).contains(&header["from"].as_u64().unwrap()));
    let beyond = fleet
        .acme
        .audit(AuditFrom::Entry(all.entries + 1), None, None);
    assert!(matches!(beyond, Err(AuditError::NoEntry { .. })));
}

#[test]
fn every_change_of_a_file_is_told_apart() {
    let Some(fleet) = Fleet::new() else { return };
    let run = something_happens(&fleet);
    let (own, other) = (key(1), key(2));
    let keys = [own.public()];
    let earlier = exported(&fleet.acme, None, Some(&own));
    something_happens(&fleet);
    let whole = exported(&fleet.acme, None, Some(&own));
    assert!(verified(&whole, &expected(&keys)).is_ok());
    let lines: Vec<&str> = whole.lines().collect();
    let text = |lines: &[&str]| {
        let mut text = lines.join("\n");
        text.push('\n');
        text
    };
    let (head, last) = (lines.len() - 1, lines.len() - 2);
    let spoilt = |act: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        act(&mut lines);
        let mut text = lines.join("\n");
        text.push('\n');
        text
    };
    let digest = |line: &str| {
        // As in an export of another run: the digest in place of the entry.
        let one = exported(&fleet.acme, Some(&run), None);
        let seq: Value = serde_json::from_str(line).unwrap();
        let stub = one.lines().find(|stub| {
            stub.contains("\"digest\":")
                && !stub.contains("\"entry\"")
                && serde_json::from_str::<Value>(stub).unwrap()["seq"] == seq["seq"]
        });
        stub.map(str::to_owned)
    };
    let earlier_head = earlier.lines().last().unwrap().to_owned();
    let hidden = lines[1..head]
        .iter()
        .find_map(|line| Some((*line, digest(line)?)));
    let (shown, hidden) = hidden.unwrap();
    let cases: Vec<(&str, String)> = vec![
        (
            "changed",
            spoilt(&|l| {
                l[5] =
                    l[5].replacen("\"ana\"", "\"eve\"", 1)
                        .replacen("\"at_ms\":1", "\"at_ms\":2", 1)
            }),
        ),
        (
            "changed",
            spoilt(&|l| l[5] = l[5].replacen("\"hash\":\"", "\"hash\":\"0", 1)),
        ),
        (
            "changed",
            spoilt(&|l| l[5] = l[5].replacen("\"run\":\"", "\"run\":\"x", 1)),
        ),
        (
            "changed",
            spoilt(&|l| l[0] = l[0].replace("acme", "globex")),
        ),
        ("missing", spoilt(&|l| drop(l.remove(5)))),
        ("missing", spoilt(&|l| drop(l.remove(1)))),
        ("doubled", spoilt(&|l| l.insert(5, l[5].clone()))),
        ("doubled", spoilt(&|l| l.insert(8, l[3].clone()))),
        ("moved", spoilt(&|l| l.swap(5, 6))),
        ("moved", spoilt(&|l| l.swap(3, 9))),
        ("cut_off", text(&lines[..head])),
        ("cut_off", text(&lines[..last])),
        ("cut_off", text(&lines[..1])),
        ("cut_off", String::new()),
        ("cut_off", whole[..whole.len() - 20].to_owned()),
        ("cut_off", whole.trim_end().to_owned()),
        ("other_head", spoilt(&|l| drop(l.remove(last)))),
        ("other_head", spoilt(&|l| l[head] = earlier_head.clone())),
        ("after_head", spoilt(&|l| l.push(l[5].clone()))),
        ("after_head", spoilt(&|l| l.push("{}".to_owned()))),
        (
            "unsigned",
            spoilt(&|l| {
                let mut value: Value = serde_json::from_str(&l[head]).unwrap();
                value.as_object_mut().unwrap().remove("signature");
                l[head] = value.to_string();
            }),
        ),
        (
            "wrong_signature",
            spoilt(&|l| l[head] = l[head].replacen("\"at_ms\":1", "\"at_ms\":2", 1)),
        ),
        (
            "wrong_signature",
            spoilt(&|l| {
                let mut value: Value = serde_json::from_str(&l[head]).unwrap();
                value["signature"] = json!("00".repeat(64));
                l[head] = value.to_string();
            }),
        ),
        ("other_key", exported(&fleet.acme, None, Some(&other))),
        ("hidden", whole.replace(shown, &hidden)),
        (
            "other_beginning",
            spoilt(&|l| l[0] = l[0].replace("\"from\":0", "\"from\":1")),
        ),
        ("malformed", spoilt(&|l| l[5] = "{}".to_owned())),
        (
            "malformed",
            spoilt(&|l| l[5] = l[5].replacen("{", "{\"seq\":4,", 1)),
        ),
        (
            "unknown_version",
            spoilt(&|l| l[0] = l[0].replace("\"audit\":1", "\"audit\":2")),
        ),
    ];
    for (number, (code, text)) in cases.iter().enumerate() {
        assert_ne!(*text, whole, "case {number} changes nothing");
        assert_eq!(
            verified(text, &expected(&keys)),
            Err(*code),
            "case {number}"
        );
    }
    // Cut to what was signed earlier, it is that earlier file, and `at_least` tells it apart.
    let wrong = verify_audit(&mut cases[4].1.as_bytes(), &expected(&keys)).unwrap_err();
    assert_eq!(wrong.to_string(), "line 6: entry 4 is missing");
}

/// The head of another tenant, signed with the same key, is none of this one's.
#[test]
fn tenants_have_chains_of_their_own() {
    let Some(fleet) = Fleet::new() else { return };
    let own = key(1);
    let globex = fleet.server.tenant_in(&fleet.name, "globex");
    something_happens(&fleet);
    token(&globex, Role::Person, "eve");
    let (ours, theirs) = (
        exported(&fleet.acme, None, Some(&own)),
        exported(&globex, None, Some(&own)),
    );
    assert_eq!(entries(&theirs).len(), 1);
    assert!(!theirs.contains("\"ana\"") && !ours.contains("\"eve\""));
    let keys = [own.public()];
    let renamed = theirs.replacen("globex", "acme", 1);
    assert_eq!(verified(&renamed, &expected(&keys)), Err("changed"));
    let foreign = fleet.acme.audit(
        AuditFrom::Entry(0),
        Some(&interlock_core::names::RunId::new(
            "01k00000000000000000000000",
        )),
        None,
    );
    assert!(foreign.unwrap_err().to_string().contains("has no run"));
}

#[test]
fn what_an_administrator_changes_after_it_was_signed_is_named() {
    let cases = [
        (
            "UPDATE interlock.events SET body = convert_to('{}', 'UTF8') WHERE seq = 1",
            "is no longer what was signed",
        ),
        (
            "DELETE FROM interlock.events WHERE seq = 1",
            "is no longer what was signed",
        ),
        (
            "UPDATE interlock.commands SET subject = 'eve' WHERE subject = 'cy'",
            "is no longer what was signed",
        ),
        (
            "UPDATE interlock.tokens SET role = 'person' WHERE role = 'agent'",
            "is no longer what was signed",
        ),
        (
            "DELETE FROM interlock.tokens",
            "is no longer what was signed",
        ),
        (
            "UPDATE interlock.starts SET subject = 'eve'",
            "is no longer what was signed",
        ),
        (
            "UPDATE interlock.audit SET digest = hash WHERE seq = 3",
            "entry 3 is no longer what was signed",
        ),
        (
            "DELETE FROM interlock.audit WHERE seq = 4",
            "entry 4 is no longer what was signed",
        ),
        (
            "UPDATE interlock.audit SET run = 'x' WHERE seq = 2",
            "entry 2 is no longer what was signed",
        ),
    ];
    for (fault, said) in cases {
        let Some(fleet) = Fleet::new() else { return };
        something_happens(&fleet);
        exported(&fleet.acme, None, Some(&key(1)));
        let by_force = format!("SET session_replication_role = replica; {fault}");
        fleet.server.sql(&fleet.name, &by_force);
        let mut export = fleet.acme.audit(AuditFrom::Entry(0), None, None).unwrap();
        let error = loop {
            match export.part() {
                Ok(part) => assert!(part.is_some(), "{fault} is not seen"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains(said), "{fault}: {error}");
    }
    // Numbered again after a change, with more behind it: the heads of before do not fit, and nothing is signed.
    let Some(fleet) = Fleet::new() else { return };
    let ana = fleet.token(Role::Person, "ana");
    fleet.served.run(&ana);
    exported(&fleet.acme, None, Some(&key(1)));
    let fault = "SET session_replication_role = replica; DELETE FROM interlock.audit; \
         UPDATE interlock.tokens SET subject = 'eve'";
    fleet.server.sql(&fleet.name, fault);
    fleet.served.run(&ana);
    for _ in 0..2 {
        let signed = fleet.acme.audit(AuditFrom::Entry(0), None, Some(&key(1)));
        assert!(
            matches!(signed, Err(AuditError::OtherHead { entries: 3 })),
            "{signed:?}"
        );
    }
}

/// What was changed before anything was signed is signed as it is, and found by the hashes of the run.
#[test]
fn what_was_changed_before_it_was_signed_is_found_by_the_hashes_of_the_run() {
    for fault in [
        // Without its own hash, and with the right one, which the next event does not follow.
        "UPDATE interlock.events SET body = convert_to('{}', 'UTF8') WHERE seq = 1",
        "UPDATE interlock.events SET body = convert_to('{}', 'UTF8'), hash = sha256(prev || int8send(seq) \
         || int8send(at_ms) || convert_to('{}', 'UTF8')) WHERE seq = 1",
        "DELETE FROM interlock.events WHERE seq = 1",
        "DELETE FROM interlock.events WHERE seq = 0",
    ] {
        let Some(fleet) = Fleet::new() else { return };
        something_happens(&fleet);
        let by_force = format!("SET session_replication_role = replica; {fault}");
        fleet.server.sql(&fleet.name, &by_force);
        let text = exported(&fleet.acme, None, Some(&key(1)));
        let keys = [key(1).public()];
        assert_eq!(
            verified(&text, &expected(&keys)),
            Err("event_changed"),
            "{fault}"
        );
    }
}

#[test]
fn only_a_person_reads_the_audit_of_a_server() {
    let Some(fleet) = Fleet::new() else { return };
    let run = something_happens(&fleet);
    let place = tempfile::tempdir().unwrap();
    keys::write(place.path(), "audit", 7);
    let own = key(7);
    let ana = fleet.token(Role::Person, "ana");
    // A server without the key sends only what is signed.
    let reply = fleet.served.get(&ana, "/v1/audit");
    assert_eq!((reply.status, reply.code()), (409, "not_signed".into()));
    let path = place.path().join("audit.key");
    let words = fleet.server.words(&fleet.name, ROLE);
    let signing = Served::start_with(&words, &["--audit-key", path.to_str().unwrap()]);
    for role in [Role::Agent, Role::Worker] {
        let token = fleet.token(role, "ben");
        let reply = signing.get(&token, "/v1/audit");
        assert_eq!((reply.status, reply.code()), (403, "forbidden_role".into()));
    }
    let reply = signing.ask("GET", "/v1/audit", &[], "");
    assert_eq!(reply.status, 401);
    let text = signing.get_lines(&ana, "/v1/audit");
    let keys = [own.public()];
    let found = verified(&text, &expected(&keys)).unwrap();
    assert!(
        entries(&text)
            .iter()
            .any(|entry| entry["subject"] == json!("ben"))
    );
    // The other one sends the same, as it is signed now.
    assert_eq!(fleet.served.get_lines(&ana, "/v1/audit"), text);
    let one = signing.get_lines(&ana, &format!("/v1/audit?run={run}&from=3"));
    let part = AuditExpected {
        from: 3,
        run: Some(&run),
        ..expected(&keys)
    };
    assert!(verified(&one, &part).unwrap().shown > 5);
    for (path, status, code) in [
        (
            format!("/v1/audit?from={}", found.entries + 1),
            404,
            "not_found",
        ),
        (
            "/v1/audit?run=01k00000000000000000000000".to_owned(),
            404,
            "not_found",
        ),
        ("/v1/audit?run=..".to_owned(), 404, "not_found"),
        ("/v1/audit?from=x".to_owned(), 400, "bad_request"),
        ("/v1/audit?tenant=globex".to_owned(), 400, "bad_request"),
    ] {
        let reply = signing.get(&ana, &path);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{path}"
        );
    }
    // Another tenant has its own, and no run of this one.
    let globex = fleet.server.tenant_in(&fleet.name, "globex");
    let eve = token(&globex, Role::Person, "eve");
    let reply = signing.get(&eve, &format!("/v1/audit?run={run}"));
    assert_eq!((reply.status, reply.code()), (404, "not_found".into()));
    let theirs = signing.get_lines(&eve, "/v1/audit");
    assert_eq!(entries(&theirs).len(), 1);
    assert_eq!(
        verified(&theirs, &expected(&keys)).unwrap().tenant,
        "globex"
    );
    // What cannot be sent whole has no head.
    let fault = "SET session_replication_role = replica; \
         UPDATE interlock.commands SET subject = 'eve' WHERE subject = 'cy'";
    fleet.server.sql(&fleet.name, fault);
    let cut = signing.get_lines(&ana, "/v1/audit");
    assert_eq!(verified(&cut, &expected(&keys)), Err("cut_off"));
}

#[test]
fn many_exports_at_once_number_everything_once() {
    let Some(fleet) = Fleet::new() else { return };
    for _ in 0..3 {
        something_happens(&fleet);
    }
    let own = key(1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| exported(&fleet.acme, None, Some(&own)));
        }
        scope.spawn(|| something_happens(&fleet));
    });
    let text = exported(&fleet.acme, None, Some(&own));
    let found = verified(&text, &expected(&[own.public()])).unwrap();
    let count = fleet.server.sql(
        &fleet.name,
        "SELECT (SELECT count(*) FROM interlock.events) + (SELECT count(*) FROM interlock.commands) \
         + (SELECT count(*) FROM interlock.tokens) + (SELECT count(*) FROM interlock.runs)",
    );
    assert_eq!(found.entries.to_string(), count);
}
