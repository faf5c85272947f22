//! `test`: plays the cases of `*.test.yaml` files.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use interlock_core::machine::Machine;
use interlock_formats::{Severity, Source, Tree, load, render};
use interlock_simulate::{
    Scenario,
    cases::{BadCaseFile, CaseOutcome, find_case_files, play_file},
};
use serde_json::json;

use crate::{
    app::App,
    args::{FindingFormat, TestArgs},
    failure::{Done, Exit, Failure},
    findings::{Case, CaseResult, Finding, Findings},
    output::Style,
};

pub(crate) fn run(app: &App, args: &TestArgs) -> Done {
    let format = args.printed.format();
    let mut findings = Findings::of("test");
    let mut tally = Tally::default();
    let library = app.library();
    let load = |name: &str, text: &str| -> Result<Machine, String> {
        let loaded = load(&Source::new(name, text), None, &library);
        loaded
            .map(|loaded| loaded.machine)
            .map_err(|found| render(&found, false))
    };
    for file in files(app, args)? {
        match play_file(&file, &Scenario::default(), &load) {
            Ok(outcomes) => {
                for (index, outcome) in outcomes.iter().enumerate() {
                    report(app, format, &file, outcome)?;
                    note(&mut findings, &file, index, outcome);
                    tally.count(outcome.failure.is_none());
                }
            }
            Err(error) => {
                report_unreadable(app, format, &file, &error)?;
                note_unreadable(&mut findings, &file, &error);
                tally.count(false);
            }
        }
    }
    if format == FindingFormat::Json {
        app.output
            .json(&json!({ "passed": tally.passed, "failed": tally.failed }))?;
    }
    if format == FindingFormat::Text {
        app.output
            .line(&format!("{} passed, {} failed", tally.passed, tally.failed))?;
    }
    findings.print(app, format)?;
    if tally.failed == 0 {
        Ok(())
    } else {
        Err(Failure::Said(Exit::Failed))
    }
}

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn count(&mut self, passed: bool) {
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }
}

fn files(app: &App, args: &TestArgs) -> Result<Vec<PathBuf>, Failure> {
    let paths = if args.paths.is_empty() {
        let own = app.project().join(".interlock").join("workflows");
        if !own.is_dir() {
            return Err(Failure::usage(anyhow::anyhow!(
                "this project has no `.interlock/workflows/`: name a file or a folder with `*.test.yaml` files"
            )));
        }
        vec![own]
    } else {
        args.paths.clone()
    };
    let mut files = Vec::new();
    for path in paths {
        let found = find_case_files(&path)
            .with_context(|| {
                format!(
                    "`{}` cannot be read: name a file or a folder with `*.test.yaml` files",
                    path.display()
                )
            })
            .map_err(Failure::usage)?;
        files.extend(found);
    }
    if files.is_empty() {
        return Err(Failure::usage(anyhow::anyhow!(
            "no `*.test.yaml` file there"
        )));
    }
    Ok(files)
}

fn report(app: &App, format: FindingFormat, file: &Path, outcome: &CaseOutcome) -> Done {
    let failure = outcome.failure.as_ref();
    if format == FindingFormat::Json {
        return app.output.json(&json!({
            "file": file, "case": outcome.name, "passed": failure.is_none(),
            "step": failure.map(|failure| failure.step),
            "line": failure.map(|failure| &failure.line),
            "differences": failure.map(|failure| &failure.differences),
        }));
    }
    if format != FindingFormat::Text {
        return Ok(());
    }
    let word = match failure {
        None => app.output.styled(Style::Green, "ok    "),
        Some(_) => app.output.styled(Style::Red, "FAILED"),
    };
    app.output
        .line(&format!("{word} {}: {}", file.display(), outcome.name))?;
    if let Some(failure) = failure {
        app.output
            .line(&format!("       step {}: {}", failure.step, failure.line))?;
        for difference in &failure.differences {
            app.output.line(&format!("       {difference}"))?;
        }
    }
    Ok(())
}

fn report_unreadable(app: &App, format: FindingFormat, file: &Path, error: &BadCaseFile) -> Done {
    if format == FindingFormat::Json {
        return app
            .output
            .json(&json!({ "file": file, "passed": false, "message": format!("{error}") }));
    }
    if format != FindingFormat::Text {
        return Ok(());
    }
    app.output.line(&format!(
        "{} {}: {error}",
        app.output.styled(Style::Red, "FAILED"),
        file.display()
    ))
}

/// Records the outcome of a case; a failure is at the line of its step.
fn note(findings: &mut Findings, file: &Path, index: usize, outcome: &CaseOutcome) {
    let shown = file.display().to_string();
    let result = match &outcome.failure {
        None => CaseResult::Passed,
        Some(failure) => {
            let what = format!("step {}: {}", failure.step, failure.line);
            let why = format!("{what}\n{}", failure.differences.join("\n"));
            findings.add(Finding {
                rule: "failed_case".to_owned(),
                severity: Severity::Error,
                message: format!("{}\n{why}", outcome.name),
                file: shown.clone(),
                line: line_of_step(file, index, failure.step).unwrap_or(1),
                column: None,
            });
            CaseResult::Failed(why)
        }
    };
    findings.add_case(Case {
        file: shown,
        name: outcome.name.clone(),
        outcome: result,
    });
}

fn note_unreadable(findings: &mut Findings, file: &Path, error: &BadCaseFile) {
    let shown = file.display().to_string();
    findings.add(Finding {
        rule: "unreadable_cases".to_owned(),
        severity: Severity::Error,
        message: error.to_string(),
        file: shown.clone(),
        line: 1,
        column: None,
    });
    findings.add_case(Case {
        file: shown,
        name: "the file can be read".to_owned(),
        outcome: CaseResult::Failed(error.to_string()),
    });
}

/// Returns the line of a step of a case; steps count from 1.
fn line_of_step(file: &Path, case: usize, step: usize) -> Option<usize> {
    let text = std::fs::read_to_string(file).ok()?;
    let tree = Tree::read(&Source::new(file.display().to_string(), text.as_str())).ok()?;
    let case = tree.root.get("cases")?.value.items().get(case)?;
    let step = case
        .get("steps")
        .and_then(|steps| steps.value.items().get(step.checked_sub(1)?))
        .unwrap_or(case);
    let before = text.get(..step.span.start)?;
    Some(before.matches('\n').count() + 1)
}
