//! The arguments of the commands that guard an agent.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Accept the current version of plugins and hooks that may overrule Interlock's (only for a person).
    #[arg(long)]
    pub(crate) accept: bool,
    /// Release the sessions of a run whose files are missing: the run, or the file that a refusal names (only for a person).
    #[arg(long, value_name = "RUN|FILE")]
    pub(crate) forget: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The clients: claude-code, codex, gemini, copilot, cursor, opencode. Defaults to those found on this machine.
    #[arg(value_name = "CLIENT")]
    pub(crate) clients: Vec<String>,
    /// Remove exactly what init added.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Change your own settings, for every project.
    #[arg(long)]
    pub(crate) user: bool,
    /// Change this project only for you: in files that git ignores, with the full path of this program.
    #[arg(long, conflicts_with = "user")]
    pub(crate) local: bool,
    /// Show every change in full, in a pager on a terminal.
    #[arg(long, conflicts_with = "json")]
    pub(crate) diff: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show the changes without making them.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Also forbid what no state of this workflow allows, in the clients' own rules.
    #[arg(long, value_name = "WORKFLOW", conflicts_with = "remove")]
    pub(crate) floor: Option<String>,
    /// Do not mark the hooks and the folder as trusted; Codex will ask.
    #[arg(long)]
    pub(crate) no_trust: bool,
    /// Also copy this shipped workflow to `.interlock/workflows/`.
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the temporary folder.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Stop at the approval, and open the console for the answer.
    #[arg(long, conflicts_with = "json")]
    pub(crate) console: bool,
    /// With `--console`: print the address and open no browser.
    #[arg(long, requires = "console")]
    pub(crate) no_open: bool,
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConsoleArgs {
    /// Show the runs of this project first.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The port. Defaults to any free port.
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) port: u16,
    /// Print the address and open no browser.
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The client.
    pub(crate) client: String,
    /// The event, if the input does not name it.
    pub(crate) event: Option<String>,
    /// The call comes from the hook of a plugin; hooks of the settings may report it as well.
    #[arg(long, hide = true)]
    pub(crate) plugin: bool,
}

/// The kind of state whose rights the line gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LineRights {
    /// Writes only to a private temporary directory.
    NoWrite,
    /// Writes to the project, temporary directories and caches.
    Writing,
    /// Only the environment is set.
    Free,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The one-use ticket that a hook issued for this line.
    #[arg(long, value_name = "TICKET", conflicts_with_all = ["held", "project", "require", "at_most", "network", "allow"])]
    pub(crate) ticket: Option<String>,
    /// The kind of state whose rights the line gets.
    #[arg(long = "as", value_enum, default_value_t = LineRights::NoWrite, value_name = "STATE")]
    pub(crate) held: LineRights,
    /// The project. Defaults to that of the current directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Run only if the kernel confines the line at this level or better: environment, partial, files, full.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) require: Option<String>,
    /// Use at most this level, to see how an older machine would confine the line.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) at_most: Option<String>,
    /// Let a line that may not write use the network.
    #[arg(long)]
    pub(crate) network: bool,
    /// Treat this command as listed in `allowed_commands`; may be repeated.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) allow: Vec<String>,
    /// One argument: a shell line. Several: a command with its arguments.
    #[arg(required = true, last = true, value_name = "LINE")]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 takes any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4680")]
    pub(crate) listen: SocketAddr,
    /// Also use the servers that the file of this workflow names (`upstream_servers`).
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) servers_of: Option<String>,
    /// A file with the token that every client must send; required on any address but 127.0.0.1.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another host name of this server; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Another web origin that may call this server; may be repeated.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Publish this server as an OAuth-protected resource with this URL.
    #[arg(long, value_name = "URL", requires = "authorization_server")]
    pub(crate) resource: Option<String>,
    /// An authorization server that issues its tokens; may be repeated.
    #[arg(long, value_name = "URL", requires = "resource")]
    pub(crate) authorization_server: Vec<String>,
    /// Seconds after which an idle session is closed.
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) idle: u64,
    /// Seconds that requests in progress may take after an interruption.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u64,
    /// The prefix of the names of the control tools.
    #[arg(long, value_name = "PREFIX", default_value = "interlock")]
    pub(crate) tool_prefix: String,
    /// Write a line for each request to standard error.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print the address as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Serve the runs in this PostgreSQL database instead, as `interlock shared serve` does.
    #[arg(
        long,
        value_name = "DATABASE",
        conflicts_with_all = [
            "servers_of", "token_file", "allow_host", "allow_origin", "resource", "authorization_server", "idle",
            "grace", "tool_prefix", "verbose", "command",
        ]
    )]
    pub(crate) shared: Option<String>,
    /// With `--shared`: listen on an address of other machines, because a proxy encrypts every connection to it.
    #[arg(long, requires = "shared")]
    pub(crate) behind_proxy: bool,
    /// The command of one server, in place of the configured ones.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct GatewayArgs {
    /// Also use the servers that the file of this workflow names (`upstream_servers`).
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) servers_of: Option<String>,
    /// The prefix of the names of the control tools.
    #[arg(long, value_name = "PREFIX", default_value = "interlock")]
    pub(crate) tool_prefix: String,
    /// Start a project's own servers only if you trust the project.
    #[arg(long)]
    pub(crate) trusted_only: bool,
    /// The command of one server, in place of the configured ones.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}
