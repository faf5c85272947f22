//! Signed workflows: what a server and a machine accept, and the runs that start from them.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_shared::{
    BundleName, BundleRefusal, CheckedBundle, PublishError, Role, Tenant, new_bundle,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    api::{Fleet, Reply, Served, start_body, token},
    keys::{self, key},
    server::{ROLE, new_name},
};

pub(crate) const FIX: &str = "id: fix
initial: working
states:
  working:
    allowed_tools: [Read, Edit]
    on:
      DONE: {target: done, requires_approval: true}
  done: {type: final}
";

pub(crate) const HOUR_MS: u64 = 60 * 60 * 1_000;

pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis().try_into().unwrap()
}

fn files(text: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("fix.yaml".to_owned(), text.to_owned())])
}

pub(crate) fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

/// Makes a bundle of `acme` that is valid for an hour from `issued_ms` on, signed with the key of `byte`.
pub(crate) fn made(name: &str, revision: u64, issued_ms: u64, byte: u8) -> Vec<u8> {
    let name = BundleName::new(name).unwrap();
    let times = (issued_ms, issued_ms + HOUR_MS);
    let acme = tenant("acme");
    new_bundle((&acme, &name, revision), times, files(FIX), &key(byte)).unwrap()
}

pub(crate) fn bundle(revision: u64) -> Vec<u8> {
    made("shop", revision, now_ms(), 1)
}

pub(crate) fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Returns a bundle after `act` has changed its document.
pub(crate) fn spoilt(act: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut document = value(&bundle(1));
    act(&mut document);
    document.to_string().into_bytes()
}

/// Returns the code of the refusal by who trusts the key 1 and is `acme`.
fn refused(bytes: &[u8]) -> &'static str {
    let checked = CheckedBundle::check(bytes, &[key(1).public()], &tenant("acme"));
    let checked = checked.and_then(|bundle| bundle.check_time(now_ms()));
    checked.map_or_else(|refusal| refusal.code(), |()| "good")
}

#[test]
fn whatever_is_wrong_with_a_bundle_has_its_own_refusal() {
    let other = made("shop", 1, now_ms(), 2);
    let other_files = new_bundle(
        (&tenant("acme"), &BundleName::new("shop").unwrap(), 1),
        (now_ms(), now_ms() + HOUR_MS),
        files(&FIX.replace("Edit", "Bash")),
        &key(1),
    )
    .unwrap();
    let foreign = new_bundle(
        (&tenant("globex"), &BundleName::new("shop").unwrap(), 1),
        (now_ms(), now_ms() + HOUR_MS),
        files(FIX),
        &key(1),
    )
    .unwrap();
    let duplicate = String::from_utf8(bundle(1)).unwrap();
    let duplicate = duplicate.replacen(
        "{\"envelope\"",
        "{\"files\":{\"fix.yaml\":\"x\"},\"envelope\"",
        1,
    );
    for (code, bytes) in [
        ("good", bundle(1)),
        (
            "bundle_unsigned",
            spoilt(|it| drop(it.as_object_mut().unwrap().remove("envelope"))),
        ),
        (
            "bundle_unsigned",
            spoilt(|it| it["envelope"]["signatures"] = json!([])),
        ),
        ("bundle_other_key", other.clone()),
        // The other key's signature under the name of the trusted one.
        (
            "bundle_wrong_signature",
            spoilt(|it| {
                let sig = value(&other)["envelope"]["signatures"][0]["sig"].clone();
                it["envelope"]["signatures"][0]["sig"] = sig;
            }),
        ),
        (
            "bundle_wrong_signature",
            spoilt(|it| {
                it["envelope"]["payload"] = value(&other_files)["envelope"]["payload"].clone();
            }),
        ),
        ("bundle_other_tenant", foreign),
        ("bundle_expired", made("shop", 1, now_ms() - 2 * HOUR_MS, 1)),
        (
            "bundle_not_yet_valid",
            made("shop", 1, now_ms() + HOUR_MS, 1),
        ),
        (
            "bundle_file_changed",
            spoilt(|it| it["files"]["fix.yaml"] = json!(FIX.replace("Edit", "Bash"))),
        ),
        (
            "bundle_file_added",
            spoilt(|it| it["files"]["more.yaml"] = json!(FIX)),
        ),
        ("bundle_file_missing", spoilt(|it| it["files"] = json!({}))),
        ("bundle_malformed", spoilt(|it| it["more"] = json!(1))),
        (
            "bundle_malformed",
            spoilt(|it| it["files"]["../fix.yaml"] = json!(FIX)),
        ),
        (
            "bundle_malformed",
            spoilt(|it| it["envelope"]["payloadType"] = json!("application/vnd.in-toto+json")),
        ),
        ("bundle_malformed", duplicate.into_bytes()),
        ("bundle_malformed", b"{}".to_vec()),
        (
            "bundle_too_large",
            vec![b' '; interlock_shared::BUNDLE_BYTES_MAX + 1],
        ),
    ] {
        assert_eq!(
            refused(&bytes),
            code,
            "{}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(400)])
        );
    }
}

#[test]
fn a_bundle_is_published_only_if_it_is_good_and_newer() {
    let Some(fleet) = Fleet::new() else { return };
    let trusted = [key(1).public()];
    let publish = |bytes: &[u8]| match fleet.acme.publish_bundle(bytes, &trusted) {
        Ok(bundle) => {
            assert_eq!(bundle.bytes, bytes);
            "published"
        }
        Err(PublishError::Refused(refusal)) => refusal.code(),
        Err(error) => panic!("{error}"),
    };
    let bad = new_bundle(
        (&tenant("acme"), &BundleName::new("shop").unwrap(), 9),
        (now_ms(), now_ms() + HOUR_MS),
        files("id: fix\ninitial: nowhere\nstates: {a: {type: final}}\n"),
        &key(1),
    )
    .unwrap();
    let third = bundle(3);
    for (code, bytes) in [
        ("published", third.clone()),
        ("bundle_other_of_revision", third),
        ("bundle_older", bundle(2)),
        ("published", bundle(4)),
        ("bundle_other_name", made("other", 5, now_ms(), 1)),
        ("bundle_other_key", made("shop", 5, now_ms(), 2)),
        ("bundle_expired", made("shop", 5, now_ms() - 2 * HOUR_MS, 1)),
        ("bundle_workflow_invalid", bad),
    ] {
        assert_eq!(publish(&bytes), code);
    }
    let listed: Vec<u64> = fleet
        .acme
        .bundles()
        .unwrap()
        .iter()
        .map(|one| one.revision)
        .collect();
    assert_eq!(listed, [4, 3]);
    // Another tenant has none, and takes none of this one's.
    let globex = fleet.server.tenant_in(&fleet.name, "globex");
    assert!(globex.bundles().unwrap().is_empty());
    let foreign = globex.publish_bundle(&bundle(5), &trusted).unwrap_err();
    assert!(matches!(
        foreign,
        PublishError::Refused(BundleRefusal::OtherTenant { .. })
    ));
}

/// A server with the public key 1 for `acme`.
pub(crate) fn serving(fleet: &Fleet<'_>) -> (Served, TempDir) {
    let place = TempDir::new().unwrap();
    keys::write(place.path(), "team", 1);
    let option = format!("acme={}", place.path().join("team.pub").display());
    let words = fleet.server.words(&fleet.name, ROLE);
    let served = Served::start_with(&words, &["--bundle-key", &option]);
    (served, place)
}

pub(crate) fn start(served: &Served, token: &str, body: &Value) -> Reply {
    served.post(token, "/v1/runs", &new_name("k"), body)
}

/// Puts bytes into the table of bundles, as somebody with the database's password can.
pub(crate) fn put(fleet: &Fleet<'_>, revision: u64, bytes: &[u8]) {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let sql = format!(
        "INSERT INTO interlock.bundles (tenant, revision, name, key, digest, body) VALUES \
         ('acme', {revision}, 'shop', 'k', decode(repeat('00', 32), 'hex'), decode('{hex}', 'hex'))"
    );
    fleet.server.sql(&fleet.name, &sql);
}

fn taken_away(fleet: &Fleet<'_>, revision: u64) {
    let sql = format!(
        "SET session_replication_role = replica; DELETE FROM interlock.bundles WHERE revision = {revision}"
    );
    fleet.server.sql(&fleet.name, &sql);
}

#[test]
fn runs_of_a_tenant_with_a_bundle_start_from_it_alone() {
    let Some(fleet) = Fleet::new() else { return };
    let (served, _place) = serving(&fleet);
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ana");
    let from = json!({ "bundle": "fix.yaml" });
    let code = |body: &Value| {
        let reply = start(&served, &ana, body);
        (reply.status, reply.code())
    };
    // There is none yet, and nothing else is started.
    assert_eq!(code(&from), (404, "no_bundle".into()));
    assert_eq!(code(&start_body()), (404, "no_bundle".into()));
    fleet
        .acme
        .publish_bundle(&bundle(1), &[key(1).public()])
        .unwrap();
    let started = start(&served, &ana, &from);
    let path = format!("/v1/runs/{}", started.json()["run"].as_str().unwrap());
    let view = served.get(&ana, &path).json();
    assert_eq!(view["bundle"], started.json()["bundle"]);
    assert_eq!(view["bundle"]["revision"], json!(1));
    assert_eq!(started.status, 200, "{started:?}");
    let used = json!({ "name": "shop", "revision": 1, "file": "fix.yaml", "tightened": false });
    assert_eq!(started.json()["bundle"], used);
    let run = started.json()["run"].as_str().unwrap().to_owned();
    let snapshot = served
        .get(&agent, &format!("/v1/runs/{run}/snapshot"))
        .json();
    assert_eq!(snapshot["pin"]["source_text"], json!(FIX));

    let own = |text: &str| json!({ "bundle": "fix.yaml", "workflow": { "name": "own.yaml", "text": text } });
    let stricter = FIX.replace("[Read, Edit]", "[Read]");
    let started = start(&served, &ana, &own(&stricter));
    assert_eq!(
        started.json()["bundle"]["tightened"],
        json!(true),
        "{started:?}"
    );
    for (expected, body) in [
        ("bundle_required", start_body()),
        ("bundle_no_such_file", json!({ "bundle": "other.yaml" })),
        ("bundle_no_such_file", json!({ "bundle": "../fix.yaml" })),
        ("workflow_looser", own(&FIX.replace("Edit]", "Edit, Bash]"))),
        (
            "workflow_looser",
            own(&FIX.replace(", requires_approval: true", "")),
        ),
        (
            "workflow_not_comparable",
            own(&FIX.replace("    on:", "    env: {A: b}\n    on:")),
        ),
        (
            "workflow_not_comparable",
            own(&FIX.replace("id: fix", "id: free")),
        ),
        ("workflow_invalid", own("id: fix\n")),
    ] {
        assert_eq!(code(&body), (422, expected.into()), "{body}");
    }
    let mut selected = own(&stricter);
    selected["select"] = json!("fix");
    assert_eq!(code(&selected), (400, "bad_request".into()));
    assert_eq!(start(&served, &agent, &from).code(), "forbidden_role");
    // The same key with the same body gives the same run, whatever was published since.
    let first = served.post(&ana, "/v1/runs", "again", &from);
    fleet
        .acme
        .publish_bundle(&bundle(2), &[key(1).public()])
        .unwrap();
    let again = served.post(&ana, "/v1/runs", "again", &from);
    assert!(again.is_repeated() && again.text == first.text);
    assert_eq!(
        start(&served, &ana, &from).json()["bundle"]["revision"],
        json!(2)
    );

    // A server that cannot check the bundle starts nothing for this tenant, and as ever for others.
    for body in [&from, &start_body()] {
        let reply = start(&fleet.served, &ana, body);
        assert_eq!((reply.status, reply.code()), (409, "no_bundle_key".into()));
    }
    let current = fleet.served.get(&ana, "/v1/bundles/current");
    assert_eq!(current.code(), "no_bundle_key");
    let globex = fleet.server.tenant_in(&fleet.name, "globex");
    let eve = token(&globex, Role::Person, "eve");
    assert_eq!(start(&served, &eve, &start_body()).status, 200);
    assert_eq!(start(&served, &eve, &from).code(), "no_bundle_key");
    assert_eq!(
        served.get(&eve, "/v1/bundles/current").code(),
        "no_bundle_key"
    );
    // Everybody in the tenant reads it, to check it.
    let view = served.get(&agent, "/v1/bundles/current").json();
    assert_eq!(
        (&view["name"], &view["revision"]),
        (&json!("shop"), &json!(2))
    );
    assert_eq!(refused(view["bundle"].to_string().as_bytes()), "good");
}

#[test]
fn a_server_keeps_the_last_good_bundle() {
    let Some(fleet) = Fleet::new() else { return };
    let (served, _place) = serving(&fleet);
    let ana = fleet.token(Role::Person, "ana");
    let trusted = [key(1).public()];
    let current = || {
        let view = served.get(&ana, "/v1/bundles/current").json();
        let refused = view["refused"].as_array().cloned().unwrap_or_default();
        let codes: Vec<String> = refused
            .iter()
            .map(|one| one["code"].as_str().unwrap().to_owned())
            .collect();
        (view["revision"].as_u64(), codes)
    };
    fleet.acme.publish_bundle(&bundle(1), &trusted).unwrap();
    fleet.acme.publish_bundle(&bundle(2), &trusted).unwrap();
    assert_eq!(current(), (Some(2), vec![]));
    for (code, bytes) in [
        (
            "bundle_unsigned",
            spoilt(|it| it["envelope"]["signatures"] = json!([])),
        ),
        ("bundle_other_key", made("shop", 3, now_ms(), 2)),
        (
            "bundle_file_changed",
            spoilt(|it| it["files"]["fix.yaml"] = json!("id: x")),
        ),
        (
            "bundle_file_added",
            spoilt(|it| it["files"]["more.yaml"] = json!(FIX)),
        ),
        ("bundle_file_missing", spoilt(|it| it["files"] = json!({}))),
        ("bundle_other_name", made("free", 3, now_ms(), 1)),
        // An older one under a new number.
        ("bundle_older", bundle(1)),
        ("bundle_malformed", b"x".to_vec()),
    ] {
        put(&fleet, 3, &bytes);
        assert_eq!(current(), (Some(2), vec![code.to_owned()]));
        let started = start(&served, &ana, &json!({ "bundle": "fix.yaml" }));
        assert_eq!(
            started.json()["bundle"]["revision"],
            json!(2),
            "{started:?}"
        );
        taken_away(&fleet, 3);
    }
    // The newest is taken away: what was seen is not forgotten.
    taken_away(&fleet, 2);
    assert_eq!(current(), (Some(2), vec!["bundle_older".to_owned()]));
    // Another one with the same revision is none.
    put(&fleet, 2, &made("shop", 2, now_ms() - 1_000, 1));
    assert_eq!(
        current(),
        (Some(2), vec!["bundle_other_of_revision".to_owned()])
    );
    taken_away(&fleet, 2);
    taken_away(&fleet, 1);
    assert_eq!(current(), (Some(2), vec![]));
    // One that has expired is newer than the last good one, which is not used again.
    put(&fleet, 4, &made("shop", 4, now_ms() - 2 * HOUR_MS, 1));
    let reply = served.get(&ana, "/v1/bundles/current");
    assert_eq!((reply.status, reply.code()), (409, "bundle_expired".into()));
    let reply = start(&served, &ana, &json!({ "bundle": "fix.yaml" }));
    assert_eq!((reply.status, reply.code()), (409, "bundle_expired".into()));
    fleet.acme.publish_bundle(&bundle(5), &trusted).unwrap();
    assert_eq!(current(), (Some(5), vec![]));
}
