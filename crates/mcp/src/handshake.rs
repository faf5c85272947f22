//! The introduction to a server: which protocol it supports, and what it can do.
//!
//! A client's own protocol is tried first, so that no translation is needed if the server supports it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use interlock_core::machine::Object;
use serde_json::{Value, value::RawValue};
use tokio::time::timeout;

use crate::{
    era::{Era, Introduced, LEGACY, MODERN, MODERN_ERRORS, UNSUPPORTED_VERSION},
    message::{INTERNAL_ERROR, Outcome},
    peer::{Peer, RequestTag},
};

/// How long a server may take to show that it knows the modern protocol.
const PROBE_TIME: Duration = Duration::from_secs(5);

/// Protocols that a server has refused, which need not be tried again.
#[derive(Debug, Default)]
pub struct Eras {
    refused: Mutex<Vec<Era>>,
}

/// Protocol that is being tried on a new connection.
#[derive(Debug, Default)]
pub struct TriedEra(Mutex<Option<Era>>);

impl TriedEra {
    /// Returns the protocol that was being tried when the connection ended, once.
    #[must_use]
    pub fn take(&self) -> Option<Era> {
        lock(&self.0).take()
    }
}

impl Eras {
    /// Returns whether the server has refused a protocol.
    #[must_use]
    pub fn refused(&self, era: Era) -> bool {
        lock(&self.refused).contains(&era)
    }

    /// Records that the server refuses a protocol.
    pub fn refuses(&self, era: Era) {
        let mut refused = lock(&self.refused);
        if !refused.contains(&era) {
            refused.push(era);
        }
    }

    /// Forgets the refused protocols: the server may be another program by now.
    fn forgive(&self) {
        lock(&self.refused).clear();
    }
}

/// Result of the introduction.
#[derive(Debug)]
pub enum Handshake {
    /// The server supports this protocol, and describes itself.
    Done(Era, Object),
    /// The server refuses, with this answer.
    Refused(Outcome),
    /// The connection was lost.
    Broken,
}

/// Result of trying one protocol.
enum Tried {
    Known(Object),
    No(Outcome),
    /// The server has this protocol, and refuses.
    Never(Outcome),
    Silent,
    Broken,
}

/// Introduces a client to a server; requests belong to `own`.
pub async fn shake<T: RequestTag>(
    peer: &Arc<Peer<T>>,
    own: T,
    greeting: &Introduced,
    (eras, tried): (&Eras, &TriedEra),
) -> Handshake {
    let (usual, other) = match greeting.era {
        Era::Legacy => (Era::Legacy, Era::Modern),
        Era::Modern => (Era::Modern, Era::Legacy),
    };
    let known = eras.refused(usual) && !eras.refused(other);
    let (first, second) = if known {
        (other, usual)
    } else {
        (usual, other)
    };
    let mut refused = None;
    // A server that was silent the first time may only have been slow to start.
    for (era, last) in [(first, false), (second, false), (first, true)] {
        if last && refused.is_some() && first == Era::Legacy {
            break;
        }
        *lock(&tried.0) = Some(era);
        match try_era(peer, own.clone(), greeting, era, last).await {
            Tried::Known(about) => {
                if let (Some(_), true) = (&refused, era == second) {
                    eras.refuses(first);
                }
                return Handshake::Done(era, about);
            }
            Tried::Never(outcome) => return Handshake::Refused(outcome),
            Tried::No(outcome) => {
                refused.get_or_insert(outcome);
            }
            Tried::Silent => {}
            Tried::Broken => return Handshake::Broken,
        }
    }
    eras.forgive();
    refused.map_or(Handshake::Broken, Handshake::Refused)
}

async fn try_era<T: RequestTag>(
    peer: &Arc<Peer<T>>,
    own: T,
    greeting: &Introduced,
    era: Era,
    patient: bool,
) -> Tried {
    match era {
        Era::Legacy => {
            let params = greeting.to_initialize();
            match peer.request(own.clone(), "initialize", Some(params)).await {
                Ok(outcome) => tried(outcome, "protocolVersion"),
                Err(_) => Tried::Broken,
            }
        }
        Era::Modern => {
            let ask = async || {
                let params = Some(greeting.to_meta(None));
                peer.request(own.clone(), "server/discover", params).await
            };
            let asked = async {
                match ask().await {
                    // It reports that it supports the requested one.
                    Ok(Outcome::Error(error)) if offers(&error, MODERN) => ask().await,
                    answered => answered,
                }
            };
            let time = if patient {
                Duration::from_secs(600)
            } else {
                PROBE_TIME
            };
            match timeout(time, asked).await {
                Ok(Ok(outcome)) => tried(outcome, "supportedVersions"),
                Ok(Err(_)) => Tried::Broken,
                Err(_) => Tried::Silent,
            }
        }
    }
}

/// Evaluates an answer, which must contain `mark` to be valid.
fn tried(outcome: Outcome, mark: &str) -> Tried {
    match &outcome {
        Outcome::Result(result) => match serde_json::from_str(result.get()) {
            Ok(Value::Object(about)) if mark == "protocolVersion" && begins_nothing(&about) => {
                Tried::No(Outcome::error(
                    INTERNAL_ERROR,
                    "the server answered `initialize` with a revision that has no sessions",
                ))
            }
            Ok(Value::Object(about)) if about.contains_key(mark) => Tried::Known(about),
            _ => Tried::No(Outcome::error(
                INTERNAL_ERROR,
                &format!("the server answered without `{mark}`"),
            )),
        },
        Outcome::Error(error) if mark == "supportedVersions" && is_modern(error) => {
            Tried::Never(outcome)
        }
        Outcome::Error(_) => Tried::No(outcome),
    }
}

/// Returns whether a result belongs to a revision without `initialize`.
fn begins_nothing(about: &Object) -> bool {
    let version = about.get("protocolVersion").and_then(Value::as_str);
    version.is_some_and(|version| version >= MODERN)
}

/// Returns whether an error refuses a revision and offers `version`.
fn offers(error: &RawValue, version: &str) -> bool {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let supported = error.pointer("/data/supported").and_then(Value::as_array);
    error.get("code").and_then(Value::as_i64) == Some(UNSUPPORTED_VERSION)
        && supported.is_some_and(|versions| versions.iter().any(|known| known == version))
}

/// Returns whether an error comes from a server that will not accept the legacy protocol either.
fn is_modern(error: &RawValue) -> bool {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_i64);
    let supported = error.pointer("/data/supported").and_then(Value::as_array);
    let legacy = |version: &Value| {
        version
            .as_str()
            .is_some_and(|version| LEGACY.contains(&version))
    };
    code.is_some_and(|code| MODERN_ERRORS.contains(&code))
        && !supported.is_some_and(|versions| versions.iter().any(legacy))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing half changed under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_says_whether_the_other_protocol_is_worth_a_try() {
        let error = |code: i64, supported: Value| {
            Outcome::error_with(code, "no", &json!({ "supported": supported }))
        };
        let unsupported = UNSUPPORTED_VERSION;
        for (outcome, mark, wanted) in [
            (
                Outcome::result(&json!({"supportedVersions": [MODERN]})),
                "supportedVersions",
                "known",
            ),
            (
                Outcome::result(&json!({"protocolVersion": "2025-06-18"})),
                "protocolVersion",
                "known",
            ),
            // A revision without sessions cannot be what `initialize` agreed on.
            (
                Outcome::result(&json!({"protocolVersion": MODERN})),
                "protocolVersion",
                "no",
            ),
            (
                Outcome::result(&json!({"other": 1})),
                "supportedVersions",
                "no",
            ),
            (Outcome::result(&json!([])), "protocolVersion", "no"),
            (Outcome::error(-32601, "no"), "supportedVersions", "no"),
            (
                error(unsupported, json!(["2030-01-01"])),
                "supportedVersions",
                "never",
            ),
            (
                error(unsupported, json!(["2030-01-01", "2025-06-18"])),
                "supportedVersions",
                "no",
            ),
            (
                error(unsupported, json!(["2030-01-01"])),
                "protocolVersion",
                "no",
            ),
        ] {
            let shown = format!("{outcome:?} {mark}");
            let found = match tried(outcome, mark) {
                Tried::Known(_) => "known",
                Tried::No(_) => "no",
                Tried::Never(_) => "never",
                Tried::Silent | Tried::Broken => "nothing",
            };
            assert_eq!(found, wanted, "{shown}");
        }
    }

    #[test]
    fn a_revision_is_asked_for_again_only_where_it_is_offered() {
        for (code, supported, wanted) in [
            (UNSUPPORTED_VERSION, json!([MODERN]), true),
            (UNSUPPORTED_VERSION, json!(["2025-06-18"]), false),
            (UNSUPPORTED_VERSION, json!(MODERN), false),
            (-32601, json!([MODERN]), false),
        ] {
            let data = json!({ "supported": supported });
            let Outcome::Error(error) = Outcome::error_with(code, "no", &data) else {
                unreachable!("it is an error");
            };
            assert_eq!(offers(&error, MODERN), wanted, "{code} {supported}");
        }
    }
}
