//! Waits for a person's answer about one call of a stage.

use std::{
    sync::mpsc::RecvTimeoutError,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use interlock_core::{
    command::{Answer, CommandKind, StageCommand},
    event::Event,
    event::NoAnswer,
    names::ApprovalId,
    pending::{About, Pending, pending},
    run::Run,
    stage::Step,
};

use super::{
    act::Attempt,
    cancel::Why,
    channel::{Answers, ChannelAnswer, Open, PersonRequest},
    line::{Cut, Heard, Standing},
};

/// Longest wait without a check.
const LOOK_EVERY: Duration = Duration::from_secs(3600);

/// Result of a request.
pub(super) enum Word {
    /// The run has continued.
    Told(Standing),
    /// Nobody waits for it here: the run stands.
    Stands,
}

impl Attempt<'_> {
    /// Asks a person about the call at `at`, and waits for the answer.
    pub(super) fn person(&mut self, at: usize) -> Result<Word, Cut> {
        let word = self.wait_for_word(at)?;
        Ok(match word {
            Word::Told(mut told) => {
                told.events.splice(0..0, self.unheard());
                Word::Told(told)
            }
            Word::Stands => Word::Stands,
        })
    }

    /// Takes the reports of the run that nobody has read: they come before later ones.
    fn unheard(&self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Ok(heard) = self.line.inbox.try_recv() {
            if let Heard::Run(told) = heard {
                events.extend(told.events);
            }
        }
        events
    }

    fn wait_for_word(&mut self, at: usize) -> Result<Word, Cut> {
        let Some(request) = self.open_request() else {
            // Answered meanwhile: the next check of the run determines what follows.
            return self.beyond(at).map(Word::Told);
        };
        let people = self.stages.people.clone();
        if people.here.is_none() && !people.elsewhere {
            return self.close(NoAnswer::NoChannel).map(Word::Told);
        }
        if people.stands() {
            return Ok(Word::Stands);
        }
        let number = self.next_request();
        self.cancel_token.wake(self.line.answers.clone());
        let mut open = people.here.as_ref().map(|channel| {
            let to = self.line.answers.clone();
            let answers = Answers::new(move |said| {
                // The one who asked may be gone.
                let _ = to.send(Heard::Channel(number, said));
            });
            channel.ask(wanted(&request), answers)
        });
        if open.is_none() {
            self.screen.warn(&self.path, &elsewhere(&request));
        }
        self.line.wait_beyond(Step::Person(at))?;
        loop {
            let heard = self.line.inbox.recv_timeout(self.left(&request));
            match heard {
                Ok(Heard::Run(told)) => {
                    withdraw(open.take(), &told.run, &request.id());
                    return Ok(Word::Told(told));
                }
                Ok(Heard::Channel(asked, said)) if asked == number => {
                    open = None;
                    if let Some(told) = self.said(&request, said, people.elsewhere)? {
                        return Ok(Word::Told(told));
                    }
                    if people.no_wait {
                        return Ok(Word::Stands);
                    }
                }
                Ok(Heard::Channel(..)) => {}
                Err(RecvTimeoutError::Timeout) => {
                    if self.is_late(&request) {
                        withdraw_because(open.take(), "its time is over");
                        return self.close(NoAnswer::Timeout).map(Word::Told);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Cut),
            }
            if self.cancel_token.reason() == Some(Why::Stopped) {
                withdraw_because(open.take(), "the stage was stopped");
                return Err(Cut);
            }
        }
    }

    /// Returns the open request of this stage.
    fn open_request(&self) -> Option<Pending> {
        let all = pending(self.machine, &self.told.run);
        all.into_iter()
            .find(|one| *one.path() == self.line.path && one.request.call().is_some())
    }

    /// Handles the answer of the local channel; returns `None` if others may still answer.
    fn said(
        &self,
        request: &Pending,
        said: ChannelAnswer,
        elsewhere: bool,
    ) -> Result<Option<Standing>, Cut> {
        match answered(request, &said) {
            Some(ask) => self.line.ask(ask).map(Some),
            None if elsewhere => Ok(None),
            None if said == ChannelAnswer::Later => self.close(NoAnswer::Deferred).map(Some),
            None => self.close(NoAnswer::NoChannel).map(Some),
        }
    }

    fn close(&self, why: NoAnswer) -> Result<Standing, Cut> {
        self.line.ask_stage(StageCommand::CloseGrant { why })
    }

    /// Waits until the call at `at` is no longer the next to be answered.
    fn beyond(&self, at: usize) -> Result<Standing, Cut> {
        self.cancel_token.wake(self.line.answers.clone());
        self.line.wait_beyond(Step::Person(at))?;
        loop {
            match self.line.inbox.recv() {
                Ok(Heard::Run(told)) => return Ok(told),
                Ok(Heard::Channel(..)) if self.cancel_token.reason().is_none() => {}
                Ok(Heard::Channel(..)) | Err(_) => return Err(Cut),
            }
        }
    }

    /// Returns the longest wait for an answer, from now.
    fn left(&self, request: &Pending) -> Duration {
        match self.end_of(request) {
            Some(end) => Duration::from_millis(end.saturating_sub(now_ms())).min(LOOK_EVERY),
            None => LOOK_EVERY,
        }
    }

    fn is_late(&self, request: &Pending) -> bool {
        self.end_of(request).is_some_and(|end| end <= now_ms())
    }

    /// Returns when a request expires, in milliseconds since 1970.
    fn end_of(&self, request: &Pending) -> Option<u64> {
        let most = self.machine.stages.as_ref()?.grant_timeout_ms?;
        Some(request.request.at_ms.saturating_add(most))
    }
}

/// Converts a channel's answer to a command; `None` if it is not an answer.
pub(crate) fn answered(request: &Pending, said: &ChannelAnswer) -> Option<CommandKind> {
    let answer = |by: &String, note: Option<&String>| Answer {
        by: by.clone(),
        note: note.cloned(),
        path: Some(request.id().to_string()),
        ..Answer::default()
    };
    match said {
        // The question says how to approve with a passkey.
        ChannelAnswer::Yes { .. } if request.takes_passkey() => None,
        ChannelAnswer::Yes { by } => Some(CommandKind::Approve(answer(by, None))),
        ChannelAnswer::No { by, note } => Some(CommandKind::Reject(answer(by, note.as_ref()))),
        ChannelAnswer::Later | ChannelAnswer::Broken => None,
    }
}

/// Describes the request, if nobody is asked here.
pub(crate) fn elsewhere(request: &Pending) -> String {
    let PersonRequest { id, tool, text, .. } = wanted(request);
    let colon = if tool.is_empty() { "" } else { ": " };
    let approve = if request.takes_passkey() {
        "a passkey on the page of `interlock console`, or `interlock reject`"
    } else {
        "`interlock approve` or `reject`"
    };
    format!("waits for {approve} ({id}): {tool}{colon}{text}")
}

/// Creates the request to a person.
pub(crate) fn wanted(request: &Pending) -> PersonRequest {
    let (tool, text) = match request.about() {
        About::Call(grant) => (grant.call.tool.clone(), grant.call.summary.clone()),
        About::Transition(asked) => (String::new(), asked.message.clone()),
        About::Entry { message } => (String::new(), message.clone()),
    };
    PersonRequest {
        id: request.id().to_string(),
        path: request.title.clone(),
        tool,
        text,
        passkey: request.takes_passkey(),
    }
}

/// Withdraws a request and says who answered first.
fn withdraw(open: Option<Box<dyn Open>>, run: &Run, id: &ApprovalId) {
    let settled = run.settled.iter().rev().find(|one| one.id == *id);
    let by = settled.and_then(|one| one.by.as_deref());
    let why = by.map_or_else(
        || "it is not asked any more".to_owned(),
        |by| format!("{by} has answered it"),
    );
    withdraw_because(open, &why);
}

fn withdraw_because(open: Option<Box<dyn Open>>, why: &str) {
    if let Some(open) = open {
        open.withdraw(why);
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
