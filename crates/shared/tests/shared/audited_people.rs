//! Votes, policies and people in the audit: each with its place in the chain, and told apart when it was changed.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use interlock_shared::{AuditFrom, Role};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::{
    api::{Fleet, Served, done},
    audited::{entries, expected, exported, verified},
    keys::key,
    provider::Provider,
    server::{ROLE, new_name},
};

const POLICY: &str = r#"
[groups]
developers = ["ana", "ben", "cy@example.org", "dana"]

[roles]
start = ["@developers"]
approve = ["@developers"]
administer = ["dana"]

[[approval]]
from = ["@developers"]
count = 2
"#;

/// Loads a policy, has a person sign in twice, and two people vote; returns the run. `None`: there is no provider here.
fn people_act(fleet: &Fleet<'_>) -> Option<String> {
    fleet.acme.load_people(POLICY, "the owner", None).unwrap();
    let provider = Provider::start()?;
    let place = TempDir::new().unwrap();
    let file = place.path().join("sign-in.toml");
    let config = format!(
        "[[people]]\ntenant = \"acme\"\nissuer = \"{}\"\nclient_id = \"interlock\"\nminutes = 30\n",
        provider.issuer
    );
    std::fs::write(&file, config).unwrap();
    let words = fleet.server.words(&fleet.name, ROLE);
    let served = Served::start_with(&words, &["--sign-in", file.to_str().unwrap()]);
    let sign_in = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap().as_secs();
        let nonce = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest("s"));
        let claims = json!({
            "aud": "interlock", "sub": "c1", "email": "cy@example.org", "email_verified": true,
            "iat": now, "exp": now + 300, "nonce": nonce, "jti": new_name("j"),
        });
        let id_token = provider.mint("RS256", &json!({}), &claims);
        let body = json!({ "tenant": "acme", "id_token": id_token, "nonce_secret": "s" });
        let kind = ["Content-Type: application/json".to_owned()];
        let reply = served.ask("POST", "/v1/sign-in", &kind, &body.to_string());
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["token"].as_str().unwrap().to_owned()
    };
    let (cy, _) = (sign_in(), sign_in());
    let run = served.run(&fleet.token(Role::Person, "ana"));
    let agent = fleet.token(Role::Agent, "ben");
    let asked = served.decide(&agent, &run, "d", done());
    let path = format!("/v1/runs/{run}/answers");
    let yes = json!({ "request": asked["request"], "yes": true, "seen": 99, "note": "read it" });
    let first = served.post(&cy, &path, "a", &yes);
    assert_eq!(first.json()["verdict"], json!("pending"), "{first:?}");
    let second = served.post(&fleet.token(Role::Person, "dana"), &path, "b", &yes);
    assert_eq!(second.json()["verdict"], json!("accepted"), "{second:?}");
    let wider = format!("{POLICY}\n[[approval]]\nfrom = [\"dana\"]\n");
    fleet.acme.load_people(&wider, "dana", Some(1)).unwrap();
    Some(run)
}

fn of_kind<'a>(all: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let is_it = |entry: &&Value| entry["kind"] == json!(kind);
    all.iter().filter(is_it).collect()
}

#[test]
fn votes_policies_and_people_are_entries_that_say_who_and_what() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(run) = people_act(&fleet) else {
        return;
    };
    let (own, keys) = (key(1), [key(1).public()]);
    let text = exported(&fleet.acme, None, Some(&own));
    let found = verified(&text, &expected(&keys)).unwrap();
    assert_eq!(found.shown, found.entries);
    let all = entries(&text);

    let policies = of_kind(&all, "policy_loaded");
    let who: Vec<&Value> = policies.iter().map(|one| &one["by"]).collect();
    assert_eq!(who, [&json!("the owner"), &json!("dana")]);
    let sha256 = format!("{:x}", Sha256::digest(POLICY));
    assert_eq!(policies[0]["sha256"], json!(sha256));
    assert_eq!(policies[1]["revision"], json!(2));

    // The second time, nobody new has come.
    let people = of_kind(&all, "person_signed_in");
    assert_eq!(people.len(), 1);
    assert_eq!(people[0]["person"], json!("c1"));
    assert_eq!(people[0]["subject"], json!("cy@example.org"));
    let tokens = of_kind(&all, "token_made");
    let issued = tokens
        .iter()
        .filter(|one| one["issuer"] == people[0]["issuer"]);
    assert_eq!(issued.count(), 2);
    assert!(people[0]["issuer"].is_string());

    let votes = of_kind(&all, "vote");
    let who: Vec<&Value> = votes.iter().map(|one| &one["subject"]).collect();
    assert_eq!(who, [&json!("cy@example.org"), &json!("dana")]);
    for vote in votes {
        assert_eq!(vote["run"], json!(run));
        assert_eq!(vote["yes"], json!(true));
        assert_eq!(vote["note"], json!("read it"));
        assert_eq!(vote["revision"], json!(1));
        let rows = fleet.server.sql(
            &fleet.name,
            "SELECT encode(digest, 'hex') FROM interlock.votes",
        );
        assert!(rows.lines().any(|row| json!(row) == vote["digest"]));
    }
    // The votes of a run belong to it, and a policy to none.
    let one = entries(&exported(&fleet.acme, Some(&run), Some(&own)));
    assert_eq!(of_kind(&one, "vote").len(), 2);
    assert!(of_kind(&one, "policy_loaded").is_empty());
}

#[test]
fn a_vote_a_policy_or_a_person_that_is_changed_missing_or_moved_is_told_apart() {
    let Some(fleet) = Fleet::new() else { return };
    if people_act(&fleet).is_none() {
        return;
    }
    let keys = [key(1).public()];
    let text = exported(&fleet.acme, None, Some(&key(1)));
    let lines: Vec<&str> = text.lines().collect();
    let spoilt = |act: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        act(&mut lines);
        let text = lines.join("\n") + "\n";
        verified(&text, &expected(&keys))
    };
    for (kind, field, other) in [
        ("vote", "\"yes\":true", "\"yes\":false"),
        ("vote", "\"subject\":\"", "\"subject\":\"x"),
        ("policy_loaded", "\"by\":\"", "\"by\":\"x"),
        ("policy_loaded", "\"sha256\":\"", "\"sha256\":\"0"),
        ("person_signed_in", "\"issuer\":\"", "\"issuer\":\"x"),
        ("person_signed_in", "\"subject\":\"cy", "\"subject\":\"eve"),
        ("token_made", "\"role\":\"", "\"role\":\"x"),
    ] {
        let kind = format!("\"kind\":\"{kind}\"");
        let at = lines.iter().position(|line| line.contains(&kind)).unwrap();
        assert!(lines[at].contains(field), "{}", lines[at]);
        let refused = |act: &dyn Fn(&mut Vec<String>)| spoilt(act).unwrap_err();
        let changed = refused(&|lines| lines[at] = lines[at].replacen(field, other, 1));
        assert_eq!(changed, "changed", "{field}");
        assert_eq!(refused(&|lines| drop(lines.remove(at))), "missing");
        assert_eq!(
            refused(&|lines| lines.insert(at, lines[at].clone())),
            "doubled"
        );
        // The head is the last line: what stands before it is moved to the place before.
        let (from, to) = match at {
            1 => (1, 2),
            _ => (at, at - 1),
        };
        assert_eq!(refused(&|lines| lines.swap(from, to)), "moved", "{kind}");
    }
}

/// Exports without signing; returns whether an entry is named that is no longer what was signed.
fn is_named(fleet: &Fleet<'_>) -> bool {
    let mut export = fleet.acme.audit(AuditFrom::Entry(0), None, None).unwrap();
    loop {
        match export.part() {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(error) => return error.to_string().contains("is no longer what was signed"),
        }
    }
}

#[test]
fn a_changed_row_of_a_vote_a_policy_or_a_person_is_named_by_the_next_export() {
    for fault in [
        "UPDATE interlock.votes SET yes = NOT yes",
        "UPDATE interlock.votes SET note = 'x'",
        "UPDATE interlock.votes SET digest = sha256(digest) WHERE subject = 'dana'",
        "DELETE FROM interlock.votes",
        "UPDATE interlock.people SET body = body || ' ' WHERE revision = 1",
        "UPDATE interlock.people SET loaded_by = 'eve'",
        "UPDATE interlock.identities SET person = 'c2'",
        "DELETE FROM interlock.identities",
        "UPDATE interlock.tokens SET issuer = 'https://evil.example'",
    ] {
        let Some(fleet) = Fleet::new() else { return };
        if people_act(&fleet).is_none() {
            return;
        }
        exported(&fleet.acme, None, Some(&key(1)));
        assert!(!is_named(&fleet));
        let by_force = format!("SET session_replication_role = replica; {fault}");
        fleet.server.sql(&fleet.name, &by_force);
        assert!(is_named(&fleet), "{fault}");
    }
}

/// Signed as it is, the vote still does not fit its own digest.
#[test]
fn a_vote_that_was_changed_before_it_was_signed_is_found_by_its_digest() {
    let Some(fleet) = Fleet::new() else { return };
    if people_act(&fleet).is_none() {
        return;
    }
    let fault = "SET session_replication_role = replica; UPDATE interlock.votes SET subject = 'eve' \
         WHERE subject = 'dana'";
    fleet.server.sql(&fleet.name, fault);
    let text = exported(&fleet.acme, None, Some(&key(1)));
    let keys = [key(1).public()];
    assert_eq!(verified(&text, &expected(&keys)), Err("vote_changed"));
}
