//! The query of an address: names and values; of several with one name the last counts.

use std::{collections::BTreeMap, str::FromStr};

use crate::reply::Problem;

/// What an address asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads what follows the `?`; an empty value counts as absent.
    pub(crate) fn of(text: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned();
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Reads a number, or another value that is written as one word.
    pub(crate) fn value<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let read = text.parse();
        read.map(Some)
            .map_err(|_| Problem::input(format!("`{name}` cannot be `{text}`")))
    }
}
