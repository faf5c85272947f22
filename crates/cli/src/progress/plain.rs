//! Progress as lines: beginnings and ends on standard error, programs' output unchanged.

use std::{
    collections::HashMap,
    io::{self, IsTerminal as _, Write as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use interlock_core::{
    event::Event,
    machine::Machine,
    run::Run,
    visible::{one_line, visible_lines},
};
use interlock_process::Stream;
use interlock_runner::{Order, Outcome, Piece, Screen};
use interlock_view::narrator::under_way;

use super::{
    clean::Cleaner,
    words::{elapsed, ended, reason, says_its_end},
};
use crate::output::Output;

/// A screen of lines.
pub(super) struct Plain {
    state: Mutex<State>,
}

struct State {
    /// Filter for output to a terminal; `None` for other outputs, which get every byte.
    out: Option<Cleaner>,
    err: Option<Cleaner>,
    /// When each effect began.
    begun: HashMap<String, Instant>,
    /// Titles of running states, by their paths.
    titles: HashMap<String, String>,
    /// Whether the last output to standard error ended within a line.
    open: bool,
}

impl Plain {
    pub(super) fn new(output: Output) -> Self {
        let out = io::stdout().is_terminal();
        let err = io::stderr().is_terminal();
        Self {
            state: Mutex::new(State {
                out: out.then(|| Cleaner::new(output.colours())),
                err: err.then(|| Cleaner::new(output.colours_errors())),
                begun: HashMap::new(),
                titles: HashMap::new(),
                open: false,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Stores the title of a state, if it differs from its path.
    fn entitle(&mut self, order: &Order) {
        if order.title != order.path {
            self.titles.insert(order.path.clone(), order.title.clone());
        }
    }

    /// Writes a separate line.
    fn say(&mut self, line: &str) {
        let lead = if self.open { "\n" } else { "" };
        self.open = false;
        error(format!("{lead}{line}\n").as_bytes());
    }
}

/// Writes to standard error; its reader may be gone.
fn error(bytes: &[u8]) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(bytes).and_then(|()| stream.flush());
}

/// Writes to standard output; its reader may be gone.
pub(super) fn out(bytes: &[u8]) {
    let mut stream = io::stdout().lock();
    let _ = stream.write_all(bytes).and_then(|()| stream.flush());
}

impl Screen for Plain {
    fn begins(&self, order: &Order) {
        let mut state = self.state();
        state.begun.insert(order.id.clone(), Instant::now());
        state.entitle(order);
        let again = if order.attempt > 1 {
            format!(", try {}", order.attempt)
        } else {
            String::new()
        };
        state.say(&format!("[{}] started{again}", one_line(&order.title)));
    }

    fn ends(&self, order: &Order, outcome: &Outcome) {
        let mut state = self.state();
        state.titles.remove(&order.path);
        let time = state.begun.remove(&order.id).map(|began| began.elapsed());
        if says_its_end(order, outcome) {
            return;
        }
        let time = time.map_or_else(String::new, |time| format!(" ({})", elapsed(time)));
        let why = reason(outcome).map_or_else(String::new, |why| format!(": {why}"));
        state.say(&format!(
            "[{}] {}{time}{why}",
            one_line(&order.title),
            ended(order, outcome)
        ));
    }

    fn happened(&self, machine: &Machine, before: &Run, events: &[Event]) {
        for (path, line) in events
            .iter()
            .filter_map(|event| under_way(machine, before, event))
        {
            self.state().say(&format!("[{path}] {line}"));
        }
    }

    fn said(&self, _: &str, piece: Piece<'_>) {
        let mut state = self.state();
        match piece {
            Piece::Text(text) => {
                state.open = !text.ends_with('\n');
                match &mut state.err {
                    Some(cleaner) => error(cleaner.take(text.as_bytes()).as_bytes()),
                    None => error(text.as_bytes()),
                }
            }
            Piece::End if state.open => {
                state.open = false;
                error(b"\n");
            }
            Piece::End | Piece::Thinking(_) | Piece::Calling(_) => {}
        }
    }

    fn show(&self, _: &str, stream: Stream, bytes: &[u8]) {
        let mut state = self.state();
        match stream {
            Stream::Out => match &mut state.out {
                Some(cleaner) => out(cleaner.take(bytes).as_bytes()),
                None => out(bytes),
            },
            Stream::Err => {
                state.open = !bytes.ends_with(b"\n");
                match &mut state.err {
                    Some(cleaner) => error(cleaner.take(bytes).as_bytes()),
                    None => error(bytes),
                }
            }
        }
    }

    fn ask(&self, _: &str, text: &str) {
        let mut state = self.state();
        state.open = false;
        error(visible_lines(text).as_bytes());
    }

    fn warn(&self, path: &str, text: &str) {
        let mut state = self.state();
        let title = state.titles.get(path).map_or(path, String::as_str);
        let line = format!("[{}] warning: {}", one_line(title), one_line(text));
        state.say(&line);
    }
}
