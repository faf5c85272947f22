//! `serve`: serves the gateway over HTTP, for many clients.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use interlock_gateway::{
    ServerSet, Settings, StartedFor,
    serve::{Access, Limits, Resource, ServeSettings, serve_http},
};
use serde_json::json;

use crate::{
    app::App,
    args::ServeArgs,
    authority,
    commands::{beside, gateway::wrapped},
    failure::{Done, Failure},
    telemetry,
};

/// A shorter token could be guessed.
const TOKEN_CHARS_MIN: usize = 16;
const TOKEN_BYTES_MAX: u64 = 4_096;

pub(crate) fn run(app: &App, args: ServeArgs) -> Done {
    authority::not_below_an_agent(app)?;
    if let Some(database) = &args.shared {
        return beside::serve(database, &args);
    }
    let settings = Settings {
        environment: app.environment()?.clone(),
        tool_prefix: args
            .tool_prefix
            .parse()
            .map_err(|error: interlock_gateway::UnknownPrefix| Failure::usage(error))?,
        person: authority::name(),
        // Its clients are not its ancestors: their credentials identify them.
        ancestors: Vec::new(),
        started_for: StartedFor::Anything,
    };
    let mut behind = ServerSet::configured(&settings)?;
    if let Some(workflow) = &args.servers_of {
        behind = behind.with_servers_of(&settings, workflow)?;
    }
    if let Err(error) = settings.environment.home.drop_ended_credentials() {
        // These servers are not started: their presence is no reason not to serve.
        app.output.error(&format!(
            "interlock: old tokens could not be removed: {error}\n"
        ))?;
    }
    let behind = match wrapped(args.command.clone()) {
        Some(process) => behind.wrapping(process),
        None => behind,
    };
    let serving = ServeSettings {
        listen: args.listen,
        access: access(&args)?,
        limits: Limits {
            message_bytes_max: behind.bounds.message_bytes_max,
            requests_max: behind.bounds.calls_max,
            sessions_max: behind.sessions_max(),
            idle: Duration::from_secs(args.idle),
            ..Limits::default()
        },
        grace: Duration::from_secs(args.grace),
        verbose: args.verbose,
        log: None,
    };
    let ready = |address| {
        let url = format!("http://{address}/mcp");
        let told = if args.json {
            app.output.json(&json!({"url": url}))
        } else {
            app.output.line(&url)
        };
        told.map_err(|_| "standard output is closed".to_owned())
    };
    let served = serve_http(&settings, &behind, serving, ready);
    telemetry::nudge();
    Ok(served?)
}

fn access(args: &ServeArgs) -> Result<Access, Failure> {
    let token = args.token_file.as_deref().map(read_token).transpose()?;
    let resource = args.resource.clone().map(|address| Resource {
        address,
        authorization_servers: args.authorization_server.clone(),
    });
    Ok(Access {
        token,
        hosts: args.allow_host.clone(),
        origins: args.allow_origin.clone(),
        resource,
    })
}

/// Reads the only line of a token file.
fn read_token(path: &Path) -> Result<String, Failure> {
    let failed = || format!("`{}` cannot be read", path.display());
    let size = std::fs::metadata(path).with_context(failed)?.len();
    let refuse = |why: &str| {
        let path = path.display();
        Err(Failure::usage(anyhow::anyhow!(
            "`{path}` contains no token: {why}"
        )))
    };
    if size > TOKEN_BYTES_MAX {
        return refuse("it is too large");
    }
    let text = std::fs::read_to_string(path).with_context(failed)?;
    let token = text.trim();
    if token.chars().count() < TOKEN_CHARS_MIN {
        return refuse("write at least 16 characters into it that nobody can guess");
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return refuse("a token is one line of letters, digits and signs");
    }
    Ok(token.to_owned())
}
