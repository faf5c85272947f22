//! What is on the screen, and what a key or a new look makes of it. Pure.

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
    /// Its id.
    pub(crate) run: RunId,
    /// Its name, or its workflow.
    pub(crate) workflow: String,
    /// Where it stands.
    pub(crate) state: String,
    /// Its status, in a word.
    pub(crate) status: String,
    /// The client whose session it holds.
    pub(crate) client: String,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created_ms: u64,
    /// Whether it has ended.
    pub(crate) over: bool,
}

/// Something that waits for a person, and where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waiting {
    /// The run.
    pub(crate) run: RunId,
    /// Its workflow.
    pub(crate) workflow: String,
    /// What it is about.
    pub(crate) pending: Pending,
}

/// One look at the runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Look {
    /// All of them, newest first.
    pub(crate) rows: Vec<Row>,
    /// What waits in any of them.
    pub(crate) waiting: Vec<Waiting>,
    /// The run whose log this is, and its last lines.
    pub(crate) log: Option<(RunId, Vec<String>)>,
    /// The request whose review this is.
    pub(crate) review: Option<(RunId, ApprovalId, Review)>,
    /// The time of the look.
    pub(crate) now_ms: u64,
    /// What could not be read.
    pub(crate) trouble: Option<String>,
}

/// A key that means something.
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
    /// Yes, send.
    Enter,
    /// No, back.
    Escape,
    /// One letter back.
    Backspace,
    /// Stop at once.
    Interrupt,
}

/// Which part of the screen the keys go to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    /// The list of runs.
    #[default]
    Runs,
    /// What waits for a person.
    Waiting,
    /// The log of the selected run.
    Log,
}

/// What lies over the panes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Over {
    /// Nothing.
    #[default]
    Nothing,
    /// The keys.
    Help,
    /// What is about to be answered with yes, from this line on.
    Approve(Waiting, u16),
    /// What is about to be answered with no, and the note so far.
    Reject(Waiting, String),
}

/// What has to be done outside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Leave the program.
    Quit,
    /// Leave it as interrupted.
    Interrupt,
    /// Say yes to this.
    Approve(Waiting),
    /// Say no to this, with a note.
    Reject(Waiting, Option<String>),
}

/// What the person wants to look at.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Selection {
    /// The run whose log is shown.
    pub(crate) run: Option<RunId>,
    /// The request that is about to be answered.
    pub(crate) asked: Option<Waiting>,
}

/// What is on the screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Model {
    /// The last look at the runs.
    pub(crate) look: Look,
    /// Where the keys go.
    pub(crate) pane: Pane,
    /// What lies over the panes.
    pub(crate) over: Over,
    /// The selected run; `None`: there is none.
    pub(crate) selected: Option<RunId>,
    /// The selected line of what waits.
    pub(crate) waiting: usize,
    /// Lines of the log below the last one shown; 0: it is followed.
    pub(crate) back: usize,
    /// What became of the last answer.
    pub(crate) said: Option<String>,
}

/// Lines that a page key moves by.
const PAGE: usize = 10;
/// The same in a question.
const PAGE_OF_QUESTION: u16 = 10;
/// Characters a note may have.
const NOTE_CHARS_MAX: usize = 500;

impl Model {
    /// Takes a new look; what was selected stays so, where it still is.
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

    /// Returns what has to be looked at.
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

    /// Returns what a yes to `asked` means, once that is known.
    pub(crate) fn review_of(&self, asked: &Waiting) -> Option<&Review> {
        let (run, id, review) = self.look.review.as_ref()?;
        (*run == asked.run && *id == asked.pending.id()).then_some(review)
    }

    /// Takes a question off the screen that waits no more.
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

    /// Returns what the answer keys are about.
    pub(crate) fn meant(&self) -> Option<&Waiting> {
        self.look.waiting.get(self.waiting)
    }

    /// Returns the number of the selected row.
    pub(crate) fn row(&self) -> usize {
        let selected = self.selected.as_ref();
        let rows = self.look.rows.iter();
        let mut known = rows.map(|row| Some(&row.run) == selected);
        known.position(|is| is).unwrap_or(0)
    }

    /// Returns the log that is shown: that of the selected run, once it is read.
    pub(crate) fn log(&self) -> &[String] {
        match &self.look.log {
            Some((run, lines)) if Some(run) == self.selected.as_ref() => lines,
            _ => &[],
        }
    }

    /// Takes a key; returns what it asks for outside.
    pub(crate) fn press(&mut self, key: Key) -> Option<Act> {
        if key == Key::Interrupt {
            return Some(Act::Interrupt);
        }
        match std::mem::take(&mut self.over) {
            Over::Nothing => self.press_pane(key),
            // Any key takes the help away.
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

    /// Puts a question about what is meant over the panes.
    fn ask(&mut self, question: impl FnOnce(Waiting) -> Over) {
        // What is answered is what the eye is on: the selected run's own, unless another line is chosen.
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
                // Counted from the end, so that a log that grows stays where it is looked at.
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
