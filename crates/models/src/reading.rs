//! Bytes of an answer, as they arrive, to the answer. Pure: knows no network.

#[cfg(test)]
mod tests;

use crate::{
    Answer, Heard, Kind,
    error::Failure,
    lines::{Lines, TooLong},
    sse::Sse,
    wire::{Decoder, Names},
};

/// An answer that is arriving.
#[derive(Debug)]
pub(crate) struct Reading {
    lines: Lines,
    /// `None`: every line is an event.
    events: Option<Sse>,
    decoder: Decoder,
}

impl Reading {
    /// Gets ready for what a provider of this kind says.
    pub(crate) fn new(kind: Kind, names: Names) -> Self {
        Self {
            lines: Lines::default(),
            events: (kind != Kind::Ollama).then(Sse::default),
            decoder: Decoder::new(kind, names),
        }
    }

    /// Takes bytes, cut anywhere.
    ///
    /// # Errors
    /// They make no sense, are too many, or say that the provider has failed.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Failure> {
        let (events, decoder) = (&mut self.events, &mut self.decoder);
        self.lines
            .feed(bytes, |line| take(events.as_mut(), decoder, line, hear))
    }

    /// Tells whether the answer is whole and nothing more is to come.
    pub(crate) fn is_over(&self) -> bool {
        self.decoder.is_over()
    }

    /// Returns the answer, where the stream has ended.
    ///
    /// # Errors
    /// It is not whole.
    pub(crate) fn end(mut self, hear: &mut dyn FnMut(Heard<'_>)) -> Result<Answer, Failure> {
        if !self.is_over() {
            let rest = self.lines.rest();
            if !rest.is_empty() {
                take(self.events.as_mut(), &mut self.decoder, &rest, hear)?;
            }
            if let Some(data) = self.events.as_mut().and_then(Sse::end) {
                self.decoder.event(&data, hear)?;
            }
        }
        self.decoder.end()
    }
}

fn take(
    events: Option<&mut Sse>,
    decoder: &mut Decoder,
    line: &[u8],
    hear: &mut dyn FnMut(Heard<'_>),
) -> Result<(), Failure> {
    let Some(events) = events else {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        return decoder.event(line, hear);
    };
    match events.line(line)? {
        Some(data) => decoder.event(&data, hear),
        None => Ok(()),
    }
}

impl From<TooLong> for Failure {
    fn from(_: TooLong) -> Self {
        Self::lasting("the answer has a line over 16 MiB")
    }
}
