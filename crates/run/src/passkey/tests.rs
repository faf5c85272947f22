#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use super::*;

fn ids() -> (RunId, ApprovalId, Digest) {
    (
        RunId::new("01run"),
        ApprovalId::of(7),
        Digest::new("d".repeat(64)),
    )
}

/// Checks an assertion that is changed before, or read for another statement.
fn checked(
    change: impl FnOnce(&mut PasskeyAssertion),
    other: impl FnOnce(&mut (RunId, ApprovalId, Digest)),
) -> Result<(), Flaw> {
    let mut ids = ids();
    let mut assertion = PasskeyAssertion::unsigned(said(&ids, Some("well")), 9, Object::new());
    change(&mut assertion);
    other(&mut ids);
    assertion.check(said(&ids, Some("well")))
}

fn said<'a>(ids: &'a (RunId, ApprovalId, Digest), note: Option<&'a str>) -> Statement<'a> {
    Statement {
        run: &ids.0,
        request: &ids.1,
        question: &ids.2,
        note,
    }
}

fn changed(change: impl FnOnce(&mut PasskeyAssertion)) -> Flaw {
    checked(change, |_| ()).unwrap_err()
}

fn in_client_data(field: &str, value: Value) -> Flaw {
    changed(|assertion| {
        let mut said: Object = serde_json::from_str(&assertion.client_data).unwrap();
        said.insert(field.to_owned(), value);
        assertion.client_data = Value::Object(said).to_string();
    })
}

fn in_authenticator_data(at: usize, byte: u8) -> Result<(), Flaw> {
    checked(
        |assertion| {
            let mut bytes = unhex(&assertion.authenticator_data).unwrap();
            *bytes.get_mut(at).unwrap() = byte;
            assertion.authenticator_data = hex(&bytes);
        },
        |_| (),
    )
}

#[test]
fn an_assertion_is_for_one_answer() {
    assert_eq!(checked(|_| (), |_| ()), Ok(()));
    let other = Err(Flaw::OtherAnswer);
    assert_eq!(checked(|_| (), |ids| ids.0 = RunId::new("02run")), other);
    assert_eq!(checked(|_| (), |ids| ids.1 = ApprovalId::of(8)), other);
    assert_eq!(
        checked(|_| (), |ids| ids.2 = Digest::new("e".repeat(64))),
        other
    );
    assert_eq!(changed(|made| made.seq = 10), Flaw::OtherAnswer);
    assert_eq!(
        changed(|made| made.nonce = "00".to_owned()),
        Flaw::OtherAnswer
    );
    let corrected = |made: &mut PasskeyAssertion| {
        made.data.insert("version".to_owned(), json!("2"));
    };
    assert_eq!(changed(corrected), Flaw::OtherAnswer);
    let ids = ids();
    let made = PasskeyAssertion::unsigned(said(&ids, None), 9, Object::new());
    assert_eq!(made.check(said(&ids, Some("well"))), other);
}

#[test]
fn data_is_the_same_in_any_order() {
    let ids = ids();
    let data = |text: &str| serde_json::from_str::<Object>(text).unwrap();
    let mut made = PasskeyAssertion::unsigned(said(&ids, None), 9, data(r#"{"a":1,"b":2}"#));
    made.data = data(r#"{"b":2,"a":1}"#);
    assert_eq!(made.check(said(&ids, None)), Ok(()));
}

#[test]
fn it_was_made_on_the_consoles_own_page() {
    for origin in [
        "http://localhost:2",
        "https://localhost:1",
        "http://localhost",
        "http://localhost:",
        "http://localhost:0",
        "http://localhost:02",
        "http://localhost:+2",
        "http://localhost:65536",
        "http://localhost:2/",
        "http://localhost:2@evil.example",
        "http://evil.example:1",
        "http://127.0.0.1:1",
    ] {
        assert_eq!(
            in_client_data("origin", json!(origin)),
            Flaw::OtherOrigin,
            "{origin}"
        );
        // Also where whoever sends it claims that page.
        let claimed = checked(
            |made| {
                made.client_data = made.client_data.replace("http://localhost:1", origin);
                made.origin = origin.to_owned();
            },
            |_| (),
        );
        let is_console = origin == "http://localhost:2";
        assert_eq!(claimed.is_ok(), is_console, "{origin}");
    }
    assert_eq!(
        in_client_data("crossOrigin", json!(true)),
        Flaw::OtherOrigin
    );
    assert_eq!(
        in_client_data("topOrigin", json!("http://evil.example")),
        Flaw::OtherOrigin
    );
    assert_eq!(
        in_client_data("type", json!("webauthn.create")),
        Flaw::OtherKind
    );
    assert_eq!(
        changed(|made| made.client_data = "{".to_owned()),
        Flaw::Malformed
    );
}

#[test]
fn a_verified_person_touched_an_authenticator_of_this_machine() {
    assert_eq!(in_authenticator_data(32, 0x05), Ok(()));
    assert_eq!(in_authenticator_data(32, 0x04), Err(Flaw::NotPresent));
    assert_eq!(in_authenticator_data(32, 0x01), Err(Flaw::NotVerified));
    assert_eq!(in_authenticator_data(0, 0), Err(Flaw::OtherSite));
    let cut = changed(|made| {
        made.authenticator_data.truncate(72);
    });
    assert_eq!(cut, Flaw::Malformed);
}

#[test]
fn what_is_too_long_or_no_hex_is_malformed() {
    let long = "a".repeat(FIELD_BYTES_MAX + 2);
    assert_eq!(changed(|made| made.signature = long), Flaw::Malformed);
    assert_eq!(
        changed(|made| made.authenticator_data = "zz".to_owned()),
        Flaw::Malformed
    );
    let much = json!("a".repeat(DATA_BYTES_MAX));
    assert_eq!(
        changed(|made| drop(made.data.insert("a".to_owned(), much))),
        Flaw::Malformed
    );
}

#[test]
fn bytes_are_written_as_browsers_do() {
    for (bytes, text) in [
        (&b""[..], ""),
        (b"f", "Zg"),
        (b"fo", "Zm8"),
        (b"foo", "Zm9v"),
        (b"foob", "Zm9vYg"),
        (&[0xfb, 0xff, 0xbf], "-_-_"),
    ] {
        assert_eq!(base64url(bytes), text);
    }
    assert_eq!(unhex("00ff"), Some(vec![0, 255]));
    assert_eq!((unhex("0"), unhex("0F")), (None, None));
}
