//! The arguments of the commands about runs.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::ProceedArgs;
use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The workflow: a file or a name.
    #[arg(add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: String,
    /// Guard the client session with this id. Defaults to the next session of this project.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Guard every session of this project until the run ends.
    #[arg(long, conflicts_with = "session")]
    pub(crate) project: bool,
    /// A JSON object that is merged into the workflow's context.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// A name for the run.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A run's id, a unique prefix of it, or its name. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// The event.
    #[arg(add = ArgValueCompleter::new(complete::event))]
    pub(crate) event: String,
    /// The run. Defaults to the newest run of this project.
    #[arg(long, value_name = "RUN", add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// A JSON object that is merged into the context.
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// The branch that gets the event.
    #[arg(long)]
    pub(crate) branch: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// The id of a request, such as a12, or the state that waits. Defaults to the only state that waits.
    #[arg(value_name = "ID|STATE")]
    pub(crate) path: Option<String>,
    /// A JSON object that corrects the agent's data.
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// Add a message to the conversation before the state begins (CodeMie files).
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) message: Option<String>,
    /// Replace the output of the previous state (CodeMie files).
    #[arg(long, value_name = "TEXT|@FILE", conflicts_with = "data")]
    pub(crate) edit: Option<String>,
    /// The previous state whose output is replaced, if there are several.
    #[arg(long, value_name = "STATE", requires = "edit")]
    pub(crate) of: Option<String>,
    /// Show what an approval means, with the whole diff since the run began, without answering.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Accept a tool as its server defines it now.
    #[arg(long, num_args = 2, value_names = ["SERVER", "TOOL"])]
    pub(crate) accept: Option<Vec<String>>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// The id of a request, such as a12, or the state that waits. Defaults to the only state that waits.
    #[arg(value_name = "ID|STATE")]
    pub(crate) path: Option<String>,
    /// A note for the agent.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// A note for the agent.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Bind the client session with this id.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Give the run to the next session of this project, of any client.
    #[arg(long, conflicts_with = "session")]
    pub(crate) next: bool,
    /// Move the run to the project in which you call this, and to your home, because they have moved.
    #[arg(long)]
    pub(crate) here: bool,
    #[command(flatten)]
    pub(crate) steps: ProceedArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Keep printing events as they are added.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Check the chain of hashes from the first event to the last.
    #[arg(long, conflicts_with = "follow")]
    pub(crate) verify: bool,
    /// Print the conversations of model stages instead of the events.
    #[arg(long, conflicts_with_all = ["follow", "verify"])]
    pub(crate) messages: bool,
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowsArgs {
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Include runs that have ended, and those of every project.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only runs that wait for a person.
    #[arg(long)]
    pub(crate) paused: bool,
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TelemetryArgs {
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Print the spans as OTLP JSON instead of sending them.
    #[arg(long)]
    pub(crate) stdout: bool,
    /// Send everything, even if it was sent before.
    #[arg(long)]
    pub(crate) again: bool,
    /// Send what is new in every run, until nothing is (started by hooks).
    #[arg(long, hide = true, conflicts_with_all = ["run", "stdout", "again"])]
    pub(crate) due: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: std::path::PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PasskeyArgs {
    #[command(subcommand)]
    pub(crate) command: PasskeyCommand,
}

/// An operation on passkeys.
#[derive(Debug, Subcommand)]
pub(crate) enum PasskeyCommand {
    /// Create a passkey on the console's page and enrol it.
    Add {
        /// The name of the passkey.
        name: String,
        /// The port of the page. Defaults to any free port.
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// Print the address and open no browser.
        #[arg(long)]
        no_open: bool,
    },
    /// List your passkeys.
    List {
        /// Print JSON, one object on each line.
        #[arg(long)]
        json: bool,
    },
    /// Remove a passkey.
    Remove {
        /// The name of the passkey.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// Create a bearer token for this run: its id, a unique prefix of it, or its name.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Revoke the current token; with a run, every token of that run.
    #[arg(long)]
    pub(crate) revoke: bool,
}
