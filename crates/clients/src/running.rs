//! Compares a call that is about to run with the one that was judged.
//!
//! Something between the hook and the tool (another hook, a plugin's code) may have skipped the hook, overruled its answer or
//! changed the arguments. Only an allowed call runs, and only in the form in which it was allowed.

use interlock_core::{call::CallResult, command::CommandKind, names::CallId, run::OpenCall};
use interlock_project::Environment;

use crate::{
    answer::{Answer, Say},
    calls,
    input::{Event, Input, ToolUse},
    judge, mods,
    session::Guarded,
    tools::control_tool,
};

/// Suffix of the id of a call that runs with other arguments than were judged.
const AS_RUN: &str = "@run";

/// Lets a call that is about to run pass if it is as it was judged, and judges it otherwise.
pub(crate) fn before_run(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
) -> Result<Answer, String> {
    if is_as_judged(environment, guarded, input, used) {
        return Ok(Say::Nothing.into());
    }
    // Something came between the hook and the tool; the person should learn what it is.
    match mods::stop(environment, guarded, input)? {
        Some(reason) => Ok(Answer::deny(reason)),
        None => judged_now(environment, guarded, input, used),
    }
}

/// Returns whether a call that is about to run was allowed with these arguments.
fn is_as_judged(
    environment: &Environment,
    guarded: &Guarded,
    input: &Input,
    used: &ToolUse,
) -> bool {
    // The server itself judges these, by a note that their hook left.
    control_tool(input.client, &used.name).is_some()
        || known(guarded, used).is_some_and(|call| {
            let digest = calls::as_proposed(input, used, environment.program.as_deref());
            Some(&call.digest) == digest.as_ref()
        })
}

/// Finds the call as it was judged.
fn known<'a>(guarded: &'a Guarded, used: &ToolUse) -> Option<&'a OpenCall> {
    let id = used.id.as_ref()?;
    guarded.run.calls.iter().find(|call| call.id == *id)
}

/// Judges a call that is about to run in another form than was judged, or was not judged at all.
fn judged_now(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
    used: &ToolUse,
) -> Result<Answer, String> {
    let is_known = known(guarded, used).is_some();
    let id = used.id.as_ref().map(|id| {
        if is_known {
            CallId::new(format!("{id}{AS_RUN}"))
        } else {
            id.clone()
        }
    });
    let used = ToolUse { id, ..used.clone() };
    let asked = Input {
        event: Event::BeforeTool(used.clone()),
        ..input.clone()
    };
    let answer = judge::before_tool(environment, guarded, &asked, &used)?;
    let why = match answer.say {
        Say::Nothing | Say::Allow(_) => return Ok(Say::Nothing.into()),
        Say::Ask(why) => why,
        Say::Rewrite { .. } => {
            forget(guarded, &used)?;
            "not_heard: Interlock's hook was not heard by the client, and this line runs only as it rewrites it: \
             something between them overrules hooks"
                .to_owned()
        }
        _ => return Ok(answer),
    };
    Ok(Answer::deny(why))
}

/// Records that an allowed call did not run.
fn forget(guarded: &mut Guarded, used: &ToolUse) -> Result<(), String> {
    let result = CallResult {
        id: used.id.clone(),
        ok: false,
        exit: None,
        bytes: 0,
        wrote: Vec::new(),
        commands: Vec::new(),
        checked: interlock_core::substance::Checked::default(),
    };
    guarded
        .ask(CommandKind::Record(result))
        .map(drop)
        .map_err(|error| error.to_string())
}
