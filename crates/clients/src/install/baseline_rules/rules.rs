//! Rules that are added to files which others write to as well, and removed one by one.

use serde_json::Value;

use crate::{
    install::{edit::pointed, record::Added},
    settings::{
        EditError,
        json::{At, Syntax, Text},
        toml,
    },
};

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// JSON, as the client reads it.
    Json(Syntax),
    /// TOML.
    Toml,
}

/// Rules for one file.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Format of the file.
    pub(crate) language: Language,
    wanted: Vec<Added>,
}

impl Rules {
    pub(super) const fn new(language: Language) -> Self {
        Self {
            language,
            wanted: Vec::new(),
        }
    }

    /// Requests items in a list.
    pub(super) fn items(&mut self, at: &[&str], items: Vec<Value>) {
        let at: Vec<String> = at.iter().map(|key| (*key).to_owned()).collect();
        self.wanted.extend(items.into_iter().map(|value| Added {
            at: at.clone(),
            value,
            item: true,
        }));
    }

    /// Requests a value under a key.
    pub(super) fn key(&mut self, at: &[&str], value: Value) {
        self.wanted.push(Added {
            at: at.iter().map(|key| (*key).to_owned()).collect(),
            value,
            item: false,
        });
    }

    /// Returns whether nothing is requested.
    pub(crate) const fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Adds what is missing; existing values under the same key stay unchanged.
    pub(crate) fn put(
        &self,
        text: Option<&str>,
        added: &mut Vec<Added>,
    ) -> Result<String, EditError> {
        match self.language {
            Language::Json(syntax) => self.put_json(text, syntax, added),
            Language::Toml => self.put_toml(text, added),
        }
    }

    fn put_json(
        &self,
        text: Option<&str>,
        syntax: Syntax,
        added: &mut Vec<Added>,
    ) -> Result<String, EditError> {
        let (mut text, _) = Text::of_file(text, syntax)?;
        for wanted in &self.wanted {
            let keys: Vec<&str> = wanted.at.iter().map(String::as_str).collect();
            let path: Vec<At<'_>> = keys.iter().map(|key| At::Key(key)).collect();
            if wanted.item {
                text.list_at(&keys)?;
                let there = text.value(&path);
                let items = there.as_ref().and_then(Value::as_array);
                if items.is_some_and(|items| items.contains(&wanted.value)) {
                    continue;
                }
                text.add_item(&path, &wanted.value);
            } else {
                let Some((last, above)) = keys.split_last() else {
                    continue;
                };
                text.object_at(above)?;
                if text.value(&path).is_some() {
                    continue;
                }
                let above: Vec<At<'_>> = above.iter().map(|key| At::Key(key)).collect();
                text.add_member(&above, last, &wanted.value);
            }
            added.push(wanted.clone());
        }
        Ok(text.into_string())
    }

    fn put_toml(&self, text: Option<&str>, added: &mut Vec<Added>) -> Result<String, EditError> {
        let mut text = toml::Text::parse(text.unwrap_or_default())?;
        for wanted in &self.wanted {
            let ([key], Some(value)) = (wanted.at.as_slice(), wanted.value.as_str()) else {
                continue;
            };
            if text.item(&[key.as_str()]).is_none() {
                text.add_key(key, &value.into());
                added.push(wanted.clone());
            }
        }
        Ok(text.into_string())
    }
}

/// Removes what was added, if it is still there; returns `None` if nothing is left.
pub(crate) fn take(
    before: &str,
    language: Language,
    added: &[Added],
) -> Result<Option<String>, EditError> {
    if added.is_empty() {
        return Ok(Some(before.to_owned()));
    }
    match language {
        Language::Json(syntax) => take_json(before, syntax, added),
        Language::Toml => take_toml(before, added),
    }
}

fn take_json(before: &str, syntax: Syntax, added: &[Added]) -> Result<Option<String>, EditError> {
    let (mut text, _) = Text::of_file(Some(before), syntax)?;
    let mut took = false;
    for Added { at, value, item } in added.iter().rev() {
        let path: Vec<At<'_>> = at.iter().map(|key| At::Key(key)).collect();
        let there = text.value(&[]).unwrap_or_default();
        let there = pointed(&there, at);
        if *item {
            let items = there.and_then(Value::as_array);
            let index = items.and_then(|items| items.iter().rposition(|found| found == value));
            let Some(index) = index else { continue };
            let mut place = path.clone();
            place.push(At::Index(index));
            text.remove(&place);
            text.remove_if_empty(&path);
        } else if there == Some(value) {
            text.remove(&path);
        } else {
            continue;
        }
        took = true;
        for length in (1..path.len()).rev() {
            text.remove_if_empty(path.get(..length).unwrap_or_default());
        }
    }
    Ok((!(took && text.is_bare())).then(|| text.into_string()))
}

fn take_toml(before: &str, added: &[Added]) -> Result<Option<String>, EditError> {
    let mut text = toml::Text::parse(before)?;
    let mut took = false;
    for Added { at, value, .. } in added.iter().rev() {
        if let [key] = at.as_slice()
            && text.string(&[key.as_str()]) == value.as_str()
            && value.is_string()
        {
            text.remove_key(key);
            took = true;
        }
    }
    Ok((!(took && text.is_bare())).then(|| text.into_string()))
}
