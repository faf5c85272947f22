//! Asks a person at the terminal, line by line.

use std::os::fd::AsFd as _;

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{Errno, read},
    termios::{QueueSelector, tcflush},
};

use crate::{
    order::{Failed, Outcome},
    screen::Screen,
    tools::Question,
};
use interlock_process::{Cancel, Terminal};

/// Code of an activity that somebody cancelled.
const CANCELLED: i64 = 130;

/// Asks until an answer is valid, the input ends, or the question is cancelled.
pub(crate) fn ask(
    question: &Question,
    path: &str,
    terminal: &Terminal,
    screen: &dyn Screen,
    cancel: &Cancel,
) -> Outcome {
    let mut lines = Lines {
        terminal,
        cancel,
        ahead: Vec::new(),
    };
    screen.ask(path, &question.shown());
    loop {
        screen.ask(path, "> ");
        let typed = match lines.answer(question.multiline) {
            Typed::Text(typed) => typed,
            Typed::End => return Failed::new(1, "the input ended before an answer").into(),
            Typed::Stopped => return Failed::new(CANCELLED, "the question was withdrawn").into(),
        };
        match question.answer(&typed) {
            Ok(stdout) => {
                return Outcome::Done {
                    stdout,
                    stderr: String::new(),
                };
            }
            Err(why) => screen.ask(path, &format!("{why}\n")),
        }
    }
}

/// Asks for one of a few words until `meant` accepts one, the input ends, or the question is cancelled.
///
/// Input typed before the question is shown does not answer it.
pub(crate) fn choose<T>(
    terminal: &Terminal,
    screen: &dyn Screen,
    cancel: &Cancel,
    path: &str,
    text: &str,
    prompt: &str,
    meant: impl Fn(&str) -> Option<T>,
) -> Typed<T> {
    let mut lines = Lines {
        terminal,
        cancel,
        ahead: Vec::new(),
    };
    // If it cannot be discarded, it is shown before the question.
    let _ = tcflush(terminal.device(), QueueSelector::IFlush);
    screen.ask(path, text);
    loop {
        screen.ask(path, prompt);
        match lines.line() {
            Typed::Text(typed) => {
                if let Some(meant) = meant(&typed) {
                    return Typed::Text(meant);
                }
            }
            Typed::End => return Typed::End,
            Typed::Stopped => return Typed::Stopped,
        }
    }
}

/// Input of a person.
pub(crate) enum Typed<T = String> {
    Text(T),
    End,
    Stopped,
}

/// Lines typed at a terminal.
struct Lines<'a> {
    terminal: &'a Terminal,
    cancel: &'a Cancel,
    /// Bytes that were typed and not used yet.
    ahead: Vec<u8>,
}

impl Lines<'_> {
    fn answer(&mut self, multiline: bool) -> Typed {
        if !multiline {
            return self.line();
        }
        let mut lines: Vec<String> = Vec::new();
        loop {
            match self.line() {
                Typed::Text(line) if line.trim().is_empty() => break,
                Typed::Text(line) => lines.push(line),
                // The typed text is the answer.
                Typed::End if !lines.is_empty() => break,
                other => return other,
            }
        }
        Typed::Text(lines.join("\n"))
    }

    /// Returns the next line without its line break.
    fn line(&mut self) -> Typed {
        loop {
            if let Some(at) = self.ahead.iter().position(|byte| *byte == b'\n') {
                let rest = self.ahead.split_off(at + 1);
                let line = std::mem::replace(&mut self.ahead, rest);
                let line = String::from_utf8_lossy(&line);
                return Typed::Text(line.trim_end_matches(['\n', '\r']).to_owned());
            }
            if self.cancel.is_cancelled() {
                return Typed::Stopped;
            }
            if !self.wait() {
                continue;
            }
            let mut bytes = [0; 4096];
            match read(self.terminal.device(), &mut bytes) {
                Ok(0) => return self.end(),
                Ok(count) => self.ahead.extend(bytes.get(..count).unwrap_or_default()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                // The terminal is gone.
                Err(_) => return self.end(),
            }
        }
    }

    /// Returns the text before the end of the input, once.
    fn end(&mut self) -> Typed {
        if self.ahead.is_empty() {
            return Typed::End;
        }
        let line = std::mem::take(&mut self.ahead);
        Typed::Text(String::from_utf8_lossy(&line).into_owned())
    }

    /// Waits for the person or a cancellation; returns whether something was typed.
    fn wait(&self) -> bool {
        let device = self.terminal.device();
        let mut fds = [
            PollFd::from_borrowed_fd(device.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.cancel.cancelled_fd(), PollFlags::IN),
        ];
        if poll(&mut fds, None).is_err() {
            return false;
        }
        let [typed, _] = &fds;
        !typed.revents().is_empty()
    }
}
