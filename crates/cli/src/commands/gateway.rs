//! `gateway`: serves MCP servers behind a state machine, for the client that starts it.

use std::ffi::OsString;

use interlock_clients::GUARD;
use interlock_gateway::{
    ServerSet, Settings, StartedFor, stdio::serve_stdio, upstream::stdio::Process,
};
use interlock_store::Home;

use crate::{
    app::{App, variable},
    args::GatewayArgs,
    authority,
    failure::{Done, Failure},
    telemetry,
};

pub(crate) fn run(app: &App, args: GatewayArgs) -> Done {
    let home = app.home()?;
    let settings = Settings {
        environment: app.environment()?.clone(),
        started_for: started_for(&home)?,
        tool_prefix: args
            .tool_prefix
            .parse()
            .map_err(|error: interlock_gateway::UnknownPrefix| Failure::usage(error))?,
        person: authority::name(),
        ancestors: authority::ancestors()?,
    };
    let mut configured = ServerSet::configured(&settings)?;
    if args.trusted_only {
        configured = configured.of_trusted(&settings)?;
    }
    if let Some(workflow) = &args.servers_of {
        configured = configured.with_servers_of(&settings, workflow)?;
    }
    let behind = match wrapped(args.command) {
        Some(process) => configured.wrapping(process),
        None => configured,
    };
    if !behind.left_out.is_empty() {
        app.output.error(&left_out(&settings, &behind.left_out))?;
    }
    settings.environment.keep_connections();
    let served = serve_stdio(&settings, &behind);
    // Hooks may not have seen the calls that passed here.
    telemetry::nudge();
    Ok(served?)
}

/// Finds the run of the step that started the client.
fn started_for(home: &Home) -> Result<StartedFor, Failure> {
    let Some(credential) = variable(GUARD) else {
        return Ok(StartedFor::Anything);
    };
    let run = home.run_of_credential(&credential.to_string_lossy())?;
    Ok(run.map_or(StartedFor::Over, StartedFor::Run))
}

/// Reports which servers are not started, and what a person can do.
fn left_out(settings: &Settings, names: &[String]) -> String {
    let root = settings.environment.project();
    let own = settings.environment.configuration.as_deref().map_or_else(
        || "your own `config.toml`".to_owned(),
        |directory| format!("`{}`", directory.join("config.toml").display()),
    );
    format!(
        "interlock: servers of a project that you do not trust are not started: {}; \
         read `{}` and, if you agree, add `{}` to `projects` under `[trust]` in {own}\n",
        names.join(", "),
        root.join(".interlock/config.toml").display(),
        root.display(),
    )
}

/// Returns the server in a command line.
pub(crate) fn wrapped(command: Vec<OsString>) -> Option<Process> {
    let mut words = command.into_iter();
    Some(Process {
        command: words.next()?,
        args: words.collect(),
        ..Process::default()
    })
}
