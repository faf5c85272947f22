//! What names mean where a state routes.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::evaluate::Names;
use crate::Object;

/// The names of a condition: the output of the state first, then the context.
#[derive(Debug, Clone, Copy)]
pub struct AfterState<'a> {
    /// The parsed output.
    pub output: &'a Json,
    /// The context.
    pub context: &'a Object,
}

impl Names for AfterState<'_> {
    fn meaning(&self, name: &str) -> Option<Cow<'_, Json>> {
        let fields = self.output.as_object();
        if let Some(value) = fields.and_then(|fields| fields.get(name)) {
            return Some(Cow::Borrowed(value));
        }
        match (name, fields) {
            ("keys", Some(fields)) => {
                let keys = fields.keys().map(|key| Json::String(key.clone()));
                Some(Cow::Owned(Json::Array(keys.collect())))
            }
            ("output", _) => Some(Cow::Borrowed(self.output)),
            _ => self.context.get(name).map(Cow::Borrowed),
        }
    }

    fn known(&self) -> Vec<&str> {
        let fields = self.output.as_object().into_iter().flatten();
        let names = fields.chain(self.context).map(|(name, _)| name.as_str());
        names.collect()
    }
}

impl Names for Object {
    fn meaning(&self, name: &str) -> Option<Cow<'_, Json>> {
        self.get(name).map(Cow::Borrowed)
    }

    fn known(&self) -> Vec<&str> {
        self.keys().map(String::as_str).collect()
    }
}
