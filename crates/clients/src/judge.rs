//! Judges a tool call before it runs: from its facts, through the run's verdict, to the client's answer.

mod shell;

use std::path::Path;

use interlock_core::{
    Question, Reply,
    call::{CallKind, ControlTool, ToolCall},
    command::{CommandKind, TransitionRequest},
    machine::Object,
    names::{CallId, FramePath, RunId},
    refusal::Refusal,
};
use interlock_facts::{CallContext, Disk, Proposal, RealDisk, facts};
use interlock_project::{Config, Environment};
use interlock_store::{Note, SessionKey};
use interlock_view::taught_as;
use serde_json::Value;

use crate::{
    answer::{Answer, Say},
    calls,
    input::{Input, ToolUse},
    process, prompts, registry, rewrite,
    served::Served,
    session::Guarded,
    tools::{self, control_tool, offered_as, plain_call},
};

/// Asks the run whether a call may run.
pub(crate) fn before_tool(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
) -> Result<Answer, String> {
    let used = &*calls::proposed(&guarded.run, input.agent.as_ref(), used);
    if shell::is_line(input, used) {
        return shell::before_line(environment, guarded, input, used);
    }
    let place = place(environment, guarded, input)?;
    let served = Served::find(environment, input.client, &used.name, guarded.id())?;
    let config = |root: &Path| Config::of_project(root).map_err(|error| error.to_string());
    let session = guarded.binding.session.session.clone();
    let of_gateway = if served.is_empty() {
        None
    } else {
        served.call(&place, input, used, &config(&guarded.binding.project_root)?)
    };
    let mut call = of_gateway.unwrap_or_else(|| call_of(&place, input, used));
    call.prompts_in = guarded.is_attended(environment, input).then_some(session);
    let control = match call.kind {
        CallKind::Control(tool) => Some(tool),
        _ => None,
    };
    let decision = guarded
        .ask(CommandKind::Propose(Box::new(call)))
        .map_err(|error| error.to_string())?;
    match (decision.reply, control) {
        (Reply::Accepted | Reply::Pending { .. }, Some(tool)) => {
            let_control_pass(environment, guarded, input, used, tool)
        }
        (reply, _) => {
            let asks = matches!(reply, Reply::Ask(_));
            let passes = matches!(reply, Reply::Accepted | Reply::Pending { .. });
            let attended = guarded.is_attended(environment, input);
            if !served.is_empty() && (passes || asks && attended) {
                let binding = &guarded.binding;
                let whose = (&binding.session, binding.project_root.as_path());
                // The tool is expected once per gateway.
                let note = Note {
                    run: Some(guarded.id().clone()),
                    asked: asks,
                    unattended: !attended,
                    judged: used.id.clone(),
                    ..note(environment, input, used, ControlTool::GetState, whose)
                };
                served.leave(environment, &note)?;
            }
            Ok(answer(environment, guarded, input, (reply, &decision.path)))
        }
    }
}

/// Writes the client's answer to a call that stays unchanged.
fn answer(
    environment: &Environment,
    guarded: &Guarded,
    input: &Input,
    (reply, path): (Reply, &FramePath),
) -> Answer {
    let reason = |refusal: &Refusal| reason(guarded, input, path, refusal);
    match reply {
        Reply::Accepted | Reply::Pending { .. } => Say::Nothing.into(),
        Reply::Ask(refusal) if guarded.is_attended(environment, input) => {
            Say::Ask(in_prompt(&reason(&refusal))).into()
        }
        Reply::Ask(refusal) => Answer::deny(format!(
            "{} A person may grant this one call {}; propose it again then.",
            reason(&refusal),
            granting(guarded)
        )),
        Reply::Refused(refusal) => Answer::deny(reason(&refusal)),
    }
}

/// Says how a person grants a call.
fn granting(guarded: &Guarded) -> String {
    if guarded.log.is_elsewhere() {
        return "at the server of the run".to_owned();
    }
    format!("with `interlock approve {}`", guarded.id())
}

/// Answers a call of a session whose run has ended, so that nothing guards it any more.
///
/// Under a project policy, protected files stay protected.
pub(crate) fn after_the_end(
    environment: &Environment,
    guarded: &Guarded,
    input: &Input,
    used: &ToolUse,
    policy: bool,
) -> Result<Answer, String> {
    let binding = &guarded.binding;
    note_for_server(
        environment,
        input,
        used,
        &binding.session,
        &binding.project_root,
    )?;
    if !policy {
        return Ok(Say::Nothing.into());
    }
    let used = calls::proposed(&guarded.run, input.agent.as_ref(), used);
    let call = call_of(&place(environment, guarded, input)?, input, &used);
    Ok(match call.facts.protected {
        Some(thing) => Answer::deny(format!("protected: {thing} is protected in this project")),
        None => Say::Nothing.into(),
    })
}

/// Leaves a note if a session without an open run calls a control tool.
///
/// From the note, the server learns whose call it is, to bind the run that it may start.
pub(crate) fn note_for_server(
    environment: &Environment,
    input: &Input,
    used: &ToolUse,
    session: &SessionKey,
    project_root: &Path,
) -> Result<(), String> {
    match control_tool(input.client, &used.name) {
        Some(tool) => {
            let note = note(environment, input, used, tool, (session, project_root));
            leave(environment, &note)
        }
        None => Ok(()),
    }
}

/// Describes where a call of the session would run.
fn place(
    environment: &Environment,
    guarded: &Guarded,
    input: &Input,
) -> Result<CallContext, String> {
    let person = Config::of_person(environment.configuration.as_deref())
        .map_err(|error| error.to_string())?;
    let mut place = guarded.here(environment, &input.directory).clone();
    place.writable = real_places(person.writable_places());
    place.opened = person.protect.allow;
    place.allowed_by_person = person.shell.allow;
    place.transparent = person.shell.transparent;
    Ok(place)
}

/// Resolves the links of paths that a person configured; unresolvable paths stay as they are.
fn real_places(named: Vec<String>) -> Vec<String> {
    let real = |path: String| RealDisk.real(&path).unwrap_or(path);
    named.into_iter().map(real).collect()
}

/// Determines the facts of a call.
fn call_of(place: &CallContext, input: &Input, used: &ToolUse) -> ToolCall {
    let plain = plain_call(input.client, &used.name, &used.input);
    let (name, tool, arguments) = match &plain {
        Ok(plain) => (&*plain.name, plain.tool, &*plain.input),
        Err(_) => (
            used.name.as_str(),
            tools::tool(input.client, &used.name),
            &used.input,
        ),
    };
    let proposal = Proposal {
        // Every proposed call has an id.
        id: used.id.clone().unwrap_or_else(|| CallId::new("")),
        tool: name,
        common: used.common.as_deref().or(tool.common),
        shape: tool.shape,
        input: arguments,
        doubled: used.doubled.as_deref(),
        agent: input.agent.clone(),
        branch: None,
    };
    let mut call = facts(proposal, place, &RealDisk);
    call.foreign = tool.foreign;
    let objection = plain
        .err()
        .or_else(|| imitation(&call))
        .or_else(|| registry::protocol(input.client).objection(&call));
    if let Some(why) = objection {
        call.facts.malformed.get_or_insert(why);
    }
    call
}

/// Returns an objection to a name that would be parsed as a tool's but is none of its names.
fn imitation(call: &ToolCall) -> Option<String> {
    let known = interlock_tool_names::imitated(&call.tool)?;
    Some(format!("its name only looks like `{known}`"))
}

/// Writes a refusal for the agent: the stable code, then the sentence, with tools named as in its client.
fn reason(guarded: &Guarded, input: &Input, path: &FramePath, refusal: &Refusal) -> String {
    let (machine, run) = (&guarded.machine, &guarded.run);
    let names = |tool: &str| offered_as(input.client, tool);
    let sentence = taught_as(machine, run, path, &refusal.message, &names);
    format!("{}: {sentence}", refusal.code)
}

/// Writes the question about a call for a client's own prompt, without control characters.
fn in_prompt(reason: &str) -> String {
    let lines: Vec<String> = reason
        .lines()
        .map(interlock_core::visible::visible)
        .collect();
    lines.join("\n")
}

/// Leaves the note that tells the server whose call this is; asks the person if one must agree.
fn let_control_pass(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
    tool: ControlTool,
) -> Result<Answer, String> {
    let (question, text) = match tool {
        ControlTool::Transition if guarded.is_attended(environment, input) => {
            question(guarded, input, used)?.unzip()
        }
        _ => (None, None),
    };
    let binding = &guarded.binding;
    let whose = (&binding.session, binding.project_root.as_path());
    let run: Option<RunId> = Some(guarded.id().clone());
    let note = Note {
        run,
        asked: question.is_some(),
        question: question.as_ref().map(|asked| asked.digest.clone()),
        unattended: !guarded.is_attended(environment, input),
        ..note(environment, input, used, tool, whose)
    };
    leave(environment, &note)?;
    let say = match text {
        Some(text) => Say::Ask(text),
        None => Say::Allow("Interlock answers this itself".to_owned()),
    };
    Ok(say.into())
}

fn note(
    environment: &Environment,
    input: &Input,
    used: &ToolUse,
    tool: ControlTool,
    (session, project_root): (&SessionKey, &Path),
) -> Note {
    Note {
        session: session.clone(),
        run: None,
        project_root: project_root.to_owned(),
        agent: input.agent.clone(),
        process: process::client_of(environment),
        call: used.id.clone(),
        tool: tool.into(),
        digest: interlock_facts::control_digest(&used.input),
        asked: false,
        question: None,
        unattended: !rewrite::is_attended(environment, input),
        judged: None,
        at_ms: environment.at_ms,
    }
}

fn leave(environment: &Environment, note: &Note) -> Result<(), String> {
    environment
        .home
        .leave_note(note)
        .map_err(|error| error.to_string())
}

/// Asks a person before the transition if one has to agree; returns the question.
fn question(
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
) -> Result<Option<(Question, String)>, String> {
    let arguments = &used.input;
    let text = |key: &str| {
        arguments
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let Some(event) = text("event") else {
        return Ok(None);
    };
    let request = TransitionRequest {
        event,
        data: arguments
            .get("data")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_else(Object::new),
        branch: text("branch"),
        agent: input.agent.clone(),
        by: "agent".to_owned(),
        approved_by: None,
    };
    let asked = interlock_core::question(&guarded.machine, &guarded.run, &request);
    let (Some(asked), Some(call)) = (asked, used.id.clone()) else {
        return Ok(None);
    };
    let text = prompts::ask(guarded, input, request, call).map_err(|error| error.to_string())?;
    Ok(text.map(|text| (asked, text)))
}
