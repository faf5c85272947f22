//! What the commands take that guard an agent.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Accept the code of plugins that may overrule hooks, as it is now; only for a person.
    #[arg(long)]
    pub(crate) accept: bool,
    /// Let sessions go on that a run held whose files are gone, by the run or by the file that a refusal names; only for a person.
    #[arg(long, value_name = "RUN|FILE")]
    pub(crate) forget: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The clients: claude-code, codex, gemini, copilot, cursor, opencode; left out: those found here.
    #[arg(value_name = "CLIENT")]
    pub(crate) clients: Vec<String>,
    /// Take out exactly what init put in.
    #[arg(long)]
    pub(crate) remove: bool,
    /// In your own settings, for every project.
    #[arg(long)]
    pub(crate) user: bool,
    /// In this project for you alone: files that git leaves out, and this program by its path.
    #[arg(long, conflicts_with = "user")]
    pub(crate) local: bool,
    /// Show the whole change of each file, in a pager on a terminal.
    #[arg(long, conflicts_with = "json")]
    pub(crate) diff: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show the changes and make none.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Also put what no state of this workflow allows into the clients' own rules.
    #[arg(long, value_name = "WORKFLOW", conflicts_with = "remove")]
    pub(crate) floor: Option<String>,
    /// Leave it to Codex to ask whether its hooks, and the folder, are to be trusted.
    #[arg(long)]
    pub(crate) no_trust: bool,
    /// Also write this shipped workflow into `.interlock/workflows/`.
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
    /// Stop where a person is asked, and open the console for the answer.
    #[arg(long, conflicts_with = "json")]
    pub(crate) console: bool,
    /// With `--console`: print its address, and open no browser.
    #[arg(long, requires = "console")]
    pub(crate) no_open: bool,
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConsoleArgs {
    /// Begin with the runs of this project.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The port; any that is free when left out.
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) port: u16,
    /// Print the address, and open no browser.
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The client.
    pub(crate) client: String,
    /// The event, where the input does not name it.
    pub(crate) event: Option<String>,
    /// The hook of a plugin asks, beside which those of the settings may ask as well.
    #[arg(long, hide = true)]
    pub(crate) plugin: bool,
}

/// What a line without a ticket is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Held {
    /// It writes nothing but a temporary directory of its own.
    NoWrite,
    /// It writes the project, temporary directories and caches.
    Writing,
    /// Its environment alone is set.
    Free,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The leave that a hook gave for this one line.
    #[arg(long, value_name = "TICKET", conflicts_with_all = ["held", "project", "require", "at_most", "network", "allow"])]
    pub(crate) ticket: Option<String>,
    /// What a line without a ticket is held to.
    #[arg(long = "as", value_enum, default_value_t = Held::NoWrite, value_name = "STATE")]
    pub(crate) held: Held,
    /// The project; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Run only where the kernel holds at least this: environment, partial, files, full.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) require: Option<String>,
    /// Use no more of the kernel than this, to see what a lesser machine holds.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) at_most: Option<String>,
    /// Let a line that may not write fetch from the network.
    #[arg(long)]
    pub(crate) network: bool,
    /// Take this command for listed, as `allowed_commands` does; may be repeated.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) allow: Vec<String>,
    /// One word: a shell line. Several: a command with its operands.
    #[arg(required = true, last = true, value_name = "LINE")]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4680")]
    pub(crate) listen: SocketAddr,
    /// A workflow whose file names servers (`upstream_servers`) to put behind it, too.
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) servers_of: Option<String>,
    /// A file with the token that every client must show; needed beyond 127.0.0.1.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another name under which this server is reached; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Another origin whose pages may call this server; may be repeated.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Publish this server as an OAuth-protected resource with this address.
    #[arg(long, value_name = "URL", requires = "authorization_server")]
    pub(crate) resource: Option<String>,
    /// Who gives tokens for it, for clients to know; may be repeated.
    #[arg(long, value_name = "URL", requires = "resource")]
    pub(crate) authorization_server: Vec<String>,
    /// How long a session may rest before it is closed, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) idle: u64,
    /// How long what is under way may go on after an interruption, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u64,
    /// What the names of the control tools begin with.
    #[arg(long, value_name = "PREFIX", default_value = "interlock")]
    pub(crate) tool_prefix: String,
    /// Write a line for each request to standard error.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print the address as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The command of one server, in the place of those of the configuration.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct GatewayArgs {
    /// A workflow whose file names servers (`upstream_servers`) to put behind it, too.
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) servers_of: Option<String>,
    /// What the names of the control tools begin with.
    #[arg(long, value_name = "PREFIX", default_value = "interlock")]
    pub(crate) tool_prefix: String,
    /// Start a project's own servers only where you trust the project.
    #[arg(long)]
    pub(crate) trusted_only: bool,
    /// The one server to put behind it, in place of the configured ones.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}
