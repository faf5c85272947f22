//! Carries one run in a thread of its own, until it is over, waits, or is lost.

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use interlock_clients::plugins;
use interlock_core::{command::CommandKind, machine::Machine, names::RunId};
use interlock_project::{Config, ConfigError, now_ms};
use interlock_runner::{
    Approvals, BuildError, Builder, CarriedTerms, DriveError, Embedded, EmbeddedError, Halt,
    RunConfig, due,
};
use interlock_shared::GivenBack;
use interlock_store::{EventLog as _, RunLog, RunStore as _, Runs as _, StoreError};

use crate::{
    lease::Held,
    next::{LATER_AFTER, Next},
    note::Note,
    shared::Shared,
    workspace::{Missing, UnreadyError, ready},
};

/// What follows for a run that cannot go on here now.
const LATER: (Next, Option<Duration>) = (Next::Later, Some(LATER_AFTER));
/// A run that only waits is given back if it waits for longer.
const REST_AFTER: Duration = Duration::from_secs(1);

/// Why a run cannot be carried here.
#[derive(Debug, thiserror::Error)]
enum CarryError {
    #[error("its project cannot be used here: {0}")]
    Project(#[source] io::Error),
    #[error(transparent)]
    Files(#[from] UnreadyError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    #[error(transparent)]
    Drive(#[from] DriveError<StoreError>),
}

/// A claim that was granted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term {
    pub(crate) epoch: u64,
    pub(crate) is_interrupted: bool,
}

/// Carries a run, gives it back, and has Restate told what follows.
pub(crate) fn carry(shared: &Arc<Shared>, run: &RunId, held: Held, term: Term) {
    shared.note(&Note::Taken {
        run: run.as_str().to_owned(),
        epoch: term.epoch,
        is_interrupted: term.is_interrupted,
    });
    let prepared = prepare(shared, run, term);
    // Nothing has been started: what was interrupted before still is.
    let untouched = if term.is_interrupted {
        GivenBack::Interrupted
    } else {
        GivenBack::Whole
    };
    let (how, (next, due), why) = match prepared {
        Err(error) => (untouched, LATER, Some(error.to_string())),
        Ok(Prepared {
            mut host,
            machine,
            missing: Some(missing),
        }) => match ask(shared, &mut host, &machine, &missing) {
            Ok(()) => (untouched, (Next::Person, None), None),
            Err(error) => (untouched, LATER, Some(error.to_string())),
        },
        Ok(Prepared {
            mut host, machine, ..
        }) => {
            held.attach(host.abandoner());
            match driven(&mut host, &machine) {
                Ok(next) => (GivenBack::Whole, next, None),
                // Its programs end when `host` is dropped, in this arm.
                Err(_) if held.is_asked() => (GivenBack::Interrupted, (Next::Lost, None), None),
                Err(error) => (GivenBack::Interrupted, LATER, Some(error.to_string())),
            }
        }
    };
    // If the database is away, the lease ends by itself, and another carrier says that effects were interrupted.
    let given_back = shared
        .database()
        .give_back(run, term.epoch, how, (next.json(), due));
    let (next, why) = match given_back {
        Ok(true) => (next, why),
        Ok(false) => (Next::Lost, why),
        Err(error) => (Next::Lost, Some(error.to_string())),
    };
    drop(held);
    shared.note(&Note::Ended {
        run: run.as_str().to_owned(),
        epoch: term.epoch,
        next,
        why,
    });
    shared.nudge();
}

/// A run that is open here, with everything that it needs.
struct Prepared {
    host: Embedded,
    machine: Machine,
    /// What a person is asked first.
    missing: Option<Missing>,
}

/// Opens the run here, and finds everything that it needs.
fn prepare(shared: &Shared, run: &RunId, term: Term) -> Result<Prepared, CarryError> {
    let files = ready(shared, run, term.epoch, &shared.runs().open_run(run)?)?;
    let project = files.project;
    let environment = shared.environment();
    let home = environment.home_of_person();
    let home = home.as_deref().unwrap_or(Path::new("/"));
    shared.runs().relocate(run, &project, home)?;
    let mut log = shared.runs().open_run(run)?;
    log.carry(term.epoch);
    if let Some(recorder) = files.recorder {
        log.record_files(Box::new(recorder));
    }
    let folded = log.load()?;
    let machine = log.machine_of(&folded)?;
    if let Some(places) = folded.places() {
        fs::create_dir_all(&places.run_dir).map_err(CarryError::Project)?;
    }
    let mut builder = Builder::new(environment.clone(), &project)
        // Nobody is asked here: the run is given back until somebody answers.
        .people("a person".to_owned(), Approvals::NoWait);
    if Builder::needs_config(&machine) {
        builder = builder
            .config(config(shared, &project)?)
            .plugins(plugins::in_place(environment));
    }
    builder.prepare(&machine, Some(&folded))?;
    let mut host = builder.take(RunLog::new(log), &machine)?;
    host.set_carried(CarriedTerms {
        is_interrupted: term.is_interrupted,
        rest_after: REST_AFTER,
    });
    Ok(Prepared {
        host,
        machine,
        missing: files.missing,
    })
}

/// Pauses a run whose files are not here, and asks a person whether to go on without them.
fn ask(
    shared: &Shared,
    host: &mut Embedded,
    machine: &Machine,
    missing: &Missing,
) -> Result<(), CarryError> {
    let run = host.run()?;
    if run.paused.is_some() {
        // A person has paused it, and is asked after that.
        return Ok(());
    }
    let pause = CommandKind::Pause {
        by: format!("the worker on {}", shared.machine()),
        reason: Some(missing.reason.clone()),
    };
    interlock_runner::command(machine, host, &pause)?;
    let seq = host.log().count()?;
    let database = shared.database();
    database
        .asked_about_workspace(&run.id, &missing.id, seq)
        .map_err(StoreError::from)?;
    Ok(())
}

/// Reads the configuration of the person who runs the worker, and the restrictions of the project.
///
/// Nobody is asked here whether the project is trusted: it is if the person's own file says so.
fn config(shared: &Shared, project: &Path) -> Result<RunConfig, ConfigError> {
    let person = Config::of_person(shared.environment().configuration())?;
    let of_project = Config::of_project(project)?;
    let is_trusted = person.trusts(project);
    Ok(RunConfig {
        project: if is_trusted {
            of_project
        } else {
            of_project.narrowed()
        },
        person,
        is_trusted,
    })
}

/// Drives the run as far as it goes here; returns what follows, and after which time it is due.
fn driven(host: &mut Embedded, machine: &Machine) -> Result<(Next, Option<Duration>), CarryError> {
    host.recover(machine)?;
    let run = host.run()?;
    let is_late = |until: u64| until <= now_ms();
    let first = |run| {
        let effects = interlock_core::effects(machine, run);
        effects.iter().filter_map(due).min()
    };
    if first(&run).is_some_and(is_late) {
        // What waits for a person with a limit on its time is not advanced otherwise.
        interlock_runner::command(machine, host, &CommandKind::Advance)?;
    }
    let until = match host.drive(machine)? {
        Halt::Over => return Ok((Next::Over, None)),
        Halt::Waiting(until) => Some(until),
        Halt::Standing => first(&host.run()?),
    };
    Ok(match until {
        None => (Next::Person, None),
        // Nothing came of it now: it is not tried again at once.
        Some(until) if is_late(until) => LATER,
        Some(until) => {
            let left = Duration::from_millis(until.saturating_sub(now_ms()));
            (Next::Time, Some(left))
        }
    })
}
