//! Runs one durable run in this process, until it is over or waits for a person.

use std::{
    io::IsTerminal as _,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use interlock_clients::notify;
use interlock_core::{dialogue::Conversation, machine::Machine};
use interlock_process::Terminal;
use interlock_runner::{Embedded, Screen};
use interlock_store::EventLog as _;
use serde_json::json;

use super::{
    begin::Begun,
    guard::Guards,
    screen::Lines,
    signals::Cancelling,
    world::{World, failed},
};
use crate::{
    app::{self, App},
    args::StageArgs,
    failure::{Done, Exit, Failure},
    progress::Progress,
    standing::Halted,
    telemetry,
};

/// Interval of checks of a log whose events are printed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How a run is carried out.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Nobody is asked.
    pub(crate) headless: bool,
    /// Events are printed as JSON lines.
    pub(crate) json: bool,
    /// How model stages are run.
    pub(crate) stages: StageArgs,
}

/// What shows a run while it continues.
enum Shown {
    Progress(Progress),
    Lines(Arc<Lines>),
}

impl Shown {
    fn screen(&self) -> Arc<dyn Screen> {
        match self {
            Self::Progress(progress) => progress.screen(),
            Self::Lines(lines) => Arc::clone(lines) as Arc<dyn Screen>,
        }
    }
}

/// A run that this process has taken.
pub(crate) struct ActiveRun {
    host: Embedded,
    shown: Shown,
}

/// Carries out a run that has just begun, and ends with its exit code.
pub(crate) fn carry(app: &App, begun: Begun, machine: &Machine, terms: &Terms) -> Done {
    let mut carrying = ActiveRun::take(app, begun, machine, terms, 0)?;
    carrying.drive(machine)?;
    carrying.end(app, machine)
}

impl ActiveRun {
    /// Takes a run and prints its name; events from number `since` on are shown.
    ///
    /// Refused if another process has it, which is named.
    pub(crate) fn take(
        app: &App,
        begun: Begun,
        machine: &Machine,
        terms: &Terms,
        since: u64,
    ) -> Result<Self, Failure> {
        let log = &begun.log;
        let name = log.name()?.unwrap_or_else(|| log.run().to_string());
        let shown = if terms.json {
            let follower = app.home()?.open_run(log.run())?;
            Shown::Lines(Arc::new(Lines::new(follower, since)))
        } else {
            Shown::Progress(Progress::new(app.output))
        };
        let id = log.run().clone();
        let host = take(app, begun, machine, &shown, terms)?;
        match &shown {
            Shown::Progress(_) => app.output.remark(&format!("run {name}\n")),
            Shown::Lines(lines) => lines
                .begin(&json!({ "event": "Run", "run": id, "name": name, "workflow": machine.id })),
        }
        Ok(Self { host, shown })
    }

    /// Returns the host of the run.
    pub(crate) fn host(&mut self) -> &mut Embedded {
        &mut self.host
    }

    /// Drives the run until it is over or waits.
    pub(crate) fn drive(&mut self, machine: &Machine) -> Done {
        let cancelling = Cancelling::begin(self.host.canceller())?;
        let host = &mut self.host;
        let driven = match &self.shown {
            Shown::Progress(progress) => {
                let driven = host.drive(machine).map(drop);
                progress.close();
                driven
            }
            Shown::Lines(lines) => following(lines, || host.drive(machine).map(drop)),
        };
        drop(cancelling);
        Ok(driven?)
    }

    /// Releases the run, describes its state, and ends with its exit code.
    pub(crate) fn end(mut self, app: &App, machine: &Machine) -> Done {
        self.host.release()?;
        self.host.log().tidy_up();
        telemetry::nudge();
        let run = self.host.run()?;
        let halted = Halted::of(self.host.log(), run, machine)?;
        if halted.code == Exit::Waiting.code() && !std::io::stdout().is_terminal() {
            let own = app::configuration();
            notify::tell(own.as_deref(), &app.project(), (machine, &halted.run), 0);
        }
        match &self.shown {
            Shown::Progress(_) => {
                halted.tell(app);
                if let Some(result) = halted.result() {
                    app.output
                        .document(&format!("{}\n", Conversation::text_of(result)))?;
                }
            }
            Shown::Lines(lines) => lines.catch_up(Some(&halted.line()))?,
        }
        if halted.code != 0 {
            return Err(Failure::Said(Exit::Own(halted.code)));
        }
        let origin = self.host.log().folder().origin()?;
        if origin.is_some_and(|origin| origin.clean_on_end) {
            self.host.log().folder().remove_files()?;
        }
        Ok(())
    }
}

/// Takes the run, or returns who has it.
fn take(
    app: &App,
    begun: Begun,
    machine: &Machine,
    shown: &Shown,
    terms: &Terms,
) -> Result<Embedded, Failure> {
    let Begun { log, world } = begun;
    let World { builder, told } = match world {
        Some(world) => world,
        None => {
            let run = log.load()?;
            let project = run.places().map(|places| PathBuf::from(&places.project));
            let project = project.unwrap_or_else(|| app.project());
            let mut world = World::of_project(app, &project, machine, terms)?;
            let prepared = world.builder.prepare(machine, Some(&run));
            prepared.map_err(failed)?;
            world
        }
    };
    let terminal = Some(terms).filter(|terms| !terms.headless);
    let terminal = terminal.and_then(|_| Terminal::of_stdin()).map(Arc::new);
    let builder = builder
        .screen(shown.screen())
        .terminal(terminal)
        .guard(Arc::new(Guards::new(app)?));
    let mut host = builder.take(log, machine).map_err(failed)?;
    if let Some(ask) = told {
        let told = interlock_runner::command(machine, &mut host, &ask);
        told.map_err(|error| anyhow::anyhow!("{error}"))?;
    }
    Ok(host)
}

/// Prints events while `work` continues.
fn following<T>(lines: &Arc<Lines>, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let follower = scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                // What cannot be read now is read at the end, where errors count.
                let _ = lines.catch_up(None);
                thread::park_timeout(LOOK_EVERY);
            }
        });
        let done = work();
        over.store(true, Ordering::Release);
        follower.thread().unpark();
        done
    })
}
