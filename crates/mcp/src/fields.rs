//! The fields of a JSON object, with their values as written.
//!
//! Looking up a field should not parse all of a result of many megabytes.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serializer as _,
    de::{MapAccess, Visitor},
    ser::SerializeMap as _,
};
use serde_json::{Value, value::RawValue};

use crate::message::raw;

/// The fields of an object, in order.
#[derive(Debug)]
pub struct Fields<'a> {
    fields: Vec<(Cow<'a, str>, Cow<'a, RawValue>)>,
}

impl<'a> Fields<'a> {
    /// Parses the fields; returns `None` if it is not an object.
    pub fn of(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Returns the text of a field; the last one if there are several.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        let mut found = self.fields.iter().rev();
        found
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_ref())
    }

    /// Returns a field as a value.
    pub fn value(&self, name: &str) -> Option<Value> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Returns a text field.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &str) {
        self.fields.retain(|(key, _)| key != name);
    }

    /// Sets a field in place, or adds it at the end; afterwards there is one of this name.
    pub fn set(&mut self, name: &'static str, value: &Value) {
        let at = self.fields.iter().position(|(key, _)| key == name);
        self.remove(name);
        let at = at.unwrap_or(self.fields.len());
        self.fields
            .insert(at, (name.into(), Cow::Owned(raw(value))));
    }

    /// Adds a new field at the beginning.
    pub fn set_first(&mut self, name: &'static str, value: &Value) {
        self.fields.insert(0, (name.into(), Cow::Owned(raw(value))));
    }

    /// Writes the object.
    pub fn write(&self) -> Box<RawValue> {
        let length = self
            .fields
            .iter()
            .map(|(key, value)| key.len() + value.get().len() + 8);
        let mut text = Vec::with_capacity(length.sum());
        let mut writer = serde_json::Serializer::new(&mut text);
        let written = writer.serialize_map(None).and_then(|mut map| {
            for (key, value) in &self.fields {
                map.serialize_entry(key, value.as_ref())?;
            }
            map.end()
        });
        let text = written.ok().and_then(|()| String::from_utf8(text).ok());
        // It consists of texts that are JSON: it is JSON.
        text.and_then(|text| RawValue::from_string(text).ok())
            .unwrap_or_else(|| raw(&Value::Null))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let value: &'de RawValue = map.next_value()?;
            fields.push((key, Cow::Borrowed(value)));
        }
        Ok(Fields { fields })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(change: impl FnOnce(&mut Fields<'_>)) -> String {
        let text = r#"{"a": 1, "b": [2], "a": 3, "c": {"a": 4}, "a": 5}"#;
        let mut fields: Fields<'_> = serde_json::from_str(text).unwrap();
        change(&mut fields);
        fields.write().get().to_owned()
    }

    #[test]
    fn the_last_of_several_fields_of_one_name_counts() {
        let text = r#"{"a": 1, "b": "x", "a": "y"}"#;
        let fields: Fields<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(fields.get("a").unwrap().get(), "\"y\"");
        assert_eq!(fields.value("a"), Some(json!("y")));
        assert_eq!(fields.text("a").as_deref(), Some("y"));
        assert_eq!(fields.text("c"), None);
    }

    #[test]
    fn a_field_that_is_set_or_removed_is_there_once_or_no_more() {
        assert_eq!(
            written(|fields| fields.set("a", &json!(6))),
            r#"{"a":6,"b":[2],"c":{"a": 4}}"#
        );
        assert_eq!(
            written(|fields| fields.set("d", &json!(6))),
            r#"{"a":1,"b":[2],"a":3,"c":{"a": 4},"a":5,"d":6}"#
        );
        assert_eq!(
            written(|fields| fields.remove("a")),
            r#"{"b":[2],"c":{"a": 4}}"#
        );
    }
}
