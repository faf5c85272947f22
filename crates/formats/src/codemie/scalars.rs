//! Checks whether a value has the kind of its key.

use interlock_expr::nearest::nearest;

use super::{
    notes::{Notes, describe, shown},
    table::Kind,
};
use crate::{
    fit::truth,
    node::{Kind as NodeKind, Node},
    table::alternatives,
};

/// Returns whether `node` has this kind, and reports it otherwise.
pub(super) fn check(kind: Kind, name: &str, node: &Node, notes: &mut Notes<'_>) -> bool {
    match kind {
        Kind::Any => true,
        Kind::Texts => items(name, node, notes),
        Kind::Lines => node.text().is_some() || items(name, node, notes),
        Kind::TextMap => texts(name, node, notes),
        Kind::Map | Kind::One(_) => is_map(name, node, notes),
        Kind::List(_) => is_list(name, "a list", node, notes),
        Kind::Schema => {
            let fits = matches!(node.kind, NodeKind::Map(_)) || node.text().is_some();
            if !fits {
                notes.wrong_type(name, "a JSON Schema, as text or as a map", node);
            }
            fits
        }
        _ => scalar(kind, name, node, notes),
    }
}

fn scalar(kind: Kind, name: &str, node: &Node, notes: &mut Notes<'_>) -> bool {
    let wanted = wanted(kind);
    let Some(text) = node.text() else {
        notes.wrong_type(name, &wanted, node);
        return false;
    };
    let fits = match kind {
        Kind::Flag => truth(text).is_some(),
        Kind::Clear => text == "keep_current" || truth(text).is_some(),
        Kind::Integer(from, to) => whole(text).is_some_and(|number| (from..=to).contains(&number)),
        Kind::Decimal(from, to) => decimal_fits(text, from, to),
        Kind::Word(words) => words.contains(&text),
        _ => true,
    };
    if fits {
        return true;
    }
    let near = match kind {
        Kind::Word(words) => nearest(text, words.iter().copied()),
        _ => None,
    };
    let guess = near
        .map(|near| format!(": did you mean `{near}`?"))
        .unwrap_or_default();
    notes.report.error(
        node.span,
        "wrong_value",
        format!("`{name}` must be {wanted}, not `{}`{guess}", shown(text)),
    );
    false
}

fn wanted(kind: Kind) -> String {
    match kind {
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Clear => "`false`, `true` or `keep_current`".to_owned(),
        Kind::Integer(from, u64::MAX) => format!("a whole number from {from}"),
        Kind::Integer(from, to) => format!("a whole number from {from} to {to}"),
        Kind::Decimal(from, to) => format!("a number from {from} to {to}"),
        Kind::Word(words) => alternatives(words),
        _ => "text".to_owned(),
    }
}

fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

fn decimal_fits(text: &str, from: u64, to: u64) -> bool {
    let text = text.trim();
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = text.parse::<f64>().ok().filter(|_| plain);
    #[expect(
        clippy::cast_precision_loss,
        reason = "the bounds of the tables are small whole numbers"
    )]
    number.is_some_and(|number| number >= from as f64 && number <= to as f64)
}

fn is_map(name: &str, node: &Node, notes: &mut Notes<'_>) -> bool {
    let fits = matches!(node.kind, NodeKind::Map(_));
    if !fits {
        notes.wrong_type(name, "a map", node);
    }
    fits
}

fn is_list(name: &str, wanted: &str, node: &Node, notes: &mut Notes<'_>) -> bool {
    let fits = matches!(node.kind, NodeKind::List(_));
    if !fits {
        notes.wrong_type(name, wanted, node);
    }
    fits
}

fn items(name: &str, node: &Node, notes: &mut Notes<'_>) -> bool {
    if !is_list(name, "a list of texts", node, notes) {
        return false;
    }
    for item in node.items().iter().filter(|item| item.text().is_none()) {
        notes.report.error(
            item.span,
            "wrong_type",
            format!("an item of `{name}` must be text, not {}", describe(item)),
        );
    }
    true
}

fn texts(name: &str, node: &Node, notes: &mut Notes<'_>) -> bool {
    if !is_map(name, node, notes) {
        return false;
    }
    let bad = |value: &Node| matches!(value.kind, NodeKind::List(_) | NodeKind::Map(_));
    for entry in node.entries().iter().filter(|entry| bad(&entry.value)) {
        notes.wrong_type(&format!("{name}.{}", entry.key), "text", &entry.value);
    }
    true
}
