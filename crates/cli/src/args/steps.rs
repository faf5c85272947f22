//! The arguments of the commands that run workflows of steps.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use interlock_core::{command::EffectSettlement, machine::Mode};
use interlock_store::name_fault;
use serde_json::Value;

use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct CarryArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE|NAME", required_unless_present = "resume", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: Option<String>,
    /// The task, for workflows that take a text.
    #[arg(conflicts_with = "resume")]
    pub(crate) text: Option<String>,
    /// A name for the run, unique in this project and workflow. Defaults to a generated one.
    #[arg(long, short, value_name = "N", conflicts_with = "resume", value_parser = run_name)]
    pub(crate) name: Option<String>,
    /// Set a variable; may be repeated.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) variables: Vec<(String, String)>,
    /// The input, an object for pipelines: given here, in a file, or on standard input.
    #[arg(long, value_name = "JSON|TEXT|@FILE|-", conflicts_with = "resume")]
    pub(crate) input: Option<String>,
    /// A file of the project that agents are told about; may be repeated (CodeMie files).
    #[arg(long = "attach", value_name = "PATH", conflicts_with = "resume")]
    pub(crate) attached: Vec<PathBuf>,
    /// Treat whatever is ambiguous in the file as an error, also during the run (CodeMie files).
    #[arg(long, conflicts_with = "resume")]
    pub(crate) strict: bool,
    /// Continue this run instead of starting one, as `interlock resume` does.
    #[arg(long, short, value_name = "N", add = ArgValueCompleter::new(complete::run))]
    pub(crate) resume: Option<String>,
    /// Ask nobody, even at a terminal: calls that need a grant are denied, and the run waits if a person is needed.
    #[arg(long)]
    pub(crate) headless: bool,
    #[command(flatten)]
    pub(crate) stages: StageArgs,
    /// Print events as JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
    /// Remove the run directory if the run ends with code 0; its log is kept.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) clean_on_end: bool,
}

/// Parses the name of a run.
fn run_name(text: &str) -> Result<String, String> {
    name_fault(text).map_or_else(|| Ok(text.to_owned()), |why| Err(why.to_owned()))
}

/// Parses `NAME=VALUE`.
fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    if name.is_empty() {
        return Err("there is no name before `=`".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// How a run of steps is resumed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Runs of steps")]
pub(crate) struct ProceedArgs {
    /// Answer the question of the run.
    #[arg(long, value_name = "TEXT")]
    pub(crate) answer: Option<String>,
    /// Set a variable first; may be repeated.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) variables: Vec<(String, String)>,
    /// Restart the interrupted step (default).
    #[arg(long, conflicts_with_all = ["failed", "fail_with", "done"])]
    pub(crate) again: bool,
    /// Count the interrupted step as failed, with code 1.
    #[arg(long, conflicts_with_all = ["fail_with", "done"])]
    pub(crate) failed: bool,
    /// Count the interrupted step as failed, with this code.
    #[arg(long, value_name = "CODE", conflicts_with = "done", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) fail_with: Option<u8>,
    /// Count the interrupted step as done, with this output.
    #[arg(long, value_name = "OUTPUT")]
    pub(crate) done: Option<String>,
    /// The state of the interrupted step, if there are several.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<String>,
    /// Continue with the workflow file as it is now, if it still has the current state of the run.
    #[arg(long)]
    pub(crate) adopt: bool,
    /// Ask nobody, even at a terminal.
    #[arg(long)]
    pub(crate) headless: bool,
    #[command(flatten)]
    pub(crate) stages: StageArgs,
}

/// How model stages are run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Model stages")]
pub(crate) struct StageArgs {
    /// The model for stages that name none, as provider/model.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How calls are decided in stages that list no tools.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<ModeWord>,
    /// Where a person is asked: `remote` means `interlock approve` or the console, from any terminal.
    #[arg(long, value_enum, value_name = "WHERE", conflicts_with = "headless")]
    pub(crate) ask: Option<Asking>,
    /// End with code 75 if a person is needed, instead of waiting.
    #[arg(long, conflicts_with = "headless")]
    pub(crate) no_wait: bool,
}

/// How calls are decided in stages that list no tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeWord {
    /// A person is asked once for each kind of call.
    Ask,
    /// Calls on the allow list are allowed, and nobody is asked.
    Allowlist,
    /// Every call that the rest of the policy allows is allowed.
    Yolo,
}

impl ModeWord {
    /// Returns the mode.
    pub(crate) const fn mode(self) -> Mode {
        match self {
            Self::Ask => Mode::Ask,
            Self::Allowlist => Mode::Allowlist,
            Self::Yolo => Mode::Yolo,
        }
    }
}

/// Where people are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Asking {
    /// At this terminal.
    Here,
    /// Anywhere, with `interlock approve` and `interlock reject`.
    Remote,
}

impl ProceedArgs {
    /// Returns whether any option was given.
    pub(crate) fn is_any(&self) -> bool {
        let fate = self.again || self.failed || self.fail_with.is_some() || self.done.is_some();
        let rest = self.adopt || self.headless || self.state.is_some();
        fate || rest || self.answer.is_some() || !self.variables.is_empty()
    }

    /// Returns how to settle the interrupted step, if the person says so.
    pub(crate) fn fate(&self) -> Option<EffectSettlement> {
        let failed = self.fail_with.or(self.failed.then_some(1));
        if let Some(code) = failed {
            return Some(EffectSettlement::Failed(Value::from(code)));
        }
        if let Some(output) = &self.done {
            return Some(EffectSettlement::Done(Value::from(output.as_str())));
        }
        self.again.then_some(EffectSettlement::Again)
    }
}
