//! A word under construction.

use crate::value::{Arg, Dynamic};

/// A word under construction.
#[derive(Default)]
pub(super) struct Field {
    pub(super) text: String,
    /// Whether the rest is unknown; `text` is then the known beginning.
    pub(super) is_dynamic: bool,
    pub(super) is_number: bool,
    pub(super) is_single: bool,
    pub(super) is_operand: bool,
    pub(super) is_never_option: bool,
    pub(super) pattern: Option<String>,
    pub(super) is_quoted: bool,
    /// The text so far with `1` in place of numbers; `None` if more is unknown.
    pub(super) shape: Shape,
}

/// The text of a word in which only numbers may be unknown.
#[derive(Default)]
pub(super) enum Shape {
    #[default]
    Empty,
    Text(String),
    Unknown,
}

impl Shape {
    pub(super) fn push(&mut self, text: &str) {
        match self {
            Self::Empty => *self = Self::Text(text.to_owned()),
            Self::Text(all) => all.push_str(text),
            Self::Unknown => {}
        }
    }
}

impl Field {
    pub(super) fn add(&mut self, text: &str, quoted: bool) {
        self.is_quoted |= quoted;
        if self.is_dynamic {
            self.shape.push(text);
        } else {
            self.text.push_str(text);
        }
        self.is_number = false;
    }

    pub(super) fn add_pattern(&mut self, text: &str, source: &str) {
        match text.find(['*', '?', '[']) {
            // An unclosed bracket is literal: `[` is the name of a command.
            Some(at) if text.contains(['*', '?']) || text.contains(']') => {
                let (start, _) = text.split_at_checked(at).unwrap_or_default();
                self.add(start, false);
                self.is_dynamic = true;
                self.shape = Shape::Unknown;
                self.is_single = false;
                self.pattern = Some(source.to_owned());
            }
            Some(_) if !text.ends_with('[') || !self.text.is_empty() || text.len() > 1 => {
                let start = text.split('[').next().unwrap_or_default();
                self.add(start, false);
                self.is_dynamic = true;
                self.shape = Shape::Unknown;
                self.is_single = false;
                self.pattern = Some(source.to_owned());
            }
            _ => self.add(text, false),
        }
    }

    pub(super) fn add_uncertain(&mut self, start: &str, single: bool) {
        if !self.is_dynamic {
            let known = start
                .split(['*', '?', '[', '\\', '{', '~', ' ', '\t', '\n'])
                .next()
                .unwrap_or_default();
            self.text.push_str(known);
        }
        self.is_dynamic = true;
        self.shape = Shape::Unknown;
        self.is_single &= single;
        self.is_number = false;
    }

    pub(super) fn add_dynamic(&mut self, dynamic: &Dynamic, single: bool) {
        let is_first = self.text.is_empty() && !self.is_dynamic;
        if !dynamic.is_number {
            self.shape = Shape::Unknown;
        } else if self.is_dynamic {
            self.shape.push("1");
        } else {
            self.shape = Shape::Text(format!("{}1", self.text));
        }
        if !self.is_dynamic {
            self.text.push_str(&dynamic.start);
        }
        self.is_number = is_first && dynamic.is_number;
        self.is_single &= single || dynamic.is_number && dynamic.is_single;
        self.is_operand |= is_first && dynamic.is_operand;
        self.is_never_option |= is_first && dynamic.is_never_option;
        if single && dynamic.pattern.is_some() {
            self.pattern.clone_from(&dynamic.pattern);
        }
        self.is_dynamic = true;
    }

    pub(super) fn push_to(self, done: &mut Vec<Arg>, source: &str) {
        if self.is_dynamic || self.is_quoted || !self.text.is_empty() {
            done.push(self.finish(source));
        }
    }

    pub(super) fn finish(self, source: &str) -> Arg {
        if !self.is_dynamic {
            return Arg::Literal(self.text);
        }
        Arg::Dynamic(Dynamic {
            start: self.text,
            source: source.to_owned(),
            is_number: self.is_number,
            is_single: self.is_single,
            is_operand: self.is_operand,
            is_never_option: self.is_never_option,
            pattern: self.pattern,
            shape: match self.shape {
                Shape::Text(text) => Some(text),
                Shape::Empty | Shape::Unknown => None,
            },
        })
    }
}
