//! A client that another program starts, as the step of a workflow does.

use std::io;
use std::process::Command;

use super::{Client, Outcome, Session, claude_code, codex, gemini};
use crate::anthropic;
use crate::confined;
use crate::endpoint::{Endpoint, Said, Wire, gemini::Gemini, responses::Responses};
use crate::processes;
use crate::proposal::Proposal;
use crate::provider::Provider;

impl Session<'_> {
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
