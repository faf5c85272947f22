//! A file's top level and its states.

use indexmap::IndexMap;
use interlock_core::machine::OnCrash;

use super::{
    keys::{STATE, TOP},
    reader::Reader,
    syntax::{Goto, Handler, Named, Output, State, Variable, Workflow},
    values::{NAME_HELP, is_variable_name, shown},
};
use crate::{
    node::{Entry, Kind, Node},
    source::Span,
};

/// What happens to an interrupted state.
const ON_CRASH: [(&str, OnCrash); 3] = [
    ("ask", OnCrash::Ask),
    ("retry", OnCrash::Retry),
    ("fail", OnCrash::Fail),
];

impl Reader<'_> {
    /// Parses a whole file.
    pub(super) fn workflow(&mut self, node: &Node) -> Workflow {
        self.keys("the workflow", node, TOP);
        let value = |key: &str| node.get(key).map(|entry| &entry.value);
        let text =
            |reader: &mut Self, key: &str| value(key).and_then(|node| reader.name(key, node));
        let name = text(self, "name");
        let start = text(self, "start-at");
        let extends = text(self, "extends");
        let description = text(self, "description");
        let cwd = text(self, "cwd");
        if let Some(name) = &name {
            self.check_workflow_name(name);
        }
        Workflow {
            span: node.span,
            name,
            start,
            states: value("states").map(|node| self.states("`states`", node)),
            variables: value("variables")
                .map(|node| self.variables(node))
                .unwrap_or_default(),
            extends,
            description: description.map(|text| text.text),
            shell_safe: value("shell-safe")
                .and_then(|node| self.flag("shell-safe", node))
                .unwrap_or_default(),
            cwd: cwd.map(|text| text.text),
            tools: value("tools")
                .map(|node| self.custom_tools(node))
                .unwrap_or_default(),
            transitions_max: value("max-transitions")
                .and_then(|node| self.integer("max-transitions", node, 1, u64::MAX)),
        }
    }

    fn check_workflow_name(&mut self, name: &Named) {
        let reason = if name.text.is_empty() {
            "is empty"
        } else if name.text.contains('/') {
            "contains a `/`, which separates the names of a path"
        } else if name.text.contains("::") {
            "contains `::`, which separates the parts of a variable"
        } else if name.text.chars().any(char::is_control) {
            "contains a line break or another control character"
        } else {
            return;
        };
        self.invalid_name("the workflow", &name.text, name.span, reason);
    }

    fn invalid_name(&mut self, what: &str, name: &str, span: Span, reason: &str) {
        self.report
            .error(
                span,
                "invalid_name",
                format!("the name `{}` of {what} {reason}", shown(name)),
            )
            .help("choose another name");
    }

    fn variables(&mut self, node: &Node) -> IndexMap<String, Variable> {
        let mut variables = IndexMap::new();
        for entry in self.map("variables", node) {
            if !is_variable_name(&entry.key) {
                self.report
                    .error(
                        entry.key_span,
                        "invalid_name",
                        format!("`{}` cannot be the name of a variable", shown(&entry.key)),
                    )
                    .help(NAME_HELP);
            }
            let value = match &entry.value.kind {
                Kind::Null => String::new(),
                Kind::Text(text) | Kind::Plain(text) => text.clone(),
                Kind::List(_) | Kind::Map(_) => {
                    let what = format!("variables.{}", entry.key);
                    self.wrong_type(&what, "text", &entry.value);
                    String::new()
                }
                Kind::Bool(_) | Kind::Number(_) => String::new(),
            };
            let span = entry.key_span;
            variables.insert(entry.key.clone(), Variable { value, span });
        }
        variables
    }

    /// Parses a map of states; an empty one is reported.
    pub(super) fn states(&mut self, what: &str, node: &Node) -> IndexMap<String, State> {
        let entries = self.map("states", node);
        let is_map = matches!(node.kind, Kind::Map(_) | Kind::Null);
        if entries.is_empty() && is_map {
            self.report
                .error(
                    node.span,
                    "empty_states",
                    format!("there is no state in {what}"),
                )
                .help("add one: `name: {tool: bash, arguments: {command: …}}`");
        }
        entries
            .iter()
            .map(|entry| {
                self.check_state_name(entry);
                (entry.key.clone(), self.state(entry))
            })
            .collect()
    }

    fn check_state_name(&mut self, entry: &Entry) {
        let name = &entry.key;
        let reason = if name.is_empty() {
            "is empty"
        } else if name.contains('/') {
            "contains a `/`, which separates the names of a path"
        } else if name.chars().any(char::is_control) {
            "contains a line break or another control character"
        } else {
            if name.starts_with('_') {
                self.report
                    .warning(
                        entry.key_span,
                        "reserved_name",
                        format!("the state `{}` begins with `_`", shown(name)),
                    )
                    .help("such names may get a meaning of their own; choose another");
            }
            return;
        };
        self.invalid_name("a state", name, entry.key_span, reason);
    }

    fn state(&mut self, entry: &Entry) -> State {
        let node = &entry.value;
        let what = format!("the state `{}`", shown(&entry.key));
        if !matches!(node.kind, Kind::Map(_)) {
            self.wrong_type(&entry.key, "a map with `tool`", node);
            return State {
                span: entry.key_span,
                action: Self::no_action(node.span),
                output: None,
                next: None,
                on_error: Vec::new(),
                goto: None,
                on_crash: None,
            };
        }
        self.state_keys(&what, node);
        let value = |key: &str| node.get(key).map(|entry| &entry.value);
        let action = self.action(&what, node, entry.key_span);
        State {
            span: entry.key_span,
            action,
            output: value("output").and_then(|node| self.output(node)),
            next: value("next").and_then(|node| self.name("next", node)),
            on_error: value("on-error")
                .map(|node| self.on_error(node))
                .unwrap_or_default(),
            goto: value("goto").and_then(|node| self.goto(node)),
            on_crash: value("on-crash").and_then(|node| self.on_crash(node)),
        }
    }

    /// Checks the keys of a state, which begins at its name, not its map.
    fn state_keys(&mut self, what: &str, node: &Node) {
        self.keys(what, node, STATE);
        if let Some(entry) = node.get("description") {
            self.name("description", &entry.value);
        }
    }

    /// Parses `var(NAME)` or `file(PATH)`.
    pub(super) fn output(&mut self, node: &Node) -> Option<Output> {
        if node.kind == Kind::Null {
            return None;
        }
        let Some(text) = node.text() else {
            self.wrong_type("output", "text", node);
            return None;
        };
        let inner = |name: &str| {
            let rest = text.trim().strip_prefix(name)?.trim_start();
            rest.strip_prefix('(')?.strip_suffix(')')
        };
        if let Some(name) = inner("var") {
            return self.output_variable(name.trim(), node.span);
        }
        let Some(path) = inner("file").map(unquoted).filter(|path| !path.is_empty()) else {
            self.report
                .error(
                    node.span,
                    "bad_output",
                    format!("`output` cannot be `{}`", shown(text)),
                )
                .help("write `var(name)` or `file(./path)`");
            return None;
        };
        let mut path = self.written(
            "output",
            &Node {
                span: node.span,
                kind: Kind::Text(path.to_owned()),
            },
        );
        path.span = node.span;
        Some(Output::File(path))
    }

    fn output_variable(&mut self, name: &str, span: Span) -> Option<Output> {
        if name.contains("{{") {
            self.report
                .error(
                    span,
                    "no_template_here",
                    "the name in `var()` takes no template",
                )
                .help("name the variable itself");
            return None;
        }
        if name.is_empty() {
            self.report
                .error(span, "bad_output", "`var()` names no variable")
                .help("write `var(name)`");
            return None;
        }
        if !is_variable_name(name) {
            self.report
                .error(
                    span,
                    "bad_output",
                    format!("`{}` cannot be the name of a variable", shown(name)),
                )
                .help(NAME_HELP);
            return None;
        }
        Some(Output::Variable(Named {
            text: name.to_owned(),
            span,
        }))
    }

    fn on_error(&mut self, node: &Node) -> Vec<Handler> {
        let mut handlers: Vec<Handler> = Vec::new();
        for entry in self.map("on-error", node) {
            let code = match entry.key.as_str() {
                "_" => None,
                text => match exit_code(text) {
                    Some(code) => Some(code),
                    None => {
                        self.bad_code(entry);
                        continue;
                    }
                },
            };
            if handlers.iter().any(|handler| handler.code == code) {
                self.report
                    .error(
                        entry.key_span,
                        "duplicate_key",
                        format!("the code `{}` is duplicated here", shown(&entry.key)),
                    )
                    .help("remove one of the two");
                continue;
            }
            let what = format!("on-error.{}", entry.key);
            let Some(target) = self.target(&what, entry) else {
                continue;
            };
            handlers.push(Handler {
                code,
                span: entry.key_span,
                target,
            });
        }
        handlers
    }

    fn bad_code(&mut self, entry: &Entry) {
        let template = entry.key.contains("{{");
        let (code, message) = if template {
            (
                "no_template_here",
                "a key of `on-error` takes no template".to_owned(),
            )
        } else {
            (
                "bad_code",
                format!("`{}` is not a code of a failure", shown(&entry.key)),
            )
        };
        self.report
            .error(entry.key_span, code, message)
            .help("a key of `on-error` is a number from 1 to 255, or `_` for every other code");
    }

    /// Parses a required target.
    fn target(&mut self, what: &str, entry: &Entry) -> Option<Named> {
        let target = self.name(what, &entry.value);
        if target.is_none() && entry.value.kind == Kind::Null {
            self.report
                .error(
                    entry.key_span,
                    "missing_key",
                    format!("`{}` leads nowhere", shown(what)),
                )
                .help("name a state");
        }
        target
    }

    fn goto(&mut self, node: &Node) -> Option<Goto> {
        if node.kind == Kind::Null {
            return None;
        }
        let mut goto = Goto {
            span: node.span,
            cases: Vec::new(),
            rest: None,
        };
        for entry in self.map("goto", node) {
            if entry.key.contains("{{") {
                self.report
                    .error(
                        entry.key_span,
                        "no_template_here",
                        "a key of `goto` takes no template",
                    )
                    .help("compare in `value`: `{{ a == '{{ b }}' }}` is `true` or `false`");
                continue;
            }
            let what = format!("goto.{}", entry.key);
            let Some(target) = self.target(&what, entry) else {
                continue;
            };
            if entry.key == "_" {
                goto.rest = Some(target);
                continue;
            }
            let folded = |text: &str| text.trim().to_lowercase();
            let twice = goto
                .cases
                .iter()
                .find(|(known, _)| folded(&known.text) == folded(&entry.key));
            if let Some((known, _)) = twice {
                self.report
                    .error(
                        entry.key_span,
                        "duplicate_key",
                        format!(
                            "`{}` and `{}` are one key: case makes no difference",
                            shown(&known.text),
                            shown(&entry.key)
                        ),
                    )
                    .help("remove one of the two");
                continue;
            }
            let key = Named {
                text: entry.key.clone(),
                span: entry.key_span,
            };
            goto.cases.push((key, target));
        }
        Some(goto)
    }

    fn on_crash(&mut self, node: &Node) -> Option<OnCrash> {
        let word = self.name("on-crash", node)?;
        let found = ON_CRASH.iter().find(|(name, _)| *name == word.text);
        if found.is_none() {
            let words: Vec<&str> = ON_CRASH.iter().map(|(name, _)| *name).collect();
            self.bad_choice("on-crash", &word.text, &words, word.span);
        }
        found.map(|(_, rule)| *rule)
    }
}

/// Removes quotes around a path.
fn unquoted(path: &str) -> &str {
    let path = path.trim();
    let within = |quote: char| path.strip_prefix(quote)?.strip_suffix(quote);
    within('\'').or_else(|| within('"')).unwrap_or(path)
}

/// Parses the code of a handler.
fn exit_code(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let code = text.parse::<i64>().ok().filter(|_| digits)?;
    (1..=255).contains(&code).then_some(code)
}
