//! Commands of a line that are started through this program, which reports how each ended.
//!
//! The descriptors of a command determine what it can report, so nothing that a program of the line writes has to be trusted.
//! [`Channel`] is a pair of sockets. The line gets one end as its standard output, with its real one saved at another number, and
//! is run as `{ exec 9>&-; LINE; } >&9`: the shell keeps the socket at [`SAVED`], closed at each exec, as it keeps whatever a
//! redirection hides. No program that the line starts has it, except those to which an added redirection, after the words of a
//! named command, passes it as their standard input: `PROGRAM exec --probe 12:1 -- npm test 9<&0 <&10`. That program is this one
//! ([`start`]); it takes the socket away before it starts `npm test`, with the input that was saved at [`PARKED_INPUT`], and
//! reports start and end.
//!
//! | attempt of a program of the line | met by |
//! |---|---|
//! | write to the descriptor, open it below `/proc` | it has none; a socket cannot be opened by its path |
//! | start the probe itself, under any name, from any process | the probe has no socket and tells nothing |
//! | trace the probe, take its descriptors | the probe is not dumpable; one that is traced tells nothing |
//! | end the probe, or the shell | a start without an end is not evidence |
//! | text of the line that names such a descriptor, or runs in the shell itself | the reader of lines gives it no places |

mod start;

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;

use super::raw;
use crate::outcome::Probed;
use crate::plan::ProbedSpan;

pub(crate) use start::start;

/// Where bash saves a hidden descriptor: its first number for that.
const SAVED: RawFd = 10;
/// Where a probed command's own input is saved.
const PARKED_INPUT: RawFd = 9;
/// Lowest number at which the line's own output is saved until it begins.
const PARKED_OUTPUT_MIN: RawFd = 20;
/// Maximum number of starts that are recorded of one line.
const STARTS_MAX: usize = 10_000;

/// The ends of the channel between a line and its runner.
#[derive(Debug)]
pub(crate) struct Channel {
    near: UnixDatagram,
    far: UnixDatagram,
    /// Standard output, where the line finds it.
    parked: OwnedFd,
    seen: Vec<Seen>,
}

/// What the new process does with the ends before its program starts.
#[derive(Debug)]
pub(crate) struct FarEnd {
    pub(crate) far: OwnedFd,
    pub(crate) parked: RawFd,
}

#[derive(Debug)]
struct Seen {
    id: [u8; ID],
    at: usize,
    exit: Option<u8>,
    ended: bool,
}

impl Channel {
    /// Opens the ends.
    pub(crate) fn open() -> io::Result<Self> {
        let (near, far) = UnixDatagram::pair()?;
        near.set_nonblocking(true)?;
        let parked = raw::copy_above(io::stdout().as_fd(), PARKED_OUTPUT_MIN)?;
        Ok(Self {
            near,
            far,
            parked,
            seen: Vec::new(),
        })
    }

    /// Returns the part that the new process needs.
    pub(crate) fn far_end(&self) -> io::Result<FarEnd> {
        Ok(FarEnd {
            far: self.far.as_fd().try_clone_to_owned()?,
            parked: self.parked.as_raw_fd(),
        })
    }

    /// Returns the end that can be waited for.
    pub(crate) fn near(&self) -> &UnixDatagram {
        &self.near
    }

    /// Reads the reports of probes so far.
    pub(crate) fn hear(&mut self) {
        let mut bytes = [0_u8; Message::BYTES + 1];
        while let Ok(length) = self.near.recv(&mut bytes) {
            if let Some(message) = bytes.get(..length).and_then(Message::read) {
                self.note(&message);
            }
        }
    }

    fn note(&mut self, message: &Message) {
        let known = self.seen.iter_mut().find(|seen| seen.id == message.id);
        match (known, message.end) {
            (None, None) => self.seen.push(Seen {
                id: message.id,
                at: message.at,
                exit: None,
                ended: false,
            }),
            (Some(seen), Some(exit)) if !seen.ended => {
                seen.ended = true;
                seen.exit = exit;
            }
            // No probe sends this.
            (Some(seen), _) => seen.exit = None,
            (None, Some(_)) => {}
        }
        if self.seen.len() > STARTS_MAX {
            self.seen.truncate(STARTS_MAX);
            self.seen.iter_mut().for_each(|seen| seen.exit = None);
        }
    }

    /// Returns the reports, in the order of the starts.
    pub(crate) fn finish(mut self) -> Vec<Probed> {
        self.hear();
        let told = |seen: &Seen| Probed {
            at: seen.at,
            exit: seen.exit,
        };
        self.seen.iter().map(told).collect()
    }

    /// Writes the line that starts its probed commands through `program`; `None` if a place is invalid.
    pub(crate) fn line(&self, line: &str, spans: &[ProbedSpan], program: &str) -> Option<String> {
        let parked = self.parked.as_raw_fd();
        let mut inserted: Vec<(usize, String)> = Vec::with_capacity(spans.len() * 2);
        for span in spans {
            line.get(span.start..span.end)
                .filter(|text| !text.is_empty())?;
            let number = line
                .get(..span.start)?
                .bytes()
                .filter(|byte| *byte == b'\n')
                .count()
                + 1;
            let at = span.start;
            let program = program.replace('\'', r"'\''");
            inserted.push((at, format!("'{program}' exec --probe {at}:{number} -- ")));
            inserted.push((span.end, format!(" {PARKED_INPUT}<&0 <&{SAVED}")));
        }
        inserted.sort_by_key(|(at, _)| *at);
        let mut text = line.to_owned();
        for (at, words) in inserted.iter().rev() {
            text.insert_str(*at, words);
        }
        // Hidden behind a lower number than its own, the socket is kept at `SAVED` by every bash.
        let low = PARKED_INPUT;
        Some(format!(
            "exec {low}>&{parked} {parked}>&-; {{ exec {low}>&-; {text}\n}} >&{low}"
        ))
    }
}

/// Number of bytes that distinguish one start from another.
const ID: usize = 16;

/// A report of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    id: [u8; ID],
    at: usize,
    /// `None` for the start; `Some(None)` if a signal ended it.
    end: Option<Option<u8>>,
}

impl Message {
    const BYTES: usize = ID + 8 + 2;

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.id.to_vec();
        bytes.extend((self.at as u64).to_le_bytes());
        bytes.extend(match self.end {
            None => [0, 0],
            Some(Some(code)) => [1, code],
            Some(None) => [2, 0],
        });
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk::<ID>()?;
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let end = match rest {
            [0, 0] => None,
            [1, code] => Some(Some(*code)),
            [2, 0] => Some(None),
            _ => return None,
        };
        Some(Self {
            id: *id,
            at: usize::try_from(u64::from_le_bytes(*at)).ok()?,
            end,
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::{Channel, Message, STARTS_MAX};

    #[test]
    fn after_too_many_starts_nothing_is_known() {
        let mut channel = Channel::open().unwrap();
        let note = |channel: &mut Channel, number: usize, end: Option<Option<u8>>| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&number.to_le_bytes());
            channel.note(&Message { id, at: 0, end });
        };
        for number in 0..STARTS_MAX {
            note(&mut channel, number, None);
            note(&mut channel, number, Some(Some(0)));
        }
        assert!(channel.seen.iter().all(|seen| seen.exit == Some(0)));
        note(&mut channel, STARTS_MAX, None);
        let seen = channel.finish();
        assert_eq!(seen.len(), STARTS_MAX);
        assert!(seen.iter().all(|seen| seen.exit.is_none()));
    }
}
