//! The table of escape attempts: one block per attempt, read from `ways.txt`.

use interlock_testkit::claude::Mode;
use interlock_testkit::provider::{Say, call};
use serde_json::{Value, json};

const TABLE: &str = include_str!("ways.txt");
/// Length of the very long text in the table.
const LONG: usize = 10_000_000;

/// One attempt of a guarded agent to escape.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way {
    /// Its name.
    pub(crate) name: String,
    /// The states in which it is tried.
    pub(crate) places: Vec<String>,
    /// One of these must be in the answer to one of its calls; `none` if no answer is required.
    pub(crate) answers: Vec<String>,
    /// Whether the run is paused afterwards, with everything restored.
    pub(crate) pauses: bool,
    /// The event requested afterwards, which must be refused.
    pub(crate) claim: Option<String>,
    calls: Vec<(String, String)>,
}

impl Way {
    /// Adapts the attempt to a client that asks its absent person itself: that is an answer, too, and nothing runs.
    pub(crate) fn in_mode(mut self, mode: Mode) -> Way {
        if mode == Mode::Default {
            self.answers.push("client".to_owned());
            self.pauses = false;
        }
        self
    }

    /// Returns the calls to propose, with the paths of a room.
    pub(crate) fn blocks(&self, places: &[(&str, String)]) -> Vec<Say> {
        let call = |(tool_name, input): &(String, String)| {
            let input = filled(input, places);
            match tool_name.as_str() {
                "bash" => bash(&input),
                name => call(name, json_of(&self.name, &input)),
            }
        };
        let claim = self.claim.as_ref().map(|event| transition(event));
        self.calls.iter().map(call).chain(claim).collect()
    }
}

/// Returns every attempt in the table for `place`.
pub(crate) fn of(place: &str) -> Vec<Way> {
    let here = |way: &Way| way.places.iter().any(|name| name == place);
    all().into_iter().filter(here).collect()
}

/// Returns the whole table.
pub(crate) fn all() -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        if let Some(more) = line.strip_prefix('|') {
            let call = ways.last_mut().and_then(|way| way.calls.last_mut());
            let (_, input) = call.unwrap_or_else(|| panic!("`{line}` goes on with nothing"));
            input.push('\n');
            input.push_str(more);
        } else if !line.is_empty() {
            row(&mut ways, line);
        }
    }
    ways
}

fn row(ways: &mut Vec<Way>, line: &str) {
    let (key, value) = line
        .split_once(": ")
        .unwrap_or_else(|| panic!("`{line}` has no key"));
    if key == "way" {
        let name = value.to_owned();
        return ways.push(Way {
            name,
            ..Way::default()
        });
    }
    let way = ways
        .last_mut()
        .unwrap_or_else(|| panic!("`{line}` is of no way"));
    let words = || value.split(' ').map(str::to_owned).collect();
    match key {
        "in" => way.places = words(),
        "answer" => way.answers = words(),
        "pauses" => way.pauses = value == "yes",
        "claim" => way.claim = Some(value.to_owned()),
        tool => way.calls.push((tool.to_owned(), value.to_owned())),
    }
}

fn filled(text: &str, places: &[(&str, String)]) -> String {
    let mut text = text.to_owned();
    for (name, place) in places {
        text = text.replace(&format!("@{name}@"), place);
    }
    // Long text last, because it is not searched.
    for name in ["@10MB@", "@deep@", "@many@"] {
        if text.contains(name) {
            text = text.replace(name, &long(name));
        }
    }
    text
}

fn long(name: &str) -> String {
    match name {
        "@10MB@" => "a".repeat(LONG),
        "@deep@" => "$(echo ".repeat(2000) + &")".repeat(2000),
        _ => ":;".repeat(3000),
    }
}

fn json_of(way: &str, text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{way}: `{text}`: {error}"))
}

/// Returns a call of the shell tool.
pub(crate) fn bash(command: &str) -> Say {
    call("Bash", json!({"command": command, "description": "a line"}))
}

/// Returns a request to the control server for a transition.
pub(crate) fn transition(event: &str) -> Say {
    call(
        "mcp__interlock__interlock_transition",
        json!({"event": event}),
    )
}
