//! A document that a client has open.

use interlock_formats::{Source, format_of, may_be_workflow};

use crate::{
    names::Names,
    schema::Schema,
    text::{Position, Text},
    uri::path_of,
};

/// A document and what is known about it.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) version: i64,
    /// The number of its edition; no two texts of a server have the same.
    pub(crate) edition: u64,
    pub(crate) text: Text,
    /// Its path, or its address if it has no path.
    pub(crate) name: String,
    /// The names as of the last text with correct syntax, and whether that is the current text.
    names: Option<Names>,
    names_are_current: bool,
    /// Whether it was a workflow when last checked.
    workflow: Option<bool>,
    format: &'static str,
    schema: Option<Schema>,
}

impl Document {
    pub(crate) fn new(uri: &str, version: i64, text: &str) -> Self {
        Self {
            version,
            edition: 0,
            text: Text::new(text),
            name: path_of(uri),
            names: None,
            names_are_current: false,
            workflow: None,
            format: "",
            schema: None,
        }
    }

    /// Sets a new text, or changes part of the current one.
    pub(crate) fn change(&mut self, range: Option<(Position, Position)>, text: &str) {
        match range {
            Some((start, end)) => self.text.replace(start, end, text),
            None => self.text = Text::new(text),
        }
        self.names_are_current = false;
    }

    /// Returns the document as the formats read it.
    pub(crate) fn source(&self) -> Source {
        Source::new(self.name.as_str(), self.text.as_str())
    }

    pub(crate) fn is_json(&self) -> bool {
        self.name.ends_with(".json")
    }

    /// Returns whether questions about it are answered: it is a workflow, or is where workflows are kept.
    pub(crate) fn is_answered(&mut self) -> bool {
        self.is_at_home() || self.workflow.unwrap_or_else(|| self.is_workflow())
    }

    fn is_workflow(&mut self) -> bool {
        let is_one = kind_of(&self.source(), self.was_workflow());
        self.workflow = Some(is_one);
        is_one
    }

    /// Returns whether it was a workflow when last checked.
    pub(crate) fn was_workflow(&self) -> bool {
        self.workflow == Some(true)
    }

    fn is_at_home(&self) -> bool {
        is_at_home(&self.name)
    }

    /// Stores the results of a check if the document is still the one that was checked.
    pub(crate) fn learn(&mut self, is_workflow: bool, names: Option<(Names, &'static str)>) {
        self.workflow = Some(is_workflow);
        if let Some((names, format)) = names {
            self.set_format(format);
            self.names = Some(names);
            self.names_are_current = true;
        }
    }

    /// Returns the names it defines; the previous ones while its syntax is broken.
    pub(crate) fn names(&mut self) -> &Names {
        if !self.names_are_current {
            if let Some((names, format)) = Names::of(&self.source()) {
                self.names = Some(names);
                self.set_format(format);
            } else if self.format.is_empty() {
                self.set_format(format_by_lines(self.text.as_str()));
            }
            self.names_are_current = true;
        }
        self.names.get_or_insert_default()
    }

    /// Returns the names as last read, and the schema; reads them if they have never been read.
    pub(crate) fn known(&mut self) -> (&Names, &Schema) {
        if self.names.is_none() {
            self.names();
        }
        let format = self.format;
        let schema = self.schema.get_or_insert_with(|| Schema::of(format));
        (self.names.get_or_insert_default(), schema)
    }

    fn set_format(&mut self, format: &'static str) {
        if self.format != format {
            self.format = format;
            self.schema = None;
        }
    }
}

/// Guesses the format of a text that cannot be parsed, by the keys at the beginning of its lines.
fn format_by_lines(text: &str) -> &'static str {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let key = line.split(':').next().unwrap_or_default();
        match key.trim_matches([' ', '\t', '"', '{']) {
            "start-at" | "extends" => return "flowstate",
            "stages" => return "pipeline",
            "states"
                if lines
                    .peek()
                    .is_some_and(|next| next.trim_start().starts_with("- ")) =>
            {
                return "codemie";
            }
            _ => {}
        }
    }
    "native"
}

/// Returns whether a file is a workflow; a workflow remains one while its syntax is broken by an edit.
pub(crate) fn kind_of(source: &Source, was_workflow: bool) -> bool {
    !is_of_another_kind(&source.name)
        && may_be_workflow(source)
        && (was_workflow || is_at_home(&source.name) || format_of(source).is_some())
}

/// Returns whether a file is where workflows are kept.
fn is_at_home(name: &str) -> bool {
    let home = ["/.interlock/workflows/", "/.flowstate/"];
    !is_of_another_kind(name) && home.iter().any(|folder| name.contains(folder))
}

/// Returns whether it is another file that belongs to a workflow.
fn is_of_another_kind(name: &str) -> bool {
    let other = [".test.yaml", ".test.yml", ".properties.yaml"];
    other.iter().any(|end| name.ends_with(end))
}
