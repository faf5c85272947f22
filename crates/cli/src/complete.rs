//! Shell completions for workflows, runs, states and events.
//!
//! Whatever cannot be read offers nothing: a completion never fails.

use std::ffi::OsStr;

use clap_complete::{
    CompletionCandidate, PathCompleter,
    engine::ValueCompleter as _,
    env::{CompleteEnv, Shells},
};
use interlock_clients::ClientId;
use interlock_core::machine::Machine;
use interlock_store::Listed;

use crate::{
    app::App,
    args::{self, Colour},
    failure::Done,
    live,
    output::Output,
};

/// Variable with which a completion script calls.
const VARIABLE: &str = "INTERLOCK_COMPLETE";

/// Answers a completion script and exits; returns if no script is calling.
pub(crate) fn answer() {
    if std::env::var_os(VARIABLE).is_some() {
        CompleteEnv::with_factory(args::command)
            .var(VARIABLE)
            .complete();
    }
}

/// Prints the script for a shell.
pub(crate) fn script(app: &App, shell: &str) -> Done {
    let known = Shells::builtins();
    let Some(shell) = known.completer(shell) else {
        return Err(anyhow::anyhow!("there is no completion for `{shell}`").into());
    };
    let mut text = Vec::new();
    shell.write_registration(VARIABLE, "interlock", "interlock", "interlock", &mut text)?;
    app.output.document(&String::from_utf8(text)?)
}

/// Offers the workflows that have a name here, and files.
pub(crate) fn workflow(current: &OsStr) -> Vec<CompletionCandidate> {
    let entries = here().map(|app| app.library_to_read().list());
    let names = entries
        .into_iter()
        .flatten()
        .map(|entry| CompletionCandidate::new(entry.name).help(Some(entry.origin.as_str().into())));
    let mut found = beginning(current, names);
    if found.is_empty() || !current.is_empty() {
        found.extend(PathCompleter::any().complete(current));
    }
    found
}

/// Offers the runs of this project, by name where they have one.
pub(crate) fn run(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(app) = here() else {
        return Vec::new();
    };
    let roots = [app.project(), app.flow_project()];
    let runs = app.home().ok().and_then(|home| home.list_runs().ok());
    let runs = runs.into_iter().flatten();
    let mine = runs.filter(|run| roots.iter().any(|root| run.is_of(root)));
    let candidates = mine.filter_map(|run| {
        let Listed::Known(card) = &run.listed else {
            return None;
        };
        let status = serde_json::to_value(card.status).ok()?;
        let about = format!("{} {}", card.workflow, status.as_str()?);
        let id = CompletionCandidate::new(run.id.to_string()).help(Some(about.clone().into()));
        let name = card.name.as_ref();
        let name = name.map(|name| CompletionCandidate::new(name).help(Some(about.into())));
        Some(name.into_iter().chain([id]))
    });
    beginning(current, candidates.flatten())
}

/// Offers the states of the workflow in the command line.
pub(crate) fn state(current: &OsStr) -> Vec<CompletionCandidate> {
    let machine = word_after("explain").and_then(|name| machine_of(&name));
    let states = machine.map(|machine| machine.states).unwrap_or_default();
    let written = states
        .into_iter()
        .filter(|(_, state)| state.shown_as.is_none());
    beginning(
        current,
        written.map(|(name, _)| CompletionCandidate::new(name.to_string())),
    )
}

/// Offers the events that the run accepts: the run in the command line, or the newest.
pub(crate) fn event(current: &OsStr) -> Vec<CompletionCandidate> {
    let run = word_after("--run");
    let report = here()
        .and_then(|app| live::open(&app, run.as_deref()).ok())
        .and_then(|live| live.status(None).ok());
    let events = report.and_then(|line| line.get("events")?.as_array().cloned());
    let candidates = events.into_iter().flatten().filter_map(|event| {
        let name = event.get("event")?.as_str()?.to_owned();
        let target = event.get("target").and_then(|target| target.as_str());
        let about = target.map(|target| format!("-> {target}").into());
        Some(CompletionCandidate::new(name).help(about))
    });
    beginning(current, candidates)
}

/// Offers the clients.
pub(crate) fn client(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = ClientId::ALL.into_iter().map(|(word, _)| word);
    beginning(current, words.map(CompletionCandidate::new))
}

fn beginning(
    current: &OsStr,
    all: impl Iterator<Item = CompletionCandidate>,
) -> Vec<CompletionCandidate> {
    let begins = current.to_string_lossy().into_owned();
    all.filter(|one| one.get_value().to_string_lossy().starts_with(&begins))
        .collect()
}

fn here() -> Option<App> {
    App::here(Output::new(Colour::Never)).ok()
}

fn machine_of(workflow: &str) -> Option<Machine> {
    let library = here()?.library_to_read();
    let source = library.open(workflow).ok()?;
    let loaded = interlock_formats::load(&source, None, &library).ok()?;
    Some(loaded.machine)
}

/// Returns the word of the command line after another.
fn word_after(word: &str) -> Option<String> {
    let mut words = std::env::args().skip_while(|known| known != "--").skip(1);
    words.find(|known| known == word)?;
    words.next().filter(|found| !found.is_empty())
}
