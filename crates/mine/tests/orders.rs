//! The orders that the miner finds, and that the sequences follow them.

use interlock_mine::{Tree, order};
use proptest::prelude::*;

fn written(tree: &Tree<char>) -> String {
    let all = |parts: &[Tree<char>]| parts.iter().map(written).collect::<Vec<_>>().join(" ");
    match tree {
        Tree::Silent => "-".to_owned(),
        Tree::Leaf(one) => one.to_string(),
        Tree::Sequence(parts) => format!("seq({})", all(parts)),
        Tree::Choice(parts) => format!("or({})", all(parts)),
        Tree::Parallel(parts) => format!("and({})", all(parts)),
        Tree::Loop(body, redo) => format!("loop({} {})", written(body), written(redo)),
    }
}

fn log(traces: &[&str]) -> Vec<Vec<char>> {
    traces.iter().map(|trace| trace.chars().collect()).collect()
}

#[test]
fn orders_are_found() {
    for (traces, expected) in [
        (&["abc", "abc"][..], "seq(a b c)"),
        (&["ab", "ac"], "seq(a or(b c))"),
        (&["abc", "ac"], "seq(a or(- b) c)"),
        (&["abd", "bad"], "seq(and(a b) d)"),
        (&["aba", "a"], "loop(a b)"),
        (&["ababc", "abc"], "seq(loop(seq(a b) -) c)"),
        (&["a", "b"], "or(a b)"),
        (&["aa"], "loop(a -)"),
        (&[""], "-"),
    ] {
        let Some(tree) = order(&log(traces)) else {
            panic!("no order of {traces:?}")
        };
        assert_eq!(written(&tree), expected, "{traces:?}");
    }
}

/// Anything in any order is not an order.
#[test]
fn no_order_is_said() {
    assert_eq!(order(&log(&["abcacb"])), None);
}

/// Returns every sequence that an order allows, with each loop repeated up to twice.
fn allowed(tree: &Tree<char>) -> Vec<String> {
    let each = |parts: &[Tree<char>]| parts.iter().map(allowed).collect::<Vec<_>>();
    let joined = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter()
            .flat_map(|a| other.iter().map(move |b| format!("{a}{b}")))
            .collect()
    };
    let mut all = match tree {
        Tree::Silent => vec![String::new()],
        Tree::Leaf(one) => vec![one.to_string()],
        Tree::Choice(parts) => each(parts).concat(),
        Tree::Sequence(parts) => each(parts)
            .iter()
            .fold(vec![String::new()], |before, next| joined(&before, next)),
        Tree::Parallel(parts) => each(parts)
            .iter()
            .fold(vec![String::new()], |before, next| {
                before
                    .iter()
                    .flat_map(|a| next.iter().flat_map(move |b| shuffled(a, b)))
                    .collect()
            }),
        Tree::Loop(body, redo) => {
            let (body, redo) = (allowed(body), allowed(redo));
            let mut all = body.clone();
            let mut longest = body.clone();
            for _ in 0..3 {
                longest = joined(&joined(&longest, &redo), &body);
                longest.retain(|one| one.len() <= 6);
                longest.sort();
                longest.dedup();
                all.extend(longest.iter().cloned());
            }
            all
        }
    };
    all.retain(|one| one.len() <= 6);
    all.sort();
    all.dedup();
    all
}

fn shuffled(one: &str, other: &str) -> Vec<String> {
    let (Some(a), Some(b)) = (one.chars().next(), other.chars().next()) else {
        return vec![format!("{one}{other}")];
    };
    let rest = |text: &str| text.chars().skip(1).collect::<String>();
    let mut all: Vec<String> = shuffled(&rest(one), other)
        .iter()
        .map(|end| format!("{a}{end}"))
        .collect();
    all.extend(
        shuffled(one, &rest(other))
            .iter()
            .map(|end| format!("{b}{end}")),
    );
    all
}

proptest! {
    /// A mined order allows every sequence that it was mined from.
    #[test]
    fn every_sequence_fits(traces in prop::collection::vec("[abc]{0,4}", 1..5)) {
        let log: Vec<Vec<char>> = traces.iter().map(|trace| trace.chars().collect()).collect();
        if let Some(tree) = order(&log) {
            let allowed = allowed(&tree);
            for trace in &traces {
                prop_assert!(allowed.contains(trace), "{trace}: {}", written(&tree));
            }
        }
    }
}
