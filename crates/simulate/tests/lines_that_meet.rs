//! Regions that converge and regions of items, on machines that no format produced.

use interlock_core::machine::{Limits, Machine};
use interlock_simulate::{OutputLine, Scenario, Simulation};
use serde_json::{Map, Value, json};

/// Returns a machine from a short form: each state with the states it leads to by `done`.
///
/// Several targets are converging regions; a target that begins with `*` is one region for each item of `files`.
fn machine(initial: &str, states: &[(&str, &[&str])], at_once: usize) -> Machine {
    let to =
        |state: &str| json!({"branched": false, "transitions": [{"target": {"state": state}}]});
    let mut made = Map::new();
    for (name, targets) in states {
        let after = format!("after:{name}");
        let target = match targets {
            [one] => match one.strip_prefix('*') {
                Some(item) => {
                    made.insert(after.clone(), json!({
                        "activity": {"parallel": {
                            "over": {"items": {"items": "files", "initial": item, "without_items": "join"}},
                            "join": "converge", "merge": "conversation",
                        }},
                        "shown_as": after,
                        "on": {},
                    }));
                    after.clone()
                }
                None => (*one).to_owned(),
            },
            several => {
                let branches: Map<String, Value> = several
                    .iter()
                    .map(|state| {
                        (
                            (*state).to_owned(),
                            json!({"initial": state, "terminal": "end"}),
                        )
                    })
                    .collect();
                made.insert(
                    after.clone(),
                    json!({
                        "activity": {"parallel": {"over": {"branches": branches}, "join": "converge", "merge": "conversation"}},
                        "shown_as": after,
                        "on": {"done": to("end")},
                    }),
                );
                after.clone()
            }
        };
        made.insert(
            (*name).to_owned(),
            json!({
                "activity": {"task": {"kind": { "program": "bash" }, "input": {"plain": null}}},
                "capture": {"key": *name},
                "on": {"done": to(&target)},
            }),
        );
    }
    made.insert(
        "end".to_owned(),
        json!({"activity": {"final": {"outcome": "success"}}}),
    );
    let limits = Limits {
        at_once: Some(at_once),
        ..Limits::default()
    };
    let value =
        json!({"id": "m", "initial": initial, "durable": true, "limits": limits, "states": made});
    serde_json::from_value::<Machine>(value).unwrap().seal()
}

struct Play(Simulation);

impl Play {
    fn of(machine: Machine) -> Self {
        Self(Simulation::new(machine, Scenario::default()))
    }

    fn say(&mut self, line: Value) -> Value {
        let line: OutputLine = self.0.step(&line.to_string()).unwrap();
        serde_json::to_value(&line).unwrap()
    }

    fn done(&mut self, path: &str, output: Value) -> Value {
        let line = self.say(json!({"activity": {"path": path, "done": output}}));
        assert_eq!(line["ok"], true, "{line}");
        line
    }

    /// Returns the paths of the active effects.
    fn at_work(&mut self) -> Vec<String> {
        let line = self.say(json!({"state": {}}));
        let effects = line["effects"].as_array().unwrap().clone();
        effects
            .iter()
            .map(|effect| effect["path"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn a_join_is_entered_once_and_a_long_line_elsewhere_delays_nothing() {
    // The example of the format: A to [B, C, E1 -> E2 -> end], B and C to D.
    let mut play = Play::of(machine(
        "A",
        &[
            ("A", &["B", "C", "E1"]),
            ("B", &["D"]),
            ("C", &["D"]),
            ("E1", &["E2"]),
            ("E2", &["end"]),
            ("D", &["end"]),
        ],
        10,
    ));
    play.done("A", json!("a"));
    assert_eq!(
        play.at_work(),
        ["after:A/B/B", "after:A/C/C", "after:A/E1/E1"]
    );
    play.done("B", json!("b"));
    assert_eq!(play.at_work(), ["after:A/C/C", "after:A/E1/E1"]);
    let line = play.done("C", json!("c"));
    assert!(
        line["log"].as_array().unwrap().contains(&json!("LinesMet")),
        "{line}"
    );
    assert_eq!(play.at_work(), ["after:A/B/D", "after:A/E1/E1"]);
    let line = play.say(json!({"state": {}}));
    assert_eq!(
        line["context"],
        json!({"A": "a", "B": "b", "C": "c"}),
        "both lines' keys: {line}"
    );
    play.done("after:A/B/D", json!("d"));
    play.done("E1", json!("e1"));
    let line = play.done("after:A/E1/E2", json!("e2"));
    assert_eq!(line["status"], "completed", "{line}");
}

#[test]
fn a_nested_fork_adds_lines_to_the_same_one() {
    let mut play = Play::of(machine(
        "A",
        &[
            ("A", &["B", "C"]),
            ("B", &["X", "Y"]),
            ("X", &["J"]),
            ("Y", &["J"]),
            ("C", &["J"]),
            ("J", &["end"]),
        ],
        10,
    ));
    play.done("A", json!("a"));
    play.done("B", json!("b"));
    assert_eq!(
        play.at_work(),
        ["after:A/C/C", "after:A/X/X", "after:A/Y/Y"]
    );
    play.done("C", json!("c"));
    play.done("X", json!("x"));
    let line = play.done("Y", json!("y"));
    assert_eq!(
        line["context"],
        json!({"A": "a", "C": "c", "B": "b", "X": "x", "Y": "y"}),
        "{line}"
    );
    assert_eq!(play.at_work(), ["after:A/C/J"]);
    let line = play.done("after:A/C/J", json!("j"));
    assert_eq!(line["status"], "completed", "{line}");
}

#[test]
fn no_more_states_are_at_work_than_may_be() {
    let mut play = Play::of(machine(
        "A",
        &[
            ("A", &["B", "C", "D"]),
            ("B", &["end"]),
            ("C", &["end"]),
            ("D", &["end"]),
        ],
        2,
    ));
    play.done("A", json!("a"));
    assert_eq!(play.at_work(), ["after:A/B/B", "after:A/C/C"]);
    play.done("C", json!("c"));
    assert_eq!(play.at_work(), ["after:A/B/B", "after:A/D/D"]);
}

#[test]
fn a_failed_line_lets_the_others_end_and_the_run_goes_on_from_there() {
    let mut play = Play::of(machine(
        "A",
        &[
            ("A", &["B", "C"]),
            ("B", &["D"]),
            ("C", &["D"]),
            ("D", &["end"]),
        ],
        10,
    ));
    play.done("A", json!("a"));
    let line = play.say(
        json!({"activity": {"path": "B", "error": {"code": "model_error", "message": "gone"}}}),
    );
    assert_eq!(line["status"], "running", "{line}");
    let line = play.done("C", json!("c"));
    assert_eq!(line["status"], "failed", "{line}");
}

#[test]
fn items_run_a_chain_each_and_join_in_their_order() {
    let machine = machine(
        "split",
        &[
            ("split", &["*check"]),
            ("check", &["join"]),
            ("join", &["end"]),
        ],
        2,
    );
    let mut play = Play::of(machine);
    let line = play.done("split", json!({"files": ["a", "b", "c"]}));
    assert_eq!(
        line["state"],
        json!([
            "after:split/1/check",
            "after:split/2/check",
            "after:split/3/check"
        ]),
        "{line}"
    );
    assert_eq!(
        play.at_work(),
        ["after:split/1/check", "after:split/2/check"]
    );
    play.done("after:split/2/check", json!("B"));
    assert_eq!(
        play.at_work(),
        ["after:split/1/check", "after:split/3/check"]
    );
    play.done("after:split/1/check", json!("A"));
    play.done("after:split/3/check", json!("C"));
    assert_eq!(play.at_work(), ["join"]);
    let line = play.say(json!({"state": {}}));
    assert_eq!(line["context"]["check"], "C", "the last item wins: {line}");
}

#[test]
fn without_items_the_join_is_entered_all_the_same() {
    let mut play = Play::of(machine(
        "split",
        &[
            ("split", &["*check"]),
            ("check", &["join"]),
            ("join", &["end"]),
        ],
        2,
    ));
    play.done("split", json!({"files": []}));
    assert_eq!(play.at_work(), ["join"]);
    let mut play = Play::of(machine(
        "split",
        &[
            ("split", &["*check"]),
            ("check", &["join"]),
            ("join", &["end"]),
        ],
        2,
    ));
    let line = play.done("split", json!({"other": 1}));
    assert_eq!(line["status"], "failed", "{line}");
    assert!(
        line["message"].as_str().unwrap().contains("`files`"),
        "{line}"
    );
}

#[test]
fn an_item_is_passed_along_a_chain() {
    let mut play = Play::of(machine(
        "split",
        &[
            ("split", &["*one"]),
            ("one", &["*two"]),
            ("two", &["join"]),
            ("join", &["end"]),
        ],
        9,
    ));
    play.done("split", json!({"files": ["a", "b"]}));
    play.done("after:split/1/one", json!("1"));
    assert_eq!(play.at_work(), ["after:split/1/two", "after:split/2/one"]);
    play.done("after:split/2/one", json!("2"));
    play.done("after:split/1/two", json!("3"));
    play.done("after:split/2/two", json!("4"));
    assert_eq!(play.at_work(), ["join"]);
}
