//! Judges every session that was found.

use std::{
    num::NonZero,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use anyhow::anyhow;
use interlock_backtest::{Backtest, Backtester, Options, Rules};
use interlock_core::{machine::Machine, names::RunId};
use interlock_sessions::Session;
use interlock_simulate::{
    Scenario,
    what_if::{Change, WhatIf, Window, what_if},
};
use interlock_store::EventLog as _;

use super::{Found, find::Progress, root_of};
use crate::{
    app::App,
    commands::{compare::Stopped, console::scenario},
    failure::Failure,
};

/// Results of the sessions, in their order.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) sessions: Vec<Outcome>,
    /// The rules that had an effect.
    pub(crate) rules: Rules,
}

/// Result of one session.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The session was placed in the workflow.
    Placed(Box<Backtest>),
    /// The session is a log of the same workflow, and was judged again with its own transitions.
    Again(Box<WhatIf>),
}

impl Outcome {
    /// Counts the refused calls.
    pub(crate) fn refused(&self) -> u64 {
        match self {
            Self::Placed(placed) => placed.fewest,
            Self::Again(again) => {
                let refused = again.differences.iter();
                let refused = refused.filter(|one| one.change == Change::Refused);
                u64::try_from(refused.count()).unwrap_or(u64::MAX)
            }
        }
    }
}

/// Totals of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sessions: u64,
    pub(crate) calls: u64,
    pub(crate) refused: u64,
    pub(crate) everywhere: u64,
    pub(crate) approvals: u64,
    pub(crate) not_run: u64,
    pub(crate) not_judged: u64,
    pub(crate) exits_unknown: u64,
    pub(crate) can_end: u64,
    pub(crate) bounded: bool,
}

impl Tally {
    pub(crate) fn of(sessions: &[Outcome]) -> Self {
        let mut tally = Self::default();
        for one in sessions {
            tally.sessions += 1;
            tally.refused += one.refused();
            match one {
                Outcome::Placed(placed) => {
                    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
                    tally.calls += number(placed.placed.len());
                    tally.everywhere += number(placed.everywhere.len());
                    tally.approvals += placed.approvals;
                    tally.not_run += placed.not_run;
                    tally.not_judged += placed.not_judged.values().sum::<u64>();
                    tally.exits_unknown += placed.exits_unknown;
                    tally.can_end += u64::from(placed.can_end);
                    tally.bounded |= placed.bounded;
                }
                Outcome::Again(again) => {
                    tally.calls += again.judged + again.unjudged;
                    tally.not_judged += again.unjudged;
                }
            }
        }
        tally
    }

    /// Returns whether there are unknowns that may hide a refusal.
    pub(crate) const fn is_undecided(&self) -> bool {
        self.not_judged > 0 || self.bounded
    }
}

/// Judges every session under a workflow, several at a time.
pub(crate) fn judge(
    app: &App,
    machine: &Machine,
    found: &Found,
    options: Options,
) -> Result<Judged, Failure> {
    let unread =
        |why: String| Failure::usage(anyhow!("`{}` cannot be followed: {why}", machine.id));
    let first = Backtester::new(machine, options).map_err(unread)?;
    let usual = scenario(app);
    let mut again = Vec::new();
    for (index, run) in &found.runs {
        if let Some(session) = found.sessions.get(*index)
            && let Some(one) = of_same(
                app,
                machine,
                session,
                run,
                &setting(app, found, session, &usual),
            )?
        {
            again.push((*index, one));
        }
    }
    let is_left = |index: &usize| !again.iter().any(|(known, _)| known == index);
    let left: Vec<usize> = (0..found.sessions.len()).filter(is_left).collect();
    let settings = settings(app, found, &usual);
    let next = AtomicUsize::new(0);
    // Each thread caches its own results, so a few sessions do not justify another thread.
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.min(left.len()).max(1);
    let work = |mut tester: Backtester, mut progress: Option<Progress<'_>>| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(index) = left.get(at).copied() else {
                return (done, tester.into_rules());
            };
            if let Some(progress) = &mut progress {
                progress.say("sessions placed", at, left.len());
            }
            if let (Some(session), Some(setting)) = (found.sessions.get(index), settings.get(index))
            {
                done.push((index, tester.place(session, setting)));
            }
        }
    };
    let mut rules = Rules::of(machine);
    let mut placed = Vec::new();
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|_| scope.spawn(|| Some(work(Backtester::new(machine, options).ok()?, None))))
            .collect();
        let own = work(first, Some(Progress::new(app)));
        let others = others
            .into_iter()
            .filter_map(|other| other.join().ok().flatten());
        for (done, learnt) in others.chain([own]) {
            placed.extend(done);
            rules.add(learnt);
        }
    });
    let all = placed
        .into_iter()
        .map(|(index, one)| (index, Outcome::Placed(Box::new(one))));
    let mut all: Vec<(usize, Outcome)> = all.chain(again).collect();
    all.sort_by_key(|(index, _)| *index);
    // INVARIANT: each session has an outcome, unless a thread panicked.
    if all.len() != found.sessions.len() {
        return Err(anyhow!("a session could not be placed: this is a bug").into());
    }
    Ok(Judged {
        sessions: all.into_iter().map(|(_, outcome)| outcome).collect(),
        rules,
    })
}

/// Returns the scenario of each session.
pub(crate) fn settings(app: &App, found: &Found, usual: &Scenario) -> Vec<Scenario> {
    let sessions = found.sessions.iter();
    sessions
        .map(|session| setting(app, found, session, usual))
        .collect()
}

/// Returns the scenario of a session.
fn setting(app: &App, found: &Found, session: &Session, usual: &Scenario) -> Scenario {
    let root = root_of(app, found, session);
    let client = session.client.clone();
    Scenario {
        project_root: root.unwrap_or_else(|| usual.project_root.clone()),
        client: client.unwrap_or_else(|| usual.client.clone()),
        ..usual.clone()
    }
}

/// Judges the log of a run again, with its own transitions; returns `None` if it followed another workflow.
fn of_same(
    app: &App,
    machine: &Machine,
    _session: &Session,
    run: &RunId,
    scenario: &Scenario,
) -> Result<Option<Outcome>, Failure> {
    let log = app.home()?.open_run(run)?;
    let pinned = log.machine()?;
    if pinned.id != machine.id {
        return Ok(None);
    }
    let events = log.events(0).map(|recorded| Ok(recorded?.event));
    let window = Window {
        from: 0,
        limit: usize::MAX,
    };
    let found = what_if::<Stopped>(events, &pinned, machine, scenario, window);
    let found = found.map_err(|stopped| match stopped {
        Stopped::Cannot(why) => Failure::usage(why),
        Stopped::Store(error) => error.into(),
    })?;
    Ok(Some(Outcome::Again(Box::new(found))))
}
