//! Values of keys: texts, names, durations, booleans.

use std::ops::Range;

use indexmap::IndexMap;
use interlock_expr::nearest::nearest;

use super::{
    keys::Key,
    reader::Reader,
    syntax::{Named, Written},
    template::{ParseError, Template},
};
use crate::{
    fit::truth,
    node::{Entry, Kind, Node},
    source::Span,
};

impl Reader<'_> {
    /// Parses a text that may have templates; null is empty.
    pub(super) fn written(&mut self, what: &str, node: &Node) -> Written {
        let text = match &node.kind {
            Kind::Null => "",
            Kind::Text(text) | Kind::Plain(text) => text,
            _ => {
                self.wrong_type(what, "text", node);
                return broken(node.span);
            }
        };
        match Template::parse(text) {
            Ok(template) => {
                let holes = template
                    .holes()
                    .map(|(_, at)| self.locate(node.span, text, at))
                    .collect();
                Written {
                    template,
                    span: node.span,
                    holes,
                    broken: false,
                }
            }
            Err(mistake) => {
                self.template_mistake(what, node.span, text, mistake);
                broken(node.span)
            }
        }
    }

    fn template_mistake(&mut self, what: &str, span: Span, text: &str, mistake: ParseError) {
        let at = self.locate(span, text, mistake.at..mistake.at + 2);
        self.report
            .error(at, "template", format!("{} in `{what}`", mistake.message))
            .help(mistake.help);
    }

    /// Returns the position in the file of `at` in a scalar's decoded text.
    ///
    /// Braces are literal in every style, so the same number of them comes before it.
    fn locate(&self, span: Span, text: &str, at: Range<usize>) -> Span {
        let (_, file) = self.files.name_and_text(span.file);
        let written = file.get(span.start..span.end).unwrap_or_default();
        let opens = |text: &str| -> Vec<usize> {
            let pairs = text.as_bytes().windows(2).enumerate();
            pairs
                .filter(|(_, pair)| *pair == b"{{")
                .map(|(at, _)| at)
                .collect()
        };
        let (here, there) = (opens(text), opens(written));
        let nth = here.iter().position(|open| *open == at.start);
        let found = nth.filter(|_| here.len() == there.len());
        let Some(start) = found.and_then(|nth| there.get(nth)) else {
            return span;
        };
        let same = written.get(*start..*start + at.len()) == text.get(at.clone());
        let length = if same { at.len() } else { 2 };
        let start = span.start + start;
        Span::new(span.file, start, start + length)
    }

    /// Parses a text without templates; null counts as missing.
    pub(super) fn name(&mut self, what: &str, node: &Node) -> Option<Named> {
        match &node.kind {
            Kind::Null => None,
            Kind::Text(text) | Kind::Plain(text) => {
                if text.contains("{{") {
                    self.report
                        .error(
                            node.span,
                            "no_template_here",
                            format!("`{what}` takes no template"),
                        )
                        .help(
                            "write the text itself; a state to be chosen by a value needs `switch`",
                        );
                    return None;
                }
                Some(Named {
                    text: text.clone(),
                    span: node.span,
                })
            }
            _ => {
                self.wrong_type(what, "text", node);
                None
            }
        }
    }

    /// Parses a boolean that is known at load time.
    pub(super) fn flag(&mut self, what: &str, node: &Node) -> Option<bool> {
        let text = self.name(what, node)?;
        let read = truth(&text.text);
        if read.is_none() {
            self.bad_boolean(what, &text.text, text.span);
        }
        read
    }

    pub(super) fn bad_boolean(&mut self, what: &str, text: &str, span: Span) {
        self.report
            .error(
                span,
                "bad_boolean",
                format!("`{what}` cannot be `{}`", shown(text)),
            )
            .help("write `true` or `false`");
    }

    pub(super) fn bad_duration(&mut self, what: &str, text: &str, span: Span) {
        self.report
            .error(
                span,
                "bad_duration",
                format!("`{what}` cannot be `{}`", shown(text)),
            )
            .help("write digits and one of `s`, `m`, `h`: `30s`, `5m`, `1h`");
    }

    /// Parses an integer between two bounds.
    pub(super) fn integer(&mut self, what: &str, node: &Node, from: u64, to: u64) -> Option<u64> {
        let text = self.name(what, node)?;
        let read = text.text.parse::<u64>().ok();
        let fits = read.filter(|number| (from..=to).contains(number));
        if fits.is_none() {
            let range = if to == u64::MAX {
                format!("a whole number from {from}")
            } else {
                format!("a whole number from {from} to {to}")
            };
            self.report.error(
                text.span,
                "wrong_value",
                format!("`{what}` must be {range}, not `{}`", shown(&text.text)),
            );
        }
        fits
    }

    /// Reports a text that is not one of `words`.
    pub(super) fn bad_choice(&mut self, what: &str, text: &str, words: &[&str], span: Span) {
        let near = nearest(text, words.iter().copied())
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_default();
        let known: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        self.report
            .error(
                span,
                "wrong_value",
                format!("`{what}` cannot be `{}`{near}", shown(text)),
            )
            .help(format!("it is one of {}", known.join(", ")));
    }

    pub(super) fn wrong_type(&mut self, what: &str, wanted: &str, node: &Node) {
        let (found, help) = match &node.kind {
            Kind::List(_) => ("a list", "quote it, or write it as a block below `|`"),
            Kind::Map(_) => ("a map", "quote it, or write it as a block below `|`"),
            _ => ("text", ""),
        };
        let problem = self.report.error(
            node.span,
            "wrong_type",
            format!("`{what}` must be {wanted}, not {found}"),
        );
        if wanted == "text" {
            problem.help(help);
        }
    }

    /// Returns the entries of a map; null has none. Anything else is reported.
    pub(super) fn map<'n>(&mut self, what: &str, node: &'n Node) -> &'n [Entry] {
        if !matches!(node.kind, Kind::Map(_) | Kind::Null) {
            self.wrong_type(what, "a map", node);
        }
        node.entries()
    }

    /// Checks that every key of a map is known, and that required keys are given.
    pub(super) fn keys(&mut self, what: &str, node: &Node, known: &[Key]) {
        for entry in node.entries() {
            if known.iter().any(|key| key.name == entry.key) {
                continue;
            }
            let names = known.iter().map(|key| key.name);
            self.unknown("key", what, &entry.key, entry.key_span, names);
        }
        for key in known.iter().filter(|key| key.required) {
            if node.get(key.name).is_none() {
                self.missing(what, key.name, node.span);
            }
        }
    }

    pub(super) fn missing(&mut self, what: &str, name: &str, span: Span) {
        self.report
            .error(
                span,
                "missing_key",
                format!("`{name}` is missing in {what}"),
            )
            .help(format!("add `{name}`"));
    }

    /// Reports an unknown name, with the nearest known one.
    pub(super) fn unknown<'k>(
        &mut self,
        kind: &str,
        what: &str,
        name: &str,
        span: Span,
        known: impl Iterator<Item = &'k str>,
    ) {
        let known: Vec<&str> = known.collect();
        let near = nearest(name, known.iter().copied());
        let guess = near.map_or_else(
            || format!(" in {what}"),
            |near| format!(" in {what}: did you mean `{near}`?"),
        );
        let listed: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        let code = match kind {
            "argument" => "unknown_argument",
            "tool" => "unknown_tool",
            _ => "unknown_key",
        };
        let problem = self.report.error(
            span,
            code,
            format!("unknown {kind} `{}`{guess}", shown(name)),
        );
        problem.help(match (near, listed.is_empty()) {
            (Some(near), _) => format!("write `{near}`, or remove it"),
            (None, true) => "remove it: there are none".to_owned(),
            (None, false) => format!("known are {}", listed.join(", ")),
        });
    }

    /// Parses a map of texts.
    pub(super) fn texts(&mut self, what: &str, node: &Node) -> IndexMap<String, Written> {
        let entries = self.map(what, node);
        entries
            .iter()
            .map(|entry| {
                let what = format!("{what}.{}", entry.key);
                (entry.key.clone(), self.written(&what, &entry.value))
            })
            .collect()
    }

    /// Parses a map of environment variables.
    pub(super) fn env(&mut self, what: &str, node: &Node) -> IndexMap<String, Written> {
        for entry in node.entries() {
            if !is_env_name(&entry.key) {
                self.report
                    .error(
                        entry.key_span,
                        "invalid_name",
                        format!(
                            "`{}` cannot be the name of an environment variable",
                            shown(&entry.key)
                        ),
                    )
                    .help("use letters, digits and `_`, not beginning with a digit");
            }
        }
        self.texts(what, node)
    }
}

/// Returns a placeholder for an unknown text.
pub(super) fn broken(span: Span) -> Written {
    Written {
        template: Template::default(),
        span,
        holes: Vec::new(),
        broken: true,
    }
}

/// Returns whether templates can refer to a variable of this name.
pub(super) fn is_variable_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && !name.starts_with('-') && name.chars().all(fits)
}

fn is_env_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits)
}

/// Shortens a text for a message, on one line.
pub(super) fn shown(text: &str) -> String {
    let mut line: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() {
        line.push('…');
    }
    line
}

/// Advice for a name that templates cannot use.
pub(super) const NAME_HELP: &str = "use letters, digits, `_` and `-`, not beginning with `-`";
