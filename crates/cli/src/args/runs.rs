//! What the commands about runs take.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::ProceedArgs;
use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The workflow: a file or a name.
    #[arg(add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: String,
    /// Bind the client session with this id; otherwise the next one of this project.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Hold every session of this project until the run ends.
    #[arg(long, conflicts_with = "session")]
    pub(crate) project: bool,
    /// An object that patches the workflow's context.
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
    /// A run's id, a unique prefix of it or its name; the newest of this project when left out.
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
    /// The run; the newest of this project when left out.
    #[arg(long, value_name = "RUN", add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// An object merged into the context.
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// The branch it is for.
    #[arg(long)]
    pub(crate) branch: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The run; the newest of this project when left out.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// The approval that `status` names, such as a12, or the state that waits; all of the one state that waits when left out.
    #[arg(value_name = "ID|STATE")]
    pub(crate) path: Option<String>,
    /// An object that corrects the agent's data.
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// What is said to the conversation before the state begins, where the run has one.
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) message: Option<String>,
    /// The output of the state before, as it should be, where the run has a conversation.
    #[arg(long, value_name = "TEXT|@FILE", conflicts_with = "data")]
    pub(crate) edit: Option<String>,
    /// Whose output is edited, where several are before.
    #[arg(long, value_name = "STATE", requires = "edit")]
    pub(crate) of: Option<String>,
    /// Show what a yes means, with the whole diff since the run began, and answer nothing.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Do not ask again at a terminal.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// The run; the newest of this project when left out.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Take a tool as its server defines it now.
    #[arg(long, num_args = 2, value_names = ["SERVER", "TOOL"])]
    pub(crate) accept: Option<Vec<String>>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// The run; the newest of this project when left out.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// The approval that `status` names, such as a12, or the state that waits; all of the one state that waits when left out.
    #[arg(value_name = "ID|STATE")]
    pub(crate) path: Option<String>,
    /// What the agent is told.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// The run; the newest of this project when left out.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// What the agent is told.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run; the newest of this project when left out.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Bind the client session with this id.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Hand the run to the next session of this project, whatever client it is of.
    #[arg(long, conflicts_with = "session")]
    pub(crate) next: bool,
    /// Take the project called from as the run's, and your home as its home: they have moved.
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
    /// The run; the newest of this project when left out.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Go on printing as events are added.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Check the chain of hashes from the first event to the last.
    #[arg(long, conflicts_with = "follow")]
    pub(crate) verify: bool,
    /// Print what the models of stages were told and said, in place of the events.
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
    /// Those that ended too, and those of every project.
    #[arg(long)]
    pub(crate) all: bool,
    /// Those only that wait for a person.
    #[arg(long)]
    pub(crate) paused: bool,
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TelemetryArgs {
    /// The run; the newest of this project when left out.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Print the spans as OTLP JSON in place of sending them.
    #[arg(long)]
    pub(crate) stdout: bool,
    /// Send what was sent before, too.
    #[arg(long)]
    pub(crate) again: bool,
    /// What is new of every run, until nothing is (started by hooks).
    #[arg(long, hide = true, conflicts_with_all = ["run", "stdout", "again"])]
    pub(crate) due: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run; the newest of this project when left out.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: std::path::PathBuf,
    /// Write over a file that is there.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PasskeyArgs {
    #[command(subcommand)]
    pub(crate) command: PasskeyCommand,
}

/// What is done with passkeys.
#[derive(Debug, Subcommand)]
pub(crate) enum PasskeyCommand {
    /// Make a passkey on the console's page, and enrol it.
    Add {
        /// What you call it.
        name: String,
        /// The port of the page; any that is free when left out.
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// Only print the address.
        #[arg(long)]
        no_open: bool,
    },
    /// List your passkeys.
    List {
        /// Print JSON, one object a line.
        #[arg(long)]
        json: bool,
    },
    /// Enrol a passkey no more.
    Remove {
        /// What you call it.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// Make a bearer token of this run: its id, a unique prefix of it or its name.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// Make the token that is in use worthless; with a run: every token of it.
    #[arg(long)]
    pub(crate) revoke: bool,
}
