//! Formatting of the members of one object or list.

use serde::Serialize as _;
use serde_json::{Value, ser::PrettyFormatter};

pub(crate) struct Style {
    /// Text before each member or item.
    pub(crate) between: String,
    /// Text after the last one, if there was none.
    pub(crate) behind: String,
    /// Set if every member has a line of its own.
    pub(crate) lines: Option<Lines>,
    pub(crate) colon: &'static str,
}

pub(crate) struct Lines {
    pub(crate) indent: String,
    pub(crate) unit: String,
    pub(crate) newline: &'static str,
}

impl Style {
    pub(crate) fn write(&self, key: Option<&str>, value: &Value) -> String {
        let key = key.map_or_else(String::new, |key| {
            format!("{}{}", Value::from(key), self.colon)
        });
        let Some(lines) = &self.lines else {
            return format!("{key}{}", self.flat(value));
        };
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(lines.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        if value.serialize(&mut serializer).is_err() {
            return format!("{key}{value}");
        }
        let text = String::from_utf8(bytes).unwrap_or_else(|_| value.to_string());
        let next = format!("{}{}", lines.newline, lines.indent);
        format!("{key}{}", text.replace('\n', &next))
    }

    /// Formats a value on one line, with the spacing of its surroundings.
    fn flat(&self, value: &Value) -> String {
        let air = if self.colon == ":" { "" } else { " " };
        let comma = format!(",{air}");
        match value {
            Value::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, value)| {
                        format!(
                            "{}{}{}",
                            Value::from(key.as_str()),
                            self.colon,
                            self.flat(value)
                        )
                    })
                    .collect();
                format!("{{{}}}", members.join(&comma))
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.flat(item)).collect();
                format!("[{}]", items.join(&comma))
            }
            other => other.to_string(),
        }
    }
}
