//! Tools that a file defines itself.

use indexmap::IndexMap;
use interlock_core::machine::Retry;
use interlock_expr::text::{Expr, Piece, Text};
use serde_json::{Value, json};

use super::{
    keys::{RETRY, TOOL},
    reader::Reader,
    syntax::{CustomTool, Written},
    tools,
    values::{is_variable_name, shown},
};
use crate::{
    fit,
    node::{Entry, Kind, Node},
    parse::typed_value,
    source::Span,
    table::milliseconds,
};

/// Maximum total number of attempts of a state.
const ATTEMPTS_MAX: u64 = 100;

impl Reader<'_> {
    /// Parses the tools that a file defines.
    pub(super) fn custom_tools(&mut self, node: &Node) -> IndexMap<String, CustomTool> {
        let mut tools = IndexMap::new();
        for entry in self.map("tools", node) {
            if let Some(tool) = self.custom_tool(entry) {
                tools.insert(entry.key.clone(), tool);
            }
        }
        tools
    }

    fn custom_tool(&mut self, entry: &Entry) -> Option<CustomTool> {
        self.check_tool_name(entry);
        let node = &entry.value;
        let what = format!("the tool `{}`", shown(&entry.key));
        if !matches!(node.kind, Kind::Map(_)) {
            self.wrong_type(&entry.key, "a map with `command`", node);
            return None;
        }
        self.keys(&what, node, TOOL);
        let value = |key: &str| {
            let entry = node.get(key)?;
            (entry.value.kind != Kind::Null).then_some(&entry.value)
        };
        let schema = value("arguments").map_or_else(
            || json!({ "type": "object", "properties": {} }),
            |node| self.schema(node),
        );
        let timeout = value("timeout").map(|node| self.written("timeout", node));
        if let Some(timeout) = &timeout
            && let Some(literal) = timeout.literal()
            && milliseconds(literal.trim()).is_none()
        {
            self.bad_duration("timeout", &literal, timeout.span);
        }
        let tool = CustomTool {
            command: value("command")
                .map(|node| self.argv(node))
                .unwrap_or_default(),
            schema,
            timeout,
            cwd: value("cwd").map(|node| self.written("cwd", node)),
            env: value("env")
                .map(|node| self.env("env", node))
                .unwrap_or_default(),
            stdin: value("stdin").map(|node| self.written("stdin", node)),
        };
        self.check_tool_texts(&tool);
        Some(tool)
    }

    fn check_tool_name(&mut self, entry: &Entry) {
        let reason = if tools::is_built_in(&entry.key) {
            "is that of a tool every file has"
        } else if is_variable_name(&entry.key) {
            return;
        } else {
            "is not made of letters, digits, `_` and `-`"
        };
        self.report
            .error(
                entry.key_span,
                "invalid_name",
                format!("the name `{}` of a tool {reason}", shown(&entry.key)),
            )
            .help("choose another name");
    }

    fn argv(&mut self, node: &Node) -> Vec<Written> {
        let Kind::List(items) = &node.kind else {
            self.wrong_type("command", "a list of the program and its arguments", node);
            return Vec::new();
        };
        if items.is_empty() {
            self.report
                .error(node.span, "empty_list", "`command` is empty")
                .help("name a program: `command: [\"jq\", \"--version\"]`");
        }
        items
            .iter()
            .map(|item| self.written("command", item))
            .collect()
    }

    fn schema(&mut self, node: &Node) -> Value {
        let schema = typed_value(node);
        if !schema.is_object() {
            self.wrong_type("arguments", "a JSON Schema of an object", node);
            return json!({});
        }
        if let Some(entry) = node.get("type")
            && entry.value.text() != Some("object")
        {
            self.report
                .error(
                    entry.value.span,
                    "bad_schema",
                    "the arguments of a tool are an object",
                )
                .help("write `type: object`, and each argument below `properties`");
        } else if let Some(misfit) = fit::schema_fault(&schema) {
            let at = node_at(node, &misfit.path);
            self.report
                .error(
                    at,
                    "bad_schema",
                    format!("this is not a JSON Schema: {}", misfit.message),
                )
                .help("see json-schema.org for what a schema may hold");
        }
        schema
    }

    /// Checks that the texts of a tool refer only to its arguments.
    fn check_tool_texts(&mut self, tool: &CustomTool) {
        let texts = tool.command.iter().chain(&tool.timeout).chain(&tool.cwd);
        let texts = texts.chain(tool.env.values()).chain(&tool.stdin);
        let names = fit::names(&tool.schema);
        let mut wrong: Vec<(Span, String, Option<String>)> = Vec::new();
        for text in texts {
            for (expr, at) in text.holes() {
                look(expr, &mut |found| match found {
                    Found::Key(key) if names.iter().all(|name| *name != key) => {
                        let near =
                            interlock_expr::nearest::nearest(key, names.iter().map(String::as_str));
                        wrong.push((
                            at,
                            format!("the tool has no argument `{}`", shown(key)),
                            near.map(|near| format!("did you mean `{near}`?")),
                        ));
                    }
                    Found::Key(_) => {}
                    Found::Other(what) => wrong.push((
                        at,
                        format!("`{what}` has no place in the texts of a tool"),
                        Some("pass it as an argument where the tool is used".to_owned()),
                    )),
                });
            }
        }
        for (at, message, help) in wrong {
            let help = help.unwrap_or_else(|| {
                "declare it below `arguments.properties` of the tool".to_owned()
            });
            self.report.error(at, "unknown_name", message).help(help);
        }
    }

    /// Parses how often an action is attempted.
    pub(super) fn retry(&mut self, node: &Node) -> Option<Retry> {
        let plain = |attempts: u64| Retry {
            attempts: u32::try_from(attempts).unwrap_or(1),
            wait_ms: 1_000,
            backoff: "1".to_owned(),
            wait_max_ms: 300_000,
            codes: None,
            only_passing: false,
            jitter: false,
        };
        if node.kind == Kind::Null {
            return None;
        }
        if !matches!(node.kind, Kind::Map(_)) {
            return self.integer("retry", node, 1, ATTEMPTS_MAX).map(plain);
        }
        self.keys("`retry`", node, RETRY);
        let value = |key: &str| {
            let entry = node.get(key)?;
            (entry.value.kind != Kind::Null).then_some(&entry.value)
        };
        let attempts =
            value("attempts").and_then(|node| self.integer("attempts", node, 1, ATTEMPTS_MAX))?;
        let mut retry = plain(attempts);
        if let Some(ms) = value("wait").and_then(|node| self.duration("wait", node)) {
            retry.wait_ms = ms;
        }
        if let Some(ms) = value("max-wait").and_then(|node| self.duration("max-wait", node)) {
            retry.wait_max_ms = ms;
        }
        if let Some(factor) = value("backoff").and_then(|node| self.factor(node)) {
            retry.backoff = factor;
        }
        retry.codes = value("codes").map(|node| self.codes(node));
        Some(retry)
    }

    fn duration(&mut self, what: &str, node: &Node) -> Option<u64> {
        let text = self.name(what, node)?;
        let read = milliseconds(text.text.trim());
        if read.is_none() {
            self.bad_duration(what, &text.text, text.span);
        }
        read
    }

    fn factor(&mut self, node: &Node) -> Option<String> {
        let text = self.name("backoff", node)?;
        let trimmed = text.text.trim();
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, fraction) = trimmed.split_once('.').unwrap_or((trimmed, "0"));
        let fits = digits(whole)
            && digits(fraction)
            && !whole.is_empty()
            && !fraction.is_empty()
            && whole.len() + fraction.len() <= 12
            && !whole.trim_start_matches('0').is_empty();
        if !fits {
            self.report
                .error(
                    text.span,
                    "wrong_value",
                    format!("`backoff` cannot be `{}`", shown(&text.text)),
                )
                .help("write a decimal number from 1, such as `2` or `1.5`");
            return None;
        }
        Some(trimmed.to_owned())
    }

    fn codes(&mut self, node: &Node) -> Vec<i64> {
        let items = match &node.kind {
            Kind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        items
            .iter()
            .filter_map(|item| self.integer("codes", item, 1, 255))
            .filter_map(|code| i64::try_from(code).ok())
            .collect()
    }
}

/// What a hole of a text reads.
pub(super) enum Found<'e> {
    /// The value of this key.
    Key(&'e str),
    /// Something else of the run.
    Other(&'static str),
}

/// Calls `see` with everything that an expression reads.
pub(super) fn look<'e>(expr: &'e Expr, see: &mut impl FnMut(Found<'e>)) {
    match expr {
        Expr::Key(key) => see(Found::Key(key)),
        Expr::Value(_) | Expr::Template(_) => {}
        Expr::Text(text) => look_in(text, see),
        Expr::Path(text, _) => look_in(text, see),
        Expr::Error(_) => see(Found::Other("error")),
        Expr::File(text) => {
            see(Found::Other("file()"));
            look_in(text, see);
        }
        Expr::Quote(inner) | Expr::Integer(inner) => look(inner, see),
        Expr::Same(left, right) | Expr::Differs(left, right) => {
            look(left, see);
            look_in(right, see);
        }
    }
}

fn look_in<'e>(text: &'e Text, see: &mut impl FnMut(Found<'e>)) {
    for piece in &text.pieces {
        if let Piece::Hole(expr) = piece {
            look(expr, see);
        }
    }
}

/// Finds the target of a JSON Pointer, as far as it can be followed.
fn node_at(node: &Node, pointer: &str) -> Span {
    let mut at = node;
    let mut span = node.span;
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let next = match &at.kind {
            Kind::Map(_) => at.get(&name).map(|entry| &entry.value),
            Kind::List(items) => name.parse::<usize>().ok().and_then(|nth| items.get(nth)),
            _ => None,
        };
        let Some(next) = next else { break };
        at = next;
        span = next.span;
    }
    span
}
