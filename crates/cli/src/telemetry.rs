//! Telemetry of a command: where spans go, and the process that sends them.

use std::process::{Command, Stdio};

use interlock_core::names::RunId;
use interlock_project::Config;
use interlock_store::Home;
use interlock_telemetry::{Parent, Settings};

use crate::app::{self, program, variable};

/// Reads where spans go: from variables, then from the person's own configuration.
pub(crate) fn settings() -> anyhow::Result<Settings> {
    let directory = app::configuration();
    let config = Config::of_person(directory.as_deref())?.telemetry;
    let look = |name: &str| variable(name).and_then(|value| value.into_string().ok());
    Ok(Settings::of(
        look,
        config.endpoint.as_deref(),
        config.capture_content,
    )?)
}

/// Stores the trace in which a run is started, so that its spans belong to it.
pub(crate) fn keep_parent(home: &Home, run: &RunId) {
    let parent = variable("TRACEPARENT").and_then(|value| value.into_string().ok());
    if let Some(parent) = parent.filter(|text| Parent::parse(text).is_some()) {
        // The run starts even if its trace cannot be stored.
        let _ = home.keep_trace_parent(run, &parent);
    }
}

/// Starts a process that sends what is new, if telemetry is configured and no such process is running.
///
/// It waits for nothing and never fails.
pub(crate) fn nudge() {
    let Ok(set) = settings() else { return };
    if set.endpoint.is_none() {
        return;
    }
    let Ok(home) = Home::locate(variable) else {
        return;
    };
    // Without any run, there is nothing to send.
    if !home.path().join("runs").is_dir() {
        return;
    }
    // The sending process holds the lock; whoever finds it free starts the next one.
    let Ok(Some(free)) = home.lock_telling() else {
        return;
    };
    drop(free);
    if let Ok(program) = program() {
        use std::os::unix::process::CommandExt as _;
        let started = Command::new(program)
            .args(["telemetry", "--due"])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not in the client's process group: it outlives the hook.
            .process_group(0)
            .spawn();
        // Whether it could be started changes nothing here.
        drop(started);
    }
}
