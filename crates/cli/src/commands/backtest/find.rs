//! Finds the selected sessions and reads them.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::anyhow;
use interlock_clients::ClientId;
use interlock_core::names::RunId;
use interlock_sessions::{
    Format, Losses, Session, client_folder, of_events, read_files, recordings,
};
use interlock_store::{EventLog as _, Home, StoreError};

use crate::{
    app::{App, home_of_person},
    args::SessionsArgs,
    failure::Failure,
    live::now_ms,
};

/// Interval of progress messages during long work.
const SAY_EVERY: Duration = Duration::from_secs(2);

/// Sessions that were found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The sessions, those from Interlock's own logs last.
    pub(crate) sessions: Vec<Session>,
    /// Runs of sessions from Interlock's own logs, by the index of the session.
    pub(crate) runs: BTreeMap<usize, RunId>,
    /// Common root of all sessions, if it was given.
    pub(crate) root: Option<PathBuf>,
    /// Number of sessions that were left out: of other clients, of other projects, or older.
    pub(crate) left_out: usize,
}

impl Found {
    /// Returns what could not be read in all sessions.
    pub(crate) fn losses(&self) -> Losses {
        let mut all = Losses::default();
        for session in &self.sessions {
            all.add(&session.losses);
        }
        all
    }
}

/// Reports the progress of long work on a terminal.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    app: &'a App,
    shown: bool,
    last: Instant,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(app: &'a App) -> Self {
        Self {
            app,
            shown: io::stderr().is_terminal(),
            last: Instant::now(),
        }
    }

    pub(crate) fn say(&mut self, what: &str, done: usize, all: usize) {
        if self.shown && self.last.elapsed() >= SAY_EVERY {
            self.last = Instant::now();
            self.app
                .output
                .remark(&format!("{what}: {done} of {all}\n"));
        }
    }
}

/// Reads the selected sessions.
pub(crate) fn find(app: &App, args: &SessionsArgs) -> Result<Found, Failure> {
    let client = args.client.as_deref().map(client).transpose()?;
    let since_ms = args.since.as_deref().map(since).transpose()?;
    let mut files = Vec::new();
    let mut named = Vec::new();
    let mut runs = Vec::new();
    let of_project = args.sessions.is_empty();
    if of_project {
        files = files_of_clients()?;
        runs = runs_of_project(app)?;
    }
    for wanted in &args.sessions {
        let path = Path::new(wanted);
        if !path.exists() {
            runs.push(run_named(app, wanted)?);
            continue;
        }
        let below = recordings(path).map_err(Failure::usage)?;
        if path.is_file() {
            named.extend(below.iter().cloned());
            // The calls of its sub-agents are in a folder next to it.
            let beside = path.with_extension("");
            if beside.is_dir() {
                files.extend(recordings(&beside).map_err(Failure::usage)?);
            }
        }
        files.extend(below);
    }
    files.sort();
    files.dedup();
    let mut progress = Progress::new(app);
    let all = files.len();
    let read = read_files(&files, &named, |done| progress.say("files read", done, all));
    let mut sessions = read.map_err(Failure::usage)?;
    let before = sessions.len();
    let project = app.project();
    sessions.retain(|session| {
        let is_here = || {
            let place = session.directory.as_deref().map(Path::new);
            place.is_some_and(|place| place.starts_with(&project))
        };
        is_meant(session, client, since_ms) && (!of_project || is_here())
    });
    let mut left_out = before - sessions.len();
    let mut found = BTreeMap::new();
    for run in runs {
        let session = of_run(app, &run)?;
        if is_meant(&session, client, since_ms) {
            found.insert(sessions.len(), run);
            sessions.push(session);
        } else {
            left_out += 1;
        }
    }
    if sessions.is_empty() {
        let why = match (of_project, left_out) {
            (true, 0) => {
                "no recorded session of this project was found: name files, folders or runs"
                    .to_owned()
            }
            (_, 0) => "no recorded session was found: name files, folders or runs".to_owned(),
            (_, 1) => "the only session found belongs to another client or project, or is older"
                .to_owned(),
            (_, many) => {
                format!(
                    "the {many} sessions found belong to other clients or projects, or are older"
                )
            }
        };
        return Err(Failure::usage(anyhow!(why)));
    }
    Ok(Found {
        sessions,
        runs: found,
        root: args.root.clone(),
        left_out,
    })
}

fn client(word: &str) -> Result<ClientId, Failure> {
    ClientId::named(word).ok_or_else(|| {
        let known = ClientId::ALL.map(|(word, _)| format!("`{word}`"));
        Failure::usage(anyhow!("no client `{word}` is known: {}", known.join(", ")))
    })
}

/// Parses the maximum age of sessions, returning a time in milliseconds since 1970.
fn since(text: &str) -> Result<u64, Failure> {
    let ms = interlock_simulate::duration_ms(text).map_err(|why| Failure::usage(anyhow!(why)))?;
    Ok(now_ms().saturating_sub(ms))
}

/// Returns whether a session is of the client and recent enough; a session without times counts as recent.
fn is_meant(session: &Session, client: Option<ClientId>, since_ms: Option<u64>) -> bool {
    let by_client = client.is_none_or(|client| session.client.as_deref() == Some(client.word()));
    let young = since_ms.is_none_or(|since| session.last_ms().is_none_or(|last| last >= since));
    by_client && young
}

/// Lists the files in which clients store their sessions in the person's home.
fn files_of_clients() -> Result<Vec<PathBuf>, Failure> {
    let Some(home) = home_of_person() else {
        return Ok(Vec::new());
    };
    let mut files = Vec::new();
    for format in [
        Format::ClaudeCode,
        Format::Codex,
        Format::Gemini,
        Format::Copilot,
    ] {
        if let Some(folder) = client_folder(&home, format).filter(|folder| folder.is_dir()) {
            files.extend(recordings(&folder).map_err(Failure::usage)?);
        }
    }
    Ok(files)
}

fn runs_of_project(app: &App) -> Result<Vec<RunId>, Failure> {
    let (home, project) = (app.home()?, app.project());
    let all = home.list_runs_in(&[&project], |_| true)?;
    let own = all.into_iter().filter(|run| run.is_of(&project));
    Ok(own.map(|run| run.id).collect())
}

fn run_named(app: &App, wanted: &str) -> Result<RunId, Failure> {
    app.find_run(Some(wanted)).map_err(|failure| match failure {
        Failure::Error(_, error) => Failure::usage(anyhow!(
            "`{wanted}` is not a file, a folder or a run: {error}"
        )),
        said @ Failure::Said(_) => said,
    })
}

/// Reads the log of a run as a session.
fn of_run(app: &App, id: &RunId) -> Result<Session, Failure> {
    let home = app.home()?;
    let log = home.open_run(id)?;
    let events = log
        .events(0)
        .map(|recorded| recorded.map(|one| (one.at_ms, one.event)));
    let mut session = of_events::<StoreError>(&format!("run {id}"), events)?;
    session.directory = project_of(&home, id)?;
    session.client = home
        .session_of(id)?
        .and_then(|binding| binding.session.client);
    Ok(session)
}

pub(crate) fn project_of(home: &Home, id: &RunId) -> Result<Option<String>, Failure> {
    let all = home.list_runs_where(|run| run == id)?;
    let card = all.iter().find_map(|run| run.listed.card());
    Ok(card.map(|card| card.project_root.to_string_lossy().into_owned()))
}

/// Returns the directory of a session's project.
pub(crate) fn root_of(app: &App, found: &Found, session: &Session) -> Option<String> {
    if let Some(root) = &found.root {
        return Some(root.to_string_lossy().into_owned());
    }
    let began = session
        .directory
        .as_deref()
        .filter(|path| path.starts_with('/'))?;
    let project = app.project();
    // A session may begin in a folder of this project.
    if Path::new(began).starts_with(&project) {
        return Some(project.to_string_lossy().into_owned());
    }
    Some(began.to_owned())
}
