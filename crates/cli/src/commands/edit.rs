//! `edit`: changes one part of a workflow file, and no other byte.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use interlock_clients::install::{FileChange, diff};
use interlock_edit::{Operation, Place, Refusal, edit};
use interlock_formats::{Diagnostic, Severity, Source, check, render};
use interlock_project::{Library, SaveError, save};
use serde_json::{Value, json};

use crate::{
    app::App,
    args::{EditArgs, EditOperation, WhereArgs},
    authority,
    failure::{Done, Exit, Failure},
    output::Style,
};

pub(crate) fn run(app: &App, args: &EditArgs) -> Done {
    if !args.dry_run {
        authority::not_below_an_agent(app)?;
    }
    let operations = operations(&args.operation)?;
    let library = app.library_to_read();
    let source = library.open(&args.workflow).map_err(Failure::usage)?;
    let path = file(&library, &args.workflow)?;
    let edited = match edit(&source, args.machine.as_deref(), &operations, &library) {
        Ok(edited) => Source::new(source.name.clone(), edited.text),
        Err(refusal) => return refused(app, args, &source, &refusal),
    };
    let found = check(&edited, &library);
    let changed = edited.text != source.text;
    if changed && !args.dry_run {
        if let Err(error) = save(&path, &source.text, &edited.text) {
            if args.json {
                let code = match error {
                    SaveError::Changed(_) => "changed",
                    SaveError::Io { .. } => "io",
                };
                app.output.json(&json!({
                    "ok": false, "file": source.name, "code": code, "message": error.to_string(),
                    "help": null, "operation": null, "diagnostics": [],
                }))?;
                return Err(Failure::Said(Exit::Failed));
            }
            return Err(error.into());
        }
        mention_others(app, &path, &operations);
    }
    if args.json {
        return app.output.json(&json!({
            "ok": true, "file": source.name, "changed": changed, "written": changed && !args.dry_run,
            "diff": difference(&path, &source, &edited), "diagnostics": found,
        }));
    }
    let known = check(&source, &library);
    tell(app, args, &path, (&source, &edited), (&known, &found))
}

/// Reports which files next to a workflow use a name that has changed; they are not edited.
fn mention_others(app: &App, path: &Path, operations: &[Operation]) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    for ending in ["test.yaml", "properties.yaml"] {
        let beside = path.with_file_name(format!("{stem}.{ending}"));
        let Ok(text) = std::fs::read_to_string(&beside) else {
            continue;
        };
        let words: Vec<&str> = text
            .split(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)))
            .collect();
        let old = operations.iter().filter_map(|operation| match operation {
            Operation::RenameState { name, .. }
            | Operation::RemoveState { name, .. }
            | Operation::RenameGuard { name, .. }
            | Operation::RemoveGuard { name }
            | Operation::RenameEvent { event: name, .. } => Some(name),
            _ => None,
        });
        for name in old {
            if words.contains(&name.as_str()) {
                let beside = beside.display();
                app.output.remark(&format!(
                    "`{beside}` also names `{name}`; it was not changed\n"
                ));
            }
        }
    }
}

fn tell(
    app: &App,
    args: &EditArgs,
    path: &Path,
    (before, after): (&Source, &Source),
    (known, found): (&[Diagnostic], &[Diagnostic]),
) -> Done {
    if before.text == after.text {
        return app
            .output
            .line("nothing to change: the file already has this value");
    }
    for line in difference(path, before, after).lines() {
        let style = match line.as_bytes().first() {
            Some(b'+') => Some(Style::Green),
            Some(b'-') => Some(Style::Red),
            _ => None,
        };
        app.output
            .line(&style.map_or_else(|| line.to_owned(), |style| app.output.styled(style, line)))?;
    }
    // `check` reports what was already wrong.
    let is_new = |one: &&Diagnostic| {
        !known
            .iter()
            .any(|other| other.code == one.code && other.message == one.message)
    };
    let new: Vec<Diagnostic> = found.iter().filter(is_new).cloned().collect();
    app.output
        .painted_error(&render(&new, app.output.colours_errors()))?;
    let errors = found
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .count();
    let written = if args.dry_run {
        "would be written"
    } else {
        "written"
    };
    let rest = match errors {
        0 => String::new(),
        1 => "; it has 1 error now".to_owned(),
        _ => format!("; it has {errors} errors now"),
    };
    app.output.line(&format!(
        "{} {}{rest}",
        app.output.styled(Style::Green, written),
        path.display()
    ))
}

fn difference(path: &Path, before: &Source, after: &Source) -> String {
    diff(&FileChange {
        path: path.to_owned(),
        before: Some(before.text.clone()),
        after: Some(after.text.clone()),
    })
}

fn refused(app: &App, args: &EditArgs, source: &Source, refusal: &Refusal) -> Done {
    let found = refusal.diagnostic(&source.name);
    if args.json {
        app.output.json(&json!({
            "ok": false, "file": source.name, "code": refusal.why.code(), "message": refusal.message, "help": refusal.help,
            "operation": refusal.operation, "diagnostics": found.as_slice(),
        }))?;
        return Err(Failure::Said(Exit::Failed));
    }
    match found {
        Some(found) => app
            .output
            .painted_error(&render(&[found], app.output.colours_errors()))?,
        None => app
            .output
            .error(&format!("interlock: {}\n", refusal.message))?,
    }
    app.output
        .error(&format!("interlock: `{}` was not changed\n", args.workflow))?;
    Err(Failure::Said(Exit::Failed))
}

/// Returns the file of a workflow; a shipped workflow has none.
fn file(library: &Library, wanted: &str) -> Result<PathBuf, Failure> {
    if Path::new(wanted).is_file() {
        return Ok(PathBuf::from(wanted));
    }
    library.path_of(wanted).ok_or_else(|| {
        Failure::usage(anyhow!(
            "the workflow `{wanted}` is part of Interlock, not a file of yours: `interlock init --workflow {wanted}` copies it into the project"
        ))
    })
}

/// Parses a value: JSON, or the text itself.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Parses a value that must be JSON.
fn object(text: &str, what: &str) -> Result<Value, Failure> {
    let read: Value = serde_json::from_str(text)
        .with_context(|| format!("{what} is not JSON"))
        .map_err(Failure::usage)?;
    if read.is_object() {
        Ok(read)
    } else {
        Err(Failure::usage(anyhow!("{what} is not a JSON object")))
    }
}

fn operations(wanted: &EditOperation) -> Result<Vec<Operation>, Failure> {
    let one = match wanted.clone() {
        EditOperation::Apply { operations } => return read(&operations),
        EditOperation::AddState {
            name,
            fields,
            place,
        } => Operation::AddState {
            name,
            state: fields
                .map(|fields| object(&fields, "what the state holds"))
                .transpose()?,
            place: place.read(),
        },
        EditOperation::RenameState { name, to } => Operation::RenameState { name, to },
        EditOperation::RemoveState {
            name,
            with_transitions,
        } => Operation::RemoveState {
            name,
            with_transitions,
        },
        EditOperation::MoveState { name, place } => Operation::MoveState {
            name,
            place: place.read().ok_or_else(|| {
                Failure::usage(anyhow!(
                    "give a place: `--before STATE`, `--after STATE`, `--first` or `--last`"
                ))
            })?,
        },
        EditOperation::SetInitial { state } => Operation::SetInitial { state },
        EditOperation::AddTransition { state, event, to } => Operation::SetTransition {
            state,
            event,
            to: transition(to),
        },
        EditOperation::RemoveTransition { state, event } => {
            Operation::RemoveTransition { state, event }
        }
        EditOperation::RenameEvent { state, event, to } => {
            Operation::RenameEvent { state, event, to }
        }
        EditOperation::SetGuard { name, guard } => Operation::SetGuard {
            name,
            guard: object(&guard, "the guard")?,
        },
        EditOperation::RenameGuard { name, to } => Operation::RenameGuard { name, to },
        EditOperation::RemoveGuard { name } => Operation::RemoveGuard { name },
        EditOperation::Set { at, value: wanted } => Operation::Set {
            at,
            value: value(&wanted),
        },
        EditOperation::Remove { at } => Operation::Remove { at },
        EditOperation::Rename { at, to } => Operation::Rename { at, to },
    };
    Ok(vec![one])
}

/// Parses the target of a transition: JSON, or the name of a state.
fn transition(to: String) -> Value {
    match serde_json::from_str(&to) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => Value::from(to),
    }
}

impl WhereArgs {
    fn read(&self) -> Option<Place> {
        match self {
            Self {
                before: Some(state),
                ..
            } => Some(Place::Before(state.clone())),
            Self {
                after: Some(state), ..
            } => Some(Place::After(state.clone())),
            Self { first: true, .. } => Some(Place::First),
            Self { last: true, .. } => Some(Place::Last),
            _ => None,
        }
    }
}

fn read(path: &Path) -> Result<Vec<Operation>, Failure> {
    let name = path.display();
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text
        .with_context(|| format!("`{name}` cannot be read"))
        .map_err(Failure::usage)?;
    let read: Result<Vec<Operation>, _> = serde_json::from_str(&text);
    read.map_err(|error| Failure::usage(anyhow!("`{name}` is not a list of operations: {error}")))
}
