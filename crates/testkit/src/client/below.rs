//! A client that another program starts, as the step of a workflow does, or a person at a terminal.

use std::io;
use std::process::Command;

use super::{Client, Outcome, Session, claude_code, codex, gemini};
use crate::anthropic;
use crate::confined;
use crate::endpoint::{Endpoint, Said, Wire, gemini::Gemini, responses::Responses};
use crate::processes;
use crate::proposal::Proposal;
use crate::provider::Provider;
use crate::terminal::Terminal;

impl Session<'_> {
    /// Runs the client as a person does, in a terminal, while `work` types and looks.
    ///
    /// # Errors
    /// When it is not installed, cannot be started or is not one of two, and what `work` says.
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
            other => Err(io::Error::other(format!(
                "{} is not tried at a terminal",
                other.label()
            ))),
        }
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

    /// Runs `command`, below which the client is started, with the scripted model in its reach.
    ///
    /// # Errors
    /// When it cannot be started, has not ended at its deadline, or the client is not one of three.
    pub fn below(self, command: Command) -> io::Result<Outcome> {
        match self.client {
            Client::ClaudeCode(_) => self.below_claude(command),
            Client::Codex(tools) => {
                let words = move |proposal: &Proposal| codex::say(tools, proposal);
                self.below_endpoint(command, Responses, words, |room, _, url| {
                    codex::point(room, tools, url)
                })
            }
            Client::Gemini => {
                self.below_endpoint(command, Gemini, gemini::say, |_, command, url| {
                    gemini::point(command, url);
                    Ok(())
                })
            }
            other => Err(io::Error::other(format!("{} runs alone", other.label()))),
        }
    }

    /// Starts the model of stages, which lasts as long as what is returned.
    fn point_stages(&self, command: &mut Command) -> io::Result<Option<Provider>> {
        let Some(script) = &self.beside else {
            return Ok(None);
        };
        let provider = Provider::start(script.clone())?;
        command
            .env("OPENAI_BASE_URL", format!("{}/v1", provider.url()))
            .env("OPENAI_API_KEY", "scripted");
        Ok(Some(provider))
    }

    fn below_claude(self, mut command: Command) -> io::Result<Outcome> {
        let script = claude_code::script(&self);
        confined::run(|confinement| {
            let model = anthropic::Model::start(script.clone())?;
            crate::claude::point(&mut command, &model.url());
            let _beside = self.point_stages(&mut command)?;
            confinement.keep_inside(&mut command);
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            let ended = processes::run(command, self.room, self.deadline)?;
            let requests = model.requests();
            let results = anthropic::calls(&requests)
                .into_iter()
                .map(|call| call.result);
            Ok(Outcome {
                results: results.collect(),
                requests: requests
                    .iter()
                    .map(|request| request.body().clone())
                    .collect(),
                stdout: ended.stdout,
                stderr: ended.stderr,
                exit: ended.exit,
                elapsed: ended.elapsed,
            })
        })
    }

    fn below_endpoint<W: Wire + Copy>(
        self,
        mut command: Command,
        wire: W,
        words: impl Fn(&Proposal) -> Said + Send + Sync + 'static,
        point: impl Fn(&crate::room::Room, &mut Command, &str) -> io::Result<()> + Send + Sync,
    ) -> io::Result<Outcome> {
        confined::run(|confinement| {
            let model = Endpoint::start(wire, self.script.clone(), words, self.only_offered)?;
            point(self.room, &mut command, &model.url())?;
            let _beside = self.point_stages(&mut command)?;
            confinement.keep_inside(&mut command);
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            let ended = processes::run(command, self.room, self.deadline)?;
            let requests = model.bodies();
            let results = requests.iter().map(|body| wire.results(body));
            Ok(Outcome {
                results: results.max_by_key(Vec::len).unwrap_or_default(),
                requests,
                stdout: ended.stdout,
                stderr: ended.stderr,
                exit: ended.exit,
                elapsed: ended.elapsed,
            })
        })
    }
}
