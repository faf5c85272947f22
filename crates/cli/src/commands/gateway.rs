//! `gateway`: the control tools over MCP, for the client that starts it.

use interlock_gateway::{Settings, serve_stdio};
use interlock_project::configuration_directory;

use crate::{
    app::{App, variable},
    args::GatewayArgs,
    authority,
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
    Ok(serve_stdio(settings)?)
}
