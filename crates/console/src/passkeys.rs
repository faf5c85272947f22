//! The person's passkeys: issues challenges, and verifies the responses.
//!
//! INVARIANT: a nonce is made here, for one answer or one new passkey, and is used once. A response to it counts for
//! that alone, whoever sends it.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use interlock_core::{
    machine::Object,
    names::{ApprovalId, Digest, RunId},
    passkey::{Flaw, PasskeyAssertion, Statement, base64url, hex},
};
use interlock_passkeys::{NewPasskey, enrol, verify};
use interlock_store::{Enrolled, Home, Passkey, Used};

use crate::reply::Problem;

/// Maximum number of pending challenges; the oldest are dropped.
const WAITING_MAX: usize = 32;
/// Time for which a challenge is valid.
const WAIT_MAX: Duration = Duration::from_secs(5 * 60);
/// Maximum length in bytes of a field from a browser.
const FIELD_BYTES_MAX: usize = 4_096;

/// A passkey that a person at the terminal wants to enrol.
pub struct Enrolment {
    /// The name that the person chose.
    pub name: String,
    /// Called with the result, in a sentence.
    pub done: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Enrolment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enrolment")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A yes to be signed by a passkey.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Yes {
    pub(crate) run: RunId,
    pub(crate) request: String,
    pub(crate) digest: String,
    pub(crate) seen_seq: u64,
    pub(crate) note: Option<String>,
    pub(crate) data: Object,
}

#[derive(Debug)]
enum Purpose {
    Yes(Yes),
    Passkey,
}

#[derive(Debug)]
struct Waiting {
    nonce: String,
    since: Instant,
    wanted: Purpose,
}

/// The pending challenges.
#[derive(Debug, Default)]
pub(crate) struct Challenges {
    waiting: Mutex<VecDeque<Waiting>>,
}

/// A browser's response with a signature of a passkey.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signed {
    nonce: String,
    /// The id of the passkey, in base64url.
    credential: String,
    client_data: String,
    /// In base64url, like the signature.
    authenticator_data: String,
    signature: String,
}

/// A browser's response with a new passkey.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Made {
    nonce: String,
    client_data: String,
    /// In base64url.
    authenticator_data: String,
}

impl Challenges {
    /// Issues a challenge for a yes; returns its nonce, and the challenge in base64url.
    pub(crate) fn ask(&self, yes: Yes) -> Result<(String, String), Problem> {
        let nonce = crate::pairing::random_hex::<32>()?;
        let challenge = unsigned(&yes, &nonce).challenge(said(&yes, &ids(&yes)));
        self.keep(&nonce, Purpose::Yes(yes));
        Ok((nonce, base64url(&challenge)))
    }

    /// Issues a challenge for a new passkey; returns its nonce.
    fn ask_new(&self) -> Result<String, Problem> {
        let nonce = crate::pairing::random_hex::<32>()?;
        self.keep(&nonce, Purpose::Passkey);
        Ok(nonce)
    }

    fn keep(&self, nonce: &str, wanted: Purpose) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|one| one.since.elapsed() < WAIT_MAX);
        while waiting.len() >= WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(Waiting {
            nonce: nonce.to_owned(),
            since: Instant::now(),
            wanted,
        });
    }

    /// Removes and returns the subject of a challenge, so that its nonce is used only once.
    fn take(&self, nonce: &str) -> Option<Purpose> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|one| one.since.elapsed() < WAIT_MAX);
        let at = waiting.iter().position(|one| one.nonce == nonce)?;
        waiting.remove(at).map(|one| one.wanted)
    }
}

type Ids = (ApprovalId, Digest);

fn ids(yes: &Yes) -> Ids {
    (
        ApprovalId::from(yes.request.as_str()),
        Digest::new(yes.digest.clone()),
    )
}

fn said<'a>(yes: &'a Yes, (request, question): &'a Ids) -> Statement<'a> {
    Statement {
        run: &yes.run,
        request,
        question,
        note: yes.note.as_deref(),
    }
}

/// Returns the unsigned assertion of a yes; the challenge depends on no other field.
fn unsigned(yes: &Yes, nonce: &str) -> PasskeyAssertion {
    PasskeyAssertion {
        credential: String::new(),
        name: String::new(),
        public_key: String::new(),
        origin: String::new(),
        seq: yes.seen_seq,
        nonce: nonce.to_owned(),
        data: yes.data.clone(),
        client_data: String::new(),
        authenticator_data: String::new(),
        signature: String::new(),
    }
}

/// Returns the assertion of a yes after verifying its signature.
///
/// # Errors The challenge was not issued for this yes, the passkey is not enrolled, or the assertion is invalid.
pub(crate) fn sign(
    challenges: &Challenges,
    home: &Home,
    (port, now_ms): (u16, u64),
    yes: &Yes,
    signed: Signed,
) -> Result<PasskeyAssertion, Problem> {
    match challenges.take(&signed.nonce) {
        Some(Purpose::Yes(asked)) if asked == *yes => {}
        _ => {
            return Err(refused(
                "the passkey was not asked for this answer, or long ago: answer again",
            ));
        }
    }
    let credential = hex(&bytes(&signed.credential)?);
    let known = home.passkeys()?;
    let Some(passkey) = known.into_iter().find(|one| one.credential == credential) else {
        return Err(refused(
            "this passkey is not enrolled: `interlock passkey list` shows those that are",
        ));
    };
    let assertion = PasskeyAssertion {
        credential,
        name: passkey.name,
        public_key: passkey.public_key,
        origin: origin(port),
        client_data: signed.client_data,
        authenticator_data: hex(&bytes(&signed.authenticator_data)?),
        signature: hex(&bytes(&signed.signature)?),
        ..unsigned(yes, &signed.nonce)
    };
    let counter = verify(&assertion, said(yes, &ids(yes))).map_err(flawed)?;
    let (credential, key) = (&assertion.credential, &assertion.public_key);
    match home.use_passkey(credential, key, counter, now_ms)? {
        Used::Noted => Ok(assertion),
        Used::Unknown => Err(refused("this passkey was removed just now")),
        Used::CountsBack => Err(refused(
            "the passkey's counter has not gone on: its key may have been copied, or this is an old assertion",
        )),
    }
}

/// The parameters for a browser to create a passkey.
pub(crate) struct Creation {
    pub(crate) nonce: String,
    /// In base64url, like the person's id and the ids of their passkeys.
    pub(crate) challenge: String,
    pub(crate) person: String,
    pub(crate) known: Vec<String>,
}

/// Begins the enrolment of a passkey.
pub(crate) fn begin_enrolment(
    challenges: &Challenges,
    home: &Home,
    person: &str,
) -> Result<Creation, Problem> {
    may_enrol(home)?;
    let nonce = challenges.ask_new()?;
    let known = home.passkeys()?;
    Ok(Creation {
        challenge: base64url(&new_challenge(&nonce)),
        nonce,
        person: base64url(person.as_bytes()),
        known: known.iter().filter_map(id_of).collect(),
    })
}

/// Enrols a passkey that a page has created; returns the result in a sentence.
pub(crate) fn enrol_made(
    challenges: &Challenges,
    home: &Home,
    (port, now_ms): (u16, u64),
    name: &str,
    made: &Made,
) -> Result<String, Problem> {
    may_enrol(home)?;
    let Some(Purpose::Passkey) = challenges.take(&made.nonce) else {
        return Err(refused("no passkey was asked for, or long ago: try again"));
    };
    let data = bytes(&made.authenticator_data)?;
    let challenge = new_challenge(&made.nonce);
    let new = enrol(&made.client_data, &data, &challenge, &origin(port)).map_err(flawed)?;
    let NewPasskey {
        credential,
        public_key,
        kind,
        counter,
    } = new;
    let passkey = Passkey {
        credential,
        name: name.to_owned(),
        public_key,
        counter,
        enrolled_ms: now_ms,
        used_ms: None,
    };
    match home.add_passkey(passkey)? {
        Enrolled::Done => Ok(format!("`{name}` is enrolled ({})", kind.as_str())),
        Enrolled::NameTaken => Err(refused(&format!("another passkey is called `{name}`"))),
        Enrolled::KnownAlready => Err(refused("this passkey is enrolled already")),
        Enrolled::TooMany => Err(refused("there are too many passkeys: remove one first")),
    }
}

/// Refuses enrolment while an agent is guarded, because the agent could be enrolling its own passkey.
fn may_enrol(home: &Home) -> Result<(), Problem> {
    match interlock_clients::guarded::open_guarded_run(home)? {
        None => Ok(()),
        Some(run) => Err(Problem::forbidden(
            "guarded",
            format!(
                "no passkey is enrolled while run `{run}` guards an agent: end it first, or cancel it"
            ),
        )),
    }
}

/// Returns the id of a passkey in base64url, as browsers use it.
pub(crate) fn id_of(passkey: &Passkey) -> Option<String> {
    let bytes = interlock_core::passkey::unhex(&passkey.credential)?;
    Some(base64url(&bytes))
}

fn new_challenge(nonce: &str) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(format!("interlock passkey new {nonce}")).into()
}

fn origin(port: u16) -> String {
    format!("http://localhost:{port}")
}

fn flawed(flaw: Flaw) -> Problem {
    refused(&format!("the passkey does not prove this: {flaw}"))
}

fn refused(message: &str) -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "passkey_invalid",
        message.to_owned(),
    )
}

/// Decodes base64url.
fn bytes(text: &str) -> Result<Vec<u8>, Problem> {
    let wrong = || Problem::input("a field of the passkey is not base64url, or too long");
    if text.len() > FIELD_BYTES_MAX {
        return Err(wrong());
    }
    let (mut all, mut word, mut bits) = (Vec::new(), 0_u32, 0_u32);
    for letter in text.bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return Err(wrong()),
        };
        word = (word << 6 | u32::from(six)) & 0xf_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            all.extend(u8::try_from(word >> bits & 0xff));
        }
    }
    // Fewer than six bits may be left over, and they must be zero.
    if bits >= 6 || word & ((1 << bits) - 1) != 0 {
        return Err(wrong());
    }
    Ok(all)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    fn yes(request: &str) -> Yes {
        Yes {
            run: RunId::new("r"),
            request: request.to_owned(),
            digest: "d".repeat(64),
            seen_seq: 3,
            note: None,
            data: Object::new(),
        }
    }

    #[test]
    fn a_number_leads_to_one_answer_once() {
        let challenges = Challenges::default();
        let (nonce, challenge) = challenges.ask(yes("a1")).unwrap();
        let (other, second) = challenges.ask(yes("a1")).unwrap();
        assert_ne!((&nonce, &challenge), (&other, &second));
        assert!(matches!(challenges.take(&nonce), Some(Purpose::Yes(found)) if found == yes("a1")));
        assert!(challenges.take(&nonce).is_none());
        for _ in 0..WAITING_MAX {
            challenges.ask(yes("a2")).unwrap();
        }
        assert!(challenges.take(&other).is_none(), "the oldest goes");
    }

    #[test]
    fn base64_is_read_as_it_is_written() {
        for length in 0..70_u8 {
            let all: Vec<u8> = (0..length)
                .map(|byte| byte.wrapping_mul(37) ^ 0xa5)
                .collect();
            assert_eq!(bytes(&base64url(&all)).unwrap(), all);
        }
        for wrong in [
            "A",
            "AB",
            "AA=",
            "A+==",
            "AAAAA",
            &"A".repeat(FIELD_BYTES_MAX + 1),
        ] {
            bytes(wrong).unwrap_err();
        }
    }
}
