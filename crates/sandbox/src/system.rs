//! The steps of one run on Linux: examine, run, compare.

use std::path::Path;
use std::process::Command;

use crate::level::{Level, Reach, Reached};
use crate::links::Links;
use crate::linux::probe::Channel;
use crate::linux::{self, Places, reach, unconfined};
use crate::outcome::{Ended, RunError, Watcher};
use crate::plan::{Calls, Confinement, LeftOver, Network, Plan, Protected, Start};
use crate::post_check::Before;

/// Runs `command` according to `plan`.
pub(crate) fn carry_out(
    plan: &Plan,
    own: Option<&Path>,
    most: Reach,
    command: &mut dyn FnMut() -> Command,
    mut channel: Option<Channel>,
    told: Watcher<'_, '_>,
) -> Result<Ended, RunError> {
    let protected = &plan.post_check.protected;
    let links = Links::default();
    let places = match &plan.confinement {
        Some(confinement) => linux::places(confinement, own, protected, &links),
        None => Places::default(),
    };
    let reach = linux::decide(plan, &places, most)?;
    let look = |reach: Reach| {
        let is_held =
            |one: &Protected| plan.confinement.is_some() && places.hold(one, reach, &links);
        Before::look(&plan.post_check, &plan.project, &is_held, &links)
    };
    let mut before = look(reach);
    let mut look_again = |reach: Reach| before = look(reach);
    let held = linux::run(
        plan,
        &places,
        reach,
        command,
        &mut look_again,
        channel.as_mut(),
        told,
    )?;
    let found = before.compare(&plan.project);
    let left_over = || "a leftover process of the command could not be ended".to_owned();
    Ok(Ended {
        exit: held.exit,
        level: held.level,
        unconfined: held.unconfined,
        changed: found.changed,
        wrote: found.wrote,
        probed: channel.map_or_else(Vec::new, Channel::finish),
        left_behind: held.ended,
        unseen: held.left_over.then(left_over).or(found.unseen),
    })
}

/// Returns the channel of a plan's probed commands, and the line that starts them through it.
///
/// If that is impossible, the line runs unchanged, and they are not observed.
pub(crate) fn probed(plan: &Plan) -> (Option<Channel>, Option<String>) {
    let Start::Line(line) = &plan.start else {
        return (None, None);
    };
    if plan.probes.is_empty() {
        return (None, None);
    }
    let program = std::env::current_exe().ok().filter(|path| path.is_file());
    let made = program
        .as_deref()
        .and_then(Path::to_str)
        .and_then(|program| {
            let channel = Channel::open().ok()?;
            let line = channel.line(line, &plan.probes, program)?;
            Some((channel, line))
        });
    made.map_or((None, None), |(channel, line)| (Some(channel), Some(line)))
}

/// Returns the level of a line that may write nothing.
pub(crate) fn reading_level() -> Level {
    reach(false).level(false)
}

/// Determines what this machine enforces.
pub(crate) fn probe() -> Reached {
    let reach = reach(true);
    let reading = Confinement {
        writable: Vec::new(),
        own_directory: true,
        hidden: Vec::new(),
        network: Network::Off,
        closed_ports: Vec::new(),
        sockets: Vec::new(),
        calls: Calls::Reading,
        left_over: LeftOver::End,
    };
    let writing = Confinement {
        network: Network::On,
        calls: Calls::Working,
        ..reading.clone()
    };
    Reached {
        reach,
        no_write: reach.level(false),
        writing: reach.level(true),
        no_write_unconfined: unconfined(&reading, reach, false, true),
        writing_unconfined: unconfined(&writing, reach, true, true),
    }
}
