//! Exposure of the person's token to an agent, which voids the token at once.
//!
//! Only strings of the token's form are hashed, so that a text without one costs only a scan.

use interlock_core::{call::ToolCall, names::RunId};
use serde_json::Value;

use crate::{error::StoreError, home::Home, token::tokens_in};

/// Description of the token in the refusal of a call.
const THING: &str = "the person's `INTERLOCK_TOKEN`, void from now on (a person makes a new one with `interlock token`),";

/// Text that replaces the token in a log.
const MASK: &str = "ilk_…";

impl Home {
    /// Voids the person's token if it occurs in a text that the agent of `run` reads or writes.
    ///
    /// `None`: it does not occur. `Some(false)`: it was void already.
    ///
    /// # Errors
    /// The state directory cannot be read or written.
    pub fn void_token_in_text(&self, text: &str, run: &RunId) -> Result<Option<bool>, StoreError> {
        for token in tokens_in(text) {
            if let Some(is_new) = self.void_token(token, run)? {
                return Ok(Some(is_new));
            }
        }
        Ok(None)
    }

    /// Like [`Home::void_token_in_text`], for every text in a value, keys included.
    ///
    /// # Errors
    /// The state directory cannot be read or written.
    pub fn void_token_in(&self, value: &Value, run: &RunId) -> Result<Option<bool>, StoreError> {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            let found = match value {
                Value::String(text) => self.void_token_in_text(text, run)?,
                Value::Array(items) => {
                    waiting.extend(items);
                    None
                }
                Value::Object(fields) => {
                    waiting.extend(fields.values());
                    let mut found = None;
                    for name in fields.keys() {
                        found = found.or(self.void_token_in_text(name, run)?);
                    }
                    found
                }
                _ => None,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Like [`Home::void_token_in_text`], for JSON as received, in which escapes may hide the token.
    ///
    /// # Errors
    /// The state directory cannot be read or written.
    pub fn void_token_in_json(&self, raw: &str, run: &RunId) -> Result<Option<bool>, StoreError> {
        let found = self.void_token_in_text(raw, run)?;
        if found.is_some() || !raw.contains("\\u") {
            return Ok(found);
        }
        match serde_json::from_str::<Value>(raw) {
            Ok(value) => self.void_token_in(&value, run),
            Err(_) => Ok(None),
        }
    }
}

/// Marks a call as touching a protected thing, and keeps the token out of the log.
pub fn refuse_for_token(call: &mut ToolCall) {
    call.facts.protected.get_or_insert_with(|| THING.to_owned());
    let tokens: Vec<String> = tokens_in(&call.summary).map(str::to_owned).collect();
    for token in tokens {
        call.summary = call.summary.replace(&token, MASK);
    }
}
