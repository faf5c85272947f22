//! The end of the agent's work: of its turn, and of the last task of its own list.

use interlock_core::{Reply, command::CommandKind};
use interlock_project::Environment;
use interlock_view::briefing_as;

use crate::{
    answer::{Answer, Say},
    input::Input,
    registry,
    session::Guarded,
    tools::offered_as,
};

/// Refuses the end of the agent's work if the workflow requires more of it.
fn refused(guarded: &mut Guarded, input: &Input) -> Result<Option<Answer>, String> {
    if guarded.machine.finish.is_optional() {
        return Ok(None);
    }
    let decision = guarded
        .ask(CommandKind::Finish)
        .map_err(|error| error.to_string())?;
    let Reply::Refused(refusal) = decision.reply else {
        return Ok(None);
    };
    let names = |tool: &str| offered_as(input.client, tool);
    let now = briefing_as(&guarded.machine, &guarded.run, None, &names);
    let text = format!(
        "{}: {}. Go on, or move on with `interlock_transition`.\n{now}",
        refusal.code.as_str(),
        refusal.message
    );
    Ok(Some(Say::GoOn(text).into()))
}

/// Reports at the end of a turn what is not done yet; if the workflow requires it, the agent continues.
pub(crate) fn turn(guarded: &mut Guarded, input: &Input, again: bool) -> Result<Answer, String> {
    if let Some(refused) = refused(guarded, input)? {
        return Ok(refused);
    }
    if again {
        return Ok(Say::Nothing.into());
    }
    let report = interlock_view::report(&guarded.machine, &guarded.run, None);
    Ok(Answer::tell_person(format!(
        "Interlock: run {} of `{}` is not finished: it stands in `{}` ({}).",
        guarded.id(),
        guarded.machine.id,
        report.state,
        report.status.as_str()
    )))
}

/// Keeps the last task of the agent's own list open if the workflow requires more work.
pub(crate) fn task(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
    task: &str,
) -> Result<Answer, String> {
    if !registry::protocol(input.client).is_last_task(environment, input, task) {
        return Ok(Say::Nothing.into());
    }
    let refused = refused(guarded, input)?;
    Ok(refused.unwrap_or_else(|| Say::Nothing.into()))
}
