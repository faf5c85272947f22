//! Tools that contain others: calls, tasks and loops.

use crate::{
    flowstate::{
        keys::{FOR_EACH, PARALLEL, SOURCE, SUB_FLOW, TASK},
        reader::Reader,
        syntax::{Action, Doing, ForEach, Named, Parallel, SubFlow, Task, ToolArgument, Written},
        tools,
        values::{self, is_variable_name, shown},
    },
    node::{Entry, Kind, Node},
};

impl Reader<'_> {
    pub(super) fn sub_flow(&mut self, tool: &Named, arguments: &Node) -> SubFlow {
        self.check_keys(tool, arguments, SUB_FLOW);
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
                .help(values::NAME_HELP);
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
                    .help(values::NAME_HELP);
            }
        }
        self.texts("variables", node)
    }

    pub(super) fn parallel(&mut self, tool: &Named, arguments: &Node) -> Parallel {
        self.check_keys(tool, arguments, PARALLEL);
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

    pub(super) fn for_each(&mut self, tool: &Named, state: &Node, arguments: &Node) -> ForEach {
        self.check_keys(tool, arguments, FOR_EACH);
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

    /// Returns whether the second of two words is written; the first is the default.
    fn word(&mut self, node: Option<&Node>, name: &str, words: [&'static str; 2]) -> bool {
        let Some(text) = node.and_then(|node| self.name(name, node)) else {
            return false;
        };
        if !words.contains(&text.text.as_str()) {
            self.bad_choice(name, &text.text, &words, text.span);
        }
        words.last() == Some(&text.text.as_str())
    }

    /// Finds a key of `for-each` next to its arguments or among them.
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
            self.keys("`items-from`", node, SOURCE);
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
            doing: Doing::Work(vec![("command", ToolArgument::Text(command))]),
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
}
