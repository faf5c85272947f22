//! The material for a workflow's sessions: what its cases say, and what may be sent to every workflow.

use std::collections::BTreeSet;

use interlock_core::{
    call::ToolCall,
    command::{ActivityOutcome, Answer},
    machine::{Machine, Object},
};
use interlock_simulate::{InputLine, Scenario, call, cases::Case, input::ToolLine};
use serde_json::{Value, json};

use crate::sessions::case_files::Cased;

/// Maximum number of calls from a workflow's cases in its sessions.
const CALLS_MAX: usize = 14;

/// A workflow, and the material for its sessions.
pub(crate) struct Material {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) scenario: Scenario,
    /// The lines of its cases.
    pub(crate) lines: Vec<InputLine>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) facts: Vec<Value>,
    pub(crate) events: Vec<String>,
    pub(crate) data: Vec<Object>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) outcomes: Vec<ActivityOutcome>,
    /// Patterns of frozen files.
    pub(crate) frozen: Vec<String>,
    pub(crate) states: Vec<Value>,
    /// Whether its sessions may play variants of the machine.
    pub(crate) may_differ: bool,
}

impl Material {
    pub(crate) fn of(cased: &Cased) -> Self {
        let mut all = Self::with_cases(&cased.name, &cased.machine, &cased.file.cases);
        all.prepare();
        all
    }

    /// Returns the material of a machine of steps without cases: its programs print lines, or fail with handled codes.
    pub(crate) fn of_steps(name: &str, machine: &Machine) -> Self {
        let mut all = Self::with_cases(name, machine, &[]);
        let printed = ["a\nb\nc", "", "one", "yes", "2"].map(|text| json!(text));
        all.outcomes = printed.map(ActivityOutcome::done).to_vec();
        // A variant might have a fork that begins with itself, which no format permits.
        all.may_differ = false;
        all.prepare();
        all
    }

    fn with_cases(name: &str, machine: &Machine, cases: &[Case]) -> Self {
        let mut scenario = Scenario::default();
        for case in cases {
            scenario.level = case.level.unwrap_or(scenario.level);
            if scenario.input.is_empty() {
                scenario.input.clone_from(&case.input);
            }
        }
        let steps = cases.iter().flat_map(|case| &case.steps);
        Self {
            name: name.to_owned(),
            machine: Machine {
                hash: "own".to_owned(),
                ..machine.clone()
            },
            scenario,
            lines: steps.map(|step| step.line.clone()).collect(),
            calls: Vec::new(),
            facts: Vec::new(),
            events: Vec::new(),
            data: values_of(machine),
            answers: vec![Answer {
                by: "ana".to_owned(),
                ..Answer::default()
            }],
            outcomes: Vec::new(),
            frozen: Vec::new(),
            states: Vec::new(),
            may_differ: true,
        }
    }

    /// Collects the content of its lines, and what may be sent to every workflow.
    fn prepare(&mut self) {
        let all = self;
        for line in all.lines.clone() {
            all.take(line);
        }
        for (tool, input) in [
            ("Read", json!({"file_path": "src/a.py"})),
            (
                "Edit",
                json!({"file_path": "src/a.py", "old_string": "x", "new_string": "y\nz"}),
            ),
            ("Bash", json!({"command": "make test; echo x > out.txt"})),
        ] {
            all.call(&ToolLine {
                tool: tool.to_owned(),
                input,
                ..ToolLine::default()
            });
        }
        let shell = all
            .calls
            .iter()
            .filter_map(|call| call.facts.shell.as_ref());
        let commands = shell.flat_map(|line| &line.commands);
        all.facts = commands
            .map(|it| serde_json::to_value(it).unwrap())
            .collect();
        let facts = all
            .calls
            .iter()
            .map(|call| serde_json::to_value(&call.facts));
        all.facts.extend(facts.map(Result::unwrap));
        let machine = serde_json::to_value(&all.machine).unwrap();
        collect(&machine, "frozen", &mut |value| {
            let patterns = value.as_array().into_iter().flatten();
            let patterns = patterns.filter_map(Value::as_str).map(str::to_owned);
            all.frozen.extend(patterns);
        });
        let states = machine.get("states").and_then(Value::as_object);
        all.states = states.map_or_else(Vec::new, |all| all.values().cloned().collect());
    }

    fn take(&mut self, line: InputLine) {
        match line {
            InputLine::Tool(tool) => self.call(&tool),
            InputLine::Message(message) => {
                for tool in &message.calls {
                    self.call(tool);
                }
            }
            InputLine::Transition(line) => {
                self.events.push(line.event);
                self.data.push(line.data);
            }
            InputLine::Approve(line) | InputLine::Reject(line) => self.answers.push(Answer {
                by: line.by,
                data: line.data,
                note: line.note,
                path: line.path,
                message: line.message,
                edit: line.edit,
                of: line.of,
                ..Answer::default()
            }),
            InputLine::Activity(line) => self.outcomes.push(line.outcome),
            _ => {}
        }
    }

    fn call(&mut self, line: &ToolLine) {
        if self.calls.len() < CALLS_MAX {
            self.calls.push(call(&self.scenario, line, String::new()));
        }
    }
}

/// Returns data that a machine's guards require, and data that they do not.
fn values_of(machine: &Machine) -> Vec<Object> {
    let text = serde_json::to_value(machine).unwrap();
    let mut keys: BTreeSet<String> = machine.context.keys().cloned().collect();
    let mut values = vec![json!(1), json!("x"), json!(true), Value::Null];
    collect(&text, "field", &mut |value| match value {
        Value::String(key) => drop(keys.insert(key.clone())),
        Value::Object(guard) => values.extend(guard.get("value").cloned()),
        _ => {}
    });
    let mut all = vec![Object::new()];
    for (number, key) in keys.iter().enumerate() {
        for (at, value) in values.iter().enumerate() {
            if at < 4 || at % 4 == number % 4 {
                all.push(Object::from_iter([(key.clone(), value.clone())]));
            }
        }
    }
    all
}

/// Passes every value of a key to `taken`, at any depth.
fn collect(value: &Value, key: &str, taken: &mut dyn FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, taken)),
        Value::Object(keys) => {
            for (name, inner) in keys {
                if name == key {
                    taken(inner);
                }
                collect(inner, key, taken);
            }
        }
        _ => {}
    }
}
