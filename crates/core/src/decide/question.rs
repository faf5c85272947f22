//! The question that a person is asked, as a digest that identifies it.

use serde_json::{Value, json};

use super::Work;
use crate::{
    canonical::canonical,
    event::PendingTransition,
    holds::read,
    machine::Transition,
    names::{Digest, FramePath},
    refusal::Refusal,
};

impl Work<'_> {
    /// Returns everything that an approval of `asked`, which would take `transition`, depends on.
    ///
    /// This includes the run and its workflow, the frame and its stay, the event, the data, and the values that the guards
    /// read. A change to any of these makes it another question.
    pub(super) fn question(
        &self,
        path: &FramePath,
        asked: &PendingTransition,
        transition: &Transition,
    ) -> Result<Digest, Refusal> {
        let (frame, machine) = self.stand(path)?;
        let scope = self.scope(machine, frame);
        let all = json!([
            self.run.id,
            self.machine.hash,
            path,
            frame.at,
            frame.stay.entered_seq,
            asked.event,
            asked.index,
            canonical(&Value::Object(asked.data.clone())),
            read(scope, &transition.guards),
        ]);
        Ok(Digest::of(all.to_string()))
    }
}
