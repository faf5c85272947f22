//! Runs a client in a terminal, as a person does.

use std::io;

use super::{Client, Session, codex, copilot, gemini, opencode};
use crate::confined;
use crate::provider::Provider;
use crate::terminal::Terminal;

impl Session<'_> {
    /// Runs the client in a terminal, as a person does, while `work` types and reads the screen.
    ///
    /// # Errors
    /// The client is not installed or cannot be started, `work` fails, or it is Claude Code, which has its own session
    /// type.
    pub fn in_terminal<T: Send>(
        self,
        work: impl FnOnce(&mut Terminal) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let mut command = self.room.command(self.client.program()?);
        command.env("TERM", "xterm-256color").args(&self.arguments);
        confined::run(|confinement| {
            let model = Provider::start(self.client_script())?;
            let url = model.url();
            match self.client {
                Client::Codex(tools) => {
                    command.arg("--dangerously-bypass-approvals-and-sandbox");
                    // The offer of a newer model is suppressed, as after a person has declined it.
                    command.args(["-c", codex::NO_NEWER_MODEL]);
                    codex::point(self.room, tools, &url)?;
                }
                Client::Gemini => {
                    command.args(["--approval-mode", "yolo"]);
                    gemini::point(&mut command, &url);
                }
                Client::Copilot => copilot::point(&mut command, &url),
                Client::Opencode => opencode::point(&mut command, &url),
                Client::ClaudeCode(_) => {
                    return Err(io::Error::other(
                        "Claude Code is run by a session of its own",
                    ));
                }
            }
            confinement.keep_inside(&mut command);
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            let mut terminal = Terminal::start(&command, 50, 150)?;
            work(&mut terminal)
        })
    }
}
