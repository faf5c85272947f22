#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::{
    event::{ApprovalKind, Event, RequestKind},
    machine::Object,
    names::{ApprovalId, Digest, FramePath, RunId},
    passkey::base64url,
};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};

use super::*;

const ORIGIN: &str = "http://localhost:4040";

/// An authenticator with one key.
enum Authenticator {
    Es256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Authenticator {
    fn es256() -> Self {
        let (kind, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self::Es256(EcdsaKeyPair::from_pkcs8(kind, made.as_ref(), &random).unwrap())
    }

    fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap())
    }

    /// Returns its public key as a COSE key.
    fn key(&self) -> Vec<u8> {
        match self {
            Self::Es256(pair) => {
                let (x, y) = pair.public_key().as_ref().split_at(1).1.split_at(32);
                let head = [0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32];
                [&head, x, &[0x22, 0x58, 32], y].concat()
            }
            Self::Ed25519(pair) => {
                let head = [0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32];
                [&head, pair.public_key().as_ref()].concat()
            }
        }
    }

    fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Es256(pair) => pair
                .sign(&SystemRandom::new(), bytes)
                .unwrap()
                .as_ref()
                .to_vec(),
            Self::Ed25519(pair) => pair.sign(bytes).as_ref().to_vec(),
        }
    }

    /// Returns a valid assertion of a yes to `said`.
    fn assert(&self, said: Statement<'_>, counter: u32) -> PasskeyAssertion {
        let mut made = PasskeyAssertion::unsigned(said, 9, Object::new());
        made.public_key = hex(&self.key());
        let mut data = unhex(&made.authenticator_data).unwrap();
        data.truncate(33);
        data.extend(counter.to_be_bytes());
        made.authenticator_data = hex(&data);
        let signed = [data, Sha256::digest(made.client_data.as_bytes()).to_vec()].concat();
        made.signature = hex(&self.sign(&signed));
        made
    }

    /// Returns its authenticator data for a new key.
    fn registration(&self, flags: u8) -> Vec<u8> {
        let site = Sha256::digest(b"localhost");
        let head = [
            &site[..],
            &[flags, 0, 0, 0, 3],
            &[0; 16],
            &[0, 4],
            b"\x01\x02\x03\x04",
        ];
        [head.concat(), self.key()].concat()
    }
}

struct Ids(RunId, ApprovalId, Digest);

fn ids() -> Ids {
    Ids(
        RunId::new("01run"),
        ApprovalId::of(7),
        Digest::new("d".repeat(64)),
    )
}

impl Ids {
    fn said(&self) -> Statement<'_> {
        Statement {
            run: &self.0,
            request: &self.1,
            question: &self.2,
            note: None,
        }
    }
}

#[test]
fn a_signature_is_the_keys_over_all_that_was_said() {
    let ids = ids();
    for authenticator in [Authenticator::es256(), Authenticator::ed25519()] {
        let good = authenticator.assert(ids.said(), 5);
        assert_eq!(verify(&good, ids.said()), Ok(5));
        let changed = |change: &dyn Fn(&mut PasskeyAssertion)| {
            let mut made = good.clone();
            change(&mut made);
            verify(&made, ids.said())
        };
        let flip = |text: &mut String| {
            let last = text.pop().unwrap();
            text.push(if last == '0' { '1' } else { '0' });
        };
        let signature = Err(Flaw::Signature);
        assert_eq!(changed(&|made| flip(&mut made.signature)), signature);
        // The counter is signed.
        assert_eq!(
            changed(&|made| flip(&mut made.authenticator_data)),
            signature
        );
        assert_eq!(changed(&|made| made.client_data.insert(1, ' ')), signature);
        let other = hex(&Authenticator::es256().key());
        assert_eq!(
            changed(&|made| made.public_key.clone_from(&other)),
            signature
        );
        let unsigned = PasskeyAssertion::unsigned(ids.said(), 9, Object::new());
        assert_eq!(verify(&unsigned, ids.said()), Err(Flaw::UnknownKey));
        let unknown = changed(&|made| made.public_key.push_str("00"));
        assert_eq!(unknown, Err(Flaw::UnknownKey));
    }
}

fn client_data(challenge: &[u8; 32], origin: &str) -> String {
    json!({
        "type": "webauthn.create",
        "challenge": base64url(challenge),
        "origin": origin,
    })
    .to_string()
}

#[test]
fn a_new_passkey_is_read_whole_or_not_at_all() {
    let challenge = [3; 32];
    let text = client_data(&challenge, ORIGIN);
    for (authenticator, kind) in [
        (Authenticator::es256(), KeyKind::Es256),
        (Authenticator::ed25519(), KeyKind::Ed25519),
    ] {
        let read = |bytes: &[u8]| enrol(&text, bytes, &challenge, ORIGIN);
        let whole = authenticator.registration(0x45);
        let made = read(&whole).unwrap();
        assert_eq!((made.kind, made.counter), (kind, 3));
        assert_eq!(made.credential, "01020304");
        assert_eq!(made.public_key, hex(&authenticator.key()));
        for length in 0..whole.len() {
            read(whole.get(..length).unwrap()).unwrap_err();
        }
        let more = [whole.clone(), vec![0xa0]].concat();
        assert_eq!(read(&more), Err(Flaw::Malformed));
        let mut extended = more;
        *extended.get_mut(32).unwrap() = 0xc5;
        read(&extended).unwrap();
        for (flags, flaw) in [
            (0x41, Flaw::NotVerified),
            (0x44, Flaw::NotPresent),
            (0x05, Flaw::Malformed),
        ] {
            assert_eq!(read(&authenticator.registration(flags)), Err(flaw));
        }
        let elsewhere = enrol(&text, &whole, &challenge, "http://localhost:4041");
        assert_eq!(elsewhere, Err(Flaw::OtherOrigin));
        let later = enrol(&text, &whole, &[4; 32], ORIGIN);
        assert_eq!(later, Err(Flaw::OtherAnswer));
    }
}

/// Checks the events of a request that requires a passkey and of its answer; returns the number of signed answers.
fn log(passkey: Option<PasskeyAssertion>, yes: bool, opened: Digest) -> Result<u64, BrokenAnswer> {
    let ids = ids();
    let about = json!({"entry": {"message": "may it begin?"}});
    let events = [
        Event::RequestOpened {
            path: FramePath::root(),
            about: serde_json::from_value::<interlock_core::event::About>(about).unwrap(),
            question: opened,
            prompt: None,
            approval: ApprovalKind::Passkey,
            at_ms: 0,
        },
        Event::RequestAnswered {
            path: FramePath::root(),
            id: ids.1.clone(),
            about: RequestKind::Entry,
            question: ids.2.clone(),
            yes,
            by: "ana".to_owned(),
            note: None,
            passkey: passkey.map(Box::new),
            votes: None,
            at_ms: 1,
        },
    ];
    let mut check = LogCheck::new(ids.0);
    let mut signed = 0;
    for (seq, event) in (7..).zip(&events) {
        // As it is read from the log.
        let written: Value = serde_json::to_value(event).unwrap();
        let read: Event = serde_json::from_value(written).unwrap();
        signed += u64::from(check.look(seq, &read)?.is_some());
    }
    Ok(signed)
}

#[test]
fn a_log_holds_no_yes_that_lacks_its_assertion() {
    let (ids, authenticator) = (ids(), Authenticator::es256());
    let good = authenticator.assert(ids.said(), 5);
    assert_eq!(log(Some(good.clone()), true, ids.2.clone()), Ok(1));
    assert_eq!(log(None, false, ids.2.clone()), Ok(0));
    let why = |result: Result<u64, BrokenAnswer>| result.unwrap_err().why;
    assert_eq!(why(log(None, true, ids.2.clone())), None);
    let mut changed = good.clone();
    changed.seq = 10;
    let other = Some(Flaw::OtherAnswer);
    assert_eq!(why(log(Some(changed), true, ids.2.clone())), other);
    let mut unsigned = good.clone();
    unsigned.signature.clear();
    let found = why(log(Some(unsigned), true, ids.2.clone()));
    assert_eq!(found, Some(Flaw::Signature));
    // A no has no assertion, and the question must be the one that was asked.
    assert_eq!(why(log(Some(good.clone()), false, ids.2.clone())), other);
    let elsewhere = Digest::new("e".repeat(64));
    assert_eq!(why(log(Some(good), true, elsewhere)), other);
}
