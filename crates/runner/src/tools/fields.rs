//! Arguments by name, all of them text, whatever a template produced.

use serde_json::Value;

use crate::order::Failed;

/// The arguments of one tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    tool: &'a str,
    input: &'a Value,
}

impl<'a> Fields<'a> {
    pub(super) const fn new(tool: &'a str, input: &'a Value) -> Self {
        Self { tool, input }
    }

    /// Returns an argument unchanged; `None` if it is not given.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.input.get(name).filter(|value| !value.is_null())
    }

    /// Returns an argument as text.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Failed> {
        self.get(name)
            .map(|value| self.scalar(name, value))
            .transpose()
    }

    /// Returns an argument if it is given and not blank.
    pub(super) fn filled(&self, name: &str) -> Result<Option<String>, Failed> {
        Ok(self.text(name)?.filter(|text| !text.trim().is_empty()))
    }

    /// Returns a required argument.
    pub(super) fn required(&self, name: &str) -> Result<String, Failed> {
        self.text(name)?
            .ok_or_else(|| self.wrong(name, "is missing"))
    }

    /// Returns a value that a program must parse as one word after an option.
    ///
    /// A value that begins with `-` would be parsed as an option itself.
    pub(super) fn word(&self, name: &str) -> Result<Option<String>, Failed> {
        let word = self.filled(name)?.map(|text| text.trim().to_owned());
        match word {
            Some(word) if word.starts_with('-') => Err(self.wrong(name, "may not begin with `-`")),
            word => Ok(word),
        }
    }

    /// Returns one of `choices`; `None` if it is not given.
    pub(super) fn choice(&self, name: &str, choices: &[&str]) -> Result<Option<String>, Failed> {
        let Some(text) = self.filled(name)? else {
            return Ok(None);
        };
        let text = text.trim();
        if choices.contains(&text) {
            return Ok(Some(text.to_owned()));
        }
        let choices = choices.join("`, `");
        let why = format!("is `{}`; write one of `{choices}`", short(text));
        Err(self.wrong(name, &why))
    }

    /// Returns a duration in milliseconds; `None` if it is not given.
    pub(super) fn duration_ms(&self, name: &str) -> Result<Option<u64>, Failed> {
        match self.filled(name)? {
            Some(text) => self.read_duration_ms(name, &text),
            None => Ok(None),
        }
    }

    /// Parses a duration in milliseconds; a blank text is none.
    pub(super) fn read_duration_ms(&self, name: &str, text: &str) -> Result<Option<u64>, Failed> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        duration_ms(text.trim()).map(Some).ok_or_else(|| {
            let shown = short(text);
            self.wrong(
                name,
                &format!("is `{shown}`; write such as `30s`, `5m`, `1h`"),
            )
        })
    }

    /// Returns variables by name, in the order given.
    pub(super) fn variables(&self, name: &str) -> Result<Vec<(String, String)>, Failed> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Object(fields)) => fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), self.scalar(key, value)?)))
                .collect(),
            Some(_) => Err(self.wrong(name, "is not a map of names and texts")),
        }
    }

    /// Returns a text, or a list of texts joined by commas.
    pub(super) fn joined(&self, name: &str) -> Result<Option<String>, Failed> {
        match self.get(name) {
            Some(Value::Array(items)) => {
                let texts: Result<Vec<String>, Failed> =
                    items.iter().map(|item| self.scalar(name, item)).collect();
                Ok(Some(texts?.join(",")).filter(|text| !text.is_empty()))
            }
            _ => self.filled(name),
        }
    }

    pub(super) fn scalar(&self, name: &str, value: &Value) -> Result<String, Failed> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Null => Ok(String::new()),
            Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
            Value::Array(_) | Value::Object(_) => Err(self.wrong(name, "is not text")),
        }
    }

    /// Creates the failure for an invalid argument.
    pub(super) fn wrong(&self, name: &str, why: &str) -> Failed {
        Failed::new(1, format!("`{name}` of `{}` {why}", self.tool))
    }
}

/// Parses digits and one of `s`, `m`, `h`.
fn duration_ms(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let digits = text.strip_suffix(unit)?;
    let factor = match unit {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::{Fields, duration_ms};

    #[test]
    fn a_duration_has_digits_and_a_unit() {
        assert_eq!(duration_ms("30s"), Some(30_000));
        assert_eq!(duration_ms("5m"), Some(300_000));
        assert_eq!(duration_ms("1h"), Some(3_600_000));
        assert_eq!(duration_ms("0s"), Some(0));
        for bad in [
            "",
            "s",
            "5",
            "5 m",
            "-5s",
            "+5s",
            "1.5m",
            "5ms",
            "5d",
            "99999999999999999h",
        ] {
            assert_eq!(duration_ms(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_wrong_value_is_code_1_and_named() {
        let input = json!({"b": "ON", "c": {"x": "1"}, "d": "-x", "e": " ", "f": ["p", "q"]});
        let fields = Fields::new("tool", &input);
        let said = |failed: crate::order::Failed| {
            assert_eq!(failed.code, 1);
            failed.message
        };
        assert!(said(fields.text("c").unwrap_err()).contains("is not text"));
        assert!(said(fields.word("d").unwrap_err()).contains("may not begin"));
        assert_eq!(fields.filled("e"), Ok(None));
        assert_eq!(fields.joined("f"), Ok(Some("p,q".to_owned())));
        assert!(said(fields.required("absent").unwrap_err()).contains("is missing"));
        let message = said(fields.choice("b", &["x", "y"]).unwrap_err());
        assert_eq!(message, "`b` of `tool` is `ON`; write one of `x`, `y`");
    }
}
