//! How a person installs and uninstalls the plugin in each client.

use std::{
    collections::BTreeMap, fs, io::Write as _, os::unix::fs::symlink, path::PathBuf, process::Stdio,
};

use interlock_clients::plugins::repository;
use interlock_testkit::{
    claude::Version,
    client::{Client, Outcome, Session},
    interlock::Interlock,
    programs,
    proposal::Script,
    room::{Room, expect_success},
};
use serde_json::Value;

use crate::e2e_plugins::{INTERLOCK, registry::Registry};

/// Returns the README of a client's plugin.
fn readme(client: Client) -> String {
    let name = format!("plugins/{}/README.md", client.id());
    let mut files = repository().into_iter();
    let file = files.find(|(path, _)| *path == name);
    file.map(|(_, text)| text)
        .unwrap_or_else(|| panic!("no `{name}`"))
}

/// Returns the commands of the client in the block of the README, which ends with one of `interlock`.
pub(crate) fn installing(client: Client) -> Vec<String> {
    let text = readme(client);
    let block = text.split("```\n").nth(1).unwrap_or_default();
    let mut commands: Vec<String> = block.lines().map(str::to_owned).collect();
    assert_eq!(commands.pop().as_deref(), Some("interlock doctor"));
    commands
}

/// Returns the commands in the sentence of the README about uninstalling; opencode has none.
pub(crate) fn uninstalling(client: Client) -> Vec<String> {
    let text = readme(client);
    let sentence = text.lines().find(|line| line.starts_with("Uninstall it"));
    let words = sentence.unwrap_or_default().split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

/// A project, one client, and a copy of the repository's plugins in the project.
pub(crate) struct Plugin {
    pub(crate) client: Client,
    pub(crate) room: Room,
}

/// Returns the place of the repository's copy in the project.
pub(crate) const fn at_marketplace() -> &'static str {
    "market"
}

/// The address of a repository that git is configured to find on this machine.
const ADDRESS: &str = "https://example.com/interlock.git";

impl Plugin {
    pub(crate) fn new(client: Client) -> Plugin {
        let room = Room::new().unwrap();
        room.write("a.txt", "one\n").unwrap();
        let stub = programs::built("interlock-testkit", "mcp-stub", INTERLOCK).unwrap();
        client.install(&room, &stub).unwrap();
        room.install("interlock", INTERLOCK.as_ref()).unwrap();
        for (name, text) in repository() {
            room.write(&format!("{}/{name}", at_marketplace()), &text)
                .unwrap();
        }
        if client == Client::Copilot {
            // Its unpacked files are shared by all rooms.
            let packages = programs::installed("tests/e2e", ".cache/copilot/pkg").unwrap();
            fs::create_dir_all(room.path("cache/copilot")).unwrap();
            symlink(packages, room.path("cache/copilot/pkg")).unwrap();
            let found = format!(
                "[url \"file://{}\"]\n\tinsteadOf = {ADDRESS}\n[user]\n\tname = a\n\temail = a@b\n",
                room.file(at_marketplace())
            );
            fs::write(room.home().join(".gitconfig"), found).unwrap();
        }
        let plugin = Plugin { client, room };
        if let Some((settings, text)) = plugin.persons_settings() {
            fs::create_dir_all(settings.parent().unwrap()).unwrap();
            fs::write(settings, text).unwrap();
        }
        plugin
    }

    /// Returns settings that a person has already, if the testkit has written none.
    fn persons_settings(&self) -> Option<(PathBuf, &'static str)> {
        let (name, text) = match self.client {
            Client::ClaudeCode(_) => (".claude/settings.json", "{\n  \"verbose\": false\n}\n"),
            Client::Copilot => (".copilot/settings.json", "{\n  \"theme\": \"dark\"\n}\n"),
            _ => return None,
        };
        Some((self.room.home().join(name), text))
    }

    /// Runs the client's own program to its end.
    fn by_client(&self, arguments: &[&str], variables: &[(&str, &str)]) {
        let mut command = self.room.command(self.client.program().unwrap());
        command.args(arguments).envs(variables.iter().copied());
        let cache = self.room.path("cache");
        command
            .env("XDG_CACHE_HOME", cache)
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env("DISABLE_TELEMETRY", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Gemini CLI asks whether the folder is trusted.
        drop(child.stdin.take().unwrap().write_all(b"y\ny\n"));
        let output = child.wait_with_output().unwrap();
        expect_success(&arguments.join(" "), &output).unwrap();
    }

    /// Installs the plugin with the commands of its README.
    pub(crate) fn install(&self) {
        let market = self.room.file(at_marketplace());
        let commands = installing(self.client);
        match self.client {
            Client::ClaudeCode(_) | Client::Codex(_) => self.by_readme(&commands, &market, &[]),
            Client::Gemini => {
                let [command] = commands.as_slice() else {
                    panic!("{commands:?}");
                };
                let asked_nothing = format!("{command} --consent");
                self.by_readme(&[asked_nothing], &market, &[]);
            }
            Client::Copilot => {
                for words in [
                    &["init", "--quiet"][..],
                    &["add", "--all", "--force"],
                    &["commit", "--quiet", "--message", "plugins"],
                ] {
                    let mut git = self.room.command("git");
                    let output = git.args(["-C", &market]).args(words).output().unwrap();
                    expect_success("git", &output).unwrap();
                }
                self.by_readme(&commands, ADDRESS, &[]);
            }
            Client::Opencode => {
                let folder = self.room.project().join("market/plugins/opencode");
                let registry = Registry::of(&self.room, &folder);
                let from = [("npm_config_registry", registry.address.as_str())];
                self.by_readme(&commands, &market, &from);
            }
        }
    }

    /// Runs commands of a README, with the place of the repository's copy instead of its name on GitHub.
    fn by_readme(&self, commands: &[String], market: &str, variables: &[(&str, &str)]) {
        for command in commands {
            let words = command.split(' ').skip(1).map(|word| match word {
                "interlock-cli/interlock" => market.to_owned(),
                _ => word.replace("PATH/plugins", &format!("{market}/plugins")),
            });
            let words: Vec<String> = words.collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.by_client(&words, variables);
        }
    }

    /// Uninstalls the plugin as its README says.
    pub(crate) fn uninstall(&self) {
        let commands = uninstalling(self.client);
        if self.client != Client::Opencode {
            return self.by_readme(&commands, "", &[]);
        }
        // It has no command for that: a person removes the name from the file.
        let file = self.room.config().join("opencode/opencode.jsonc");
        let text = fs::read_to_string(&file).unwrap();
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        settings.as_object_mut().unwrap().remove("plugin").unwrap();
        fs::write(file, settings.to_string()).unwrap();
    }

    /// Returns the client's settings, without the empty keys that a plugin leaves.
    pub(crate) fn settings(&self) -> BTreeMap<&'static str, Value> {
        let names: &[&str] = match self.client {
            Client::ClaudeCode(_) => &[".claude/settings.json"],
            Client::Codex(_) => &[".codex/config.toml", ".codex/hooks.json"],
            Client::Gemini => &[".gemini/settings.json"],
            Client::Copilot => &[".copilot/settings.json", ".copilot/mcp-config.json"],
            Client::Opencode => &[],
        };
        let read = |name: &&'static str| {
            let text = fs::read_to_string(self.room.home().join(name)).ok()?;
            let mut value = serde_json::from_str(&text).unwrap_or(Value::from(text));
            if let Value::Object(fields) = &mut value {
                fields.retain(|_, value| *value != serde_json::json!({}));
            }
            Some((*name, value))
        };
        names.iter().filter_map(read).collect()
    }

    /// Returns the server under which the model finds the control tools.
    pub(crate) fn server(&self) -> &'static str {
        match self.client {
            Client::ClaudeCode(_) if !self.room.project().join(".mcp.json").exists() => {
                "plugin_interlock_interlock"
            }
            Client::ClaudeCode(_) => {
                let servers = self.room.read(".mcp.json").unwrap_or_default();
                match servers.contains("\"interlock\"") {
                    true => "interlock",
                    false => "plugin_interlock_interlock",
                }
            }
            _ => "interlock",
        }
    }

    pub(crate) fn interlock(&self) -> Interlock<'_> {
        Interlock::new(INTERLOCK, &self.room)
    }

    /// Writes the hooks as well, and returns the output.
    pub(crate) fn init(&self) -> String {
        let mut command = self.room.command(INTERLOCK);
        if self.client == Client::Opencode {
            command.env("XDG_CACHE_HOME", self.room.path("cache"));
        }
        let output = command.args(["init", "--yes"]).output().unwrap();
        expect_success("interlock init", &output).unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn start(&self, workflow: &Value) -> String {
        self.room
            .write("workflow.json", &workflow.to_string())
            .unwrap();
        self.interlock().start("workflow.json").unwrap()
    }

    pub(crate) fn session(&self, script: Script) -> Outcome {
        let outcome = self.session_however_it_ends(script);
        assert_eq!(outcome.exit, Some(0), "{outcome:#?}");
        outcome
    }

    pub(crate) fn session_however_it_ends(&self, script: Script) -> Outcome {
        let mut session = Session::new(self.client, &self.room, script);
        if self.client == Client::Opencode {
            let cache = self.room.path("cache");
            session = session.env("XDG_CACHE_HOME", &cache.to_string_lossy());
        }
        if let Client::Codex(_) = self.client {
            // Stands for a person's acceptance in `/hooks`.
            session = session.arg("--dangerously-bypass-hook-trust");
        }
        if self.client == Client::ClaudeCode(Version::V2_1_197) {
            session = session.env("DISABLE_TELEMETRY", "1");
        }
        session.run().unwrap()
    }

    /// Returns the verdict on every proposal in the run's log, in order.
    pub(crate) fn verdicts(&self, run: &str) -> Vec<String> {
        let events = self.interlock().events(run).unwrap();
        events.iter().filter_map(verdict).collect()
    }

    /// Returns the row of `interlock doctor` about the client.
    pub(crate) fn doctor(&self) -> Value {
        let mut command = self.room.command(INTERLOCK);
        command.args(["doctor", "--json"]);
        if self.client == Client::Opencode {
            command.env("XDG_CACHE_HOME", self.room.path("cache"));
        }
        let said: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let rows = said["clients"].as_array().unwrap();
        let row = rows.iter().find(|row| row["client"] == self.client.id());
        row.unwrap_or_else(|| panic!("{said:#}")).clone()
    }
}

/// Returns the verdict that an event records, if it records one.
fn verdict(event: &Value) -> Option<String> {
    match event["event"].as_str()? {
        "CallAllowed" if event["source"] == "control" => None,
        "CallAllowed" => Some("allowed".to_owned()),
        "CallDenied" | "TransitionRejected" => event["refusal"]["code"].as_str().map(str::to_owned),
        "RunCompleted" | "RunFailed" | "RunStarted" => None,
        _ => event["to"].as_str().map(|state| format!("to {state}")),
    }
}
