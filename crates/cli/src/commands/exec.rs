//! `exec`: runs one shell line with the rights of a state; its output passes through unchanged.
//!
//! It needs a ticket for a line that a hook has allowed; people need none. A refusal before anything starts ends with exit code
//! 126.

mod arguments;
mod checks;
mod people;
mod report;

use std::{cell::RefCell, ffi::OsString, io::Write as _, process::ExitCode};

use interlock_core::visible::visible_lines;
#[cfg(target_os = "linux")]
use interlock_sandbox::plan::LeftOver;
use interlock_sandbox::{
    Ended, Exit, Level, Plan, Reach, Unconfined, Watcher, plan::Column, run_watched,
};
use interlock_store::{Home, Ticket};

use crate::{app, live::now_ms};
use arguments::{Arguments, Permission};
use report::Report;

/// Exit code for a refusal before anything was started.
const REFUSED: u8 = 126;
/// Offset that a shell adds to the number of a signal.
const BY_SIGNAL: i32 = 128;

/// Runs `exec` with its arguments.
pub(crate) fn run_line(arguments: &[OsString]) -> ExitCode {
    #[cfg(target_os = "linux")]
    if let [option, place, dashes, words @ ..] = arguments
        && option == "--probe"
        && dashes == "--"
    {
        return probed(&place.to_string_lossy(), words);
    }
    let read = arguments::read(arguments);
    if matches!(&read, Ok(arguments) if matches!(arguments.wanted, Permission::Planned)) {
        return planned();
    }
    let done = read.and_then(|arguments| match arguments.wanted {
        Permission::Planned => Err("a plan comes from a caller".to_owned()),
        Permission::Ticket(ref ticket) => with_ticket(ticket, &arguments),
        #[cfg(target_os = "linux")]
        Permission::Behind {
            ref place,
            ref ticket,
        } => behind(place, ticket, &arguments),
        Permission::Stance(_) => {
            let most = Reach::limited_to(arguments.at_most);
            carry(&people::plan(&arguments)?, most, None)
        }
    });
    match done {
        Ok(exit) => end_as(exit),
        Err(why) => {
            // If standard error is closed, nobody can be told.
            let _ = writeln!(std::io::stderr(), "interlock: {}", visible_lines(&why));
            ExitCode::from(REFUSED)
        }
    }
}

/// Runs one command of a line on behalf of the line's process, and ends with its exit code.
#[cfg(target_os = "linux")]
fn probed(place: &str, words: &[OsString]) -> ExitCode {
    match interlock_sandbox::start_probed(place, words) {
        Ok(exit) => end_as(exit),
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "interlock: {}", visible_lines(&why));
            ExitCode::from(REFUSED)
        }
    }
}

/// Carries out the plan of a stage and reports the result to it.
fn planned() -> ExitCode {
    match interlock_sandbox::carrier::carry_out() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "interlock: `--planned` is for Interlock itself: {error}"
            );
            ExitCode::from(REFUSED)
        }
    }
}

/// Runs the line of a ticket, and reports the result to its run.
fn with_ticket(name: &str, arguments: &Arguments) -> Result<Exit, String> {
    let home = home()?;
    let (ticket, plan) = taken(&home, name, arguments)?;
    #[cfg(target_os = "linux")]
    if leaves_work(&plan) {
        let again = home
            .give_ticket(&ticket)
            .map_err(|error| format!("{error}; nothing was run"))?;
        let words = ["--ticket", &again, "--", &arguments.line].map(OsString::from);
        return interlock_sandbox::behind::start(&words).map_err(|error| error.to_string());
    }
    let mut report = Report::open(&home, &ticket)?;
    report.look_at_files(&plan)?;
    carry(&plan, Reach::ALL, Some(&mut report))
}

/// Runs the line for a first process, reports its end to that process, and stays with background processes.
#[cfg(target_os = "linux")]
fn behind(place: &str, name: &str, arguments: &Arguments) -> Result<Exit, String> {
    let mut first = interlock_sandbox::behind::Behind::take(place)?;
    let home = home()?;
    let (ticket, plan) = taken(&home, name, arguments)?;
    let mut report = Report::open(&home, &ticket)?;
    report.look_at_files(&plan)?;
    let exit = carry(&plan, Reach::ALL, Some(&mut report))?;
    // If the first process is gone, nobody waits; the remains of the line are still handled.
    let _ = first.tell(exit);
    first.stay(&mut || report.may_go_on());
    Ok(exit)
}

/// Returns whether the state allows background processes after the end of the line.
#[cfg(target_os = "linux")]
fn leaves_work(plan: &Plan) -> bool {
    let confinement = plan.confinement.as_ref();
    confinement.is_some_and(|one| one.left_over == LeftOver::Stay)
}

fn home() -> Result<Home, String> {
    let home = Home::locate(app::variable).map_err(|error| error.to_string())?;
    Ok(home.opening_joined(interlock_project::open_joined))
}

/// Takes a ticket and parses its plan.
fn taken(home: &Home, name: &str, arguments: &Arguments) -> Result<(Ticket, Plan), String> {
    let ticket = home
        .take_ticket(name, &arguments.line, now_ms())
        .map_err(|error| format!("{error}; nothing was run"))?;
    let plan = plan_of(&ticket, &arguments.line)?;
    Ok((ticket, plan))
}

/// Parses the plan of a ticket, which must be for this line.
fn plan_of(ticket: &Ticket, line: &str) -> Result<Plan, String> {
    let plan: Plan = serde_json::from_value(ticket.plan.clone())
        .map_err(|error| format!("the plan of this ticket cannot be read: {error}"))?;
    match &plan.start {
        interlock_sandbox::plan::Start::Line(planned) if planned == line => Ok(plan),
        _ => Err("the plan of this ticket is for another line; nothing was run".to_owned()),
    }
}

fn carry(plan: &Plan, most: Reach, report: Option<&mut Report>) -> Result<Exit, String> {
    let mut unrecorded = None;
    let mut left = false;
    let report = report.map(RefCell::new);
    // Reported while the line runs, so that it is known even if the line never ends.
    let mut started = |level: Level, unconfined: &[Unconfined]| {
        if let Some(report) = &report {
            unrecorded = report.borrow_mut().started(level, unconfined).err();
        }
    };
    let mut wanted = || {
        left = report
            .as_ref()
            .is_some_and(|report| !report.borrow_mut().may_go_on());
        !left
    };
    let watched = report.is_some() && plan.column == Column::Writing;
    let told = Watcher {
        started: &mut started,
        wanted: if watched { Some(&mut wanted) } else { None },
    };
    let ended = run_watched(plan, most, told).map_err(|error| error.to_string())?;
    tell_of_ends(plan, &ended, left);
    match report.map(RefCell::into_inner) {
        Some(report) => {
            // The end is reported even if the start could not be: changes must be known.
            let unended = report.ended(&ended, plan, unrecorded.is_none()).err();
            if let Some(why) = unrecorded.or(unended) {
                // The line has run: without a record, it is not evidence.
                let _ = writeln!(
                    std::io::stderr(),
                    "interlock: what this line did is not recorded: {why}"
                );
            }
        }
        None => report::tell_person(&ended),
    }
    Ok(ended.exit)
}

/// Reports which processes of a writing line were ended, and why.
fn tell_of_ends(plan: &Plan, ended: &Ended, left: bool) {
    let say = |text: &str| {
        // If standard error is closed, only the exit code remains.
        let _ = writeln!(std::io::stderr(), "interlock: {text}");
    };
    if left {
        say(
            "the run has left the state that let this line write: it was ended with all that it started",
        );
    } else if ended.left_behind > 0 && plan.column == Column::Writing {
        say(
            "programs that this line left running were ended with it; a state may name such commands under `background`",
        );
    }
}

/// Ends like the line: with its exit code, or by the same signal.
fn end_as(exit: Exit) -> ExitCode {
    match exit {
        Exit::Code(code) => ExitCode::from(code),
        Exit::Signal(signal) => {
            // This returns only if the signal does not end a process.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            let code = u8::try_from(BY_SIGNAL.saturating_add(signal)).unwrap_or(u8::MAX);
            ExitCode::from(code)
        }
    }
}
