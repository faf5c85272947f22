//! A shell line before it runs: judged as it will run, and carried by `interlock exec` where it may be.

use interlock_core::{Hold, Reply, call::ToolCall, command::Ask, hold};
use interlock_facts::{RealDisk, Surroundings};
use interlock_shell::Dialect;
use interlock_store::{Ticket, line_digest};
use serde_json::{Value, json};

use super::{answer, call_of, place};
use crate::{
    claude_code::{self, Input, ToolUse, line},
    confine::{self, Decided},
    hook::HookSetting,
    rewrite::{self, Rewriting},
    session::Guarded,
};

/// Asks the run whether a line may run, and how.
pub(super) fn before_line(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
) -> Result<Value, String> {
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
        .filter(|_| used.input.get("command").is_some_and(Value::is_string))
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
    let attended = rewrite::is_attended(setting, input);
    let rules = || rewrite::rules(setting, guarded, attended);
    let about = call
        .facts
        .shell
        .as_ref()
        .and_then(|line| rules().about(line));
    rewrite::rewriting(setting, input, hold, about)
}

/// Gives a ticket and lets the client run `interlock exec` with it.
fn carry(
    setting: &HookSetting,
    guarded: &Guarded,
    input: &Input,
    used: &ToolUse,
    judged: &Judged<'_>,
    carried: Rewriting,
) -> Result<Value, String> {
    let text = used.input.get("command").and_then(Value::as_str);
    let (Some(text), Some(facts), Some(program)) =
        (text, &judged.call.facts.shell, &setting.program)
    else {
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
        call: used.id.clone(),
        path: judged.hold.path.clone(),
        digest: line_digest(text),
        proves: proves(used),
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
        fields.insert("command".to_owned(), json!(command));
    }
    let (word, reason) = match carried {
        Rewriting::Ask => (
            "ask",
            "Interlock runs this line confined to what the state allows",
        ),
        _ => (
            "allow",
            "the state allows this line; it runs confined to that",
        ),
    };
    let _ = input;
    Ok(claude_code::rewrite(word, reason, &updated))
}

/// Tells whether the line's exit code counts: not of one that goes on in the background.
fn proves(used: &ToolUse) -> bool {
    used.name == "Bash" && !claude_code::is_set(used.input.get("run_in_background"))
}
