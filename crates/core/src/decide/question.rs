//! What exactly a person is asked, as a digest that holds for nothing else.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Work;
use crate::{
    canonical::canonical,
    holds::read,
    machine::{Object, Transition},
    names::{Digest, EventName, FramePath},
    refusal::Refusal,
};

/// A transition that a person is asked about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) event: &'a EventName,
    pub(super) index: usize,
    pub(super) transition: &'a Transition,
    pub(super) data: &'a Object,
}

impl Work<'_> {
    /// Names all that a yes to `subject` rests on.
    ///
    /// The run and its workflow, the frame and its stay, the event, the data,
    /// and whatever its guards read. What is changed of these makes another question.
    pub(super) fn question(
        &self,
        path: &FramePath,
        subject: Subject<'_>,
    ) -> Result<Digest, Refusal> {
        let (frame, machine) = self.stand(path)?;
        let scope = self.scope(machine, frame);
        let all = json!([
            self.run.id,
            self.machine.hash,
            path,
            frame.at,
            frame.stay.entered_seq,
            subject.event,
            subject.index,
            canonical(&Value::Object(subject.data.clone())),
            read(scope, &subject.transition.guards),
        ]);
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(all.to_string().as_bytes()) {
            let _ = write!(hex, "{byte:02x}");
        }
        Ok(Digest::new(hex))
    }
}
