//! Durable runs, whose steps append lines to a file that are counted.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::clients::Shared;
use crate::{dice::Dice, http::Client, site::start_body};

/// Steps of one run.
const STEPS: usize = 3;
/// How long a run may take, with all that goes wrong meanwhile.
const ENDED_WITHIN: Duration = Duration::from_secs(180);
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(250);

/// The durable runs of a trial.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) runs: Mutex<Vec<(String, u64)>>,
    pub(super) slowest: Mutex<Duration>,
    pub(super) failures: Mutex<Vec<String>>,
    /// Attempts of steps beyond the first.
    pub(super) repeated: AtomicU64,
}

/// Returns a workflow whose steps append lines to `journal`.
fn workflow(number: u64) -> String {
    let mut text = "start-at: s0\nstates:\n".to_owned();
    for step in 0..STEPS {
        text.push_str(&format!(
            "  s{step}:\n    tool: bash\n    on-crash: retry\n    arguments: {{command: \"echo r{number}-s{step}. >> journal; sleep 0.2\", cwd: \"@/\"}}\n"
        ));
        if step + 1 < STEPS {
            text.push_str(&format!("    next: s{}\n", step + 1));
        }
    }
    text
}

impl Steps {
    /// Starts one run after the other, and waits until it has ended.
    pub(super) fn play(&self, shared: &Shared<'_>, seed: u64, is_over: &AtomicBool) {
        let mut dice = Dice::of("steps", seed);
        while !is_over.load(Ordering::SeqCst) {
            let number = shared.keys.fetch_add(1, Ordering::SeqCst);
            let begun = Instant::now();
            let key = format!("steps-{number}");
            let body = start_body("steps.yaml", &workflow(number));
            let ana = &shared.tokens.ana;
            let run = repeat(shared, &mut dice, begun, |client| {
                let answer = client.post("/v1/runs", (ana, &key), &body).ok()?;
                answer.json()["run"].as_str().map(str::to_owned)
            });
            let Some(run) = run else {
                self.fail(format!("durable run {number} was not started"));
                return;
            };
            let ended = repeat(shared, &mut dice, begun, |client| {
                let view = client.get(&format!("/v1/runs/{run}"), ana).ok()?;
                (view.json()["report"]["status"] == "completed").then_some(())
            });
            if ended.is_none() {
                self.fail(format!("durable run {run} has not ended"));
                return;
            }
            let mut slowest = self.slowest.lock().unwrap();
            *slowest = begun.elapsed().max(*slowest);
            drop(slowest);
            self.runs.lock().unwrap().push((run, number));
        }
    }

    fn fail(&self, what: String) {
        self.failures.lock().unwrap().push(what);
    }

    /// Compares the lines of every step with its attempts in the log.
    pub(super) fn check(&self, shared: &Shared<'_>, project: &Path) {
        let journal = fs::read_to_string(project.join("journal")).unwrap_or_default();
        let mut dice = Dice::of_seed(0);
        for (run, number) in self.runs.lock().unwrap().iter() {
            let path = format!("/v1/runs/{run}/events?from=0");
            let ana = &shared.tokens.ana;
            let events = repeat(shared, &mut dice, Instant::now(), |client| {
                let page = client.get(&path, ana).ok()?.json();
                page["events"].as_array().cloned()
            });
            let events = events.unwrap_or_default();
            let mut attempts = [0_usize; STEPS];
            let mut at = 0;
            for line in &events {
                let text = line.to_string();
                if !text.contains("EffectStarted") {
                    continue;
                }
                // A repeated attempt does not repeat its input.
                let named = (0..STEPS).find(|step| text.contains(&format!("r{number}-s{step}.")));
                at = named.unwrap_or(at);
                attempts[at] += 1;
            }
            for (step, attempts) in attempts.into_iter().enumerate() {
                let line = format!("r{number}-s{step}.");
                let lines = journal.lines().filter(|of| **of == line).count();
                self.repeated
                    .fetch_add(attempts.saturating_sub(1) as u64, Ordering::Relaxed);
                // An attempt that was interrupted has appended its line or not; one that ended has.
                if lines == 0 || lines > attempts {
                    self.fail(format!(
                        "run {run}: step {step} has {attempts} attempts and {lines} lines"
                    ));
                }
            }
        }
    }
}

/// Repeats a request to any server until it has a result; `None` after a long time.
fn repeat<T>(
    shared: &Shared<'_>,
    dice: &mut Dice,
    begun: Instant,
    mut ask: impl FnMut(&mut Client) -> Option<T>,
) -> Option<T> {
    while begun.elapsed() < ENDED_WITHIN {
        let mut client = Client::new(shared.address(dice), PATIENCE);
        if let Some(result) = ask(&mut client) {
            return Some(result);
        }
        thread::sleep(LOOK);
    }
    None
}
