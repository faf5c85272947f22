//! `test`: the cases of `*.test.yaml` files.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use interlock_core::machine::Machine;
use interlock_formats::{Source, load, render};
use interlock_simulate::{
    Scenario,
    cases::{BadCaseFile, CaseOutcome, find_case_files, play_file},
};
use serde_json::json;

use crate::{
    app::App,
    args::TestArgs,
    failure::{Done, Exit, Failure},
    output::Style,
};

pub(crate) fn run(app: &App, args: &TestArgs) -> Done {
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
                for outcome in &outcomes {
                    report(app, args, &file, outcome)?;
                    tally.count(outcome.failure.is_none());
                }
            }
            Err(error) => {
                report_unreadable(app, args, &file, &error)?;
                tally.count(false);
            }
        }
    }
    if args.json {
        app.output
            .json(&json!({ "passed": tally.passed, "failed": tally.failed }))?;
    } else {
        app.output
            .line(&format!("{} passed, {} failed", tally.passed, tally.failed))?;
    }
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

fn report(app: &App, args: &TestArgs, file: &Path, outcome: &CaseOutcome) -> Done {
    let failure = outcome.failure.as_ref();
    if args.json {
        return app.output.json(&json!({
            "file": file, "case": outcome.name, "passed": failure.is_none(),
            "step": failure.map(|failure| failure.step),
            "line": failure.map(|failure| &failure.line),
            "differences": failure.map(|failure| &failure.differences),
        }));
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

fn report_unreadable(app: &App, args: &TestArgs, file: &Path, error: &BadCaseFile) -> Done {
    if args.json {
        return app
            .output
            .json(&json!({ "file": file, "passed": false, "message": format!("{error}") }));
    }
    app.output.line(&format!(
        "{} {}: {error}",
        app.output.styled(Style::Red, "FAILED"),
        file.display()
    ))
}
