//! Monitors against their definitions, evaluated over a whole generated run.

use interlock_testkit::sample;
use serde_json::{Map, Value, json};

use super::{beside, chance::Chance};
use crate::{
    facts::Facts,
    monitor::{Since, Watch},
};

/// The observations of a step: the values of predicates, and further facts.
type Happened = (Vec<bool>, Facts);

const SLOTS: usize = 4;

fn run(chance: &mut Chance) -> Vec<Happened> {
    let length = 1 + chance.below(9);
    let step = |_| {
        let bits = (0..SLOTS).map(|_| chance.is(3)).collect();
        let mut facts = Facts {
            wrote: chance.is(3),
            ..Facts::default()
        };
        if chance.is(2) {
            facts.approved.push("GO".to_owned());
        }
        if chance.is(3) {
            let state = interlock_core::names::StateName::new("s");
            facts.entered.push((None, state));
        }
        (bits, facts)
    };
    (0..length).map(step).collect()
}

fn watch(chance: &mut Chance) -> Watch {
    match chance.below(5) {
        0 => Watch::Never(0),
        1 => Watch::Before {
            at: 0,
            require: (1..2 + chance.below(2)).collect(),
            since: match chance.below(3) {
                0 => Since::Start,
                1 => Since::LastEdit,
                _ => Since::Last(3),
            },
        },
        2 => Watch::After {
            from: 0,
            never: 1,
            until: chance.is(7).then_some(2),
        },
        3 => Watch::OnlyWithPerson(0),
        _ => Watch::AtMost {
            times: u32::try_from(chance.below(3)).unwrap(),
            of: 0,
            per_state: chance.is(5),
        },
    }
}

/// Returns whether a property is violated in step `now`, by the definitions in the book.
fn is_broken(watch: &Watch, run: &[Happened], now: usize) -> bool {
    let is = |slot: usize, step: usize| run[step].0[slot];
    match watch {
        Watch::Never(what) => is(*what, now),
        Watch::Before { at, require, since } => {
            let makes_old = |step: usize| match since {
                Since::Start => false,
                Since::LastEdit => run[step].1.wrote,
                Since::Last(what) => is(*what, step),
            };
            let happened =
                |what: usize| (0..=now).any(|step| is(what, step) && !(step..now).any(makes_old));
            is(*at, now) && !require.iter().all(|what| happened(*what))
        }
        Watch::After { from, never, until } => {
            let ended = |step: usize| until.is_some_and(|until| is(until, step));
            let on = (0..now).any(|step| is(*from, step) && !(step + 1..=now).any(ended));
            on && is(*never, now)
        }
        Watch::OnlyWithPerson(what) => {
            let asked = (0..=now).any(|step| !run[step].1.approved.is_empty());
            is(*what, now) && !asked
        }
        Watch::AtMost {
            times,
            of,
            per_state,
        } => {
            let entered = |step: &usize| *per_state && !run[*step].1.entered.is_empty();
            let from = (0..now).rev().find(entered).map_or(0, |step| step + 1);
            let count = (from..=now).filter(|step| is(*of, *step)).count();
            u32::try_from(count).unwrap() > *times
        }
        _ => unreachable!("no other is made up"),
    }
}

#[test]
fn a_watcher_stops_where_its_definition_is_first_broken() {
    let mut chance = Chance::of(7);
    let mut stopped = 0;
    for _ in 0..4_000 {
        let (watch, run) = (watch(&mut chance), run(&mut chance));
        let mut memory = Some(0);
        for now in 0..run.len() {
            let (bits, facts) = &run[now];
            memory = memory.and_then(|memory| watch.step(memory, bits, facts, &[]));
            let broken = is_broken(&watch, &run, now);
            assert_eq!(memory.is_none(), broken, "{watch:?} at {now} of {run:#?}");
            if broken {
                stopped += 1;
                break;
            }
        }
    }
    assert!((1_000..3_900).contains(&stopped), "{stopped}");
}

/// Writes a property as a formula over the past that holds as long as the property is not violated.
///
/// The formula follows the definitions in the book, and not the state of a monitor.
fn formula(watch: &Watch) -> String {
    match watch {
        Watch::Never(what) => format!("H(!p{what})"),
        Watch::Before { at, require, since } => {
            let happened = |what: &usize| match since {
                Since::Start => format!("O(p{what})"),
                Since::LastEdit => format!("(p{what} | Y((!wrote) S (p{what} & !wrote)))"),
                Since::Last(old) => {
                    format!("(p{what} | Y((!p{old}) S (p{what} & !p{old})))")
                }
            };
            let all: Vec<String> = require.iter().map(happened).collect();
            format!("H(p{at} -> ({}))", all.join(" & "))
        }
        Watch::After { from, never, until } => match until {
            Some(until) => {
                format!("H(!(p{never} & !p{until} & Y((!p{until}) S (p{from}))))")
            }
            None => format!("H(!(p{never} & Y(O(p{from}))))"),
        },
        Watch::OnlyWithPerson(what) => format!("H(p{what} -> O(approved))"),
        Watch::AtMost {
            times,
            of,
            per_state,
        } => {
            let once_more = |earlier: String| match per_state {
                true => format!("(p{of} & Y((!entered) S ({earlier} & !entered)))"),
                false => format!("(p{of} & Y(O({earlier})))"),
            };
            let too_often = (0..*times).fold(format!("p{of}"), |earlier, _| once_more(earlier));
            format!("H(!{too_often})")
        }
        _ => unreachable!("no other is made up"),
    }
}

#[test]
fn a_watcher_says_what_the_automaton_of_its_formula_says() {
    let whole = sample::is_whole();
    let mut chance = Chance::of(23);
    let mut formulas: Vec<String> = Vec::new();
    let (mut asked, mut said) = (Vec::new(), Vec::new());
    for _ in 0..if whole { 100_000 } else { 4_000 } {
        let (watch, run) = (watch(&mut chance), run(&mut chance));
        let formula = formula(&watch);
        let number = formulas.iter().position(|known| *known == formula);
        let number = number.unwrap_or_else(|| {
            formulas.push(formula);
            formulas.len() - 1
        });
        let steps: Vec<Value> = run
            .iter()
            .map(|(bits, facts)| {
                let mut step: Map<String, Value> = (0..SLOTS)
                    .map(|slot| (format!("p{slot}"), json!(bits[slot])))
                    .collect();
                step.insert("wrote".to_owned(), json!(facts.wrote));
                step.insert("approved".to_owned(), json!(!facts.approved.is_empty()));
                step.insert("entered".to_owned(), json!(!facts.entered.is_empty()));
                Value::Object(step)
            })
            .collect();
        asked.push(json!({"formula": number, "steps": steps}));
        let mut memory = Some(0);
        let holds: Vec<bool> = run
            .iter()
            .map(|(bits, facts)| {
                memory = memory.and_then(|memory| watch.step(memory, bits, facts, &[]));
                memory.is_some()
            })
            .collect();
        said.push((watch, run, holds));
    }
    let asked = json!({"formulas": formulas, "runs": asked});
    let Some(answers) = beside::ask("monitors.py", &asked) else {
        return;
    };
    assert_eq!(answers.as_array().unwrap().len(), said.len());
    assert!(formulas.len() >= 12, "{formulas:#?}");
    for (answer, (watch, run, holds)) in answers.as_array().unwrap().iter().zip(&said) {
        assert_eq!(
            *answer,
            json!(holds),
            "{watch:?}, {}: {run:#?}",
            formula(watch)
        );
    }
}
