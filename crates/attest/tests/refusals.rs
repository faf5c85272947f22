//! Attestations that are forged, replayed, foreign, expired or modified, each with its code and message.

use interlock_attest::{BYTES_MAX, Envelope, Signature, Statement, verify};

use crate::made::{COMMIT, MACHINE, NOW_MS, expected, key, names, statement, unsigned};

/// Checks that an attestation is refused with a code and words of its message.
#[track_caller]
fn check(bytes: impl AsRef<[u8]>, code: &str, says: &str) {
    let refused = verify(bytes.as_ref(), &[key(1).public()], &expected(&[])).unwrap_err();
    assert_eq!(refused.code(), code, "{refused}");
    assert!(refused.to_string().contains(says), "{refused}");
}

/// Signs a statement after changing it.
fn changed(change: impl FnOnce(&mut Statement)) -> String {
    let mut one = statement();
    change(&mut one);
    unsigned(&one).signed(&key(1)).to_json()
}

/// Signs a payload after replacing a part of its text.
fn replaced(from: &str, to: &str) -> String {
    let text = serde_json::to_string(&statement()).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    Envelope::of_statement(text.replace(from, to).into_bytes())
        .signed(&key(1))
        .to_json()
}

#[test]
fn what_is_no_envelope_is_refused() {
    check("", "not_json", "the file is not JSON");
    check("{}", "not_an_envelope", "`signatures` is missing");
    check(
        r#"{"signatures":[]}"#,
        "not_an_envelope",
        "`payloadType` is missing",
    );
    check(
        r#"{"payloadType":"x","payload":"***","signatures":[]}"#,
        "not_an_envelope",
        "`payload` is not Base64",
    );
    check(vec![b' '; BYTES_MAX + 1], "too_large", "bytes");
    check(
        r#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.9+json"}"#,
        "not_an_envelope",
        "v0.9",
    );
    check(
        r#"{"mediaType":"text/plain"}"#,
        "not_an_envelope",
        "`mediaType`",
    );
    let many = Signature {
        key: key(1).public().id(),
        bytes: vec![0; 64],
    };
    let mut envelope = unsigned(&statement());
    envelope.signatures = vec![many; 17];
    check(envelope.to_json(), "too_many_signatures", "17 signatures");
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    let good = unsigned(&statement()).signed(&key(1)).to_json();
    let twice = good.replacen('{', r#"{"payloadType":"x","#, 1);
    check(
        twice,
        "duplicate_key",
        "the file has the key `/payloadType` twice",
    );
    let twice = replaced(
        r#""status":"completed""#,
        r#""status":"failed","status":"completed""#,
    );
    check(
        twice,
        "duplicate_key",
        "the signed payload has the key `/predicate/run/status` twice",
    );
}

#[test]
fn a_signature_must_be_there_fit_and_be_trusted() {
    let envelope = unsigned(&statement());
    check(envelope.to_json(), "unsigned", "not signed");
    let foreign = envelope.clone().signed(&key(2));
    check(foreign.to_json(), "unknown_key", &key(2).public().id());
    // With the id of the trusted key.
    let mut forged = foreign.clone();
    forged.signatures[0].key = key(1).public().id();
    check(forged.to_json(), "wrong_signature", "changed or forged");
    let mut nameless = envelope.clone().signed(&key(1));
    nameless.signatures[0].key = String::new();
    check(nameless.to_json(), "unknown_key", "a key without id");
    // A signature over the payload alone is not valid for the envelope.
    let mut bare = envelope.clone();
    bare.signatures.push(Signature {
        key: key(1).public().id(),
        bytes: key(1).sign(&envelope.payload),
    });
    check(bare.to_json(), "wrong_signature", &key(1).public().id());
    // The signature of one statement on another.
    let mut moved = unsigned(&Statement {
        predicate_type: "x".to_owned(),
        ..statement()
    });
    moved.signatures = envelope.signed(&key(1)).signatures;
    check(moved.to_json(), "wrong_signature", "changed or forged");
}

#[test]
fn of_several_signatures_one_that_is_trusted_suffices_and_none_may_be_forged() {
    let both = unsigned(&statement()).signed(&key(2)).signed(&key(1));
    let found = verify(
        both.to_json().as_bytes(),
        &[key(1).public()],
        &expected(&[]),
    )
    .unwrap();
    assert_eq!(found.keys, [key(1).public()]);
    let mut broken = both;
    broken.signatures.push(Signature {
        key: key(1).public().id(),
        bytes: vec![1; 64],
    });
    check(broken.to_json(), "wrong_signature", &key(1).public().id());
}

#[test]
fn another_type_is_refused_whoever_signed_it() {
    let mut other = unsigned(&statement());
    other.payload_type = "application/json".to_owned();
    check(
        other.signed(&key(1)).to_json(),
        "payload_type",
        "application/json",
    );
    let kind = changed(|one| one.kind = "https://in-toto.io/Statement/v0.1".to_owned());
    check(kind, "statement_type", "v0.1");
    let newer = replaced("/attestation/run/v1", "/attestation/run/v2");
    check(newer, "unknown_version", "version `v2`");
    let slsa = changed(|one| one.predicate_type = "https://slsa.dev/provenance/v1".to_owned());
    check(slsa, "predicate_type", "slsa.dev");
    check(
        replaced(r#""events":12"#, r#""events":-1"#),
        "malformed",
        "malformed",
    );
    check(replaced(r#""log":"#, r#""lug":"#), "malformed", "`log`");
}

#[test]
fn what_is_about_something_else_is_foreign() {
    let other = "1".repeat(40);
    let replayed = changed(|one| one.subject[0].digest.git_commit = Some(other.clone()));
    check(
        replayed,
        "other_commit",
        &format!("for commit {other}, not for {COMMIT}"),
    );
    let tree = changed(|one| one.subject[1].digest.git_tree = Some(other.clone()));
    check(tree, "other_tree", &other);
    let two = changed(|one| one.subject.push(one.subject[0].clone()));
    check(two, "malformed", "exactly one commit");
    let none = changed(|one| one.subject.truncate(1));
    check(none, "malformed", "exactly one tree");
    let fork = changed(|one| one.predicate.repository = Some("github.com/eve/shop".to_owned()));
    check(
        fork,
        "other_repository",
        "`github.com/eve/shop`, not in `github.com/acme/shop`",
    );
    let nowhere = changed(|one| one.predicate.repository = None);
    check(nowhere, "other_repository", "without `origin`");
    let looser = changed(|one| {
        one.predicate.workflow.machine.sha256 = Some("ff".to_owned());
        one.predicate.workflow.file.digest.sha256 = Some("ee".to_owned());
    });
    check(
        looser,
        "other_workflow",
        "`flow` (flow.yaml), whose text was another",
    );
    let compiled = changed(|one| one.predicate.workflow.machine.sha256 = Some("ff".to_owned()));
    check(compiled, "other_workflow", "the file is the same");
    assert_ne!(MACHINE, "ff");
}

#[test]
fn time_bounds_both_ends() {
    let good = unsigned(&statement()).signed(&key(1)).to_json();
    let at = |now_ms: u64| {
        let mut expected = expected(&[]);
        expected.now_ms = now_ms;
        verify(good.as_bytes(), &[key(1).public()], &expected).map_err(|refused| refused.code())
    };
    let expires = NOW_MS + 60_000;
    assert!(at(expires - 1).is_ok());
    assert_eq!(at(expires).unwrap_err(), "expired");
    let issued = NOW_MS - 1_000;
    assert!(at(issued - 300_000).is_ok());
    assert_eq!(at(issued - 300_001).unwrap_err(), "not_yet_valid");
    let never = changed(|one| one.predicate.expires_at = "never".to_owned());
    check(never, "malformed", "`expiresAt` is not a time");
}

#[test]
fn a_bundle_is_checked_as_its_envelope_is() {
    let envelope = unsigned(&statement()).signed(&key(1));
    let require = names(&["approved"]);
    let bundle = envelope.to_bundle();
    verify(bundle.as_bytes(), &[key(1).public()], &expected(&require)).unwrap();
    let refused = verify(bundle.as_bytes(), &[key(2).public()], &expected(&require));
    assert_eq!(refused.unwrap_err().code(), "unknown_key");
}
