//! Reads a file, its parents and every file it calls into flows.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::syntax::{
    Action, CustomTool, Doing, Named, State, SubFlow, ToolArgument, Variable, Workflow,
};
use crate::{
    detect,
    diagnostic::Report,
    node::{Kind, Node},
    parse,
    source::{Files, Span, Workflows},
};

/// Maximum length of the chain of parents.
const PARENTS_MAX: usize = 16;

/// Maximum number of files of one workflow.
const FILES_MAX: usize = 1_000;

/// Reads files, one after the other.
pub(super) struct Reader<'w> {
    pub(super) files: Files,
    pub(super) report: Report,
    pub(super) others: &'w dyn Workflows,
    /// The flows that were read; the first is the file itself.
    pub(super) flows: Vec<Flow>,
    /// The flow of each file that was called.
    by_file: HashMap<usize, Option<usize>>,
    /// File of each reference, by the file that contains it.
    found: HashMap<(usize, String), Option<usize>>,
    /// Names of guards that are given by path, by their references.
    pub(super) guards: HashMap<(usize, String), String>,
}

/// A file with what it inherits.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) file: usize,
    pub(super) span: Span,
    pub(super) name: String,
    pub(super) start: Option<Named>,
    pub(super) states: IndexMap<String, State>,
    pub(super) variables: IndexMap<String, Variable>,
    pub(super) shell_safe: bool,
    pub(super) cwd: Option<String>,
    pub(super) tools: IndexMap<String, CustomTool>,
    pub(super) description: Option<String>,
    pub(super) transitions_max: Option<u64>,
    /// Whether a parent is missing, which may define what is not found.
    pub(super) incomplete: bool,
    /// Flow of each `workflow`, by the file that contains it.
    pub(super) calls: HashMap<(usize, String), usize>,
}

impl<'w> Reader<'w> {
    pub(super) fn new(files: Files, report: Report, others: &'w dyn Workflows) -> Self {
        Self {
            files,
            report,
            others,
            flows: Vec::new(),
            by_file: HashMap::new(),
            found: HashMap::new(),
            guards: HashMap::new(),
        }
    }

    /// Reads the first file and every file that it can reach.
    pub(super) fn read(&mut self, tree: &Node) {
        let first = self.workflow(tree);
        self.by_file.insert(0, Some(0));
        let flow = self.flow(0, first);
        self.flows.push(flow);
        let mut at = 0;
        while at < self.flows.len() {
            self.calls_of(at);
            at += 1;
        }
    }

    /// Reads what the flow with index `at` calls.
    fn calls_of(&mut self, at: usize) {
        let Some(flow) = self.flows.get(at) else {
            return;
        };
        let mut wanted: Vec<Named> = Vec::new();
        let mut guards: Vec<Named> = Vec::new();
        each_action(&flow.states, &mut |action| match &action.doing {
            Doing::SubFlow(SubFlow {
                workflow: Some(name),
                ..
            }) => wanted.push(name.clone()),
            Doing::Work(given) => {
                if let Some(ToolArgument::Name(name)) = super::tools::given(given, "guard") {
                    guards.push(name.clone());
                }
            }
            _ => {}
        });
        for name in wanted {
            let called = self.called(&name);
            if let (Some(called), Some(flow)) = (called, self.flows.get_mut(at)) {
                flow.calls.insert((name.span.file, name.text), called);
            }
        }
        for guard in guards {
            self.check_guard(&guard);
        }
    }

    /// Returns the flow of a name or path, reading it if necessary.
    fn called(&mut self, name: &Named) -> Option<usize> {
        let file = self.find(name, "workflow")?;
        if let Some(known) = self.by_file.get(&file) {
            return *known;
        }
        if self.by_file.len() >= FILES_MAX {
            self.report
                .error(
                    name.span,
                    "too_large",
                    format!("more than {FILES_MAX} files are called"),
                )
                .help("call fewer");
            return None;
        }
        let read = self.open(file, name.span);
        let called = read.map(|workflow| {
            let flow = self.flow(file, workflow);
            self.flows.push(flow);
            self.flows.len() - 1
        });
        self.by_file.insert(file, called);
        called
    }

    /// Finds the file of a name or path, relative to the file that contains it.
    fn find(&mut self, name: &Named, what: &str) -> Option<usize> {
        let key = (name.span.file, name.text.clone());
        if let Some(Some(known)) = self.found.get(&key) {
            return Some(*known);
        }
        let from = self.files.source(name.span.file)?.clone();
        let found = match self.others.resolve(&from, &name.text) {
            Some(Ok(source)) => {
                let known = self.files.position_of(&source);
                Some(known.unwrap_or_else(|| self.files.add(source)))
            }
            Some(Err(reason)) => {
                self.report.error(
                    name.span,
                    "unreadable_workflow",
                    format!("the workflow `{}` cannot be read: {reason}", name.text),
                );
                None
            }
            None => {
                self.report
                    .error(
                        name.span,
                        "undefined_workflow",
                        format!("no workflow `{}` is found for `{what}`", name.text),
                    )
                    .help(if name.text.contains('/') {
                        "`./` begins at the folder of this file, `@/` at the root of the project"
                    } else {
                        "a name is looked for beside this file, in `.flowstate/`, in `.interlock/workflows/` and in `~/.flowstate/`"
                    });
                None
            }
        };
        self.found.insert(key, found);
        found
    }

    /// Reads a file that another one refers to.
    fn open(&mut self, file: usize, from: Span) -> Option<Workflow> {
        let tree = parse::parse_as_written(&self.files, file, &mut self.report)?;
        if !matches!(tree.kind, Kind::Map(_)) || detect::is_other_format(&tree) {
            let (name, _) = self.files.name_and_text(file);
            let message = format!("`{name}` contains no FlowState workflow");
            self.report
                .error(from, "wrong_format", message)
                .help("a FlowState file begins with `start-at` and `states`");
            return None;
        }
        Some(self.workflow(&tree))
    }

    /// Merges a file with its parents.
    fn flow(&mut self, file: usize, workflow: Workflow) -> Flow {
        let span = workflow.span;
        let mut chain = vec![(file, workflow)];
        let mut incomplete = false;
        while let Some(parent) = chain.last().and_then(|(_, last)| last.extends.clone()) {
            match self.parent(&parent, &chain) {
                Some(next) => chain.push(next),
                None => {
                    incomplete = true;
                    break;
                }
            }
        }
        let has_states = chain.iter().any(|(_, one)| one.states.is_some());
        let mut flow = Flow {
            file,
            span,
            name: self.name_of(file, &chain),
            start: None,
            states: IndexMap::new(),
            variables: IndexMap::new(),
            shell_safe: false,
            cwd: None,
            tools: IndexMap::new(),
            description: None,
            transitions_max: None,
            incomplete,
            calls: HashMap::new(),
        };
        for (_, one) in chain.into_iter().rev() {
            flow.start = one.start.or(flow.start);
            flow.states.extend(one.states.unwrap_or_default());
            flow.variables.extend(one.variables);
            flow.tools.extend(one.tools);
            flow.shell_safe |= one.shell_safe;
            flow.cwd = one.cwd.or(flow.cwd);
            flow.description = one.description.or(flow.description);
            flow.transitions_max = one.transitions_max.or(flow.transitions_max);
        }
        self.check_flow(&flow, has_states);
        flow
    }

    fn parent(&mut self, name: &Named, chain: &[(usize, Workflow)]) -> Option<(usize, Workflow)> {
        if name.text.is_empty() {
            self.report
                .error(name.span, "undefined_workflow", "`extends` is empty")
                .help("name a workflow, or remove it");
            return None;
        }
        let file = self.find(name, "extends")?;
        if chain.iter().any(|(known, _)| *known == file) {
            self.report
                .error(
                    name.span,
                    "extends_cycle",
                    format!("`{}` extends itself, by way of its parents", name.text),
                )
                .help("remove one `extends` of the circle");
            return None;
        }
        if chain.len() >= PARENTS_MAX {
            self.report
                .error(
                    name.span,
                    "too_deep",
                    format!("more than {PARENTS_MAX} workflows extend each other"),
                )
                .help("put some of the parents together");
            return None;
        }
        Some((file, self.open(file, name.span)?))
    }

    /// Returns the name of a workflow: its own, its parent's, or that of its file.
    fn name_of(&self, file: usize, chain: &[(usize, Workflow)]) -> String {
        let mut written = chain.iter().filter_map(|(_, one)| one.name.as_ref());
        if let Some(name) = written.next() {
            return name.text.clone();
        }
        let (path, _) = self.files.name_and_text(file);
        let mut parts = path.rsplit(['/', '\\']).filter(|part| !part.is_empty());
        let last = parts.next().unwrap_or_default();
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        match parts.next() {
            Some(folder) if stem == "index" && !matches!(folder, "." | "..") => folder.to_owned(),
            _ => stem.to_owned(),
        }
    }

    /// Checks that a flow has its required parts.
    fn check_flow(&mut self, flow: &Flow, has_states: bool) {
        if flow.incomplete {
            return;
        }
        let start = Span {
            end: flow.span.start + 1,
            ..flow.span
        };
        if flow.start.is_none() {
            self.report
                .error(
                    start,
                    "missing_key",
                    "`start-at` is missing in the workflow",
                )
                .help("add `start-at` with the name of the first state");
        }
        if !has_states {
            self.report
                .error(start, "missing_key", "`states` is missing in the workflow")
                .help("add `states`");
        }
    }

    /// Checks that a guard is a valid workflow of the native format.
    fn check_guard(&mut self, guard: &Named) {
        let is_path = guard.text.contains('/');
        let found = if is_path {
            let from = self.files.source(guard.span.file).cloned();
            from.and_then(|from| self.others.resolve(&from, &guard.text))
        } else {
            self.others.find(&guard.text)
        };
        let problem = match found {
            None => Some(format!("no workflow `{}` is found", guard.text)),
            Some(Err(reason)) => Some(format!("`{}` cannot be read: {reason}", guard.text)),
            Some(Ok(source)) => {
                if is_path {
                    let key = (guard.span.file, guard.text.clone());
                    self.guards.insert(key, source.name.clone());
                }
                crate::opened::fault_of_guard(&source, self.others)
            }
        };
        if let Some(message) = problem {
            self.report
                .error(guard.span, "bad_guard", message)
                .help("`guard` names a native workflow, with `initial` and `states`");
        }
    }
}

/// Calls `see` with every action of these states, including nested ones.
pub(super) fn each_action<'s>(
    states: &'s IndexMap<String, State>,
    see: &mut impl FnMut(&'s Action),
) {
    for state in states.values() {
        within(&state.action, see);
    }
}

/// Calls `see` with an action and with those in it.
pub(super) fn within<'s>(action: &'s Action, see: &mut impl FnMut(&'s Action)) {
    see(action);
    match &action.doing {
        Doing::Parallel(parallel) => {
            for task in &parallel.tasks {
                within(&task.action, see);
            }
        }
        Doing::ForEach(each) => {
            within(&each.items, see);
            each_action(&each.states, see);
        }
        _ => {}
    }
}

/// Calls `see` with an action and those that run concurrently in it, but not with those of bodies.
pub(super) fn beside<'s>(action: &'s Action, see: &mut impl FnMut(&'s Action)) {
    see(action);
    match &action.doing {
        Doing::Parallel(parallel) => {
            for task in &parallel.tasks {
                beside(&task.action, see);
            }
        }
        Doing::ForEach(each) => see(&each.items),
        _ => {}
    }
}
