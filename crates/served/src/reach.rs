//! Turns the configuration of a server into an address or a process to connect to.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use interlock_mcp::transport::{
    Reach,
    http::{HttpServer, Speaks},
    stdio::Process,
};
use interlock_project::{HttpConfig, StdioConfig, Transport, expand};

/// Returns how to connect to a server, with environment variables expanded; relative paths are resolved against `root`.
///
/// # Errors
/// A variable is not set, or the address is not valid.
pub fn reach(transport: &Transport, root: &Path) -> Result<Reach, String> {
    match transport {
        Transport::Stdio(stdio) => process(stdio, root).map(Reach::Process),
        Transport::Http(http) => Ok(Reach::Http(Box::new(called(http, Speaks::Any)?))),
        Transport::Sse(http) => Ok(Reach::Http(Box::new(called(http, Speaks::OneStream)?))),
    }
}

fn called(http: &HttpConfig, speaks: Speaks) -> Result<HttpServer, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let url = expand(&http.url, variable)?;
    let mut headers = Vec::new();
    for (name, value) in &http.headers {
        headers.push((name.as_str(), expand(value, variable)?));
    }
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    HttpServer::new(&url, headers, speaks).map_err(|error| error.to_string())
}

fn process(stdio: &StdioConfig, root: &Path) -> Result<Process, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let mut env = std::collections::BTreeMap::new();
    for (name, value) in &stdio.env {
        let value = expand(value, variable)?;
        env.insert(OsString::from(name), OsString::from(value));
    }
    let command = Path::new(&stdio.command);
    // A bare name is searched for in `PATH`; a path is relative to the project's root.
    let is_path = command.components().count() > 1;
    let command = if is_path {
        root.join(command).into_os_string()
    } else {
        command.into()
    };
    let cwd: PathBuf = stdio
        .cwd
        .as_ref()
        .map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
    Ok(Process {
        command,
        args: stdio.args.iter().map(OsString::from).collect(),
        env,
        cwd: Some(cwd),
    })
}
