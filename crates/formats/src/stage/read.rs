//! Parses the keys of a stage.

use std::ops::Range;

use interlock_core::{
    guard::{GuardRef, Source as GuardSource},
    machine::Retry,
    names::StateName,
};
use interlock_expr::text::Text;
use interlock_validate::{GuardRoot, Place};
use serde_json::Value;

use super::{
    BUILT_IN, Use, payload,
    template::{self, Template},
};
use crate::{
    native::{Current, Reader, Reads, placeholder},
    node::{Entry, Kind, Node},
    source::Span,
    table::{Fields, Table, milliseconds},
};

/// A parsed model stage.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    /// The system prompt.
    pub(crate) body: Text,
    /// Completion tool.
    pub(crate) completion_tool: String,
    /// Schema of the payload, whose root is an object.
    pub(crate) schema: Value,
    /// Maximum number of messages in one attempt.
    pub(crate) turns_max: u32,
    /// Guards before it.
    pub(crate) gate: Vec<GuardRef>,
    /// Assertions after it.
    pub(crate) assert: Vec<Assertion>,
    /// Sampling temperature.
    pub(crate) temperature: Option<Value>,
    /// Maximum number of tokens of one message.
    pub(crate) output_tokens_max: Option<u64>,
    /// Amount of thinking.
    pub(crate) thinking: Option<Value>,
    /// Position of these options.
    pub(crate) options_span: Option<Span>,
    /// Retry policy.
    pub(crate) retry: Option<Retry>,
    /// Question to a person before it.
    pub(crate) approval: Option<Text>,
    /// Context paths in its texts.
    pub(crate) uses: Vec<Use>,
}

/// A parsed assertion.
#[derive(Debug, Clone)]
pub(crate) struct Assertion {
    pub(crate) guard: GuardRef,
    /// `fail`, `retry` or `skip`.
    pub(crate) otherwise: Option<String>,
    pub(crate) message: String,
}

/// Tables of a stage's keys.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// Table of assertions.
    pub(crate) assertion: &'static Table,
    /// Table of `retry`.
    pub(crate) retry: &'static Table,
    /// Table of a model's options.
    pub(crate) options: &'static Table,
}

impl Reader<'_, '_> {
    /// Parses the keys that make a state a stage; missing and invalid ones are reported.
    pub(crate) fn stage_of(
        &mut self,
        current: &Current<'_>,
        name: &StateName,
        fields: &Fields<'_>,
        keys: Keys,
    ) -> Stage {
        let mut uses = Vec::new();
        let body = self.body(fields, &mut uses);
        let approval = fields.get("approval_before").map(|node| {
            let text = node.text().unwrap_or_default();
            self.template(text, node.span, &mut uses)
        });
        let options = fields
            .get("model_options")
            .and_then(|node| keys.options.read(node, &mut self.report));
        let option = |name: &str| options.as_ref().and_then(|options| options.get(name));
        if let Some(node) = option("thinking") {
            self.check_thinking(node);
        }
        Stage {
            body,
            completion_tool: self.completion_tool(fields),
            schema: fields
                .get("completion_schema")
                .map(|node| payload::checked(node, &mut self.report))
                .unwrap_or_default(),
            turns_max: fields
                .count("turn_cap")
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(1),
            gate: self.gate(current, name, fields),
            assert: self.assertions(current, name, fields, keys.assertion),
            temperature: option("temperature").map(Node::to_value),
            output_tokens_max: options
                .as_ref()
                .and_then(|options| options.count("max_output_tokens")),
            thinking: option("thinking").map(Node::to_value),
            options_span: fields.entry("model_options").map(|entry| entry.key_span),
            retry: fields
                .get("retry")
                .and_then(|node| keys.retry.read(node, &mut self.report))
                .map(|fields| retry(&fields)),
            approval,
            uses,
        }
    }

    fn body(&mut self, fields: &Fields<'_>, uses: &mut Vec<Use>) -> Text {
        match (fields.entry("body"), fields.entry("body_file")) {
            (Some(_), Some(file)) => {
                self.report
                    .error(
                        file.key_span,
                        "mixed_shapes",
                        format!("`body` and `{}` are two bodies", file.key),
                    )
                    .help("keep one of the two");
                Text::default()
            }
            (Some(body), None) => {
                let text = body.value.text().unwrap_or_default();
                self.template(text, body.value.span, uses)
            }
            (None, Some(file)) => self.body_file(file, uses),
            (None, None) if fields.has("body") || fields.has("body_file") => Text::default(),
            (None, None) => {
                self.report
                    .error(
                        fields.node.span,
                        "missing_field",
                        "`body` is missing in a stage",
                    )
                    .help("add `body`, the system prompt, or the file that holds it");
                Text::default()
            }
        }
    }

    /// Reads a body from the file that an entry names.
    fn body_file(&mut self, entry: &Entry, uses: &mut Vec<Use>) -> Text {
        let path = entry.value.text().unwrap_or_default();
        // A plain name would refer to a workflow.
        let wanted = if path.contains('/') {
            path.to_owned()
        } else {
            format!("./{path}")
        };
        let from = self.files.source(entry.value.span.file).cloned();
        let found = from.and_then(|from| self.others.resolve(&from, &wanted));
        let reason = match found {
            Some(Ok(source)) => {
                let text = source.text.trim_start_matches('\u{feff}').to_owned();
                let skipped = source.text.len() - text.len();
                let end = source.text.len();
                let known = self.files.position_of(&source);
                let file = known.unwrap_or_else(|| self.files.add(source));
                return self.template(&text, Span::new(file, skipped, end), uses);
            }
            Some(Err(reason)) => format!("`{path}` cannot be read: {reason}"),
            None => format!("there is no file `{path}`"),
        };
        self.report
            .error(entry.value.span, "unreadable_body", reason)
            .help("name a file by its path from the workflow file");
        Text::default()
    }

    /// Parses a text with holes at `span`.
    fn template(&mut self, text: &str, span: Span, uses: &mut Vec<Use>) -> Text {
        let template = Template::parse(text);
        for mistake in template.mistakes {
            let at = self.locate(span, text, &mistake.at);
            self.report
                .error(at, "template", mistake.message)
                .help(mistake.help);
        }
        for hole in template.holes {
            let span = self.locate(span, text, &hole.at);
            let path = hole.path;
            uses.push(Use { path, span });
        }
        template.text
    }

    /// Returns the position in the file of `at` in a scalar's decoded text.
    ///
    /// The opening of a hole is literal in every style, so the same number of them comes before it.
    fn locate(&self, span: Span, text: &str, at: &Range<usize>) -> Span {
        let (_, file) = self.files.name_and_text(span.file);
        let written = file.get(span.start..span.end).unwrap_or_default();
        let opens = |text: &str| -> Vec<usize> {
            let found = text.match_indices(template::OPEN);
            found.map(|(at, _)| at).collect()
        };
        let (here, there) = (opens(text), opens(written));
        let nth = here.iter().position(|open| *open == at.start);
        let found = nth.filter(|_| here.len() == there.len());
        let Some(start) = found.and_then(|nth| there.get(nth)) else {
            return span;
        };
        let same = written.get(*start..*start + at.len()) == text.get(at.clone());
        let length = if same { at.len() } else { template::OPEN.len() };
        let start = span.start + start;
        Span::new(span.file, start, start + length)
    }

    fn completion_tool(&mut self, fields: &Fields<'_>) -> String {
        let Some(node) = fields.get("completion_tool") else {
            return String::new();
        };
        let name = node.text().unwrap_or_default();
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
        let plain = bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        let (code, reason, help) = if !first || !plain || name.len() > 64 {
            (
                "invalid_name",
                "is not a name for a tool",
                "begin with a letter; letters, digits, `_` and `-` follow, at most 64 in all",
            )
        } else if BUILT_IN.contains(&name) {
            (
                "taken_name",
                "is the name of a built-in tool",
                "choose a name of its own, such as `submit_result`",
            )
        } else if name.starts_with("mcp__") {
            (
                "taken_name",
                "is the name of a tool of an MCP server",
                "choose a name of its own, such as `submit_result`",
            )
        } else if ["interlock_", "statewright_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            (
                "taken_name",
                "is the name of a control tool",
                "choose a name of its own, such as `submit_result`",
            )
        } else {
            return name.to_owned();
        };
        self.report
            .error(node.span, code, format!("`{name}` {reason}"))
            .help(help);
        name.to_owned()
    }

    fn check_thinking(&mut self, node: &Node) {
        let fits = match &node.kind {
            Kind::Bool(_) => true,
            Kind::Text(text) => ["off", "low", "medium", "high"].contains(&text.as_str()),
            Kind::Number(number) => number
                .as_u64()
                .is_some_and(|tokens| u32::try_from(tokens).is_ok()),
            _ => false,
        };
        if !fits {
            self.report
                .error(
                    node.span,
                    "wrong_value",
                    format!("`thinking` cannot be {}", node.describe()),
                )
                .help("write `true`, `false`, `low`, `medium`, `high`, or a number of tokens");
        }
    }

    /// Parses the guards before a stage, which read the context.
    fn gate(
        &mut self,
        current: &Current<'_>,
        name: &StateName,
        fields: &Fields<'_>,
    ) -> Vec<GuardRef> {
        let Some(node) = fields.get("gate") else {
            return Vec::new();
        };
        let items = match &node.kind {
            Kind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let before = self.reads;
        self.reads.from = GuardSource::Context;
        let mut guards = Vec::new();
        for item in items {
            let site = GuardRoot::Gate(name.clone(), guards.len()).whole();
            guards.extend(self.guard_ref(current, item, &site));
        }
        self.reads = before;
        guards
    }

    /// Parses the guards after a stage, which read its payload.
    fn assertions(
        &mut self,
        current: &Current<'_>,
        name: &StateName,
        fields: &Fields<'_>,
        table: &'static Table,
    ) -> Vec<Assertion> {
        let items = fields.get("assert").map(Node::items).unwrap_or_default();
        let before = self.reads;
        self.reads.from = GuardSource::Output;
        let mut assertions = Vec::new();
        for item in items {
            let site = GuardRoot::Assertion(name.clone(), assertions.len()).whole();
            if !matches!(item.kind, Kind::Map(_)) {
                let guard = self.guard_ref(current, item, &site);
                assertions.extend(guard.map(|guard| Assertion {
                    guard,
                    otherwise: None,
                    message: String::new(),
                }));
                continue;
            }
            let key = current.key.as_ref();
            self.spans.note(key, Place::Guard(site.clone()), item.span);
            let Some(fields) = table.read(item, &mut self.report) else {
                continue;
            };
            let guard = self
                .guard_of(current, &fields, &site)
                .unwrap_or_else(placeholder);
            assertions.push(Assertion {
                guard: GuardRef::Inline(Box::new(guard)),
                otherwise: fields.string("else"),
                message: fields.string("message").unwrap_or_default(),
            });
        }
        self.reads = before;
        assertions
    }

    /// Sets the default source of guards to the payload of a stage.
    pub(crate) fn read_guards_as(&mut self, table: &'static Table, from: GuardSource) {
        self.reads = Reads { table, from };
    }
}

/// Parses the retry policy of failed attempts.
pub(crate) fn retry(fields: &Fields<'_>) -> Retry {
    let time = |name: &str, default: u64| {
        let text = fields.text(name);
        text.and_then(milliseconds).unwrap_or(default)
    };
    let attempts = fields.count("max_attempts").unwrap_or(1);
    let backoff = match fields.get("backoff_factor").map(|node| &node.kind) {
        Some(Kind::Number(number)) => number.to_string(),
        _ => "2".to_owned(),
    };
    Retry {
        attempts: u32::try_from(attempts).unwrap_or(1),
        wait_ms: time("initial_interval", 1_000),
        backoff,
        wait_max_ms: time("max_interval", 60_000),
        codes: None,
        only_passing: false,
        jitter: false,
    }
}
