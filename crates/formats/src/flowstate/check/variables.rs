//! Which names have a value where.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use interlock_expr::{nearest::nearest, text::Expr};

use super::{Check, each_output, target};
use crate::{
    flowstate::{
        custom::{Found, look},
        reader::{Flow, each_action},
        syntax::{Action, Custom, Doing, Output, State, ToolArgument, Tree, Written},
        template::ESCAPE,
        tools,
        values::shown,
    },
    source::Span,
};

/// The names that loops set.
const LOOP: [&str; 2] = ["item", "index"];

/// The names in each flow.
pub(super) struct Known {
    flows: Vec<Names>,
}

/// The names of one flow.
#[derive(Default)]
struct Names {
    /// Names that have a value at some time.
    set: BTreeSet<String>,
    /// Names with values from a model, a person, an issue or an item.
    foreign: BTreeSet<String>,
    /// Flows whose variables are returned, by namespace.
    spaces: BTreeMap<String, Vec<usize>>,
}

impl Known {
    pub(super) fn of(flows: &[Flow]) -> Self {
        let mut known = Self {
            flows: flows.iter().map(Names::of).collect(),
        };
        for (at, flow) in flows.iter().enumerate() {
            known.spaces(at, flow, flows);
        }
        // What is passed may be passed on, at most once for each flow.
        for _ in 0..=flows.len().min(32) {
            let mut changed = false;
            for (at, flow) in flows.iter().enumerate() {
                changed |= known.pass(at, flow);
            }
            if !changed {
                break;
            }
        }
        known
    }

    fn spaces(&mut self, at: usize, flow: &Flow, flows: &[Flow]) {
        let mut spaces: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        each_action(&flow.states, &mut |action| {
            if let Doing::SubFlow(call) = &action.doing
                && let Some((_, called)) = target(flow, call)
            {
                let alias = call.alias.as_ref().map(|name| name.text.clone());
                let name = alias.or_else(|| flows.get(called).map(|flow| flow.name.clone()));
                spaces
                    .entry(name.unwrap_or_default())
                    .or_default()
                    .push(called);
            }
        });
        if let Some(names) = self.flows.get_mut(at) {
            names.spaces = spaces;
        }
    }

    /// Passes names on to the called flows; returns whether any was new.
    fn pass(&mut self, at: usize, flow: &Flow) -> bool {
        let mut handed: Vec<(usize, String, bool)> = Vec::new();
        each_action(&flow.states, &mut |action| {
            if let Doing::SubFlow(call) = &action.doing
                && let Some((_, called)) = target(flow, call)
            {
                for (name, text) in &call.passed {
                    let foreign = text.holes().any(|(expr, _)| self.is_foreign(at, expr));
                    handed.push((called, name.clone(), foreign));
                }
            }
        });
        let mut changed = false;
        for (called, name, foreign) in handed {
            if let Some(names) = self.flows.get_mut(called) {
                changed |= names.set.insert(name.clone());
                changed |= foreign && names.foreign.insert(name);
            }
        }
        changed
    }

    /// Returns whether a value comes from a model, a person, an issue or an item.
    pub(super) fn is_foreign(&self, at: usize, expr: &Expr) -> bool {
        if matches!(expr, Expr::Same(..) | Expr::Differs(..)) {
            return false;
        }
        let mut foreign = false;
        look(expr, &mut |found| {
            foreign |=
                matches!(found, Found::Key(key) if key == "item" || self.is_foreign_key(at, key));
        });
        foreign
    }

    fn is_foreign_key(&self, at: usize, key: &str) -> bool {
        let (at, key) = match self.inner(at, key) {
            Some(inner) => inner,
            None => return false,
        };
        at.iter().any(|at| {
            let names = self.flows.get(*at);
            names.is_some_and(|names| names.foreign.contains(key))
        })
    }

    /// Follows `a::b::v` to the flows that contain `v`; returns `None` if there is no such sub-flow.
    fn inner<'k>(&self, at: usize, key: &'k str) -> Option<(Vec<usize>, &'k str)> {
        let mut flows = vec![at];
        let mut rest = key;
        while let Some((space, inner)) = rest.split_once("::") {
            let called = flows
                .iter()
                .filter_map(|at| self.flows.get(*at)?.spaces.get(space));
            flows = called.flatten().copied().collect();
            flows.sort_unstable();
            flows.dedup();
            if flows.is_empty() {
                return None;
            }
            rest = inner;
        }
        Some((flows, rest))
    }

    fn has(&self, flows: &[usize], key: &str) -> bool {
        flows.iter().any(|at| {
            let names = self.flows.get(*at);
            names.is_some_and(|names| names.set.contains(key))
        })
    }
}

impl Names {
    fn of(flow: &Flow) -> Self {
        let mut names = Self {
            set: flow.variables.keys().cloned().collect(),
            ..Self::default()
        };
        each_output(&flow.states, false, &mut |captured| {
            let Output::Variable(name) = captured.output else {
                return;
            };
            names.set.insert(name.text.clone());
            let tool = tools::tool(&captured.action.tool.text);
            if tool.is_some_and(|tool| tool.foreign) {
                names.foreign.insert(name.text.clone());
            }
        });
        names
    }
}

/// Returns the names that a flow itself declares, captures or reads, without duplicates.
pub(in crate::flowstate) fn names(flow: &Flow) -> Vec<String> {
    let mut names = Names::of(flow).set;
    each_text(&flow.states, false, &mut |text, _| {
        for (expr, _) in text.holes() {
            look(expr, &mut |found| {
                if let Found::Key(key) = found
                    && !key.contains("::")
                {
                    names.insert(key.to_owned());
                }
            });
        }
    });
    names.into_iter().collect()
}

/// Position of a text.
#[derive(Clone, Copy)]
struct TextSite {
    in_loop: bool,
}

impl Check<'_> {
    /// Checks every name that a template reads, and every name that nothing reads.
    pub(super) fn variables(&mut self, at: usize, flow: &Flow, known: &Known) {
        let mut read: BTreeSet<String> = BTreeSet::new();
        let mut texts: Vec<(&Written, TextSite)> = Vec::new();
        each_text(&flow.states, false, &mut |text, in_loop| {
            texts.push((text, TextSite { in_loop }));
        });
        for (text, place) in texts {
            for (expr, span) in text.holes() {
                look(expr, &mut |found| {
                    if let Found::Key(key) = found {
                        read.insert(key.to_owned());
                        self.name(at, flow, known, key, span, place);
                    }
                });
            }
        }
        self.loop_names(flow);
        if at == 0 && !flow.incomplete {
            self.unread(flow, &read);
        }
    }

    fn name(
        &mut self,
        at: usize,
        flow: &Flow,
        known: &Known,
        key: &str,
        span: Span,
        place: TextSite,
    ) {
        if place.in_loop && LOOP.contains(&key) {
            return;
        }
        let Some((flows, inner)) = known.inner(at, key) else {
            if !flow.incomplete {
                self.no_such_space(at, known, key, span);
            }
            return;
        };
        if known.has(&flows, inner) || flow.incomplete {
            return;
        }
        if LOOP.contains(&key) {
            self.report
                .error(
                    span,
                    "outside_loop",
                    format!("`{key}` has a value in the body of a `for-each` only"),
                )
                .help("declare it below `variables`, or use it in a loop");
            return;
        }
        let all: Vec<&str> = flows
            .iter()
            .filter_map(|at| known.flows.get(*at))
            .flat_map(|names| names.set.iter().map(String::as_str))
            .collect();
        let near = nearest(inner, all.iter().copied());
        let guess = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
        self.report
            .warning(
                span,
                "unset_variable",
                format!(
                    "nothing declares, captures or passes `{}`{guess}",
                    shown(key)
                ),
            )
            .help(format!("declare it below `variables`; {ESCAPE}"));
    }

    fn no_such_space(&mut self, at: usize, known: &Known, key: &str, span: Span) {
        let spaces = known.flows.get(at).map(|names| names.spaces.keys());
        let names: Vec<&str> = spaces.into_iter().flatten().map(String::as_str).collect();
        let first = key.split("::").next().unwrap_or_default();
        let near = nearest(first, names.iter().copied());
        let guess = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
        let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        self.report
            .error(
                span,
                "undefined_namespace",
                format!(
                    "in `{}`, no sub-flow is called `{}`{guess}",
                    shown(key),
                    shown(first)
                ),
            )
            .help(if listed.is_empty() {
                "the part before `::` is the name of a sub-flow, or the value of its `as`"
                    .to_owned()
            } else {
                format!("there are {}", listed.join(", "))
            });
    }

    /// Refuses names that loops set.
    fn loop_names(&mut self, flow: &Flow) {
        let mut has_loop = false;
        each_action(&flow.states, &mut |action| {
            has_loop |= matches!(action.doing, Doing::ForEach(_));
        });
        let mut wrong: Vec<(Span, String)> = Vec::new();
        for (name, variable) in flow.variables.iter().filter(|_| has_loop) {
            if LOOP.contains(&name.as_str()) {
                wrong.push((variable.span, name.clone()));
            }
        }
        each_output(&flow.states, false, &mut |captured| {
            if let Output::Variable(name) = captured.output
                && captured.in_loop
                && LOOP.contains(&name.text.as_str())
            {
                wrong.push((name.span, name.text.clone()));
            }
        });
        for (span, name) in wrong {
            self.report
                .error(
                    span,
                    "loop_variable",
                    format!("`{name}` is set by `for-each` and cannot be set here"),
                )
                .help("choose another name");
        }
    }

    /// Warns of what is set in this file and never read.
    fn unread(&mut self, flow: &Flow, read: &BTreeSet<String>) {
        let mut unread: Vec<(Span, String, bool)> = Vec::new();
        for (name, variable) in &flow.variables {
            unread.push((variable.span, name.clone(), true));
        }
        each_output(&flow.states, false, &mut |captured| {
            if let Output::Variable(name) = captured.output {
                let known = flow.variables.contains_key(&name.text);
                if !known && super::has_output(captured.action) {
                    unread.push((name.span, name.text.clone(), false));
                }
            }
        });
        for (span, name, declared) in unread {
            if read.contains(&name) || span.file != flow.file {
                continue;
            }
            let message = if declared {
                format!("the variable `{}` is never read", shown(&name))
            } else {
                format!("`{}` is captured and never read", shown(&name))
            };
            self.report
                .warning(span, "unread_variable", message)
                .help("remove it, unless another workflow reads it as a sub-flow's");
        }
    }
}

/// Calls `see` with every text of these states; the flag says whether it is in a loop.
fn each_text<'s>(
    states: &'s IndexMap<String, State>,
    in_loop: bool,
    see: &mut impl FnMut(&'s Written, bool),
) {
    for state in states.values() {
        if let Some(Output::File(path)) = &state.output {
            see(path, in_loop);
        }
        texts_of(&state.action, in_loop, see);
    }
}

fn texts_of<'s>(action: &'s Action, in_loop: bool, see: &mut impl FnMut(&'s Written, bool)) {
    match &action.doing {
        Doing::Work(given) => {
            for (_, given) in given {
                texts_given(given, &mut |text| see(text, in_loop));
            }
        }
        Doing::Test { left, right, .. } => {
            see(left, in_loop);
            if let Some(right) = right {
                see(right, in_loop);
            }
        }
        Doing::SubFlow(call) => {
            for text in call.passed.values() {
                see(text, in_loop);
            }
        }
        Doing::Parallel(parallel) => {
            for task in &parallel.tasks {
                if let Some(Output::File(path)) = &task.output {
                    see(path, in_loop);
                }
                texts_of(&task.action, in_loop, see);
            }
        }
        Doing::ForEach(each) => {
            texts_of(&each.items, in_loop, see);
            each_text(&each.states, true, see);
        }
        Doing::Custom(custom) => texts_of_custom(custom, &mut |text| see(text, in_loop)),
        Doing::Broken => {}
    }
}

fn texts_given<'s>(given: &'s ToolArgument, see: &mut impl FnMut(&'s Written)) {
    match given {
        ToolArgument::Text(text) => see(text),
        ToolArgument::Texts(texts) => texts.iter().for_each(see),
        ToolArgument::Map(texts) => texts.values().for_each(see),
        ToolArgument::Options(options) => {
            for option in options {
                see(&option.value);
                option.description.iter().for_each(&mut *see);
            }
        }
        ToolArgument::Condition(condition) => {
            see(&condition.command);
            condition.timeout.iter().for_each(see);
        }
        ToolArgument::Flag(_) | ToolArgument::Name(_) => {}
    }
}

fn texts_of_custom<'s>(custom: &'s Custom, see: &mut impl FnMut(&'s Written)) {
    custom.env.values().for_each(&mut *see);
    let mut open: Vec<&Tree> = custom.arguments.iter().map(|(_, tree)| tree).collect();
    while let Some(tree) = open.pop() {
        match tree {
            Tree::Text(text) => see(text),
            Tree::Null(_) => {}
            Tree::List(_, items) => open.extend(items),
            Tree::Map(_, fields) => open.extend(fields.iter().map(|(_, field)| field)),
        }
    }
}
