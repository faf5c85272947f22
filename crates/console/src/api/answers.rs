//! A person's commands: answers to requests, and pause, resume, cancel.
//!
//! INVARIANT: an answer applies to what the person has seen. It is refused if the request has changed, has another
//! basis, or was opened after the event up to which the person looked.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
};
use interlock_clients::review::headline;
use interlock_core::{
    Reply,
    command::{Answer, CommandKind},
    event::Event,
    machine::Object,
    names::RunId,
    pending::pending,
    refusal::Code,
    run::Run,
};
use interlock_runner::holder;
use interlock_tools::Secrets;
use serde::Deserialize;
use serde_json::json;

use super::body;
use crate::{
    masked::is_masked,
    passkeys::{Signed, Yes, sign},
    protected,
    reply::{Answered, Problem, json_reply},
    shared::{Opened, Shared, now_ms},
};

/// Maximum length of a note in characters.
const NOTE_CHARS_MAX: usize = 4_000;

/// A person's answer, as the page sends it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent {
    pub(super) request: String,
    decision: Word,
    /// Digest of the request as it was shown.
    pub(super) digest: String,
    /// Number of events that the run had then.
    seen_seq: u64,
    note: Option<String>,
    /// Corrections of the transition's data.
    #[serde(default)]
    data: Object,
    /// The assertion of a passkey.
    passkey: Option<Signed>,
}

impl Sent {
    /// Checks the note; a blank one becomes `None`.
    pub(super) fn read(mut self) -> Result<Self, Problem> {
        self.note = note(self.note.take())?;
        Ok(self)
    }
}

/// Returns the statement of an answer that a passkey signs.
pub(super) fn yes_of(run: RunId, sent: &Sent) -> Yes {
    Yes {
        run,
        request: sent.request.clone(),
        digest: sent.digest.clone(),
        seen_seq: sent.seen_seq,
        note: sent.note.clone(),
        data: sent.data.clone(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Yes,
    No,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Because {
    reason: Option<String>,
}

pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    sent: Body,
) -> Answered {
    let sent = body::<Sent>(sent).await?.read()?;
    if sent.data.values().any(is_masked) {
        return Err(Problem::input(format!(
            "the data holds `{}`, which stands for what is not shown: type the value, or leave its key as it was",
            Secrets::MASK
        )));
    }
    let found = shared
        .blocking(move |shared| {
            let id = RunId::new(id);
            let mut opened = shared.open(&id)?;
            if sent.request == protected::REQUEST {
                return shared.accept_or_cancel(&mut opened, &sent);
            }
            let Opened { machine, run, .. } = &opened;
            let waiting = pending(machine, run);
            let one = waiting.iter().find(|one| one.id().as_str() == sent.request);
            let Some(one) = one.filter(|one| one.digest().to_string() == sent.digest) else {
                return Err(Problem::moved(
                    "what you answered has changed or waits no more: look at it again",
                ));
            };
            let said = headline(machine, run, one);
            let yes = yes_of(id, &sent);
            let passkey = match sent.passkey.filter(|_| sent.decision == Word::Yes) {
                Some(signed) => {
                    let (challenges, home) = (&shared.challenges, &shared.home);
                    Some(sign(
                        challenges,
                        home,
                        (shared.port, now_ms()),
                        &yes,
                        signed,
                    )?)
                }
                None => None,
            };
            let answer = Answer {
                by: shared.person.clone(),
                data: sent.data,
                note: sent.note,
                path: Some(sent.request),
                before: Some(sent.seen_seq),
                passkey: passkey.map(Box::new),
                ..Answer::default()
            };
            let (word, ask) = match sent.decision {
                Word::Yes => ("approved", CommandKind::Approve(answer)),
                Word::No => ("denied", CommandKind::Reject(answer)),
            };
            shared.take(&mut opened, ask, format!("{word} {said}"))
        })
        .await?;
    json_reply(&shared.masked(found))
}

pub(super) async fn pause(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    sent: Body,
) -> Answered {
    let reason = note(body::<Because>(sent).await?.reason)?;
    tell(
        &shared,
        id,
        |_| "paused".to_owned(),
        move |_, by| Ok(CommandKind::Pause { by, reason }),
    )
    .await
}

pub(super) async fn resume(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    sent: Body,
) -> Answered {
    body::<Because>(sent).await?;
    let ask = |opened: &Opened, by| resuming(&opened.run, by);
    tell(&shared, id, goes_on, ask).await
}

/// Returns the command that resumes a run, unless the run waits for changes to protected files to be accepted.
fn resuming(run: &Run, by: String) -> Result<CommandKind, Problem> {
    if protected::waits(run) {
        return Err(Problem::moved(
            "protected files were changed: look at them in the inbox, and accept them there",
        ));
    }
    // A change reported before the run handles this command was not seen.
    let seen = Some(Vec::new());
    Ok(CommandKind::Resume { by, seen })
}

pub(super) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    sent: Body,
) -> Answered {
    body::<Because>(sent).await?;
    tell(&shared, id, |_| "cancelled".to_owned(), cancelling).await
}

/// Returns whether a run can be cancelled here: one that guards an agent, or a durable one that a process is running.
///
/// That process ends its programs; only `interlock cancel` ends programs left by a dead process.
pub(super) fn can_cancel(Opened { log, run, .. }: &Opened) -> bool {
    !run.is_over() && (!run.is_durable() || holder(log.folder().work()).is_some())
}

/// Returns the command that cancels a run.
fn cancelling(opened: &Opened, by: String) -> Result<CommandKind, Problem> {
    let run = &opened.run;
    if !run.is_over() && !can_cancel(opened) {
        return Err(Problem::input(format!(
            "no process runs this run: cancel it with `interlock cancel {}`, which ends programs that were left",
            run.id
        )));
    }
    Ok(CommandKind::Cancel { by })
}

/// Describes the effect of resuming a run.
fn goes_on(Opened { log, run, .. }: &Opened) -> String {
    if run.is_durable() && holder(log.folder().work()).is_none() {
        return format!(
            "resumed; nothing runs its steps until `interlock resume {}` does",
            run.id
        );
    }
    "resumed".to_owned()
}

/// Applies a person's command to a run.
async fn tell(
    shared: &Arc<Shared>,
    id: String,
    said: fn(&Opened) -> String,
    ask: impl FnOnce(&Opened, String) -> Result<CommandKind, Problem> + Send + 'static,
) -> Answered {
    let found = shared
        .blocking(move |shared| {
            let mut opened = shared.open(&RunId::new(id))?;
            let ask = ask(&opened, shared.person.clone())?;
            let message = said(&opened);
            shared.take(&mut opened, ask, message)
        })
        .await?;
    json_reply(&found)
}

impl Shared {
    /// Accepts the changes of protected things as they were shown and resumes the run, or cancels it.
    fn accept_or_cancel(
        &self,
        opened: &mut Opened,
        sent: &Sent,
    ) -> Result<serde_json::Value, Problem> {
        let run = &opened.run;
        let is_same = protected::digest(run).to_string() == sent.digest;
        if !protected::waits(run) || !is_same {
            return Err(Problem::moved(
                "what you answered has changed or waits no more: look at it again",
            ));
        }
        let by = self.person.clone();
        let (ask, message) = match sent.decision {
            Word::Yes => (
                CommandKind::Resume {
                    by,
                    seen: Some(run.changed.clone()),
                },
                "accepted the protected files in their present form; the run continues",
            ),
            Word::No => (cancelling(opened, by)?, "cancelled the run"),
        };
        self.take(opened, ask, message.to_owned())
    }

    /// Applies a command to a run and describes the result.
    fn take(
        &self,
        opened: &mut Opened,
        ask: CommandKind,
        message: String,
    ) -> Result<serde_json::Value, Problem> {
        let resumes = matches!(ask, CommandKind::Resume { .. });
        let decision = opened.ask(ask)?;
        self.board.forget();
        if let Reply::Refused(refusal) = decision.reply {
            // Other protected things have changed since the person looked.
            if resumes && refusal.code == Code::Paused {
                return Err(Problem::moved(refusal.message));
            }
            let status = axum::http::StatusCode::UNPROCESSABLE_ENTITY;
            let problem = Problem::new(status, refusal.code.as_str(), refusal.message);
            return Err(problem);
        }
        (self.changed)(&opened.run);
        let log: Vec<&str> = decision.events.iter().map(Event::name).collect();
        Ok(json!({ "message": message, "events": opened.run.seq, "log": log }))
    }
}

fn note(text: Option<String>) -> Result<Option<String>, Problem> {
    let text = text.filter(|text| !text.trim().is_empty());
    if text
        .as_ref()
        .is_some_and(|text| text.chars().count() > NOTE_CHARS_MAX)
    {
        return Err(Problem::input(format!(
            "a note has at most {NOTE_CHARS_MAX} characters"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
