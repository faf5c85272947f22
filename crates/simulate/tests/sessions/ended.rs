//! Reports of the ends of calls, and the checks in them.

use interlock_core::{
    call::{CallResult, WrittenPath},
    event::ProbedCommand,
    names::Digest,
    run::OpenCall,
    substance::{
        Against, Checked, FrozenChange, FrozenProblem, Named, ReportProblem, ReportRead,
        SeenReport, TestCounts,
    },
};

use crate::sessions::session::Session;

const FILES: [&str; 5] = ["src/a.py", "b.py", "docs/spec.md", "db/1.sql", "out.txt"];

impl Session<'_> {
    pub(crate) fn ended(&mut self, open: Option<&OpenCall>) -> CallResult {
        let exit = [Some(0), Some(0), Some(0), Some(1), None];
        let exit = self.dice.pick(&exit).copied().flatten();
        let marks = open.map(|open| open.marks.clone()).unwrap_or_default();
        let probes = marks.evidence.iter().flat_map(|mark| &mark.probes);
        let commands = probes.map(|probe| ProbedCommand {
            at: probe.at,
            exits: match self.dice.below(4) {
                0 => vec![Some(1)],
                1 => vec![None],
                2 => vec![Some(0), exit],
                _ => vec![Some(0)],
            },
        });
        let commands = commands.collect();
        let reports = marks.evidence.iter().filter_map(|mark| mark.report.clone());
        let reports: Vec<_> = reports.collect();
        let reports = reports.into_iter().map(|report| SeenReport {
            source: report.source,
            read: self.report(),
        });
        let reports = reports.collect();
        CallResult {
            id: open
                .filter(|_| !self.dice.one_in(5))
                .map(|open| open.id.clone()),
            ok: exit == Some(0) || self.dice.one_in(6),
            exit,
            bytes: self.dice.number(&[0, 10, 900, 40_000]),
            wrote: self.wrote(),
            commands,
            checked: Checked {
                reports,
                frozen: self.dice.one_in(2).then(|| self.frozen()),
            },
        }
    }

    fn wrote(&mut self) -> Vec<WrittenPath> {
        let mut all = Vec::new();
        while self.dice.one_in(3) && all.len() < 3 {
            let file = self.dice.word(&FILES);
            let inside = !self.dice.one_in(6);
            all.push(WrittenPath {
                path: format!("/project/{file}"),
                relative: inside.then_some(file),
            });
        }
        all
    }

    fn report(&mut self) -> ReportRead {
        if self.dice.one_in(5) {
            return ReportRead::problem(ReportProblem::Stale);
        }
        let baseline = self.run.baselines.values().next();
        let baseline = baseline.map_or_else(|| Digest::new("r1"), |known| known.digest.clone());
        let named = |count: usize| Named::of((0..count).map(|at| format!("t{at}")));
        let (gone, skipped) = (self.dice.below(3) / 2, self.dice.below(3) / 2);
        ReportRead::Tests(TestCounts {
            digest: Digest::new(self.dice.word(&["r1", "r2"])),
            passed: self.dice.number(&[0, 1, 3, 5]),
            failed: self.dice.number(&[0, 0, 0, 1]),
            skipped: self.dice.number(&[0, 1]),
            against: (!self.dice.one_in(3)).then(|| Against {
                baseline,
                gone: named(gone),
                skipped: named(skipped),
            }),
        })
    }

    pub(crate) fn frozen(&mut self) -> Vec<FrozenChange> {
        let pattern = self.dice.pick(&self.material.frozen).cloned();
        let Some(pattern) = pattern.filter(|_| self.dice.one_in(3)) else {
            return Vec::new();
        };
        vec![FrozenChange {
            pattern,
            files: Named::of(["tests/a.py".to_owned()]),
            problem: self.dice.one_in(3).then_some(FrozenProblem::TooMany),
        }]
    }
}
