//! Two runs beside each other: how their events align, worked out once.

use std::sync::{Arc, Mutex, PoisonError};

use interlock_core::names::RunId;
use interlock_simulate::compare::{Alignment, fingerprint};
use interlock_store::{EventLog as _, RunLog, StoreError};

/// Alignments that are kept.
const KEPT_MAX: usize = 4;

/// A run, as far as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) run: RunId,
    /// How many of its events count.
    pub(crate) events: u64,
    /// The root of its project.
    pub(crate) project: String,
}

/// The alignments that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct Alignments(Mutex<Vec<Kept>>);

/// Two runs, and how they align.
type Kept = ((Side, Side), Arc<Alignment>);

impl Alignments {
    /// Aligns two runs; costly unless it was asked for before.
    ///
    /// # Errors
    /// A log cannot be read.
    pub(crate) fn of(
        &self,
        left: (&Side, &RunLog),
        right: (&Side, &RunLog),
    ) -> Result<Arc<Alignment>, StoreError> {
        let key = (left.0.clone(), right.0.clone());
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = kept().iter().find(|(known, _)| *known == key) {
            return Ok(Arc::clone(found));
        }
        let made = Alignment::of(&prints(left)?, &prints(right)?);
        let made = Arc::new(made);
        let mut kept = kept();
        kept.push((key, Arc::clone(&made)));
        let many = kept.len().saturating_sub(KEPT_MAX);
        kept.drain(..many);
        Ok(made)
    }
}

fn prints((side, log): (&Side, &RunLog)) -> Result<Vec<u64>, StoreError> {
    let mut prints = Vec::new();
    for recorded in log.events(0) {
        let recorded = recorded?;
        if recorded.seq >= side.events {
            break;
        }
        prints.push(fingerprint(&recorded.event, &side.project));
    }
    Ok(prints)
}
