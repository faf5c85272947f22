//! Assembles the parts of a message, within limits.

use crate::{
    Answer, Call, FinishReason, Opaque, Part, Usage,
    error::Failure,
    wire::{names::Names, raw},
};

/// Maximum size of a message, in bytes of all its parts.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Maximum number of parts of a message.
const PARTS_MAX: usize = 10_000;

/// The parts of a message so far, identified by index.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    parts: Vec<Part>,
    bytes: usize,
}

impl Assembly {
    /// Counts what is about to be stored.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MESSAGE_BYTES_MAX {
            return Err(Failure::lasting("the message is over 64 MiB"));
        }
        Ok(())
    }

    /// Adds a part; returns its index.
    pub(super) fn push(&mut self, part: Part) -> Result<usize, Failure> {
        if self.parts.len() >= PARTS_MAX {
            return Err(Failure::lasting(format!(
                "the message has over {PARTS_MAX} parts"
            )));
        }
        self.count(match &part {
            Part::Text(text) => text.len(),
            Part::Opaque(opaque) => opaque.json.len(),
            Part::Call(call) => {
                let opaque = call.opaque.as_ref().map_or(0, |opaque| opaque.json.len());
                let id = call.provider_id.as_ref().map_or(0, String::len);
                [call.name.len(), call.arguments.len(), opaque, id]
                    .iter()
                    .sum()
            }
        })?;
        self.parts.push(part);
        Ok(self.parts.len().saturating_sub(1))
    }

    /// Appends text: to the last part if it is text, otherwise as a new part.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        if let Some(Part::Text(_)) = self.parts.last() {
            return self.text_at(self.parts.len().saturating_sub(1), text);
        }
        self.push(Part::Text(text.to_owned())).map(drop)
    }

    /// Appends text to the part at `at`, if it is text.
    pub(super) fn text_at(&mut self, at: usize, text: &str) -> Result<(), Failure> {
        self.count(text.len())?;
        if let Some(Part::Text(all)) = self.parts.get_mut(at) {
            all.push_str(text);
        }
        Ok(())
    }

    /// Appends to the arguments of the call at `at`.
    pub(super) fn arguments_at(&mut self, at: usize, piece: &str) -> Result<(), Failure> {
        self.count(piece.len())?;
        if let Some(call) = self.call_at(at) {
            call.arguments.push_str(piece);
        }
        Ok(())
    }

    /// Returns the call at `at`.
    pub(super) fn call_at(&mut self, at: usize) -> Option<&mut Call> {
        match self.parts.get_mut(at) {
            Some(Part::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// Replaces the provider's data of the part at `at`.
    pub(super) fn opaque_at(&mut self, at: usize, opaque: Opaque) {
        if let Some(part) = self.parts.get_mut(at) {
            *part = Part::Opaque(opaque);
        }
    }

    /// Returns the complete message; `reason` is the provider's, already converted.
    pub(super) fn answer(self, names: &Names, reason: FinishReason, usage: Usage) -> Answer {
        let mut parts = self.parts;
        parts.retain(|part| match part {
            Part::Text(text) => !text.is_empty(),
            Part::Opaque(opaque) => !opaque.json.is_empty(),
            Part::Call(_) => true,
        });
        let last = parts.len().saturating_sub(1);
        for (at, part) in parts.iter_mut().enumerate() {
            if let Part::Call(call) = part {
                call.name = names.back(&call.name);
                call.provider_id = call.provider_id.take().filter(|id| !id.is_empty());
                settle(call, reason == FinishReason::Length, at == last);
            }
        }
        let called = parts.iter().any(|part| matches!(part, Part::Call(_)));
        let finish = match reason {
            FinishReason::Length | FinishReason::Refused => reason,
            _ if called => FinishReason::ToolCalls,
            FinishReason::ToolCalls => FinishReason::Stop,
            FinishReason::Stop | FinishReason::Error => reason,
        };
        Answer {
            parts,
            finish,
            usage,
        }
    }
}

/// Marks a call as incomplete if the message was cut in the middle of it.
///
/// The text of an object is an object only if its last brace is there.
fn settle(call: &mut Call, is_cut: bool, is_last: bool) {
    let came = !call.arguments.trim().is_empty();
    if is_cut && ((is_last && !came) || (came && raw::object(&call.arguments).is_none())) {
        call.incomplete = true;
    } else if !came {
        call.arguments = "{}".to_owned();
    }
}
