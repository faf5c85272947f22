//! Converts a definition, and those it invokes, to a machine.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use interlock_core::{
    guard::{Guard, Source as GuardSource},
    machine::{Activity, Ending, FinishRule, Interrupt, Machine, State},
    names::{GuardName, InterruptName, MachineId, StateName},
};
use interlock_validate::{GuardRoot, Place};

use super::{
    fields::{INTERRUPT, MACHINE, TRIGGER, WORKFLOW},
    guard::placeholder,
    guard_fields::GUARD,
    names,
    scope::{Called, Scope},
};
use crate::{
    diagnostic::Report,
    node::{Entry, Node},
    source::{Files, Span, Workflows},
    spans::Spans,
    stage::{Names, Use},
    table::{Fields, Table},
};

/// Reads a definition and everything that it invokes.
///
/// A machine is returned even if there are errors, so that the checks can find more of them.
pub(crate) fn read<'w>(start: Start<'_, 'w>, files: Files, report: Report) -> Reading {
    let mut reader = Reader::new(files, report, start.others);
    reader.siblings = start.siblings;
    reader.root_name = start.name;
    let root = reader.definition(
        Task {
            node: start.node,
            key: None,
            table: &WORKFLOW,
            given_id: None,
        },
        None,
    );
    while let Some(next) = reader.pending.pop() {
        reader.read_pending(next);
    }
    reader.finish(root)
}

/// Start of the reading.
pub(crate) struct Start<'n, 'w> {
    /// The definition.
    pub(crate) node: &'n Node,
    /// Its name among `siblings`.
    pub(crate) name: Option<&'n str>,
    /// Other workflows of a gateway configuration.
    pub(crate) siblings: &'n [Entry],
    /// Source of workflows in other files.
    pub(crate) others: &'w dyn Workflows,
}

/// Result of reading.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Not sealed yet.
    pub(crate) machine: Machine,
    pub(crate) files: Files,
    pub(crate) report: Report,
    pub(crate) spans: Spans,
    /// Key of the outermost machine's copy among `machines`, if it is invoked.
    pub(crate) root_key: Option<MachineId>,
    /// Machines of which a part could not be parsed, so that what is missing may exist.
    pub(crate) incomplete: HashSet<Option<MachineId>>,
    /// Machines whose states could not be parsed at all.
    pub(crate) unread: HashSet<Option<MachineId>>,
}

/// Reads definitions, one after the other.
pub(crate) struct Reader<'n, 'w> {
    pub(crate) files: Files,
    pub(crate) report: Report,
    pub(crate) spans: Spans,
    pub(crate) others: &'w dyn Workflows,
    pub(super) siblings: &'n [Entry],
    pub(super) machines: IndexMap<MachineId, Machine>,
    /// Keys in use.
    pub(super) taken: HashSet<String>,
    /// Results of searching ids in other files.
    pub(super) asked: HashMap<String, Option<Called>>,
    pub(super) sibling_keys: HashMap<&'n str, MachineId>,
    pub(super) pending: Vec<Pending<'n>>,
    pub(super) root_name: Option<&'n str>,
    pub(super) root_key: Option<MachineId>,
    pub(super) incomplete: HashSet<Option<MachineId>>,
    pub(super) unread: HashSet<Option<MachineId>>,
    /// How guards are parsed at the moment.
    pub(crate) reads: Reads,
    /// Context paths in the stage texts of the machine that is being read.
    pub(super) uses: Vec<Use>,
}

/// How a guard is parsed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reads {
    /// Fields of guards.
    pub(crate) table: &'static Table,
    /// Default source of `field`.
    pub(crate) from: GuardSource,
}

/// An invoked definition that is still to be read.
pub(super) enum Pending<'n> {
    Sibling(&'n Node, MachineId),
    File(usize, String, MachineId, Span),
}

/// A definition to read.
pub(super) struct Task<'t> {
    pub(super) node: &'t Node,
    pub(super) key: Option<MachineId>,
    pub(super) table: &'static Table,
    /// Id from its place in the file.
    pub(super) given_id: Option<&'t str>,
}

/// The machine that is being read.
pub(crate) struct Current<'s> {
    /// Its key; `None` for the outermost.
    pub(crate) key: Option<MachineId>,
    pub(super) scope: Scope<'s>,
    /// States created for forks and calls.
    pub(super) generated: IndexMap<StateName, State>,
    /// State names in use.
    pub(super) state_names: HashSet<StateName>,
}

impl Current<'_> {
    /// Returns the outermost machine of a file that names no others.
    pub(crate) fn alone() -> Self {
        Self {
            key: None,
            scope: Scope {
                outer: None,
                known: Vec::new(),
            },
            generated: IndexMap::new(),
            state_names: HashSet::new(),
        }
    }
}

impl<'w> Reader<'_, 'w> {
    /// Creates a reader that has read nothing.
    pub(crate) fn new(files: Files, report: Report, others: &'w dyn Workflows) -> Self {
        Self {
            files,
            report,
            spans: Spans::default(),
            others,
            siblings: &[],
            machines: IndexMap::new(),
            taken: HashSet::new(),
            asked: HashMap::new(),
            sibling_keys: HashMap::new(),
            pending: Vec::new(),
            root_name: None,
            root_key: None,
            incomplete: HashSet::new(),
            unread: HashSet::new(),
            reads: Reads {
                table: &GUARD,
                from: GuardSource::Context,
            },
            uses: Vec::new(),
        }
    }
}

impl Reader<'_, '_> {
    pub(super) fn definition(&mut self, task: Task<'_>, outer: Option<&Scope<'_>>) -> Machine {
        let Task {
            node,
            key,
            table,
            given_id,
        } = task;
        self.spans.note(key.as_ref(), Place::Machine, node.span);
        let Some(fields) = table.read(node, &mut self.report) else {
            self.unread.insert(key);
            return empty(given_id.unwrap_or_default());
        };
        let id = fields.text("id").or(given_id).unwrap_or_default();
        if let Some(entry) = fields.entry("id") {
            names::check("the workflow", id, entry.value.span, &mut self.report);
        }
        let nested = self.name_nested(&fields);
        let mut known: Vec<(String, Called)> = nested
            .iter()
            .map(|(entry, key)| (entry.key.clone(), Called::Key(key.clone())))
            .collect();
        let own = key.clone().map_or(Called::Root, Called::Key);
        known.extend(
            [fields.text("id"), given_id]
                .into_iter()
                .flatten()
                .map(|id| (id.to_owned(), own.clone())),
        );
        let mut current = Current {
            key: key.clone(),
            scope: Scope { outer, known },
            generated: IndexMap::new(),
            state_names: HashSet::new(),
        };
        let uses = std::mem::take(&mut self.uses);
        let states = self.states(&mut current, &fields);
        let used = std::mem::replace(&mut self.uses, uses);
        self.check_uses(&used, &fields, &states);
        let machine = Machine {
            id: MachineId::new(id),
            initial: self.initial(&current, &fields, &states),
            states,
            guards: self.guards(&current, &fields),
            interrupts: self.interrupts(&current, &fields),
            context: fields
                .get("context")
                .map(Node::to_object)
                .unwrap_or_default(),
            meta: self.meta(key.as_ref(), &fields),
            finish: match fields.text("finish") {
                Some("required") => FinishRule::Required,
                _ => FinishRule::Optional,
            },
            ..empty(id)
        };
        for (entry, key) in nested {
            let task = Task {
                node: &entry.value,
                key: Some(key.clone()),
                table: &MACHINE,
                given_id: Some(&entry.key),
            };
            let machine = self.definition(task, Some(&current.scope));
            self.machines.insert(key, machine);
        }
        machine
    }

    /// Reports paths in texts that do not exist in the context.
    fn check_uses(
        &mut self,
        used: &[Use],
        fields: &Fields<'_>,
        states: &IndexMap<StateName, State>,
    ) {
        let context = fields.get("context").map(Node::entries).unwrap_or_default();
        let known: Vec<&str> = context.iter().map(|entry| entry.key.as_str()).collect();
        let stages = states.iter().filter_map(|(name, state)| {
            let Activity::Stage(stage) = &state.activity else {
                return None;
            };
            match &stage.ending {
                Ending::Tool { schema, .. } => Some((name.as_str(), schema)),
                Ending::Answer { .. } => None,
            }
        });
        let stages: Vec<_> = stages.collect();
        let names = Names {
            declared: &known,
            remedy: "add it to `context` with its initial value, or `null` if that is not known yet",
            // An agent in another state, or the start of the run, may add to the context.
            open: true,
            schema_key: "completion_schema",
            stages: &stages,
        };
        for used in used {
            names.check(used, &mut self.report);
        }
    }

    /// Assigns a key to each machine of `machines`.
    fn name_nested<'t>(&mut self, fields: &Fields<'t>) -> Vec<(&'t Entry, MachineId)> {
        let entries = fields
            .get("machines")
            .map(Node::entries)
            .unwrap_or_default();
        entries
            .iter()
            .map(|entry| {
                names::check("a workflow", &entry.key, entry.key_span, &mut self.report);
                let key = self.free_key(&entry.key);
                (entry, key)
            })
            .collect()
    }

    /// Returns `name`, with a number if another machine has it as its key.
    pub(super) fn free_key(&mut self, name: &str) -> MachineId {
        let mut key = name.to_owned();
        let mut number = 1;
        while !self.taken.insert(key.clone()) {
            number += 1;
            key = format!("{name}#{number}");
        }
        MachineId::new(key)
    }

    fn states(
        &mut self,
        current: &mut Current<'_>,
        fields: &Fields<'_>,
    ) -> IndexMap<StateName, State> {
        let entries = fields.get("states").map(Node::entries).unwrap_or_default();
        if fields.get("states").is_none() {
            self.unread.insert(current.key.clone());
        }
        current.state_names = entries
            .iter()
            .map(|entry| StateName::new(entry.key.clone()))
            .collect();
        let mut states: IndexMap<StateName, State> = IndexMap::with_capacity(entries.len());
        for entry in entries {
            names::check("a state", &entry.key, entry.key_span, &mut self.report);
            let name = StateName::new(entry.key.clone());
            self.spans.note(
                current.key.as_ref(),
                Place::State(name.clone()),
                entry.key_span,
            );
            let state = self.state(current, &name, &entry.value);
            states.insert(name, state);
        }
        states.extend(std::mem::take(&mut current.generated));
        states
    }

    /// Returns the initial state; if it is missing, the first one, so that reading can continue.
    fn initial(
        &mut self,
        current: &Current<'_>,
        fields: &Fields<'_>,
        states: &IndexMap<StateName, State>,
    ) -> StateName {
        if let Some(entry) = fields.entry("initial") {
            self.spans
                .note(current.key.as_ref(), Place::Initial, entry.value.span);
            return StateName::new(entry.value.text().unwrap_or_default());
        }
        self.incomplete.insert(current.key.clone());
        states
            .keys()
            .next()
            .cloned()
            .unwrap_or_else(|| StateName::new(""))
    }

    /// Parses the named guards.
    pub(crate) fn guards(
        &mut self,
        current: &Current<'_>,
        fields: &Fields<'_>,
    ) -> IndexMap<GuardName, Guard> {
        let entries = fields.get("guards").map(Node::entries).unwrap_or_default();
        let mut guards = IndexMap::with_capacity(entries.len());
        for entry in entries {
            let name = GuardName::new(entry.key.clone());
            if entry.key.is_empty() {
                names::check("a guard", &entry.key, entry.key_span, &mut self.report);
            }
            let site = GuardRoot::Named(name.clone()).whole();
            let guard = self
                .guard(current, &entry.value, &site)
                .unwrap_or_else(placeholder);
            self.spans
                .note(current.key.as_ref(), Place::Guard(site), entry.key_span);
            guards.insert(name, guard);
        }
        guards
    }

    fn interrupts(
        &mut self,
        current: &Current<'_>,
        fields: &Fields<'_>,
    ) -> IndexMap<InterruptName, Interrupt> {
        let entries = fields
            .get("interrupts")
            .map(Node::entries)
            .unwrap_or_default();
        let mut interrupts = IndexMap::new();
        for entry in entries {
            let interrupt = self.interrupt(current, entry);
            if interrupt.is_none() {
                self.incomplete.insert(current.key.clone());
            }
            interrupts.extend(
                interrupt.map(|interrupt| (InterruptName::new(entry.key.clone()), interrupt)),
            );
        }
        interrupts
    }

    fn interrupt(&mut self, current: &Current<'_>, entry: &Entry) -> Option<Interrupt> {
        let name = InterruptName::new(entry.key.clone());
        let fields = INTERRUPT.read(&entry.value, &mut self.report)?;
        let trigger = fields
            .get("trigger")
            .and_then(|node| TRIGGER.read(node, &mut self.report));
        let target = fields.get("target")?;
        self.spans.note(
            current.key.as_ref(),
            Place::Handler(name.clone()),
            target.span,
        );
        let pattern = trigger?.get("file_pattern")?;
        self.spans
            .note(current.key.as_ref(), Place::Pattern(name), pattern.span);
        Some(Interrupt {
            file_pattern: pattern.text()?.to_owned(),
            target: StateName::new(target.text()?),
        })
    }

    /// Puts the other machines below the outermost one.
    pub(crate) fn finish(mut self, mut root: Machine) -> Reading {
        if let Some(key) = &self.root_key {
            self.machines.insert(key.clone(), root.clone());
        }
        root.machines = self.machines;
        root.durable = is_carried_out(&root);
        Reading {
            machine: root,
            files: self.files,
            report: self.report,
            spans: self.spans,
            root_key: self.root_key,
            incomplete: self.incomplete,
            unread: self.unread,
        }
    }
}

/// Returns whether a machine with a model has no state that waits for an agent, so that Interlock itself runs it.
fn is_carried_out(root: &Machine) -> bool {
    let machines = std::iter::once(root).chain(root.machines.values());
    let mut states = machines.flat_map(|machine| machine.states.values());
    root.has_stages() && !states.any(|state| matches!(state.activity, Activity::Await))
}

/// Returns an empty machine.
pub(crate) fn empty(id: &str) -> Machine {
    Machine {
        id: MachineId::new(id),
        hash: String::new(),
        initial: StateName::new(""),
        context: serde_json::Map::new(),
        states: IndexMap::new(),
        guards: IndexMap::new(),
        interrupts: IndexMap::new(),
        machines: IndexMap::new(),
        limits: interlock_core::machine::Limits::default(),
        meta: serde_json::Map::new(),
        finish: FinishRule::Optional,
        durable: false,
        stages: None,
        conversation: None,
        agents: IndexMap::new(),
    }
}
