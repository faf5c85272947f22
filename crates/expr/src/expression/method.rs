//! Methods of texts and of maps.

use super::{
    Method,
    call::items,
    evaluate::{Evaluation, Failure},
    number,
    value::Value,
};

/// Calls a method.
pub(super) fn call(
    evaluation: &mut Evaluation<'_>,
    of: &Value,
    method: Method,
    arguments: &[Value],
) -> Result<Value, Failure> {
    match of {
        Value::Text { text, data } => {
            evaluation.spend_bytes(text.len())?;
            of_text(evaluation, (text, *data), method, arguments)
        }
        Value::Map(fields) => {
            evaluation.spend(fields.len())?;
            let key = |key: &String| Value::Text {
                text: key.clone(),
                data: true,
            };
            match (method, arguments) {
                (Method::Get, [name]) => {
                    Ok(fields.get(&name.shown()).cloned().unwrap_or(Value::Null))
                }
                (Method::Get, [name, default]) => {
                    let found = fields.get(&name.shown());
                    Ok(found.cloned().unwrap_or_else(|| default.clone()))
                }
                (Method::Keys, []) => Ok(Value::List(fields.keys().map(key).collect())),
                (Method::Values, []) => Ok(Value::List(fields.values().cloned().collect())),
                (Method::Items, []) => {
                    let pairs = fields
                        .iter()
                        .map(|(name, value)| Value::List(vec![key(name), value.clone()]));
                    Ok(Value::List(pairs.collect()))
                }
                _ => Err(wrong(method, of, arguments)),
            }
        }
        _ => Err(wrong(method, of, arguments)),
    }
}

fn wrong(method: Method, of: &Value, arguments: &[Value]) -> Failure {
    let kinds: Vec<&str> = arguments.iter().map(Value::kind).collect();
    let with = if kinds.is_empty() {
        String::new()
    } else {
        format!(" with {}", kinds.join(", "))
    };
    Failure::new(format!("{} has no `{}`{with}", of.kind(), method.word()))
}

fn of_text(
    evaluation: &mut Evaluation<'_>,
    (text, data): (&str, bool),
    method: Method,
    arguments: &[Value],
) -> Result<Value, Failure> {
    let made = |text: String| Ok(Value::Text { text, data });
    let list = |parts: Vec<String>| {
        let parts = parts.into_iter();
        Ok(Value::List(
            parts.map(|text| Value::Text { text, data }).collect(),
        ))
    };
    let this = || Value::Text {
        text: text.to_owned(),
        data,
    };
    let texts: Option<Vec<&str>> = arguments.iter().map(text_of).collect();
    let texts = texts.as_deref();
    match (method, texts, arguments) {
        (Method::Lower, _, []) => made(text.to_lowercase()),
        (Method::Upper, _, []) => made(text.to_uppercase()),
        (Method::Title, _, []) => made(title(text)),
        (Method::Capitalize, _, []) => made(capitalize(text)),
        (Method::Strip, _, []) => made(text.trim().to_owned()),
        (Method::Lstrip, _, []) => made(text.trim_start().to_owned()),
        (Method::Rstrip, _, []) => made(text.trim_end().to_owned()),
        (Method::Strip, Some([set]), _) => made(text.trim_matches(|c| set.contains(c)).to_owned()),
        (Method::Lstrip, Some([set]), _) => {
            made(text.trim_start_matches(|c| set.contains(c)).to_owned())
        }
        (Method::Rstrip, Some([set]), _) => {
            made(text.trim_end_matches(|c| set.contains(c)).to_owned())
        }
        (Method::Startswith, Some([part]), _) => Ok(Value::Bool(text.starts_with(part))),
        (Method::Endswith, Some([part]), _) => Ok(Value::Bool(text.ends_with(part))),
        (Method::Startswith | Method::Endswith, _, [Value::List(parts)]) => {
            let parts: Option<Vec<&str>> = parts.iter().map(text_of).collect();
            let parts = parts.ok_or_else(|| wrong(method, &this(), arguments))?;
            let fits = |part: &&str| match method {
                Method::Startswith => text.starts_with(part),
                _ => text.ends_with(part),
            };
            Ok(Value::Bool(parts.iter().any(fits)))
        }
        (Method::Contains, Some([part]), _) => Ok(Value::Bool(text.contains(part))),
        (Method::Isdigit, _, []) => Ok(Value::Bool(
            !text.is_empty() && text.chars().all(char::is_numeric),
        )),
        (Method::Isalpha, _, []) => Ok(Value::Bool(
            !text.is_empty() && text.chars().all(char::is_alphabetic),
        )),
        (Method::Split, _, []) => list(text.split_whitespace().map(str::to_owned).collect()),
        (Method::Split, _, [Value::Text { text: by, .. }, rest @ ..]) if rest.len() <= 1 => {
            if by.is_empty() {
                return Err(Failure::new("`split` wants a text that is not empty"));
            }
            let most = rest.first().map(Value::meant);
            let most = most.as_ref().and_then(number::whole).unwrap_or(-1);
            let parts: Vec<String> = match usize::try_from(most) {
                Ok(most) => text
                    .splitn(most.saturating_add(1), by.as_str())
                    .map(str::to_owned)
                    .collect(),
                Err(_) => text.split(by.as_str()).map(str::to_owned).collect(),
            };
            evaluation.spend(parts.len())?;
            list(parts)
        }
        (Method::Splitlines, _, []) => {
            let parts: Vec<String> = text.lines().map(str::to_owned).collect();
            evaluation.spend(parts.len())?;
            list(parts)
        }
        (Method::Replace, Some([from, to]), _) => {
            let pieces = text.matches(from).count();
            evaluation.spend_bytes(text.len() + pieces.saturating_mul(to.len()))?;
            made(text.replace(from, to))
        }
        (Method::Replace, _, [from, to, most]) => {
            let (Some(from), Some(to)) = (text_of(from), text_of(to)) else {
                return Err(wrong(method, &this(), arguments));
            };
            let most = number::whole(&most.meant()).unwrap_or(-1);
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            made(text.replacen(from, to, most))
        }
        (Method::Find, Some([part]), _) => {
            let before = text.find(part).and_then(|at| text.get(..at));
            let at = before.map_or(-1, |before| before.chars().count() as i128);
            Ok(Value::Integer(at))
        }
        (Method::Count, Some([part]), _) => {
            let count = text.matches(part).count();
            Ok(Value::Integer(count as i128))
        }
        (Method::Join, _, [list]) => {
            let parts = items(evaluation, list)?;
            let parts: Option<Vec<&str>> = parts.iter().map(text_of).collect();
            let parts = parts.ok_or_else(|| Failure::new("`join` wants a list of texts"))?;
            let joined = parts.join(text);
            evaluation.spend_bytes(joined.len())?;
            made(joined)
        }
        _ => Err(wrong(method, &this(), arguments)),
    }
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::Text { text, .. } => Some(text),
        _ => None,
    }
}

fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    first.map_or_else(String::new, |first| {
        let rest = letters.as_str().to_lowercase();
        first.to_uppercase().chain(rest.chars()).collect()
    })
}

/// Writes the first letter of each word large and the others small.
fn title(text: &str) -> String {
    let mut titled = String::new();
    let mut within = false;
    for letter in text.chars() {
        if within {
            titled.extend(letter.to_lowercase());
        } else {
            titled.extend(letter.to_uppercase());
        }
        within = letter.is_alphabetic();
    }
    titled
}
