//! A shell line before it runs: judged as it will run, and carried by `interlock exec` where it may be.

use interlock_core::{Hold, Reply, call::ToolCall, command::Ask, hold};
use interlock_facts::{RealDisk, Shape, Surroundings};
use interlock_shell::Dialect;
use interlock_store::{Ticket, line_digest};
use serde_json::{Value, json};

use super::{answer, call_of, place};
use crate::{
    answer::{Answer, Say},
    confine::{self, Decided},
    hook::HookSetting,
    input::{Input, ToolUse},
    line, protocol,
    rewrite::{self, Rewriting},
    session::Guarded,
    tools::tool,
};

/// Asks the run whether a line may run, and how.
pub(super) fn before_line(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
) -> Result<Answer, String> {
    let here = place(setting, guarded, input)?;
    let (call, carried, here) = judged(setting, guarded, input, used, here);
    let decision = guarded
        .ask(Ask::Propose(Box::new(call.clone())))
        .map_err(|error| error.to_string())?;
    if carried == Rewriting::Keep || decision.reply != Reply::Accepted {
        return Ok(answer(setting, guarded, input, decision.reply));
    }
    let Some(hold) = hold(&guarded.machine, &guarded.run, &call) else {
        return Err("where the line counts is not known any more; nothing was let through".into());
    };
    // Another command may have moved the run while this one was decided.
    if rewriting(setting, guarded, input, &call, &hold) != carried {
        return Err("the run moved while the line was judged: call the tool again".to_owned());
    }
    carry(
        setting,
        guarded,
        input,
        used,
        &Judged {
            call: &call,
            hold: &hold,
            here: &here,
        },
        carried,
    )
}

/// A line that was allowed.
struct Judged<'a> {
    call: &'a ToolCall,
    hold: &'a Hold<'a>,
    here: &'a Surroundings,
}

/// Finds the facts of a line in the shell that will run it.
fn judged(
    setting: &HookSetting,
    guarded: &Guarded,
    input: &Input,
    used: &ToolUse,
    here: Surroundings,
) -> (ToolCall, Rewriting, Surroundings) {
    let held = Surroundings {
        // `interlock exec` runs what it carries with bash, where blocked variables do not exist.
        shell: Dialect::Bash,
        environment_held: true,
        ..here.clone()
    };
    let call = call_of(&held, input, used);
    let carried = hold(&guarded.machine, &guarded.run, &call)
        .filter(|_| line_of(input, used).is_some())
        .map_or(Rewriting::Keep, |hold| {
            rewriting(setting, guarded, input, &call, &hold)
        });
    if carried == Rewriting::Keep {
        return (call_of(&here, input, used), carried, here);
    }
    (call, carried, held)
}

fn rewriting(
    setting: &HookSetting,
    guarded: &Guarded,
    input: &Input,
    call: &ToolCall,
    hold: &Hold<'_>,
) -> Rewriting {
    let protocol = protocol::of(input.client);
    let project = &guarded.binding.project_root;
    let about = call
        .facts
        .shell
        .as_ref()
        .filter(|_| protocol.rewrites(input))
        .and_then(|line| protocol.about_line(setting, input, project, line));
    rewrite::rewriting(setting, input, hold, about)
}

/// Returns the argument that holds the line, and the line.
fn line_of<'u>(input: &Input, used: &'u ToolUse) -> Option<(&'static str, &'u str)> {
    let Shape::Shell { line, .. } = tool(input.client, &used.name).shape else {
        return None;
    };
    Some((line, used.input.get(line)?.as_str()?))
}

/// Gives a ticket and lets the client run `interlock exec` with it.
fn carry(
    setting: &HookSetting,
    guarded: &Guarded,
    input: &Input,
    used: &ToolUse,
    judged: &Judged<'_>,
    carried: Rewriting,
) -> Result<Answer, String> {
    let (Some((field, text)), Some(facts), Some(program)) = (
        line_of(input, used),
        &judged.call.facts.shell,
        &setting.program,
    ) else {
        return Err("the line cannot be carried; nothing was let through".to_owned());
    };
    let decided = Decided::read(
        &guarded.binding.project_root,
        setting.configuration.as_deref(),
    )
    .map_err(|error| error.to_string())?;
    let line = confine::Line {
        text,
        directory: &judged.here.working_directory,
        facts,
        hold: judged.hold,
        machine: &guarded.machine,
        surroundings: judged.here,
        decided: &decided,
    };
    let plan = confine::plan(&line, &RealDisk);
    let ticket = Ticket {
        session: guarded.binding.session.clone(),
        run: guarded.id().clone(),
        call: judged.call.id.clone(),
        path: judged.hold.path.clone(),
        digest: line_digest(text),
        proves: protocol::of(input.client).proves(used),
        plan: serde_json::to_value(&plan).map_err(|error| error.to_string())?,
        at_ms: setting.at_ms,
    };
    let name = setting
        .home
        .give_ticket(&ticket)
        .map_err(|error| error.to_string())?;
    let command = line::carried(program, &name, text)
        .ok_or("the path of this program is no text; nothing was let through")?;
    let mut updated = used.input.clone();
    if let Value::Object(fields) = &mut updated {
        fields.insert(field.to_owned(), json!(command));
    }
    let asks = carried == Rewriting::Ask;
    let reason = if asks {
        "Interlock runs this line confined to what the state allows"
    } else {
        "the state allows this line; it runs confined to that"
    };
    Ok(Say::Rewrite {
        asks,
        reason: reason.to_owned(),
        input: updated,
    }
    .into())
}
