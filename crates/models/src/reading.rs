//! Parses an answer from bytes as they arrive. Pure: knows no network.

#[cfg(test)]
mod tests;

use interlock_http::{Lines, TooLong, sse};

use crate::{
    Answer, Heard, Kind,
    error::Failure,
    wire::{Decoder, Names},
};

/// Maximum size of a line and of an event, in bytes.
const BYTES_MAX: usize = 16 << 20;

/// An answer that is arriving.
#[derive(Debug)]
pub(crate) struct Reading {
    stream: Stream,
    decoder: Decoder,
}

/// Format of events.
#[derive(Debug)]
enum Stream {
    /// Each is a line.
    Lines(Lines),
    /// Server-sent events. Their kinds are not needed: every provider repeats it in the data.
    Events(sse::Reader),
}

impl Reading {
    /// Creates a parser for a provider of this kind.
    pub(crate) fn new(kind: Kind, names: Names) -> Self {
        let stream = match kind {
            Kind::Ollama => Stream::Lines(Lines::new(BYTES_MAX)),
            Kind::Anthropic | Kind::Gemini | Kind::OpenAi => {
                Stream::Events(sse::Reader::new(BYTES_MAX))
            }
        };
        Self {
            stream,
            decoder: Decoder::new(kind, names),
        }
    }

    /// Adds bytes, split anywhere.
    ///
    /// # Errors
    /// They are invalid, too many, or report a failure of the provider.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Failure> {
        let decoder = &mut self.decoder;
        match &mut self.stream {
            Stream::Lines(lines) => lines.feed(bytes, |line| decode_line(decoder, line, hear)),
            Stream::Events(events) => events.take(bytes, |event| decoder.event(&event.data, hear)),
        }
    }

    /// Returns whether the answer is complete.
    pub(crate) fn is_over(&self) -> bool {
        self.decoder.is_over()
    }

    /// Returns the answer at the end of the stream.
    ///
    /// # Errors
    /// The answer is incomplete.
    pub(crate) fn end(mut self, hear: &mut dyn FnMut(Heard<'_>)) -> Result<Answer, Failure> {
        if !self.is_over() {
            match &mut self.stream {
                Stream::Lines(lines) => {
                    let rest = lines.rest();
                    decode_line(&mut self.decoder, &rest, hear)?;
                }
                Stream::Events(events) => {
                    if let Some(event) = events.end()? {
                        self.decoder.event(&event.data, hear)?;
                    }
                }
            }
        }
        self.decoder.end()
    }
}

fn decode_line(
    decoder: &mut Decoder,
    line: &[u8],
    hear: &mut dyn FnMut(Heard<'_>),
) -> Result<(), Failure> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    decoder.event(line, hear)
}

impl From<TooLong> for Failure {
    fn from(_: TooLong) -> Self {
        Self::lasting("the answer has a line over 16 MiB")
    }
}
