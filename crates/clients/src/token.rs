//! The person's token where an agent has it: in its calls, its results, its environment.

use interlock_core::{command::CommandKind, event::TokenPlace, names::RunId};
use interlock_project::Environment;
use interlock_store::StoreError;

use crate::{
    input::{Event, Input},
    process::PERSONS_TOKEN,
    session::Guarded,
};

/// Searches a hook's input and environment for the person's token.
///
/// Returns a message for the person if something new was found.
pub(crate) fn look(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Option<String>, String> {
    let said = |error: StoreError| error.to_string();
    let run = guarded.id().clone();
    let mut news = Vec::new();
    if let Some(token) = environment.variable(PERSONS_TOKEN)
        && environment
            .home
            .refuse_token_for(&token, &run)
            .map_err(said)?
            == Some(true)
    {
        news.push((TokenPlace::Environment, in_environment(&run)));
    }
    let looked = match &input.event {
        Event::BeforeTool(used) | Event::Running(used) => Some((TokenPlace::Call, &used.input)),
        Event::AfterTool { response, .. } => Some((TokenPlace::Result, response)),
        _ => None,
    };
    if let Some((place, value)) = looked
        && let Some(is_new) = environment.home.void_token_in(value, &run).map_err(said)?
    {
        let in_call = place == TokenPlace::Call;
        guarded.token_in_call |= in_call;
        if in_call || is_new {
            news.push((place, stood(place)));
        }
    }
    let mut sentences = Vec::new();
    for (place, sentence) in news {
        guarded
            .ask(CommandKind::ReportToken { place })
            .map_err(said)?;
        sentences.push(sentence);
    }
    Ok((!sentences.is_empty()).then(|| sentences.join(" ")))
}

fn stood(place: TokenPlace) -> String {
    let place = match place {
        TokenPlace::Result => "a result that the agent reads",
        TokenPlace::Call | TokenPlace::Prompt | TokenPlace::Environment => "a call of the agent",
    };
    format!(
        "Interlock: your token (`{PERSONS_TOKEN}`) stood in {place}: it is void now. Make a new one with `interlock token`."
    )
}

fn in_environment(run: &RunId) -> String {
    format!(
        "Interlock: this client has your token (`{PERSONS_TOKEN}`) in its environment, where its agent can read it: the \
         token does not answer run {run}. Start the client without it (`env -u {PERSONS_TOKEN} …`) and answer at a terminal."
    )
}
