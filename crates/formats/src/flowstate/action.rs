//! A tool and its arguments.

mod composed;

use std::collections::HashSet;

use interlock_core::machine::{Retry, TestOp};

use super::{
    keys::{CONDITION, Key, ONE_VALUE, OPTION, TWO_VALUES},
    reader::Reader,
    syntax::{Action, Choice, Condition, Custom, Doing, Named, ToolArgument, Tree, Written},
    template::Template,
    tools::{self, Argument, Shape, TESTS, Tool},
    values::shown,
};
use crate::{
    fit::truth,
    node::{Entry, Kind, Node},
    source::Span,
    table::milliseconds,
};

/// Maximum number of characters of a pause's reason.
const REASON_MAX: usize = 500;

impl Reader<'_> {
    /// Returns a placeholder for an action that could not be parsed.
    pub(super) fn no_action(span: Span) -> Action {
        Action {
            tool: Named {
                text: String::new(),
                span,
            },
            doing: Doing::Broken,
            retry: None,
        }
    }

    /// Parses `tool` and `arguments` of a state, a task or `items-from`.
    pub(super) fn action(&mut self, what: &str, node: &Node, shown_at: Span) -> Action {
        let value = |key: &str| node.get(key).map(|entry| &entry.value);
        let Some(tool) = value("tool").and_then(|node| self.name("tool", node)) else {
            if value("tool").is_some_and(|node| node.kind == Kind::Null) {
                self.missing(what, "tool", shown_at);
            }
            return Self::no_action(node.span);
        };
        let empty = Node {
            span: tool.span,
            kind: Kind::Map(Vec::new()),
        };
        let arguments = match value("arguments") {
            Some(node) if !matches!(node.kind, Kind::Null) => node,
            _ => &empty,
        };
        if !matches!(arguments.kind, Kind::Map(_)) {
            self.wrong_type("arguments", "a map", arguments);
            return Self::no_action(node.span);
        }
        if tool.text != "for-each" {
            for key in ["start-at", "states"] {
                if let Some(entry) = node.get(key) {
                    self.report
                        .error(
                            entry.key_span,
                            "unknown_key",
                            format!(
                                "`{key}` belongs to `for-each`, not to `{}`",
                                shown(&tool.text)
                            ),
                        )
                        .help("remove it");
                }
            }
        }
        let mut retry = None;
        let doing = match tool.text.as_str() {
            "sub-flow" => Doing::SubFlow(self.sub_flow(&tool, arguments)),
            "parallel" => Doing::Parallel(self.parallel(&tool, arguments)),
            "for-each" => Doing::ForEach(self.for_each(&tool, node, arguments)),
            name => match (tools::tool(name), test(name)) {
                (Some(known), _) => {
                    retry = self.retry_of(arguments);
                    Doing::Work(self.arguments(known, &tool, arguments))
                }
                (None, Some(op)) => self.test(op, &tool, arguments),
                (None, None) => {
                    let (custom, tried) = self.custom(arguments);
                    retry = tried;
                    Doing::Custom(custom)
                }
            },
        };
        Action { tool, doing, retry }
    }

    fn retry_of(&mut self, arguments: &Node) -> Option<Retry> {
        let entry = arguments.get("retry")?;
        self.retry(&entry.value)
    }

    /// Checks the names of arguments, and that all required ones are given.
    pub(super) fn check_arguments(
        &mut self,
        tool: &Named,
        arguments: &Node,
        known: &[(&'static str, bool)],
    ) {
        let what = format!("`{}`", shown(&tool.text));
        for entry in arguments.entries() {
            if known.iter().all(|(name, _)| *name != entry.key) {
                let names = known.iter().map(|(name, _)| *name);
                self.unknown("argument", &what, &entry.key, entry.key_span, names);
            }
        }
        for (name, _) in known.iter().filter(|(_, required)| *required) {
            if arguments.get(name).is_none() {
                self.report
                    .error(
                        tool.span,
                        "missing_argument",
                        format!("{what} needs the argument `{name}`"),
                    )
                    .help(format!("add `{name}` below `arguments`"));
            }
        }
    }

    /// Checks the arguments of a tool with a table of its own.
    pub(super) fn check_keys(&mut self, tool: &Named, arguments: &Node, keys: &[Key]) {
        let rules: Vec<(&str, bool)> = keys.iter().map(Key::rule).collect();
        self.check_arguments(tool, arguments, &rules);
    }

    fn arguments(
        &mut self,
        known: &'static Tool,
        tool: &Named,
        arguments: &Node,
    ) -> Vec<(&'static str, ToolArgument)> {
        let rule = |argument: &Argument| (argument.name, argument.required);
        let rules: Vec<(&str, bool)> = known.arguments.iter().map(rule).collect();
        self.check_arguments(tool, arguments, &rules);
        let mut all = Vec::new();
        for argument in known.arguments {
            let Some(entry) = arguments.get(argument.name) else {
                continue;
            };
            if entry.value.kind == Kind::Null && !argument.required {
                continue;
            }
            if let Some(given) = self.given(argument, entry) {
                self.check_given(known.name, argument.name, &given);
                all.push((argument.name, given));
            }
        }
        all
    }

    fn given(&mut self, argument: &Argument, entry: &Entry) -> Option<ToolArgument> {
        let (name, node) = (argument.name, &entry.value);
        Some(match argument.shape {
            Shape::Retry => return None,
            Shape::Name => ToolArgument::Name(self.name(name, node)?),
            Shape::Flag => ToolArgument::Flag(self.flag(name, node)?),
            Shape::Env => ToolArgument::Map(self.env(name, node)),
            Shape::Options => ToolArgument::Options(self.options(node)),
            Shape::Condition => ToolArgument::Condition(self.condition(node)?),
            Shape::Texts => match &node.kind {
                Kind::List(items) => {
                    ToolArgument::Texts(items.iter().map(|item| self.written(name, item)).collect())
                }
                _ => ToolArgument::Text(self.written(name, node)),
            },
            Shape::Text => ToolArgument::Text(self.written(name, node)),
            // Written as YAML, it is still JSON.
            Shape::Json if matches!(node.kind, Kind::Map(_)) => ToolArgument::Text(Written {
                template: Template::plain(&node.to_value().to_string()),
                span: node.span,
                holes: Vec::new(),
                broken: false,
            }),
            shape => {
                let mut text = self.written(name, node);
                self.check_literal(name, shape, &text);
                settle(shape, &mut text);
                ToolArgument::Text(text)
            }
        })
    }

    /// Checks a value without templates.
    fn check_literal(&mut self, name: &str, shape: Shape, text: &Written) {
        let Some(literal) = text.literal() else {
            return;
        };
        match shape {
            Shape::Duration if milliseconds(literal.trim()).is_none() => {
                self.bad_duration(name, &literal, text.span);
            }
            Shape::Boolean if truth(&literal).is_none() => {
                self.bad_boolean(name, &literal, text.span);
            }
            Shape::OneOf(words) if !words.contains(&literal.trim()) => {
                self.bad_choice(name, &literal, words, text.span);
            }
            Shape::Json => {
                if let Err(error) = serde_json::from_str::<serde_json::Value>(&literal) {
                    self.report
                        .error(
                            text.span,
                            "bad_json",
                            format!("`{name}` is not JSON: {error}"),
                        )
                        .help("write JSON in single quotes, or as a block below `|`");
                }
            }
            _ => {}
        }
    }

    fn check_given(&mut self, tool: &str, name: &str, given: &ToolArgument) {
        let ToolArgument::Text(text) = given else {
            return;
        };
        let Some(literal) = text.literal() else {
            return;
        };
        if (tool, name) == ("pause", "reason") && literal.chars().count() > REASON_MAX {
            self.report
                .error(
                    text.span,
                    "wrong_value",
                    format!(
                        "the reason has {} characters and {REASON_MAX} is the limit",
                        literal.chars().count()
                    ),
                )
                .help("say it shorter");
        }
    }

    fn test(&mut self, op: TestOp, tool: &Named, arguments: &Node) -> Doing {
        let one = matches!(op, TestOp::Empty | TestOp::NotEmpty | TestOp::Value);
        let keys = if one { ONE_VALUE } else { TWO_VALUES };
        self.check_keys(tool, arguments, keys);
        let mut side = |name: &str| {
            let entry = arguments.get(name)?;
            Some(self.written(name, &entry.value))
        };
        let (left, right) = if one {
            (side("value"), None)
        } else {
            (side("left"), side("right"))
        };
        let missing = || super::values::broken(tool.span);
        Doing::Test {
            op,
            left: left.unwrap_or_else(missing),
            right: right.or_else(|| (!one).then(missing)),
        }
    }

    fn options(&mut self, node: &Node) -> Vec<Choice> {
        let Kind::List(items) = &node.kind else {
            self.wrong_type("options", "a list", node);
            return Vec::new();
        };
        if items.is_empty() {
            self.report
                .error(node.span, "empty_list", "`options` is empty")
                .help("add an answer, or remove `options`");
        }
        let mut seen = HashSet::new();
        let mut options = Vec::new();
        for item in items {
            let Some(choice) = self.option(item) else {
                continue;
            };
            if let Some(value) = choice.value.literal()
                && !seen.insert(value.clone())
            {
                self.report
                    .error(
                        choice.value.span,
                        "duplicate_key",
                        format!("the answer `{}` is duplicated here", shown(&value)),
                    )
                    .help("remove one of the two");
            }
            options.push(choice);
        }
        options
    }

    fn option(&mut self, node: &Node) -> Option<Choice> {
        if !matches!(node.kind, Kind::Map(_)) {
            let value = self.written("options", node);
            return Some(Choice {
                value,
                description: None,
            });
        }
        self.keys("an option", node, OPTION);
        let value = node.get("value")?;
        let description = node.get("description");
        Some(Choice {
            value: self.written("options.value", &value.value),
            description: description
                .filter(|entry| entry.value.kind != Kind::Null)
                .map(|entry| self.written("options.description", &entry.value)),
        })
    }

    fn condition(&mut self, node: &Node) -> Option<Condition> {
        if !matches!(node.kind, Kind::Map(_)) {
            self.wrong_type("condition", "a map with `tool: bash` and `command`", node);
            return None;
        }
        self.keys("`condition`", node, CONDITION);
        if let Some(entry) = node.get("tool")
            && let Some(tool) = self.name("condition.tool", &entry.value)
            && tool.text != "bash"
        {
            self.bad_choice("condition.tool", &tool.text, &["bash"], tool.span);
        }
        let timeout = node
            .get("timeout")
            .filter(|entry| entry.value.kind != Kind::Null);
        let timeout = timeout.map(|entry| {
            let text = self.written("condition.timeout", &entry.value);
            self.check_literal("condition.timeout", Shape::Duration, &text);
            text
        });
        let command = node.get("command")?;
        Some(Condition {
            command: self.written("condition.command", &command.value),
            timeout,
        })
    }

    fn custom(&mut self, arguments: &Node) -> (Custom, Option<Retry>) {
        let retry = self.retry_of(arguments);
        let env = arguments
            .get("env")
            .map(|entry| self.env("env", &entry.value));
        let plain = arguments.entries().iter();
        let arguments_left = plain
            .filter(|entry| !matches!(entry.key.as_str(), "env" | "retry"))
            .map(|entry| {
                let name = Named {
                    text: entry.key.clone(),
                    span: entry.key_span,
                };
                (name, self.tree(&entry.key, &entry.value))
            })
            .collect();
        let custom = Custom {
            span: arguments.span,
            arguments: arguments_left,
            env: env.unwrap_or_default(),
        };
        (custom, retry)
    }

    fn tree(&mut self, what: &str, node: &Node) -> Tree {
        match &node.kind {
            Kind::Null => Tree::Null(node.span),
            Kind::List(items) => Tree::List(
                node.span,
                items.iter().map(|item| self.tree(what, item)).collect(),
            ),
            Kind::Map(entries) => Tree::Map(
                node.span,
                entries
                    .iter()
                    .map(|entry| {
                        let name = Named {
                            text: entry.key.clone(),
                            span: entry.key_span,
                        };
                        let what = format!("{what}.{}", entry.key);
                        (name, self.tree(&what, &entry.value))
                    })
                    .collect(),
            ),
            _ => Tree::Text(self.written(what, node)),
        }
    }
}

fn test(name: &str) -> Option<TestOp> {
    TESTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, op)| *op)
}

/// Converts a value without templates to its canonical text.
fn settle(shape: Shape, text: &mut Written) {
    let Some(literal) = text.literal() else {
        return;
    };
    let settled = match shape {
        Shape::Boolean => truth(&literal).map(|truth| truth.to_string()),
        Shape::Duration | Shape::OneOf(_) => Some(literal.trim().to_owned()),
        _ => None,
    };
    if let Some(settled) = settled {
        text.template = Template::plain(&settled);
    }
}
