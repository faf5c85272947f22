//! Judges a shell line before it runs, and rewrites it for `interlock exec` where possible.

use interlock_confine::{AllowedLine, Decided};
use interlock_core::{LineConfinement, Reply, call::ToolCall, command::CommandKind, confinement};
use interlock_facts::{CallContext, RealDisk, Shape, locate};
use interlock_project::Environment;
use interlock_shell::Dialect;
use interlock_store::{Ticket, line_digest};
use serde_json::{Value, json};

use super::{answer, call_of, place};
use crate::{
    answer::{Answer, Say},
    input::{Input, ToolUse},
    line,
    protocol::RewriteMode,
    registry,
    rewrite::{self, Rewriting},
    session::Guarded,
    tools::LINE,
    tools::plain_call,
};

/// Asks the run whether a line may run, and how.
pub(super) fn before_line(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
) -> Result<Answer, String> {
    let here = place(environment, guarded, input)?;
    let project = guarded.binding.project_root.clone();
    let carrying = match &environment.program {
        Some(_) if carried_line(input, used).is_some() => {
            registry::protocol(input.client).carrying(environment, input, &project)
        }
        _ => RewriteMode::No,
    };
    let asked = LineRequest {
        environment,
        input,
        used,
        carrying,
    };
    let (mut call, carried, here) = judged(&asked, guarded, here);
    let session = &guarded.binding.session.session;
    call.prompts_in = guarded
        .is_attended(environment, input)
        .then(|| session.clone());
    let decision = guarded
        .ask(CommandKind::Propose(Box::new(call.clone())))
        .map_err(|error| error.to_string())?;
    if carried == Rewriting::Keep || decision.reply != Reply::Accepted {
        return Ok(answer(
            environment,
            guarded,
            input,
            (decision.reply, &decision.path),
        ));
    }
    let Some(confinement) = confinement(&guarded.machine, &guarded.run, &call) else {
        return Err("the state in which the line counts is unknown; nothing was allowed".into());
    };
    // Another command may have moved the run while this one was decided.
    if rewriting(&asked, guarded, &call, &confinement) != carried {
        return Err("the run moved while the line was judged: call the tool again".to_owned());
    }
    carry(
        &asked,
        guarded,
        &Judged {
            call: &call,
            confinement: &confinement,
            here: &here,
        },
        carried,
    )
}

/// A line that a client asks about.
struct LineRequest<'a> {
    environment: &'a Environment,
    input: &'a Input,
    used: &'a ToolUse,
    carrying: RewriteMode,
}

/// A line that was allowed.
struct Judged<'a> {
    call: &'a ToolCall,
    confinement: &'a LineConfinement<'a>,
    here: &'a CallContext,
}

/// Determines the facts of a line in the shell that will run it.
fn judged(
    asked: &LineRequest<'_>,
    guarded: &Guarded,
    here: CallContext,
) -> (ToolCall, Rewriting, CallContext) {
    let LineRequest { input, used, .. } = asked;
    if asked.carrying == RewriteMode::No {
        return (call_of(&here, input, used), Rewriting::Keep, here);
    }
    let mut held = here.clone();
    // `interlock exec` runs lines with bash, without the blocked variables.
    held.site.shell = Dialect::Bash;
    held.environment_held = true;
    held.kernel_holds = interlock_confine::kernel_holds();
    let call = call_of(&held, input, used);
    let carried = confinement(&guarded.machine, &guarded.run, &call)
        .map_or(Rewriting::Keep, |confinement| {
            rewriting(asked, guarded, &call, &confinement)
        });
    if carried == Rewriting::Keep {
        return (call_of(&here, input, used), carried, here);
    }
    (call, carried, held)
}

fn rewriting(
    asked: &LineRequest<'_>,
    guarded: &Guarded,
    call: &ToolCall,
    confinement: &LineConfinement<'_>,
) -> Rewriting {
    let LineRequest {
        environment, input, ..
    } = asked;
    let project = &guarded.binding.project_root;
    let line = call.facts.shell.as_ref();
    let about = || registry::protocol(input.client).about_line(environment, input, project, line?);
    rewrite::rewriting(environment, input, confinement, asked.carrying, about)
}

/// Returns whether a call is for a shell, whatever its arguments are.
pub(super) fn is_line(input: &Input, used: &ToolUse) -> bool {
    plain_call(input.client, &used.name, &used.input)
        .is_ok_and(|plain| matches!(plain.tool.shape, Shape::Shell { .. }))
}

/// Returns the line that a shell is started for; text typed into a running shell is none.
fn carried_line<'u>(input: &Input, used: &'u ToolUse) -> Option<&'u str> {
    let plain = plain_call(input.client, &used.name, &used.input).ok()?;
    match plain.tool.shape {
        Shape::Shell { line: LINE, .. } => used.input.get(LINE)?.as_str(),
        _ => None,
    }
}

/// Issues a ticket and lets the client run `interlock exec` with it.
fn carry(
    asked: &LineRequest<'_>,
    guarded: &Guarded,
    judged: &Judged<'_>,
    carried: Rewriting,
) -> Result<Answer, String> {
    let LineRequest {
        environment,
        input,
        used,
        ..
    } = asked;
    let (Some(text), Some(facts), Some(program)) = (
        carried_line(input, used),
        &judged.call.facts.shell,
        &environment.program,
    ) else {
        return Err("the line cannot be rewritten; nothing was allowed".to_owned());
    };
    let decided = Decided::read(
        &guarded.binding.project_root,
        environment.configuration.as_deref(),
    )
    .map_err(|error| error.to_string())?;
    let directory = directory_of(asked, judged.here)?;
    let line = AllowedLine {
        text,
        directory: &directory,
        facts,
        confinement: judged.confinement,
        machine: &guarded.machine,
        context: judged.here,
        decided: &decided,
    };
    let mut plan = interlock_confine::plan(&line, &RealDisk);
    let proves = registry::protocol(input.client).proves(used);
    if !proves {
        plan.probes.clear();
    }
    let ticket = Ticket {
        session: guarded.binding.session.clone(),
        run: guarded.id().clone(),
        call: judged.call.id.clone(),
        path: judged.confinement.path.clone(),
        digest: line_digest(text),
        proves,
        plan: serde_json::to_value(&plan).map_err(|error| error.to_string())?,
        at_ms: environment.at_ms,
    };
    let name = environment
        .home
        .give_ticket(&ticket)
        .map_err(|error| error.to_string())?;
    let command = line::carried(program, &name, text)
        .ok_or("the path of this program is not text; nothing was allowed")?;
    let command = if registry::protocol(input.client).silences() {
        line::silenced(&command)
    } else {
        command
    };
    let mut updated = used.input.clone();
    if let Value::Object(fields) = &mut updated {
        fields.insert(LINE.to_owned(), json!(command));
    }
    let asks = carried == Rewriting::Ask;
    let reason = match (asks, plan.confinement.is_some()) {
        (true, true) => "Interlock runs this line confined to what the state allows",
        (false, true) => "the state allows this line; it runs confined to that",
        (_, false) => {
            "Interlock runs this line and sees how it ends; it is confined to nothing here"
        }
    };
    Ok(Say::Rewrite {
        asks,
        reason: reason.to_owned(),
        input: updated,
    }
    .into())
}

/// Returns the directory of a line: from the call, or else the client's.
fn directory_of(asked: &LineRequest<'_>, here: &CallContext) -> Result<String, String> {
    let LineRequest { input, used, .. } = asked;
    let plain = plain_call(input.client, &used.name, &used.input)?;
    let said = match plain.tool.shape {
        Shape::Shell {
            directory: Some(field),
            ..
        } => plain.input.get(field).and_then(Value::as_str),
        _ => None,
    };
    match said.filter(|said| !said.is_empty()) {
        Some(said) => locate(said, here, &RealDisk).map(|found| found.real),
        None => Ok(here.site.cwd.clone()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests;
