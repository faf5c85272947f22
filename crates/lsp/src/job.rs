//! The check of a document, which may run concurrently with requests.

use interlock_formats::{Diagnostic, Source};

use crate::{document::kind_of, names::Names};

/// A document as of its last change.
#[derive(Debug)]
pub struct Job {
    pub(crate) uri: String,
    pub(crate) edition: u64,
    pub(crate) source: Source,
    /// Whether it was a workflow before this change.
    pub(crate) was_workflow: bool,
}

/// The results of checking a document.
#[derive(Debug)]
pub struct Checked {
    pub(crate) uri: String,
    pub(crate) edition: u64,
    pub(crate) is_workflow: bool,
    pub(crate) names: Option<(Names, &'static str)>,
    pub(crate) found: Vec<Diagnostic>,
}

impl Job {
    /// Checks the document with `check`, which is called only for workflows.
    #[must_use]
    pub fn run(self, check: &dyn Fn(&Source) -> Vec<Diagnostic>) -> Checked {
        let is_workflow = kind_of(&self.source, self.was_workflow);
        let (names, found) = match is_workflow {
            true => (Names::of(&self.source), check(&self.source)),
            false => (None, Vec::new()),
        };
        Checked {
            uri: self.uri,
            edition: self.edition,
            is_workflow,
            names,
            found,
        }
    }
}
