//! Questions about entering a state or taking a transition, put to a person while the run is driven.

use std::collections::BTreeMap;

use interlock_core::pending::{Pending, pending};

use super::{Drive, DriveError};
use crate::{
    host::Host,
    stage::{ChannelAnswer, answered},
};

/// Questions that were put to a person, by the id of the request.
#[derive(Debug, Default)]
pub(super) struct Questions(BTreeMap<String, QuestionState>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuestionState {
    /// An answer may come.
    Open,
    /// Nobody who was asked here will answer it.
    PutOff,
}

impl Questions {
    /// Returns whether an answer is expected.
    pub(super) fn are_open(&self) -> bool {
        self.0.values().any(|asked| *asked == QuestionState::Open)
    }
}

impl<H: Host> Drive<'_, H> {
    /// Puts each new request to a person once, and withdraws closed ones.
    pub(super) fn put_questions(&mut self) {
        // A run that a person paused asks nothing new.
        if self.run.paused.is_some() {
            return;
        }
        let all: Vec<(String, Pending)> = pending(self.machine, &self.run)
            .into_iter()
            .filter(|one| one.request.call().is_none())
            .map(|one| (one.id().to_string(), one))
            .collect();
        let host = &mut *self.host;
        self.questions.0.retain(|id, asked| {
            let still = all.iter().any(|(known, _)| known == id);
            if !still && *asked == QuestionState::Open {
                host.withdraw(id);
            }
            still
        });
        for (id, one) in all {
            self.questions.0.entry(id).or_insert_with(|| {
                if host.ask(&one) {
                    QuestionState::Open
                } else {
                    QuestionState::PutOff
                }
            });
        }
    }

    /// Handles a channel's answer; a request that was answered meanwhile stays as it is.
    pub(super) fn said(
        &mut self,
        id: &str,
        said: &ChannelAnswer,
    ) -> Result<(), DriveError<H::Error>> {
        let all = pending(self.machine, &self.run).into_iter();
        let mut meant = all.filter(|one| one.id().as_str() == id);
        let Some(request) = meant.next() else {
            return Ok(());
        };
        match answered(&request, said) {
            Some(ask) => self.submit(ask).map(drop),
            None => {
                self.questions
                    .0
                    .insert(id.to_owned(), QuestionState::PutOff);
                Ok(())
            }
        }
    }
}
