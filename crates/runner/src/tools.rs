//! The tools, each of which interprets its arguments.
//!
//! Arguments arrive filled and as text; invalid results of templates are refused here, before anything is started.

use crate::{
    order::{Failed, Order},
    run_context::RunContext,
};
use interlock_core::machine::EffectKind;
use interlock_process::Program;

mod advice;
mod agents;
mod bash;
mod custom;
mod fields;
mod issue;
mod texts;

pub(crate) use advice::Advice;
pub(crate) use bash::Script;
pub use interlock_view::question::Question;
pub(crate) use texts::read_file;

/// The task of an order.
#[derive(Debug)]
pub(crate) enum Task {
    /// A program.
    Program(Box<Prepared>),
    /// A question to a person.
    Question(Question),
    /// A text that is already known.
    Text(String),
}

/// A program that is ready to start.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) program: Program,
    /// How its exit code is converted.
    pub(crate) codes: Codes,
    /// Name in messages.
    pub(crate) name: String,
    /// Advice in case it fails.
    pub(crate) advice: Option<Advice>,
    /// File with its command.
    #[expect(
        dead_code,
        reason = "kept while the program runs, and removed with this"
    )]
    pub(crate) script: Option<Script>,
    /// Workflow that guards its agent.
    pub(crate) guard: Option<String>,
    /// Whether it must have the terminal, also for its output.
    pub(crate) owns_terminal: bool,
}

impl Prepared {
    pub(crate) fn new(program: Program, name: &str, codes: Codes) -> Self {
        Self {
            program,
            codes,
            name: name.to_owned(),
            advice: None,
            script: None,
            guard: None,
            owns_terminal: false,
        }
    }
}

/// How a program's exit code is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codes {
    /// Unchanged; 128 plus the signal's number after a signal.
    Own,
    /// Always 1.
    One,
}

/// Parses the arguments of `order`.
pub(crate) fn prepare(order: &Order, context: &RunContext) -> Result<Task, Failed> {
    let program = |prepared| Task::Program(Box::new(prepared));
    let name = match &order.kind {
        EffectKind::Program(name) => name.as_str(),
        EffectKind::Ask => {
            let question = Question::of(&order.input).map_err(wrong_question)?;
            return Ok(Task::Question(question));
        }
        EffectKind::Write => return texts::written(&order.input).map(Task::Text),
        other => return Err(unknown(&other.to_string())),
    };
    match name {
        "bash" => bash::prepare(&order.input, context).map(program),
        "claude" => agents::claude(&order.input, context).map(program),
        "codex" => agents::codex(&order.input, context).map(program),
        "gemini" => agents::gemini(&order.input, context).map(program),
        "claude-code" => agents::claude_code(&order.input, context).map(program),
        "get-gh-issue" => issue::prepare(&order.input, context).map(program),
        "custom" => custom::prepare(&order.input, context).map(program),
        other => Err(unknown(other)),
    }
}

fn unknown(name: &str) -> Failed {
    let message = format!("this runner has no tool `{name}`; update Interlock");
    Failed::new(2, message)
}

/// Returns why a person cannot be asked what `kind` asks with `input`.
///
/// Only effects that wait for a person are checked: their arguments are parsed when the wait begins.
#[must_use]
pub(crate) fn fault(kind: &EffectKind, input: &serde_json::Value) -> Option<Failed> {
    match kind {
        EffectKind::Ask => Question::of(input).err().map(wrong_question),
        EffectKind::Pause => bash::pause_fault(input),
        _ => None,
    }
}

/// Returns the condition of a pause as a command for bash; `None` if it has none.
pub(crate) fn condition(
    input: &serde_json::Value,
    context: &RunContext,
) -> Option<Result<Prepared, Failed>> {
    let condition = input.get("condition").filter(|found| !found.is_null())?;
    Some(bash::prepare(condition, context))
}

/// Returns the failure of a question whose arguments are wrong.
fn wrong_question(why: String) -> Failed {
    Failed::new(1, why)
}
