//! `check`: reports every error and warning of workflow files.

mod promised;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use interlock_clients::{
    ClientId,
    tools::{MissingTool, lacks},
};
use interlock_formats::{
    Diagnostic, Severity, Source, check, check_strictly, may_be_workflow, render,
};
use interlock_project::{Library, workflow_files};
use serde_json::{Value, json};

use crate::{
    app::App,
    args::{CheckArgs, FindingFormat, SessionsArgs},
    commands::backtest::{self, Found},
    failure::{Done, Exit, Failure},
    findings::{Finding, Findings},
    live::put,
    output::Style,
};

pub(crate) fn run(app: &App, args: &CheckArgs) -> Done {
    let client = args.client.as_deref().map(client).transpose()?;
    let format = args.printed.format();
    let is_text = format == FindingFormat::Text;
    let limit = match args.deny_warnings {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let mut findings = Findings::of("check");
    let mut lacking: Vec<Value> = Vec::new();
    let mut promised_by: Vec<Value> = Vec::new();
    let library = app.library_to_read();
    let found_sessions = sessions(app, args)?;
    let mut against: Vec<Value> = Vec::new();
    let mut refuses = 0;
    let mut all: Vec<Diagnostic> = Vec::new();
    for (name, source) in sources(app, &library, &args.files)? {
        let checked = |library: &Library| match args.strict {
            true => check_strictly(&source, library),
            false => check(&source, library),
        };
        let mut found = checked(&library);
        if args.assume_configured {
            let elsewhere = checked(&app.library_to_read().assuming_configured());
            for diagnostic in &mut found {
                if !elsewhere.contains(diagnostic) {
                    diagnostic.severity = Severity::Note;
                }
            }
        }
        if is_text {
            show(app, &name, &found, limit)?;
        }
        let broken = found
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error);
        let mut of_file: Vec<Finding> = found.iter().map(Finding::from).collect();
        all.extend(found);
        if !broken {
            let (promises, wrong) = promised::promised(app, &name, &source, &library);
            if is_text {
                promised::show(app, promises.as_ref(), &wrong)?;
            }
            of_file.extend(wrong.iter().map(Finding::from));
            all.extend(wrong);
            promised_by.extend(promises.map(|promises| promises.as_json(&name)));
        }
        let loaded = client.filter(|_| !broken).and_then(|client| {
            let loaded = interlock_formats::load(&source, None, &library).ok()?;
            Some((client, loaded))
        });
        if let Some(sessions) = found_sessions.as_ref().filter(|_| !broken) {
            let since = args.since.as_deref();
            let told =
                against_sessions(app, (&name, &source, &library), sessions, since, !is_text)?;
            refuses += usize::from(told.refuses);
            against.push(told.report);
        }
        for lack in loaded.map_or_else(Vec::new, |(client, loaded)| lacks(client, &loaded.machine))
        {
            if is_text {
                warn(app, &lack)?;
            }
            of_file.push(of_client(&name, &lack));
            lacking.push(json!({ "file": name, "message": lack.what, "help": lack.instead }));
        }
        findings.add_file(&name, "check", &of_file, limit);
        findings.add_all(of_file);
    }
    let count = |severity| {
        all.iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let warnings = warnings + lacking.len() + refuses;
    let clean = errors == 0 && (warnings == 0 || !args.deny_warnings);
    if format == FindingFormat::Json {
        let mut report =
            json!({ "ok": clean, "errors": errors, "warnings": warnings, "diagnostics": all });
        if args.client.is_some() {
            put(&mut report, "client", Value::Array(lacking));
        }
        if !promised_by.is_empty() {
            put(&mut report, "properties", Value::Array(promised_by));
        }
        if args.against_sessions.is_some() {
            put(&mut report, "against_sessions", Value::Array(against));
        }
        app.output.json(&report)?;
    }
    findings.print(app, format)?;
    if clean {
        Ok(())
    } else {
        Err(Failure::Said(Exit::Failed))
    }
}

/// Reports that a client lacks something that a file needs.
fn of_client(file: &str, lack: &MissingTool) -> Finding {
    Finding {
        rule: "missing_client_tool".to_owned(),
        severity: Severity::Warning,
        message: format!("{}\nhelp: {}", lack.what, lack.instead),
        file: file.to_owned(),
        line: 1,
        column: None,
    }
}

/// Reads the sessions to check workflows against; returns `None` if this was not requested.
fn sessions(app: &App, args: &CheckArgs) -> Result<Option<Found>, Failure> {
    let Some(wanted) = &args.against_sessions else {
        return Ok(None);
    };
    let wanted = SessionsArgs {
        sessions: Some(wanted.clone())
            .filter(|wanted| !wanted.is_empty())
            .into_iter()
            .collect(),
        client: None,
        since: args.since.clone(),
        root: None,
    };
    backtest::find(app, &wanted).map(Some)
}

/// What a workflow would have done to recorded sessions.
struct Against {
    refuses: bool,
    report: Value,
}

fn against_sessions(
    app: &App,
    (name, source, library): (&str, &Source, &Library),
    sessions: &Found,
    since: Option<&str>,
    quiet: bool,
) -> Result<Against, Failure> {
    let cannot = |why: String| Against {
        refuses: false,
        report: json!({ "file": name, "message": why }),
    };
    let Ok(loaded) = interlock_formats::load(source, None, library) else {
        return Ok(cannot("it cannot be loaded because of warnings".to_owned()));
    };
    let told = backtest::sentence(app, name, &loaded.machine, sessions, since);
    let (text, told) = match told {
        Ok((text, refuses, report)) => (text, Against { refuses, report }),
        // Many workflows may be checked at once, and some are not for agents.
        Err(Failure::Error(Exit::Usage, why)) => {
            let why = why.to_string();
            (
                format!("{name} cannot be compared with sessions: {why}"),
                cannot(why),
            )
        }
        Err(failure) => return Err(failure),
    };
    if !quiet {
        app.output.line(&text)?;
    }
    Ok(told)
}

/// Reads the files to check, each with the name shown for it.
fn sources(
    app: &App,
    library: &Library,
    files: &[String],
) -> Result<Vec<(String, Source)>, Failure> {
    if files.is_empty() {
        let found = of_project(app, library)?;
        return if found.is_empty() {
            Err(Failure::usage(anyhow!(
                "this project has no workflow: name a file or a folder, or write one with `interlock new`"
            )))
        } else {
            Ok(found)
        };
    }
    let mut found = Vec::new();
    for file in files {
        if Path::new(file).is_dir() {
            found.extend(of_folder(app, library, file)?);
        } else {
            found.push((file.clone(), library.open(file).map_err(Failure::usage)?));
        }
    }
    Ok(found)
}

fn of_project(app: &App, library: &Library) -> Result<Vec<(String, Source)>, Failure> {
    let mut found = Vec::new();
    for path in library
        .of_project()
        .into_iter()
        .filter_map(|entry| entry.path)
    {
        let shown = path.strip_prefix(&app.directory).unwrap_or(&path);
        let shown = shown.display().to_string();
        found.push((shown.clone(), library.open(&shown).map_err(Failure::usage)?));
    }
    Ok(found)
}

/// Reads the workflows of a folder; of a project's root, the project's workflows.
fn of_folder(app: &App, library: &Library, folder: &str) -> Result<Vec<(String, Source)>, Failure> {
    let path = Path::new(folder);
    let below = [".interlock/workflows", ".flowstate"].map(|name| path.join(name));
    let roots: Vec<PathBuf> = if below.iter().any(|folder| folder.is_dir()) {
        below.into_iter().filter(|folder| folder.is_dir()).collect()
    } else {
        vec![path.to_owned()]
    };
    let mut found = Vec::new();
    for root in roots {
        for file in workflow_files(&root).map_err(Failure::usage)? {
            let shown = file.display().to_string();
            let source = library.open(&shown).map_err(Failure::usage)?;
            // The folder may contain other files; one that cannot be read may be a workflow.
            if may_be_workflow(&source) {
                found.push((shown, source));
            } else {
                app.output.remark(&format!("{shown} is not a workflow\n"));
            }
        }
    }
    if found.is_empty() {
        return Err(Failure::usage(anyhow!(
            "there is no workflow in `{folder}`"
        )));
    }
    Ok(found)
}

/// Finds the client of that name.
fn client(word: &str) -> Result<ClientId, Failure> {
    ClientId::named(word).ok_or_else(|| {
        let known = ClientId::ALL.map(|(word, _)| format!("`{word}`"));
        let known = known.join(", ");
        Failure::usage(anyhow::anyhow!("no client `{word}` is known: {known}"))
    })
}

/// Reports what a client lacks.
pub(super) fn warn(app: &App, lack: &MissingTool) -> Done {
    let word = app.output.styled(Style::Yellow, "note:");
    app.output
        .line(&format!("{word} {}: {}", lack.what, lack.instead))
}

/// Shows what was found in a file, and whether it fails: for errors, and with `limit` also for warnings.
fn show(app: &App, file: &str, found: &[Diagnostic], limit: Severity) -> Done {
    let count = |severity| {
        let of_it = |diagnostic: &&Diagnostic| diagnostic.severity == severity;
        found.iter().filter(of_it).count()
    };
    let failing = [(Severity::Error, "error"), (Severity::Warning, "warning")];
    let failing = failing.into_iter().take(match limit {
        Severity::Error => 1,
        Severity::Warning | Severity::Note => 2,
    });
    let counts = failing.filter_map(|(severity, word)| match count(severity) {
        0 => None,
        1 => Some(format!("1 {word}")),
        many => Some(format!("{many} {word}s")),
    });
    let counts: Vec<String> = counts.collect();
    app.output
        .painted_error(&render(found, app.output.colours_errors()))?;
    if counts.is_empty() {
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
    app.output.line(&format!(
        "{} {file}: {}",
        app.output.styled(Style::Red, "failed"),
        counts.join(", ")
    ))
}
