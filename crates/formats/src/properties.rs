//! Properties of a workflow, which `prove` checks, as written in files.
//!
//! They are under `properties` in a native workflow; or as such a list, or under that key, in a file next to a workflow of any
//! format.

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

/// Key of the properties, in a workflow or in a file next to it.
const KEY: &str = "properties";

/// One property, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// Its `name`, or its form with its number.
    pub name: String,
    /// The form of the property.
    pub form: Form,
    /// File that contains it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// The form of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// It never happens.
    Never(Predicate),
    /// It happens only in these states.
    OnlyIn {
        /// The states.
        states: Vec<String>,
        /// What happens only there.
        what: Predicate,
    },
    /// Whenever it happens, each of the required predicates has happened before.
    Before {
        /// What requires the others.
        at: Predicate,
        /// What must have happened.
        require: Vec<Predicate>,
        /// Start of the period in which it must have happened.
        since: SinceWhat,
    },
    /// Something does not happen from one moment to another.
    After {
        /// Start of the period.
        from: Predicate,
        /// What does not happen.
        never: Predicate,
        /// End of the period; `None` for never.
        until: Option<Predicate>,
    },
    /// Some run reaches it.
    Possible(Predicate),
    /// It can still be reached from every situation.
    AlwaysPossible {
        /// What can be reached.
        what: Predicate,
        /// Whether it can be reached without a person.
        by_agent: bool,
    },
    /// It does not happen before a person has approved.
    OnlyWithPerson(Predicate),
    /// It happens no more often than this.
    AtMost {
        /// Maximum number of times.
        times: u32,
        /// What is counted.
        of: Predicate,
        /// Whether the count restarts with every state that is entered.
        per_state: bool,
    },
    /// Two predicates never hold at once in open branches.
    NeverTogether(Predicate, Predicate),
}

/// Start of the period in which something must have happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinceWhat {
    /// The start of the run.
    Start,
    /// The last call that may write.
    LastEdit,
    /// The last time that this happened.
    Last(Predicate),
}

/// Something that may happen or hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// The run is in this state.
    State(String),
    /// This state is entered.
    Enter(String),
    /// This event is requested and accepted, or raised by the run itself.
    Event(String),
    /// A call of this tool runs; `*` is a wildcard.
    Tool(String),
    /// A shell line runs a command with this prefix.
    Command {
        /// The prefix as written.
        text: String,
        /// The prefix split into shell words.
        words: Vec<String>,
        /// Required exit code of the line; `None` for any.
        exit: Option<i64>,
    },
    /// A call that writes runs; `None` for any file, otherwise one that matches.
    Writes(Option<String>),
    /// A person approved this event; `None` for any request.
    Approved(Option<String>),
    /// A person rejected this event; `None` for any request.
    Rejected(Option<String>),
    /// This guard holds.
    Guard(String),
    /// The run ends with this outcome.
    Final(Outcome),
    /// All of these hold.
    All(Vec<Predicate>),
    /// One of these holds.
    Any(Vec<Predicate>),
    /// This does not hold.
    Not(Box<Predicate>),
}

impl Predicate {
    /// Returns the predicate and all its parts.
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

    /// Returns whether it is only about the state of a run, and not about events.
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
    /// Returns every predicate of the form, in the order of its keys.
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

/// Returns whether a workflow file has properties of its own, valid or not.
///
/// This reads only the file.
#[must_use]
pub fn has_own_properties(source: &Source) -> bool {
    // A key is written as it is, or with escapes.
    if !source.text.contains('\\') && !source.text.contains(KEY) {
        return false;
    }
    let opened = Opened::new(source);
    let tree = opened.tree.as_ref();
    !opened.format.is_of_steps() && tree.is_some_and(|tree| tree.get(KEY).is_some())
}

/// Parses the properties in the workflow itself; empty if it has none.
///
/// # Errors
/// Everything that is wrong with them, each at its line and column.
pub fn own_properties(
    source: &Source,
    machine: &Machine,
) -> Result<Vec<Property>, Vec<Diagnostic>> {
    let opened = Opened::new(source);
    let mut report = Report::default();
    let list = opened.tree.as_ref().and_then(|tree| tree.get(KEY));
    let Some(list) = list.filter(|_| !opened.format.is_of_steps()) else {
        return Ok(Vec::new());
    };
    let found = read::properties(&list.value, machine, &opened.files, &mut report);
    finish(found, report, &opened.files)
}

/// Parses a file of properties for the workflow `machine`.
///
/// # Errors
/// Everything that is wrong with it, each at its line and column.
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
