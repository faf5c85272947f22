//! The arguments of the commands about recorded sessions.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct BacktestArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "WORKFLOW", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: String,
    #[command(flatten)]
    pub(crate) sessions: SessionsArgs,
    /// Take a shell line that succeeded without an exit code for one that ended with 0, and its reports for good ones.
    #[arg(long)]
    pub(crate) assume_exit: bool,
    /// Calls, stops and rules that are shown at most, of each.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which sessions are read.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Recordings: files, folders, or runs by id or name; those of this project that the clients and Interlock keep when left out.
    #[arg(value_name = "SESSIONS")]
    pub(crate) sessions: Vec<String>,
    /// Only sessions of this client: claude-code, codex, gemini, copilot, cursor, opencode.
    #[arg(long, value_name = "CLIENT", add = ArgValueCompleter::new(complete::client))]
    pub(crate) client: Option<String>,
    /// Only sessions whose last call is not older than this, such as 30d or 12h.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// The directory that the recorded project lay in; the directory that each session began in when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}
