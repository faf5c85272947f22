//! Detects references of a schema that never end.
//!
//! A schema may refer to itself if each step goes into a part of the value (a tree of objects). Otherwise a validator would check
//! the same value forever.

use std::collections::HashSet;

use serde_json::Value;

use super::SchemaError;

/// Keywords with a schema for the same value.
const ONE: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords with a list of schemas for the same value.
const LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with a map of schemas for the same value.
const NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords that make the target of a reference hard to determine.
const MOVING: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// Returns which reference of `schema` never ends, or leads out of it.
pub(super) fn fault(schema: &Value) -> Option<SchemaError> {
    let mut search = Search {
        root: schema,
        open: HashSet::new(),
        done: HashSet::new(),
    };
    search.everywhere(schema, "").err()
}

struct Search<'s> {
    root: &'s Value,
    /// Parts that are being examined.
    open: HashSet<*const Value>,
    /// Parts that are known to end.
    done: HashSet<*const Value>,
}

impl<'s> Search<'s> {
    fn everywhere(&mut self, part: &'s Value, path: &str) -> Result<(), SchemaError> {
        match part {
            Value::Object(members) => {
                self.ends(part, path)?;
                for (name, member) in members {
                    let inner = !path.is_empty();
                    let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                    if inner && name == "$id" && member.is_string() {
                        return Err(misfit(&path, "an `$id` within a schema is not supported"));
                    }
                    if !matches!(name.as_str(), "enum" | "const" | "default" | "examples") {
                        self.everywhere(member, &path)?;
                    }
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.everywhere(item, &format!("{path}/{at}"))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Follows the schemas for the same value.
    fn ends(&mut self, part: &'s Value, path: &str) -> Result<(), SchemaError> {
        let Value::Object(members) = part else {
            return Ok(());
        };
        let key: *const Value = part;
        if self.done.contains(&key) {
            return Ok(());
        }
        if !self.open.insert(key) {
            return Err(misfit(path, "the schema refers to itself without end"));
        }
        if let Some(name) = MOVING.into_iter().find(|name| members.contains_key(*name)) {
            return Err(misfit(path, &format!("`{name}` is not supported")));
        }
        if let Some(to) = members.get("$ref").and_then(Value::as_str) {
            let target = to.strip_prefix('#').and_then(|to| self.root.pointer(to));
            let target = target
                .ok_or_else(|| misfit(path, &format!("`{to}` is not a place in this schema")))?;
            self.ends(target, path)?;
        }
        let one = ONE.into_iter().filter_map(|name| members.get(name));
        let listed = LIST
            .into_iter()
            .filter_map(|name| members.get(name).and_then(Value::as_array))
            .flatten();
        let named = NAMED
            .into_iter()
            .filter_map(|name| members.get(name).and_then(Value::as_object))
            .flat_map(|named| named.values());
        for next in one.chain(listed).chain(named) {
            self.ends(next, path)?;
        }
        self.open.remove(&key);
        self.done.insert(key);
        Ok(())
    }
}

fn misfit(path: &str, message: &str) -> SchemaError {
    SchemaError {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}
