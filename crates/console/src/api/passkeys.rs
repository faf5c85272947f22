//! The person's passkeys: lists them, enrols a new one, and issues challenges.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
};
use interlock_core::{names::RunId, passkey::SITE, pending::pending};
use interlock_passkeys::COSE_KINDS;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    answers::{Sent, yes_of},
    body,
};
use crate::{
    passkeys::{Creation, Made, begin_enrolment, enrol_made, id_of},
    reply::{Answered, Problem, json_reply},
    shared::{Opened, Shared, now_ms},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Lists the passkeys, and the name of the one to be enrolled here.
pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Answered {
    let found = shared
        .blocking(|shared| {
            let all: Vec<Value> = shared
                .home
                .passkeys()?
                .iter()
                .map(|one| {
                    json!({
                        "name": one.name,
                        "enrolled_ms": one.enrolled_ms,
                        "used_ms": one.used_ms,
                    })
                })
                .collect();
            let enrols = shared.enrolment.as_ref().map(|enrolment| &enrolment.name);
            Ok(json!({ "passkeys": all, "enrols": enrols }))
        })
        .await?;
    json_reply(&found)
}

/// Returns the parameters for the browser to create a passkey.
pub(super) async fn begin(State(shared): State<Arc<Shared>>, sent: Body) -> Answered {
    body::<Nothing>(sent).await?;
    let found = shared
        .blocking(|shared| {
            let name = wanted(shared)?;
            let Creation {
                nonce,
                challenge,
                person,
                known,
            } = begin_enrolment(&shared.challenges, &shared.home, &shared.person)?;
            Ok(json!({
                "nonce": nonce,
                "challenge": challenge,
                "site": SITE,
                "person": person,
                "name": name,
                "kinds": COSE_KINDS,
                "known": known,
            }))
        })
        .await?;
    json_reply(&found)
}

/// Enrols a passkey that the page has created.
pub(super) async fn finish(State(shared): State<Arc<Shared>>, sent: Body) -> Answered {
    let made: Made = body(sent).await?;
    let message = shared
        .blocking(move |shared| {
            let name = wanted(shared)?;
            let at = (shared.port, now_ms());
            enrol_made(&shared.challenges, &shared.home, at, name, &made)
        })
        .await?;
    if let Some(enrolment) = &shared.enrolment {
        (enrolment.done)(&message);
    }
    // This console was opened only to enrol the passkey.
    shared.pairings.close_soon();
    json_reply(&json!({ "message": message }))
}

/// Returns the name of the passkey that the person at the terminal wants to enrol.
fn wanted(shared: &Shared) -> Result<&str, Problem> {
    let enrolment = shared.enrolment.as_ref().ok_or_else(|| {
        Problem::forbidden(
            "terminal",
            "a passkey is enrolled from a terminal: `interlock passkey add NAME`",
        )
    })?;
    Ok(&enrolment.name)
}

/// Returns the challenge that a passkey must sign for a yes.
pub(super) async fn challenge(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    sent: Body,
) -> Answered {
    let sent = body::<Sent>(sent).await?.read()?;
    let found = shared
        .blocking(move |shared| {
            let run = RunId::new(id);
            let Opened { machine, run: now, .. } = shared.open(&run)?;
            let waiting = pending(&machine, &now);
            let is_asked = waiting.iter().any(|one| {
                one.id().as_str() == sent.request && one.digest().as_str() == sent.digest
            });
            if !is_asked {
                return Err(Problem::moved(
                    "what you answered has changed or waits no more: look at it again",
                ));
            }
            let known = shared.home.passkeys()?;
            if known.is_empty() {
                return Err(Problem::input(
                    "you have no passkey: enrol one at a terminal with `interlock passkey add NAME`, while no run guards an agent",
                ));
            }
            let (nonce, challenge) = shared.challenges.ask(yes_of(run, &sent))?;
            let ids: Vec<String> = known.iter().filter_map(id_of).collect();
            Ok(json!({
                "nonce": nonce,
                "challenge": challenge,
                "site": SITE,
                "passkeys": ids,
            }))
        })
        .await?;
    json_reply(&found)
}
