//! How the kernel has to confine a line that the verdict allows.

use super::{JudgeContext, context_of, marks, shell};
use crate::{
    address::addressed,
    call::ToolCall,
    facts::{CommandClass, CommandSpan, NetworkDirection, ShellFacts, SimpleCommand},
    machine::Machine,
    names::FramePath,
    policy::{Policy, Stance},
    run::Run,
};

/// How the state that a call counts in confines its shell line.
#[derive(Debug, Clone)]
pub struct LineConfinement<'a> {
    /// Path of the frame that the call counts in.
    pub path: FramePath,
    /// Policy of that frame's state.
    pub policy: &'a Policy,
    /// How far the policy restricts shell lines.
    pub stance: Stance,
    /// Commands of the line that `allowed_commands` lists.
    pub listed: Vec<&'a SimpleCommand>,
    /// Whether only a person's own entry allows a command that changes the machine or its privileges.
    pub by_person: bool,
    /// Whether every command only reads, as far as the line shows.
    pub reads: bool,
    /// Whether it was allowed as reading only because the kernel prevents writes; it may not run unconfined.
    pub contained: bool,
    /// Whether the line consists of a few literal builtins only, such as `cd x`.
    pub nothing: bool,
    /// Whether the line fetches from the network.
    pub fetches: bool,
    /// Positions of commands whose exit code counts as evidence, in order.
    pub probes: Vec<CommandSpan>,
}

/// Returns how the shell line of `call` is confined in the current state; `None`: the call is not a shell line.
///
/// This function judges nothing. Its result applies only to a line that the verdict allows.
#[must_use]
pub fn confinement<'a>(
    machine: &'a Machine,
    run: &'a Run,
    call: &'a ToolCall,
) -> Option<LineConfinement<'a>> {
    call.facts.shell.as_ref()?;
    let (branch, agent) = (call.branch.as_deref(), call.agent.as_ref());
    let path = addressed(machine, run, branch, agent).ok()?;
    confinement_at(machine, run, call, &path)
}

/// Like [`confinement`], for a call that is judged in the frame at `path`.
#[must_use]
pub fn confinement_at<'a>(
    machine: &'a Machine,
    run: &'a Run,
    call: &'a ToolCall,
    path: &FramePath,
) -> Option<LineConfinement<'a>> {
    let facts = call.facts.shell.as_ref()?;
    let context = context_of(machine, run, call, path)?;
    Some(of_context(context, path.clone(), facts))
}

fn of_context<'a>(
    context: JudgeContext<'a>,
    path: FramePath,
    facts: &'a ShellFacts,
) -> LineConfinement<'a> {
    let policy = &context.state.policy;
    let listed = facts
        .commands
        .iter()
        .filter(|command| covers(policy, command))
        .collect();
    let writes = !context.call.facts.writes.is_empty();
    LineConfinement {
        path,
        policy,
        stance: policy.stance(),
        listed,
        by_person: policy.stance() == Stance::Writing
            && facts.commands.iter().any(|command| {
                command.changes_machine() && shell::entry_of_person(context, command).is_some()
            }),
        reads: !writes && only_reads(facts),
        contained: context.call.facts.kernel_holds
            && policy.stance() == Stance::NoWrite
            && facts
                .commands
                .iter()
                .any(|command| shell::is_contained(command) && !covers(policy, command)),
        nothing: !writes && facts.builtins_alone && only_reads(facts),
        fetches: facts
            .network
            .iter()
            .any(|reach| reach.direction == NetworkDirection::Get),
        probes: marks::probed_spans(context),
    }
}

fn only_reads(facts: &ShellFacts) -> bool {
    let elsewhere = |command: &SimpleCommand| {
        command.changes_machine() || command.class == CommandClass::Network
    };
    facts.unreadable.is_none()
        && facts
            .network
            .iter()
            .all(|reach| reach.direction == NetworkDirection::Local)
        && facts
            .commands
            .iter()
            .all(|command| command.opaque.is_none() && !elsewhere(command))
}

/// Returns whether `command` begins with `words`, matched like an entry of `allowed_commands`.
#[must_use]
pub fn begins_with(command: &SimpleCommand, words: &[String]) -> bool {
    shell::words_beyond(words, command).is_some()
}

/// Returns whether programs that a line starts may keep running after the line has ended.
///
/// This requires that `background` of `policy` lists at least one of the commands, and all whose effect is unknown.
#[must_use]
pub fn keeps_running(policy: &Policy, facts: &ShellFacts) -> bool {
    let is_named = |command: &SimpleCommand| {
        let mut entries = policy.background.iter();
        entries.any(|entry| begins_with(command, &entry.words))
    };
    let may_stay = |command: &SimpleCommand| command.opaque.is_none() || is_named(command);
    facts.unreadable.is_none()
        && facts.commands.iter().any(is_named)
        && facts.commands.iter().all(may_stay)
}

/// Returns whether an entry of `allowed_commands` in `policy` lists `command`.
#[must_use]
pub fn covers(policy: &Policy, command: &SimpleCommand) -> bool {
    let entries = policy.allowed_commands.as_deref().unwrap_or_default();
    shell::is_listed(entries, command)
}
