//! The tools: what each makes of its arguments.
//!
//! Arguments come filled and as text; what a template made wrong is refused
//! here, before anything is started.

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
mod question;
mod texts;

pub(crate) use advice::Advice;
pub(crate) use bash::Script;
pub use question::Question;
pub(crate) use texts::read_file;

/// What an order comes to.
#[derive(Debug)]
pub(crate) enum Task {
    /// A program.
    Program(Box<Prepared>),
    /// A question to a person.
    Question(Question),
    /// A text that is there already.
    Text(String),
}

/// A program that is ready to be started.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) program: Program,
    /// What its own code becomes.
    pub(crate) codes: Codes,
    /// Who it is called in messages.
    pub(crate) name: String,
    /// What may help when it failed.
    pub(crate) advice: Option<Advice>,
    /// The file its command stands in.
    #[expect(
        dead_code,
        reason = "kept while the program runs, and removed with this"
    )]
    pub(crate) script: Option<Script>,
    /// The workflow that its agent is held to.
    pub(crate) guard: Option<String>,
    /// Whether it must have the terminal, its output too.
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

/// What a program's own code becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codes {
    /// Itself; 128 and the signal's number after a signal.
    Own,
    /// 1, whatever it was.
    One,
}

/// Reads what `order` asks for.
pub(crate) fn prepare(order: &Order, context: &RunContext) -> Result<Task, Failed> {
    let program = |prepared| Task::Program(Box::new(prepared));
    let name = match &order.kind {
        EffectKind::Program(name) => name.as_str(),
        EffectKind::Ask => return Question::of(&order.input).map(Task::Question),
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
/// Only what waits for a person is looked at: its arguments are read when it begins to wait.
#[must_use]
pub(crate) fn fault(kind: &EffectKind, input: &serde_json::Value) -> Option<Failed> {
    match kind {
        EffectKind::Ask => Question::of(input).err(),
        EffectKind::Pause => bash::pause_fault(input),
        _ => None,
    }
}

/// Returns the condition of a pause as a command for bash; `None` when it has none.
pub(crate) fn condition(
    input: &serde_json::Value,
    context: &RunContext,
) -> Option<Result<Prepared, Failed>> {
    let condition = input.get("condition").filter(|found| !found.is_null())?;
    Some(bash::prepare(condition, context))
}
