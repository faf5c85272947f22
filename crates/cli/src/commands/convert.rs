//! `convert`: converts a workflow to the native format, or lists what that format cannot express.

use std::path::Path;

use interlock_formats::{Converted, Diagnostic, Severity, Syntax, convert, render};
use serde_json::json;

use crate::{
    app::App,
    args::{ConvertArgs, ConvertTo},
    failure::{Done, Exit, Failure},
};

pub(crate) fn run(app: &App, args: &ConvertArgs) -> Done {
    let ConvertTo::Native = args.to;
    let library = app.library_to_read();
    let source = library.open(&args.workflow).map_err(Failure::usage)?;
    match convert(&source, &library) {
        Ok(converted) if args.json => app.output.json(
            &json!({ "ok": true, "to": "native", "workflow": converted.value, "diagnostics": [] }),
        ),
        Ok(converted) => write(app, args, &source.name, &converted),
        Err(found) => {
            tell(app, args, &found)?;
            Err(Failure::Said(Exit::Failed))
        }
    }
}

fn write(app: &App, args: &ConvertArgs, name: &str, converted: &Converted) -> Done {
    let Some(path) = &args.output else {
        return app.output.document(&converted.text(syntax(name.as_ref())));
    };
    let written = std::fs::write(path, converted.text(syntax(path)));
    Ok(written
        .map_err(|error| anyhow::anyhow!("`{}` cannot be written: {error}", path.display()))?)
}

/// Returns the syntax for a file name.
fn syntax(path: &Path) -> Syntax {
    let json = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    if json { Syntax::Json } else { Syntax::Yaml }
}

fn tell(app: &App, args: &ConvertArgs, found: &[Diagnostic]) -> Done {
    if args.json {
        return app
            .output
            .json(&json!({ "ok": false, "to": "native", "workflow": null, "diagnostics": found }));
    }
    app.output
        .painted_error(&render(found, app.output.colours_errors()))?;
    let errors = found
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .count();
    let things = if errors == 1 { "thing" } else { "things" };
    app.output.error(&format!(
        "interlock: `{}` was not converted: {errors} {things} in the way\n",
        args.workflow
    ))
}
