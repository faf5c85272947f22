//! The active sessions of a project, guarded or not, and the notices for those that are not.

use std::path::{Path, PathBuf};

use interlock_core::names::RunId;
use interlock_project::{Environment, main_worktree};
use interlock_store::{
    Binding, ClientProcess, EventLog as _, Home, Listed, Lookup, Presence, SessionKey, StoreError,
};

use crate::{
    answer::{Answer, Say},
    client::ClientId,
    input::{Event, Input},
    process, registry,
};

/// A session of a project whose client is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivingSession {
    /// The session, with its client.
    pub session: SessionKey,
    /// The client's process.
    pub process: ClientProcess,
    /// When it was first seen in the project, in milliseconds since 1970.
    pub since_ms: u64,
    /// The open run that guards it; `None` if nothing it does is judged.
    pub run: Option<RunId>,
}

/// Lists the sessions of a project whose client is running, oldest first.
///
/// # Errors
/// Returns an error if the state directory cannot be read.
pub fn living_sessions(home: &Home, project_root: &Path) -> Result<Vec<LivingSession>, StoreError> {
    let mut living = Vec::new();
    for presence in home.presences(project_root)? {
        let Some(process) = presence.process.filter(is_running) else {
            continue;
        };
        if one_conversation(&presence.session) {
            // The previous session of the same process is over, whether its end was reported or not.
            living.retain(|known: &LivingSession| known.process != process);
        }
        let run = open_run_of(home, &presence.session, project_root).map(|held| held.run);
        living.push(LivingSession {
            session: presence.session,
            process,
            since_ms: presence.since_ms,
            run,
        });
    }
    Ok(living)
}

/// Returns whether a process of the session's client has one conversation at a time.
fn one_conversation(session: &SessionKey) -> bool {
    let client = session.client.as_deref().and_then(ClientId::named);
    client.is_some_and(|client| !registry::protocol(client).has_several_conversations())
}

/// Returns the binding of a session whose run is open; a run that cannot be read counts as open.
fn open_run_of(home: &Home, session: &SessionKey, project_root: &Path) -> Option<Binding> {
    let Ok(Lookup::Bound(bound)) = home.look_up(session, project_root) else {
        return None;
    };
    let run = home.open_run(&bound.run).and_then(|log| log.load());
    let is_over = run.is_ok_and(|run| run.is_over());
    (!is_over).then_some(bound)
}

fn is_running(process: &ClientProcess) -> bool {
    process::look(process.pid).is_some_and(|found| found.client == *process)
}

fn is_gone(process: &ClientProcess) -> bool {
    !is_running(process)
}

/// Records that a guarded session begins.
pub(crate) fn begin(environment: &Environment, binding: &Binding) -> Result<(), StoreError> {
    let root = &binding.project_root;
    let known = environment.home.presence(&binding.session, root)?;
    let presence = Presence {
        session: binding.session.clone(),
        project_root: root.clone(),
        process: process::client_of(environment),
        since_ms: known.map_or(environment.at_ms, |known| known.since_ms),
        told: Vec::new(),
    };
    environment.home.remember_presence(&presence, is_gone)
}

/// Records that a session has ended; one with an open run may be resumed.
pub(crate) fn end(
    environment: &Environment,
    key: &SessionKey,
    root: &Path,
    held: bool,
) -> Result<(), StoreError> {
    match environment.home.presence(key, root)? {
        Some(known) if held => {
            let ended = Presence {
                process: None,
                ..known
            };
            environment.home.remember_presence(&ended, is_gone)
        }
        Some(_) => environment.home.forget_presence(key, root),
        None => Ok(()),
    }
}

/// Records a session that no run guards, and notifies it once of the project's open runs.
pub(crate) fn unheld(
    environment: &Environment,
    input: &Input,
    key: &SessionKey,
    root: &Path,
) -> Result<Answer, StoreError> {
    // If Interlock is not used in a project, it stores nothing about it.
    let open = open_runs(&environment.home, key, root)?;
    let known = environment.home.presence(key, root)?;
    let apart = runs_of_main(&environment.home, root)?;
    let mut told: Vec<RunId> = open.iter().map(|held| held.run.clone()).collect();
    told.extend(apart.iter().map(|(run, _)| run.clone()));
    let news = known
        .as_ref()
        .is_none_or(|known| told.iter().any(|run| !known.told.contains(run)));
    if known.is_some() && !news {
        return Ok(Say::Nothing.into());
    }
    let hears =
        input.event != Event::SessionStart || registry::protocol(input.client).hears_at_start();
    let presence = Presence {
        session: key.clone(),
        project_root: root.to_owned(),
        process: process::client_of(environment),
        since_ms: known.map_or(environment.at_ms, |known| known.since_ms),
        told: if hears { told } else { Vec::new() },
    };
    environment.home.remember_presence(&presence, is_gone)?;
    let text = match (open.last(), apart.last()) {
        _ if !news => return Ok(Say::Nothing.into()),
        (Some(newest), _) => unguarded(newest, open.len(), key),
        (None, Some((run, main))) => unguarded_worktree(run, main),
        (None, None) => return Ok(Say::Nothing.into()),
    };
    Ok(Answer::add(text.clone()).telling(text))
}

/// Lists the open runs of the project of which this one is a worktree, oldest first.
fn runs_of_main(home: &Home, root: &Path) -> Result<Vec<(RunId, PathBuf)>, StoreError> {
    let Some(main) = main_worktree(root) else {
        return Ok(Vec::new());
    };
    let mut runs: Vec<(RunId, PathBuf)> = Vec::new();
    for run in home.list_runs_in(&[&main], |_| true)? {
        let is_over = matches!(&run.listed, Listed::Known(card) if card.is_over());
        if run.is_of(&main) && !is_over {
            runs.push((run.id, main.clone()));
        }
    }
    runs.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(runs)
}

fn unguarded_worktree(run: &RunId, main: &Path) -> String {
    format!(
        "Interlock: run {run} is open in {}, of which this is a worktree. A worktree is a separate project: this session is not guarded, and nothing it does is judged. To guard it: `interlock start` in this folder.",
        main.display()
    )
}

/// Lists the bindings of the project's other sessions whose runs are open.
fn open_runs(home: &Home, key: &SessionKey, root: &Path) -> Result<Vec<Binding>, StoreError> {
    let mut open: Vec<Binding> = Vec::new();
    for presence in home.presences(root)? {
        if presence.session == *key {
            continue;
        }
        let Some(held) = open_run_of(home, &presence.session, root) else {
            continue;
        };
        if open.iter().all(|known| known.run != held.run) {
            open.push(held);
        }
    }
    Ok(open)
}

fn unguarded(held: &Binding, open: usize, key: &SessionKey) -> String {
    let run = &held.run;
    let client = held.session.client.as_deref().unwrap_or("another client");
    let more = match open.saturating_sub(1) {
        0 => String::new(),
        more => format!(" ({more} more are open)"),
    };
    format!(
        "Interlock: run {run} is open in this project{more} and guards a session of {client}. \
         This session is not guarded: nothing it does is judged. To guard it by the same run: \
         `interlock resume {run} --session {}`. To guard every session of the project: \
         `hold = \"project\"` in .interlock/config.toml, or `interlock start --project`.",
        key.session
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    /// A change in the life of a session.
    #[derive(Debug, Clone, Copy)]
    enum Happens {
        Begins,
        Ends { held: bool },
    }

    #[test]
    fn a_session_is_there_since_it_was_first_seen() {
        use Happens::{Begins, Ends};
        for (story, since) in [
            (&[Begins][..], Some(0)),
            (&[Begins, Begins, Begins], Some(0)),
            (&[Begins, Ends { held: true }], Some(0)),
            (&[Begins, Ends { held: true }, Begins], Some(0)),
            (&[Begins, Ends { held: false }], None),
            (&[Begins, Ends { held: false }, Begins], Some(2)),
        ] {
            let room = tempfile::tempdir().unwrap();
            let root = room.path().join("project");
            let session = SessionKey::new("claude-code", "s");
            let state = room.path().join("state");
            std::fs::create_dir(&state).unwrap();
            let mut environment = Environment::at(Home::at(state));
            let own = process::look(std::process::id());
            environment.client = own.map(|own| own.client);
            let binding = Binding {
                run: RunId::new("r"),
                session: session.clone(),
                project_root: root.clone(),
                process: None,
                at_ms: 0,
            };
            for (at, happens) in story.iter().enumerate() {
                environment.at_ms = u64::try_from(at).unwrap();
                match happens {
                    Begins => begin(&environment, &binding).unwrap(),
                    Ends { held } => end(&environment, &session, &root, *held).unwrap(),
                }
            }
            let known = environment.home.presence(&session, &root).unwrap();
            assert_eq!(known.map(|known| known.since_ms), since, "{story:?}");
        }
    }
}
