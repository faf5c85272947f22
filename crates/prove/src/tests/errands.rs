//! Actions of an agent under a given workflow: its own events and commands, similar ones, and strange ones.

use interlock_core::{guard::Guard, machine::Machine, run::Run};
use serde_json::{Value, json};

use super::chance::Chance;
use crate::machine::all_guards;

/// Commands that no workflow names.
const STRANGE: [&str; 5] = [
    "ls",
    "curl https://example.com",
    "touch a.md",
    "make",
    "rm -rf build",
];
const TOOLS: [&str; 6] = ["Read", "Grep", "Glob", "WebFetch", "Task", "LS"];
const VALUES: [&str; 9] = [
    "null", "0", "1", "3.5", "12", "true", "\"pass\"", "\"fail\"", "[{},{}]",
];

/// The vocabulary of a workflow.
pub(super) struct Errands {
    events: Vec<String>,
    /// The events and the commands of each state.
    own: Vec<(String, Vec<String>, Vec<String>)>,
    commands: Vec<String>,
    fields: Vec<String>,
    paths: Vec<String>,
}

impl Errands {
    pub(super) fn of(machine: &Machine) -> Self {
        let states = machine.states.values();
        let events = states.clone().flat_map(|state| state.on.keys());
        let own = machine.states.iter().map(|(name, state)| {
            let events = state.on.keys().map(ToString::to_string);
            let commands = state.policy.allowed_commands.iter().flatten();
            let commands = commands.map(|entry| entry.text.clone());
            (name.to_string(), events.collect(), commands.collect())
        });
        let commands = states.flat_map(|state| state.policy.allowed_commands.iter().flatten());
        let mut commands: Vec<String> = commands.map(|entry| entry.text.clone()).collect();
        commands.sort();
        commands.dedup();
        let fields = all_guards(machine)
            .into_iter()
            .filter_map(|guard| match guard {
                Guard::Field(one) => Some(one.field.trim_start_matches('/').to_owned()),
                _ => None,
            });
        let first = |field: String| field.split('/').next().unwrap_or_default().to_owned();
        let patterns = machine
            .interrupts
            .values()
            .map(|one| one.file_pattern.as_str());
        let written = patterns.map(|pattern| {
            let plain = pattern.split(['{', ',', '}']).collect::<Vec<_>>();
            let one = match plain.as_slice() {
                [before, one, ..] => {
                    format!(
                        "{before}{one}{}",
                        pattern.split('}').nth(1).unwrap_or_default()
                    )
                }
                _ => pattern.to_owned(),
            };
            one.replace("**", "deep/x").replace('*', "y")
        });
        let ordinary = ["a.md", "src/b.rs", "docs/c.md", "deep/d/e.txt", "REVIEW.md"];
        Self {
            events: events.map(ToString::to_string).collect(),
            own: own.collect(),
            commands,
            fields: fields.map(first).collect(),
            paths: written.chain(ordinary.map(str::to_owned)).collect(),
        }
    }

    /// Generates an action for the current state of a run; three times out of four one that may be permitted.
    pub(super) fn line(&self, chance: &mut Chance, run: &Run) -> Vec<Value> {
        match chance.below(12) {
            0..=2 => self.command(chance, run),
            3 | 4 => {
                let path = chance.of_all(&self.paths).clone();
                let tool = chance.one(&["Write", "Edit", "NotebookEdit"]);
                let input = match tool {
                    "Edit" => json!({"file_path": path, "old_string": "a", "new_string": "b"}),
                    "Write" => json!({"file_path": path, "content": "x\n"}),
                    _ => json!({"notebook_path": path, "new_source": "x"}),
                };
                let end = chance.one(&["true", "true", "true", "false"]) == "true";
                vec![
                    json!({"tool": tool, "input": input, "files": {path: "a\n"}}),
                    json!({"result": {"ok": end}}),
                ]
            }
            5 => {
                let tool = chance.one(&TOOLS);
                let path = chance.of_all(&self.paths).clone();
                let bytes = [10, 10, 10, 2_000_000][chance.below(4)];
                vec![
                    json!({"tool": tool, "input": {"file_path": path, "pattern": "x", "url": "https://example.com", "prompt": "x", "description": "x"}}),
                    json!({"result": {"ok": true, "bytes": bytes}}),
                ]
            }
            6 | 7 => vec![json!({"approve": {"by": "a person"}})],
            8 if chance.is(3) => vec![json!({"reject": {"by": "a person"}})],
            _ => {
                let event = self.event(chance, run);
                let mut data = serde_json::Map::new();
                for field in &self.fields {
                    if chance.is(6) {
                        let value = serde_json::from_str(chance.one(&VALUES));
                        data.insert(field.clone(), value.unwrap_or_default());
                    }
                }
                vec![json!({"transition": event, "data": data})]
            }
        }
    }

    /// Returns an event, usually one of the current state.
    fn event(&self, chance: &mut Chance, run: &Run) -> String {
        match self.state(run) {
            Some((_, events, _)) if !events.is_empty() && chance.is(8) => {
                chance.of_all(events).clone()
            }
            _ => chance.of_all(&self.events).clone(),
        }
    }

    /// Finds the vocabulary of the current state.
    fn state(&self, run: &Run) -> Option<&(String, Vec<String>, Vec<String>)> {
        let at = run.root.at.to_string();
        self.own.iter().find(|(state, ..)| *state == at)
    }

    fn command(&self, chance: &mut Chance, run: &Run) -> Vec<Value> {
        let mut command = match self.state(run) {
            Some((_, _, own)) if !own.is_empty() && chance.is(7) => chance.of_all(own).clone(),
            _ if !self.commands.is_empty() && chance.is(8) => chance.of_all(&self.commands).clone(),
            _ => chance.one(&STRANGE).to_owned(),
        };
        if chance.is(2) {
            command.push_str(" --all");
        }
        let end = match chance.below(5) {
            0 => json!({"exit": 1}),
            1 => json!({"exit": 0, "bytes": 2_000_000}),
            _ => json!({"exit": 0}),
        };
        vec![
            json!({"tool": "Bash", "input": {"command": command}}),
            json!({"result": end}),
        ]
    }
}
