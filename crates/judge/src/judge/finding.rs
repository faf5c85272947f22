//! Results of the shell rules for a line, for people.

use super::{
    JudgeContext, context_of, edits,
    shell::{self, Objection, ShellRule},
};
use crate::{
    address::locate, call::ToolCall, machine::Machine, policy::Stance, refusal::Code, run::Run,
};

/// Result of the shell rules for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How far the state restricts shell lines.
    pub stance: Stance,
    /// The first rule that applies; `None`: the line passes.
    pub objection: Option<Objection>,
    /// Entry that lists each command of the line, in order.
    pub entries: Vec<Option<String>>,
}

/// Applies the shell rules to a line that is proposed in the current state.
///
/// `None`: the call is not a shell line, or the run has no such frame.
#[must_use]
pub fn shell_finding(machine: &Machine, run: &Run, call: &ToolCall) -> Option<Finding> {
    let address = locate(machine, run, call.branch.as_deref(), call.agent.as_ref()).ok()?;
    find(context_of(machine, run, call, &address.path)?)
}

/// Applies the shell rules to the call of the context; `None`: it is not a shell line.
fn find(context: JudgeContext<'_>) -> Option<Finding> {
    let facts = context.call.facts.shell.as_ref()?;
    let protected = context
        .call
        .facts
        .protected
        .as_ref()
        .map(|thing| Objection {
            rule: ShellRule::Protected,
            code: Code::Protected,
            what: format!("{thing} is protected"),
            instead: "leave it alone: a person changes it".to_owned(),
        });
    let objection = protected
        .or_else(|| {
            shell::check(context, facts, false)
                .err()
                .map(|found| *found)
        })
        .or_else(|| {
            edits(context).err().map(|refusal| Objection {
                rule: ShellRule::Limits,
                code: refusal.code,
                what: refusal.message,
                instead: "write less, or take a transition".to_owned(),
            })
        });
    let entries = facts
        .commands
        .iter()
        .map(|command| shell::entry_of(context, command).map(str::to_owned))
        .collect();
    Some(Finding {
        stance: context.state.policy.stance(),
        objection,
        entries,
    })
}
