//! Telemetry beside a command: where spans go, and the process that tells them.

use std::process::{Command, Stdio};

use interlock_core::names::RunId;
use interlock_project::Config;
use interlock_store::Home;
use interlock_telemetry::{Parent, Settings};

use crate::app::{self, program, variable};

/// Reads where spans go: the variables, then the person's own configuration.
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

/// Keeps the trace that a run is started in, so that its spans belong there.
pub(crate) fn keep_parent(home: &Home, run: &RunId) {
    let parent = variable("TRACEPARENT").and_then(|value| value.into_string().ok());
    if let Some(parent) = parent.filter(|text| Parent::parse(text).is_some()) {
        // A run is started all the same where its trace cannot be kept.
        let _ = home.keep_trace_parent(run, &parent);
    }
}

/// Starts a process that tells what is new, where telemetry is configured and none is at it.
///
/// Waits for nothing and fails for nothing.
pub(crate) fn nudge() {
    let Ok(set) = settings() else { return };
    if set.endpoint.is_none() {
        return;
    }
    let Ok(home) = Home::locate(variable) else {
        return;
    };
    // Where there has never been a run there is nothing to tell.
    if !home.path().join("runs").is_dir() {
        return;
    }
    // Held by the process that tells; whoever finds it free starts the next.
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
            // Not of the client's group: it outlives the hook.
            .process_group(0)
            .spawn();
        // Whether it could be started changes nothing here.
        drop(started);
    }
}
