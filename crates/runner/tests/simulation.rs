//! The engine and the runner's drive in a simulated world: thirty thousand schedules from a printed seed.
//!
//! `INTERLOCK_SEED` and `INTERLOCK_SCHEDULES` choose another first seed and another number of schedules. A failing
//! schedule is simplified as far as possible, and printed: the workflow, every step, every event.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a failed test panics, and says its seed"
)]

mod choices;
mod play;
mod workflow;
mod world;

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use choices::{Choices, shrink};
use interlock_core::{event::Event, run::Run};
use play::{Ending, Schedule};
use workflow::{Workflow, workflow};

const SCHEDULES: u64 = 12_000;
/// Number of schedules of one workflow; the first of them crash before and after each append.
const A_WORKFLOW: u64 = 100;
/// One in this many logs is written out and read back.
const READ_BACK: u64 = 64;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// A workflow with its undisturbed end.
struct Scene {
    workflow: Workflow,
    calm: Ending,
    appends: u64,
}

impl Scene {
    fn of(number: u64) -> Self {
        let workflow = workflow(number);
        let calm = Schedule {
            machine: &workflow.machine,
            is_fair: true,
            crash_at: None,
        }
        .play(Choices::of_script(Vec::new()), true);
        let ending = calm.ending.unwrap_or_else(|wrong| {
            let trace = calm.trace.join("\n");
            panic!(
                "workflow {number} undisturbed: {wrong}\n{trace}\n{:#?}",
                workflow.machine
            )
        });
        Self {
            calm: ending,
            appends: calm.appends.into(),
            workflow,
        }
    }

    /// Returns the schedule `number` of this workflow and the source of its choices.
    fn schedule(&self, seed: u64) -> (Schedule<'_>, Choices) {
        let number = seed % A_WORKFLOW;
        let swept = number < 2 * self.appends;
        let crash = (u32::try_from(number / 2 + 1).unwrap(), number % 2 == 1);
        let schedule = Schedule {
            machine: &self.workflow.machine,
            is_fair: self.workflow.is_steady && (swept || number % 4 != 3),
            crash_at: swept.then_some(crash),
        };
        let choices = if swept {
            Choices::of_script(Vec::new())
        } else {
            Choices::of_seed(seed)
        };
        (schedule, choices)
    }

    /// Plays a schedule and returns its error, if there is one.
    fn wrong(&self, schedule: &Schedule<'_>, choices: Choices, seed: u64) -> Option<String> {
        let played = schedule.play(choices, false);
        match played.ending {
            Err(wrong) => Some(wrong),
            Ok(ending) if schedule.is_fair && !ending.is_same(&self.calm) => Some(format!(
                "it ends otherwise than undisturbed\nseen: {ending:?}\ncalm: {:?}",
                self.calm
            )),
            Ok(_) if seed.is_multiple_of(READ_BACK) => read_back(&played.log),
            Ok(_) => None,
        }
    }

    /// Describes a failed schedule.
    fn tell(&self, seed: u64) -> String {
        let (schedule, choices) = self.schedule(seed);
        let script = schedule.play(choices, false).choices;
        let fails = |script: &[u64]| {
            let choices = Choices::of_script(script.to_vec());
            self.wrong(&schedule, choices, seed).is_some()
        };
        let least = shrink(&script, fails);
        let wrong = self.wrong(&schedule, Choices::of_script(least.clone()), seed);
        let traced = schedule.play(Choices::of_script(least.clone()), true);
        let mut told = String::new();
        let _ = writeln!(
            told,
            "seed {seed}: {}\n\nto play it again: INTERLOCK_SEED={seed} INTERLOCK_SCHEDULES=1\n\nworkflow {}\n\nchoices {least:?}, crash {:?}\n",
            wrong.unwrap_or_default(),
            serde_json::to_string_pretty(&self.workflow.machine).unwrap(),
            schedule.crash_at,
        );
        told + &traced.trace.join("\n")
    }
}

/// Writes a log and its run out and reads them back.
fn read_back(log: &[Event]) -> Option<String> {
    let mut run = Run::new(interlock_core::names::RunId::new("r"));
    for event in log {
        let text = serde_json::to_string(event).unwrap();
        let read: Event = serde_json::from_str(&text).unwrap();
        if read != *event {
            return Some(format!("read back it is another event: {text}"));
        }
        run = interlock_core::evolve(run, event);
    }
    let text = serde_json::to_string(&run).unwrap();
    let read: Run = serde_json::from_str(&text).unwrap();
    (read != run).then(|| format!("read back it is another run: {text}"))
}

/// Reports the current seed on a panic.
struct Playing(u64);

impl Drop for Playing {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("seed {}", self.0);
        }
    }
}

/// Plays the seeds of one workflow after the other; returns the first failure.
fn play_some(first: u64, past: u64, next: &AtomicU64) -> Option<String> {
    loop {
        let from = next.fetch_add(A_WORKFLOW, Ordering::Relaxed);
        if from >= past {
            return None;
        }
        let number = from / A_WORKFLOW;
        let scene = Scene::of(number);
        for seed in from.max(first)..(from + A_WORKFLOW).min(past) {
            let playing = Playing(seed);
            let (schedule, choices) = scene.schedule(seed);
            if scene.wrong(&schedule, choices, seed).is_some() {
                return Some(scene.tell(seed));
            }
            drop(playing);
        }
    }
}

#[test]
fn no_schedule_breaks_a_rule() {
    let first = setting("INTERLOCK_SEED", A_WORKFLOW);
    let past = first + setting("INTERLOCK_SCHEDULES", SCHEDULES);
    let next = AtomicU64::new(first / A_WORKFLOW * A_WORKFLOW);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let failed = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|_| scope.spawn(|| play_some(first, past, &next)))
            .collect();
        workers
            .into_iter()
            .find_map(|worker| worker.join().unwrap())
    });
    if let Some(failed) = failed {
        panic!("{failed}");
    }
}
