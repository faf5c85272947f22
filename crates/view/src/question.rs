//! `ask-user`: a question, and its valid answers.

use std::fmt::Write as _;

use serde_json::Value;

/// Maximum number of values listed after a wrong answer.
const LISTED_MAX: usize = 20;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub text: String,
    /// Whether an answer may have several lines.
    pub multiline: bool,
    /// Options to choose from; empty: any text is an answer.
    pub options: Vec<Choice>,
    /// Whether other text is an answer too.
    pub allow_custom: bool,
}

/// An option to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Value that is stored.
    pub value: String,
    /// Description of the option.
    pub description: String,
}

impl Question {
    /// Reads the arguments of `ask-user`.
    ///
    /// # Errors
    /// A template produced an invalid argument; the error is one sentence.
    pub fn of(input: &Value) -> Result<Self, String> {
        let options = match given(input, "options") {
            None => Vec::new(),
            Some(Value::Array(options)) => options.iter().map(choice).collect::<Result<_, _>>()?,
            Some(_) => return Err(wrong("options", "is not a list")),
        };
        Ok(Self {
            text: required(input, "question")?,
            multiline: boolean(input, "multiline")?,
            options,
            allow_custom: boolean(input, "allow-custom")?,
        })
    }

    /// Returns the answer that `typed` selects.
    ///
    /// # Errors
    /// It is not one of the options; the error is one sentence.
    pub fn answer(&self, typed: &str) -> Result<String, String> {
        if self.options.is_empty() {
            return Ok(typed.to_owned());
        }
        let trimmed = typed.trim();
        // The stored value takes precedence over a number: an answer given in advance names it.
        let by_value = self.options.iter().find(|option| option.value == trimmed);
        let by_number = trimmed
            .parse::<usize>()
            .ok()
            .and_then(|number| self.options.get(number.checked_sub(1)?));
        match by_value.or(by_number) {
            Some(option) => Ok(option.value.clone()),
            None if self.allow_custom && !trimmed.is_empty() => Ok(typed.to_owned()),
            None => {
                let shown: String = trimmed.chars().take(40).collect();
                let values = self.options.iter().take(LISTED_MAX);
                let values: Vec<String> = values.map(|one| format!("`{}`", one.value)).collect();
                Err(format!(
                    "`{shown}` is none of the answers; give a number from 1 to {} or a value: {}",
                    self.options.len(),
                    values.join(", ")
                ))
            }
        }
    }

    /// Formats the question for a person.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut shown = format!("{}\n", self.text.trim_end());
        for (index, option) in self.options.iter().enumerate() {
            let number = index + 1;
            // Writing to a string cannot fail.
            let _ = if option.description.is_empty() {
                writeln!(shown, "  {number}) {}", option.value)
            } else {
                writeln!(
                    shown,
                    "  {number}) {} - {}",
                    option.value, option.description
                )
            };
        }
        if self.multiline {
            shown.push_str("(an empty line ends the answer)\n");
        }
        shown
    }
}

fn choice(option: &Value) -> Result<Choice, String> {
    Ok(match option {
        Value::Object(_) => Choice {
            value: required(option, "value")?.trim().to_owned(),
            description: text(option, "description")?.unwrap_or_default(),
        },
        other => Choice {
            value: scalar("options", other)?.trim().to_owned(),
            description: String::new(),
        },
    })
}

fn given<'v>(input: &'v Value, name: &str) -> Option<&'v Value> {
    input.get(name).filter(|value| !value.is_null())
}

fn text(input: &Value, name: &str) -> Result<Option<String>, String> {
    given(input, name)
        .map(|value| scalar(name, value))
        .transpose()
}

fn required(input: &Value, name: &str) -> Result<String, String> {
    text(input, name)?.ok_or_else(|| wrong(name, "is missing"))
}

/// Returns a boolean, given as one of several words.
fn boolean(input: &Value, name: &str) -> Result<bool, String> {
    let Some(text) = text(input, name)?.filter(|text| !text.trim().is_empty()) else {
        return Ok(false);
    };
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        other => {
            let shown: String = other.chars().take(40).collect();
            Err(wrong(
                name,
                &format!("is `{shown}`; write `true` or `false`"),
            ))
        }
    }
}

fn scalar(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => Err(wrong(name, "is not text")),
    }
}

fn wrong(name: &str, why: &str) -> String {
    format!("`{name}` of `ask-user` {why}")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::Question;

    #[test]
    fn a_number_or_a_value_answers() {
        let input = json!({"question": "Where?", "options": ["dev", {"value": "prod", "description": "live"}, "1"]});
        let question = Question::of(&input).unwrap();
        for (typed, wanted) in [
            ("2", "prod"),
            (" dev ", "dev"),
            ("prod", "prod"),
            ("1", "1"),
            ("3", "1"),
        ] {
            assert_eq!(question.answer(typed), Ok(wanted.to_owned()), "{typed}");
        }
        for typed in ["", "0", "4", "Prod", "both"] {
            assert!(question.answer(typed).is_err(), "{typed}");
        }
        assert_eq!(
            question.shown(),
            "Where?\n  1) dev\n  2) prod - live\n  3) 1\n"
        );
    }

    #[test]
    fn another_text_answers_where_it_may() {
        let input = json!({"question": "q", "options": ["a"], "allow-custom": "yes"});
        let question = Question::of(&input).unwrap();
        assert_eq!(question.answer("other one"), Ok("other one".to_owned()));
        assert!(question.answer("  ").is_err());
        let open = Question::of(&json!({"question": "q"})).unwrap();
        assert_eq!(open.answer(""), Ok(String::new()));
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for input in [
            json!({}),
            json!({"question": "q", "multiline": "perhaps"}),
            json!({"question": ["q"]}),
            json!({"question": "q", "options": "a"}),
            json!({"question": "q", "options": [{"description": "no value"}]}),
        ] {
            assert!(
                Question::of(&input).unwrap_err().contains("of `ask-user`"),
                "{input}"
            );
        }
    }
}
