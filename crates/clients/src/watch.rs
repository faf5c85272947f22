//! Compares protected files and settings with the run's start, at every hook call and every call through the gateway.

use std::{borrow::Cow, collections::BTreeMap};

use interlock_core::{command::CommandKind, event::ProtectedChange};
use interlock_facts::{Baseline, CallContext, Quiet, RealDisk};
use interlock_project::Environment;
use interlock_store::{BASELINE, QUIET, RunLog, StoreError};

use crate::{input::Input, session::Guarded};

/// Protected files and settings, compared with their state when a run first looked at them.
#[derive(Debug)]
pub struct Watched {
    name: String,
    /// Baseline of a long-lived process, of which only the timestamps are ever renewed.
    baseline: Option<Baseline>,
    /// Timestamps that show that nothing has changed since the last comparison.
    quiet: Option<Quiet>,
    /// Whether those are stored next to the run's log, for the next process.
    keeps: bool,
    /// Key of the protected paths, if they are the same at every comparison.
    places: Option<String>,
}

impl Watched {
    /// Creates the comparison of a gateway, which may see other locations than a client's hooks.
    ///
    /// A client need not pass its servers all the variables that determine these. Every comparison is made with the same context.
    #[must_use]
    pub fn of_gateway(call_context: &CallContext) -> Self {
        let places = call_context.places_key();
        Self {
            name: format!("{BASELINE}-{places}"),
            baseline: None,
            quiet: None,
            keeps: false,
            places: Some(places),
        }
    }

    fn of_hooks() -> Self {
        Self {
            name: BASELINE.to_owned(),
            baseline: None,
            quiet: None,
            keeps: true,
            places: None,
        }
    }

    /// Returns what has changed, except changes that a person has `accepted`.
    ///
    /// # Errors
    /// Returns an error if the baseline cannot be read or written.
    pub fn changes(
        &mut self,
        log: &RunLog,
        accepted: &BTreeMap<String, Option<String>>,
        call_context: &CallContext,
        at_ms: u64,
    ) -> Result<Vec<ProtectedChange>, StoreError> {
        let disk = RealDisk;
        let quiet = self.quiet.take().or_else(|| {
            let kept = self.keeps.then(|| log.folder().baseline(QUIET));
            // An unreadable file proves nothing, and is replaced.
            kept?.ok().flatten()
        });
        let places = match &self.places {
            Some(places) => Cow::Borrowed(places.as_str()),
            None => Cow::Owned(call_context.places_key()),
        };
        if quiet
            .as_ref()
            .is_some_and(|quiet| quiet.holds(&places, accepted, &disk))
        {
            self.quiet = quiet;
            return Ok(Vec::new());
        }
        let known = match self.baseline.take() {
            Some(baseline) => Some(baseline),
            None => log.folder().baseline::<Baseline>(&self.name)?,
        };
        let Some(baseline) = known else {
            let baseline = Baseline::take(call_context, &disk, at_ms);
            // Two at once: the second uses the baseline of the first.
            log.folder().begin_baseline(&self.name, baseline)?;
            return Ok(Vec::new());
        };
        let (found, quiet) = baseline.compare_again(call_context, accepted, &disk, at_ms);
        if let Some(quiet) = &quiet
            && self.keeps
            && quiet.is_settled()
        {
            log.folder().renew_baseline(QUIET, quiet.clone())?;
        }
        self.quiet = quiet;
        self.baseline = Some(match found.renewed {
            Some(renewed) => {
                log.folder().renew_baseline(&self.name, renewed.clone())?;
                renewed
            }
            None => baseline,
        });
        Ok(found.changes)
    }
}

/// Compares the protected files and settings; an unconfirmed change pauses the run.
///
/// Returns a message for the person if something new was found.
pub(crate) fn compare(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Option<String>, String> {
    let here = guarded.here(environment, &input.directory);
    let (log, accepted) = (&guarded.log, &guarded.run.accepted);
    let changes = Watched::of_hooks()
        .changes(log, accepted, here, environment.at_ms)
        .map_err(said)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let decision = guarded
        .ask(CommandKind::ReportProtected { changes })
        .map_err(said)?;
    if decision.events.is_empty() {
        return Ok(None);
    }
    let reason = guarded
        .run
        .paused
        .as_ref()
        .and_then(|pause| pause.reason.as_deref());
    Ok(Some(format!(
        "Interlock: run {} is paused: {}",
        guarded.id(),
        reason.unwrap_or("protected files changed")
    )))
}

fn said(error: StoreError) -> String {
    error.to_string()
}
