//! What the rules of section "shell" find in a line, for people who ask.

use super::{
    JudgeContext, edits,
    shell::{self, Objection, ShellRule},
};
use crate::policy::Stance;

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

/// Finds what the shell rules say of the call on the context; `None`: it is no shell line.
pub(crate) fn find(context: JudgeContext<'_>) -> Option<Finding> {
    let facts = context.call.facts.shell.as_ref()?;
    let protected = context
        .call
        .facts
        .protected
        .as_ref()
        .map(|thing| Objection {
            rule: ShellRule::Protected,
            code: crate::refusal::Code::Protected,
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
