//! Sessions of the gateway, played from transcripts: a client, its servers, and the policy are scripted.
//!
//! A transcript is a file below `session/cases`. Its first lines may set up the scene:
//!
//! ```text
//! servers: a b          one server per name; if left out: a wrapped one; `none`: none
//! client: {…}           capabilities of the client, for `open`
//! server: {…}           capabilities of every server, for `open`
//! refused: sampling     requests that no server may send to the client
//! own: NAME             a tool of the gateway itself, answered with its name
//! hide: NAME            a tool that is not listed
//! deny: NAME            a tool whose calls are refused
//! ask: NAME             a tool whose calls a person is asked about first
//! ticket: NAME          a tool whose end is recorded
//! cut: NAME             a tool whose end is recorded and whose result is replaced
//! unread: URI           a resource that may not be read
//! ```
//!
//! Every further line is a message: `client> …` and `server> …` (or the server's name) are sent by them, `client< …`
//! and `server< …` must be the next that they receive. A text `$x` matches anything the first time, and the same value
//! afterwards. `open VERSION` plays the handshake of the protocol versions with sessions; `server gone` ends a
//! connection, `server back` waits for the next one. `governed …` lists what the policy was asked in the meantime, in
//! order. `minutes N` lets that time pass.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

#[path = "session/governed.rs"]
mod governed;
#[path = "session/play.rs"]
mod play;

use std::path::Path;

fn transcript(path: &Path) -> datatest_stable::Result<()> {
    let text = std::fs::read_to_string(path)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(play::play(&text));
    Ok(())
}

datatest_stable::harness! {
    { test = transcript, root = "tests/session/cases", pattern = r".*\.txt$" },
}
