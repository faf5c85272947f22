//! Masks secrets in values that may come from an agent or a log.

use interlock_tools::Secrets;
use serde_json::Value;

use crate::shared::Shared;

impl Shared {
    /// Masks the secrets in every text below `value`; keys are kept.
    pub(crate) fn mask(&self, value: &mut Value) {
        mask(&self.secrets, value);
    }

    /// Returns a value with its secrets masked.
    pub(crate) fn masked(&self, mut value: Value) -> Value {
        self.mask(&mut value);
        value
    }
}

/// Masks the secrets in every text below `value`, and the whole text of a field whose name indicates one; keys are
/// kept.
pub(crate) fn mask(secrets: &Secrets, value: &mut Value) {
    mask_named(secrets, "", value);
}

fn mask_named(secrets: &Secrets, name: &str, value: &mut Value) {
    match value {
        Value::String(text) => {
            let masked = secrets.masked_value(name, text);
            if masked != text.as_str() {
                *text = masked.into_owned();
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| mask_named(secrets, name, item)),
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(name, field)| mask_named(secrets, name, field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns whether a text below `value` contains a mask in place of a secret.
pub(crate) fn is_masked(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(Secrets::MASK),
        Value::Array(items) => items.iter().any(is_masked),
        Value::Object(fields) => fields.values().any(is_masked),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_masked_by_their_form_and_by_the_name_before_them() {
        let secrets = Secrets::known(["correct horse".to_owned()]);
        let mut value = json!({
            "line": ["echo correct horse", "ls"],
            "data": { "api_key": "plain", "note": "GH_TOKEN=abc x", "tokens": 7 },
        });
        mask(&secrets, &mut value);
        let wanted = json!({
            "line": ["echo [secret]", "ls"],
            "data": { "api_key": "[secret]", "note": "GH_TOKEN=[secret] x", "tokens": 7 },
        });
        assert_eq!(value, wanted);
        assert!(is_masked(&value) && !is_masked(&json!([{ "a": "secret" }, 1])));
    }
}
