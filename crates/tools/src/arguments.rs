//! The arguments of a call, as a model wrote them.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use interlock_core::names::Digest;
use jsonschema::Validator;
use serde_json::Value;

/// The arguments of a call: an object that can be judged, shown and identified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    value: Value,
    digest: Digest,
}

/// An error in the arguments of a call, as one sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentError {
    /// JSON Pointer into the arguments; empty for the arguments as a whole.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

/// Maximum number of findings reported at once.
const FAULTS_MAX: usize = 10;
/// Maximum number of compiled schemas that a thread keeps.
const COMPILED_MAX: usize = 32;

thread_local! {
    /// Schemas with their validators, the oldest first: compiling one takes far longer than checking a call's arguments.
    static COMPILED: RefCell<VecDeque<(Value, Rc<Validator>)>> = const { RefCell::new(VecDeque::new()) };
}

impl Arguments {
    /// Returns the arguments.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the lower-case hex SHA-256 of their RFC 8785 text.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }
}

impl Arguments {
    /// Parses the arguments that a model wrote; blank text is an empty object.
    ///
    /// Numbers are kept as RFC 8785 writes them, so that what runs matches the digest.
    ///
    /// # Errors
    /// They are not a JSON object, or contain a duplicate key, a lone surrogate, or a number on which JSON parsers disagree.
    pub fn read(text: &str) -> Result<Self, ArgumentError> {
        let text = if text.trim().is_empty() { "{}" } else { text };
        let parsed = interlock_facts::parse(text.as_bytes()).map_err(|error| {
            ArgumentError::whole(format!("the arguments are not JSON: {error}"))
        })?;
        if let Some(key) = parsed.duplicates.first() {
            return Err(ArgumentError {
                at: key.clone(),
                message: "duplicate key".to_owned(),
            });
        }
        Self::of(parsed.value)
    }

    /// Takes arguments that are already a value, such as those of a workflow.
    ///
    /// # Errors
    /// They are not an object, or contain a number on which JSON parsers disagree.
    pub fn of(value: Value) -> Result<Self, ArgumentError> {
        if !value.is_object() {
            return Err(ArgumentError::whole(
                "the arguments are not a JSON object".to_owned(),
            ));
        }
        let value = interlock_facts::exact(value).map_err(|inexact| ArgumentError {
            at: inexact.at,
            message: format!(
                "the number `{}` is beyond what every reader of JSON keeps exactly: write it as text",
                inexact.number
            ),
        })?;
        let digest = interlock_facts::arguments_digest(&value);
        Ok(Self { value, digest })
    }

    /// Returns what does not match `schema`, at most ten findings.
    ///
    /// Nothing matches an invalid schema.
    #[must_use]
    pub fn faults(&self, schema: &Value) -> Vec<ArgumentError> {
        findings(&self.value, schema)
    }
}

/// Returns what of any value does not match `schema`, at most ten findings.
///
/// Nothing matches an invalid schema.
#[must_use]
pub fn findings(value: &Value, schema: &Value) -> Vec<ArgumentError> {
    let validator = match compiled(schema) {
        Ok(validator) => validator,
        Err(error) => return vec![ArgumentError::whole(error)],
    };
    validator
        .iter_errors(value)
        .take(FAULTS_MAX)
        .map(|error| ArgumentError {
            at: error.instance_path().to_string(),
            message: error.to_string(),
        })
        .collect()
}

/// Returns the validator of `schema`, or why there is none.
fn compiled(schema: &Value) -> Result<Rc<Validator>, String> {
    COMPILED.with_borrow_mut(|compiled| {
        if let Some((_, validator)) = compiled.iter().find(|(known, _)| known == schema) {
            return Ok(Rc::clone(validator));
        }
        let validator = jsonschema::draft202012::new(schema)
            .map_err(|error| format!("the schema is none: {error}"))?;
        let validator = Rc::new(validator);
        if compiled.len() == COMPILED_MAX {
            compiled.pop_front();
        }
        compiled.push_back((schema.clone(), Rc::clone(&validator)));
        Ok(validator)
    })
}

impl ArgumentError {
    fn whole(message: String) -> Self {
        Self {
            at: String::new(),
            message,
        }
    }

    /// Joins findings to one text for the model, one line each.
    #[must_use]
    pub fn sentence(faults: &[Self]) -> String {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }
}

impl std::fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A model's text may have any length.
        let message = interlock_facts::one_line(&self.message, 300);
        if self.at.is_empty() {
            write!(f, "{message}")
        } else {
            let at = interlock_facts::one_line(&self.at, 120);
            write!(f, "`{at}`: {message}")
        }
    }
}
