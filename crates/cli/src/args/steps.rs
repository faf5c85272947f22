//! What the commands that carry runs of steps out take.

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
    /// What to work on, for workflows that take a text.
    #[arg(conflicts_with = "resume")]
    pub(crate) text: Option<String>,
    /// A name for the run, new in this project and workflow; made up when left out.
    #[arg(long, short, value_name = "N", conflicts_with = "resume", value_parser = run_name)]
    pub(crate) name: Option<String>,
    /// Set a variable; may be repeated.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) variables: Vec<(String, String)>,
    /// What to work on, an object for pipelines: as it is, from a file, or from standard input.
    #[arg(long, value_name = "JSON|TEXT|@FILE|-", conflicts_with = "resume")]
    pub(crate) input: Option<String>,
    /// A file of the project that agents are told of; may be repeated, for workflows with a conversation.
    #[arg(long = "attach", value_name = "PATH", conflicts_with = "resume")]
    pub(crate) attached: Vec<PathBuf>,
    /// Take what the file leaves in doubt as a mistake, also while the run goes on.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) strict: bool,
    /// Go on with this run in place of starting one, as `interlock resume` does.
    #[arg(long, short, value_name = "N", add = ArgValueCompleter::new(complete::run))]
    pub(crate) resume: Option<String>,
    /// Ask nobody, even at a terminal: calls that need a yes are denied, and the run waits where a person is needed.
    #[arg(long)]
    pub(crate) headless: bool,
    #[command(flatten)]
    pub(crate) stages: StageArgs,
    /// Print what happens as JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
    /// Remove the run directory when the run ends with code 0; its log stays.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) clean_on_end: bool,
}

/// Reads the name of a run.
fn run_name(text: &str) -> Result<String, String> {
    name_fault(text).map_or_else(|| Ok(text.to_owned()), |why| Err(why.to_owned()))
}

/// Reads `NAME=VALUE`.
fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    if name.is_empty() {
        return Err("there is no name before `=`".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// What is said when a run of steps goes on.
#[derive(Debug, Args)]
#[command(next_help_heading = "Runs of steps")]
pub(crate) struct ProceedArgs {
    /// Answer what the run asks.
    #[arg(long, value_name = "TEXT")]
    pub(crate) answer: Option<String>,
    /// Set a variable first; may be repeated.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) variables: Vec<(String, String)>,
    /// Start again what was cut off; so it is when nothing else is said.
    #[arg(long, conflicts_with_all = ["failed", "fail_with", "done"])]
    pub(crate) again: bool,
    /// What was cut off counts as failed, with code 1.
    #[arg(long, conflicts_with_all = ["fail_with", "done"])]
    pub(crate) failed: bool,
    /// What was cut off counts as failed, with this code.
    #[arg(long, value_name = "CODE", conflicts_with = "done", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) fail_with: Option<u8>,
    /// What was cut off counts as done, with this output.
    #[arg(long, value_name = "OUTPUT")]
    pub(crate) done: Option<String>,
    /// The state that this is about, where several were cut off.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<String>,
    /// Move to the workflow file as it is now, where it still has the state the run stands at.
    #[arg(long)]
    pub(crate) adopt: bool,
    /// Ask nobody, even at a terminal.
    #[arg(long)]
    pub(crate) headless: bool,
    #[command(flatten)]
    pub(crate) stages: StageArgs,
}

/// How model stages are carried out.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Model stages")]
pub(crate) struct StageArgs {
    /// The model of stages that name none, as provider/model.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What becomes of calls in stages that list no tools.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<ModeWord>,
    /// Where people are asked: `remote` is `interlock approve` and the console, from any terminal.
    #[arg(long, value_enum, value_name = "WHERE", conflicts_with = "headless")]
    pub(crate) ask: Option<Asking>,
    /// End with 75 where a person is needed, in place of waiting for them.
    #[arg(long, conflicts_with = "headless")]
    pub(crate) no_wait: bool,
}

/// What becomes of calls in stages that list no tools, as a person says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeWord {
    /// A person is asked once for each kind of call.
    Ask,
    /// What a list holds passes, nobody is asked.
    Allowlist,
    /// Everything passes that the rest of the policy allows.
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
    /// From any other, with `interlock approve` and `interlock reject`.
    Remote,
}

impl ProceedArgs {
    /// Tells whether anything was said.
    pub(crate) fn is_any(&self) -> bool {
        let fate = self.again || self.failed || self.fail_with.is_some() || self.done.is_some();
        let rest = self.adopt || self.headless || self.state.is_some();
        fate || rest || self.answer.is_some() || !self.variables.is_empty()
    }

    /// Returns what became of what was cut off, where the person says it.
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
