//! Open runs: opening, commands and printing.

use std::time::{SystemTime, UNIX_EPOCH};

use interlock_core::{
    Decision, Reply,
    command::{Command, CommandKind},
    machine::{Machine, Object},
    run::Run,
    visible::visible,
};
use interlock_formats::{Diagnostic, Loaded, Source, load as load_workflow, load_strictly, render};
use interlock_project::{Config, Library};
use interlock_store::{Durability, EventLog as _, Home, RunLog, submit};
use serde_json::Value;

use crate::{
    app::App,
    failure::{Exit, Failure},
};

/// An open run.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) home: Home,
    pub(crate) log: RunLog,
    pub(crate) machine: Machine,
    pub(crate) run: Run,
}

/// Opens a run by an id, a prefix of one, or a name; without one, the newest of this project.
pub(crate) fn open(app: &App, wanted: Option<&str>) -> Result<Live, Failure> {
    let home = app.home()?;
    let id = app.find_run(wanted)?;
    let log = home.open_run(&id)?;
    let machine = log.machine()?;
    let run = log.load()?;
    Ok(Live {
        home,
        log,
        machine,
        run,
    })
}

impl Live {
    /// Sends a command to the run and records the resulting events.
    pub(crate) fn ask(&mut self, command: CommandKind) -> Result<Decision, Failure> {
        let command = Command {
            at_ms: now_ms(),
            kind: command,
        };
        Ok(submit(
            &mut self.log,
            &self.machine,
            &mut self.run,
            &command,
        )?)
    }
}

/// Returns the meaning of a reply: whether it was accepted, the code and the sentence.
pub(crate) fn reply(reply: &Reply) -> (bool, Option<&'static str>, String) {
    match reply {
        Reply::Accepted => (true, None, String::new()),
        Reply::Pending { message, id } => (
            true,
            None,
            format!("a person has to approve this ({id}): {}", visible(message)),
        ),
        Reply::Ask(refusal) => (true, None, refusal.message.clone()),
        Reply::Refused(refusal) => (false, Some(refusal.code.as_str()), refusal.message.clone()),
    }
}

pub(crate) fn put(line: &mut Value, key: &str, value: Value) {
    if let Value::Object(object) = line {
        object.insert(key.to_owned(), value);
    }
}

/// Loads a workflow by file or name; its errors are printed as `check` prints them.
pub(crate) fn load(app: &App, wanted: &str) -> Result<Loaded, Failure> {
    load_from(app, &app.library(), wanted)
}

/// Loads a workflow for reading only.
pub(crate) fn load_to_read(app: &App, wanted: &str) -> Result<Loaded, Failure> {
    load_from(app, &app.library_to_read(), wanted)
}

fn load_from(app: &App, library: &Library, wanted: &str) -> Result<Loaded, Failure> {
    let source = library.open(wanted).map_err(Failure::usage)?;
    load_source(app, library, &source)
}

/// Loads a workflow whose file has been read.
pub(crate) fn load_source(
    app: &App,
    library: &Library,
    source: &Source,
) -> Result<Loaded, Failure> {
    said(app, load_workflow(source, None, library))
}

/// Loads a workflow, with ambiguities as errors.
pub(crate) fn load_source_strictly(
    app: &App,
    library: &Library,
    source: &Source,
) -> Result<Loaded, Failure> {
    said(app, load_strictly(source, None, library))
}

/// Prints the errors and warnings of a workflow.
fn said(app: &App, loaded: Result<Loaded, Vec<Diagnostic>>) -> Result<Loaded, Failure> {
    loaded.map_err(|diagnostics| {
        let text = render(&diagnostics, app.output.colours_errors());
        match app.output.painted_error(&text) {
            Ok(()) => Failure::Said(Exit::Failed),
            Err(failure) => failure,
        }
    })
}

/// Parses an option that is a JSON object.
pub(crate) fn object(option: &str, text: Option<&str>) -> Result<Object, Failure> {
    let Some(text) = text else {
        return Ok(Object::new());
    };
    serde_json::from_str(text)
        .map_err(|error| Failure::usage(anyhow::anyhow!("`{option}` needs a JSON object: {error}")))
}

/// Returns the time, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Formats how long ago something was, in its largest whole unit.
pub(crate) fn since(at_ms: u64) -> String {
    let seconds = now_ms().saturating_sub(at_ms) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Returns whether a run has ended.
pub(crate) fn is_over(home: &Home, run: &interlock_core::names::RunId) -> Result<bool, Failure> {
    Ok(home.open_run(run)?.load()?.is_over())
}

/// Returns the configured durability of a run's events.
pub(crate) const fn durability(config: &Config) -> Durability {
    match config.store.durability {
        interlock_project::Durability::Process => Durability::Process,
        interlock_project::Durability::Power => Durability::Power,
    }
}
