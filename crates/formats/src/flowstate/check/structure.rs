//! States and their transitions.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use interlock_core::machine::TestOp;
use interlock_expr::nearest::nearest;

use super::{Check, cycles, has_output};
use crate::flowstate::{
    custom::{Found, look},
    reader::{Flow, beside},
    syntax::{Doing, Named, State, Written},
    tools,
    values::shown,
};

/// States with transitions between them: those of a flow, or of a body.
struct Scope<'s> {
    states: &'s IndexMap<String, State>,
    start: Option<&'s Named>,
    /// States around a body.
    outer: Option<&'s IndexMap<String, State>>,
    /// Whether something limits the whole run.
    bounded: bool,
    /// Whether states may be meant for other starts than this one.
    inherited_by: Option<usize>,
}

impl Check<'_> {
    /// Checks transitions, in the flow and in the bodies of its loops.
    pub(super) fn structure(&mut self, flow: &Flow) {
        self.scope(
            &Scope {
                states: &flow.states,
                start: flow.start.as_ref(),
                outer: None,
                bounded: flow.transitions_max.is_some(),
                inherited_by: Some(flow.file),
            },
            flow,
        );
    }

    fn scope(&mut self, scope: &Scope<'_>, flow: &Flow) {
        if let Some(start) = scope.start {
            self.target(start, "start-at", scope, flow);
        }
        for state in scope.states.values() {
            self.state(state, scope, flow);
            let mut bodies = Vec::new();
            beside(&state.action, &mut |action| {
                if let Doing::ForEach(each) = &action.doing {
                    bodies.push(each);
                }
            });
            for each in bodies {
                self.scope(
                    &Scope {
                        states: &each.states,
                        start: each.start.as_ref(),
                        outer: Some(scope.states),
                        bounded: scope.bounded,
                        inherited_by: None,
                    },
                    flow,
                );
            }
        }
        self.reach(scope, flow);
    }

    fn target(&mut self, target: &Named, what: &str, scope: &Scope<'_>, flow: &Flow) {
        if scope.states.is_empty()
            || scope.states.contains_key(&target.text)
            || (flow.incomplete && scope.outer.is_none())
        {
            return;
        }
        let outside = scope
            .outer
            .is_some_and(|outer| outer.contains_key(&target.text));
        let near = nearest(&target.text, scope.states.keys().map(String::as_str));
        let message = if outside {
            format!(
                "`{what}` leads to `{}`, which is outside the body of `for-each`",
                shown(&target.text)
            )
        } else {
            let guess = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            format!(
                "`{what}` leads to `{}`, which is not a state{guess}",
                shown(&target.text)
            )
        };
        let help = if outside {
            "a body ends at a state without `next`; the way on is the `next` of the loop".to_owned()
        } else {
            let known: Vec<String> = scope
                .states
                .keys()
                .take(12)
                .map(|name| format!("`{}`", shown(name)))
                .collect();
            format!("there are {}", known.join(", "))
        };
        self.report
            .error(target.span, "undefined_state", message)
            .help(help);
    }

    fn state(&mut self, state: &State, scope: &Scope<'_>, flow: &Flow) {
        if let Some(next) = &state.next {
            self.target(next, "next", scope, flow);
        }
        for handler in &state.on_error {
            self.target(&handler.target, "on-error", scope, flow);
        }
        if let Some(goto) = &state.goto {
            for (_, target) in &goto.cases {
                self.target(target, "goto", scope, flow);
            }
            if let Some(rest) = &goto.rest {
                self.target(rest, "goto", scope, flow);
            }
        }
        self.tool(state, flow);
        self.goto(state);
        self.errors(state, flow);
        if let Some(output) = &state.output
            && !has_output(&state.action)
        {
            let name = &state.action.tool.text;
            self.report
                .warning(
                    output.span(),
                    "no_output",
                    format!("`{name}` has no output: nothing is captured"),
                )
                .help("remove `output`");
        }
    }

    /// Checks that the tools of a state exist.
    fn tool(&mut self, state: &State, flow: &Flow) {
        let mut unknown = Vec::new();
        let mut programs = Vec::new();
        beside(&state.action, &mut |action| {
            let name = &action.tool;
            match &action.doing {
                Doing::Custom(_) if !flow.tools.contains_key(&name.text) => {
                    unknown.push(name.clone());
                }
                Doing::Work(_) => {
                    if let Some(tool) =
                        tools::tool(&name.text).filter(|tool| !tool.program.is_empty())
                    {
                        programs.push((name.span, tool.program.to_owned()));
                    }
                }
                Doing::Custom(_) => {
                    let tool = flow.tools.get(&name.text);
                    let program = tool.and_then(|tool| tool.command.first()?.literal());
                    programs.extend(program.map(|program| (name.span, program)));
                }
                _ => {}
            }
        });
        for name in unknown {
            if flow.incomplete {
                continue;
            }
            let mut known: Vec<&str> = tools::built_in().collect();
            known.extend(flow.tools.keys().map(String::as_str));
            let near = nearest(&name.text, known.iter().copied());
            let guess = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            let listed: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            self.report
                .error(
                    name.span,
                    "unknown_tool",
                    format!("unknown tool `{}`{guess}", shown(&name.text)),
                )
                .help(format!("there are {}", listed.join(", ")));
        }
        for (span, program) in programs {
            if self.others.has_program(&program) == Some(false) {
                self.report
                    .warning(
                        span,
                        "no_such_program",
                        format!("no program `{}` is found on PATH", shown(&program)),
                    )
                    .help("install it before the workflow runs");
            }
        }
    }

    fn goto(&mut self, state: &State) {
        let action = &state.action;
        let is_switch = action.tool.text == "switch";
        let is_test = matches!(action.doing, Doing::Test { .. });
        let Some(goto) = &state.goto else {
            if is_switch {
                self.report
                    .error(action.tool.span, "missing_key", "`switch` needs `goto`")
                    .help("add `goto` with a state for each value, and `_` for the rest");
            }
            return;
        };
        if is_switch && goto.rest.is_none() {
            self.report
                .error(goto.span, "no_rest", "`goto` of `switch` has no `_`")
                .help("add `_` with the state for every other value");
        }
        if !is_test && !has_output(action) {
            self.report
                .error(
                    goto.span,
                    "no_output",
                    format!(
                        "`{}` has no output that `goto` could compare",
                        action.tool.text
                    ),
                )
                .help("use `next`");
        } else if !is_test && !matches!(action.doing, Doing::Broken) {
            self.report.note(
                goto.span,
                "goto_on_output",
                format!("`goto` compares the output of `{}`", action.tool.text),
            );
        }
        let has = |key: &str| {
            let mut cases = goto.cases.iter();
            cases.any(|(name, _)| name.text.trim().eq_ignore_ascii_case(key))
        };
        let complete =
            goto.rest.is_some() || (is_test && !is_switch && has("true") && has("false"));
        if let Some(next) = state.next.as_ref().filter(|_| complete) {
            self.report
                .warning(
                    next.span,
                    "unused_next",
                    "`goto` takes every value, so `next` is never taken",
                )
                .help("remove `next`");
        }
    }

    /// Warns of unreachable handlers.
    fn errors(&mut self, state: &State, flow: &Flow) {
        let (Doing::Test { op, left, right }, Some(first)) =
            (&state.action.doing, state.on_error.first())
        else {
            return;
        };
        let sure = matches!(
            op,
            TestOp::Equal | TestOp::NotEqual | TestOp::Empty | TestOp::NotEmpty | TestOp::Value
        );
        let fails = |text: &Written| {
            let mut holes = text.holes();
            text.broken || holes.any(|(expr, _)| may_fail(expr, flow))
        };
        let rest =
            state.goto.as_ref().is_none_or(|goto| goto.rest.is_some()) || state.next.is_some();
        if sure && rest && !fails(left) && !right.as_ref().is_some_and(fails) {
            self.report
                .warning(
                    first.span,
                    "cannot_fail",
                    format!(
                        "`{}` cannot fail here: `on-error` is never used",
                        state.action.tool.text
                    ),
                )
                .help("remove `on-error`");
        }
    }

    fn reach(&mut self, scope: &Scope<'_>, flow: &Flow) {
        let graph = cycles::Graph::of(scope.states);
        let start = scope
            .start
            .and_then(|start| scope.states.get_index_of(&start.text));
        if let Some(start) = start.filter(|_| !flow.incomplete) {
            let reached = graph.reached(start);
            for (at, (name, state)) in scope.states.iter().enumerate() {
                // What a parent defines may be meant for another child.
                let own = scope
                    .inherited_by
                    .is_none_or(|file| file == state.span.file);
                if own && reached.get(at) == Some(&false) {
                    self.report
                        .warning(
                            state.span,
                            "unreachable_state",
                            format!("nothing leads to the state `{}`", shown(name)),
                        )
                        .help("name it in a `next`, `goto` or `on-error`, or remove it");
                }
            }
        }
        for circle in graph.circles() {
            self.circle(&circle, &graph, scope);
        }
    }

    fn circle(&mut self, circle: &[usize], graph: &cycles::Graph, scope: &Scope<'_>) {
        let members: Vec<(&String, &State)> = circle
            .iter()
            .filter_map(|at| scope.states.get_index(*at))
            .collect();
        let Some((_, first)) = members.first() else {
            return;
        };
        let names: Vec<String> = members
            .iter()
            .take(6)
            .map(|(name, _)| format!("`{}`", shown(name)))
            .collect();
        let names = names.join(", ");
        let is_test = |state: &State| matches!(state.action.doing, Doing::Test { .. });
        if members.iter().all(|(_, state)| is_test(state)) {
            self.report
                .warning(
                    first.span,
                    "idle_loop",
                    match circle {
                        [_] => format!("{names} leads to itself and does nothing: after 1,000 steps the run fails"),
                        _ => format!("{names} lead to each other and do nothing: after 1,000 steps the run fails"),
                    },
                )
                .help("put a state that does something into the loop, or leave it");
            return;
        }
        let has_person = members.iter().any(|(_, state)| {
            matches!(
                state.action.tool.text.as_str(),
                "pause" | "ask-user" | "claude-code"
            )
        });
        let within: BTreeSet<usize> = circle.iter().copied().collect();
        let chooses = circle.iter().any(|at| {
            let state = scope.states.get_index(*at).map(|(_, state)| state);
            state.is_some_and(|state| state.goto.is_some()) && graph.leaves(*at, &within)
        });
        if !(has_person || chooses || scope.bounded) {
            self.report
                .warning(
                    first.span,
                    "unbounded_loop",
                    format!("nothing bounds the loop of {names}"),
                )
                .help("set `max-transitions`, use `retry`, or count and leave the loop by `if-less` or `switch`");
        }
    }
}

/// Returns whether a value may be missing when the state is entered.
fn may_fail(expr: &interlock_expr::text::Expr, flow: &Flow) -> bool {
    let mut fails = false;
    look(expr, &mut |found| {
        fails |= match found {
            Found::Key(key) => {
                !flow.variables.contains_key(key) && !matches!(key, "item" | "index")
            }
            Found::Other(_) => true,
        };
    });
    fails
}
