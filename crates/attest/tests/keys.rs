//! Keys: their text forms, and texts that are not keys.

use interlock_attest::{KeyError, PublicKey, SecretKey, public_keys, read_signature};

use crate::made::key;

/// The first key of RFC 8032, section 7.1.
const SEED: [u8; 32] = [
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
    0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
];

#[test]
fn a_key_signs_as_the_standard_says() {
    let key = SecretKey::from_seed(&SEED).unwrap();
    let signature = key.sign(b"");
    assert_eq!(signature[..4], [0xe5, 0x56, 0x43, 0x00]);
    assert!(key.public().has_signed(b"", &signature));
    assert!(!key.public().has_signed(b"x", &signature));
    assert!(!key.public().has_signed(b"", &signature[..63]));
    // As `openssl pkey` writes it.
    let pem = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";
    assert_eq!(key.public().to_pem(), pem);
    assert_eq!(PublicKey::from_pem(pem).unwrap(), key.public());
}

#[test]
fn a_secret_key_is_read_from_its_text() {
    let text = SecretKey::pem_of_seed(&SEED);
    let read = SecretKey::from_pem(&text).unwrap();
    assert_eq!(read.public(), SecretKey::from_seed(&SEED).unwrap().public());
    let shown = format!("{read:?}");
    assert!(
        shown.contains(&read.public().id()) && shown.len() < 90,
        "{shown}"
    );
}

#[test]
fn what_is_no_key_says_why() {
    let public = key(1).public().to_pem();
    let secret = SecretKey::pem_of_seed(&[1; 32]);
    let p256 = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n";
    for (text, wanted) in [
        ("", KeyError::Missing("PUBLIC KEY")),
        (&*secret, KeyError::Secret),
        ("-----BEGIN PUBLIC KEY-----\nMCow", KeyError::Malformed),
        (&*public.replace("MCow", "M*ow"), KeyError::Malformed),
        (p256, KeyError::OtherKind),
    ] {
        assert_eq!(public_keys(text).unwrap_err(), wanted, "{text}");
    }
    for (text, wanted) in [
        (&*public, KeyError::Missing("PRIVATE KEY")),
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nx\n-----END ENCRYPTED PRIVATE KEY-----\n",
            KeyError::Encrypted,
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            KeyError::OtherKind,
        ),
    ] {
        assert_eq!(SecretKey::from_pem(text).unwrap_err(), wanted, "{text}");
    }
}

#[test]
fn a_file_may_hold_several_public_keys() {
    let text = format!(
        "# ana\n{}# bo\n{}",
        key(1).public().to_pem(),
        key(2).public().to_pem()
    );
    assert_eq!(
        public_keys(&text).unwrap(),
        [key(1).public(), key(2).public()]
    );
    assert_eq!(PublicKey::from_pem(&text).unwrap_err(), KeyError::TooMany);
    let many = key(1).public().to_pem().repeat(65);
    assert_eq!(public_keys(&many).unwrap_err(), KeyError::TooMany);
}

#[test]
fn a_signature_is_printed_as_bytes_or_as_base64_in_lines() {
    let bytes = vec![7; 64];
    let base64 = format!("{}\n{}Bw==\n", "BwcH".repeat(19), "BwcH".repeat(2));
    assert_eq!(base64.len(), 90, "{base64}");
    assert_eq!(read_signature(base64.as_bytes()), read_signature(&bytes));
    for none in [&b""[..], b"AAAA", &[0xff; 63], &[0xff; 88]] {
        assert_eq!(read_signature(none), None, "{none:?}");
    }
}
