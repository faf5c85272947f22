//! The contents of the screen, and how a key or an update changes them. Pure.

#[cfg(test)]
mod tests;

use interlock_core::{
    names::{ApprovalId, RunId},
    pending::Pending,
};

use crate::review::Review;

/// A run as one row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Id of the run.
    pub(crate) run: RunId,
    /// Name of the run, or of its workflow.
    pub(crate) workflow: String,
    /// Current state.
    pub(crate) state: String,
    /// Status in one word.
    pub(crate) status: String,
    /// Client of the guarded session.
    pub(crate) client: String,
    /// Creation time, in milliseconds since 1970.
    pub(crate) created_ms: u64,
    /// Whether it has ended.
    pub(crate) over: bool,
}

/// A request that waits for a person, with its run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waiting {
    /// The run.
    pub(crate) run: RunId,
    /// Its workflow.
    pub(crate) workflow: String,
    /// The request.
    pub(crate) pending: Pending,
}

/// A snapshot of the runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Look {
    /// All runs, newest first.
    pub(crate) rows: Vec<Row>,
    /// Open requests of all runs.
    pub(crate) waiting: Vec<Waiting>,
    /// Run whose log this is, and its last lines.
    pub(crate) log: Option<(RunId, Vec<String>)>,
    /// Request whose review this is.
    pub(crate) review: Option<(RunId, ApprovalId, Review)>,
    /// Time of the snapshot.
    pub(crate) now_ms: u64,
    /// What could not be read.
    pub(crate) trouble: Option<String>,
}

/// A key with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A letter.
    Letter(char),
    /// To the line above.
    Up,
    /// To the line below.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first line.
    Home,
    /// To the last line.
    End,
    /// To the next pane.
    Tab,
    /// To the pane before.
    BackTab,
    /// Confirms or sends.
    Enter,
    /// Declines or goes back.
    Escape,
    /// Deletes a letter.
    Backspace,
    /// Stops at once.
    Interrupt,
}

/// The part of the screen with the focus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    /// The list of runs.
    #[default]
    Runs,
    /// The open requests.
    Waiting,
    /// The log of the selected run.
    Log,
}

/// What covers the panes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Over {
    /// Nothing.
    #[default]
    Nothing,
    /// The keys.
    Help,
    /// A request about to be approved, shown from this line on.
    Approve(Waiting, u16),
    /// A request about to be rejected, and the note so far.
    Reject(Waiting, String),
}

/// An action outside the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Leave the program.
    Quit,
    /// Leave it as interrupted.
    Interrupt,
    /// Approve this request.
    Approve(Waiting),
    /// Reject this request, with a note.
    Reject(Waiting, Option<String>),
}

/// What the person has selected.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Selection {
    /// Run whose log is shown.
    pub(crate) run: Option<RunId>,
    /// Request that is about to be answered.
    pub(crate) asked: Option<Waiting>,
}

/// The contents of the screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Model {
    /// The last snapshot of the runs.
    pub(crate) look: Look,
    /// Pane with the focus.
    pub(crate) pane: Pane,
    /// What covers the panes.
    pub(crate) over: Over,
    /// The selected run; `None` if there is none.
    pub(crate) selected: Option<RunId>,
    /// Index of the selected request.
    pub(crate) waiting: usize,
    /// Number of log lines below the last one shown; 0 to follow the log.
    pub(crate) back: usize,
    /// Outcome of the last answer.
    pub(crate) said: Option<String>,
}

/// Number of lines that a page key moves by.
const PAGE: usize = 10;
/// The same in a question.
const PAGE_OF_QUESTION: u16 = 10;
/// Maximum number of characters of a note.
const NOTE_CHARS_MAX: usize = 500;

impl Model {
    /// Takes over a new snapshot; the selection stays, if it still exists.
    pub(crate) fn see(&mut self, look: Look) {
        let before = self.meant().cloned();
        let log = match (look.log.is_some(), self.look.log.take()) {
            (false, Some(known)) => Some(known),
            _ => look.log.clone(),
        };
        self.look = Look { log, ..look };
        let still = |run: &RunId| self.look.rows.iter().any(|row| row.run == *run);
        if !self.selected.as_ref().is_some_and(still) {
            self.selected = self.look.rows.first().map(|row| row.run.clone());
            self.back = 0;
        }
        let same = |one: &Waiting| {
            before
                .as_ref()
                .is_some_and(|was| was.run == one.run && was.pending.id() == one.pending.id())
        };
        let found = self.look.waiting.iter().position(same);
        let last = self.look.waiting.len().saturating_sub(1);
        self.waiting = found.unwrap_or_else(|| self.waiting.min(last));
        self.lapse();
    }

    /// Returns what must be read.
    pub(crate) fn wanted(&self) -> Selection {
        let asked = match &self.over {
            Over::Approve(asked, _) | Over::Reject(asked, _) => Some(asked.clone()),
            Over::Nothing | Over::Help => None,
        };
        Selection {
            run: self.selected.clone(),
            asked,
        }
    }

    /// Returns what an approval of `asked` means, once known.
    pub(crate) fn review_of(&self, asked: &Waiting) -> Option<&Review> {
        let (run, id, review) = self.look.review.as_ref()?;
        (*run == asked.run && *id == asked.pending.id()).then_some(review)
    }

    /// Removes a question that is no longer open.
    fn lapse(&mut self) {
        let asked = match &self.over {
            Over::Approve(asked, _) | Over::Reject(asked, _) => asked,
            Over::Nothing | Over::Help => return,
        };
        let waits = |one: &Waiting| one.run == asked.run && one.pending.id() == asked.pending.id();
        if !self.look.waiting.iter().any(waits) {
            self.said = Some(format!(
                "{} of {} waits no more: it was answered elsewhere, or is void",
                asked.pending.id(),
                asked.run
            ));
            self.over = Over::Nothing;
        }
    }

    /// Returns the request that the answer keys refer to.
    pub(crate) fn meant(&self) -> Option<&Waiting> {
        self.look.waiting.get(self.waiting)
    }

    /// Returns the index of the selected row.
    pub(crate) fn row(&self) -> usize {
        let selected = self.selected.as_ref();
        let rows = self.look.rows.iter();
        let mut known = rows.map(|row| Some(&row.run) == selected);
        known.position(|is| is).unwrap_or(0)
    }

    /// Returns the log of the selected run, once it is read.
    pub(crate) fn log(&self) -> &[String] {
        match &self.look.log {
            Some((run, lines)) if Some(run) == self.selected.as_ref() => lines,
            _ => &[],
        }
    }

    /// Handles a key; returns the action that it requests.
    pub(crate) fn press(&mut self, key: Key) -> Option<Act> {
        if key == Key::Interrupt {
            return Some(Act::Interrupt);
        }
        match std::mem::take(&mut self.over) {
            Over::Nothing => self.press_pane(key),
            // Any key closes the help.
            Over::Help => None,
            Over::Approve(asked, from) => self.press_approve(asked, from, key),
            Over::Reject(asked, note) => self.press_reject(asked, note, key),
        }
    }

    fn press_approve(&mut self, asked: Waiting, from: u16, key: Key) -> Option<Act> {
        let from = match key {
            Key::Letter('y' | 'Y') => return Some(Act::Approve(asked)),
            Key::Letter('n' | 'N' | 'q') | Key::Escape => {
                self.said = Some("nothing was answered".to_owned());
                return None;
            }
            Key::Up | Key::Letter('k') => from.saturating_sub(1),
            Key::Down | Key::Letter('j') => from.saturating_add(1),
            Key::PageUp => from.saturating_sub(PAGE_OF_QUESTION),
            Key::PageDown | Key::Letter(' ') => from.saturating_add(PAGE_OF_QUESTION),
            _ => from,
        };
        self.over = Over::Approve(asked, from);
        None
    }

    fn press_reject(&mut self, asked: Waiting, mut note: String, key: Key) -> Option<Act> {
        match key {
            Key::Enter => {
                let note = note.trim().to_owned();
                return Some(Act::Reject(asked, (!note.is_empty()).then_some(note)));
            }
            Key::Escape => {
                self.said = Some("nothing was answered".to_owned());
                return None;
            }
            Key::Backspace => {
                note.pop();
            }
            Key::Letter(letter) if note.chars().count() < NOTE_CHARS_MAX => note.push(letter),
            _ => {}
        }
        self.over = Over::Reject(asked, note);
        None
    }

    fn press_pane(&mut self, key: Key) -> Option<Act> {
        match key {
            Key::Letter('q') => return Some(Act::Quit),
            Key::Letter('?' | 'h') => self.over = Over::Help,
            Key::Letter('a') => self.ask(|asked| Over::Approve(asked, 0)),
            Key::Letter('r') => self.ask(|asked| Over::Reject(asked, String::new())),
            Key::Tab | Key::Letter('l') => self.pane = self.next_pane(),
            Key::BackTab => self.pane = self.pane_before(),
            Key::Enter if self.pane == Pane::Waiting => self.select_run_that_waits(),
            Key::Enter => self.pane = Pane::Log,
            Key::Escape => self.pane = Pane::Runs,
            Key::Up | Key::Letter('k') => self.step(-1),
            Key::Down | Key::Letter('j') => self.step(1),
            Key::PageUp => self.step(-(PAGE as isize)),
            Key::PageDown => self.step(PAGE as isize),
            Key::Home | Key::Letter('g') => self.step(isize::MIN),
            Key::End | Key::Letter('G') => self.step(isize::MAX),
            _ => {}
        }
        None
    }

    /// Puts a question about the selected request over the panes.
    fn ask(&mut self, question: impl FnOnce(Waiting) -> Over) {
        // The answer is for what the eye is on: the selected run's own request, unless another line is chosen.
        let chosen = if self.pane == Pane::Waiting {
            self.meant().cloned()
        } else {
            let selected = self.selected.as_ref();
            let mut own = self
                .look
                .waiting
                .iter()
                .filter(|one| Some(&one.run) == selected);
            match (own.next(), own.next()) {
                (Some(only), None) => Some(only.clone()),
                (Some(_), Some(_)) => {
                    self.pane = Pane::Waiting;
                    self.waiting = self.first_of_selected();
                    self.said = Some("several wait: choose one, then answer".to_owned());
                    return;
                }
                (None, _) => None,
            }
        };
        match chosen {
            Some(asked) => {
                self.said = None;
                self.over = question(asked);
            }
            None => self.said = Some("nothing waits for an answer here".to_owned()),
        }
    }

    fn first_of_selected(&self) -> usize {
        let selected = self.selected.as_ref();
        let mut waiting = self.look.waiting.iter();
        waiting
            .position(|one| Some(&one.run) == selected)
            .unwrap_or(0)
    }

    fn select_run_that_waits(&mut self) {
        if let Some(run) = self.meant().map(|one| one.run.clone()) {
            self.selected = Some(run);
            self.back = 0;
            self.pane = Pane::Log;
        }
    }

    const fn next_pane(&self) -> Pane {
        match self.pane {
            Pane::Runs if self.look.waiting.is_empty() => Pane::Log,
            Pane::Runs => Pane::Waiting,
            Pane::Waiting => Pane::Log,
            Pane::Log => Pane::Runs,
        }
    }

    const fn pane_before(&self) -> Pane {
        match self.pane {
            Pane::Log if self.look.waiting.is_empty() => Pane::Runs,
            Pane::Log => Pane::Waiting,
            Pane::Waiting => Pane::Runs,
            Pane::Runs => Pane::Log,
        }
    }

    fn step(&mut self, by: isize) {
        match self.pane {
            Pane::Runs => {
                let to = moved(self.row(), by, self.look.rows.len());
                let run = self.look.rows.get(to).map(|row| row.run.clone());
                if run != self.selected {
                    self.selected = run;
                    self.back = 0;
                }
            }
            Pane::Waiting => self.waiting = moved(self.waiting, by, self.look.waiting.len()),
            Pane::Log => {
                // Counted from the end, so that a growing log keeps its position.
                let lines = self.log().len();
                self.back = moved(self.back, by.saturating_neg(), lines);
            }
        }
    }
}

/// Moves `at` within `count` lines.
fn moved(at: usize, by: isize, count: usize) -> usize {
    at.saturating_add_signed(by).min(count.saturating_sub(1))
}
