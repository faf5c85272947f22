//! `check`: every error and warning of workflow files.

use interlock_formats::{Diagnostic, Severity, check, check_strictly, render};
use serde_json::json;

use crate::{
    app::App,
    args::CheckArgs,
    failure::{Done, Exit, Failure},
    output::Style,
};

pub(crate) fn run(app: &App, args: &CheckArgs) -> Done {
    let library = app.library_to_read();
    let mut all: Vec<Diagnostic> = Vec::new();
    for file in &args.files {
        let source = library.open(file).map_err(Failure::usage)?;
        let found = if args.strict {
            check_strictly(&source, &library)
        } else {
            check(&source, &library)
        };
        if !args.json {
            show(app, file, &found)?;
        }
        all.extend(found);
    }
    let count = |severity| {
        all.iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let clean = errors == 0 && (warnings == 0 || !args.deny_warnings);
    if args.json {
        app.output.json(
            &json!({ "ok": clean, "errors": errors, "warnings": warnings, "diagnostics": all }),
        )?;
    }
    if clean {
        Ok(())
    } else {
        Err(Failure::Said(Exit::Failed))
    }
}

fn show(app: &App, file: &str, found: &[Diagnostic]) -> Done {
    let errors = found
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .count();
    app.output
        .error(&render(found, app.output.colours_errors()))?;
    if errors == 0 {
        let rest = match found.len() {
            0 => String::new(),
            1 => " (1 remark)".to_owned(),
            many => format!(" ({many} remarks)"),
        };
        return app.output.line(&format!(
            "{} {file}{rest}",
            app.output.styled(Style::Green, "ok")
        ));
    }
    let plural = if errors == 1 { "error" } else { "errors" };
    app.output.line(&format!(
        "{} {file}: {errors} {plural}",
        app.output.styled(Style::Red, "failed")
    ))
}
