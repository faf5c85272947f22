//! Judges a tool call. Hooks, gateway, stages and simulation all use this one checker.
//!
//! The checks run in the order of the rows of [`judge`]; the first refusal wins.

mod confinement;
mod context;
mod environment;
mod finding;
mod marks;
mod places;
mod proofs;
mod secrets;
mod shell;
mod stage;
mod substance;

pub use confinement::{
    LineConfinement, begins_with, confinement, confinement_at, covers, keeps_running,
};
pub use context::context_of;
pub use finding::{Finding, shell_finding};
pub use marks::{interrupt_hits, marks};
pub use shell::{Objection, ShellRule, is_contained};
pub use stage::{StageVerdict, judge_stage, keys, only_reads};

use crate::{
    address::in_fork,
    call::{CallKind, ControlTool, FileWrite, PathArea, ToolCall},
    machine::{Machine, State},
    names::FramePath,
    parts::PendingTransition,
    policy::{OnDenied, Policy, Stance},
    refusal::{Code, Refusal},
    run::{Frame, Request, Run},
};

/// Everything that a call is judged against.
#[derive(Debug, Clone, Copy)]
pub struct JudgeContext<'a> {
    /// Machine of the run.
    pub(crate) machine: &'a Machine,
    /// The run.
    pub(crate) run: &'a Run,
    /// Frame that the call counts in.
    pub(crate) frame: &'a Frame,
    /// State of that frame.
    pub(crate) state: &'a State,
    /// The call.
    pub(crate) call: &'a ToolCall,
    /// Approval of exactly this call, which the call may use.
    pub(crate) grant: Option<&'a Request>,
}

impl<'a> JudgeContext<'a> {
    /// Returns the run.
    #[must_use]
    pub const fn run(&self) -> &'a Run {
        self.run
    }

    /// Returns the state of the frame that the call counts in.
    #[must_use]
    pub const fn state(&self) -> &'a State {
        self.state
    }

    /// Returns the call.
    #[must_use]
    pub const fn call(&self) -> &'a ToolCall {
        self.call
    }

    /// Returns the approval of exactly this call, which the call may use.
    #[must_use]
    pub const fn grant(&self) -> Option<&'a Request> {
        self.grant
    }

    /// Returns whether a shell line may write in this state.
    fn may_write(&self) -> bool {
        self.state.policy.stance() == crate::policy::Stance::Writing
    }
}

/// The answer to a proposed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// A person is asked.
    Ask(Refusal),
    /// The call may not run.
    Deny(Refusal),
}

/// Result of one check: `Ok` to continue, or the refusal.
pub(crate) type Check = Result<(), Refusal>;

/// Judges `context.call`. This function is total and never panics.
#[must_use]
pub fn judge(context: JudgeContext<'_>) -> Verdict {
    let first = match context.call.kind {
        CallKind::Control(_) => reachable(context),
        CallKind::Conversation => reachable(context)
            .and_then(|()| started(context))
            .and_then(|()| disallowed(context)),
        _ => return judge_work(context),
    };
    first.map_or_else(Verdict::Deny, |()| Verdict::Allow)
}

/// Judges a call that is neither one of Interlock's own tools nor one that only manages the conversation.
fn judge_work(context: JudgeContext<'_>) -> Verdict {
    if let Err(refusal) = before_lists(context) {
        return Verdict::Deny(refusal);
    }
    if let Err(refusal) = listed(context) {
        let asks =
            context.state.policy.on_denied == OnDenied::Ask && refusal.code == Code::ToolNotAllowed;
        if !asks {
            return Verdict::Deny(refusal);
        }
        if context.grant.is_none() {
            // What no grant excuses is refused before a person is asked.
            return match contents(context, true) {
                Err(worse) => Verdict::Deny(worse),
                Ok(()) => Verdict::Ask(refusal),
            };
        }
    }
    match contents(context, context.grant.is_some()) {
        Err(refusal) => Verdict::Deny(refusal),
        Ok(()) => Verdict::Allow,
    }
}

/// Runs the checks that apply to every call, whoever makes it and whatever the state lists.
///
/// The state's list (for a stage, the mode of its run) comes next, then [`contents`].
pub(crate) fn before_lists(context: JudgeContext<'_>) -> Check {
    reachable(context)?;
    started(context)?;
    used_up(context)
}

/// Checks that the run accepts calls now, and that the call touches nothing that is protected.
fn reachable(context: JudgeContext<'_>) -> Check {
    untouchable(context)?;
    standing(context)
}

/// Judges a call that the workflow itself contains, in the frame at `path`.
///
/// No person is asked: a call that would need an approval is refused.
///
/// # Errors
/// The refusal says why the call may not run.
pub fn judge_written(
    machine: &Machine,
    run: &Run,
    call: &ToolCall,
    path: &FramePath,
) -> Result<(), Refusal> {
    let Some(context) = context_of(machine, run, call, path) else {
        let message = format!("nothing stands at `{path}` any more");
        return Err(Refusal::new(Code::NothingPending, message));
    };
    match judge(context) {
        Verdict::Allow => Ok(()),
        Verdict::Ask(refusal) | Verdict::Deny(refusal) => Err(refusal),
    }
}

fn untouchable(context: JudgeContext<'_>) -> Check {
    if let Some(thing) = &context.call.facts.protected {
        return refuse(
            Code::Protected,
            format!("{thing} is protected: a guarded agent may not touch it"),
        );
    }
    // Of a shell line where not all is free, the rule about whole places says so.
    let whole = |write: &&FileWrite| write.place == PathArea::Whole && write.removes;
    let by_rule =
        context.call.kind == CallKind::Shell && context.state.policy.stance() != Stance::Free;
    if !by_rule && let Some(write) = context.call.facts.writes.iter().find(whole) {
        let path = write.path.as_deref().unwrap_or(&write.by);
        return refuse(
            Code::Protected,
            format!("`{path}` contains protected files: a guarded agent may not remove it"),
        );
    }
    if let Some(why) = &context.call.facts.malformed {
        return refuse(
            Code::InvalidArguments,
            format!(
                "the arguments of `{}` cannot be judged: {why}",
                context.call.tool
            ),
        );
    }
    Ok(())
}

fn standing(context: JudgeContext<'_>) -> Check {
    let answers_always = matches!(
        context.call.kind,
        CallKind::Control(ControlTool::GetState | ControlTool::ListWorkflows)
    );
    if answers_always {
        return Ok(());
    }
    if let Some(pause) = &context.run.paused {
        let why = pause
            .reason
            .as_deref()
            .map_or_else(String::new, |reason| format!(": {reason}"));
        return refuse(
            Code::Paused,
            format!(
                "the run is paused by {}{why}; a person resumes it",
                pause.by
            ),
        );
    }
    if let Some(pending) = context.frame.stay.pending_transition() {
        return Err(awaits_approval(pending));
    }
    if context.call.kind == CallKind::Control(ControlTool::Start) {
        return refuse(
            Code::RunOpen,
            "a run is open already: it has to end before another is started",
        );
    }
    Ok(())
}

/// Checks that the limits on calls and on bytes of results are not used up.
fn used_up(context: JudgeContext<'_>) -> Check {
    let (policy, used) = (&context.state.policy, &context.frame.stay.used);
    let calls = (
        policy.iterations_max,
        used.calls,
        "tool calls",
        Code::IterationLimit,
    );
    let bytes = (
        policy.result_bytes_max,
        used.bytes,
        "bytes of tool results",
        Code::ContextBudget,
    );
    for (limit, used, what, code) in [calls, bytes] {
        if let Some(limit) = limit.filter(|limit| used >= *limit) {
            let at = &context.frame.at;
            return refuse(
                code,
                format!(
                    "`{at}` allows {limit} {what} and {used} are used: decide on a transition now"
                ),
            );
        }
    }
    Ok(())
}

fn listed(context: JudgeContext<'_>) -> Check {
    let (call, policy) = (context.call, &context.state.policy);
    if call.kind == CallKind::SubAgent
        && in_fork(context.machine, context.run)
        && !call.is_disallowed(policy)
    {
        return Ok(());
    }
    disallowed(context)?;
    if !call.is_listed(policy) {
        return Err(not_listed(context));
    }
    Ok(())
}

fn not_listed(context: JudgeContext<'_>) -> Refusal {
    let (tool, at) = (&context.call.tool, &context.frame.at);
    let message = format!("`{tool}` is not allowed in `{at}`");
    Refusal::new(Code::ToolNotAllowed, message)
}

/// Returns the refusal for calls and events that wait until a person has answered about a transition.
#[must_use]
pub fn awaits_approval(pending: &PendingTransition) -> Refusal {
    let PendingTransition { event, message, .. } = pending;
    let message = format!("`{event}` waits for a person's approval: {message}");
    Refusal::new(Code::AwaitingApproval, message)
}

fn disallowed(context: JudgeContext<'_>) -> Check {
    let JudgeContext {
        state, call, frame, ..
    } = context;
    if !call.is_disallowed(&state.policy) {
        return Ok(());
    }
    refuse(
        Code::ToolDisallowed,
        format!("`{}` is disallowed in `{}`", call.tool, frame.at),
    )
}

/// Refuses a call that would start an unconfined process, if the state has rules to enforce.
///
/// A workflow that lists the tool by its own name has accepted that.
fn started(context: JudgeContext<'_>) -> Check {
    let policy = &context.state.policy;
    let Some(why) = &context.call.facts.unheld else {
        return Ok(());
    };
    let named = policy
        .allowed_tools
        .iter()
        .flatten()
        .any(|listed| context.call.listed_names().contains(&listed.as_str()));
    let is_one_of_its_kind = context.call.kind == CallKind::Other;
    if policy.stance() == Stance::Free || named && is_one_of_its_kind {
        return Ok(());
    }
    refuse(
        Code::ToolNotAllowed,
        format!(
            "`{}` would start something that the rules of `{}` do not cover: {why}",
            context.call.tool, context.frame.at
        ),
    )
}

/// Checks the effects of the call: shell rules, environment, places that its tool may write, edit rules.
fn contents(context: JudgeContext<'_>, granted: bool) -> Check {
    secrets::check(context)?;
    if let Some(facts) = &context.call.facts.shell {
        shell::check(context, facts, granted).map_err(|found| found.refusal())?;
    }
    if let Some(why) = &context.call.facts.outside {
        return refuse(Code::OutsideProject, why.clone());
    }
    if !granted {
        outside(context)?;
    }
    edits(context)
}

/// Refuses a tool's write outside the project, as for a shell line in a state with rules.
fn outside(context: JudgeContext<'_>) -> Check {
    let facts = &context.call.facts;
    if facts.shell.is_some() || context.state.policy.stance() == Stance::Free {
        return Ok(());
    }
    let beyond = |write: &&FileWrite| matches!(write.place, PathArea::Outside | PathArea::Whole);
    let Some(write) = facts.writes.iter().find(beyond) else {
        return Ok(());
    };
    let verb = if write.removes { "remove" } else { "write" };
    refuse(
        Code::OutsideProject,
        format!(
            "`{}` would {verb} `{}`, and only the project and temporary directories may be written: \
             use a path inside the project, or let a person name its directory under `writable` of `[sandbox]`",
            context.call.tool,
            write.path.as_deref().unwrap_or("an unknown path"),
        ),
    )
}

fn edits(context: JudgeContext<'_>) -> Check {
    let Policy {
        edit_lines_max,
        files_max,
        ..
    } = context.state.policy;
    let facts = &context.call.facts;
    let at = &context.frame.at;
    match (edit_lines_max, facts.edit_lines) {
        (Some(limit), Some(lines)) if lines > limit => {
            return refuse(
                Code::EditTooLarge,
                format!(
                    "the edit touches {lines} lines and `{at}` allows {limit}: make it smaller"
                ),
            );
        }
        (Some(limit), None) if context.call.kind == CallKind::Edit => {
            return refuse(
                Code::EditTooLarge,
                format!(
                    "how many lines the edit touches cannot be seen, and `{at}` allows {limit}"
                ),
            );
        }
        _ => {}
    }
    let Some(limit) = files_max else {
        return Ok(());
    };
    let known = &context.frame.stay.used.files;
    let new: std::collections::BTreeSet<&str> = counted_files(context)
        .filter(|path| !known.contains(*path))
        .collect();
    let wanted = known.len() + new.len();
    if u64::try_from(wanted).unwrap_or(u64::MAX) > limit && !new.is_empty() {
        return refuse(
            Code::TooManyFiles,
            format!(
                "`{}` allows {limit} files to be written and this would be file {wanted}",
                context.frame.at
            ),
        );
    }
    Ok(())
}

/// Returns the paths that count as written files: all those of a tool, and those of a shell line inside the project.
fn counted_files(context: JudgeContext<'_>) -> impl Iterator<Item = &str> {
    let by_tool = context.call.facts.shell.is_none();
    context
        .call
        .facts
        .writes
        .iter()
        .filter(move |write| {
            by_tool || write.relative.is_some() && !shell::is_history(context, write)
        })
        .filter_map(|write| write.path.as_deref())
}

pub(crate) fn refuse(code: Code, message: impl Into<String>) -> Check {
    Err(Refusal::new(code, message))
}
