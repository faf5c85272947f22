//! The form of a field's value, and the error for other values.

use interlock_expr::nearest::nearest;

use super::Table;
use crate::{
    diagnostic::Report,
    node::{Entry, Kind, Node},
};

/// The form of a field's value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Any value at all.
    Any,
    /// Any object.
    Object,
    /// Text.
    Text,
    /// Text that is not empty.
    Name,
    /// True or false.
    Bool,
    /// A whole number.
    Integer,
    /// A whole number from 1.
    Count,
    /// A whole number from 1 to this one.
    CountTo(u64),
    /// A number that is not negative.
    Number,
    /// A time such as `30s`, `5m` or `1h`.
    Time,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A list of non-empty texts.
    Names,
    /// A list of other items, each parsed by hand.
    List(&'static str),
    /// A map of texts.
    Texts,
    /// An object of this table.
    Of(&'static Table),
    /// A map of such objects.
    MapOf(&'static Table),
    /// Several forms, parsed by hand; the name of the schema definition.
    By(&'static str),
    /// A map of such values.
    MapBy(&'static str),
}

impl Shape {
    /// A limit that is never reached, for counting fields that are limited by default.
    pub(crate) const ANY: u64 = u32::MAX as u64;

    /// Returns whether `node` has this form, and reports it otherwise.
    pub(crate) fn check(self, name: &str, node: &Node, report: &mut Report) -> bool {
        let fits = match (self, &node.kind) {
            (Self::Names, Kind::List(items)) => return check_names(name, items, report),
            (Self::Texts, Kind::Map(entries)) => return check_texts(name, entries, report),
            (Self::Any | Self::By(_), _)
            | (Self::Object | Self::Of(_) | Self::MapOf(_) | Self::MapBy(_), Kind::Map(_))
            | (Self::List(_), Kind::List(_))
            | (Self::Text, Kind::Text(_))
            | (Self::Bool, Kind::Bool(_)) => true,
            (Self::Name, Kind::Text(text)) => !text.is_empty(),
            (Self::Integer, Kind::Number(number)) => number.is_i64(),
            (Self::Count, Kind::Number(number)) => number.as_u64().is_some_and(|count| count > 0),
            (Self::CountTo(max), Kind::Number(number)) => number
                .as_u64()
                .is_some_and(|count| (1..=max).contains(&count)),
            (Self::Number, Kind::Number(number)) => !number.as_str().starts_with('-'),
            (Self::Time, Kind::Text(text)) => milliseconds(text).is_some(),
            (Self::OneOf(words), Kind::Text(text)) => {
                if let (false, Some(near)) = (
                    words.contains(&text.as_str()),
                    nearest(text, words.iter().copied()),
                ) {
                    report
                        .error(
                            node.span,
                            "wrong_value",
                            format!("`{name}` cannot be `{text}`: did you mean `{near}`?"),
                        )
                        .help(format!("it is {}", self.wanted()));
                    return false;
                }
                words.contains(&text.as_str())
            }
            _ => false,
        };
        if !fits {
            self.refuse(name, node, report);
        }
        fits
    }

    fn refuse(self, name: &str, node: &Node, report: &mut Report) {
        let code = match (self, &node.kind) {
            (Self::Name | Self::OneOf(_) | Self::Time, Kind::Text(_))
            | (Self::Count | Self::CountTo(_) | Self::Number | Self::Integer, Kind::Number(_)) => {
                "wrong_value"
            }
            _ => "wrong_type",
        };
        let found = if node.text() == Some("") {
            "empty".to_owned()
        } else {
            node.describe()
        };
        let problem = report.error(
            node.span,
            code,
            format!("`{name}` must be {}, not {found}", self.wanted()),
        );
        match (self, &node.kind) {
            (_, Kind::Null) => problem.help(format!("leave `{name}` out, or give it a value")),
            (Self::Count, Kind::Number(_)) => {
                problem.help(format!("leave `{name}` out for no limit"))
            }
            (Self::Text | Self::Name, Kind::Number(_) | Kind::Bool(_)) => {
                problem.help("put it in quotes")
            }
            (Self::MapOf(_), Kind::List(_)) if name == "states" => {
                problem.help("write an object with the name of each state as its key, as in `planning: {…}`; a list of states is CodeMie's, which has neither `id` nor `initial`")
            }
            (Self::Names | Self::List(_), Kind::Text(text)) => {
                problem.help(format!("write a list: [\"{text}\"]"))
            }
            _ => {}
        }
    }

    /// Describes the form, for messages.
    pub(crate) fn wanted(self) -> String {
        match self {
            Self::Any | Self::By(_) => "a value".to_owned(),
            Self::Object | Self::Of(_) | Self::MapOf(_) | Self::MapBy(_) => "an object".to_owned(),
            Self::Text | Self::Name => "text".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Integer => "a whole number".to_owned(),
            Self::Count => "a whole number from 1".to_owned(),
            Self::CountTo(Self::ANY) => "a whole number from 1".to_owned(),
            Self::CountTo(max) => format!("a whole number from 1 to {max}"),
            Self::Number => "a number from 0".to_owned(),
            Self::Time => "a time such as `30s`, `5m` or `1h`".to_owned(),
            Self::Names => "a list of text".to_owned(),
            Self::List(of) => format!("a list of {of}"),
            Self::Texts => "an object of text".to_owned(),
            Self::OneOf(words) => alternatives(words),
        }
    }
}

/// Lists words of which one is to be chosen, for messages.
pub(crate) fn alternatives(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Parses a duration: digits and one of `s`, `m`, `h`; in milliseconds.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let unit = match text.as_bytes().last()? {
        b's' => 1_000,
        b'm' => 60_000,
        b'h' => 3_600_000,
        _ => return None,
    };
    let digits = text.get(..text.len() - 1)?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| plain)?
        .checked_mul(unit)
}

/// Checks every item of a list of texts; invalid ones are left out later.
fn check_names(name: &str, items: &[Node], report: &mut Report) -> bool {
    for item in items
        .iter()
        .filter(|item| item.text().is_none_or(str::is_empty))
    {
        let found = if item.text() == Some("") {
            "empty text".to_owned()
        } else {
            item.describe()
        };
        report.error(
            item.span,
            "wrong_type",
            format!("an item of `{name}` must be text, not {found}"),
        );
    }
    true
}

fn check_texts(name: &str, entries: &[Entry], report: &mut Report) -> bool {
    for entry in entries.iter().filter(|entry| entry.value.text().is_none()) {
        let found = entry.value.describe();
        let problem = report.error(
            entry.value.span,
            "wrong_type",
            format!("`{}` in `{name}` must be text, not {found}", entry.key),
        );
        if matches!(entry.value.kind, Kind::Number(_) | Kind::Bool(_)) {
            problem.help("put it in quotes");
        }
    }
    true
}
