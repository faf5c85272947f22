//! Output of programs between the events, as JSON lines.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use interlock_core::visible::{visible_json, visible_lines};
use interlock_process::Stream;
use interlock_runner::Screen;
use interlock_store::{EventLog as _, RunLog};
use serde_json::{Value, json};

use crate::{failure::Failure, log_line::line};

/// Writes output; a closed pipe does not end a run.
fn put(to: &mut impl io::Write, bytes: &[u8]) {
    let _ = to.write_all(bytes).and_then(|()| to.flush());
}

/// Prints one JSON object per line: recorded events, and the output of programs in between.
pub(super) struct Lines {
    /// A separate reader of the log, and the number of the next event.
    followed: Mutex<Followed>,
}

struct Followed {
    log: RunLog,
    next: u64,
}

impl Lines {
    /// Follows `log` from its event number `next` on.
    pub(super) fn new(log: RunLog, next: u64) -> Self {
        Self {
            followed: Mutex::new(Followed { log, next }),
        }
    }

    /// Prints what was recorded since, followed by `last`.
    pub(super) fn catch_up(&self, last: Option<&Value>) -> Result<(), Failure> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let Followed { log, next } = &mut *followed;
        let mut printed = String::new();
        if log.count()? > *next {
            for recorded in log.events(*next) {
                let recorded = recorded?;
                *next = recorded.seq + 1;
                printed.push_str(&visible_json(serde_json::to_string(&line(&recorded)?)?));
                printed.push('\n');
            }
        }
        if let Some(last) = last {
            printed.push_str(&visible_json(serde_json::to_string(last)?));
            printed.push('\n');
        }
        if !printed.is_empty() {
            put(&mut io::stdout().lock(), printed.as_bytes());
        }
        Ok(())
    }

    /// Prints `first` before anything else.
    pub(super) fn begin(&self, first: &Value) {
        put(
            &mut io::stdout().lock(),
            format!("{}\n", visible_json(first.to_string())).as_bytes(),
        );
    }

    fn say(&self, said: &Value) {
        // The events can still be read from the log; the output cannot.
        if self.catch_up(Some(said)).is_err() {
            put(
                &mut io::stdout().lock(),
                format!("{}\n", visible_json(said.to_string())).as_bytes(),
            );
        }
    }
}

impl Screen for Lines {
    fn show(&self, path: &str, stream: Stream, bytes: &[u8]) {
        let stream = match stream {
            Stream::Out => "stdout",
            Stream::Err => "stderr",
        };
        let text = String::from_utf8_lossy(bytes);
        self.say(&json!({ "event": "Output", "path": path, "stream": stream, "text": text }));
    }

    fn ask(&self, _: &str, text: &str) {
        put(&mut io::stderr().lock(), visible_lines(text).as_bytes());
    }

    fn warn(&self, path: &str, text: &str) {
        self.say(&json!({ "event": "Warning", "path": path, "message": text }));
    }
}
