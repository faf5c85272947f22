//! One hook call: who guards the session, what the run says, the answer.

pub(crate) mod answer;
mod binding;
mod environment;
mod guarded;
pub(crate) mod input;
mod judge;
mod watch;

use interlock_facts::parse;
use interlock_store::SessionKey;

use crate::{claude_code, client::ClientId};

use answer::{Answer, Trouble};
use binding::Standing;
use input::{HookEvent, HookInput};

pub use answer::HookAnswer;
pub use environment::HookEnv;
pub use judge::arguments_digest;

/// Bytes of the longest hook input.
const INPUT_MAX: usize = 64 * 1024 * 1024;

/// Answers one hook call of a client.
///
/// `event` is the event in the client's own words, where the input does not
/// name it. Total: a panic, a failure or a missed deadline is a refusal
/// (exit code 2 with one sentence), so that a guarded session never passes
/// because something broke.
#[must_use]
pub fn hook(client: ClientId, event: Option<&str>, stdin: &[u8], env: &HookEnv) -> HookAnswer {
    let event = event.map(str::to_owned);
    let stdin = stdin.to_owned();
    let env = env.clone();
    watch::within(env.deadline, move || {
        answer(client, event.as_deref(), &stdin, &env)
    })
}

fn answer(client: ClientId, event: Option<&str>, stdin: &[u8], env: &HookEnv) -> HookAnswer {
    let input = match read(client, event, stdin) {
        Ok(input) => input,
        Err(trouble) => return HookAnswer::refused(&trouble),
    };
    match answer_input(client, &input, env) {
        Ok(answer) => HookAnswer::said(&write(client, &input.named, &answer)),
        // An agent that was told once is not kept from stopping for ever.
        Err(_) if matches!(input.event, HookEvent::Stop { again: true }) => {
            HookAnswer::said(&write(client, &input.named, &Answer::Silent))
        }
        Err(trouble) => HookAnswer::refused(&trouble),
    }
}

fn read(client: ClientId, event: Option<&str>, stdin: &[u8]) -> Result<HookInput, Trouble> {
    if stdin.len() > INPUT_MAX {
        return Err(Trouble::Input(format!(
            "the hook input has {} bytes and {INPUT_MAX} is the limit",
            stdin.len()
        )));
    }
    let parsed = parse(stdin)
        .map_err(|error| Trouble::Input(format!("the hook input is not JSON: {error}")))?;
    match client {
        ClientId::ClaudeCode => claude_code::read(&parsed, event).map_err(Trouble::Input),
        other => Err(Trouble::Input(format!(
            "the hooks of `{other}` are not answered by this version"
        ))),
    }
}

fn write(client: ClientId, event: &str, answer: &Answer) -> serde_json::Value {
    match client {
        ClientId::ClaudeCode => claude_code::write(event, answer),
        // `read` let no other client through.
        _ => serde_json::Value::Null,
    }
}

fn answer_input(client: ClientId, input: &HookInput, env: &HookEnv) -> Result<Answer, Trouble> {
    let key = SessionKey::new(client.as_str(), input.session.as_str());
    match binding::standing(env, &key, input)? {
        Standing::Unguarded(project_root) => unguarded(client, input, env, &key, &project_root),
        Standing::Guarded(binding) => guarded::answer(client, input, env, binding),
    }
}

/// Answers a session that no run guards: no opinion.
fn unguarded(
    client: ClientId,
    input: &HookInput,
    env: &HookEnv,
    key: &SessionKey,
    project_root: &std::path::Path,
) -> Result<Answer, Trouble> {
    match &input.event {
        // The server that gets the call has to learn whose it is.
        HookEvent::BeforeTool(call) => {
            if let Some(control) = judge::control_call(client, call) {
                let note = judge::note(env, input, call, control, key, project_root, None);
                env.state.leave_note(&note)?;
            }
        }
        HookEvent::SessionEnd => env.state.drop_notes(key)?,
        _ => {}
    }
    Ok(Answer::Silent)
}
