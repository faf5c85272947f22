//! Project policy: a workflow named in `.interlock/config.toml` guards every session.

use std::path::Path;

use interlock_core::machine::Object;
use interlock_formats::{Source, load, render};
use interlock_project::{Config, Library};
use interlock_store::{BindError, Binding, Durability, NewRun, SessionKey, SourceFile};

use crate::{hook::HookSetting, process};

/// Who starts the runs of a policy.
const BY: &str = "project policy";

/// Returns the workflow that the policy of the project names.
pub(crate) fn workflow(root: &Path) -> Result<Option<(Config, String)>, String> {
    let config = Config::of_project(root).map_err(|error| error.to_string())?;
    let named = config.workflow.clone();
    Ok(named.map(|workflow| (config, workflow)))
}

/// Starts a run of the policy's workflow and binds the session to it.
pub(crate) fn start(
    setting: &HookSetting,
    root: &Path,
    key: &SessionKey,
    (config, workflow): &(Config, String),
    ended: Option<&Binding>,
) -> Result<Binding, String> {
    let library = Library::new(root, setting.configuration.as_deref());
    let found: Source = library.open(workflow).map_err(|error| error.to_string())?;
    let loaded = load(&found, None, &library).map_err(|found| render(&found, false))?;
    let person =
        Config::of_person(setting.configuration.as_deref()).map_err(|error| error.to_string())?;
    library
        .check_trust(&loaded.machine, &found.name, root, &person)
        .map_err(|error| error.to_string())?;
    let source = SourceFile {
        name: found.name.clone(),
        text: found.text.clone(),
    };
    let new = NewRun {
        machine: &loaded.machine,
        source: &source,
        project_root: root,
        name: None,
        durability: match config.store.durability {
            interlock_project::Durability::Process => Durability::Process,
            interlock_project::Durability::Power => Durability::Power,
        },
        at_ms: setting.at_ms,
    };
    let said = |error: BindError| error.to_string();
    // Under the lock, so that two hooks of one session do not both start a run.
    let bindings = setting
        .home
        .lock_bindings()
        .map_err(|error| error.to_string())?;
    if let interlock_store::Lookup::Bound(binding) = bindings
        .look_up(key, root)
        .map_err(|error| error.to_string())?
        && ended.is_none_or(|ended| ended.run != binding.run)
    {
        return Ok(binding);
    }
    let started = setting
        .home
        .start_run(&new, Object::new(), BY)
        .map_err(|error| error.to_string())?;
    if let Some(parent) = setting.variable("TRACEPARENT") {
        // Whose trace it belongs to decides nothing.
        let _ = setting.home.keep_trace_parent(started.log.run(), &parent);
    }
    let binding = Binding {
        run: started.log.run().clone(),
        session: key.clone(),
        project_root: root.to_owned(),
        process: process::client_above(),
        at_ms: setting.at_ms,
    };
    bindings
        .bind(binding, ended.map(|ended| &ended.run))
        .map_err(said)
}
