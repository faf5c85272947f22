//! What the rules of section "shell" find in a line, for people who ask.

use super::{
    JudgeContext, context_of, edits,
    shell::{self, Objection, ShellRule},
};
use crate::{
    address::locate, call::ToolCall, machine::Machine, policy::Stance, refusal::Code, run::Run,
};

/// What the shell rules find in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How far the state lets shell lines go.
    pub stance: Stance,
    /// The first rule that applies; `None`: the line passes.
    pub objection: Option<Objection>,
    /// The entry that lists each command of the line, in their order.
    pub entries: Vec<Option<String>>,
}

/// Finds what the shell rules say of a line proposed where the run stands.
///
/// `None` where the call is no shell line, or the run has no such place.
#[must_use]
pub fn shell_finding(machine: &Machine, run: &Run, call: &ToolCall) -> Option<Finding> {
    let address = locate(machine, run, call.branch.as_deref(), call.agent.as_ref()).ok()?;
    find(context_of(machine, run, call, &address.path)?)
}

/// Finds what the shell rules say of the call on the context; `None`: it is no shell line.
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
