//! Servers whose program or address is a template, so that the data of the run chooses what is started.
//!
//! The output of a model must start nothing unknown: it is first written to the log, and in a project that is not trusted, a
//! person is asked.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
};

use interlock_core::machine::{ServerStart, ServerWork};
use interlock_expr::template::Template;
use interlock_facts::one_line;
use interlock_tools::Secrets;
use serde_json::Value;

use super::{CANCELLED, Nodes, ServerRequest, Talk, reasoned};
use crate::{
    nodes::LOOK_EVERY,
    order::Failed,
    stage::{Answers, ChannelAnswer, People, WantedWord},
};

/// Code of a server that nobody has allowed.
const NOT_ALLOWED: &str = "server_not_allowed";
/// Maximum number of characters shown of a program or an address.
const SHOWN_MAX: usize = 2_000;

/// Context in which a state starts its servers.
pub(super) struct Starting<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) talk: &'a Talk,
    /// The people who can be asked.
    pub(super) people: Option<&'a People>,
    /// The state's path, as shown to people.
    pub(super) path: &'a str,
    pub(super) given_up: &'a dyn Fn() -> bool,
}

impl Starting<'_> {
    /// Allows a server to start, unless the data of the run chose it and nobody allows it.
    pub(super) fn check(
        &self,
        server: &ServerWork,
        asked: &ServerRequest,
        secrets: &Secrets,
    ) -> Result<(), Failed> {
        if !is_chosen(server) || self.nodes.is_started(asked) {
            return Ok(());
        }
        let what = shown(asked);
        let what = secrets.masked_known(&what).into_owned();
        let message = format!("the data of the run has the server `{}` {what}", asked.name);
        self.talk.note("server_start", message)?;
        if self.nodes.configured.trusts_project() {
            return Ok(());
        }
        // One question at a time, and one question for equal servers.
        let mut allowed = loop {
            match self.nodes.allowed() {
                Some(allowed) => break allowed,
                None if (self.given_up)() => return Err(Failed::new(CANCELLED, "it was stopped")),
                None => thread::park_timeout(LOOK_EVERY),
            }
        };
        if allowed.contains(&asked.key()) {
            return Ok(());
        }
        self.ask(asked, &what)?;
        allowed.insert(asked.key());
        Ok(())
    }

    /// Asks a person; returns an error unless the person approves.
    fn ask(&self, asked: &ServerRequest, what: &str) -> Result<(), Failed> {
        let name = &asked.name;
        let Some(terminal_prompt) = self.people.and_then(|people| people.here.as_ref()) else {
            let why = format!(
                "the data of the run has the server `{name}` {what}: you have not said that you trust this project, \
                 and nobody can be asked here. Start the run at a terminal, or add the project to `projects` under \
                 `[trust]` in your own `config.toml`"
            );
            return Err(reasoned(NOT_ALLOWED, why, None));
        };
        let (say, said) = channel();
        let answers = Answers::new(move |word| {
            // If it cannot be sent, nobody waits for it any more.
            let _ = say.send(word);
        });
        let open = terminal_prompt.ask(
            WantedWord {
                id: format!("server {name}"),
                path: self.path.to_owned(),
                tool: String::new(),
                text: format!("the data of the run has the server `{name}` {what}. May it?"),
                passkey: false,
            },
            answers,
        );
        let word = loop {
            match said.recv_timeout(LOOK_EVERY) {
                Ok(word) => break word,
                Err(RecvTimeoutError::Timeout) if (self.given_up)() => {
                    open.withdraw("the state has ended");
                    return Err(Failed::new(CANCELLED, "it was stopped"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break ChannelAnswer::Broken,
            }
        };
        match word {
            ChannelAnswer::Yes { by } => self.talk.note(
                "server_allowed",
                format!("{by} allowed the server `{name}`"),
            ),
            ChannelAnswer::No { by, note } => {
                let note = note.map_or_else(String::new, |note| format!(": {note}"));
                let why = format!("{by} did not allow the server `{name}` {what}{note}");
                Err(reasoned(NOT_ALLOWED, why, None))
            }
            ChannelAnswer::Later | ChannelAnswer::Broken => {
                let why = format!("nobody allowed the server `{name}` {what}");
                Err(reasoned(NOT_ALLOWED, why, None))
            }
        }
    }
}

/// Returns whether the data of the run determines what is started or called; values sent along do not count.
fn is_chosen(server: &ServerWork) -> bool {
    match &server.start {
        ServerStart::Configured(_) => false,
        ServerStart::Program {
            command, arguments, ..
        } => {
            let mut texts = arguments.iter().chain([command]);
            texts.any(Template::has_blocks)
        }
        ServerStart::Address { url, .. } => url.has_blocks(),
    }
}

/// Describes what is started or called.
fn shown(asked: &ServerRequest) -> String {
    let text = |key: &str| asked.written.get(key).and_then(Value::as_str);
    if let Some(url) = text("url") {
        return format!("called at `{}`", one_line(url, SHOWN_MAX));
    }
    let arguments = asked.written.get("args").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
    let words = text("command").into_iter().chain(arguments);
    let words: Vec<String> = words.map(quoted).collect();
    format!("started by `{}`", one_line(&words.join(" "), SHOWN_MAX))
}

/// Quotes a word so that its end is visible.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(start: Value) -> ServerWork {
        serde_json::from_value(json!({"name": "s", "start": start})).unwrap()
    }

    #[test]
    fn a_server_is_chosen_by_the_data_if_a_template_names_what_is_started() {
        let program = |command: &str, argument: &str, value: &str| {
            json!({"program": {
                "command": command, "arguments": ["-v", argument], "env": [["K", value]],
            }})
        };
        let address = |url: &str, value: &str| {
            json!({"address": {
                "url": url, "headers": [["H", value]], "token": value, "streams": true,
            }})
        };
        for (start, chosen) in [
            (program("a", "b", "c"), false),
            (program("{{ a }}", "b", "c"), true),
            (program("a", "x{{ b }}", "c"), true),
            (program("a", "b", "{{ c }}"), false),
            (address("http://a/", "b"), false),
            (address("http://{{ a }}/", "b"), true),
            (address("http://a/", "{{ b }}"), false),
            (json!({"configured": "{{ a }}"}), false),
        ] {
            assert_eq!(is_chosen(&server(start.clone())), chosen, "{start}");
        }
    }

    #[test]
    fn a_person_sees_where_each_word_ends() {
        for (written, text) in [
            (
                json!({"url": "http://a/", "command": null}),
                "called at `http://a/`",
            ),
            (json!({"url": "http://a/\nb"}), r"called at `http://a/\nb`"),
            (
                json!({"command": "./run", "args": ["a b", "", "it's", "--x=1"]}),
                r"started by `./run 'a b' '' 'it'\''s' --x=1`",
            ),
        ] {
            let asked = ServerRequest {
                name: "s".to_owned(),
                written: written.as_object().unwrap().clone(),
                only: None,
            };
            assert_eq!(shown(&asked), text);
        }
    }
}
