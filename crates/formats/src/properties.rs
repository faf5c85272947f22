//! The properties a workflow is to have: what `prove` checks, as files write it.
//!
//! They stand under `properties` of a native workflow, or as such a list, or
//! under that key, in a file beside a workflow of any format.

mod lines;
mod names;
mod read;

use interlock_core::machine::{Machine, Outcome};

use crate::{
    diagnostic::{Diagnostic, Report},
    opened::Opened,
    parse::parse,
    source::{Files, Source},
};

pub use lines::Lines;

/// One property, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// Its `name`, or the form with its number.
    pub name: String,
    /// What it says.
    pub form: Form,
    /// The file it is written in.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// What a property says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// It never happens.
    Never(Predicate),
    /// It happens in these states and nowhere else.
    OnlyIn {
        /// The states.
        states: Vec<String>,
        /// What happens only there.
        what: Predicate,
    },
    /// Whenever it happens, each of the required has happened.
    Before {
        /// What needs the others.
        at: Predicate,
        /// What must have happened.
        require: Vec<Predicate>,
        /// After what it must have happened.
        since: SinceWhat,
    },
    /// From one moment to another something does not happen.
    After {
        /// Where it begins.
        from: Predicate,
        /// What does not happen.
        never: Predicate,
        /// Where it ends; `None`: never.
        until: Option<Predicate>,
    },
    /// Some run gets there.
    Possible(Predicate),
    /// From everywhere one still gets there.
    AlwaysPossible {
        /// Where to.
        what: Predicate,
        /// Whether no person is needed for it.
        by_agent: bool,
    },
    /// It does not happen before a person has said yes.
    OnlyWithPerson(Predicate),
    /// It happens no more often than this.
    AtMost {
        /// How often.
        times: u32,
        /// What is counted.
        of: Predicate,
        /// Whether the count starts again with every state that is entered.
        per_state: bool,
    },
    /// Two things are not so at once in open branches.
    NeverTogether(Predicate, Predicate),
}

/// After what something must have happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinceWhat {
    /// The start of the run.
    Start,
    /// The last call that may write.
    LastEdit,
    /// The last time that this happened.
    Last(Predicate),
}

/// Something that may happen, or be so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// The run stands in this state.
    State(String),
    /// This state is entered.
    Enter(String),
    /// This event is asked for and accepted, or is raised by the run itself.
    Event(String),
    /// A call of this tool runs; `*` is a wildcard.
    Tool(String),
    /// A shell line runs a command that begins with these words.
    Command {
        /// As written.
        text: String,
        /// Split as shell words.
        words: Vec<String>,
        /// The exit code the line must end with; `None`: any.
        exit: Option<i64>,
    },
    /// A call runs that writes; `None`: any file, else one that matches.
    Writes(Option<String>),
    /// A person said yes to this event; `None`: to anything.
    Approved(Option<String>),
    /// A person said no to this event; `None`: to anything.
    Rejected(Option<String>),
    /// This guard holds.
    Guard(String),
    /// The run ends this way.
    Final(Outcome),
    /// All are so.
    All(Vec<Predicate>),
    /// One of them is so.
    Any(Vec<Predicate>),
    /// It is not so.
    Not(Box<Predicate>),
}

impl Predicate {
    /// Returns it and all that it is made of.
    #[must_use]
    pub fn parts(&self) -> Vec<&Self> {
        let mut found = vec![self];
        match self {
            Self::All(items) | Self::Any(items) => {
                found.extend(items.iter().flat_map(Self::parts));
            }
            Self::Not(item) => found.extend(item.parts()),
            _ => {}
        }
        found
    }

    /// Tells whether it is about where a run stands, and about nothing that happens.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.parts().iter().all(|part| {
            matches!(
                part,
                Self::State(_) | Self::Guard(_) | Self::All(_) | Self::Any(_) | Self::Not(_)
            )
        })
    }
}

impl Form {
    /// Returns every predicate of it, in the order of its keys.
    #[must_use]
    pub fn predicates(&self) -> Vec<&Predicate> {
        match self {
            Self::Never(what) | Self::Possible(what) | Self::OnlyWithPerson(what) => vec![what],
            Self::OnlyIn { what, .. }
            | Self::AlwaysPossible { what, .. }
            | Self::AtMost { of: what, .. } => vec![what],
            Self::Before { at, require, since } => {
                let mut all = vec![at];
                all.extend(require);
                if let SinceWhat::Last(last) = since {
                    all.push(last);
                }
                all
            }
            Self::After { from, never, until } => {
                let mut all = vec![from, never];
                all.extend(until);
                all
            }
            Self::NeverTogether(one, other) => vec![one, other],
        }
    }
}

/// Tells whether a workflow file has properties of its own, in order or not.
///
/// It reads the file and no machine.
#[must_use]
pub fn has_own_properties(source: &Source) -> bool {
    let opened = Opened::new(source);
    let tree = opened.tree.as_ref();
    !opened.format.is_of_steps() && tree.is_some_and(|tree| tree.get("properties").is_some())
}

/// Reads the properties that stand in the workflow itself; none where it has none.
///
/// # Errors
/// Everything wrong with them, each at its line and column.
pub fn own_properties(
    source: &Source,
    machine: &Machine,
) -> Result<Vec<Property>, Vec<Diagnostic>> {
    let opened = Opened::new(source);
    let mut report = Report::default();
    let list = opened.tree.as_ref().and_then(|tree| tree.get("properties"));
    let Some(list) = list.filter(|_| !opened.format.is_of_steps()) else {
        return Ok(Vec::new());
    };
    let found = read::properties(&list.value, machine, &opened.files, &mut report);
    finish(found, report, &opened.files)
}

/// Reads a file of properties for the workflow `machine`.
///
/// # Errors
/// Everything wrong with it, each at its line and column.
pub fn properties_file(
    source: &Source,
    machine: &Machine,
) -> Result<Vec<Property>, Vec<Diagnostic>> {
    let mut files = Files::default();
    let file = files.add(source.clone());
    let mut report = Report::default();
    let tree = parse(&files, file, &mut report);
    let found = tree.map_or_else(Vec::new, |tree| {
        read::file(&tree, machine, &files, &mut report)
    });
    finish(found, report, &files)
}

fn finish(
    found: Vec<Property>,
    report: Report,
    files: &Files,
) -> Result<Vec<Property>, Vec<Diagnostic>> {
    if report.has_errors() {
        return Err(report.into_diagnostics(files));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
