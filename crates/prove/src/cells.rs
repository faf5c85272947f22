//! The values of the context that tell guards apart.
//!
//! The class of a value is determined by the real evaluator; this module only
//! chooses values worth evaluating, and says where it may have missed one.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use interlock_core::{
    guard::{FieldGuard, Guard, GuardRef, Op, Source},
    holds::{Scope, unmet},
    machine::{Machine, Object},
    names::{RunId, StateName},
    run::{Frame, Run},
};
use serde_json::{Value, json};

/// The maximum number of sets of values that data may contain.
const COMBINATIONS_MAX: usize = 256;

/// One key of the context that guards read.
#[derive(Debug)]
pub(crate) struct Cell {
    /// The key.
    pub(crate) key: String,
    guards: Vec<GuardRef>,
    /// Values that data may give it: one of each class, or two if a branch may change it without changing its class.
    pub(crate) values: Vec<Value>,
    /// Whether a missing value is always told apart.
    keeps_missing: bool,
}

/// All keys that guards read.
#[derive(Debug)]
pub(crate) struct Cells {
    pub(crate) cells: Vec<Cell>,
    /// All data that an agent may send, the empty data first.
    pub(crate) data: Vec<Object>,
    /// Why a class may have been missed.
    pub(crate) missed: Vec<String>,
    known: RefCell<BTreeMap<(usize, String), String>>,
    empty: Machine,
}

impl Cells {
    pub(crate) fn of(machine: &Machine, guards: &[&Guard], has_regions: bool) -> Self {
        let mut by_key: BTreeMap<String, Vec<&FieldGuard>> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for guard in guards {
            if let Guard::Field(field) = guard
                && field.from == Source::Context
            {
                let key = top_key(&field.field);
                if !order.contains(&key) {
                    order.push(key.clone());
                }
                by_key.entry(key).or_default().push(field);
            }
        }
        let mut cells = Self {
            cells: Vec::new(),
            data: vec![Object::new()],
            missed: Vec::new(),
            known: RefCell::default(),
            empty: bare(machine),
        };
        for key in order {
            let fields = by_key.remove(&key).unwrap_or_default();
            cells.add(key, &fields, has_regions);
        }
        cells.combine();
        cells
    }

    fn add(&mut self, key: String, fields: &[&FieldGuard], has_regions: bool) {
        let guards = fields
            .iter()
            .map(|field| GuardRef::Inline(Box::new(Guard::Field((*field).clone()))))
            .collect();
        let (candidates, missed) = candidates(&key, fields);
        self.missed.extend(missed);
        let index = self.cells.len();
        self.cells.push(Cell {
            key,
            guards,
            values: Vec::new(),
            keeps_missing: has_regions,
        });
        let of_class = if has_regions { 2 } else { 1 };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut values: Vec<Value> = Vec::new();
        for value in candidates {
            let class = self.class(index, Some(&value));
            let count = counts.entry(class).or_default();
            if *count < of_class && !values.contains(&value) {
                *count += 1;
                values.push(value);
            }
        }
        if let Some(cell) = self.cells.get_mut(index) {
            cell.values = values;
        }
    }

    /// Returns the class of a value: the results of all guards.
    pub(crate) fn class(&self, index: usize, value: Option<&Value>) -> String {
        let Some(cell) = self.cells.get(index) else {
            return String::new();
        };
        let Some(value) = value else {
            let said = self.ask(cell, None);
            return if cell.keeps_missing {
                format!("missing {said}")
            } else {
                said
            };
        };
        let text = (index, value.to_string());
        if let Some(known) = self.known.borrow().get(&text) {
            return known.clone();
        }
        let said = self.ask(cell, Some(value));
        self.known.borrow_mut().insert(text, said.clone());
        said
    }

    /// Evaluates the guards with the engine's own evaluator.
    fn ask(&self, cell: &Cell, value: Option<&Value>) -> String {
        let mut context = Object::new();
        if let Some(value) = value {
            context.insert(cell.key.clone(), value.clone());
        }
        let run = Run::new(RunId::new("prove"));
        let frame = Frame::entering(None, StateName::new(""), Arc::new(context), 0, 0);
        let scope = Scope {
            machine: &self.empty,
            run: &run,
            frame: &frame,
        };
        let holds = |guard: &GuardRef| unmet(scope, std::slice::from_ref(guard)).is_empty();
        cell.guards
            .iter()
            .map(|guard| if holds(guard) { '1' } else { '0' })
            .collect()
    }

    /// Makes every set of values; reports if there are too many.
    fn combine(&mut self) {
        let mut all = vec![Object::new()];
        for cell in &self.cells {
            let mut longer = Vec::new();
            for data in &all {
                longer.push(data.clone());
                for value in &cell.values {
                    let mut data = data.clone();
                    data.insert(cell.key.clone(), value.clone());
                    longer.push(data);
                }
            }
            if longer.len() > COMBINATIONS_MAX {
                self.missed.push(format!(
                    "guards read {} keys of the context, and only {} sets of values were tried",
                    self.cells.len(),
                    all.len()
                ));
                break;
            }
            all = longer;
        }
        all.sort_by_key(Object::len);
        self.data = all;
    }
}

/// Makes a machine that defines nothing: single conditions do not need names.
fn bare(machine: &Machine) -> Machine {
    Machine {
        id: machine.id.clone(),
        hash: String::new(),
        initial: machine.initial.clone(),
        context: Object::new(),
        states: indexmap::IndexMap::new(),
        guards: indexmap::IndexMap::new(),
        interrupts: indexmap::IndexMap::new(),
        machines: indexmap::IndexMap::new(),
        limits: machine.limits.clone(),
        meta: Object::new(),
        finish: machine.finish,
        durable: false,
        stages: None,
        conversation: None,
        agents: indexmap::IndexMap::new(),
    }
}

/// Returns the top-level key that a guard reads.
pub(crate) fn top_key(field: &str) -> String {
    match field.strip_prefix('/') {
        Some(rest) => {
            let first = rest.split('/').next().unwrap_or_default();
            first.replace("~1", "/").replace("~0", "~")
        }
        None => field.to_owned(),
    }
}

/// Returns the path from the key to what a guard reads.
fn below(field: &str) -> Vec<String> {
    let Some(rest) = field.strip_prefix('/') else {
        return Vec::new();
    };
    rest.split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// Chooses values for a key, and says where they may be incomplete.
fn candidates(key: &str, fields: &[&FieldGuard]) -> (Vec<Value>, Vec<String>) {
    let mut missed = Vec::new();
    let ways: BTreeSet<Vec<String>> = fields.iter().map(|field| below(&field.field)).collect();
    let nested = ways.iter().any(|way| {
        ways.iter()
            .any(|other| other != way && other.starts_with(way))
    });
    if nested {
        missed.push(format!(
            "guards read `{key}` and parts of it, and not every combination of the two was tried"
        ));
    }
    let mut all: Vec<Value> = vec![Value::Object(Object::new())];
    let mut whole: Vec<Value> = Vec::new();
    for way in &ways {
        let of_way: Vec<&FieldGuard> = fields
            .iter()
            .filter(|field| below(&field.field) == *way)
            .copied()
            .collect();
        let (values, note) = scalars(key, &of_way);
        missed.extend(note);
        if way.is_empty() {
            whole = values;
            continue;
        }
        let mut longer = Vec::new();
        for shell in &all {
            longer.push(shell.clone());
            for value in &values {
                let mut shell = shell.clone();
                put(&mut shell, way, value.clone());
                longer.push(shell);
            }
        }
        if longer.len() > 4 * COMBINATIONS_MAX {
            missed.push(format!("guards read too many parts of `{key}`"));
            break;
        }
        all = longer;
    }
    whole.extend(all);
    (whole, missed)
}

/// Puts a value below the keys of `way`.
fn put(shell: &mut Value, way: &[String], value: Value) {
    let Some((first, rest)) = way.split_first() else {
        *shell = value;
        return;
    };
    if !shell.is_object() {
        *shell = Value::Object(Object::new());
    }
    if let Some(object) = shell.as_object_mut() {
        put(
            object.entry(first.clone()).or_insert(Value::Null),
            rest,
            value,
        );
    }
}

/// Chooses values that tell the guards of one field apart.
fn scalars(key: &str, fields: &[&FieldGuard]) -> (Vec<Value>, Option<String>) {
    let mut values: Vec<Value> = Vec::new();
    let mut numbers: Vec<f64> = Vec::new();
    let mut parts: Vec<Value> = Vec::new();
    let mut missed = None;
    for field in fields {
        let Some(value) = &field.value else { continue };
        match field.op {
            Op::In => values.extend(value.as_array().into_iter().flatten().cloned()),
            Op::Contains => parts.push(value.clone()),
            _ => values.push(value.clone()),
        }
        values.push(value.clone());
    }
    for value in values.clone() {
        if let Some(number) = value.as_f64() {
            numbers.push(number);
            if number.abs() > 9_007_199_254_740_990.0 {
                missed = Some(format!(
                    "`{key}` is compared with numbers too large to step beside"
                ));
            }
        }
    }
    numbers.sort_by(f64::total_cmp);
    for (index, number) in numbers.iter().enumerate() {
        for other in [number - 1.0, number + 1.0] {
            values.extend(number_value(other));
        }
        if let Some(next) = numbers.get(index + 1) {
            values.extend(number_value((number + next) / 2.0));
        }
    }
    if parts.len() > 6 {
        missed = Some(format!("`{key}` is asked for more than 6 parts"));
        parts.truncate(6);
    }
    for set in 0_usize..1 << parts.len() {
        let of_set = || {
            let chosen = parts.iter().enumerate();
            chosen
                .filter(move |(index, _)| set >> index & 1 == 1)
                .map(|(_, part)| part)
        };
        values.push(of_set().cloned().collect());
        let texts: Option<Vec<&str>> = of_set().map(Value::as_str).collect();
        if let Some(texts) = texts {
            values.push(Value::String(texts.join("\u{2}")));
        }
    }
    values.extend([
        Value::Bool(true),
        Value::Bool(false),
        Value::Null,
        json!("something else"),
        json!("yet another"),
        json!(["something else"]),
        json!(-777_777),
    ]);
    (values, missed)
}

/// Returns a number, as an integer if it is one.
fn number_value(number: f64) -> Option<Value> {
    let text = if number.fract() == 0.0 {
        format!("{number:.0}")
    } else {
        format!("{number}")
    };
    serde_json::from_str(&text).ok()
}
