//! The effect of an event: a state, one of several, a fork, another workflow.

use indexmap::IndexMap;
use interlock_core::{
    guard::GuardRef,
    machine::{
        Activity, ApprovalKind, ApprovalRule, Branch, Call, Join, Parallel, Rule, State, Target,
        Transition,
    },
    names::{EventName, MachineId, StateName},
};
use interlock_validate::{GuardRoot, Place};

use super::{
    fields::{BRANCH, FORK, TRANSITION},
    machine::{Current, Reader},
    names::{self, RETURN},
};
use crate::{
    node::{Kind, Node},
    source::Span,
    table::Fields,
};

/// Position of a transition.
struct At<'a> {
    state: &'a StateName,
    event: &'a EventName,
    index: usize,
}

impl At<'_> {
    fn target(&self) -> Place {
        Place::Target(self.state.clone(), self.event.clone(), self.index)
    }
}

/// Fields of a transition that only one of its forms has.
const SHAPES: &[(&str, &[&str])] = &[
    ("target", &[]),
    ("fork", &[]),
    ("invoke", &["on_complete", "on_fail", "input", "output"]),
];

/// Parses what an approval requires.
pub(super) fn approval_kind(fields: &Fields<'_>) -> ApprovalKind {
    match fields.text("approval") {
        Some("passkey") => ApprovalKind::Passkey,
        _ => ApprovalKind::Person,
    }
}

impl Reader<'_, '_> {
    /// Parses the effect of one event; returns `None` if nothing of it can be used.
    pub(super) fn rule(
        &mut self,
        current: &mut Current<'_>,
        state: &StateName,
        event: &EventName,
        node: &Node,
    ) -> Option<Rule> {
        let at = |index| At {
            state,
            event,
            index,
        };
        let (branched, transitions) = match &node.kind {
            Kind::Text(_) => (
                false,
                self.simple(current, &at(0), node).into_iter().collect(),
            ),
            Kind::Map(_) => (
                false,
                self.transition(current, &at(0), node).into_iter().collect(),
            ),
            Kind::List(items) => (true, self.branches_of_event(current, &at, items, node.span)),
            _ => {
                self.report
                    .error(node.span, "wrong_type", format!("`{event}` must lead to a state, not {}", node.describe()))
                    .help("write the name of a state, an object with `target`, or a list of such objects");
                (false, Vec::new())
            }
        };
        let written = if branched { node.items().len() } else { 1 };
        if transitions.len() < written {
            self.incomplete.insert(current.key.clone());
        }
        (!transitions.is_empty()).then_some(Rule {
            branched,
            transitions,
        })
    }

    fn simple(&mut self, current: &Current<'_>, at: &At<'_>, node: &Node) -> Option<Transition> {
        let target = self.target(current, at.target(), node)?;
        Some(Transition {
            guards: Vec::new(),
            target,
            approval: None,
        })
    }

    fn branches_of_event<'a>(
        &mut self,
        current: &mut Current<'_>,
        at: &impl Fn(usize) -> At<'a>,
        items: &[Node],
        span: Span,
    ) -> Vec<Transition> {
        if items.is_empty() {
            self.report
                .error(
                    span,
                    "no_branch",
                    format!("`{}` has no branch", at(0).event),
                )
                .help("add an object with `target`, or remove the event");
            self.incomplete.insert(current.key.clone());
        }
        let mut transitions = Vec::with_capacity(items.len());
        for item in items {
            if let Kind::Map(_) = item.kind {
                transitions.extend(self.transition(current, &at(transitions.len()), item));
                continue;
            }
            let problem = self.report.error(
                item.span,
                "wrong_type",
                format!(
                    "a branch is an object with `target`, not {}",
                    item.describe()
                ),
            );
            if let Some(text) = item.text() {
                problem.help(format!("write {{\"target\": \"{text}\"}}"));
            }
        }
        transitions
    }

    fn transition(
        &mut self,
        current: &mut Current<'_>,
        at: &At<'_>,
        node: &Node,
    ) -> Option<Transition> {
        let fields = TRANSITION.read(node, &mut self.report)?;
        let shape = self.shape(current, &fields);
        let guards = self.transition_guards(current, at, &fields);
        let approval = self.approval(&fields);
        let target = match shape? {
            "target" => self.target(current, at.target(), fields.get("target")?)?,
            "fork" => Target::State(self.fork(current, at, &fields)?),
            _ => Target::State(self.invoke(current, at, &fields)?),
        };
        Some(Transition {
            guards,
            target,
            approval,
        })
    }

    /// Determines the form of a transition, and reports fields of other forms.
    fn shape(&mut self, current: &Current<'_>, fields: &Fields<'_>) -> Option<&'static str> {
        let written: Vec<&'static str> = SHAPES
            .iter()
            .map(|(shape, _)| *shape)
            .filter(|shape| fields.has(shape))
            .collect();
        let shape: &'static str = match *written.as_slice() {
            [] => {
                self.report
                    .error(
                        fields.node.span,
                        "missing_field",
                        "`target` is missing in a transition",
                    )
                    .help("add `target`: the state it leads to; or `fork`, or `invoke`");
                return None;
            }
            [first, second, ..] => {
                self.report
                    .error(
                        fields.node.span,
                        "mixed_shapes",
                        format!("`{first}` and `{second}` cannot stand in one transition"),
                    )
                    .help("keep one of the two");
                self.incomplete.insert(current.key.clone());
                first
            }
            [shape] => shape,
        };
        let foreign = SHAPES
            .iter()
            .filter(|(name, _)| written.len() == 1 && *name != shape);
        for (owner, name) in
            foreign.flat_map(|(owner, names)| names.iter().map(move |name| (owner, name)))
        {
            let Some(entry) = fields.entry(name) else {
                continue;
            };
            let place = match (shape, *name) {
                ("fork", "on_complete" | "on_fail") => "inside `fork`".to_owned(),
                _ => format!("beside `{owner}`, not beside `{shape}`"),
            };
            self.report
                .error(
                    entry.key_span,
                    "misplaced_field",
                    format!("`{name}` belongs {place}"),
                )
                .help("move it there, or remove it");
        }
        Some(shape)
    }

    fn transition_guards(
        &mut self,
        current: &Current<'_>,
        at: &At<'_>,
        fields: &Fields<'_>,
    ) -> Vec<GuardRef> {
        let single = fields.get("guard").into_iter();
        let several = fields.get("guards").map(Node::items).unwrap_or_default();
        let mut guards = Vec::new();
        for node in single.chain(several) {
            let root = GuardRoot::Transition {
                state: at.state.clone(),
                event: at.event.clone(),
                index: at.index,
                nth: guards.len(),
            };
            guards.extend(self.guard_ref(current, node, &root.whole()));
        }
        guards
    }

    fn approval(&mut self, fields: &Fields<'_>) -> Option<ApprovalRule> {
        let kind = approval_kind(fields);
        if kind == ApprovalKind::Passkey
            && let Some(entry) = fields.entry("requires_approval")
            && !fields.is_true("requires_approval")
        {
            self.report
                .error(
                    entry.key_span,
                    "mixed_shapes",
                    "`requires_approval: false` beside `approval: passkey`: one of them asks nobody",
                )
                .help("remove one of the two");
        }
        if kind == ApprovalKind::Passkey || fields.is_true("requires_approval") {
            return Some(ApprovalRule {
                message: fields.string("approval_message"),
                kind,
            });
        }
        if let Some(entry) = fields.entry("approval_message") {
            self.report
                .warning(
                    entry.key_span,
                    "unused_message",
                    "nobody is asked: `approval_message` needs `requires_approval: true` or `approval: passkey`",
                )
                .help("add `requires_approval: true`, or remove the message");
        }
        None
    }

    /// Parses the name of a state, or the word for returning.
    fn target(&mut self, current: &Current<'_>, place: Place, node: &Node) -> Option<Target> {
        self.spans.note(current.key.as_ref(), place, node.span);
        let name = node.text()?;
        Some(if name == RETURN {
            Target::Return
        } else {
            Target::State(StateName::new(name))
        })
    }

    fn fork(
        &mut self,
        current: &mut Current<'_>,
        at: &At<'_>,
        fields: &Fields<'_>,
    ) -> Option<StateName> {
        let entry = fields.entry("fork")?;
        self.spans
            .note(current.key.as_ref(), at.target(), entry.key_span);
        let fork = FORK.read(&entry.value, &mut self.report)?;
        let name = free_name(current, at);
        let branches = self.fork_branches(current, &name, fork.get("branches")?);
        let join = if fork.text("join") == Some("any") {
            Join::Any
        } else {
            Join::All
        };
        let on = self.ends(current, &name, &fork);
        self.generate(
            current,
            at,
            name,
            Activity::Parallel(Parallel {
                join,
                ..Parallel::branches(branches)
            }),
            on,
            entry.key_span,
        )
    }

    fn fork_branches(
        &mut self,
        current: &Current<'_>,
        fork: &StateName,
        node: &Node,
    ) -> IndexMap<String, Branch> {
        if node.entries().is_empty() {
            self.report
                .error(node.span, "no_branch", "the fork has no branch")
                .help("add a branch with `initial` and `terminal`");
        }
        let mut branches = IndexMap::new();
        for entry in node.entries() {
            names::check("a branch", &entry.key, entry.key_span, &mut self.report);
            let Some(fields) = BRANCH.read(&entry.value, &mut self.report) else {
                continue;
            };
            let (Some(initial), Some(terminal)) = (fields.get("initial"), fields.get("terminal"))
            else {
                self.incomplete.insert(current.key.clone());
                continue;
            };
            let key = current.key.as_ref();
            self.spans.note(
                key,
                Place::BranchInitial(fork.clone(), entry.key.clone()),
                initial.span,
            );
            self.spans.note(
                key,
                Place::BranchTerminal(fork.clone(), entry.key.clone()),
                terminal.span,
            );
            let name = |node: &Node| StateName::new(node.text().unwrap_or_default());
            branches.insert(
                entry.key.clone(),
                Branch {
                    initial: name(initial),
                    terminal: name(terminal),
                },
            );
        }
        branches
    }

    fn invoke(
        &mut self,
        current: &mut Current<'_>,
        at: &At<'_>,
        fields: &Fields<'_>,
    ) -> Option<StateName> {
        let entry = fields.entry("invoke")?;
        self.spans
            .note(current.key.as_ref(), at.target(), entry.key_span);
        if !fields.has("on_complete") {
            self.report
                .error(
                    fields.node.span,
                    "missing_field",
                    "`on_complete` is missing beside `invoke`",
                )
                .help("add `on_complete`: the state after the invoked workflow succeeded");
        }
        let id = entry.value.text()?;
        let machine = self
            .invoked(current, id, entry.value.span)
            .unwrap_or_else(|| {
                self.incomplete.insert(current.key.clone());
                MachineId::new("")
            });
        let name = free_name(current, at);
        self.spans.note(
            current.key.as_ref(),
            Place::CalledMachine(name.clone()),
            entry.value.span,
        );
        let call = Call {
            machine,
            input: fields.get("input").map(Node::to_object).unwrap_or_default(),
            output: fields
                .names("output")
                .map(|keys| keys.into_iter().map(|(key, _)| key.to_owned()).collect()),
            ..Call::default()
        };
        let on = self.ends(current, &name, fields);
        self.generate(current, at, name, Activity::Call(call), on, entry.key_span)
    }

    /// Creates rules from `on_complete` and `on_fail`.
    fn ends(
        &mut self,
        current: &Current<'_>,
        state: &StateName,
        fields: &Fields<'_>,
    ) -> IndexMap<EventName, Rule> {
        let mut on = IndexMap::new();
        for (field, event) in [("on_complete", "done"), ("on_fail", "error")] {
            let Some(node) = fields.get(field) else {
                continue;
            };
            let event = EventName::new(event);
            let place = Place::Target(state.clone(), event.clone(), 0);
            let Some(target) = self.target(current, place, node) else {
                continue;
            };
            let transition = Transition {
                guards: Vec::new(),
                target,
                approval: None,
            };
            on.insert(
                event,
                Rule {
                    branched: false,
                    transitions: vec![transition],
                },
            );
        }
        on
    }

    /// Creates a separate state for a transition that forks or calls.
    fn generate(
        &mut self,
        current: &mut Current<'_>,
        at: &At<'_>,
        name: StateName,
        activity: Activity,
        on: IndexMap<EventName, Rule>,
        span: Span,
    ) -> Option<StateName> {
        let state = State {
            activity,
            on,
            shown_as: Some(at.state.clone()),
            ..State::default()
        };
        self.spans
            .note(current.key.as_ref(), Place::State(name.clone()), span);
        current.generated.insert(name.clone(), state);
        Some(name)
    }
}

/// Returns a name that no other state of the machine has.
fn free_name(current: &mut Current<'_>, at: &At<'_>) -> StateName {
    let mut name = format!("{}#{}", at.state, at.event);
    if at.index > 0 {
        name = format!("{name}#{}", at.index);
    }
    while !current.state_names.insert(StateName::new(name.clone())) {
        name.push('#');
    }
    StateName::new(name)
}
