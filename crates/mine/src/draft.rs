//! Makes drafts of workflows, and grades them.

use interlock_backtest::{Backtester, Options, made};
use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Severity, Source, load};
use interlock_prove::{ProofOptions, Verdict, prove};
use interlock_sessions::{Ended, Session};
use interlock_simulate::Scenario;

use crate::{
    level::Level,
    phases::{Observed, phases},
    text::workflow,
};

/// Maximum number of states in the proof of a draft.
const STATES_MAX: usize = 100_000;

/// A draft of a workflow for a person to review.
#[derive(Debug)]
pub struct Draft {
    /// The text as YAML.
    pub text: String,
    /// The machine it compiles to.
    pub machine: Machine,
    /// Properties that `prove` could not decide, each with the reason.
    pub unproved: Vec<String>,
}

/// Why there is no draft.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoDraft {
    /// The sessions contain no call that does work.
    #[error("the sessions have no call that reads, edits, runs or fetches anything")]
    Nothing,
    /// Every kind of work comes before and after every other.
    #[error(
        "no order found: in these sessions every kind of work comes before and after every other, so a workflow of them would allow anything in any order"
    )]
    NoOrder,
    /// The draft does not load, or `prove` refutes it.
    #[error("the draft is not in order: {0}")]
    Wrong(String),
}

/// Makes a draft from sessions, each with the scenario of its place.
///
/// The draft passes `check`, and `prove` refutes none of its properties.
///
/// # Errors
/// The sessions contain no work, or no order.
pub fn mine(name: &str, sessions: &[(&Session, &Scenario)]) -> Result<Draft, NoDraft> {
    let observed: Vec<Vec<Observed>> = sessions
        .iter()
        .map(|(session, setting)| observed(session, setting))
        .collect();
    if !observed.iter().flatten().any(|one| one.level.is_some()) {
        return Err(NoDraft::Nothing);
    }
    let found = phases(&observed).ok_or(NoDraft::NoOrder)?;
    let text = workflow(name, sessions.len(), &found);
    let machine = loaded(&text)?;
    let options = ProofOptions {
        states_max: STATES_MAX,
        lines: None,
    };
    let proof = prove(&machine, &[], &options);
    let named = |is: fn(&Verdict) -> bool| {
        let found = proof.findings.iter().filter(move |one| is(&one.verdict));
        found.map(|one| {
            let why = one.message.as_deref().or(one.verdict.why());
            format!("{}: {}", one.name, why.unwrap_or(one.verdict.word()))
        })
    };
    if let Some(broken) = named(|verdict| *verdict == Verdict::Fails).next() {
        return Err(NoDraft::Wrong(broken));
    }
    let unproved = named(|verdict| matches!(verdict, Verdict::Unknown(_) | Verdict::Vacuous(_)));
    Ok(Draft {
        unproved: unproved.collect(),
        text,
        machine,
    })
}

fn loaded(text: &str) -> Result<Machine, NoDraft> {
    let source = Source::new("draft.yaml", text);
    let loaded = load(&source, None, &NoWorkflows).map_err(|found| {
        let errors = found.iter().filter(|one| one.severity == Severity::Error);
        let errors: Vec<&str> = errors.map(|one| one.message.as_str()).collect();
        NoDraft::Wrong(errors.join("; "))
    })?;
    Ok(loaded.machine)
}

fn observed(session: &Session, setting: &Scenario) -> Vec<Observed> {
    let calls = session
        .calls
        .iter()
        .filter(|call| call.ended != Ended::NotRun);
    calls
        .filter_map(|recorded| {
            let call = made(session, setting, recorded).ok()?;
            Some(Observed {
                level: Level::of(&call),
                exit: recorded.exit,
                call,
            })
        })
        .collect()
}

/// The result of testing drafts on sessions that they were not made from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grade {
    /// Number of sessions left out, one at a time.
    pub sessions: u64,
    /// Number of those for which the other sessions gave no draft.
    pub without_draft: u64,
    /// Number of calls in the sessions left out.
    pub calls: u64,
    /// Number of those calls that are refused at least.
    pub refused: u64,
}

/// Leaves out each session in turn, and tests the draft of the others on it.
#[must_use]
pub fn grade(name: &str, sessions: &[(&Session, &Scenario)]) -> Grade {
    let mut grade = Grade::default();
    for left_out in 0..sessions.len() {
        let others = sessions
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != left_out);
        let others: Vec<_> = others.map(|(_, one)| *one).collect();
        grade.sessions += 1;
        let tester = mine(name, &others)
            .ok()
            .and_then(|draft| Backtester::new(&draft.machine, Options::default()).ok());
        let (Some(mut tester), Some((session, setting))) = (tester, sessions.get(left_out)) else {
            grade.without_draft += 1;
            continue;
        };
        let found = tester.place(session, setting);
        grade.calls += u64::try_from(found.placed.len()).unwrap_or(u64::MAX);
        grade.refused += found.fewest;
    }
    grade
}
