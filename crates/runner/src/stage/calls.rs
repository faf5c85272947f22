//! One call of a stage: its facts, and its execution.

use std::time::Instant;

use interlock_confine::{AllowedLine, plan};
use interlock_core::{
    LineConfinement,
    call::{CallFacts, CallResult, ToolCall, WrittenPath},
    confinement_at,
    event::{Cause, Passing},
    machine::{Machine, Retry},
    names::{CallId, Digest, FramePath},
    policy::{Policy, Stance},
    run::Run,
};
use interlock_facts::{RealDisk, one_line};
use interlock_sandbox::{Level, Plan};
use interlock_store::StoreError;
use interlock_tools::{Arguments, Carrier, Code, Progress, Secrets, Tool, ToolContext, ToolEnd};
use serde_json::Value;

use super::{
    cancel::CancelToken,
    kept::{KeptResult, keep},
    place::Stages,
    texts,
    transcript::Transcript,
};

/// Maximum number of characters of the reason for a retry.
const AGAIN_MAX: usize = 300;
/// Maximum number of bytes of a result that are kept.
const WHOLE_MAX: usize = 16 * 1024 * 1024;

/// A call to execute.
pub(super) struct Job<'a> {
    pub(super) id: CallId,
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Arguments,
    /// Facts of the call, determined again: a person may have thought about it for long.
    pub(super) facts: &'a CallFacts,
    /// Files that it writes, as they were judged: absolute, links resolved.
    pub(super) judged: &'a [String],
    /// Sandbox plan of the line, if it is one.
    pub(super) plan: Option<Plan>,
}

/// The end of a call, as reported to the run.
pub(super) struct Ended {
    pub(super) result: CallResult,
    pub(super) code: Option<String>,
    pub(super) ms: u64,
    pub(super) told: Digest,
    /// Reasons of its retries, one sentence each.
    pub(super) again: Vec<String>,
}

/// Determines the facts of a call.
pub(super) fn facts(stages: &Stages, id: CallId, tool: &str, arguments: &Arguments) -> ToolCall {
    let mut call = match (Tool::named(&stages.tools, tool), &stages.servers) {
        (Some(tool), _) => tool.proposed(id, arguments, &stages.place, &RealDisk),
        (None, Some(servers)) => servers.proposed(id, tool, arguments),
        (None, None) => unknown(id, tool),
    };
    // A request is distinguished from others only by its arguments.
    call.digest = arguments.digest().clone();
    call
}

/// Describes a call to a person, with secrets masked.
///
/// In full if the person may be asked about it, otherwise in one line.
pub(super) fn summary(
    stages: &Stages,
    call: &ToolCall,
    arguments: &Arguments,
    is_asked: bool,
) -> String {
    let secrets = &stages.secrets;
    match Tool::named(&stages.tools, &call.tool) {
        _ if !is_asked => secrets.masked(&call.summary).into_owned(),
        Some(tool) => tool.summary(arguments, call, secrets, &RealDisk),
        None => arguments.summary(secrets),
    }
}

/// Creates a call of a tool that has disappeared since the message was read.
pub(crate) fn unknown(id: CallId, tool: &str) -> ToolCall {
    ToolCall {
        id,
        tool: tool.to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: interlock_core::call::CallKind::Other,
        digest: Digest::default(),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: CallFacts {
            malformed: Some("the tool is not there any more".to_owned()),
            ..CallFacts::default()
        },
    }
}

/// Where a call was judged.
pub(super) struct Judged<'a> {
    pub(super) machine: &'a Machine,
    pub(super) run: &'a Run,
    pub(super) path: &'a FramePath,
    /// Whether it runs because a person approved it.
    pub(super) granted: bool,
}

/// Creates the sandbox plan of a shell line; `None` if the call is not one.
pub(super) fn plan_of(
    stages: &Stages,
    judged: &Judged<'_>,
    call: &ToolCall,
    arguments: &Arguments,
) -> Option<Plan> {
    let facts = call.facts.shell.as_ref()?;
    let line = arguments.value().get("command").and_then(Value::as_str);
    let tool = Tool::named(&stages.tools, &call.tool);
    let directory = tool.map(|tool| tool.line_starts_at(arguments, &stages.place, &RealDisk));
    let confinement = confinement_at(judged.machine, judged.run, call, judged.path)?;
    let policy;
    let confinement = if judged.granted && !call.facts.writes.is_empty() {
        policy = writing(confinement.policy);
        LineConfinement {
            policy: &policy,
            stance: Stance::Writing,
            ..confinement
        }
    } else {
        confinement
    };
    let line = AllowedLine {
        text: line.unwrap_or_default(),
        directory: directory.as_deref().unwrap_or(&stages.place.site.cwd),
        facts,
        confinement: &confinement,
        machine: judged.machine,
        context: &stages.place,
        decided: &stages.decided,
    };
    Some(plan(&line, &RealDisk))
}

/// Extends the policy of a state to one that may write: a person saw what the line writes and approved it.
fn writing(policy: &Policy) -> Policy {
    let mut tools = policy.allowed_tools.clone().unwrap_or_default();
    tools.extend(["Bash", "Edit", "Write"].map(str::to_owned));
    Policy {
        allowed_tools: Some(tools),
        allowed_commands: None,
        ..policy.clone()
    }
}

/// The context in which calls are executed.
#[derive(Clone, Copy)]
pub(super) struct ExecutionContext<'a> {
    pub(super) stages: &'a Stages,
    pub(super) transcript: &'a Transcript,
    pub(super) cancel_token: &'a CancelToken,
    pub(super) result_bytes: usize,
    /// Retry policy for a call that failed and may succeed later.
    pub(super) retry: Option<&'a Retry>,
    /// Variables that identify processes after a crash.
    pub(super) environment: &'a [(String, String)],
    /// Receives the output of a line.
    pub(super) printed: &'a (dyn Fn(&[u8]) + Sync),
    /// Receives the reason of each retry.
    pub(super) again: &'a (dyn Fn(&str) + Sync),
}

/// Executes a call and stores its result.
///
/// # Errors
/// The result cannot be stored.
pub(super) fn run(bench: ExecutionContext<'_>, job: &Job<'_>) -> Result<Ended, StoreError> {
    let began = Instant::now();
    let mut again = Vec::new();
    let (mut end, code) = persist(bench, job, &mut again);
    end.text = own_secrets(bench, job).masked_known(&end.text).into_owned();
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let messages = &bench.stages.messages;
    let cut = texts::cut(&end.text, bench.result_bytes);
    let whole = match &cut {
        Some(_) => Some(messages.keep(end.text.as_bytes())?),
        None => None,
    };
    let text = cut.unwrap_or(end.text);
    let told = keep(
        messages,
        &KeptResult {
            text: match &code {
                Some(code) => texts::refused(code, &text),
                None => text,
            },
            is_error: !end.ok,
            whole,
            seen: end.seen,
        },
    )?;
    let foreseen = |path: &String| {
        let mut writes = job.facts.writes.iter();
        writes.any(|write| write.path.as_ref() == Some(path))
    };
    let root = &bench.stages.place.project_root;
    let wrote = end.wrote.into_iter().filter(|path| !foreseen(path));
    Ok(Ended {
        result: CallResult {
            id: Some(job.id.clone()),
            ok: end.ok,
            exit: end.exit,
            bytes: end.bytes,
            wrote: wrote.map(|path| written(path, root)).collect(),
            commands: Vec::new(),
            checked: interlock_core::substance::Checked::default(),
        },
        code,
        ms,
        told,
        again,
    })
}

/// Returns the values that only its tool has: nothing may show them.
fn own_secrets(bench: ExecutionContext<'_>, job: &Job<'_>) -> Secrets {
    let own = bench.stages.variables.get(job.tool).into_iter().flatten();
    Secrets::known(own.map(|(_, value)| value.clone()))
}

fn written(path: String, root: &str) -> WrittenPath {
    let relative = path
        .strip_prefix(root)
        .and_then(|rest| rest.strip_prefix('/'))
        .map(str::to_owned);
    WrittenPath { path, relative }
}

/// Executes a call, retrying as the stage permits while a server is temporarily unavailable.
fn persist(
    bench: ExecutionContext<'_>,
    job: &Job<'_>,
    again: &mut Vec<String>,
) -> (ToolEnd, Option<String>) {
    let mut tries: u32 = 0;
    loop {
        tries = tries.saturating_add(1);
        let (end, code) = carry(bench, job);
        let wait = bench
            .retry
            .zip(end.passing())
            .and_then(|(retry, after_ms)| {
                let cause = Cause {
                    passing: Some(Passing { after_ms }),
                    ..Cause::default()
                };
                retry.next_wait(tries, &cause)
            });
        let Some(wait_ms) = wait else {
            return (end, code);
        };
        let why = format!(
            "`{}` came to nothing at try {tries}: {}",
            job.tool,
            one_line(&own_secrets(bench, job).masked_known(&end.text), AGAIN_MAX)
        );
        (bench.again)(&format!("{why}; it is called again in {wait_ms} ms"));
        again.push(why);
        bench.cancel_token.rest(wait_ms);
        if bench.cancel_token.reason().is_some() {
            return (end, code);
        }
    }
}

/// Returns the end of a call and the code of its failure.
fn carry(bench: ExecutionContext<'_>, job: &Job<'_>) -> (ToolEnd, Option<String>) {
    let stages = bench.stages;
    if let Some((moved, sentence)) = moved(job) {
        let code = Some(moved.as_str().to_owned());
        return (ToolEnd::failed(moved, sentence), code);
    }
    let Some(tool) = Tool::named(&stages.tools, job.tool) else {
        return served(bench, job);
    };
    let progress = |progress: Progress<'_>| {
        if let Progress::Printed(bytes) = progress {
            (bench.printed)(bytes);
        }
    };
    let carrier = job.plan.as_ref().map(|plan| Carrier {
        program: &stages.program,
        plan,
        level_max: Level::Full,
    });
    let own = stages.variables.get(job.tool).into_iter().flatten();
    let environment: Vec<(String, String)> = bench.environment.iter().chain(own).cloned().collect();
    let end = tool.run(
        job.arguments,
        &ToolContext {
            call_context: &stages.place,
            facts: job.facts,
            seen: bench.transcript.seen(),
            cancel: bench.cancel_token.handle(),
            carrier,
            datasources: &stages.datasources,
            environment: &environment,
            result_bytes_max: WHOLE_MAX,
            progress: Some(&progress),
        },
    );
    let code = end.code.map(|code| code.as_str().to_owned());
    (end, code)
}

/// Returns why a call is no longer the one that was judged: links have changed since.
///
/// What a line may write is limited by its plan, which is made of the same facts.
fn moved(job: &Job<'_>) -> Option<(Code, String)> {
    if let Some(thing) = &job.facts.protected {
        return Some((Code::Protected, format!("it leads to {thing} by now")));
    }
    if job.facts.shell.is_some() {
        return None;
    }
    let writes = job.facts.writes.iter();
    let paths = writes.filter_map(|write| write.path.as_ref());
    let mut elsewhere = paths.filter(|path| !job.judged.contains(path));
    let path = elsewhere.next()?;
    let sentence =
        format!("`{path}` no longer leads where it led when the call was judged: propose it again");
    Some((Code::Moved, sentence))
}

fn served(bench: ExecutionContext<'_>, job: &Job<'_>) -> (ToolEnd, Option<String>) {
    let code = |code: Code| Some(code.as_str().to_owned());
    let Some(servers) = &bench.stages.servers else {
        let end = ToolEnd::failed(Code::NotStarted, "the tool is not there any more");
        return (end, code(Code::NotStarted));
    };
    let end = servers.call(job.tool, job.arguments, bench.cancel_token.handle());
    if end.ok {
        return (ToolEnd::done(end.text), None);
    }
    // A server would repeat an error that it answered; only an unavailable server is called again.
    let why = if end.passing {
        Code::Unreachable
    } else {
        Code::NotStarted
    };
    (
        ToolEnd::failed(why, end.text),
        end.code.or_else(|| code(why)),
    )
}

#[cfg(test)]
mod tests;
