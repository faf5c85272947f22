//! A durable run moves to another version of its workflow.

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Command, CommandKind},
    decide, effects,
    event::Cause,
    evolve,
    machine::Machine,
    names::RunId,
    run::{DurableRun, Phase, Run},
};
use interlock_expr::text::Places;
use serde_json::{Value, json};

/// A run that the test drives, with the machine it follows now.
struct Driven {
    machine: Machine,
    run: Run,
}

impl Driven {
    fn start(machine: Machine) -> Self {
        let run = Run::new(RunId::new("r"));
        let mut driven = Self { machine, run };
        driven.accept(CommandKind::Start {
            input: json!({}).as_object().unwrap().clone(),
            by: "ana".to_owned(),
            durable: Some(DurableRun {
                places: Places::default(),
                ..DurableRun::default()
            }),
        });
        driven
    }

    fn ask(&mut self, ask: CommandKind) -> Reply {
        let command = Command {
            at_ms: 1_000,
            kind: ask,
        };
        let decision = decide(&self.machine, &self.run, &command);
        self.run = decision.events.iter().fold(self.run.clone(), evolve);
        decision.reply
    }

    fn accept(&mut self, ask: CommandKind) {
        assert_eq!(self.ask(ask), Reply::Accepted);
    }

    fn end(&mut self, outcome: ActivityOutcome) {
        self.accept(CommandKind::EndActivity {
            path: None,
            outcome,
        });
    }

    fn adopt(&mut self, machine: &Machine) -> Reply {
        let reply = self.ask(CommandKind::Adopt {
            machine: Box::new(machine.clone()),
            by: "ana".to_owned(),
        });
        if reply == Reply::Accepted {
            self.machine = machine.clone();
        }
        reply
    }

    /// Returns the path and the command of every effect that is to run.
    fn running(&self) -> Vec<(String, String)> {
        let effects = effects(&self.machine, &self.run);
        let command = |input: &Value| {
            input
                .get("command")
                .and_then(Value::as_str)
                .unwrap()
                .to_owned()
        };
        effects
            .iter()
            .map(|effect| (effect.path.clone(), command(&effect.input)))
            .collect()
    }
}

fn task(command: &Value, next: Option<&str>) -> Value {
    let target = next.map_or(json!({ "end": "success" }), |next| json!({ "state": next }));
    json!({
        "activity": { "task": { "kind": { "program": "bash" }, "input": { "object": { "command": { "text": command } } } } },
        "on": { "done": { "transitions": [{ "target": target }] } },
    })
}

fn plain(text: &str) -> Value {
    json!([{ "plain": text }])
}

fn machine(initial: &str, context: &Value, states: &Value) -> Machine {
    let machine = json!({
        "id": "flow", "initial": initial, "durable": true, "context": context, "states": states,
    });
    serde_json::from_value::<Machine>(machine).unwrap().seal()
}

fn first() -> Machine {
    let states = json!({ "a": task(&plain("old a"), Some("b")), "b": task(&plain("old b"), None) });
    machine("a", &json!({ "x": "1" }), &states)
}

#[test]
fn what_stands_is_begun_anew_as_the_other_version_says() {
    let mut driven = Driven::start(first());
    driven.end(ActivityOutcome::done(""));
    let text = json!([{ "hole": { "key": "x" } }, { "hole": { "key": "y" } }]);
    let states = json!({ "b": task(&text, Some("c")), "c": task(&plain("c"), None) });
    let other = machine("b", &json!({ "x": "2", "y": "new" }), &states);
    assert_eq!(driven.adopt(&other), Reply::Accepted);
    // A variable that exists in the run keeps its value.
    assert_eq!(driven.running(), [("b".to_owned(), "1new".to_owned())]);
    assert_eq!(driven.run.adopted, Some(other.hash));
    driven.end(ActivityOutcome::done(""));
    assert_eq!(driven.running(), [("c".to_owned(), "c".to_owned())]);
}

#[test]
fn a_failed_run_moves_and_then_goes_on() {
    let mut driven = Driven::start(first());
    driven.end(ActivityOutcome::Failed(Cause::new(3, "no")));
    let states = json!({ "a": task(&plain("new a"), None) });
    let other = machine("a", &json!({}), &states);
    assert_eq!(driven.adopt(&other), Reply::Accepted);
    assert!(driven.running().is_empty(), "it is over still");
    driven.accept(CommandKind::SetVariables {
        values: json!({ "x": "3" }).as_object().unwrap().clone(),
        by: "ana".to_owned(),
    });
    driven.accept(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    assert_eq!(driven.running(), [("a".to_owned(), "new a".to_owned())]);
}

#[test]
fn a_version_without_the_path_is_refused() {
    let mut driven = Driven::start(first());
    let before = driven.run.clone();
    let states = json!({ "b": task(&plain("b"), None) });
    let Reply::Refused(refusal) = driven.adopt(&machine("b", &json!({}), &states)) else {
        panic!("it has no `a`");
    };
    assert!(refusal.message.contains("`a`"), "{refusal:?}");
    assert_eq!(driven.run, before);
}

#[test]
fn a_completed_run_moves_nowhere_and_takes_no_variables() {
    let mut driven = Driven::start(first());
    driven.end(ActivityOutcome::done(""));
    driven.end(ActivityOutcome::done(""));
    assert!(matches!(driven.run.phase, Phase::Ended { .. }));
    assert!(matches!(driven.adopt(&first()), Reply::Refused(_)));
    let reply = driven.ask(CommandKind::SetVariables {
        values: json!({ "x": "3" }).as_object().unwrap().clone(),
        by: "ana".to_owned(),
    });
    assert!(matches!(reply, Reply::Refused(_)));
}

/// Returns a machine with a fork of two branches, one state each; both lead to `done`.
fn forked(second: &str) -> Machine {
    let states = json!({
        "par": {
            "activity": { "parallel": { "over": { "branches": {
                "x": { "initial": "x1", "terminal": "done" },
                second: { "initial": "y1", "terminal": "done" },
            } }, "join": "settled", "merge": "captured" } },
            "on": { "done": { "transitions": [{ "target": { "end": "success" } }] } },
        },
        "x1": task(&plain("x"), Some("done")),
        "y1": task(&plain(second), Some("done")),
        "done": { "activity": { "final": { "outcome": "success" } } },
    });
    machine("par", &json!({}), &states)
}

#[test]
fn branches_that_ended_stay_ended() {
    let mut driven = Driven::start(forked("y"));
    let ended = |path: &str| CommandKind::EndActivity {
        path: Some(path.to_owned()),
        outcome: ActivityOutcome::done(""),
    };
    driven.accept(ended("x"));
    let mut other = forked("y");
    other.context = json!({ "z": "1" }).as_object().unwrap().clone();
    let other = other.seal();
    assert_eq!(driven.adopt(&other), Reply::Accepted);
    let paths: Vec<String> = driven.running().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths.len(), 1, "{paths:?}");
    assert!(
        paths.iter().all(|path| path.starts_with("par/y")),
        "{paths:?}"
    );
    driven.accept(ended("y"));
    assert!(driven.run.is_over());
}

#[test]
fn other_branches_are_another_path() {
    let mut driven = Driven::start(forked("y"));
    assert!(matches!(driven.adopt(&forked("z")), Reply::Refused(_)));
}

/// Returns a machine that calls one of two identical machines.
fn calling(called: &str) -> Machine {
    let inner =
        |id: &str| json!({ "id": id, "initial": "in", "states": { "in": task(&plain(id), None) } });
    let machine = json!({
        "id": "flow", "initial": "c", "durable": true,
        "machines": { "one": inner("one"), "two": inner("two") },
        "states": { "c": {
            "activity": { "call": { "machine": called } },
            "on": { "done": { "transitions": [{ "target": { "end": "success" } }] } },
        } },
    });
    serde_json::from_value::<Machine>(machine).unwrap().seal()
}

#[test]
fn another_called_machine_is_another_path() {
    let mut driven = Driven::start(calling("one"));
    assert_eq!(
        driven.running(),
        [("c/one/in".to_owned(), "one".to_owned())]
    );
    let reply = driven.adopt(&calling("two"));
    assert!(matches!(reply, Reply::Refused(_)), "{reply:?}");
    // A state that forks where the run has called is a different state, too.
    let mut forks = forked("y");
    let par = forks.states.shift_remove("par").unwrap();
    forks.states.insert("c".into(), par);
    let reply = driven.adopt(&forks.seal());
    assert!(matches!(reply, Reply::Refused(_)), "{reply:?}");
    let mut same = calling("one");
    same.context = json!({ "z": "1" }).as_object().unwrap().clone();
    assert_eq!(driven.adopt(&same.seal()), Reply::Accepted);
    assert_eq!(
        driven.running(),
        [("c/one/in".to_owned(), "one".to_owned())]
    );
}

#[test]
fn a_version_without_the_called_machine_is_refused() {
    let mut driven = Driven::start(calling("one"));
    let mut without = calling("one");
    without.machines.shift_remove("one").unwrap();
    let before = driven.run.clone();
    let reply = driven.adopt(&without.seal());
    assert!(matches!(reply, Reply::Refused(_)), "{reply:?}");
    assert_eq!(driven.run, before);
}

#[test]
fn a_run_of_steps_moves_to_a_version_of_steps_only() {
    let mut driven = Driven::start(first());
    let mut guarded = first();
    guarded.durable = false;
    assert!(matches!(driven.adopt(&guarded), Reply::Refused(_)));
    assert_eq!(driven.adopt(&first()), Reply::Accepted);
}
