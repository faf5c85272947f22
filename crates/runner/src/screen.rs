//! What a person sees of running programs.

use std::{fmt, sync::Arc};

use interlock_core::{command::Effect, event::Event, machine::Machine, run::Run};
use interlock_process::Stream;

use crate::order::{Order, Outcome};

/// Length in bytes after which the rest of a line is shown as another line.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Shows the output of programs and the progress of the run.
///
/// Errors of showing something are up to the screen: nothing here fails because of them.
pub trait Screen: Send + Sync {
    /// Reports that `order` begins.
    ///
    /// A question to a person, or a program that owns the terminal, has it until [`Screen::ends`].
    fn begins(&self, order: &Order) {
        let _ = order;
    }

    /// Reports the outcome of `order`.
    fn ends(&self, order: &Order, outcome: &Outcome) {
        let _ = (order, outcome);
    }

    /// Reports events that are now in the log; `before` is the run without them.
    fn happened(&self, machine: &Machine, before: &Run, events: &[Event]) {
        let _ = (machine, before, events);
    }

    /// Reports the state of the run and its effects, before the runner waits.
    fn stands(&self, machine: &Machine, run: &Run, effects: &[Effect]) {
        let _ = (machine, run, effects);
    }

    /// Shows `bytes` that the state at `path` printed: as lines with their label, or unchanged.
    fn show(&self, path: &str, stream: Stream, bytes: &[u8]);

    /// Reports what a model says in the stage at `path`, as it arrives.
    fn said(&self, path: &str, piece: Piece<'_>) {
        let _ = (path, piece);
    }

    /// Reports that a person is asked at the terminal about the state at `path`, or no longer is.
    fn asking(&self, path: &str, begins: bool) {
        let _ = (path, begins);
    }

    /// Shows a question to the person, who answers at the terminal.
    fn ask(&self, path: &str, text: &str);

    /// Shows a warning about the state at `path`.
    fn warn(&self, path: &str, text: &str);
}

/// A piece of what a model says.
///
/// Only a complete message counts: pieces before a repeated call of the model may be discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text.
    Text(&'a str),
    /// Thinking before the answer.
    Thinking(&'a str),
    /// Start of a tool call, before its arguments.
    Calling(&'a str),
    /// End of the message, complete or not.
    End,
}

/// A screen that shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullScreen;

impl Screen for NullScreen {
    fn show(&self, _: &str, _: Stream, _: &[u8]) {}
    fn ask(&self, _: &str, _: &str) {}
    fn warn(&self, _: &str, _: &str) {}
}

/// One output of one program on its way to the screen.
pub(crate) struct Shown {
    screen: Arc<dyn Screen>,
    path: String,
    stream: Stream,
    /// Prefix of each line; `None` if bytes are passed on unchanged.
    label: Option<String>,
    /// A line that has not ended yet.
    partial: Vec<u8>,
}

impl Shown {
    pub(crate) fn new(
        screen: Arc<dyn Screen>,
        path: &str,
        stream: Stream,
        label: Option<&str>,
    ) -> Self {
        Self {
            screen,
            path: path.to_owned(),
            stream,
            label: label.map(|label| format!("{label}: ")),
            partial: Vec::new(),
        }
    }

    /// Shows bytes that have arrived.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.label.is_none() {
            self.screen.show(&self.path, self.stream, bytes);
            return;
        }
        let mut ready = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(part);
            if part.ends_with(b"\n") || self.partial.len() >= LINE_BYTES_MAX {
                self.end_line(&mut ready);
            }
        }
        if !ready.is_empty() {
            self.screen.show(&self.path, self.stream, &ready);
        }
    }

    /// Shows the last line, whether complete or not.
    pub(crate) fn finish(&mut self) {
        if !self.partial.is_empty() {
            let mut ready = Vec::new();
            self.end_line(&mut ready);
            self.screen.show(&self.path, self.stream, &ready);
        }
    }

    fn end_line(&mut self, ready: &mut Vec<u8>) {
        ready.extend_from_slice(self.label.as_deref().unwrap_or_default().as_bytes());
        ready.append(&mut self.partial);
        if !ready.ends_with(b"\n") {
            ready.push(b'\n');
        }
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::sync::{Arc, Mutex};

    use interlock_process::Stream;

    use super::{Screen, Shown};

    #[derive(Default)]
    struct Seen(Mutex<String>);

    impl Screen for Seen {
        fn show(&self, _: &str, _: Stream, bytes: &[u8]) {
            let mut seen = self.0.lock().unwrap();
            seen.push_str(&String::from_utf8_lossy(bytes));
        }
        fn ask(&self, _: &str, _: &str) {}
        fn warn(&self, _: &str, _: &str) {}
    }

    fn shown(label: Option<&str>, parts: &[&str]) -> String {
        let seen = Arc::new(Seen::default());
        let mut shown = Shown::new(Arc::clone(&seen) as _, "a", Stream::Out, label);
        for part in parts {
            shown.take(part.as_bytes());
        }
        shown.finish();
        seen.0.lock().unwrap().clone()
    }

    #[test]
    fn lines_of_branches_have_their_name_before_them() {
        let parts = ["a\nb", "c\n\nd"];
        assert_eq!(shown(Some("0"), &parts), "0: a\n0: bc\n0: \n0: d\n");
    }

    #[test]
    fn a_program_alone_is_shown_as_it_prints() {
        assert_eq!(shown(None, &["a\nb", "c"]), "a\nbc");
    }
}
