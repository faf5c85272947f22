//! A durable run that the test drives, and its machines.

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Command, CommandKind, Effect, EffectStatus},
    decide, effects,
    event::{Cause, Event},
    evolve,
    machine::{Machine, Outcome},
    names::RunId,
    run::{DurableRun, Phase, Run},
};
use interlock_expr::text::Places;
use serde_json::{Value, json};

/// A run that the test drives.
pub(crate) struct Driven {
    pub(crate) machine: Machine,
    pub(crate) run: Run,
    pub(crate) at_ms: u64,
    pub(crate) log: Vec<Event>,
}

impl Driven {
    pub(crate) fn start(machine: Value) -> Self {
        let machine: Machine = serde_json::from_value(machine).unwrap();
        let mut driven = Self {
            machine,
            run: Run::new(RunId::new("r")),
            at_ms: 1_000,
            log: Vec::new(),
        };
        let places = Places {
            run_dir: "/run".to_owned(),
            project: "/project".to_owned(),
            home: "/home".to_owned(),
        };
        driven.accept(CommandKind::Start {
            input: json!({}).as_object().unwrap().clone(),
            by: "ana".to_owned(),
            durable: Some(DurableRun {
                places,
                ..DurableRun::default()
            }),
        });
        driven
    }

    pub(crate) fn ask(&mut self, command: CommandKind) -> Reply {
        let command = Command {
            at_ms: self.at_ms,
            kind: command,
        };
        let decision = decide(&self.machine, &self.run, &command);
        for event in decision.events {
            // Events are folded as they are read back from the log.
            let text = serde_json::to_string(&event).unwrap();
            let event: Event = serde_json::from_str(&text).unwrap();
            let run = std::mem::replace(&mut self.run, Run::new(RunId::new("r")));
            self.run = evolve(run, &event);
            self.log.push(event);
        }
        let kept: Run = serde_json::from_str(&serde_json::to_string(&self.run).unwrap()).unwrap();
        assert_eq!(kept, self.run, "a snapshot gives the run back");
        decision.reply
    }

    pub(crate) fn accept(&mut self, command: CommandKind) {
        let reply = self.ask(command);
        assert_eq!(reply, Reply::Accepted);
    }

    pub(crate) fn effects(&self) -> Vec<Effect> {
        effects(&self.machine, &self.run)
    }

    /// Returns the paths of the effects to run, with the `command` of their input.
    pub(crate) fn running(&self) -> Vec<(String, String)> {
        self.effects()
            .into_iter()
            .filter(|effect| effect.status == EffectStatus::Running)
            .map(|effect| {
                let command = effect.input.get("command").and_then(Value::as_str);
                (effect.path, command.unwrap_or_default().to_owned())
            })
            .collect()
    }

    pub(crate) fn done(&mut self, path: &str, output: &str) {
        self.accept(CommandKind::EndActivity {
            path: Some(path.to_owned()),
            outcome: ActivityOutcome::done(json!(output)),
        });
    }

    pub(crate) fn failed(&mut self, path: &str, code: i64, stderr: &str) {
        self.accept(CommandKind::EndActivity {
            path: Some(path.to_owned()),
            outcome: ActivityOutcome::Failed(Cause {
                stderr: stderr.to_owned(),
                ..Cause::new(code, format!("it ended with {code}"))
            }),
        });
    }

    /// Returns the exit code of a run that has ended.
    pub(crate) fn code(&self) -> Option<u8> {
        match &self.run.phase {
            Phase::Ended {
                outcome: Outcome::Success,
                ..
            } => Some(0),
            Phase::Ended {
                cause: Some(cause), ..
            } => Some(cause.number()),
            _ => None,
        }
    }
}

pub(crate) fn plain(text: &str) -> Value {
    json!([{ "plain": text }])
}

pub(crate) fn key(name: &str) -> Value {
    json!([{ "hole": { "key": name } }])
}

/// Returns a state that runs a shell line, with these transitions.
pub(crate) fn task(command: &Value, on: &Value, more: &Value) -> Value {
    let mut state = json!({
        "activity": { "task": { "kind": { "program": "bash" }, "input": { "object": { "command": { "text": command } } } } },
        "on": on,
        "on_crash": "ask",
    });
    let fields = state.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    state
}

pub(crate) fn to(state: &str) -> Value {
    json!({ "transitions": [{ "target": { "state": state } }] })
}

pub(crate) fn end() -> Value {
    json!({ "transitions": [{ "target": { "end": "success" } }] })
}

/// Returns error rules: a state for each code, then the rest.
pub(crate) fn on_codes(codes: &[(i64, &str)], rest: Option<&str>) -> Value {
    let mut transitions: Vec<Value> = codes
        .iter()
        .map(|(code, state)| {
            json!({ "guards": [{ "inline": { "code": code } }], "target": { "state": state } })
        })
        .collect();
    if let Some(state) = rest {
        transitions
            .push(json!({ "guards": [{ "inline": "uncancelled" }], "target": { "state": state } }));
    }
    json!({ "branched": true, "transitions": transitions })
}

pub(crate) fn machine(context: &Value, states: &Value, machines: &Value) -> Value {
    json!({
        "id": "m",
        "initial": states.as_object().unwrap().keys().next().unwrap(),
        "context": context,
        "states": states,
        "machines": machines,
        "durable": true,
    })
}

pub(crate) fn called(id: &str, states: &Value) -> Value {
    let mut machine = machine(&json!({}), states, &json!({}));
    machine["id"] = json!(id);
    machine
}
