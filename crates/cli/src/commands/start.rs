//! `start`: begins a run that guards a session of this project.

use interlock_clients::{install::set_up, tools::lacks};
use interlock_core::{machine::Machine, names::RunId};
use interlock_project::{Config, GuardScope};
use interlock_store::{Home, Lookup, NewRun, SessionKey, SourceFile};
use interlock_view::report;
use serde_json::json;

use crate::{
    app::{self, App},
    args::StartArgs,
    authority,
    failure::{Done, Failure},
    live,
    output::Style,
    standing, telemetry,
};

pub(crate) fn run(app: &App, args: &StartArgs) -> Done {
    authority::not_below_an_agent(app)?;
    let input = live::object("--input", args.input.as_deref())?;
    let source = app.library().open(&args.workflow).map_err(Failure::usage)?;
    let loaded = live::load(app, &args.workflow)?;
    let project = app.project();
    let person = Config::of_person(app::configuration().as_deref())?;
    app.library()
        .check_trust(&loaded.machine, &source.name, &project, &person)?;
    let home = app.home()?;
    // Checked before anything is created, so that a refusal leaves nothing behind.
    let key = args.session.as_ref().map(SessionKey::of_any_client);
    let found = home.look_up(&free_key(key.as_ref()), &project)?;
    let replaced = occupant(&home, key.as_ref(), &found)?;
    let config = Config::of_project(&project)?;
    let holds_all = args.project || args.session.is_none() && config.hold == GuardScope::Project;
    let at_ms = live::now_ms();
    let new = NewRun {
        machine: &loaded.machine,
        source: &SourceFile {
            name: source.name.clone(),
            text: source.text.clone(),
        },
        project_root: &project,
        name: args.name.as_deref(),
        durability: live::durability(&config),
        at_ms,
    };
    let by = authority::name();
    // Slow work comes before the bindings are locked: all hooks wait for them.
    let prepared = home.prepare_run(&new, input, &by)?;
    let started = match &key {
        Some(session) => {
            let prepared = prepared.for_session(session, None)?;
            home.lock_bindings()?.begin(prepared, replaced.as_ref())?.0
        }
        None => {
            let hold = match holds_all {
                true => interlock_store::SessionScope::Every,
                false => interlock_store::SessionScope::Next,
            };
            let bindings = home.lock_bindings()?;
            bindings.begin_waiting(prepared, hold, replaced.as_ref())?
        }
    };
    let id = started.log.run().clone();
    telemetry::keep_parent(&home, &id);
    let report = serde_json::to_value(report(&loaded.machine, &started.run, None))?;
    if args.json {
        return app.output.json(&json!({
            "run": id, "workflow": loaded.machine.id, "state": report.get("state"), "status": report.get("status"),
        }));
    }
    let state = report
        .get("state")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default()
        .to_owned();
    app.output.line(&format!(
        "{} {id} of `{}` stands in `{state}`",
        app.output.styled(Style::Green, "started"),
        loaded.machine.id
    ))?;
    match &args.session {
        Some(session) => app
            .output
            .line(&format!("session {session} is guarded by it"))?,
        None if holds_all => app
            .output
            .line("every session in this project is guarded by it until it ends")?,
        None => app
            .output
            .line("the next session in this project is guarded by it")?,
    }
    super::status::sessions(app, &home, &project)?;
    super::status::mods(app, &home)?;
    if standing::stands_in_stage(&loaded.machine, &started.run) {
        app.output
            .line("the first state is a model stage: `interlock resume` runs it")?;
    }
    hint(app, &loaded.machine)
}

/// Reports that no hook would ask for a verdict here, or what an agent here could not use.
///
/// A client's settings may be in places that only it knows.
fn hint(app: &App, machine: &Machine) -> Done {
    let Ok(clients) = super::init::site(app).map(|site| set_up(&site)) else {
        return Ok(());
    };
    if clients.is_empty() {
        app.output.line(&format!(
            "{} no client is set up here, so no session would be guarded: run `interlock init`",
            app.output.styled(Style::Yellow, "note:")
        ))?;
    }
    for lack in clients.iter().flat_map(|client| lacks(*client, machine)) {
        super::check::warn(app, &lack)?;
    }
    Ok(())
}

/// Returns a key that no session has, to look up only the waiting run.
fn free_key(key: Option<&SessionKey>) -> SessionKey {
    key.cloned().unwrap_or_else(|| SessionKey::new("", ""))
}

/// Returns the ended run that is in the way; an open one is an error of `bind`.
fn occupant(
    home: &Home,
    key: Option<&SessionKey>,
    lookup: &Lookup,
) -> Result<Option<RunId>, Failure> {
    let run = match (key, lookup) {
        (_, Lookup::Unbound) | (Some(_), Lookup::Waiting(_) | Lookup::Project(_)) => {
            return Ok(None);
        }
        (None, Lookup::Waiting(run) | Lookup::Project(run)) => run,
        (_, Lookup::Bound(binding)) => &binding.run,
    };
    if live::is_over(home, run)? {
        return Ok(Some(run.clone()));
    }
    Err(anyhow::anyhow!(
        "run `{run}` is already open here: end it with `interlock cancel {run}`, or continue it"
    )
    .into())
}
