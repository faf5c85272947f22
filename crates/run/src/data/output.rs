//! The value of a text from a model, a tool or a person.

use serde_json::{Deserializer, Value};

use super::literal;

/// Parses an output.
///
/// These forms are tried in order: the whole text as JSON; the whole text as a Python literal; the first fenced
/// block tagged `json`; the first balanced `{…}` that can be parsed. If none applies, the result is the text itself.
#[must_use]
pub fn parse_output(text: &str) -> Value {
    let whole = value(text.trim());
    whole
        .or_else(|| fenced(text).and_then(|block| value(block.trim())))
        .or_else(|| first_object(text))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text)
        .ok()
        .or_else(|| literal::whole(text))
}

/// Returns the contents of the first block tagged `json`.
fn fenced(text: &str) -> Option<&str> {
    let mut at = 0;
    let mut opened: Option<(&str, usize)> = None;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        let fence = fence(bare);
        match (opened, fence) {
            (Some((with, from)), Some(fence)) if fence.len() == bare.len() => {
                let closes = fence.starts_with(with);
                if closes {
                    return text.get(from..start);
                }
            }
            (None, Some(fence)) => {
                let tag = bare.get(fence.len()..).unwrap_or_default().trim();
                if tag.eq_ignore_ascii_case("json") {
                    opened = Some((fence, at));
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the backquotes or tildes, at least three, at the beginning of a line.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let fence = line.get(..line.len() - rest.len())?;
    (fence.len() >= 3).then_some(fence)
}

/// Maximum number of braces in one text at which an object is tried: each attempt costs as much as the object is deep.
const PLACES_MAX: usize = 10_000;

/// Returns the first object anywhere in a text.
fn first_object(text: &str) -> Option<Value> {
    let mut places = text.match_indices('{').take(PLACES_MAX);
    places.find_map(|(at, _)| {
        let rest = text.get(at..)?;
        // Both readers stop at the end of the first value, and follow a bounded depth only.
        let json = Deserializer::from_str(rest).into_iter::<Value>().next();
        json.and_then(Result::ok)
            .or_else(|| literal::first(rest).map(|(value, _)| value))
            .filter(Value::is_object)
    })
}
