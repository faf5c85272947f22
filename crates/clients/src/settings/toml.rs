//! Edits of a TOML text that leave every other byte unchanged.
//!
//! A table is added at the end of the file after an empty line, a key after the last one before every table; each is removed with
//! just what was added.

use toml_edit::{Document, Item, Table, TableLike};

use super::EditError;

/// A TOML text being edited.
#[derive(Debug)]
pub(crate) struct Text {
    text: String,
    document: Document<String>,
}

impl Text {
    /// Reads a text.
    pub(crate) fn parse(text: &str) -> Result<Self, EditError> {
        let document = Document::parse(text.to_owned()).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let reason = error.message().lines().collect::<Vec<_>>().join(", ");
            EditError::at(text, start, format!("not TOML: {reason}"))
        })?;
        Ok(Self {
            text: text.to_owned(),
            document,
        })
    }

    /// Returns the text in its present form.
    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// Returns whether only blanks are left.
    pub(crate) fn is_bare(&self) -> bool {
        self.text.trim_start_matches('\u{feff}').trim().is_empty()
    }

    /// Returns everything as JSON, as far as JSON can represent it.
    pub(crate) fn as_json(&self) -> serde_json::Value {
        as_json(self.document.as_item())
    }

    /// Returns the item at `path`.
    pub(crate) fn item(&self, path: &[&str]) -> Option<&Item> {
        let (first, rest) = path.split_first()?;
        let first = self.document.as_table().get(first)?;
        rest.iter()
            .try_fold(first, |item, key| item.as_table_like()?.get(key))
    }

    /// Returns the text at `path`.
    pub(crate) fn string(&self, path: &[&str]) -> Option<&str> {
        self.item(path)?.as_str()
    }

    /// Returns the keys of the table at `path`.
    pub(crate) fn keys(&self, path: &[&str]) -> Vec<String> {
        let table = self.item(path).and_then(Item::as_table_like);
        let pairs = table.into_iter().flat_map(TableLike::iter);
        pairs.map(|(key, _)| key.to_owned()).collect()
    }

    /// Returns an error at the position of `path`, or of its nearest ancestor.
    pub(crate) fn fault(&self, path: &[&str], reason: String) -> EditError {
        let spans = (1..=path.len()).rev();
        let mut spans = spans.filter_map(|length| self.item(path.get(..length)?)?.span());
        EditError::at(
            &self.text,
            spans.next().map_or(0, |span| span.start),
            reason,
        )
    }

    /// Adds a table at the end of the file.
    ///
    /// # Errors
    /// An ancestor is written so that no table can follow.
    pub(crate) fn add_table(
        &mut self,
        path: &[&str],
        lines: &[(&str, toml_edit::Value)],
    ) -> Result<(), EditError> {
        let newline = self.newline();
        // A file without a final line break stays without one.
        let (ends, blank) = (self.text.ends_with('\n'), self.is_bare());
        let mut table = String::new();
        if !blank {
            table.push_str(newline);
            if !ends {
                table.push_str(newline);
            }
        }
        let header: Vec<String> = path.iter().map(|key| written_key(key)).collect();
        table.push_str(&format!("[{}]{newline}", header.join(".")));
        for (index, (key, value)) in lines.iter().enumerate() {
            let last = index + 1 == lines.len() && !ends && !blank;
            let end = if last { "" } else { newline };
            table.push_str(&format!("{} = {value}{end}", written_key(key)));
        }
        let text = format!("{}{table}", self.text);
        match Self::parse(&text) {
            Ok(after) => *self = after,
            Err(_) => {
                let reason = format!(
                    "a table `[{}]` cannot follow: write what stands here as `[tables]`",
                    header.join(".")
                );
                return Err(self.fault(path, reason));
            }
        }
        Ok(())
    }

    /// Adds a key after the last one before every table.
    pub(crate) fn add_key(&mut self, key: &str, value: &toml_edit::Value) {
        let newline = self.newline();
        let values = self.document.iter().filter(|(_, item)| item.is_value());
        let ends = values.filter_map(|(_, item)| item.span());
        let at = ends.map(|span| self.line_end(span.end)).max();
        let line = format!("{} = {value}", written_key(key));
        let (at, put) = match at {
            Some(at)
                if self
                    .text
                    .get(..at)
                    .is_some_and(|before| before.ends_with('\n')) =>
            {
                (at, format!("{line}{newline}"))
            }
            Some(at) => (at, format!("{newline}{line}")),
            None if self.is_bare() => (self.text.len(), format!("{line}{newline}")),
            None => {
                let mark = usize::from(self.text.starts_with('\u{feff}')) * '\u{feff}'.len_utf8();
                (mark, format!("{line}{newline}{newline}"))
            }
        };
        self.change(at..at, &put);
    }

    /// Adds a key after the last one of the table at `path`, unless that table is written with dots.
    pub(crate) fn add_member(&mut self, path: &[&str], key: &str, value: &toml_edit::Value) {
        let newline = self.newline();
        let line = format!("{} = {value}", written_key(key));
        match self.item(path) {
            Some(Item::Table(table)) if !table.is_dotted() => {
                let Some(header) = table.span().filter(|_| !table.is_implicit()) else {
                    return;
                };
                let values = table.iter().filter(|(_, item)| item.is_value());
                let ends = values.filter_map(|(_, item)| item.span());
                let end = ends.map(|span| span.end).max().unwrap_or(header.end);
                let at = self.line_end(end);
                let ended = self.text.get(..at).is_some_and(|text| text.ends_with('\n'));
                let put = if ended {
                    format!("{line}{newline}")
                } else {
                    format!("{newline}{line}")
                };
                self.change(at..at, &put);
            }
            Some(Item::Value(toml_edit::Value::InlineTable(table))) => {
                if let Some(last) = table.iter().filter_map(|(_, value)| value.span()).last() {
                    self.change(last.end..last.end, &format!(", {line}"));
                }
            }
            _ => {}
        }
    }

    /// Replaces the value at `path`.
    pub(crate) fn set(&mut self, path: &[&str], value: &toml_edit::Value) {
        if let Some(span) = self.item(path).and_then(Item::span) {
            self.change(span, &value.to_string());
        }
    }

    /// Removes a key before every table.
    pub(crate) fn remove_key(&mut self, key: &str) {
        let Some((found, item)) = self.document.as_table().get_key_value(key) else {
            return;
        };
        let (Some(found), Some(item)) = (found.span(), item.span()) else {
            return;
        };
        let (start, mut end) = (self.line_start(found.start), self.line_end(item.end));
        // Alone before the first table, it was added with an empty line.
        let alone = self
            .document
            .iter()
            .filter(|(_, item)| item.is_value())
            .count()
            == 1;
        let rest = self.text.get(end..).unwrap_or_default();
        if alone && start <= '\u{feff}'.len_utf8() {
            let blank = rest
                .strip_prefix("\r\n")
                .or_else(|| rest.strip_prefix('\n'));
            end = self.text.len() - blank.unwrap_or(rest).len();
        }
        if end == self.text.len() && !self.text.ends_with('\n') {
            let before = self.text.get(..start).unwrap_or_default();
            let kept = before.trim_end_matches(['\r', '\n']).len();
            return self.change(kept..end, "");
        }
        self.change(start..end, "");
    }

    /// Removes the table at `path`, and those below it.
    pub(crate) fn remove_table(&mut self, path: &[&str]) {
        while let Some(range) = self.item(path).and_then(Item::as_table).and_then(last_part) {
            let start = self.line_start(range.start);
            let end = self.line_end(range.end);
            let before = self.text.get(..start).unwrap_or_default();
            // The empty line that was added with it.
            let kept = before
                .strip_suffix("\r\n")
                .or_else(|| before.strip_suffix('\n'))
                .filter(|kept| kept.is_empty() || kept.ends_with('\n'))
                .unwrap_or(before);
            let no_last_line = end == self.text.len() && !self.text.ends_with('\n');
            let kept = if no_last_line {
                kept.trim_end_matches(['\r', '\n'])
            } else {
                kept
            };
            let before = self.text.len();
            self.change(kept.len()..end, "");
            if self.text.len() == before {
                return;
            }
        }
    }

    fn change(&mut self, range: std::ops::Range<usize>, put: &str) {
        let mut text = self.text.clone();
        text.replace_range(range, put);
        // INVARIANT: additions and removals are complete, so the text can be parsed again.
        if let Ok(after) = Self::parse(&text) {
            *self = after;
        }
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        match before.rfind('\n') {
            Some(newline) => newline + 1,
            None if before.starts_with('\u{feff}') => '\u{feff}'.len_utf8(),
            None => 0,
        }
    }

    /// Returns the end of the line that contains `at`, including the line break.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.find('\n').map_or(self.text.len(), |end| at + end + 1)
    }
}

/// Returns the byte range of the last part of a table: of a subtable, or its own header and lines.
fn last_part(table: &Table) -> Option<std::ops::Range<usize>> {
    let below = table.iter().filter_map(|(_, item)| item.as_table());
    if let Some(part) = below.filter_map(last_part).max_by_key(|part| part.start) {
        return Some(part);
    }
    let header = table.span().filter(|_| !table.is_implicit())?;
    let values = table.iter().filter(|(_, item)| item.is_value());
    let ends = values
        .filter_map(|(_, item)| item.span())
        .map(|span| span.end);
    Some(header.start..ends.chain([header.end]).max()?)
}

fn as_json(item: &Item) -> serde_json::Value {
    if let Some(table) = item.as_table_like() {
        let pairs = table.iter();
        let pairs = pairs.map(|(key, item)| (key.to_owned(), as_json(item)));
        return serde_json::Value::Object(pairs.collect());
    }
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => text.value().as_str().into(),
        Some(toml_edit::Value::Boolean(value)) => (*value.value()).into(),
        Some(toml_edit::Value::Integer(number)) => (*number.value()).into(),
        Some(toml_edit::Value::Array(items)) => {
            let items = items.iter().cloned().map(Item::Value);
            items.map(|item| as_json(&item)).collect()
        }
        // Nothing that is looked up is any of these.
        _ => serde_json::Value::Null,
    }
}

fn written_key(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !key.is_empty() && key.chars().all(plain) {
        key.to_owned()
    } else {
        toml_edit::Value::from(key).to_string()
    }
}
