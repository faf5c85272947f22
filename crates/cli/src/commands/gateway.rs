//! `gateway`: MCP servers behind a state machine, for the client that starts it.

use std::ffi::OsString;

use interlock_gateway::{Behind, Settings, stdio::serve_stdio, upstream::stdio::Process};
use interlock_project::configuration_directory;

use crate::{
    app::{App, variable},
    args::GatewayArgs,
    authority,
    commands::telemetry,
    failure::{Done, Failure},
};

pub(crate) fn run(app: &App, args: GatewayArgs) -> Done {
    let settings = Settings {
        project_directory: app.directory.clone(),
        home: app.home()?,
        configuration: configuration_directory(variable),
        tool_prefix: args
            .tool_prefix
            .parse()
            .map_err(|error: interlock_gateway::UnknownPrefix| Failure::usage(error))?,
        person: authority::name(),
        ancestors: authority::ancestors()?,
    };
    let mut configured = Behind::configured(&settings)?;
    if let Some(workflow) = &args.servers_of {
        configured = configured.with_servers_of(&settings, workflow)?;
    }
    let behind = match wrapped(args.command) {
        Some(process) => configured.wrapping(process),
        None => configured,
    };
    let served = serve_stdio(&settings, &behind);
    // No hook need have seen what passed here.
    telemetry::nudge();
    Ok(served?)
}

/// Returns the server that a command line names.
pub(crate) fn wrapped(command: Vec<OsString>) -> Option<Process> {
    let mut words = command.into_iter();
    Some(Process {
        command: words.next()?,
        args: words.collect(),
        ..Process::default()
    })
}
