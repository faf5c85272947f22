//! A tool and its arguments.

use std::collections::HashSet;

use interlock_core::machine::{Retry, TestOp};

use super::{
    reader::Reader,
    syntax::{
        Action, Choice, Condition, Custom, Doing, ForEach, Given, Named, Parallel, SubFlow, Task,
        Tree, Written,
    },
    template::Template,
    tools::{self, Argument, Shape, TESTS, Tool},
    values::{Key, duration_ms, is_variable_name, shown, truth},
};
use crate::{
    node::{Entry, Kind, Node},
    source::Span,
};

/// Characters that the reason of a pause may have.
const REASON_MAX: usize = 500;

impl Reader<'_> {
    /// Stands for an action that could not be read.
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

    /// Reads `tool` and `arguments` of a state, a task or `items-from`.
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

    /// Checks names of arguments, and that none is missing that must be there.
    fn check_arguments(&mut self, tool: &Named, arguments: &Node, known: &[Key]) {
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

    fn arguments(
        &mut self,
        known: &'static Tool,
        tool: &Named,
        arguments: &Node,
    ) -> Vec<(&'static str, Given)> {
        let keys: Vec<Key> = known
            .arguments
            .iter()
            .map(|argument| (argument.name, argument.required))
            .collect();
        self.check_arguments(tool, arguments, &keys);
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

    fn given(&mut self, argument: &Argument, entry: &Entry) -> Option<Given> {
        let (name, node) = (argument.name, &entry.value);
        Some(match argument.shape {
            Shape::Retry => return None,
            Shape::Name => Given::Name(self.name(name, node)?),
            Shape::Flag => Given::Flag(self.flag(name, node)?),
            Shape::Env => Given::Map(self.env(name, node)),
            Shape::Options => Given::Options(self.options(node)),
            Shape::Condition => Given::Condition(self.condition(node)?),
            Shape::Texts => match &node.kind {
                Kind::List(items) => {
                    Given::Texts(items.iter().map(|item| self.written(name, item)).collect())
                }
                _ => Given::Text(self.written(name, node)),
            },
            Shape::Text => Given::Text(self.written(name, node)),
            shape => {
                let mut text = self.written(name, node);
                self.check_literal(name, shape, &text);
                settle(shape, &mut text);
                Given::Text(text)
            }
        })
    }

    /// Checks a value that no template makes.
    fn check_literal(&mut self, name: &str, shape: Shape, text: &Written) {
        let Some(literal) = text.literal() else {
            return;
        };
        match shape {
            Shape::Duration if duration_ms(&literal).is_none() => {
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

    fn check_given(&mut self, tool: &str, name: &str, given: &Given) {
        let Given::Text(text) = given else { return };
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
        let keys: &[Key] = if one {
            &[("value", true)]
        } else {
            &[("left", true), ("right", true)]
        };
        self.check_arguments(tool, arguments, keys);
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
                        format!("the answer `{}` stands here twice", shown(&value)),
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
        self.keys(
            "an option",
            node,
            &[("value", true), ("description", false)],
        );
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
        let keys: &[Key] = &[("tool", false), ("command", true), ("timeout", false)];
        self.keys("`condition`", node, keys);
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

    fn sub_flow(&mut self, tool: &Named, arguments: &Node) -> SubFlow {
        let keys: &[Key] = &[("workflow", true), ("variables", false), ("as", false)];
        self.check_arguments(tool, arguments, keys);
        let value = |key: &str| arguments.get(key).map(|entry| &entry.value);
        let alias = value("as").and_then(|node| self.name("as", node));
        if let Some(name) = &alias
            && !is_variable_name(&name.text)
        {
            self.report
                .error(
                    name.span,
                    "invalid_name",
                    format!("`{}` cannot stand before `::`", shown(&name.text)),
                )
                .help(super::values::NAME_HELP);
        }
        let workflow = value("workflow").and_then(|node| {
            let found = self.name("workflow", node);
            if node.kind == Kind::Null || found.as_ref().is_some_and(|name| name.text.is_empty()) {
                self.report
                    .error(tool.span, "missing_argument", "`workflow` is empty")
                    .help("name a workflow, or a file: `./checks.yaml`");
            }
            found.filter(|name| !name.text.is_empty())
        });
        let passed = value("variables").map(|node| self.passed(node));
        SubFlow {
            workflow,
            passed: passed.unwrap_or_default(),
            alias,
        }
    }

    fn passed(&mut self, node: &Node) -> indexmap::IndexMap<String, Written> {
        for entry in node.entries() {
            if !is_variable_name(&entry.key) {
                self.report
                    .error(
                        entry.key_span,
                        "invalid_name",
                        format!("`{}` cannot be the name of a variable", shown(&entry.key)),
                    )
                    .help(super::values::NAME_HELP);
            }
        }
        self.texts("variables", node)
    }

    fn parallel(&mut self, tool: &Named, arguments: &Node) -> Parallel {
        let keys: &[Key] = &[
            ("tasks", true),
            ("max-concurrency", false),
            ("fail-fast", false),
        ];
        self.check_arguments(tool, arguments, keys);
        let value = |key: &str| arguments.get(key).map(|entry| &entry.value);
        Parallel {
            tasks: value("tasks")
                .map(|node| self.tasks(node))
                .unwrap_or_default(),
            at_once: value("max-concurrency")
                .and_then(|node| self.integer("max-concurrency", node, 1, 10_000))
                .and_then(|count| usize::try_from(count).ok()),
            fail_fast: value("fail-fast")
                .and_then(|node| self.flag("fail-fast", node))
                .unwrap_or_default(),
        }
    }

    fn tasks(&mut self, node: &Node) -> Vec<Task> {
        let items = match &node.kind {
            Kind::List(items) => items.as_slice(),
            Kind::Null => &[],
            _ => {
                self.wrong_type("tasks", "a list", node);
                return Vec::new();
            }
        };
        if items.is_empty() {
            self.report
                .error(node.span, "empty_list", "`tasks` is empty")
                .help("add a task: `- {tool: bash, arguments: {command: …}}`");
        }
        let mut tasks: Vec<Task> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Some(task) = self.task(index, item) else {
                continue;
            };
            if tasks.iter().any(|known| known.name == task.name) {
                self.report
                    .error(
                        task.span,
                        "duplicate_key",
                        format!("two tasks are called `{}`", shown(&task.name)),
                    )
                    .help("give each a `name` of its own");
                continue;
            }
            tasks.push(task);
        }
        tasks
    }

    fn task(&mut self, index: usize, node: &Node) -> Option<Task> {
        if !matches!(node.kind, Kind::Map(_)) {
            self.wrong_type("a task", "a map with `tool`", node);
            return None;
        }
        const TASK: &[Key] = &[
            ("tool", true),
            ("arguments", false),
            ("output", false),
            ("name", false),
            ("start-at", false),
            ("states", false),
        ];
        let mut rest = node.clone();
        for key in ["next", "goto", "on-error"] {
            if let Some(entry) = node.get(key) {
                self.report
                    .error(
                        entry.key_span,
                        "not_in_task",
                        format!("a task of `parallel` has no `{key}`"),
                    )
                    .help("use a sub-flow for a task of several states");
            }
            if let Kind::Map(entries) = &mut rest.kind {
                entries.retain(|entry| entry.key != key);
            }
        }
        let what = format!("task {index}");
        self.keys(&what, &rest, TASK);
        let name = node
            .get("name")
            .and_then(|entry| self.name("name", &entry.value));
        if let Some(name) = &name
            && (name.text.is_empty()
                || name.text.contains('/')
                || name.text.chars().any(char::is_control))
        {
            self.report
                .error(
                    name.span,
                    "invalid_name",
                    format!("`{}` cannot be the name of a task", shown(&name.text)),
                )
                .help("choose a name without `/` and line breaks");
        }
        let span = name.as_ref().map_or(node.span, |name| name.span);
        Some(Task {
            name: name.map_or_else(|| index.to_string(), |name| name.text),
            span,
            action: self.action(&what, node, node.span),
            output: node
                .get("output")
                .and_then(|entry| self.output(&entry.value)),
        })
    }

    fn for_each(&mut self, tool: &Named, state: &Node, arguments: &Node) -> ForEach {
        let keys: &[Key] = &[
            ("items-from", true),
            ("start-at", false),
            ("states", false),
            ("on-empty", false),
            ("on-iteration-error", false),
        ];
        self.check_arguments(tool, arguments, keys);
        let start = self.either(tool, state, arguments, "start-at");
        let states = self.either(tool, state, arguments, "states");
        let value = |key: &str| arguments.get(key).map(|entry| &entry.value);
        let items = value("items-from")
            .filter(|node| node.kind != Kind::Null)
            .map_or_else(|| Self::no_action(tool.span), |node| self.items_from(node));
        let start = start.and_then(|entry| self.name("start-at", &entry.value));
        ForEach {
            items: Box::new(items),
            start,
            states: states
                .map(|entry| self.states("the body of `for-each`", &entry.value))
                .unwrap_or_default(),
            goes_on: self.word(
                value("on-iteration-error"),
                "on-iteration-error",
                ["stop", "continue"],
            ),
            wants_items: self.word(value("on-empty"), "on-empty", ["continue", "fail"]),
        }
    }

    /// Tells whether the second of two words is written; the first is the default.
    fn word(&mut self, node: Option<&Node>, name: &str, words: [&'static str; 2]) -> bool {
        let Some(text) = node.and_then(|node| self.name(name, node)) else {
            return false;
        };
        if !words.contains(&text.text.as_str()) {
            self.bad_choice(name, &text.text, &words, text.span);
        }
        words.last() == Some(&text.text.as_str())
    }

    /// Finds a key of `for-each` beside its arguments or among them.
    fn either<'n>(
        &mut self,
        tool: &Named,
        state: &'n Node,
        arguments: &'n Node,
        key: &str,
    ) -> Option<&'n Entry> {
        match (state.get(key), arguments.get(key)) {
            (Some(_), Some(inner)) => {
                self.report
                    .error(
                        inner.key_span,
                        "two_spellings",
                        format!("`{key}` stands beside `arguments` and in them"),
                    )
                    .help("keep one of the two");
                Some(inner)
            }
            (None, None) => {
                self.report
                    .error(
                        tool.span,
                        "missing_argument",
                        format!("`for-each` needs the argument `{key}`"),
                    )
                    .help(format!("add `{key}`"));
                None
            }
            (outer, inner) => outer.or(inner),
        }
    }

    fn items_from(&mut self, node: &Node) -> Action {
        if matches!(node.kind, Kind::Map(_)) {
            self.keys(
                "`items-from`",
                node,
                &[("tool", true), ("arguments", false)],
            );
            let action = self.action("`items-from`", node, node.span);
            self.check_items_tool(&action);
            return action;
        }
        let command = self.written("items-from", node);
        Action {
            tool: Named {
                text: "bash".to_owned(),
                span: node.span,
            },
            doing: Doing::Work(vec![("command", Given::Text(command))]),
            retry: None,
        }
    }

    fn check_items_tool(&mut self, action: &Action) {
        let name = action.tool.text.as_str();
        let none = matches!(name, "parallel" | "for-each" | "switch")
            || tools::tool(name).is_some_and(|tool| !tool.output);
        if none {
            self.report
                .error(
                    action.tool.span,
                    "no_output",
                    format!("`{name}` has no output to take items from"),
                )
                .help("use a tool with an output, such as `bash`");
        }
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

/// Writes a value that no template makes in the one way that is read later.
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
