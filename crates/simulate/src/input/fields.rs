//! Takes the keys of a line one by one and refuses the rest.

use interlock_core::machine::Object;
use serde_json::Value;

/// Keys of an object that have not been read yet.
pub(super) struct Fields {
    left: Object,
    of: &'static str,
}

impl Fields {
    pub(super) const fn new(object: Object, of: &'static str) -> Self {
        Self { left: object, of }
    }

    /// Takes an optional key.
    pub(super) fn optional(&mut self, key: &str) -> Option<Value> {
        self.left.shift_remove(key)
    }

    pub(super) fn text(&mut self, key: &str) -> Result<String, String> {
        self.optional_text(key)?
            .ok_or_else(|| format!("`{}` needs `{key}`", self.of))
    }

    pub(super) fn optional_text(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.optional(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("`{key}` is {}, wanted text", kind(&other))),
        }
    }

    pub(super) fn object(&mut self, key: &str) -> Result<Object, String> {
        match self.optional(key) {
            Some(Value::Object(object)) => Ok(object),
            Some(other) => Err(format!("`{key}` is {}, wanted an object", kind(&other))),
            None => Err(format!("`{}` needs `{key}`", self.of)),
        }
    }

    /// Takes an object that is empty by default.
    pub(super) fn optional_object(&mut self, key: &str) -> Result<Object, String> {
        if self.left.contains_key(key) {
            self.object(key)
        } else {
            Ok(Object::new())
        }
    }

    pub(super) fn optional_bool(&mut self, key: &str) -> Result<Option<bool>, String> {
        match self.optional(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(format!("`{key}` is {}, wanted true or false", kind(&other))),
        }
    }

    pub(super) fn optional_integer(&mut self, key: &str) -> Result<Option<i64>, String> {
        let Some(value) = self.optional(key) else {
            return Ok(None);
        };
        value
            .as_i64()
            .map(Some)
            .ok_or_else(|| format!("`{key}` is {}, wanted an integer", kind(&value)))
    }

    pub(super) fn optional_texts(&mut self, key: &str) -> Result<Vec<String>, String> {
        let wanted = |other: &Value| format!("`{key}` is {}, wanted a list of texts", kind(other));
        let items = match self.optional(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(wanted(&other)),
        };
        items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(text),
                other => Err(wanted(&other)),
            })
            .collect()
    }

    pub(super) fn optional_list(&mut self, key: &str) -> Result<Vec<Value>, String> {
        match self.optional(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(format!("`{key}` is {}, wanted a list", kind(&other))),
        }
    }

    /// Refuses the remaining keys.
    pub(super) fn finish(&self) -> Result<(), String> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("unknown key `{key}` in `{}`", self.of)),
        }
    }
}

/// Returns the name of a value's type.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
