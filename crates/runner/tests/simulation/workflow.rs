//! Random workflows of steps: every activity that a durable run performs, nested two levels deep.
//!
//! The outcome of a step is in its command, so that it is the same whenever it runs.

use interlock_core::machine::Machine;
use interlock_testkit::dice::Dice;
use serde_json::{Map, Value, json};

/// A workflow, and whether its end is independent of the order of events.
pub(crate) struct Workflow {
    pub(crate) machine: Machine,
    /// Nothing in it depends on which failure was first, or what was interrupted or cancelled.
    pub(crate) is_steady: bool,
}

/// Generates the workflow of a seed.
pub(crate) fn workflow(seed: u64) -> Workflow {
    let mut maker = Maker {
        dice: Dice::of_seed(seed),
        machines: Map::new(),
        is_steady: true,
    };
    let room = Room {
        depth: 2,
        people: true,
        fails: true,
    };
    let length = 2 + maker.dice.number_below(4);
    let states = maker.states(length, room);
    let machine = json!({
        "id": "flow",
        "initial": "s0",
        "context": { "v0": "a", "v1": "b", "v2": "a" },
        "states": states,
        "machines": maker.machines,
        "durable": true,
    });
    Workflow {
        machine: serde_json::from_value::<Machine>(machine).unwrap().seal(),
        is_steady: maker.is_steady,
    }
}

/// The permitted features at a place of a workflow.
#[derive(Clone, Copy)]
struct Room {
    depth: u32,
    people: bool,
    fails: bool,
}

impl Room {
    const fn inner(self) -> Self {
        Self {
            depth: self.depth - 1,
            ..self
        }
    }
}

struct Maker {
    dice: Dice,
    machines: Map<String, Value>,
    is_steady: bool,
}

impl Maker {
    /// Generates a chain of states that leads only forward, and what it needs in addition.
    fn states(&mut self, length: u64, room: Room) -> Value {
        let mut states = Map::new();
        let mut beside = Map::new();
        for at in 0..length {
            let name = format!("s{at}");
            let state = self.state(&name, at + 1..length, room, &mut beside);
            states.insert(name, state);
        }
        states.extend(beside);
        Value::Object(states)
    }

    fn state(
        &mut self,
        name: &str,
        ahead: std::ops::Range<u64>,
        room: Room,
        beside: &mut Map<String, Value>,
    ) -> Value {
        let next = self.target(&ahead, true);
        let kinds: u64 = match (room.depth, room.people) {
            (0, false) => 7,
            (0, true) => 9,
            (_, false) => 11,
            (_, true) => 13,
        };
        let mut state = match self.dice.number_below(kinds) {
            0..=3 => self.task(name, room),
            4 => return self.look(&ahead),
            5 => self.file(name),
            6 => json!({ "activity": { "wait": { "wait_ms": self.dice.number_below(50) } } }),
            7 if room.people => {
                json!({ "activity": { "pause": input("reason", &[plain("until morning")]) } })
            }
            8 if room.people => {
                json!({ "activity": { "ask": input("question", &[plain("well?")]) }, "capture": { "key": self.key() } })
            }
            7 | 9 => self.call(name, room),
            8 | 10 => self.fork(name, room, beside),
            _ => {
                let (mut list, mut each) = self.each(name, name, room);
                each["on"] = self.ways(&next, &ahead);
                beside.insert(format!("{name}/each"), each);
                list["on"] = self.ways(&json!({ "state": format!("{name}/each") }), &ahead);
                return list;
            }
        };
        state["on"] = self.ways(&next, &ahead);
        state
    }

    /// Chooses a target ahead, or the end.
    fn target(&mut self, ahead: &std::ops::Range<u64>, next: bool) -> Value {
        if ahead.is_empty() {
            return json!({ "end": "success" });
        }
        let skip = if next {
            0
        } else {
            self.dice.number_below(ahead.end - ahead.start)
        };
        json!({ "state": format!("s{}", ahead.start + skip) })
    }

    /// Generates the transitions: on success to `next`, on some failures to a state ahead.
    fn ways(&mut self, next: &Value, ahead: &std::ops::Range<u64>) -> Value {
        let mut ways = json!({ "done": { "transitions": [{ "target": next }] } });
        let mut handlers = Vec::new();
        if self.dice.one_in(3) {
            let code = [1, 3, 7][usize::try_from(self.dice.number_below(3)).unwrap()];
            handlers.push((json!({ "code": code }), self.target(ahead, false)));
        }
        if self.dice.one_in(12) {
            self.is_steady = false;
            handlers.push((json!({ "code": 130 }), self.target(ahead, false)));
        }
        if self.dice.one_in(3) {
            handlers.push((json!("uncancelled"), self.target(ahead, false)));
        }
        let transitions: Vec<Value> = handlers
            .into_iter()
            .map(|(guard, target)| json!({ "guards": [{ "inline": guard }], "target": target }))
            .collect();
        if !transitions.is_empty() {
            ways["error"] = json!({ "transitions": transitions });
        }
        ways
    }

    fn key(&mut self) -> String {
        format!("v{}", self.dice.number_below(3))
    }

    fn task(&mut self, name: &str, room: Room) -> Value {
        let (mut code, mut until) = (0, 0);
        if room.fails && self.dice.one_in(3) {
            code = [1, 3, 7, 9][usize::try_from(self.dice.number_below(4)).unwrap()];
            until = [0, 2, 3][usize::try_from(self.dice.number_below(3)).unwrap()];
        }
        let key = self.key();
        let command = [
            plain(&format!("{name} code={code} until={until} ")),
            hole(&key),
        ];
        let mut state = json!({ "activity": { "task": work("bash", "command", &command) } });
        self.rules(&mut state);
        if self.dice.one_in(2) {
            state["capture"] = json!({ "key": self.key() });
        }
        state
    }

    /// Adds retries, and the handling of interrupted attempts.
    fn rules(&mut self, state: &mut Value) {
        if self.dice.one_in(3) {
            state["retry"] = json!({ "attempts": 1 + self.dice.number_below(3), "wait_ms": self.dice.number_below(20), "backoff": "2", "wait_max_ms": 30 });
        }
        state["on_crash"] = match self.dice.number_below(8) {
            0 => {
                self.is_steady = false;
                json!("fail")
            }
            1..=3 => json!("ask"),
            _ => json!("retry"),
        };
    }

    /// Generates a state that compares two values and takes one of two transitions.
    fn look(&mut self, ahead: &std::ops::Range<u64>) -> Value {
        let (left, right) = (self.key(), self.key());
        let (yes, no) = (self.target(ahead, false), self.target(ahead, false));
        json!({
            "activity": { "test": { "left": [hole(&left)], "op": "equal", "right": [hole(&right)] } },
            "on": { "done": { "transitions": [
                { "guards": [{ "inline": { "output": "true" } }], "target": yes },
                { "target": no },
            ] } },
        })
    }

    /// Generates a task that names a file and stores its output there.
    fn file(&mut self, name: &str) -> Value {
        let file = json!({ "hole": { "file": [{ "plain": "./notes" }] } });
        let command = [plain(&format!("{name} code=0 until=0 ")), file];
        json!({
            "activity": { "task": work("bash", "command", &command) },
            "capture": { "file": [{ "plain": "./out" }] },
            "on_crash": "retry",
        })
    }

    fn machine(&mut self, name: &str, room: Room) -> String {
        let key = format!("m{}/{name}", self.machines.len());
        // The key is reserved before the inner machines take theirs.
        self.machines.insert(key.clone(), Value::Null);
        let length = 1 + self.dice.number_below(2);
        let states = self.states(length, room.inner());
        let machine = json!({ "id": name, "initial": "s0", "context": { "v0": "x", "v1": "y", "v2": "x" }, "states": states });
        self.machines.insert(key.clone(), machine);
        key
    }

    fn call(&mut self, name: &str, room: Room) -> Value {
        let key = self.machine(name, room);
        let passed = self.key();
        json!({
            "activity": { "call": { "machine": key, "passed": { "v0": [hole(&passed)] }, "namespace": "sub" } },
            "capture": { "key": self.key() },
        })
    }

    /// Generates the state that lists lines, and the one that runs a machine for each.
    fn each(&mut self, name: &str, id: &str, room: Room) -> (Value, Value) {
        let key = self.machine(id, room);
        let lines = self.dice.number_below(4);
        let code = if room.fails && self.dice.one_in(8) {
            5
        } else {
            0
        };
        let command = [plain(&format!("{name} code={code} until=0 lines={lines}"))];
        let mut list =
            json!({ "activity": { "task": work("bash", "command", &command) }, "fails_with": 1 });
        self.rules(&mut list);
        let each = json!({
            "activity": { "parallel": {
                "on_error": if self.dice.one_in(2) { "skip" } else { "fail" },
                "over": { "lines": {
                    "machine": key, "item": "v0", "index": "index",
                    "wants_items": self.dice.one_in(4),
                } },
                "join": "settled", "merge": "shared", "concurrency": 1,
            } },
            "shown_as": name,
        });
        (list, each)
    }

    fn fork(&mut self, name: &str, room: Room, beside: &mut Map<String, Value>) -> Value {
        let fast = self.dice.one_in(3);
        // The first failure determines the outcome of a fork that fails fast.
        let fails = room.fails && !(fast && self.dice.number_below(3) > 0);
        if fast && fails {
            self.is_steady = false;
        }
        let room = Room {
            people: false,
            fails,
            ..room
        };
        let mut branches = Map::new();
        for at in 0..2 + self.dice.number_below(3) {
            let state_name = format!("{name}/b{at}");
            let id = state_name.replace('/', "-");
            let ends = json!({ "done": { "transitions": [{ "target": { "end": "success" } }] } });
            let mut state = match self.dice.number_below(5) {
                0 if room.depth > 0 => self.call(&id, room),
                1 if room.depth > 0 => {
                    let (list, mut each) = self.each(&state_name, &id, room);
                    each["on"] = ends.clone();
                    beside.insert(format!("{state_name}/each"), each);
                    list
                }
                _ => self.task(&state_name, room),
            };
            let each = format!("{state_name}/each");
            state["on"] = if beside.contains_key(&each) {
                json!({ "done": { "transitions": [{ "target": { "state": each } }] } })
            } else {
                ends
            };
            state["shown_as"] = json!("");
            branches.insert(
                format!("b{at}"),
                json!({ "initial": state_name, "terminal": "" }),
            );
            beside.insert(state_name, state);
        }
        json!({ "activity": { "parallel": {
            "over": { "branches": branches },
            "join": if fast { "fail_fast" } else { "settled" },
            "merge": "captured",
            "concurrency": 1 + self.dice.number_below(3),
        } } })
    }
}

fn work(program: &str, argument: &str, text: &[Value]) -> Value {
    json!({ "kind": { "program": program }, "input": input(argument, text) })
}

fn input(argument: &str, text: &[Value]) -> Value {
    json!({ "object": { argument: { "text": text } } })
}

fn plain(text: &str) -> Value {
    json!({ "plain": text })
}

fn hole(key: &str) -> Value {
    json!({ "hole": { "key": key } })
}
