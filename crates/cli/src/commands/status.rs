//! `status`: shows the state of a run.

use std::path::Path;

use interlock_clients::{
    LivingSession,
    doctor::{Examination, clients_with_token, unheard_clients, unknown_mods},
    living_sessions, policy_fault,
};
use interlock_store::Home;
use serde_json::{Value, json};

use crate::{app::App, args::RunArgs, failure::Done, live, output::Style, standing};

pub(crate) fn run(app: &App, args: &RunArgs) -> Done {
    let project = app.project();
    let home = app.home()?;
    let policy = policy_fault(app.environment()?, &project);
    let opened = live::open(app, args.run.as_deref());
    if opened.is_err() && !args.json {
        told(app, policy.as_deref())?;
        sessions(app, &home, &project)?;
    }
    let mut status = opened?.status(None)?;
    if args.json {
        let living = living_sessions(&home, &project)?;
        let living: Vec<Value> = living.iter().map(described).collect();
        live::put(&mut status, "sessions", Value::Array(living));
        if let Some(fault) = policy {
            live::put(&mut status, "policy_fault", json!(fault));
        }
        app.output.json(&status)
    } else {
        standing::print(app, &status)?;
        told(app, policy.as_deref())?;
        sessions(app, &home, &project)?;
        mods(app, &home)
    }
}

/// Names what else decides in clients and prevents a guarded session from beginning.
pub(crate) fn mods(app: &App, home: &Home) -> Done {
    let site = super::init::site(app)?;
    let examination = Examination::new(site, home.path().to_owned(), false);
    for unknown in unknown_mods(&examination)? {
        let note = app.output.styled(Style::Red, "mod:");
        app.output.line(&format!(
            "{note}         {} may overrule every hook: a guarded session of {} does not begin \
             (remove it, or look at it and run `interlock doctor --accept`)",
            unknown.found.path, unknown.client
        ))?;
    }
    Ok(())
}

/// Reports that the project's policy guards nobody.
fn told(app: &App, policy_fault: Option<&str>) -> Done {
    let Some(fault) = policy_fault else {
        return Ok(());
    };
    let note = app.output.styled(Style::Red, "policy:");
    app.output.line(&format!(
        "{note}      {fault}; every call of a session here is refused until then"
    ))
}

/// Lists the sessions of the project whose client is running, with the run of each.
pub(crate) fn sessions(app: &App, home: &Home, project: &Path) -> Done {
    for living in living_sessions(home, project)? {
        let held = living.run.as_ref().map_or_else(
            || app.output.styled(Style::Yellow, "not guarded"),
            |run| format!("guarded by {run}"),
        );
        let client = living.session.client.as_deref().unwrap_or("a client");
        app.output.line(&format!(
            "{:<12} {client} {} (process {}, for {}): {held}",
            "client:",
            living.session.session,
            living.process.pid,
            live::since(living.since_ms),
        ))?;
    }
    for unheard in unheard_clients(home, project)? {
        let why = unheard.without.map_or_else(
            || "has called no hook yet".to_owned(),
            |without| format!("was started with `{without}` and calls no hook"),
        );
        let state = app.output.styled(Style::Yellow, "not guarded");
        app.output.line(&format!(
            "{:<12} {} (process {}): {state}, {why}",
            "client:", unheard.client, unheard.pid
        ))?;
    }
    for found in clients_with_token(home, project)? {
        let note = app.output.styled(Style::Red, "token:");
        app.output.line(&format!(
            "{note}       {}; start it without, and make a new one with `interlock token`",
            found.sentence()
        ))?;
    }
    Ok(())
}

/// Formats an active session for `--json`.
fn described(living: &LivingSession) -> Value {
    json!({
        "client": living.session.client,
        "session": living.session.session,
        "pid": living.process.pid,
        "since_ms": living.since_ms,
        "run": living.run,
    })
}
