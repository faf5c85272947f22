//! Whether a person calls: at a terminal, or with the token that only a person has seen.
//!
//! No process below a guarded agent is a person, whatever terminal or token it has.

mod terminal;

use std::io::IsTerminal as _;

use interlock_clients::{
    guarded::{Guarded, guarded_clients},
    process::{self, PERSONS_TOKEN, Process},
};
use interlock_core::names::RunId;
use interlock_store::{ClientProcess, TokenStanding};

use crate::{app::App, failure::Failure, live};

/// Returns the person's name, or refuses.
///
/// A token in the environment of an open run's agent counts for `run` only if that is a different run; with `None`, the command
/// concerns all runs, and such a token does not count.
pub(crate) fn person(app: &App, run: Option<&RunId>) -> Result<String, Failure> {
    let Some(token) = crate::app::variable(PERSONS_TOKEN) else {
        at_a_terminal_or(
            app,
            "only a person may do this: call it at a terminal, or set `INTERLOCK_TOKEN` to what `interlock token` shows",
        )?;
        return Ok(name());
    };
    let token = token.into_string().unwrap_or_default();
    let home = app.home()?;
    match home.token_standing(&token)? {
        TokenStanding::Good {
            made_below,
            not_for,
        } => {
            for seen in not_for {
                let counts = run.is_some_and(|run| *run != seen);
                if !counts && !live::is_over(&home, &seen).unwrap_or(false) {
                    return Err(anyhow::anyhow!(
                        "`INTERLOCK_TOKEN` does not count here: the agent of run `{seen}` has it in its environment. \
                         Answer at a terminal, start the client without it, and make a new one with `interlock token`"
                    )
                    .into());
                }
            }
            not_below_a_guarded(&guarded(app, &made_below)?).map(|()| name())
        }
        TokenStanding::Void(seen) => Err(anyhow::anyhow!(
            "`INTERLOCK_TOKEN` is void: the agent of run `{seen}` has seen it. Make a new one with `interlock token`"
        )
        .into()),
        TokenStanding::Unknown => Err(anyhow::anyhow!(
            "`INTERLOCK_TOKEN` is not the token in use: make a new one with `interlock token`"
        )
        .into()),
    }
}

/// Refuses unless a person uses a terminal.
pub(crate) fn at_a_terminal(app: &App) -> Result<(), Failure> {
    at_a_terminal_or(app, "only a person at a terminal may do this")
}

fn at_a_terminal_or(app: &App, why: &'static str) -> Result<(), Failure> {
    let guarded = guarded(app, &[])?;
    not_below_a_guarded(&guarded)?;
    if std::io::stdin().is_terminal() {
        return terminal::refuse_injected(&app.home()?, &guarded);
    }
    Err(anyhow::anyhow!(why).into())
}

/// Refuses below the process of a client that an open run guards.
pub(crate) fn not_below_an_agent(app: &App) -> Result<(), Failure> {
    not_below_a_guarded(&guarded(app, &[])?)
}

fn guarded(app: &App, own: &[ClientProcess]) -> Result<Vec<Guarded>, Failure> {
    Ok(guarded_clients(&app.home()?, own)?)
}

fn not_below_a_guarded(guarded: &[Guarded]) -> Result<(), Failure> {
    if guarded.is_empty() {
        return Ok(());
    }
    for ancestor in ancestors()? {
        if let Some(one) = guarded.iter().find(|one| one.process == ancestor) {
            return Err(anyhow::anyhow!(
                "this runs below an agent that run `{}` guards; a person has to do it elsewhere",
                one.run
            )
            .into());
        }
    }
    Ok(())
}

/// Returns the person's name, for the log.
pub(crate) fn name() -> String {
    ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| crate::app::variable(name).and_then(|value| value.into_string().ok()))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "a person".to_owned())
}

/// Lists this process's ancestors, nearest first.
pub(crate) fn ancestors() -> Result<Vec<ClientProcess>, Failure> {
    let above = ancestors_of(std::process::id())?.into_iter();
    Ok(above.map(|process| process.client).collect())
}

/// Lists the ancestors of a process, nearest first.
fn ancestors_of(pid: u32) -> Result<Vec<Process>, Failure> {
    process::ancestors(pid).ok_or_else(|| {
        anyhow::anyhow!("it is unknown for whom this process runs: the processes above it are too many, or keep changing").into()
    })
}
