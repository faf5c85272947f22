//! Which client is which: the one place that knows them all.

use interlock_facts::with_whole_characters;

use crate::{
    claude_code::{self, ClaudeCode},
    client::ClientId,
    codex::{self, Codex},
    copilot::{self, Copilot},
    cursor::{self, Cursor},
    gemini::{self, Gemini},
    input::{Event, Input},
    opencode::{self, Opencode},
    protocol::Protocol,
    settings::client_def::ClientDef,
};

/// Returns how a client's hooks speak.
pub(crate) fn protocol(client: ClientId) -> &'static dyn Protocol {
    match client {
        ClientId::ClaudeCode => &ClaudeCode,
        ClientId::Codex => &Codex,
        ClientId::Gemini => &Gemini,
        ClientId::Copilot => &Copilot,
        ClientId::Cursor => &Cursor,
        ClientId::Opencode => &Opencode,
    }
}

/// Returns what is known of a client.
pub(crate) fn definition(client: ClientId) -> &'static ClientDef {
    match client {
        ClientId::ClaudeCode => &claude_code::install::FOOTPRINT,
        ClientId::Codex => &codex::install::FOOTPRINT,
        ClientId::Gemini => &gemini::install::FOOTPRINT,
        ClientId::Copilot => &copilot::install::FOOTPRINT,
        ClientId::Cursor => &cursor::install::FOOTPRINT,
        ClientId::Opencode => &opencode::install::FOOTPRINT,
    }
}

/// Reads what `client` writes to its hook.
///
/// What a tool has said may be cut within a character: a result is read all the same.
///
/// # Errors
/// Says what is missing or malformed.
pub fn read(client: ClientId, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
    read_whole(client, stdin, event).or_else(|why| {
        let whole = with_whole_characters(stdin);
        let input = whole.and_then(|whole| read_whole(client, &whole, event).ok());
        // What is about to run must be read as it is, or not at all.
        input
            .filter(|input| matches!(input.event, Event::AfterTool { .. }))
            .ok_or(why)
    })
}

fn read_whole(client: ClientId, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
    let speaks = protocol(client);
    match speaks.borrower(stdin) {
        Some(borrower) => Ok(Input {
            borrowed: true,
            ..protocol(borrower).read(stdin, event)?
        }),
        None => speaks.read(stdin, event),
    }
}

/// Tells whether a failure of ours must stop `client`, as far as its input can be read.
#[must_use]
pub fn failure_stops(client: ClientId, stdin: &[u8], event: Option<&str>) -> bool {
    protocol(client).failure_stops(stdin, event)
}
