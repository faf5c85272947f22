//! Properties of envelopes: reading restores what was written, and a change of any byte is detected.

use interlock_attest::{Envelope, Signature, pae, verify};
use proptest::prelude::*;

use crate::made::{expected, key, names, statement, unsigned};

proptest! {
    #[test]
    fn an_envelope_is_read_as_it_was_written(
        payload_type in "[ -~é]{0,40}",
        payload in prop::collection::vec(any::<u8>(), 0..200),
        signatures in prop::collection::vec(("[ -~]{0,20}", prop::collection::vec(any::<u8>(), 0..80)), 0..4),
    ) {
        let signatures = signatures.into_iter().map(|(key, bytes)| Signature { key, bytes }).collect();
        let envelope = Envelope { payload_type, payload, signatures };
        prop_assert_eq!(Envelope::read(envelope.to_json().as_bytes()).unwrap(), envelope.clone());
        prop_assert_eq!(Envelope::read(envelope.to_bundle().as_bytes()).unwrap(), envelope);
    }

    #[test]
    fn no_two_payloads_are_signed_as_the_same_bytes(
        one in ("[a-z0-9 ]{0,6}", "[a-z0-9 ]{0,12}"),
        other in ("[a-z0-9 ]{0,6}", "[a-z0-9 ]{0,12}"),
    ) {
        let signed = |(kind, payload): &(String, String)| pae(kind, payload.as_bytes());
        prop_assert_eq!(signed(&one) == signed(&other), one == other);
    }

    #[test]
    fn bytes_by_chance_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let trusted = [key(1).public()];
        prop_assert!(verify(&bytes, &trusted, &expected(&[])).is_err());
    }
}

#[test]
fn every_byte_of_an_envelope_counts() {
    let trusted = [key(1).public()];
    let require = names(&["tests_passed", "approved", "completed"]);
    let good = unsigned(&statement())
        .signed(&key(1))
        .to_json()
        .into_bytes();
    verify(&good, &trusted, &expected(&require)).unwrap();
    for at in 0..good.len() {
        // Every single bit, and bytes that JSON and Base64 treat specially.
        let bits = (0..8).map(|bit| good[at] ^ 1 << bit);
        let special = *b" \n\\\"/+-_=,:{}[]";
        // Every fourth byte becomes each of these.
        let special = special.into_iter().filter(|_| at % 4 == 0);
        for byte in bits.chain(special) {
            let mut changed = good.clone();
            if changed[at] == byte {
                continue;
            }
            changed[at] = byte;
            let found = verify(&changed, &trusted, &expected(&require));
            assert!(found.is_err(), "byte {at} as {byte:#04x} is accepted");
        }
    }
}

#[test]
fn every_beginning_of_an_envelope_is_refused() {
    let trusted = [key(1).public()];
    let good = unsigned(&statement())
        .signed(&key(1))
        .to_json()
        .into_bytes();
    for length in 0..good.len() {
        assert!(
            verify(&good[..length], &trusted, &expected(&[])).is_err(),
            "{length} bytes"
        );
    }
}
