//! The checking of one document, which may take place beside the answering of requests.

use interlock_formats::{Diagnostic, Source};

use crate::{document::kind_of, names::Names};

/// A document as it was when it was last changed.
#[derive(Debug)]
pub struct Job {
    pub(crate) uri: String,
    pub(crate) edition: u64,
    pub(crate) source: Source,
    /// Whether it was a workflow before this change.
    pub(crate) was_workflow: bool,
}

/// What was found in a document.
#[derive(Debug)]
pub struct Checked {
    pub(crate) uri: String,
    pub(crate) edition: u64,
    pub(crate) is_workflow: bool,
    pub(crate) names: Option<(Names, &'static str)>,
    pub(crate) found: Vec<Diagnostic>,
}

impl Job {
    /// Checks the document with `check`, which is asked only for workflows.
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
