//! Which ID tokens are accepted, with keys made for the test.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Map, Value, json};

use super::{
    claims::{Claimed, Proof, nonce_of},
    config::{Entry, SignIn},
    flaw::Flaw,
    jwt::{self, Jwt, Key},
};
use crate::tokens::Role;

const NOW: i64 = 1_796_000_000;
const CONFIG: &str = r#"
[[people]]
tenant = "acme"
issuer = "https://login.example"
client_id = "interlock"
name = "preferred_username"
device = true
require = { hd = "acme.example", active = true }
groups = [
    { claim = "groups", value = "sec", group = "security" },
    { claim = "level", value = 3, group = "seniors" },
]

[[jobs]]
tenant = "acme"
issuer = "https://ci.example"
audience = "interlock"
name = "actor"
minutes = 30
require = { repository = "acme/shop" }
"#;

/// An issuer with a key of each of two kinds.
struct Signer {
    p256: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let p256 = EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).unwrap();
        let made = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ed25519 = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        Self { p256, ed25519 }
    }

    fn set(&self) -> Value {
        let point = self.p256.public_key().as_ref();
        let (x, y) = (point.get(1..33).unwrap(), point.get(33..).unwrap());
        json!({ "keys": [
            { "kty": "EC", "crv": "P-256", "x": jwt::text(x), "y": jwt::text(y), "kid": "p", "alg": "ES256", "use": "sig" },
            { "kty": "OKP", "crv": "Ed25519", "x": jwt::text(self.ed25519.public_key().as_ref()), "kid": "e" },
            { "kty": "oct", "k": "c2VjcmV0", "kid": "s" },
            { "kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB" },
        ] })
    }

    fn keys(&self) -> Vec<Key> {
        jwt::keys(&self.set()).unwrap()
    }

    fn sign(&self, header: &Value, claims: &str) -> String {
        let part = |text: &str| jwt::text(text.as_bytes());
        let signed = format!("{}.{}", part(&header.to_string()), part(claims));
        let signature = if header["alg"] == json!("EdDSA") {
            self.ed25519.sign(signed.as_bytes()).as_ref().to_vec()
        } else {
            let random = SystemRandom::new();
            let signature = self.p256.sign(&random, signed.as_bytes()).unwrap();
            signature.as_ref().to_vec()
        };
        format!("{signed}.{}", jwt::text(&signature))
    }
}

fn header() -> Value {
    json!({ "alg": "ES256", "kid": "p", "typ": "JWT" })
}

fn verified(signer: &Signer, token: &str) -> Result<Map<String, Value>, Flaw> {
    let token = Jwt::parse(token)?;
    token.verify(&signer.keys()).cloned()
}

fn entry(role: Role) -> Entry {
    let config = SignIn::parse(CONFIG).unwrap();
    config
        .entries
        .into_iter()
        .find(|entry| entry.role == role)
        .unwrap()
}

fn of_person() -> Value {
    json!({
        "iss": "https://login.example", "aud": "interlock", "sub": "4711", "iat": NOW - 5, "exp": NOW + 300,
        "nonce": nonce_of("a secret"), "preferred_username": "Ana", "hd": "acme.example", "active": true,
        "groups": ["dev", "sec"], "level": 3,
    })
}

fn check(claims: &Value, role: Role, proof: Proof<'_>) -> Result<Claimed, Flaw> {
    let Value::Object(claims) = claims else {
        panic!("claims are an object");
    };
    Claimed::check(claims, &entry(role), proof, NOW)
}

#[test]
fn only_what_a_published_key_has_signed_is_read() {
    let (signer, other) = (Signer::new(), Signer::new());
    let claims = of_person().to_string();
    let good = signer.sign(&header(), &claims);
    assert_eq!(
        Value::Object(verified(&signer, &good).unwrap()),
        of_person()
    );
    for header in [
        json!({ "alg": "EdDSA", "kid": "e" }),
        // Only one key fits.
        json!({ "alg": "ES256" }),
    ] {
        assert!(verified(&signer, &signer.sign(&header, &claims)).is_ok());
    }
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let none = jwt::text(br#"{"alg":"none"}"#);
    let body = jwt::text(claims.as_bytes());
    let changed = jwt::text(claims.replace("Ana", "Gus").as_bytes());
    let parts: Vec<&str> = good.split('.').collect();
    let twice = claims.replacen('{', r#"{"aud":"other","#, 1);
    for (token, flaw) in [
        (other.sign(&header(), &claims), Flaw::BadSignature),
        (
            format!("{}.{changed}.{signature}", parts[0]),
            Flaw::BadSignature,
        ),
        (format!("{signed}."), Flaw::BadSignature),
        (format!("{none}.{body}."), Flaw::Unsigned),
        (format!("{none}.{body}.{signature}"), Flaw::Unsigned),
        (
            signer.sign(&json!({ "alg": "nOnE", "kid": "p" }), &claims),
            Flaw::Unsigned,
        ),
        // A public key is no secret of a code, whatever the header says.
        (
            signer.sign(&json!({ "alg": "HS256", "kid": "p" }), &claims),
            Flaw::Algorithm,
        ),
        (
            signer.sign(&json!({ "alg": "HS256", "kid": "s" }), &claims),
            Flaw::Algorithm,
        ),
        (
            signer.sign(&json!({ "alg": "EdDSA", "kid": "p" }), &claims),
            Flaw::UnknownKey,
        ),
        (
            signer.sign(&json!({ "alg": "RS256", "kid": "p" }), &claims),
            Flaw::UnknownKey,
        ),
        (
            signer.sign(&json!({ "alg": "ES256", "kid": "q" }), &claims),
            Flaw::UnknownKey,
        ),
        (
            signer.sign(
                &json!({ "alg": "ES256", "kid": "p", "typ": "at+jwt" }),
                &claims,
            ),
            Flaw::OtherKind,
        ),
        (
            signer.sign(
                &json!({ "alg": "ES256", "kid": "p", "crit": ["b64"] }),
                &claims,
            ),
            Flaw::OtherKind,
        ),
        (signer.sign(&json!({ "alg": 1 }), &claims), Flaw::Malformed),
        (signer.sign(&json!({}), &claims), Flaw::Malformed),
        // Another reader may take the other audience.
        (signer.sign(&header(), &twice), Flaw::Malformed),
        (signer.sign(&header(), "[]"), Flaw::Malformed),
        (format!("{good}="), Flaw::Malformed),
        (format!("{good}.x"), Flaw::Malformed),
        (signed.to_owned(), Flaw::Malformed),
        ("a".repeat(20_000), Flaw::Malformed),
        (String::new(), Flaw::Malformed),
    ] {
        assert_eq!(verified(&signer, &token), Err(flaw), "{token}");
    }
    // A token without the id of a key is nobody's if two could have signed it.
    let mut two = signer.keys();
    two.extend(other.keys());
    let unnamed = signer.sign(&json!({ "alg": "ES256" }), &claims);
    let unnamed = Jwt::parse(&unnamed).unwrap();
    assert_eq!(unnamed.verify(&two), Err(Flaw::UnknownKey));
}

#[test]
fn a_key_for_something_else_signs_nothing() {
    let signer = Signer::new();
    let token = signer.sign(&header(), &of_person().to_string());
    let token = Jwt::parse(&token).unwrap();
    for (field, value) in [
        ("use", json!("enc")),
        ("key_ops", json!(["sign"])),
        ("alg", json!("RS256")),
        ("crv", json!("P-384")),
        ("x", json!("AA")),
        ("kid", json!("other")),
    ] {
        let mut set = signer.set();
        set["keys"][0][field] = value;
        let keys = jwt::keys(&set).unwrap();
        assert!(token.verify(&keys).is_err(), "{field}");
    }
    assert_eq!(jwt::keys(&json!({ "keys": {} })), None);
}

#[test]
fn a_person_is_who_the_claims_say() {
    let claimed = check(&of_person(), Role::Person, Proof::Nonce("a secret")).unwrap();
    assert_eq!(
        (claimed.subject.as_str(), claimed.person.as_str()),
        ("ana", "4711")
    );
    assert_eq!(claimed.groups, ["security", "seniors"]);
    let mut device = of_person();
    device.as_object_mut().unwrap().remove("nonce");
    assert!(check(&device, Role::Person, Proof::Device).is_ok());
    for (field, value, flaw) in [
        ("iss", json!("https://login.example/"), Flaw::OtherIssuer),
        ("iss", json!(null), Flaw::Claim("iss".to_owned())),
        ("aud", json!("other"), Flaw::OtherAudience),
        ("aud", json!(["interlock", "other"]), Flaw::OtherAudience),
        ("aud", json!([]), Flaw::OtherAudience),
        ("aud", json!({ "interlock": true }), Flaw::OtherAudience),
        ("azp", json!("other"), Flaw::OtherAudience),
        // An hour ago, or with a clock that is an hour ahead.
        ("exp", json!(NOW - 3_600), Flaw::Expired(3_600)),
        ("iat", json!(NOW + 3_600), Flaw::Early(3_600)),
        ("nbf", json!(NOW + 3_600), Flaw::Early(3_600)),
        ("iat", json!(NOW - 3_600), Flaw::Old(3_600)),
        // What is no time is no missing one.
        ("exp", json!("1896000000"), Flaw::Claim("exp".to_owned())),
        ("nbf", json!("0"), Flaw::Claim("nbf".to_owned())),
        ("nbf", json!(null), Flaw::Claim("nbf".to_owned())),
        ("exp", json!(-1), Flaw::Claim("exp".to_owned())),
        ("exp", json!(1e300), Flaw::Claim("exp".to_owned())),
        ("nonce", json!("a secret"), Flaw::OtherNonce),
        ("nonce", json!(null), Flaw::OtherNonce),
        ("hd", json!("evil.example"), Flaw::Required("hd".to_owned())),
        ("active", json!("true"), Flaw::Required("active".to_owned())),
        ("sub", json!(""), Flaw::Claim("sub".to_owned())),
        ("sub", json!(4711), Flaw::Claim("sub".to_owned())),
        (
            "preferred_username",
            json!("@security"),
            Flaw::Name("preferred_username".to_owned()),
        ),
        (
            "preferred_username",
            json!("agent"),
            Flaw::Name("preferred_username".to_owned()),
        ),
        (
            "preferred_username",
            json!("ana "),
            Flaw::Name("preferred_username".to_owned()),
        ),
        (
            "preferred_username",
            json!("аna"),
            Flaw::Name("preferred_username".to_owned()),
        ),
    ] {
        let mut claims = of_person();
        claims[field] = value;
        let found = check(&claims, Role::Person, Proof::Nonce("a secret"));
        assert_eq!(found, Err(flaw), "{claims}");
    }
    for field in [
        "iss",
        "aud",
        "exp",
        "iat",
        "sub",
        "nonce",
        "hd",
        "preferred_username",
    ] {
        let mut claims = of_person();
        claims.as_object_mut().unwrap().remove(field);
        let found = check(&claims, Role::Person, Proof::Nonce("a secret"));
        assert!(found.is_err(), "{field}");
    }
    // Who has a token with a nonce, and not its secret, has stolen it.
    for proof in [Proof::Nonce("another"), Proof::Device] {
        let found = check(&of_person(), Role::Person, proof);
        assert_eq!(found, Err(Flaw::OtherNonce));
    }
    let mut several = of_person();
    several["aud"] = json!(["interlock", "other"]);
    several["azp"] = json!("interlock");
    assert!(check(&several, Role::Person, Proof::Nonce("a secret")).is_ok());
}

#[test]
fn an_address_counts_as_a_name_only_if_the_issuer_has_verified_it() {
    let mut entry = entry(Role::Person);
    entry.name = "email".to_owned();
    let mut claims = of_person();
    claims["email"] = json!("ana@acme.example");
    for (verified, is_good) in [
        (json!(true), true),
        (json!(false), false),
        (json!("true"), false),
        (json!(null), false),
    ] {
        claims["email_verified"] = verified;
        let fields = claims.as_object().unwrap();
        let found = Claimed::check(fields, &entry, Proof::Nonce("a secret"), NOW);
        assert_eq!(found.is_ok(), is_good, "{claims}");
    }
}

#[test]
fn a_job_is_one_of_the_required_repository() {
    let job = json!({
        "iss": "https://ci.example", "aud": "interlock", "sub": "repo:acme/shop:ref:refs/heads/main",
        "iat": NOW - 1_800, "exp": NOW + 60, "jti": "j1", "actor": "ben", "repository": "acme/shop",
    });
    let claimed = check(&job, Role::Worker, Proof::Job).unwrap();
    assert_eq!(claimed.token_id.as_deref(), Some("j1"));
    for (field, value) in [
        ("repository", json!("eve/shop")),
        ("repository", json!(null)),
        ("jti", json!(1)),
        ("exp", json!(NOW - 61)),
        ("aud", json!("sts.example")),
        ("nonce", json!("n")),
    ] {
        let mut other = job.clone();
        other[field] = value;
        assert!(check(&other, Role::Worker, Proof::Job).is_err(), "{other}");
    }
    // A job is no person, and a person no job.
    assert!(check(&job, Role::Person, Proof::Device).is_err());
    assert!(check(&of_person(), Role::Worker, Proof::Job).is_err());
}

#[test]
fn a_configuration_that_trusts_too_much_is_refused() {
    let people =
        "[[people]]\ntenant = \"acme\"\nissuer = \"https://a.example\"\nclient_id = \"i\"\n";
    let jobs = "[[jobs]]\ntenant = \"acme\"\nissuer = \"https://a.example\"\naudience = \"i\"\nname = \"actor\"\n";
    assert!(SignIn::parse(people).is_ok());
    assert!(SignIn::parse(&format!("{jobs}require = {{ repository = \"a/b\" }}")).is_ok());
    for (text, said) in [
        (jobs.to_owned(), "missing field `require`"),
        (format!("{jobs}require = {{}}"), "only your own jobs"),
        (
            format!("{jobs}minutes = 61\nrequire = {{ a = 1 }}"),
            "1 to 60",
        ),
        (format!("{people}minutes = 1441"), "1 to 1440"),
        (format!("{people}minutes = 0"), "1 to 1440"),
        (format!("{people}scope = \"email\""), "`openid`"),
        (format!("{people}clientid = 1"), "unknown field `clientid`"),
        (people.replace("https", "http"), "no issuer"),
        (people.replace("acme", "Acme"), "cannot name a tenant"),
        (people.replace("\"i\"", "\"\""), "empty"),
        (
            format!("{people}groups = [{{ claim = \"g\", value = \"v\", group = \"A\" }}]"),
            "cannot name a group",
        ),
    ] {
        let error = SignIn::parse(&text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}
