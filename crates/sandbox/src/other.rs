//! Systems without Landlock: the environment, and the comparison afterwards.
//!
//! On macOS the command also runs under the profile of [`crate::seatbelt`], untested.

use std::path::Path;
use std::process::Command;

use crate::level::{Level, Reach, Reached, Unconfined};
use crate::links::Links;
use crate::outcome::{Ended, Exit, RunError, Watcher};
use crate::plan::{Confinement, Network, Plan, WritablePlace};
use crate::post_check::Before;

/// Channel of probed commands, which are not supported here.
#[derive(Debug)]
pub(crate) enum Channel {}

/// Leaves the line unchanged.
pub(crate) const fn probed(_plan: &Plan) -> (Option<Channel>, Option<String>) {
    (None, None)
}

/// Runs `command` according to `plan`, as far as this system permits.
pub(crate) fn carry_out(
    plan: &Plan,
    own: Option<&Path>,
    _most: Reach,
    command: &mut dyn FnMut() -> Command,
    _channel: Option<Channel>,
    told: Watcher<'_, '_>,
) -> Result<Ended, RunError> {
    if plan.confinement.is_some() && plan.require > Level::Environment {
        return Err(RunError::BelowRequired {
            reached: Level::Environment,
            required: plan.require,
        });
    }
    let before = Before::look(
        &plan.post_check,
        &plan.project,
        &|_| false,
        &Links::default(),
    );
    let mut command = confined(&without_links(plan), own, command());
    command.current_dir(&plan.directory);
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .spawn()
        .map_err(|source| RunError::Program { program, source })?;
    let unconfined = plan.confinement.as_ref().map_or_else(Vec::new, unconfined);
    (told.started)(Level::Environment, &unconfined);
    let status = child.wait().map_err(|source| RunError::Start {
        step: "wait for the command",
        source,
    })?;
    let found = before.compare(&plan.project);
    Ok(Ended {
        exit: exit(status),
        level: Level::Environment,
        unconfined,
        changed: found.changed,
        wrote: found.wrote,
        probed: Vec::new(),
        left_behind: 0,
        unseen: found.unseen,
    })
}

/// Returns the plan with the links of its places resolved, and without missing ones.
fn without_links(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Some(confinement) = &mut plan.confinement {
        let links = Links::default();
        let places = confinement.writable.iter();
        let places = places.filter_map(|place| links.resolved(place));
        confinement.writable = places.map(WritablePlace::at).collect();
    }
    plan
}

fn exit(status: std::process::ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (None, Some(signal)) => Exit::Signal(signal),
        (code, _) => Exit::Code(u8::try_from(code.unwrap_or(1) & 0xff).unwrap_or(u8::MAX)),
    }
}

#[cfg(target_os = "macos")]
fn confined(plan: &Plan, own: Option<&Path>, command: Command) -> Command {
    const PROGRAM: &str = "/usr/bin/sandbox-exec";
    let Some(profile) = crate::seatbelt::profile(plan, own) else {
        return command;
    };
    if !Path::new(PROGRAM).is_file() {
        return command;
    }
    let mut outer = Command::new(PROGRAM);
    outer.arg("-p").arg(profile).arg(command.get_program());
    outer.args(command.get_args()).env_clear();
    let set = |(name, value): (_, Option<_>)| value.map(|value| (name, value));
    outer.envs(command.get_envs().filter_map(set));
    outer
}

#[cfg(not(target_os = "macos"))]
fn confined(_plan: &Plan, _own: Option<&Path>, command: Command) -> Command {
    command
}

fn unconfined(confinement: &Confinement) -> Vec<Unconfined> {
    let mut all = vec![Unconfined::Files, Unconfined::Modes, Unconfined::Sockets];
    if confinement.network == Network::Off {
        all.extend([Unconfined::Tcp, Unconfined::Network]);
    }
    all.extend([
        Unconfined::Signals,
        Unconfined::LeftBehind,
        Unconfined::Processes,
        Unconfined::Terminal,
        Unconfined::Devices,
    ]);
    if !confinement.hidden.is_empty() {
        all.push(Unconfined::StateDirectory);
    }
    all
}

/// Returns the lowest level, because nothing is enforced.
pub(crate) const fn reading_level() -> Level {
    Level::Environment
}

/// Returns the lowest level, because nothing is enforced.
pub(crate) fn probe() -> Reached {
    let all = vec![
        Unconfined::Files,
        Unconfined::Modes,
        Unconfined::Sockets,
        Unconfined::Network,
        Unconfined::Signals,
        Unconfined::LeftBehind,
        Unconfined::Processes,
        Unconfined::Terminal,
    ];
    Reached {
        reach: Reach::NOTHING,
        no_write: Level::Environment,
        writing: Level::Environment,
        no_write_unconfined: all.clone(),
        writing_unconfined: all,
    }
}
