//! The runs that this process carries: their leases, and what ends them in time.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use interlock_core::names::RunId;
use interlock_runner::Abandoner;
use interlock_shared::Database;

use crate::ticks::ticks;

/// How often the watch looks at the clock, which also moves while the machine is suspended.
const LOOK: Duration = Duration::from_millis(100);

/// The runs that this process carries.
#[derive(Debug)]
pub(crate) struct Leases {
    lease: Duration,
    slots: usize,
    runs: Mutex<Runs>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Runs {
    carried: BTreeMap<RunId, Carried>,
    /// No run is carried any more.
    is_closed: bool,
}

/// A run that is carried, or about to be.
#[derive(Debug, Default)]
struct Carried {
    /// The epoch, and the end of the lease by the clock of this machine; `None` until the claim was granted.
    term: Option<(u64, Duration)>,
    abandoner: Option<Abandoner>,
    /// How it is to be ended.
    ending: Option<Ending>,
}

/// Why a run is no longer carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The process ends.
    Asked,
    /// The lease ends, or is lost.
    Lost,
}

impl Carried {
    fn end(&mut self, ending: Ending) {
        self.ending = match (self.ending, ending) {
            (Some(Ending::Lost), _) => Some(Ending::Lost),
            (_, ending) => Some(ending),
        };
        if let Some(abandoner) = &self.abandoner {
            match ending {
                Ending::Asked => abandoner.abandon_gently(),
                Ending::Lost => abandoner.abandon(),
            }
        }
    }
}

/// The right to carry one run in this process, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    leases: Arc<Leases>,
    run: RunId,
}

impl Leases {
    pub(crate) fn new(lease: Duration, slots: usize) -> Self {
        Self {
            lease,
            slots,
            runs: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(crate) const fn lease(&self) -> Duration {
        self.lease
    }

    /// Reserves a slot for a run; `None` if there is none, if the run has one, or if the process ends.
    pub(crate) fn reserve(self: &Arc<Self>, run: &RunId) -> Option<Held> {
        let mut runs = self.lock();
        let is_free =
            !runs.is_closed && runs.carried.len() < self.slots && !runs.carried.contains_key(run);
        if !is_free {
            return None;
        }
        runs.carried.insert(run.clone(), Carried::default());
        Some(Held {
            leases: Arc::clone(self),
            run: run.clone(),
        })
    }

    /// Ends everything, gently; returns whether nothing is carried any more within `time`.
    pub(crate) fn close(&self, time: Duration) -> bool {
        let mut runs = self.lock();
        runs.is_closed = true;
        for carried in runs.carried.values_mut() {
            carried.end(Ending::Asked);
        }
        self.changed.notify_all();
        let waited = self
            .changed
            .wait_timeout_while(runs, time, |runs| !runs.carried.is_empty());
        let (runs, _) = waited.unwrap_or_else(PoisonError::into_inner);
        runs.carried.is_empty()
    }

    /// Returns whether the process ends and nothing is carried any more.
    fn is_done(&self) -> bool {
        let runs = self.lock();
        runs.is_closed && runs.carried.is_empty()
    }

    /// Renews every lease at a third of it, until the process ends.
    pub(crate) fn renew(&self, database: &Database) {
        while !self.is_done() {
            for (run, epoch) in self.terms() {
                // Taken before the request: the lease lasts at least so long.
                let at = ticks();
                match database.renew(&run, epoch, self.lease) {
                    Ok(true) => self.renewed(&run, (epoch, at + self.lease)),
                    Ok(false) => self.lost(&run, epoch),
                    // The others would fail alike; the watch ends what cannot be renewed in time.
                    Err(_) => break,
                }
            }
            let runs = self.lock();
            let waited = self
                .changed
                .wait_timeout_while(runs, self.lease / 3, |runs| {
                    !(runs.is_closed && runs.carried.is_empty())
                });
            drop(waited);
        }
    }

    /// Ends what could not be renewed in time, until the process ends.
    pub(crate) fn watch(&self) {
        while !self.is_done() {
            let mut runs = self.lock();
            let now = ticks();
            // Programs are killed before anybody else may start others.
            let margin = self.lease / 6;
            for carried in runs.carried.values_mut() {
                let is_over = carried.term.is_some_and(|(_, until)| now + margin >= until);
                if is_over && carried.ending != Some(Ending::Lost) {
                    carried.end(Ending::Lost);
                }
            }
            let waited = self.changed.wait_timeout(runs, LOOK);
            drop(waited);
        }
    }

    fn terms(&self) -> Vec<(RunId, u64)> {
        let runs = self.lock();
        let terms = runs.carried.iter().filter_map(|(run, carried)| {
            // A lease that was given up is not taken again.
            let (epoch, _) = carried
                .term
                .filter(|_| carried.ending != Some(Ending::Lost))?;
            Some((run.clone(), epoch))
        });
        terms.collect()
    }

    fn renewed(&self, run: &RunId, (epoch, until): (u64, Duration)) {
        if let Some(carried) = self.lock().carried.get_mut(run)
            && let Some(term) = carried.term.as_mut().filter(|term| term.0 == epoch)
        {
            term.1 = until;
        }
    }

    fn lost(&self, run: &RunId, epoch: u64) {
        if let Some(carried) = self.lock().carried.get_mut(run)
            && carried.term.is_some_and(|term| term.0 == epoch)
        {
            carried.end(Ending::Lost);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Begins the term of an epoch whose claim was made at `at`.
    pub(crate) fn begin(&self, epoch: u64, at: Duration) {
        let mut runs = self.leases.lock();
        if let Some(carried) = runs.carried.get_mut(&self.run) {
            carried.term = Some((epoch, at + self.leases.lease));
        }
    }

    /// Sets what ends the run's programs; ends them at once if they are to be ended already.
    pub(crate) fn attach(&self, abandoner: Abandoner) {
        let mut runs = self.leases.lock();
        if let Some(carried) = runs.carried.get_mut(&self.run) {
            carried.abandoner = Some(abandoner);
            if let Some(ending) = carried.ending {
                carried.end(ending);
            }
        }
    }

    /// Returns whether the run is to be ended because the process ends.
    pub(crate) fn is_asked(&self) -> bool {
        let runs = self.leases.lock();
        let carried = runs.carried.get(&self.run);
        carried.is_some_and(|carried| carried.ending == Some(Ending::Asked))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.leases.lock().carried.remove(&self.run);
        self.leases.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::{sync::Arc, thread, time::Duration};

    use interlock_core::names::RunId;

    use super::{Ending, Leases};
    use crate::ticks::ticks;

    const LEASE: Duration = Duration::from_secs(30);

    fn run(name: &str) -> RunId {
        RunId::new(name)
    }

    #[test]
    fn a_run_has_one_slot_and_there_are_no_more_than_allowed() {
        let leases = Arc::new(Leases::new(LEASE, 2));
        let first = leases.reserve(&run("a")).unwrap();
        assert!(leases.reserve(&run("a")).is_none());
        let _second = leases.reserve(&run("b")).unwrap();
        assert!(leases.reserve(&run("c")).is_none());
        drop(first);
        let _third = leases.reserve(&run("c")).unwrap();
        assert!(!leases.close(Duration::ZERO));
        assert!(leases.reserve(&run("d")).is_none());
    }

    #[test]
    fn a_lease_that_was_not_renewed_is_given_up_before_it_ends() {
        let leases = Arc::new(Leases::new(LEASE, 2));
        let (late, fresh) = (run("late"), run("fresh"));
        let held = [
            leases.reserve(&late).unwrap(),
            leases.reserve(&fresh).unwrap(),
        ];
        let now = ticks();
        // Of the lease, 4 s are left: less than a sixth.
        held[0].begin(1, now.saturating_sub(LEASE * 26 / 30));
        held[1].begin(7, now);
        thread::scope(|scope| {
            scope.spawn(|| leases.watch());
            let ending = |name: &RunId| leases.lock().carried.get(name).unwrap().ending;
            while ending(&late).is_none() {
                thread::yield_now();
            }
            assert_eq!(ending(&late), Some(Ending::Lost));
            assert_eq!(ending(&fresh), None);
            // It is not renewed any more, whatever the database would say.
            assert_eq!(leases.terms(), [(fresh.clone(), 7)]);
            leases.lost(&fresh, 6);
            assert_eq!(ending(&fresh), None, "another epoch was lost");
            drop(held);
            assert!(leases.close(LEASE));
        });
    }
}
