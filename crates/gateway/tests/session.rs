//! Sessions of the gateway, played from transcripts: a client, its servers, and who governs, all scripted.
//!
//! A transcript is a file below `session/cases`. Its first lines may set up the scene:
//!
//! ```text
//! servers: a b          one server a name; left out: one that is wrapped; `none`: none
//! client: {…}           what the client can do, for `open`
//! server: {…}           what every server can do, for `open`
//! refused: sampling     what no server may ask of the client
//! own: NAME             a tool of the gateway itself, answered with its name
//! hide: NAME            a tool that is not shown
//! deny: NAME            a tool whose calls are refused
//! ask: NAME             a tool whose calls are put to a person first
//! ticket: NAME          a tool whose end is recorded
//! cut: NAME             a tool whose end is recorded and whose result is replaced
//! unread: URI           a resource that may not be read
//! ```
//!
//! Every further line is a message: `client> …` and `server> …` (or the server's name) are said by them,
//! `client< …` and `server< …` must be the next they hear. A text `$x` stands for anything the first time and for the
//! same ever after. `open VERSION` plays the first words of the legacy era; `server gone` ends a connection, `server back` waits for the next. `governed …` is what
//! who governs was told meanwhile, in order. `minutes N` lets that time pass.

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
