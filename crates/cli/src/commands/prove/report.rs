//! The output of `prove` for other programs: a finding and a case for each property.

use interlock_core::machine::Object;
use interlock_formats::{Severity, Source};
use interlock_prove::{Comparison, Proof, TraceStep, Verdict};
use serde_json::Value;

use crate::findings::{Case, CaseResult, Finding, Findings};

/// Reports every property of a workflow.
pub(super) fn of_proof(source: &Source, proof: &Proof) -> Findings {
    let mut findings = Findings::of("prove");
    for one in &proof.findings {
        let (file, line) = one.at.clone().unwrap_or_else(|| (source.name.clone(), 1));
        let says = [one.verdict.why(), one.message.as_deref()];
        let mut why: Vec<String> = says.into_iter().flatten().map(str::to_owned).collect();
        let severity = match one.verdict {
            Verdict::Holds | Verdict::HoldsWidely(_) => None,
            Verdict::Fails => Some(Severity::Error),
            Verdict::Vacuous(_) | Verdict::Unknown(_) => Some(Severity::Warning),
        };
        if one.verdict == Verdict::Fails {
            why.extend(trace(&one.input, &one.trace));
        }
        let why = why.join("\n");
        if let Some(severity) = severity {
            findings.add(Finding {
                rule: format!("property_{}", one.verdict.word()),
                severity,
                message: format!("{}: {}\n{why}", one.verdict.word(), one.name),
                file: file.clone(),
                line,
                column: None,
            });
        }
        findings.add_case(Case {
            file,
            name: one.name.clone(),
            outcome: match severity {
                None => CaseResult::Passed,
                Some(Severity::Error) => CaseResult::Failed(why),
                Some(_) => CaseResult::Undecided(format!("{}: {why}", one.verdict.word())),
            },
        });
    }
    findings
}

/// Reports what a workflow permits that an older version refuses.
pub(super) fn of_comparison(new: &Source, old: &Source, found: &Comparison) -> Findings {
    let (rule, severity, why) = match (&found.permitted, &found.doubt) {
        (Some(permission), _) => {
            let mut why = vec![format!("newly permitted: {}", permission.what)];
            why.extend(trace(&permission.input, &permission.trace));
            why.push(format!("{}: {}", old.name, permission.refusal));
            ("permits_more", Some(Severity::Error), why.join("\n"))
        }
        (None, Some(doubt)) => ("unknown_comparison", Some(Severity::Warning), doubt.clone()),
        (None, None) => ("", None, String::new()),
    };
    let mut findings = Findings::of("prove");
    if let Some(severity) = severity {
        findings.add(Finding {
            rule: rule.to_owned(),
            severity,
            message: why.clone(),
            file: new.name.clone(),
            line: 1,
            column: None,
        });
    }
    findings.add_case(Case {
        file: new.name.clone(),
        name: format!("permits nothing that {} refuses", old.name),
        outcome: match severity {
            None => CaseResult::Passed,
            Some(Severity::Error) => CaseResult::Failed(why),
            Some(_) => CaseResult::Undecided(why),
        },
    });
    findings
}

/// Formats the steps of a trace, one per line.
fn trace(input: &Object, steps: &[TraceStep]) -> Vec<String> {
    let mut lines = Vec::new();
    if !input.is_empty() {
        lines.push(format!("started with {}", Value::Object(input.clone())));
    }
    for (number, step) in steps.iter().enumerate() {
        let times = match step.times {
            0 | 1 => String::new(),
            times => format!(" ({times} times)"),
        };
        let calls: Vec<String> = step.lines.iter().map(Value::to_string).collect();
        lines.push(format!("{}. {}{times}", number + 1, calls.join(" ")));
    }
    lines
}
