//! Whether a person asks: at a terminal, or with the token only a person has seen.
//!
//! Below a guarded agent nobody is a person, whatever terminal or token there is.

use std::io::IsTerminal as _;

use interlock_store::ClientProcess;

use crate::{app::App, failure::Failure, live};

/// How many ancestors are looked at; a longer line is refused.
const ANCESTORS_MAX: usize = 4096;

/// Returns the person's name, or refuses.
pub(crate) fn person(app: &App) -> Result<String, Failure> {
    let Some(token) = crate::app::variable("INTERLOCK_TOKEN") else {
        not_below_an_agent(app)?;
        if std::io::stdin().is_terminal() {
            return Ok(name());
        }
        return Err(anyhow::anyhow!(
            "only a person may do this: call it at a terminal, or set `INTERLOCK_TOKEN` to what `interlock token` shows"
        )
        .into());
    };
    let token = token.into_string().unwrap_or_default();
    match app.home()?.token_made_below(&token)? {
        Some(own) => not_below_a_guarded(app, &own).map(|()| name()),
        None => Err(anyhow::anyhow!(
            "`INTERLOCK_TOKEN` is not the token in use: make a new one with `interlock token`"
        )
        .into()),
    }
}

/// Refuses unless a person sits at a terminal.
pub(crate) fn at_a_terminal(app: &App) -> Result<(), Failure> {
    not_below_an_agent(app)?;
    if std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(anyhow::anyhow!("only a person at a terminal may do this").into())
}

/// Refuses below the process of a client that an open run guards.
pub(crate) fn not_below_an_agent(app: &App) -> Result<(), Failure> {
    not_below_a_guarded(app, &[])
}

/// The same, but for the processes a person made the token below: a script that
/// plays the client itself is its person's own, an agent started later is not.
fn not_below_a_guarded(app: &App, own: &[ClientProcess]) -> Result<(), Failure> {
    let home = app.home()?;
    let mut guarded: Vec<(ClientProcess, String)> = Vec::new();
    for binding in home.bound_sessions()? {
        let binding = binding?;
        let Some(process) = binding.process.filter(|process| !own.contains(process)) else {
            continue;
        };
        // A run that cannot be read may be open.
        if !live::is_over(&home, &binding.run).unwrap_or(false) {
            guarded.push((process, binding.run.to_string()));
        }
    }
    if guarded.is_empty() {
        return Ok(());
    }
    for ancestor in ancestors()? {
        if let Some((_, run)) = guarded.iter().find(|(process, _)| *process == ancestor) {
            return Err(anyhow::anyhow!(
                "this runs below an agent that run `{run}` guards; a person has to do it elsewhere"
            )
            .into());
        }
    }
    Ok(())
}

/// Returns the name of the person, for the log.
pub(crate) fn name() -> String {
    ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| crate::app::variable(name).and_then(|value| value.into_string().ok()))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "a person".to_owned())
}

/// Lists this process's ancestors, nearest first.
pub(crate) fn ancestors() -> Result<Vec<ClientProcess>, Failure> {
    let mut found = Vec::new();
    let mut pid = std::os::unix::process::parent_id();
    while pid > 0 {
        let Some(process) = interlock_clients::process::look(pid) else {
            break;
        };
        pid = process.parent;
        found.push(process.client);
        if found.len() > ANCESTORS_MAX {
            return Err(anyhow::anyhow!(
                "this process has too many ancestors to tell who it runs for"
            )
            .into());
        }
    }
    Ok(found)
}
