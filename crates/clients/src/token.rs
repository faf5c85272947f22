//! The person's token where a client's agent has it: in its calls, its results, its environment.

use std::path::Path;

use interlock_core::{command::Ask, event::TokenPlace, names::RunId};
use interlock_store::{Home, StoreError};

use crate::{
    doctor::unheard_clients,
    hook::HookSetting,
    input::{Event, Input},
    process,
    session::{Guarded, living_sessions},
};

/// The variable that lets scripts of a person answer for them.
pub const PERSONS_TOKEN: &str = "INTERLOCK_TOKEN";

/// Looks for the person's token in what a hook is told and in its environment.
///
/// Returns what the person should be told, where something new was found.
pub(crate) fn look(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Option<String>, String> {
    let said = |error: StoreError| error.to_string();
    let run = guarded.id().clone();
    let mut news = Vec::new();
    if let Some(token) = setting.variable(PERSONS_TOKEN)
        && setting.home.refuse_token_for(&token, &run).map_err(said)? == Some(true)
    {
        news.push((TokenPlace::Environment, in_environment(&run)));
    }
    let looked = match &input.event {
        Event::BeforeTool(used) | Event::Running(used) => Some((TokenPlace::Call, &used.input)),
        Event::AfterTool { response, .. } => Some((TokenPlace::Result, response)),
        _ => None,
    };
    if let Some((place, value)) = looked
        && let Some(is_new) = setting.home.void_token_in(value, &run).map_err(said)?
    {
        let in_call = place == TokenPlace::Call;
        guarded.token_in_call |= in_call;
        if in_call || is_new {
            news.push((place, stood(place)));
        }
    }
    let mut sentences = Vec::new();
    for (place, sentence) in news {
        guarded.ask(Ask::ReportToken { place }).map_err(said)?;
        sentences.push(sentence);
    }
    Ok((!sentences.is_empty()).then(|| sentences.join(" ")))
}

/// A client at work in a project that was started with the person's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientWithToken {
    /// What the client is called.
    pub client: String,
    /// Its process.
    pub pid: u32,
}

impl ClientWithToken {
    /// Says what that means, in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "{} (process {}) was started with `{PERSONS_TOKEN}`, which its agent can read: the token does not \
             answer its run",
            self.client, self.pid
        )
    }
}

/// Lists the clients at work in a project whose process has the person's token, where the system shows it.
///
/// # Errors
/// The state directory cannot be read.
pub fn clients_with_token(
    home: &Home,
    project_root: &Path,
) -> Result<Vec<ClientWithToken>, StoreError> {
    let heard = living_sessions(home, project_root)?.into_iter();
    let heard = heard.map(|living| {
        let client = living.session.client;
        (
            client.unwrap_or_else(|| "a client".to_owned()),
            living.process.pid,
        )
    });
    let unheard = unheard_clients(home, project_root)?.into_iter();
    let unheard = unheard.map(|unheard| (unheard.client.to_owned(), unheard.pid));
    let mut found: Vec<ClientWithToken> = Vec::new();
    for (client, pid) in heard.chain(unheard) {
        let has = || {
            process::environment(pid)
                .iter()
                .any(|(name, _)| name == PERSONS_TOKEN)
        };
        if found.iter().all(|known| known.pid != pid) && has() {
            found.push(ClientWithToken { client, pid });
        }
    }
    Ok(found)
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
