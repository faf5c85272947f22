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
    /// Assume exit code 0, and good reports, for shell lines that succeeded without a recorded exit code.
    #[arg(long)]
    pub(crate) assume_exit: bool,
    /// Maximum number of calls, stops and rules to show, each.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MineArgs {
    #[command(flatten)]
    pub(crate) sessions: SessionsArgs,
    /// The id of the workflow.
    #[arg(long, value_name = "NAME", default_value = "mined")]
    pub(crate) name: String,
    /// Leave out one session at a time, and report how many of its calls the draft from the others refuses.
    #[arg(long)]
    pub(crate) holdout: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Selection of the sessions to read.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Recordings: files, folders, or runs by id or name. Defaults to those of this project that the clients and Interlock have stored.
    #[arg(value_name = "SESSIONS")]
    pub(crate) sessions: Vec<String>,
    /// Only sessions of this client: claude-code, codex, gemini, copilot, cursor, opencode.
    #[arg(long, value_name = "CLIENT", add = ArgValueCompleter::new(complete::client))]
    pub(crate) client: Option<String>,
    /// Only sessions whose last call is not older than this, such as 30d or 12h.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// The directory of the recorded project. Defaults to the directory in which each session began.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}
