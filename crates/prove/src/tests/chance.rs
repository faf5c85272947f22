//! Pseudo-random numbers, small machines and actions, reproducible from a seed.

use serde_json::{Value, json};

/// A pseudo-random number generator: the same seed gives the same machine and the same runs.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % limit.max(1)
    }

    pub(super) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    pub(super) fn of_all<'a>(&mut self, of: &'a [String]) -> &'a String {
        &of[self.below(of.len())]
    }

    pub(super) fn is(&mut self, of_ten: usize) -> bool {
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

/// Writes a machine: states in a row, so that each is reachable, with further random transitions.
pub(super) fn machine(chance: &mut Chance) -> String {
    let mut text = String::from("id: f\ninitial: s0\n");
    if chance.is(4) {
        text.push_str("interrupts:\n  i0: {trigger: {file_pattern: 'db/**'}, target: handler}\n  i1: {trigger: {file_pattern: '**/*.sql'}, target: handler}\n");
    }
    text.push_str("guards:\n");
    // Few guards per machine, so that its graph is small and many machines are tried.
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

/// Writes a machine of three branches without limits, whose states go on, back and to each other by evidence and approvals.
pub(super) fn branches(chance: &mut Chance) -> String {
    let mut text = String::from(
        "id: f\ninitial: s0\nguards:\n  g0: {evidence: {command: make}}\n  g1: {evidence: {command: make, since: state_entry}}\nstates:\n",
    );
    text.push_str("  s0:\n    allowed_tools: [Read]\n    on: {FORK: {fork: {branches: {");
    let all = ["a", "b", "c"];
    let each = all.map(|one| format!("{one}: {{initial: {one}0, terminal: {one}_end}}"));
    text.push_str(&each.join(", "));
    text.push_str("}, on_complete: end, on_fail: end}}}\n");
    for branch in all {
        let count = 2 + chance.below(2);
        for state in 0..count {
            let tools = chance.one(&["[Read]", "[Read, Bash]", "[Edit, Bash]"]);
            let next = match state + 1 < count {
                true => format!("{branch}{}", state + 1),
                false => format!("{branch}_end"),
            };
            let guard = chance.one(&[
                "",
                ", guard: g0",
                ", guard: g1",
                ", requires_approval: true",
            ]);
            let back = chance.below(count);
            text.push_str(&format!(
                "  {branch}{state}:\n    allowed_tools: {tools}\n    allowed_commands: [make]\n    on: {{NEXT: {{target: {next}{guard}}}, BACK: {branch}{back}}}\n"
            ));
        }
        text.push_str(&format!("  {branch}_end: {{type: final}}\n"));
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

/// Generates an action, without asking the model for useful ones.
pub(super) fn line(chance: &mut Chance, branches: &[String]) -> Vec<Value> {
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
        // A command known to only read is not observed to write.
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
