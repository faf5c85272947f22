//! The place of a value in a file.

use std::{fmt, str::FromStr};

use interlock_formats::{Kind, Node, Span};

use crate::refusal::Refusal;

/// The keys and item numbers that lead to a value; written as a JSON Pointer, such as `/states/planning/on/READY`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(Vec<String>);

impl Path {
    pub(crate) fn of<I: IntoIterator<Item = S>, S: Into<String>>(words: I) -> Self {
        Self(words.into_iter().map(Into::into).collect())
    }

    /// Returns the path of a value below this one.
    pub(crate) fn then(&self, word: impl Into<String>) -> Self {
        let mut words = self.0.clone();
        words.push(word.into());
        Self(words)
    }

    /// Returns the parent's path and the last word; `None` for the whole file.
    pub(crate) fn split(&self) -> Option<(Self, &str)> {
        let (last, before) = self.0.split_last()?;
        Some((Self(before.to_vec()), last))
    }

    /// Returns whether it is below another path, or is the same.
    pub(crate) fn is_below(&self, above: &Self) -> bool {
        self.0.starts_with(&above.0)
    }

    /// Returns whether it is the value of a key, or an item of the list that is that value.
    pub(crate) fn names(&self, key: &str) -> bool {
        match self.0.as_slice() {
            [.., last] if last == key => true,
            [.., before, last] => before == key && last.bytes().all(|byte| byte.is_ascii_digit()),
            _ => false,
        }
    }

    /// Returns the word that follows `above`, if there is one.
    pub(crate) fn word_below(&self, above: &Self) -> Option<&str> {
        match self.0.strip_prefix(above.0.as_slice())? {
            [word, _, ..] => Some(word),
            _ => None,
        }
    }

    /// Prepends a path to this one.
    pub(crate) fn below(&self, base: &Self) -> Self {
        let mut words = base.0.clone();
        words.extend(self.0.iter().cloned());
        Self(words)
    }

    /// Returns the index of the child that a word names: a key, or the number of an item.
    pub(crate) fn index(node: &Node, word: &str) -> Option<usize> {
        match &node.kind {
            Kind::Map(entries) => entries.iter().position(|entry| entry.key == word),
            Kind::List(items) => {
                let plain = word == "0" || !word.starts_with('0');
                let at: usize = word.parse().ok().filter(|_| plain)?;
                (at < items.len()).then_some(at)
            }
            _ => None,
        }
    }

    /// Returns where the last key of the path is written; `None` for an item of a list.
    pub(crate) fn key_of(&self, root: &Node) -> Option<Span> {
        let (above, word) = self.split()?;
        let entry = above.find(root)?.get(word)?;
        Some(entry.key_span)
    }

    pub(crate) fn child<'n>(node: &'n Node, word: &str) -> Option<&'n Node> {
        let at = Self::index(node, word)?;
        match &node.kind {
            Kind::Map(entries) => entries.get(at).map(|entry| &entry.value),
            Kind::List(items) => items.get(at),
            _ => None,
        }
    }

    /// Returns the value at the path.
    pub(crate) fn find<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        self.0
            .iter()
            .try_fold(root, |node, word| Self::child(node, word))
    }

    /// Returns the value at the path.
    pub(crate) fn find_mut<'n>(&self, root: &'n mut Node) -> Option<&'n mut Node> {
        self.0.iter().try_fold(root, |node, word| {
            let at = Self::index(node, word)?;
            match &mut node.kind {
                Kind::Map(entries) => entries.get_mut(at).map(|entry| &mut entry.value),
                Kind::List(items) => items.get_mut(at),
                _ => None,
            }
        })
    }

    /// Returns the value at the path, or says how far the path leads.
    pub(crate) fn get<'n>(&self, root: &'n Node) -> Result<&'n Node, Refusal> {
        let mut node = root;
        let mut walked = Self::default();
        for word in &self.0 {
            let Some(next) = Self::child(node, word) else {
                let here = if walked.0.is_empty() {
                    "the file".to_owned()
                } else {
                    format!("`{walked}`")
                };
                return Err(Refusal::unknown(format!("{here} has no `{word}`")).at(node.span));
            };
            walked = walked.then(word);
            node = next;
        }
        Ok(node)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for word in &self.0 {
            write!(f, "/{}", word.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

impl FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!(
                "`{text}` is not a place in a file: it begins with `/`, as `/states/planning` does"
            ));
        };
        Ok(Self::of(
            rest.split('/')
                .map(|word| word.replace("~1", "/").replace("~0", "~")),
        ))
    }
}
