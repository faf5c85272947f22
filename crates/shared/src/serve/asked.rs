//! What is asked of a person, and the evidence for it, in words: as `interlock approve` and the console have them.

use interlock_core::{
    machine::Machine,
    pending::{About, Pending, pending},
    run::Run,
    visible::visible,
};
use interlock_fleet::{AskedRow, AskedView, EvidenceView};
use interlock_store::EventLog as _;
use interlock_view::{
    report,
    review::{Row, headline, rows},
};

use crate::{doctor::now_ms, run::SharedRun};

/// Maximum number of lines of evidence.
const EVIDENCE_MAX: usize = 100;
/// The row that says where a passkey is used, which this API does not take.
const PASSKEY: &str = "yes by";

/// Describes every request that is open.
pub(super) fn asked(log: &SharedRun, machine: &Machine, run: &Run) -> Vec<AskedView> {
    let seen = |seq| {
        let recorded = log.events(seq).next()?.ok()?;
        Some((recorded.event, recorded.at_ms))
    };
    let view = |one: &Pending| {
        let rows = rows(machine, run, &seen, one, now_ms());
        let rows = rows.into_iter().filter(|row| row.name != PASSKEY);
        AskedView {
            request: one.id().as_str().to_owned(),
            kind: match one.about() {
                About::Transition(_) | About::Entry { .. } => "approval",
                About::Call(_) => "grant",
            }
            .to_owned(),
            headline: headline(machine, run, one),
            rows: rows.map(of_row).collect(),
            by: visible(one.by()),
            asked_ms: one.request.at_ms,
            passkey: one.takes_passkey(),
        }
    };
    pending(machine, run).iter().map(view).collect()
}

fn of_row(row: Row) -> AskedRow {
    AskedRow {
        name: row.name.to_owned(),
        text: row.text,
        warns: row.warns,
    }
}

/// Lists the evidence that the guards of every open state read.
pub(super) fn evidence(machine: &Machine, run: &Run) -> Vec<EvidenceView> {
    let mut all: Vec<report::EvidenceLine> = Vec::new();
    for path in run.open_leaves() {
        for line in report::evidence(machine, run, &path) {
            if all.len() < EVIDENCE_MAX && !all.contains(&line) {
                all.push(line);
            }
        }
    }
    let view = |line: report::EvidenceLine| EvidenceView {
        text: visible(&line.text),
        holds: line.holds,
        seq: line.seq,
    };
    all.into_iter().map(view).collect()
}
