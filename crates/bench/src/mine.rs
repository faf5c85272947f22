//! Compares the orders that `mine` finds in generated sequences with those of pm4py's inductive miner.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_mine::{Tree, order};
use serde_json::{Value, json};

use crate::{
    arguments::Arguments,
    table::{Table, ratio, shown},
};

const SCRIPT: &str = "pm4py_orders.py";
const LOGS: usize = 30;
/// Number of sequences in each log.
const SEQUENCES: usize = 8;
/// Maximum length of a sequence, because a loop may repeat without end.
const LENGTH_MAX: usize = 16;

/// Lets pm4py measure how well the orders of both fit, and how much else they allow.
pub(crate) fn pm4py(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let mut dice = Dice(1);
    let logs: Vec<Vec<Vec<char>>> = (0..LOGS).map(|_| log(&mut dice)).collect();
    let begun = Instant::now();
    let found: Vec<Option<Tree<char>>> = logs.iter().map(|log| order(log)).collect();
    let took = begun.elapsed();
    let asked: Vec<Value> = logs
        .iter()
        .zip(&found)
        .map(|(log, tree)| json!({"log": log, "tree": tree.as_ref().map(written)}))
        .collect();
    let said = asked_of(arguments, &Value::Array(asked))?;
    let answers = said.get("answers").and_then(Value::as_array);
    let answers = answers.context("no answers")?;
    let mean = |of: &str, what: &str| -> f64 {
        let both = answers.iter().filter(|one| !is_null(one, "ours"));
        let values = both.filter_map(|one| one.get(of)?.get(what)?.as_f64());
        let values: Vec<f64> = values.collect();
        let count = u32::try_from(values.len()).unwrap_or(u32::MAX).max(1);
        values.iter().sum::<f64>() / f64::from(count)
    };
    let none = answers.iter().filter(|one| is_null(one, "ours")).count();
    let version = said.get("version").and_then(Value::as_str);
    let name = format!("pm4py {}", version.context("no version")?);
    let count = answers.len() - none;
    for (what, words) in [("fit", "sequences that fit"), ("precision", "precision")] {
        let (own, other) = (mean("ours", what), mean("theirs", what));
        table.seen(
            format!("mine: {words}, {count} orders of {LOGS} logs, {none} without an order"),
            format!("{own:.3}"),
            format!("{other:.3} of {name}"),
            own / other,
        );
    }
    ensure!(mean("ours", "fit") >= 1.0, "an order does not fit: {said}");
    let seconds = said.get("seconds").and_then(Value::as_f64);
    let beside = Duration::from_secs_f64(seconds.context("no time")?);
    table.seen(
        format!("mine: time for {LOGS} logs"),
        shown(took),
        format!("{} of {name}", shown(beside)),
        ratio(took, beside),
    );
    Ok(())
}

fn is_null(answer: &Value, key: &str) -> bool {
    answer.get(key).is_none_or(Value::is_null)
}

/// Runs the script of the peers.
fn asked_of(arguments: &Arguments, asked: &Value) -> Result<Value> {
    let folder = Path::new(&arguments.peers);
    let mut program = Command::new("python3")
        .arg(folder.join(SCRIPT))
        .env("PYTHONPATH", folder.join("python"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = program.stdin.take().context("no standard input")?;
    input.write_all(asked.to_string().as_bytes())?;
    drop(input);
    let output = program.wait_with_output()?;
    ensure!(output.status.success(), "`{SCRIPT}`: {output:?}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Writes an order in pm4py's notation.
fn written(tree: &Tree<char>) -> String {
    let all = |parts: &[Tree<char>]| parts.iter().map(written).collect::<Vec<_>>().join(", ");
    match tree {
        Tree::Silent => "tau".to_owned(),
        Tree::Leaf(one) => format!("'{one}'"),
        Tree::Sequence(parts) => format!("->( {} )", all(parts)),
        Tree::Choice(parts) => format!("X( {} )", all(parts)),
        Tree::Parallel(parts) => format!("+( {} )", all(parts)),
        Tree::Loop(body, redo) => format!("*( {}, {} )", written(body), written(redo)),
    }
}

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }
}

/// Generates an order of up to six activities, and sequences that follow it.
fn log(dice: &mut Dice) -> Vec<Vec<char>> {
    let count = dice.below(4) + 3;
    let activities: Vec<char> = ('a'..='z')
        .take(usize::try_from(count).unwrap_or_default())
        .collect();
    let order = made_up(dice, &activities);
    let mut all = Vec::new();
    while all.len() < SEQUENCES {
        let mut one = Vec::new();
        play(dice, &order, &mut one);
        if one.len() <= LENGTH_MAX {
            all.push(one);
        }
    }
    all
}

fn made_up(dice: &mut Dice, activities: &[char]) -> Tree<char> {
    if activities.len() < 2 {
        let only = activities.first();
        return only.map_or(Tree::Silent, |one| Tree::Leaf(*one));
    }
    let last = u64::try_from(activities.len() - 1).unwrap_or(1);
    let at = usize::try_from(dice.below(last) + 1).unwrap_or(1);
    let (one, other) = activities.split_at(at);
    let (one, other) = (made_up(dice, one), made_up(dice, other));
    match dice.below(6) {
        0..=2 => Tree::Sequence(vec![one, other]),
        3 => Tree::Choice(vec![one, other]),
        4 => Tree::Parallel(vec![one, other]),
        _ => Tree::Loop(Box::new(one), Box::new(other)),
    }
}

fn play(dice: &mut Dice, order: &Tree<char>, into: &mut Vec<char>) {
    match order {
        Tree::Silent => {}
        Tree::Leaf(one) => into.push(*one),
        Tree::Sequence(parts) => parts.iter().for_each(|part| play(dice, part, into)),
        Tree::Choice(parts) => {
            let count = u64::try_from(parts.len()).unwrap_or(1).max(1);
            let at = usize::try_from(dice.below(count)).unwrap_or_default();
            if let Some(part) = parts.get(at) {
                play(dice, part, into);
            }
        }
        Tree::Parallel(parts) => {
            let mut each: Vec<Vec<char>> = Vec::new();
            for part in parts {
                let mut one = Vec::new();
                play(dice, part, &mut one);
                one.reverse();
                each.push(one);
            }
            while each.iter().any(|one| !one.is_empty()) {
                let count = u64::try_from(each.len()).unwrap_or(1).max(1);
                let at = usize::try_from(dice.below(count)).unwrap_or_default();
                into.extend(each.get_mut(at).and_then(Vec::pop));
            }
        }
        Tree::Loop(body, redo) => {
            play(dice, body, into);
            while dice.below(3) == 0 && into.len() <= LENGTH_MAX {
                play(dice, redo, into);
                play(dice, body, into);
            }
        }
    }
}
