//! Compares two versions of a workflow: what the new one permits and the old one refuses.

mod by_calls;
mod by_steps;

use interlock_core::{
    machine::{Machine, Object, State as WrittenState},
    names::FramePath,
    run::Run,
};
use interlock_formats::Lines;
use serde_json::Value;

use crate::{
    atlas::{Atlas, Leaf, State},
    doubts,
    facts::leaves,
    machine::unsupported,
    model::Model,
    moves::Done,
    replay::TraceStep,
};

/// The result of comparing two versions.
#[derive(Debug)]
pub struct Comparison {
    /// The first thing that the new one permits and the old one refuses.
    pub permitted: Option<Permission>,
    /// What the old one permits and the new one refuses, once for each state.
    pub removed: Vec<String>,
    /// Why more may be permitted than was found; `None` if nothing more is.
    pub doubt: Option<String>,
    /// The number of pairs of states that were checked.
    pub pairs: usize,
}

/// Something newly permitted, with a shortest run that shows it.
#[derive(Debug)]
pub struct Permission {
    /// What is permitted, in one sentence.
    pub what: String,
    /// The input that the run is started with.
    pub input: Object,
    /// The steps; the old version refuses the last one.
    pub trace: Vec<TraceStep>,
    /// The refusal of the old version.
    pub refusal: String,
}

/// The value up to which limits are counted call by call.
const COUNTED_TO: u64 = 4;

/// What counts as the same step in both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// What is written: events, calls and the answers of people.
    Steps,
    /// Calls and the answers of people only: states and events may have other names and numbers.
    Calls,
}

/// Compares `new` with `old`, over at most `max` pairs of states.
#[must_use]
pub fn compare(
    new: &Machine,
    old: &Machine,
    by: By,
    max: usize,
    lines: Option<&Lines>,
) -> Comparison {
    let mut found = Comparison {
        permitted: None,
        removed: Vec::new(),
        doubt: None,
        pairs: 0,
    };
    if is_same(new, old) {
        return found;
    }
    let unread = [("new", new), ("old", old)]
        .into_iter()
        .find_map(|(which, machine)| {
            Some(format!("of the {which} version: {}", unsupported(machine)?))
        });
    if unread.is_some() {
        found.doubt = unread;
        return found;
    }
    let sides = [
        Side::new(Model::beside(new, &[new, old], Vec::new(), COUNTED_TO)),
        Side::new(Model::beside(old, &[new, old], Vec::new(), COUNTED_TO)),
    ];
    if by == By::Calls {
        return by_calls::compare(sides, max, lines);
    }
    found.doubt = doubt_of(&sides).or_else(|| other_rules(new, old));
    by_steps::compare(sides, found, max, lines)
}

/// Returns whether two versions are the same, apart from what no rule reads.
fn is_same(new: &Machine, old: &Machine) -> bool {
    // Equality alone does not see another order of interrupts.
    let text = |machine: &Machine| serde_json::to_string(&rules_alone(machine));
    matches!((text(new), text(old)), (Ok(new), Ok(old)) if new == old)
}

/// Returns a machine without what it says to agents.
fn rules_alone(machine: &Machine) -> Machine {
    let mut plain = machine.clone();
    plain.hash = String::new();
    plain.meta = Object::new();
    for state in plain.states.values_mut() {
        state.instructions = None;
    }
    for called in plain.machines.values_mut() {
        *called = rules_alone(called);
    }
    plain
}

/// Says why something may have been missed in one of the versions.
fn doubt_of(sides: &[Side; 2]) -> Option<String> {
    sides.iter().find_map(|side| {
        let missed = side.model.missed.first().cloned();
        missed.or_else(|| doubts::all(&side.model, &[]).first().cloned())
    })
}

/// Names the rules of a state that are not compared, where the versions differ in them.
fn other_rules(new: &Machine, old: &Machine) -> Option<String> {
    let both = |new: &Machine, old: &Machine| {
        new.states.iter().find_map(|(name, state)| {
            let other = old.states.get(name)?;
            (rest(state) != rest(other)).then(|| {
                format!("`{name}` differs in limits of edits, files or the environment, which are not compared")
            })
        })
    };
    both(new, old).or_else(|| {
        new.machines
            .iter()
            .find_map(|(key, machine)| both(machine, old.machines.get(key)?))
    })
}

/// Returns the rules of a state that are not compared.
fn rest(state: &WrittenState) -> Value {
    let mut policy = serde_json::to_value(&state.policy).unwrap_or_default();
    if let Value::Object(rules) = &mut policy {
        for known in [
            "allowed_tools",
            "disallowed_tools",
            "allowed_commands",
            "iterations_max",
            "result_bytes_max",
        ] {
            rules.remove(known);
        }
    }
    policy
}

/// One of the versions.
#[derive(Debug)]
struct Side {
    model: Model,
    atlas: Atlas,
}

impl Side {
    fn new(model: Model) -> Self {
        Self {
            atlas: Atlas::new(&model),
            model,
        }
    }

    /// Returns how many calls are left at a leaf; `None` if there is no limit.
    fn calls_left(&self, run: &Run, leaf: &Leaf) -> Option<u64> {
        let standing = &leaf.standing;
        let state = self.model.state(standing.0.as_ref(), &standing.1)?;
        let used = run.frame(&leaf.path)?.stay.used.calls;
        Some(state.policy.iterations_max?.saturating_sub(used))
    }
}

fn packed(side: &mut Side, run: &Run) -> State {
    let mut state = side.atlas.state(&side.model, run);
    state.used.clear();
    state
}

fn asks(run: &Run) -> bool {
    let waits = |path: &FramePath| {
        run.frame(path)
            .is_some_and(|frame| frame.stay.request.is_some())
    };
    run.open_leaves().iter().any(waits)
}

fn asks_at(done: &Done, leaf: &Leaf) -> bool {
    let frame = done.run.frame(&leaf.path);
    frame.is_some_and(|frame| frame.stay.request.is_some())
}

/// Returns the leaf of a run at a path, if there is one.
fn standing(run: &Run, path: &FramePath) -> Option<Leaf> {
    if !leaves(run).contains(path) {
        return None;
    }
    let frame = run.frame(path)?;
    Some(Leaf {
        path: path.clone(),
        standing: (frame.machine.clone(), frame.at.clone()),
        asks: frame.stay.request.is_some(),
    })
}

/// Describes a call in a few words.
fn brief(line: &Value) -> String {
    let input = line.get("input");
    let of = |key: &str| input.and_then(|input| input.get(key)?.as_str());
    let tool = line.get("tool").and_then(Value::as_str).unwrap_or_default();
    match of("command").or(of("file_path")) {
        Some(text) => format!("`{tool}` with `{text}`"),
        None => format!("`{tool}`"),
    }
}
