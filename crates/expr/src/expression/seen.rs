//! What an expression looked at, short enough for a log.

use serde_json::Value;

use super::{At, Expression, Names, Node};
use crate::Object;

/// Values that are told of one expression at most.
const VALUES_MAX: usize = 12;
/// Characters of a value, as JSON text, that are told of it at most.
const CHARACTERS_MAX: usize = 80;

impl Expression {
    /// Returns what the expression reads and what that is, in the order written: `{"a.b": 4}`.
    ///
    /// What is missing is left out; what is long is cut, as text.
    #[must_use]
    pub fn seen(&self, names: &dyn Names) -> Object {
        let mut found: Vec<Option<(String, Value)>> = Vec::new();
        let mut bases: Vec<At> = Vec::new();
        for node in &self.nodes {
            let of = |at: &At| found.get(at.index()).cloned().flatten();
            let next = match node {
                Node::Name(name) => names
                    .meaning(name)
                    .map(|value| (name.clone(), value.into_owned())),
                Node::Field(at, name) => of(at).and_then(|(path, value)| {
                    bases.push(*at);
                    Some((format!("{path}.{name}"), value.get(name)?.clone()))
                }),
                Node::Item(at, index) => self.literal(*index).and_then(|index| {
                    let (path, value) = of(at)?;
                    bases.push(*at);
                    Some((format!("{path}[{index}]"), item(&value, index)?))
                }),
                _ => None,
            };
            found.push(next);
        }
        let whole = found.into_iter().enumerate();
        whole
            .filter(|(at, _)| bases.iter().all(|base| base.index() != *at))
            .filter_map(|(_, seen)| seen)
            .take(VALUES_MAX)
            .map(|(path, value)| (path, short(value)))
            .collect()
    }

    fn literal(&self, at: At) -> Option<&Value> {
        match self.node(at)? {
            Node::Literal(value) => Some(value),
            _ => None,
        }
    }
}

fn item(value: &Value, index: &Value) -> Option<Value> {
    match index {
        Value::String(name) => value.get(name.as_str()).cloned(),
        index => value.get(usize::try_from(index.as_u64()?).ok()?).cloned(),
    }
}

fn short(value: Value) -> Value {
    let text = value.to_string();
    if text.chars().nth(CHARACTERS_MAX).is_none() {
        return value;
    }
    let cut = text.chars().take(CHARACTERS_MAX - 1);
    Value::String(cut.chain(['\u{2026}']).collect())
}
