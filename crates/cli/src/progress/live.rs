//! The tree at the bottom of a terminal, redrawn while the run continues.

use std::{
    collections::HashMap,
    io::{self, IsTerminal as _, Write as _},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use interlock_core::{
    command::Effect,
    event::Event,
    machine::Machine,
    names::FramePath,
    place::{shown_path, title},
    run::Run,
    visible::{one_line, visible_lines},
};
use interlock_process::{Stream, Terminal};
use interlock_runner::{Order, Outcome, Piece, Screen};
use interlock_view::narrator::under_way;

use super::{
    area::{Area, Look, Part, painted},
    clean::{Cleaner, last_line},
    plain,
    rows::{Kind, Row, rows},
    words::{End, elapsed, end_of, ended, owns_terminal, reason, says_its_end},
};
use crate::{live::now_ms, output::Output};

/// Interval of frames.
const FRAME: Duration = Duration::from_millis(100);
/// Maximum number of rows of a tree.
const ROWS_MAX: usize = 20;
/// Number of loop items from which a successful state prints no line.
const ITEMS_QUIET: u64 = 20;
/// Assumed size of a terminal that does not report its own.
const SIZE: (u16, u16) = (24, 80);

const WHEEL: [&str; 10] = [
    "\u{280b}", "\u{2819}", "\u{2839}", "\u{2838}", "\u{283c}", "\u{2834}", "\u{2826}", "\u{2827}",
    "\u{2807}", "\u{280f}",
];
const WHEEL_ASCII: [&str; 4] = ["|", "/", "-", "\\"];

/// A tree at the bottom of a terminal.
pub(super) struct Live {
    shared: Arc<Shared>,
    ticker: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    closed: Condvar,
}

struct State {
    terminal: Terminal,
    colours: bool,
    unicode: bool,
    area: Area,
    rows: Vec<Row>,
    /// Last line that each state printed.
    said: HashMap<String, String>,
    /// When each effect began.
    begun: HashMap<String, Instant>,
    /// Titles of running states by their paths, if they differ.
    titles: HashMap<String, String>,
    /// Number of effects that own the terminal.
    owners: usize,
    /// Whether the last output ended within a line.
    open: bool,
    /// Whether something else uses the terminal, such as a password prompt.
    taken: bool,
    /// Whether the terminal echoed input at the start.
    was_plain: bool,
    out: Option<Cleaner>,
    err: Cleaner,
    tick: usize,
    closed: bool,
    /// Whether the terminal is gone.
    gone: bool,
    /// Set when this process continues after it was stopped.
    continued: Arc<AtomicBool>,
}

impl Live {
    pub(super) fn new(terminal: Terminal, output: Output) -> Self {
        let continued = Arc::new(AtomicBool::new(false));
        // Without it, a tree is drawn once over the shell's message.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGCONT, Arc::clone(&continued));
        let colours = output.colours_errors();
        let state = State {
            was_plain: terminal.is_plain(),
            terminal,
            colours,
            unicode: speaks_utf8(),
            area: Area::default(),
            rows: Vec::new(),
            said: HashMap::new(),
            begun: HashMap::new(),
            titles: HashMap::new(),
            owners: 0,
            open: false,
            taken: false,
            out: io::stdout().is_terminal().then(|| Cleaner::new(colours)),
            err: Cleaner::new(colours),
            tick: 0,
            closed: false,
            gone: false,
            continued,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            closed: Condvar::new(),
        });
        let turned = Arc::clone(&shared);
        // Without it, the tree is drawn only when something happens.
        let ticker = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || turned.turn())
            .ok();
        Self {
            shared,
            ticker: Mutex::new(ticker),
        }
    }

    /// Erases the tree permanently.
    pub(super) fn close(&self) {
        {
            let mut state = self.shared.state();
            state.erase();
            state.rows.clear();
            state.closed = true;
        }
        self.shared.closed.notify_all();
        let mut ticker = self.ticker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ticker) = ticker.take() {
            // A screen that panicked shows nothing any more.
            let _ = ticker.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws frame after frame until the screen is closed.
    fn turn(&self) {
        let mut state = self.state();
        while !state.closed {
            let (next, _) = self
                .closed
                .wait_timeout(state, FRAME)
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
            if !state.closed && !state.rows.is_empty() {
                state.tick = state.tick.wrapping_add(1);
                state.redraw();
            }
        }
    }
}

impl State {
    /// Writes to the terminal; a terminal that is gone is not written to again.
    fn write(&mut self, text: &str) {
        if self.gone || text.is_empty() {
            return;
        }
        let mut stream = io::stderr().lock();
        let written = stream
            .write_all(text.as_bytes())
            .and_then(|()| stream.flush());
        self.gone = written.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
    }

    fn size(&self) -> (usize, usize) {
        let (rows, columns) = self.terminal.size().unwrap_or(SIZE);
        (rows.into(), columns.into())
    }

    fn erase(&mut self) {
        if self.continued.swap(false, Ordering::Relaxed) || self.taken {
            self.area.forget();
        }
        let (_, columns) = self.size();
        let text = self.area.erase(columns);
        self.write(&text);
    }

    /// Redraws the tree, unless something else owns the last line.
    fn redraw(&mut self) {
        if self.gone {
            return;
        }
        let taken = self.was_plain && !self.terminal.is_plain();
        if taken && !self.taken {
            // Whatever uses the terminal now is after the tree, which stays in place.
            self.area.forget();
        }
        if !taken && self.taken {
            self.write("\r\n");
        }
        self.taken = taken;
        if taken || self.open || self.owners > 0 || self.closed {
            return;
        }
        self.erase();
        let (rows, columns) = self.size();
        let lines = self.lines(rows);
        let text = self.area.draw(&lines, columns, self.colours);
        self.write(&text);
    }

    /// Returns the lines of the tree on a terminal with this many rows.
    fn lines(&self, rows: usize) -> Vec<Vec<Part>> {
        let most = rows.saturating_sub(1).clamp(1, ROWS_MAX);
        let all = self.rows.len();
        if all <= most {
            return self.rows.iter().map(|row| self.line(row)).collect();
        }
        if most == 1 {
            // Running states are more informative than those that contain them.
            let runs = |row: &&Row| matches!(row.kind, Kind::Runs { .. });
            let row = self.rows.iter().find(runs).or(self.rows.first());
            return row.map(|row| self.whole(row)).into_iter().collect();
        }
        let shown = self.rows.iter().take(most - 1).map(|row| self.line(row));
        let mut lines: Vec<Vec<Part>> = shown.collect();
        let rest = all - lines.len();
        let dots = if self.unicode { "\u{2026}" } else { "..." };
        lines.push(vec![Part::new(
            Look::Dim,
            format!("{dots} and {rest} more"),
        )]);
        lines
    }

    /// Returns the row that represents the whole tree.
    fn whole(&self, row: &Row) -> Vec<Part> {
        let row = Row {
            depth: 0,
            name: row.title.clone(),
            ..row.clone()
        };
        self.line(&row)
    }

    fn line(&self, row: &Row) -> Vec<Part> {
        let mut line = vec![Part::new(Look::Plain, "  ".repeat(row.depth))];
        let (mark, look) = self.mark(&row.kind);
        line.push(Part::new(look, mark));
        line.push(Part::new(Look::Bold, format!(" {}", one_line(&row.name))));
        if let Some(note) = note(&row.kind) {
            line.push(Part::new(Look::Plain, format!("  {note}")));
        }
        line.push(Part::new(Look::Dim, format!("  {}", self.time(row))));
        if let (Kind::Runs { .. }, Some(said)) = (&row.kind, self.said.get(&row.path)) {
            line.push(Part::new(Look::Dim, format!("  {said}")));
        }
        line
    }

    fn mark(&self, kind: &Kind) -> (&'static str, Look) {
        let wheel: &[&'static str] = if self.unicode { &WHEEL } else { &WHEEL_ASCII };
        let turned = wheel.get(self.tick % wheel.len()).copied();
        let (fine, plain, look) = match kind {
            Kind::Holds | Kind::Loop { .. } => ("\u{25be}", "+", Look::Dim),
            Kind::Runs { .. } => return (turned.unwrap_or("*"), Look::Yellow),
            Kind::Waits { .. } => ("\u{25cc}", "~", Look::Yellow),
            Kind::Stands => ("?", "?", Look::Yellow),
        };
        (if self.unicode { fine } else { plain }, look)
    }

    /// Returns how long a row has been there.
    fn time(&self, row: &Row) -> String {
        let began = match &row.kind {
            Kind::Runs { id, .. } => self.begun.get(id),
            _ => None,
        };
        elapsed(began.map_or_else(|| since(row.since_ms), Instant::elapsed))
    }

    /// Writes a line above the tree.
    fn say(&mut self, line: &[Part]) {
        self.erase();
        let lead = if self.open { "\r\n" } else { "" };
        self.open = false;
        let text = format!("{lead}{}\r\n", painted(line, self.colours));
        self.write(&text);
        self.redraw();
    }

    /// Reports how something ended.
    fn say_end(&mut self, end: End, path: &str, how: &str, time: Duration, why: Option<&str>) {
        let (fine, plain, look) = match end {
            End::Done => ("\u{2713}", "ok", Look::Green),
            End::Failed => ("\u{2717}", "x", Look::Red),
            End::Cancelled => ("\u{25a0}", "#", Look::Red),
        };
        let mut line = vec![
            Part::new(look, if self.unicode { fine } else { plain }),
            Part::new(Look::Plain, format!(" {}", one_line(path))),
        ];
        if !how.is_empty() {
            line.push(Part::new(look, format!("  {how}")));
        }
        line.push(Part::new(Look::Dim, format!("  {}", elapsed(time))));
        if let Some(why) = why {
            line.push(Part::new(Look::Plain, format!("  {why}")));
        }
        self.say(&line);
    }

    /// Returns whether a successful state prints no line, being one of very many.
    fn is_one_of_many(&self, path: &str) -> bool {
        self.rows.iter().any(|row| {
            matches!(row.kind, Kind::Loop { all, .. } if all > ITEMS_QUIET)
                && path.starts_with(&format!("{}/", row.path))
        })
    }

    /// Shows a program's output on the terminal with the tree.
    fn show_cleaned(&mut self, stream: Stream, bytes: &[u8]) {
        let text = match (stream, &mut self.out) {
            (Stream::Out, Some(out)) => out.take(bytes),
            _ => self.err.take(bytes),
        };
        if text.is_empty() {
            return;
        }
        self.erase();
        self.open = !text.ends_with('\n');
        match stream {
            Stream::Out => plain::out(text.as_bytes()),
            Stream::Err => self.write(&text),
        }
        if !self.open && self.colours {
            self.write("\u{1b}[0m");
        }
        self.redraw();
    }
}

impl Screen for Live {
    fn begins(&self, order: &Order) {
        let mut state = self.shared.state();
        state.begun.insert(order.id.clone(), Instant::now());
        if order.title != order.path {
            let (path, title) = (order.path.clone(), order.title.clone());
            state.titles.insert(path, title);
        }
        if owns_terminal(order) {
            state.erase();
            state.owners += 1;
        }
    }

    fn ends(&self, order: &Order, outcome: &Outcome) {
        let mut state = self.shared.state();
        if owns_terminal(order) {
            state.owners = state.owners.saturating_sub(1);
            state.open = false;
        }
        let began = state.begun.remove(&order.id);
        state.said.remove(&order.path);
        let end = end_of(outcome);
        state.titles.remove(&order.path);
        if end == End::Done && state.is_one_of_many(&order.path) || says_its_end(order, outcome) {
            return;
        }
        let how = match (end, order.attempt) {
            (End::Done, 1) => String::new(),
            _ => ended(order, outcome),
        };
        let time = began.map(|began| began.elapsed()).unwrap_or_default();
        let why = reason(outcome);
        state.say_end(end, &order.title, &how, time, why.as_deref());
    }

    fn happened(&self, machine: &Machine, before: &Run, events: &[Event]) {
        let mut listed = None;
        for event in events {
            if let Event::ItemsListed { path, items } = event {
                listed = Some((path, items.len()));
            }
            if let Some((path, line)) = under_way(machine, before, event) {
                let parts = [
                    Part::new(Look::Dim, format!("  {path}  ")),
                    Part::new(Look::Plain, line),
                ];
                self.shared.state().say(&parts);
            }
            let (path, failed, how) = match event {
                // The branches that met continue.
                Event::Joined { lines, .. } if !lines.is_empty() => continue,
                Event::Joined {
                    path,
                    failed,
                    cause,
                    ..
                } => {
                    let now = listed.filter(|(of, _)| *of == path).map(|(_, items)| items);
                    let items = now.or_else(|| items_of(before, path));
                    let how = items.map(|items| items_ended(items, *failed));
                    (path, cause.is_some(), how.unwrap_or_default())
                }
                Event::MachineReturned { path, cause, .. } => {
                    (path, cause.is_some(), String::new())
                }
                _ => continue,
            };
            let shown = shown_path(machine, before, path);
            let title = title(machine, before, path);
            let entered = before.frame(path).map(|frame| frame.stay.entered_ms);
            let end = if failed { End::Failed } else { End::Done };
            let time = since(entered.unwrap_or_default());
            let mut state = self.shared.state();
            if end == End::Failed || !state.is_one_of_many(&shown) {
                state.say_end(end, &title, &how, time, None);
            }
        }
    }

    fn stands(&self, machine: &Machine, run: &Run, effects: &[Effect]) {
        let rows = rows(machine, run, effects);
        let mut state = self.shared.state();
        state.rows = rows;
        if state.closed {
            state.rows.clear();
        }
    }

    fn said(&self, path: &str, piece: Piece<'_>) {
        match piece {
            Piece::Text(text) => self.show(path, Stream::Err, text.as_bytes()),
            Piece::End if self.shared.state().open => self.show(path, Stream::Err, b"\n"),
            Piece::Calling(tool) => {
                let mut state = self.shared.state();
                state.said.insert(path.to_owned(), one_line(tool));
            }
            Piece::End | Piece::Thinking(_) => {}
        }
    }

    fn asking(&self, _: &str, begins: bool) {
        let mut state = self.shared.state();
        if begins {
            state.erase();
            state.owners += 1;
        } else {
            state.owners = state.owners.saturating_sub(1);
            state.open = false;
        }
    }

    fn show(&self, path: &str, stream: Stream, bytes: &[u8]) {
        let mut state = self.shared.state();
        if let Some(line) = last_line(bytes) {
            state.said.insert(path.to_owned(), line);
        }
        if stream == Stream::Out && state.out.is_none() {
            plain::out(bytes);
        } else {
            state.show_cleaned(stream, bytes);
        }
    }

    fn ask(&self, _: &str, text: &str) {
        let mut state = self.shared.state();
        state.erase();
        let lead = if state.open { "\r\n" } else { "" };
        state.open = false;
        let text = format!("{lead}{}", visible_lines(text));
        state.write(&text);
    }

    fn warn(&self, path: &str, text: &str) {
        let mut state = self.shared.state();
        let title = state.titles.get(path).map_or(path, String::as_str);
        let line = [
            Part::new(Look::Yellow, "warning: "),
            Part::new(
                Look::Plain,
                format!("{}: {}", one_line(title), one_line(text)),
            ),
        ];
        state.say(&line);
    }
}

/// Returns the note of a row after its name.
fn note(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Loop { ended, failed, all } => {
            let failed = match failed {
                0 => String::new(),
                some => format!(", {some} failed"),
            };
            Some(format!("{ended}/{all}{failed}"))
        }
        Kind::Runs { attempt, .. } if *attempt > 1 => Some(format!("try {attempt}")),
        Kind::Waits { until_ms, attempt } => {
            let next = attempt + 1;
            let left = Duration::from_millis(until_ms.saturating_sub(now_ms()));
            Some(format!("try {next} in {}", elapsed(left)))
        }
        Kind::Stands => Some("waits for a person".to_owned()),
        Kind::Holds | Kind::Runs { .. } => None,
    }
}

/// Describes how many items a loop had.
fn items_ended(all: usize, failed: u64) -> String {
    let items = if all == 1 { "item" } else { "items" };
    match failed {
        0 => format!("{all} {items}"),
        some => format!("{all} {items}, {some} failed"),
    }
}

/// Returns the number of lines of text for which the state at `path` runs a machine, if it does.
fn items_of(run: &Run, path: &FramePath) -> Option<usize> {
    let items = run.frame(path)?.stay.items()?;
    Some(items.all.len())
}

/// Returns the time since a moment in milliseconds since 1970.
fn since(at_ms: u64) -> Duration {
    if at_ms == 0 {
        return Duration::ZERO;
    }
    Duration::from_millis(now_ms().saturating_sub(at_ms))
}

/// Returns whether the terminal shows more than ASCII, according to the environment.
fn speaks_utf8() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    set.is_some_and(|value| {
        let value = value.to_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}
