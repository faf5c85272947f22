//! What `interlock exec` would observe of a line besides its exit code, according to the input.

use std::collections::BTreeMap;

use interlock_core::{
    event::EvidenceMark,
    glob::path_matches,
    machine::Machine,
    names::Digest,
    run::Run,
    substance::{Checked, FrozenChange, Named, ReportProblem, ReportRead, SeenReport},
};
use interlock_facts::{TestOutcome, TestReport};

use crate::input::{GivenReport, GivenTests};

/// Reports that were given so far, with which later ones may be compared.
#[derive(Debug, Clone, Default)]
pub struct GivenReports(BTreeMap<Digest, TestReport>);

impl GivenReports {
    /// Evaluates what is given for the call with `id`, or for the last open one.
    ///
    /// A report that is not given was not written; frozen files that are not named are unchanged.
    pub fn checked(
        &mut self,
        (machine, run): (&Machine, &Run),
        id: Option<&str>,
        given: &[GivenReport],
        frozen: &[String],
    ) -> Checked {
        let mut calls = run.calls.iter().rev();
        let call = match id {
            Some(id) => calls.find(|call| call.id.as_str() == id),
            None => calls.find(|call| call.is_open()),
        };
        let marks = call.filter(|call| call.marks.shell);
        let marks = marks.map_or(&[][..], |call| &call.marks.evidence);
        let reports = marks
            .iter()
            .filter_map(|mark| self.seen(run, mark, given))
            .collect();
        Checked {
            reports,
            frozen: if marks.is_empty() {
                None
            } else {
                changes(machine, frozen)
            },
        }
    }

    fn seen(
        &mut self,
        run: &Run,
        mark: &EvidenceMark,
        given: &[GivenReport],
    ) -> Option<SeenReport> {
        let source = &mark.report.as_ref()?.source;
        let own = |given: &&GivenReport| path_matches(&source.path, &given.path);
        let read = match given.iter().find(own).map(|given| &given.tests) {
            None => Err(ReportProblem::Absent),
            Some(Err(problem)) => Err(*problem),
            Some(Ok(tests)) => self.read(run, &mark.key, tests),
        };
        Some(SeenReport {
            source: source.clone(),
            read: read.unwrap_or_else(ReportRead::problem),
        })
    }

    fn read(
        &mut self,
        run: &Run,
        key: &str,
        given: &GivenTests,
    ) -> Result<ReportRead, ReportProblem> {
        let lists = [
            (&given.passed, TestOutcome::Passed),
            (&given.failed, TestOutcome::Failed),
            (&given.skipped, TestOutcome::Skipped),
        ];
        let tests = lists
            .into_iter()
            .flat_map(|(names, outcome)| names.iter().map(move |name| (name.clone(), outcome)));
        let report = TestReport::of(tests)?;
        let baseline = run.baselines.get(key);
        let baseline = baseline.and_then(|known| self.0.get(&known.digest));
        let counts = report.counts(baseline);
        self.0.insert(counts.digest.clone(), report);
        Ok(ReportRead::Tests(counts))
    }
}

/// Returns the patterns that changed files match; `None` if no guard freezes any.
fn changes(machine: &Machine, changed: &[String]) -> Option<Vec<FrozenChange>> {
    let guards = machine.evidence_guards();
    let mut patterns: Vec<&String> = guards.flat_map(|guard| &guard.frozen).collect();
    patterns.sort();
    patterns.dedup();
    if patterns.is_empty() {
        return None;
    }
    let changes = patterns.into_iter().filter_map(|pattern| {
        let files = changed.iter().filter(|path| path_matches(pattern, path));
        let files = Named::of(files.cloned());
        (files.count > 0).then(|| FrozenChange {
            pattern: pattern.clone(),
            files,
            problem: None,
        })
    });
    Some(changes.collect())
}
