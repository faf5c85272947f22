//! JSON that is kept as received text.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Returns the text if it is a JSON object; a provider would not accept another text.
pub(super) fn object(text: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    raw.get().starts_with('{').then_some(raw)
}

/// Returns arguments as an object, whatever the model wrote.
///
/// Anything else is wrapped in an object, as text: the model sees again what it wrote, next to the result that says what is wrong
/// with it.
pub(super) fn arguments(text: &str) -> Box<RawValue> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    if let Some(object) = object(text) {
        return object.to_owned();
    }
    let wrapped = serde_json::json!({ "INVALID_JSON": text });
    serde_json::value::to_raw_value(&wrapped).unwrap_or_default()
}

/// Returns the text of what may be JSON text in a string, or JSON itself.
pub(super) fn text_of(raw: &RawValue) -> String {
    String::deserialize(raw).unwrap_or_else(|_| match raw.get() {
        "null" => String::new(),
        text => text.to_owned(),
    })
}
