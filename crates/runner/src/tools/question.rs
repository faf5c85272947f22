//! `ask-user`: a question, and its valid answers.

use std::fmt::Write as _;

use serde_json::Value;

use super::fields::Fields;
use crate::order::Failed;

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
    /// A template produced an invalid argument.
    pub fn of(input: &Value) -> Result<Self, Failed> {
        let fields = Fields::new("ask-user", input);
        let options = match fields.get("options") {
            None => Vec::new(),
            Some(Value::Array(options)) => options
                .iter()
                .map(|option| choice(&fields, option))
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(fields.wrong("options", "is not a list")),
        };
        Ok(Self {
            text: fields.required("question")?,
            multiline: fields.boolean("multiline")?,
            options,
            allow_custom: fields.boolean("allow-custom")?,
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

fn choice(fields: &Fields<'_>, option: &Value) -> Result<Choice, Failed> {
    let named = Fields::new("ask-user", option);
    Ok(match option {
        Value::Object(_) => Choice {
            value: named.required("value")?.trim().to_owned(),
            description: named.text("description")?.unwrap_or_default(),
        },
        other => Choice {
            value: fields.scalar("options", other)?.trim().to_owned(),
            description: String::new(),
        },
    })
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
    fn a_wrong_argument_is_code_1() {
        for input in [
            json!({}),
            json!({"question": "q", "multiline": "perhaps"}),
            json!({"question": "q", "options": "a"}),
            json!({"question": "q", "options": [{"description": "no value"}]}),
        ] {
            assert_eq!(Question::of(&input).unwrap_err().code, 1, "{input}");
        }
    }
}
