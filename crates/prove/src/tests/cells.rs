//! The values that distinguish guards: every value of a context is treated like one of those that are tried.

use interlock_core::guard::{Guard, Op};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_testkit::sample;
use serde_json::{Value, json};

use super::{beside, chance::Chance};
use crate::{cells::Cells, machine::all_guards};

const FIELDS: [&str; 3] = ["n", "/n/a", "/n/b"];
const CONSTANTS: [&str; 11] = [
    "0", "3", "3.5", "7", "-2", "true", "null", "'yes'", "'no'", "[1, 2]", "{a: 1}",
];

/// Writes a machine with up to three conditions on one key.
fn machine(chance: &mut Chance) -> String {
    let mut text = "id: f\ninitial: s\nguards:\n".to_owned();
    let names = ["a", "b", "c"];
    let all = &names[..1 + chance.below(3)];
    for name in all {
        let field = chance.one(&FIELDS);
        let value = chance.one(&CONSTANTS);
        let condition = match chance.below(7) {
            0 => "op: exists".to_owned(),
            1 => "op: not_exists".to_owned(),
            2 => format!("op: in, value: [{value}, {}]", chance.one(&CONSTANTS)),
            3 => format!("op: contains, value: {value}"),
            4 => format!("op: {}, value: {value}", chance.one(&["eq", "neq"])),
            _ => {
                let op = chance.one(&["gt", "gte", "lt", "lte"]);
                format!("op: {op}, value: {}", chance.one(&CONSTANTS[..5]))
            }
        };
        text.push_str(&format!("  {name}: {{field: {field}, {condition}}}\n"));
    }
    text.push_str("states:\n  s:\n    allowed_tools: [Read]\n    max_iterations: 2\n    on:\n");
    for (index, name) in all.iter().enumerate() {
        text.push_str(&format!("      E{index}: {{target: end, guard: {name}}}\n"));
    }
    text.push_str("      STOP: end\n  end: {type: final}\n");
    text
}

/// Generates a value independently of the guards.
fn value(chance: &mut Chance, depth: usize) -> Value {
    match chance.below(if depth == 0 { 8 } else { 11 }) {
        0 => json!(i64::try_from(chance.below(20)).unwrap() - 6),
        1 => json!(f64::from(u32::try_from(chance.below(160)).unwrap()) / 16.0 - 3.0),
        2 => json!(1.0e12),
        3 => json!(chance.is(5)),
        4 => Value::Null,
        5 | 6 => json!(chance.one(&["yes", "no", "", "oh yes", "yes and no", "3", "null"])),
        7 => json!([1, 2]),
        8 => {
            let count = chance.below(3);
            (0..count).map(|_| value(chance, depth - 1)).collect()
        }
        _ => {
            let mut object = serde_json::Map::new();
            for key in ["a", "b", "c"] {
                if chance.is(5) {
                    object.insert(key.to_owned(), value(chance, depth - 1));
                }
            }
            Value::Object(object)
        }
    }
}

/// Returns whether values may be missed; then that is reported, and nothing is proved.
fn is_doubted(cells: &Cells, guards: &[&Guard]) -> bool {
    let contains = |guard: &&Guard| matches!(guard, Guard::Field(one) if one.op == Op::Contains);
    !cells.missed.is_empty() || guards.len() > 1 && guards.iter().any(contains)
}

/// Returns the class of each tried value.
fn tried(cells: &Cells) -> Vec<String> {
    let cell = cells.cells.first().unwrap();
    let tried = cell.values.iter().map(|value| cells.class(0, Some(value)));
    tried.chain([cells.class(0, None)]).collect()
}

#[test]
fn no_value_of_a_key_is_of_a_class_that_is_not_tried() {
    let mut chance = Chance::of(11);
    let (mut compared, mut skipped) = (0, 0);
    for _ in 0..400 {
        let text = machine(&mut chance);
        let Ok(loaded) = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows) else {
            continue;
        };
        let guards = all_guards(&loaded.machine);
        let cells = Cells::of(&loaded.machine, &guards, false);
        if is_doubted(&cells, &guards) {
            skipped += 1;
            continue;
        }
        let tried = tried(&cells);
        for _ in 0..60 {
            let value = value(&mut chance, 2);
            let class = cells.class(0, Some(&value));
            assert!(
                tried.contains(&class),
                "{value} is {class}, of {tried:?}\n{text}"
            );
            compared += 1;
        }
    }
    assert!(
        compared > 5_000,
        "{compared} values, {skipped} machines left out"
    );
}

#[test]
fn every_class_that_z3_finds_a_value_for_is_tried() {
    let whole = sample::is_whole();
    let mut chance = Chance::of(31);
    let (mut machines, mut asked) = (Vec::new(), Vec::new());
    for _ in 0..if whole { 10_000 } else { 300 } {
        let text = machine(&mut chance);
        let Ok(loaded) = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows) else {
            continue;
        };
        let guards = all_guards(&loaded.machine);
        let cells = Cells::of(&loaded.machine, &guards, false);
        if is_doubted(&cells, &guards) {
            continue;
        }
        let written = guards.iter().map(|guard| match guard {
            Guard::Field(one) => {
                let mut written = json!({"field": one.field, "op": one.op.as_str()});
                if let Some(value) = &one.value {
                    written["value"] = value.clone();
                }
                written
            }
            other => panic!("{other:?} is not made up"),
        });
        asked.push(Value::from_iter(written));
        machines.push((text, cells));
    }
    let Some(found) = beside::ask("cells.py", &Value::from(asked)) else {
        return;
    };
    let mut classes = 0;
    for ((text, cells), found) in machines.iter().zip(found.as_array().unwrap()) {
        let tried = tried(cells);
        for one in found.as_array().unwrap() {
            let class = cells.class(0, one.get("value"));
            assert_eq!(
                one["cell"],
                json!(class),
                "z3 reads a condition otherwise: {one}\n{text}"
            );
            assert!(
                tried.contains(&class),
                "{one} is not among {tried:?}\n{text}"
            );
            classes += 1;
        }
    }
    assert!(classes > 400, "{classes} of {} machines", machines.len());
}
