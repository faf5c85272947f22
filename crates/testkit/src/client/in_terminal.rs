//! A client as a person has it, in a terminal.

use std::io;
use std::process::Command;

use super::{Client, Session, codex, copilot, gemini, opencode, words::Words};
use crate::confined;
use crate::endpoint::{Endpoint, Said, Wire, chat::Chat, gemini::Gemini, responses::Responses};
use crate::proposal::Proposal;
use crate::terminal::Terminal;

impl Session<'_> {
    /// Runs the client as a person does, in a terminal, while `work` types and looks.
    ///
    /// # Errors
    /// When it is not installed or cannot be started, and what `work` says; Claude Code has a session of its own.
    pub fn in_terminal<T: Send>(
        self,
        work: impl FnOnce(&mut Terminal) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let mut command = self.room.command(self.client.program()?);
        command.env("TERM", "xterm-256color").args(&self.arguments);
        match self.client {
            Client::Codex(tools) => {
                let words = move |proposal: &Proposal| codex::say(tools, proposal);
                command.arg("--dangerously-bypass-approvals-and-sandbox");
                // A newer model is not shown to a person who has said no to it.
                command.args(["-c", codex::NO_NEWER_MODEL]);
                self.typed(command, Responses, words, work, |room, _, url| {
                    codex::point(room, tools, url)
                })
            }
            Client::Gemini => {
                command.args(["--approval-mode", "yolo"]);
                self.typed(command, Gemini, gemini::say, work, |_, command, url| {
                    gemini::point(command, url);
                    Ok(())
                })
            }
            Client::Copilot => self.typed_with(command, copilot::WORDS, work, copilot::point),
            Client::Opencode => self.typed_with(command, opencode::WORDS, work, opencode::point),
            Client::ClaudeCode(_) => Err(io::Error::other(
                "Claude Code is run by a session of its own",
            )),
        }
    }

    /// Follows the script over chat completions, where only the words differ.
    fn typed_with<T: Send>(
        self,
        command: Command,
        words: Words,
        work: impl FnOnce(&mut Terminal) -> io::Result<T> + Send,
        point: impl Fn(&mut Command, &str) + Send + Sync,
    ) -> io::Result<T> {
        let project = self.room.project();
        let say = move |proposal: &Proposal| words.say(&project, proposal);
        self.typed(command, Chat, say, work, |_, command, url| {
            point(command, url);
            Ok(())
        })
    }

    fn typed<T: Send, W: Wire + Copy>(
        self,
        mut command: Command,
        wire: W,
        words: impl Fn(&Proposal) -> Said + Send + Sync + 'static,
        work: impl FnOnce(&mut Terminal) -> io::Result<T> + Send,
        point: impl Fn(&crate::room::Room, &mut Command, &str) -> io::Result<()> + Send + Sync,
    ) -> io::Result<T> {
        confined::run(|confinement| {
            let model = Endpoint::start(wire, self.script.clone(), words, self.only_offered)?;
            point(self.room, &mut command, &model.url())?;
            confinement.keep_inside(&mut command);
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            let mut terminal = Terminal::start(&command, 50, 150)?;
            work(&mut terminal)
        })
    }
}
