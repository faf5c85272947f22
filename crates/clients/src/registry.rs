//! The registry of clients: the only module that knows them all.

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

/// Returns the hook protocol of a client.
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

/// Returns the definition of a client.
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

/// Parses the input that `client` writes to its hook.
///
/// The output of a tool may be cut within a character; the result is accepted all the same.
///
/// # Errors
/// Returns what is missing or malformed.
pub fn read(client: ClientId, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
    read_whole(client, stdin, event).or_else(|why| {
        let whole = with_whole_characters(stdin);
        let input = whole.and_then(|whole| read_whole(client, &whole, event).ok());
        // A call that is about to run must be read exactly, or not at all.
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

/// Returns whether a failure of Interlock must stop `client`, as far as its input can be read.
#[must_use]
pub fn failure_stops(client: ClientId, stdin: &[u8], event: Option<&str>) -> bool {
    protocol(client).failure_stops(stdin, event)
}
