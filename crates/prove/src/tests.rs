//! Runs made by chance, with calls that the graph never heard of: each of their steps is one of the graph's.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a failed test panics, and a seed may be named from outside"
)]

use std::collections::BTreeSet;

use interlock_formats::{NoWorkflows, Predicate, Source, load};
use interlock_simulate::{Scenario, Simulation};
use serde_json::{Value, json};

use crate::{
    explore::{Asking, explore},
    graph::Graph,
    hash::at,
    machine::unsupported,
    model::Model,
};

/// Numbers by a fixed rule: the same seed gives the same machine and the same runs.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % limit.max(1)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn is(&mut self, of_ten: usize) -> bool {
        self.below(10) < of_ten
    }
}

const GUARDS: [&str; 9] = [
    "{evidence: {command: cargo test}}",
    "{evidence: {command: cargo test, since: state_entry}}",
    "{evidence: {command: npm test, exit: 1, since: run_start}}",
    "{evidence: {tool: Read}}",
    "{field: n, op: gt, value: 3}",
    "{field: n, op: lte, value: 7}",
    "{field: word, op: contains, value: yes}",
    "{not: g0}",
    "{any: [g0, g4]}",
];

/// Writes a machine: states in a row, so that each is reached, with further transitions by chance.
fn machine(chance: &mut Chance) -> String {
    let mut text = String::from("id: f\ninitial: s0\n");
    if chance.is(4) {
        text.push_str("interrupts:\n  i0: {trigger: {file_pattern: 'db/**'}, target: handler}\n  i1: {trigger: {file_pattern: '**/*.sql'}, target: handler}\n");
    }
    text.push_str("guards:\n");
    // Few guards a machine, so that its graph is small and many machines are tried.
    let own: &[usize] = [
        &[0, 1, 7][..],
        &[4, 5][..],
        &[2, 3][..],
        &[0, 4, 8][..],
        &[6][..],
    ][chance.below(5)];
    for index in own {
        text.push_str(&format!("  g{index}: {}\n", GUARDS[*index]));
    }
    text.push_str("states:\n");
    let count = 2 + chance.below(2);
    let fork = chance.is(3);
    for state in 0..count {
        text.push_str(&format!("  s{state}:\n"));
        policy(chance, &mut text);
        text.push_str("    on:\n");
        let next = if state + 1 < count {
            format!("s{}", state + 1)
        } else {
            "end".to_owned()
        };
        let transition = |chance: &mut Chance, target: &str| {
            let guard = if chance.is(6) {
                format!(", guard: g{}", own[chance.below(own.len())])
            } else {
                String::new()
            };
            let asks = if chance.is(3) {
                ", requires_approval: true"
            } else {
                ""
            };
            format!("{{target: {target}{guard}{asks}}}")
        };
        let way = transition(chance, &next);
        text.push_str(&format!("      NEXT: {way}\n"));
        let to = format!("s{}", chance.below(count));
        let way = transition(chance, &to);
        text.push_str(&format!("      AGAIN: {way}\n      STOP: end\n"));
        if fork && state == 0 {
            text.push_str("      FORK: {fork: {branches: {one: {initial: left, terminal: left_end}, two: {initial: right, terminal: right_end}}, on_complete: s1, on_fail: end}}\n");
        }
    }
    if text.contains("interrupts:") {
        text.push_str("  handler:\n    allowed_tools: [Read]\n    max_iterations: 2\n    on: {BACK: $return, STOP: end}\n");
    }
    if fork {
        for side in ["left", "right"] {
            text.push_str(&format!("  {side}:\n"));
            policy(chance, &mut text);
            let guard = if side == "left" && chance.is(5) {
                format!(
                    "{{target: left_end, guard: g{}, requires_approval: true}}",
                    own[0]
                )
            } else {
                format!("{side}_end")
            };
            text.push_str(&format!(
                "    on: {{NEXT: {guard}, STOP: failed}}\n  {side}_end: {{type: final}}\n"
            ));
        }
        text.push_str("  failed: {type: final}\n");
    }
    text.push_str("  end: {type: final}\n");
    text
}

fn policy(chance: &mut Chance, text: &mut String) {
    let tools = chance.one(&[
        "[Read, Bash]",
        "[Edit, Write, Bash]",
        "[Read]",
        "[Write]",
        "[Read, Edit, Bash]",
    ]);
    text.push_str(&format!("    allowed_tools: {tools}\n"));
    if tools.contains("Bash") {
        let commands = chance.one(&[
            "[cargo test, npm test]",
            "[cargo test]",
            "[npm test, make, ls]",
        ]);
        text.push_str(&format!("    allowed_commands: {commands}\n"));
    }
    text.push_str(&format!("    max_iterations: {}\n", 1 + chance.below(7)));
    if chance.is(2) {
        text.push_str("    context_budget_bytes: 100\n");
    }
    if tools.contains("Write") && chance.is(3) {
        text.push_str("    max_files_per_state: 2\n");
    }
}

/// Thinks of something to do, without asking the model what is worth doing.
fn line(chance: &mut Chance, branches: &[String]) -> Vec<Value> {
    let mut line = match chance.below(10) {
        0..=2 => {
            let command = chance.one(&[
                "cargo test",
                "npm test",
                "cargo test --all",
                "npm test -- -w",
                "make",
                "ls",
                "cargo test && npm test",
                "touch db/x.sql",
                "cargo test -k one",
            ]);
            json!({"tool": "Bash", "input": {"command": command}})
        }
        3 => json!({"tool": "Read", "input": {"file_path": chance.one(&["a.md", "db/a.sql"])}}),
        4 => {
            json!({"tool": "Write", "input": {"file_path": chance.one(&["a.md", "db/a", "x/y.sql", "db/deep/z.sql", "b/c.txt"]), "content": "x\n"}})
        }
        5 => json!({"approve": {"by": "a person"}}),
        6 => json!({"reject": {"by": "a person"}}),
        _ => {
            let mut data = json!({});
            if chance.is(5) {
                data["n"] = [
                    json!(3),
                    json!(5.5),
                    json!(7),
                    json!(12),
                    json!(null),
                    json!("4"),
                    json!([1]),
                ][chance.below(7)]
                .clone();
            }
            if chance.is(4) {
                data["word"] = [
                    json!("oh yes"),
                    json!("no"),
                    json!(["yes"]),
                    json!({"yes": 1}),
                ][chance.below(4)]
                .clone();
            }
            if chance.is(3) {
                data["other"] = json!(chance.below(1_000));
            }
            json!({"transition": chance.one(&["NEXT", "NEXT", "AGAIN", "FORK", "BACK", "STOP", "NOWHERE"]), "data": data})
        }
    };
    let named = !branches.is_empty() && chance.is(7);
    if named {
        let branch = branches[chance.below(branches.len())].clone();
        if line.get("approve").is_some() || line.get("reject").is_some() {
            for key in ["approve", "reject"] {
                if let Some(answer) = line.get_mut(key) {
                    answer["path"] = json!(branch);
                }
            }
        } else {
            line["branch"] = json!(branch);
        }
    }
    let mut lines = vec![line];
    if lines[0].get("tool").is_some() {
        let shell = lines[0]["tool"] == "Bash";
        // What is known to read alone is not seen to write.
        let writes = shell && lines[0]["input"]["command"] != "ls";
        let end = match chance.below(6) {
            0 if shell => json!({"exit": 1}),
            1 if shell => json!({"exit": 77}),
            0 | 1 => json!({"ok": false}),
            2 => json!({"bytes": 150}),
            3 if writes => json!({"exit": 0, "wrote": [chance.one(&["notes.txt", "db/seen.sql"])]}),
            _ => json!({"ok": true}),
        };
        lines.push(json!({ "result": end }));
    }
    lines
}

fn check_machine(seed: u64) -> (usize, usize) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let text = machine(&mut chance);
    let Ok(loaded) = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows) else {
        return (0, 0);
    };
    assert_eq!(unsupported(&loaded.machine), None);
    let model = Model::new(&loaded.machine, Vec::new(), 4);
    assert_eq!(model.missed, Vec::<String>::new(), "{text}");
    let graph = Graph::explore(&model, &[], 500);
    if !graph.whole {
        return (0, 0);
    }
    let edges: BTreeSet<(usize, usize)> = (0..graph.nodes.len())
        .flat_map(|from| graph.out(from).map(move |(_, edge)| (from, at(edge.to))))
        .collect();
    let mut steps = 0;
    for _ in 0..6 {
        let mut simulation = Simulation::new(loaded.machine.clone(), Scenario::default());
        let mut at = graph.find(&model, simulation.run()).unwrap();
        let mut told = Vec::new();
        for _ in 0..25 {
            let branches: Vec<String> = simulation
                .run()
                .open_leaves()
                .iter()
                .filter(|path| !path.is_root())
                .map(ToString::to_string)
                .collect();
            for line in line(&mut chance, &branches) {
                told.push(line.to_string());
                let denied = simulation
                    .step(&line.to_string())
                    .is_ok_and(|answer| !answer.ok);
                if denied {
                    break;
                }
            }
            let Some(to) = graph.find(&model, simulation.run()) else {
                panic!(
                    "seed {seed}: no such state of the graph: {}\n{text}\n{}",
                    graph.text(&model, simulation.run()),
                    told.join("\n")
                );
            };
            // A step that changes nothing needs no edge: a refusal, or a call whose trace no rule reads.
            // One that also uses up a limit is there as two: the same call again, until nothing is left.
            let twice = || {
                edges
                    .range((at, 0)..(at + 1, 0))
                    .any(|(_, mid)| edges.contains(&(*mid, to)))
            };
            let known = at == to || edges.contains(&(at, to)) || twice();
            assert!(
                known,
                "seed {seed}: no such step {at} → {to}\n{text}\n{}",
                told.join("\n")
            );
            at = to;
            steps += 1;
        }
    }
    (1, steps)
}

#[test]
fn every_step_of_a_run_by_chance_is_a_step_of_the_graph() {
    let (first, last) = match std::env::var("INTERLOCK_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    {
        Some(seed) => (seed, seed + 1),
        None => (1, 25),
    };
    let (mut machines, mut steps) = (0, 0);
    for seed in first..last {
        let (machine, walked) = check_machine(seed);
        machines += machine;
        steps += walked;
    }
    // Too many that do not load would be a test of nothing.
    assert!(
        last - first == 1 || (machines >= 8 && steps > 1_000),
        "{machines} machines, {steps} steps"
    );
}

/// Writes every state of a graph with its steps, as numbers that do not depend on how it was found.
fn written(graph: &Graph) -> Vec<Vec<(usize, String)>> {
    let label = |number: u32| format!("{:?}", graph.label(number));
    let node = |node| {
        let steps = graph.out(node);
        steps
            .map(|(_, edge)| (at(edge.to), label(edge.label)))
            .collect()
    };
    (0..graph.nodes.len()).map(node).collect()
}

/// Explores with the table and without it; returns how often the engine was asked each time.
fn check_table(what: &str, model: &Model, max: usize) -> (usize, usize) {
    let slots = model.slots.len();
    let pairs: Vec<(usize, usize)> = (1..slots).map(|slot| (slot - 1, slot)).collect();
    let (once, contradicted) = explore(model, &pairs, max, Asking::Once);
    assert!(!contradicted, "{what}");
    let (always, _) = explore(model, &pairs, max, Asking::Always);
    assert_eq!(once.nodes.len(), always.nodes.len(), "{what}");
    assert_eq!(once.whole, always.whole, "{what}");
    assert_eq!(once.starts, always.starts, "{what}");
    for node in 0..once.nodes.len() {
        let (one, other) = (&once.nodes[node], &always.nodes[node]);
        assert_eq!(one.ended, other.ended, "{what}");
        assert_eq!(one.exhausted, other.exhausted, "{what}");
        assert_eq!(once.together(node), always.together(node), "{what}");
    }
    let (one, other) = (written(&once), written(&always));
    for (node, (one, other)) in one.iter().zip(&other).enumerate() {
        assert_eq!(one, other, "{what}: state {node}");
    }
    (once.asked, always.asked)
}

/// Properties about where a run stands and what guards say, so that the table has to keep what they read.
fn slots(machine: &interlock_core::machine::Machine) -> Vec<Predicate> {
    let guards = machine
        .guards
        .keys()
        .map(|name| Predicate::Guard(name.to_string()));
    let states = machine
        .states
        .keys()
        .take(3)
        .map(|name| Predicate::State(name.to_string()));
    let mut all: Vec<Predicate> = guards.take(2).chain(states).collect();
    let both = all
        .iter()
        .take(2)
        .cloned()
        .chain([Predicate::Final(interlock_core::machine::Outcome::Success)]);
    all.push(Predicate::Any(both.collect()));
    all
}

#[test]
fn the_table_gives_the_graph_that_asking_for_each_step_gives() {
    let mut machines = 0;
    let mut saved = 0;
    for seed in 1..16_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let text = machine(&mut chance);
        let Ok(loaded) = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows) else {
            continue;
        };
        let model = Model::new(&loaded.machine, slots(&loaded.machine), 4);
        let (once, always) = check_table(&format!("seed {seed}\n{text}"), &model, 100);
        machines += 1;
        saved += always.saturating_sub(once);
    }
    assert!(
        machines >= 6 && saved > 2_000,
        "{machines} machines, {saved} steps saved"
    );
}

#[test]
fn the_table_gives_the_same_graph_of_every_shipped_workflow() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".yaml") || name.matches('.').count() > 1 {
            continue;
        }
        let source = Source::new(name.clone(), std::fs::read_to_string(&path).unwrap());
        let machine = load(&source, None, &NoWorkflows).unwrap().machine;
        let model = Model::new(&machine, slots(&machine), 4);
        let (once, always) = check_table(&name, &model, 120);
        assert!(once < always, "{name}: {once} of {always}");
        seen += 1;
    }
    assert_eq!(seen, 7);
}
