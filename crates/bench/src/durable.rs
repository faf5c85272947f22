//! Compares durable runs with LangGraph, DBOS and Restate: steps that do nothing, each stored before the next begins.

mod nothing;
mod peers;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use interlock_core::{
    machine::{Machine, Object},
    names::RunId,
};
use interlock_formats::{NoWorkflows, Source, load, render};
use interlock_runner::{Halt, drive};
use interlock_store::{
    Durability, EventLog as _, Home, NewDurable, NewRun, Origin, RunLog, SourceFile,
};

use crate::{arguments::Arguments, table::Table};
use nothing::Nothing;
use peers::{Found, Peer};

/// Number of steps of the single run.
const STEPS: u64 = 2_000;
/// Number of concurrent runs.
const RUNS: usize = 200;
/// Number of steps of each concurrent run.
const EACH: u64 = 50;
/// Number of steps before a run is resumed; each writes two events or more.
const BEHIND: u64 = 5_000;
/// Number of threads that execute runs; the peers use as many.
const THREADS: usize = 8;
/// Number of alternations, so that load on the machine slows everyone.
const TURNS: usize = 3;

/// One state repeated until the host reports that it failed.
const STEPS_OF_NOTHING: &str = "\
start-at: step
states:
  step: {tool: bash, arguments: {command: ':'}, next: step, on-error: {1: last}}
  last: {tool: bash, arguments: {command: ':'}}
";

/// Measures ours and every peer, at both durabilities.
pub(crate) fn peers(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let folder = Path::new(&arguments.peers);
    // The target is for surviving a killed process; surviving a power loss is only reported.
    for (durability, word) in [
        (Durability::Process, "process"),
        (Durability::Power, "power"),
    ] {
        let judged = durability == Durability::Process;
        let mut ours = Vec::new();
        let mut theirs: Vec<Vec<Found>> = Peer::ALL.iter().map(|_| Vec::new()).collect();
        for _ in 0..TURNS {
            ours.push(measured(durability)?);
            for (peer, found) in Peer::ALL.iter().zip(&mut theirs) {
                let took = peer.measured(folder, word);
                found.push(took.with_context(|| format!("measuring {}", peer.name()))?);
            }
        }
        let ours = Found::median(ours);
        for (peer, found) in Peer::ALL.iter().zip(theirs) {
            report(table, word, judged, &ours, peer, &Found::median(found));
        }
    }
    Ok(())
}

fn report(table: &mut Table, word: &str, judged: bool, ours: &Found, peer: &Peer, theirs: &Found) {
    let name = format!("{} {}", peer.name(), theirs.version);
    let bar = |least: f64| judged.then_some(least);
    for (what, ours, theirs) in [
        ("steps a second, one run", ours.one, theirs.one),
        ("steps a second, 200 runs", ours.many, theirs.many),
    ] {
        table.ahead(
            format!("{word}: {what}"),
            format!("{ours:.0}"),
            format!("{name}: {theirs:.0}"),
            ours / theirs,
            bar(peer.bar()),
        );
    }
    table.ahead(
        format!("{word}: a run of {BEHIND} steps taken up again"),
        format!("{:.2} ms", ours.resume_ms),
        format!("{name}: {:.2} ms", theirs.resume_ms),
        theirs.resume_ms / ours.resume_ms,
        bar(1.0),
    );
}

/// Measures ours.
fn measured(durability: Durability) -> Result<Found> {
    let folder = tempfile::tempdir()?;
    let place = RunRoom {
        home: Home::at(folder.path().join("state")),
        project: folder.path().to_owned(),
        machine: machine()?,
        durability,
    };
    place.play(20)?;
    let begun = Instant::now();
    place.play(STEPS)?;
    let one = rate(STEPS, begun);
    let begun = Instant::now();
    place.play_many()?;
    let many = rate(RUNS as u64 * EACH, begun);
    let left = place.leave(BEHIND)?;
    let begun = Instant::now();
    place.take_up(&left)?;
    Ok(Found {
        version: String::new(),
        one,
        many,
        resume_ms: begun.elapsed().as_secs_f64() * 1e3,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "some thousands, in a number for people"
)]
fn rate(steps: u64, begun: Instant) -> f64 {
    steps as f64 / begun.elapsed().as_secs_f64()
}

/// The place where runs are created.
struct RunRoom {
    home: Home,
    project: PathBuf,
    machine: Machine,
    durability: Durability,
}

impl RunRoom {
    fn begin(&self) -> Result<RunLog> {
        let new = NewRun {
            machine: &self.machine,
            source: &SourceFile {
                name: "steps.yaml".to_owned(),
                text: STEPS_OF_NOTHING.to_owned(),
            },
            project_root: &self.project,
            name: None,
            durability: self.durability,
            at_ms: nothing::now_ms(),
        };
        let origin = Origin::default();
        let durable = NewDurable {
            new,
            home: &self.project,
            origin: &origin,
            mode: None,
            input: None,
        };
        let started = self.home.start_durable(&durable, Object::new(), "bench")?;
        Ok(started.log.kept())
    }

    /// Creates a run and executes it to its end.
    fn play(&self, steps: u64) -> Result<()> {
        let mut host = Nothing::of(self.begin()?, steps, false);
        let halt = drive(&self.machine, &mut host)?;
        ensure!(halt == Halt::Over, "the run stands");
        ensure!(host.done() == steps + 2, "a step is missing");
        host.log().tidy_up();
        Ok(())
    }

    fn play_many(&self) -> Result<()> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<()> {
            while next.fetch_add(1, Ordering::Relaxed) < RUNS {
                self.play(EACH)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .map_err(|_| anyhow::anyhow!("a worker panicked"))?
            })
        })
    }

    /// Creates a run and abandons it before its last step, as a killed process does.
    fn leave(&self, steps: u64) -> Result<RunId> {
        let mut host = Nothing::of(self.begin()?, steps, true);
        let halt = drive(&self.machine, &mut host);
        ensure!(halt.is_err(), "the run was not left");
        ensure!(host.log().count()? >= 2 * steps, "there are events enough");
        Ok(host.log().run().clone())
    }

    fn take_up(&self, run: &RunId) -> Result<()> {
        let log = self.home.open_run(run)?.kept();
        let machine = log.machine()?;
        let mut host = Nothing::of(log, 0, false);
        let halt = drive(&machine, &mut host)?;
        ensure!(halt == Halt::Over, "the run stands");
        Ok(())
    }
}

fn machine() -> Result<Machine> {
    match load(
        &Source::new("steps.yaml", STEPS_OF_NOTHING),
        None,
        &NoWorkflows,
    ) {
        Ok(loaded) => Ok(loaded.machine),
        Err(found) => anyhow::bail!("{}", render(&found, false)),
    }
}
