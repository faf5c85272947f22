//! Protected things that changed: records the changes and pauses the run.

use super::{Answered, Reply, Work};
use crate::{
    event::{Event, ProtectedChange},
    names::CallId,
    substance::FrozenChange,
};

/// Name of whoever pauses the run because of them.
const BY: &str = "interlock";
/// Maximum number of changes named in the reason of the pause.
const NAMED_MAX: usize = 5;
/// Maximum number of changes recorded from one report.
const CHANGES_MAX: usize = 256;

impl Work<'_> {
    /// Records files that changed unseen, if that makes evidence stale.
    pub(super) fn report_files(&mut self, files: &[String], before: Option<&CallId>) -> Answered {
        self.open()?;
        let call = before.and_then(|id| self.run.calls.iter().find(|call| call.id == *id));
        let until = call.map_or(self.run.seq, |call| call.begun_seq);
        let stands = self
            .run
            .evidence
            .values()
            .any(|seen| seen.begun_seq < until && !seen.is_before_an_edit(&self.run));
        let before = call.map(|call| call.id.clone());
        if stands && !files.is_empty() {
            self.emit(Event::FilesChanged {
                files: files.iter().take(NAMED_MAX).cloned().collect(),
                before,
            });
        }
        Ok(Reply::Accepted)
    }

    /// Records the differences of frozen files, if they are new.
    pub(super) fn report_frozen(&mut self, changes: &[FrozenChange]) -> Answered {
        self.open()?;
        if self.run.frozen != changes {
            self.emit(Event::FrozenCompared {
                changes: changes.to_vec(),
            });
        }
        Ok(Reply::Accepted)
    }

    /// Records the changes that no person has seen yet, and pauses the run.
    pub(super) fn report_protected(&mut self, changes: &[ProtectedChange]) -> Answered {
        self.open()?;
        let news: Vec<ProtectedChange> = changes
            .iter()
            .filter(|change| self.is_news(change))
            .take(CHANGES_MAX)
            .cloned()
            .collect();
        if news.is_empty() {
            return Ok(Reply::Accepted);
        }
        let reason = reason(&news);
        self.emit(Event::ProtectedChanged { changes: news });
        if self.run.paused.is_none() {
            self.emit(Event::RunPaused {
                by: BY.to_owned(),
                reason: Some(reason),
            });
        }
        Ok(Reply::Accepted)
    }

    /// Returns whether a change is new: neither waiting for a person nor accepted by one.
    fn is_news(&self, change: &ProtectedChange) -> bool {
        let run = &self.run;
        let waits = run.changed.iter().any(|known| known == change);
        let accepted = !change.undone && run.accepted.get(&change.path) == Some(&change.digest);
        !waits && !accepted
    }
}

/// Describes the changes and what a person can do.
fn reason(changes: &[ProtectedChange]) -> String {
    let named: Vec<String> = changes
        .iter()
        .take(NAMED_MAX)
        .map(ProtectedChange::sentence)
        .collect();
    let more = match changes.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "protected files have changed since the run began, and no person has accepted that: {}{more}; check them, then `interlock resume` accepts them in their present form",
        named.join(", ")
    )
}
