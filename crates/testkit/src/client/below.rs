//! Runs a client that another program starts, such as a step of a workflow.

use std::io;
use std::process::Command;

use super::{Client, Outcome, Session, codex, gemini};
use crate::confined;
use crate::processes;
use crate::provider::Provider;

impl Session<'_> {
    /// Runs `command`, which starts the client, with access to the scripted model.
    ///
    /// # Errors
    /// It cannot be started, has not ended within the time limit, or the client is not one of three.
    pub fn below(self, mut command: Command) -> io::Result<Outcome> {
        confined::run(|confinement| {
            let model = Provider::start(self.client_script())?;
            let url = model.url();
            match self.client {
                Client::ClaudeCode(_) => crate::claude::point(&mut command, &url),
                Client::Codex(tools) => codex::point(self.room, tools, &url)?,
                Client::Gemini => gemini::point(&mut command, &url),
                other => {
                    return Err(io::Error::other(format!("{} runs alone", other.label())));
                }
            }
            let _beside = self.point_stages(&mut command)?;
            confinement.keep_inside(&mut command);
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            let ended = processes::run(command, self.room, self.deadline)?;
            Ok(Outcome::new(&model.asked(), ended))
        })
    }

    /// Starts the stages' model, which runs until the returned value is dropped.
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
}
