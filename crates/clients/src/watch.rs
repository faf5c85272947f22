//! Protected things compared with the run's start, at every hook call.

use interlock_core::command::Ask;
use interlock_facts::{Baseline, RealDisk};

use crate::{
    hook::HookSetting,
    input::Input,
    session::{self, Guarded},
};

/// Compares what is protected; a change that nobody confirmed pauses the run.
///
/// Returns what a person should be told, where something new was found.
pub(crate) fn compare(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Option<String>, String> {
    let disk = RealDisk;
    let root = guarded.binding.project_root.clone();
    let surroundings =
        session::surroundings(setting, &root, &input.directory, None).resolved(&disk);
    let Some(baseline) = guarded.log.baseline::<Baseline>().map_err(said)? else {
        let baseline = Baseline::take(&surroundings, &disk, setting.at_ms);
        // Two hooks at once: whoever is second keeps what the first saw.
        guarded.log.begin_baseline(baseline).map_err(said)?;
        return Ok(None);
    };
    let found = baseline.compare(&surroundings, &guarded.run.accepted, &disk, setting.at_ms);
    if let Some(renewed) = found.renewed {
        guarded.log.renew_baseline(renewed).map_err(said)?;
    }
    if found.changes.is_empty() {
        return Ok(None);
    }
    let changes = found.changes;
    let decision = guarded
        .ask(Ask::ReportProtected { changes })
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

fn said(error: interlock_store::StoreError) -> String {
    error.to_string()
}
