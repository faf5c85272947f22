//! What a trial has done and found.

use std::time::Duration;

use serde_json::{Value, json};

/// The result of a trial.
#[derive(Debug, Default)]
pub struct Report {
    pub(super) seed: u64,
    pub(super) took: Duration,
    /// Commands and reads that were answered.
    pub(super) answered: u64,
    /// Calls with every repetition, and those that never had an answer.
    pub(super) calls: usize,
    pub(super) unanswered: usize,
    pub(super) runs: usize,
    pub(super) durable_runs: usize,
    pub(super) repeated_steps: u64,
    /// Name, count and slowest recovery of each fault.
    pub(super) faults: Vec<(&'static str, u64, Duration)>,
    pub(super) ended_workers: u64,
    pub(super) slowest_answer: Duration,
    pub(super) slowest_durable_run: Duration,
    /// Histories that no order of the calls explains.
    pub(super) unexplained: usize,
    /// Histories with too many possible orders to try all of them.
    pub(super) undecided: usize,
    pub(super) failures: Vec<String>,
}

impl Report {
    /// Returns whether nothing wrong was found.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.failures.is_empty()
    }

    /// Returns what is wrong.
    #[must_use]
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Returns the number of histories that no order of the calls explains.
    #[must_use]
    pub const fn unexplained(&self) -> usize {
        self.unexplained
    }

    /// Returns the number of histories with too many possible orders to try all of them.
    #[must_use]
    pub const fn undecided(&self) -> usize {
        self.undecided
    }

    /// Returns the number of calls, of runs whose history was checked, of durable runs, and of faults.
    #[must_use]
    pub fn counts(&self) -> [u64; 4] {
        let faults = self.faults.iter().map(|(_, count, _)| count).sum();
        [
            self.calls as u64,
            self.runs as u64,
            self.durable_runs as u64,
            faults,
        ]
    }

    /// Prints it.
    pub fn print(&self, as_json: bool) {
        if as_json {
            println!("{}", self.json());
            return;
        }
        println!("seed                          {}", self.seed);
        println!(
            "time                          {:.0} s",
            self.took.as_secs_f64()
        );
        println!("answered                      {}", self.answered);
        println!("calls, with repetitions       {}", self.calls);
        println!("calls without an answer       {}", self.unanswered);
        println!("histories                     {}", self.runs);
        println!("  of them not decided         {}", self.undecided);
        println!("durable runs                  {}", self.durable_runs);
        println!("steps that were repeated      {}", self.repeated_steps);
        println!("workers that ended themselves {}", self.ended_workers);
        println!(
            "slowest answer                {:.1} s",
            self.slowest_answer.as_secs_f64()
        );
        println!(
            "slowest durable run           {:.1} s",
            self.slowest_durable_run.as_secs_f64()
        );
        println!(
            "\n{:<30} {:>6}  slowest recovery of the servers",
            "fault", "count"
        );
        for (name, count, slowest) in &self.faults {
            println!("{name:<30} {count:>6}  {:.2} s", slowest.as_secs_f64());
        }
        match self.failures.as_slice() {
            [] => println!(
                "\nevery history that was decided is linearizable, every log is whole, every step was done once"
            ),
            failures => {
                println!();
                failures
                    .iter()
                    .for_each(|failure| println!("WRONG: {failure}"));
                println!("\nto play the same plan again: --seed {}", self.seed);
            }
        }
    }

    fn json(&self) -> Value {
        let fault = |(name, count, slowest): &(&str, u64, Duration)| json!({ "fault": name, "count": count, "slowest_recovery_ms": slowest.as_millis() as u64 });
        json!({
            "seed": self.seed, "seconds": self.took.as_secs(), "answered": self.answered, "calls": self.calls,
            "unanswered": self.unanswered, "histories": self.runs, "durable_runs": self.durable_runs,
            "repeated_steps": self.repeated_steps, "ended_workers": self.ended_workers,
            "slowest_answer_ms": self.slowest_answer.as_millis() as u64,
            "slowest_durable_run_ms": self.slowest_durable_run.as_millis() as u64,
            "unexplained": self.unexplained, "undecided": self.undecided, "faults": self.faults.iter().map(fault).collect::<Vec<_>>(), "failures": self.failures,
        })
    }
}
