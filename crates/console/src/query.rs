//! The query of a URI: names and values; the last value of a name counts.

use std::{collections::BTreeMap, str::FromStr};

use crate::reply::Problem;

/// The parameters of a URI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    /// Parses the text after the `?`; an empty value counts as absent.
    pub(crate) fn of(text: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned();
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Parses a number, or another type that is written as one word.
    pub(crate) fn value<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let read = text.parse();
        read.map(Some)
            .map_err(|_| Problem::input(format!("`{name}` cannot be `{text}`")))
    }
}
