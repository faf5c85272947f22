//! The machine that an `invoke` refers to: in the same file, the gateway configuration, or another file.

use interlock_core::{machine::Machine, names::MachineId};
use interlock_expr::nearest::nearest;

use super::{
    fields::WORKFLOW,
    machine::{Current, Pending, Reader, Task, empty},
    scope::Called,
};
use crate::{
    detect::{self, Found},
    node::{Entry, Node},
    parse,
    source::{Source, Span},
};

impl<'n> Reader<'n, '_> {
    /// Returns the key of the machine with the given `id`, reading it if necessary.
    pub(super) fn invoked(
        &mut self,
        current: &Current<'_>,
        id: &str,
        span: Span,
    ) -> Option<MachineId> {
        let in_first_file = span.file == 0;
        let known = current
            .scope
            .find(id)
            .cloned()
            .or_else(|| self.sibling(id).filter(|_| in_first_file));
        let known = known.or_else(|| self.elsewhere(id, span));
        match known {
            Some(Called::Key(key)) => Some(key),
            Some(Called::Root) => Some(self.root_copy(id)),
            None => {
                self.unknown_machine(current, id, span);
                None
            }
        }
    }

    /// Returns the key under which the outermost machine can be called.
    fn root_copy(&mut self, id: &str) -> MachineId {
        match &self.root_key {
            Some(key) => key.clone(),
            None => {
                let key = self.free_key(id);
                self.root_key = Some(key.clone());
                key
            }
        }
    }

    /// Searches for `id` among the workflows of the same gateway configuration.
    fn sibling(&mut self, id: &str) -> Option<Called> {
        let own_id = |entry: &Entry| {
            entry
                .value
                .get("id")
                .and_then(|id| id.value.text().map(str::to_owned))
        };
        let siblings = self.siblings;
        let entry = siblings.iter().find(|entry| entry.key == id);
        let entry = entry.or_else(|| {
            siblings
                .iter()
                .find(|entry| own_id(entry).as_deref() == Some(id))
        })?;
        if self.root_name == Some(entry.key.as_str()) {
            return Some(Called::Root);
        }
        if let Some(key) = self.sibling_keys.get(entry.key.as_str()) {
            return Some(Called::Key(key.clone()));
        }
        let key = self.free_key(&entry.key);
        self.sibling_keys.insert(&entry.key, key.clone());
        self.pending
            .push(Pending::Sibling(&entry.value, key.clone()));
        Some(Called::Key(key))
    }

    /// Searches for `id` in other files.
    fn elsewhere(&mut self, id: &str, span: Span) -> Option<Called> {
        if let Some(known) = self.asked.get(id) {
            return known.clone();
        }
        let called = match self.others.find(id) {
            None => None,
            Some(Ok(source)) => Some(self.open(id, source, span)),
            Some(Err(reason)) => {
                self.report.error(
                    span,
                    "unreadable_workflow",
                    format!("the workflow `{id}` cannot be read: {reason}"),
                );
                // It exists, so it is not reported as unknown as well.
                let key = self.free_key(id);
                self.unread.insert(Some(key.clone()));
                self.machines.insert(key.clone(), empty(id));
                Some(Called::Key(key))
            }
        };
        self.asked.insert(id.to_owned(), called.clone());
        called
    }

    fn open(&mut self, id: &str, source: Source, span: Span) -> Called {
        if self.files.position_of(&source) == Some(0) && self.root_name.is_none() {
            return Called::Root;
        }
        let file = self.files.add(source);
        let key = self.free_key(id);
        self.pending
            .push(Pending::File(file, id.to_owned(), key.clone(), span));
        Called::Key(key)
    }

    pub(super) fn read_pending(&mut self, pending: Pending<'n>) {
        let (key, machine) = match pending {
            Pending::Sibling(node, key) => {
                let task = Task {
                    node,
                    key: Some(key.clone()),
                    table: &WORKFLOW,
                    given_id: None,
                };
                (key, self.definition(task, None))
            }
            Pending::File(file, id, key, span) => {
                let machine = self.read_file(file, &id, &key, span);
                (key, machine)
            }
        };
        self.machines.insert(key, machine);
    }

    fn read_file(&mut self, file: usize, id: &str, key: &MachineId, span: Span) -> Machine {
        let Some(tree) = parse::parse(&self.files, file, &mut self.report) else {
            self.unread.insert(Some(key.clone()));
            return empty(id);
        };
        let found = detect::detect(&tree, &mut self.report);
        let definition = found.and_then(|found| self.choose(found, id, span));
        let Some(node) = definition else {
            self.unread.insert(Some(key.clone()));
            return empty(id);
        };
        let task = Task {
            node,
            key: Some(key.clone()),
            table: &WORKFLOW,
            given_id: None,
        };
        self.definition(task, None)
    }

    /// Returns the definition of `id` in a file that was found for it.
    fn choose<'t>(&mut self, found: Found<'t>, id: &str, span: Span) -> Option<&'t Node> {
        match found {
            Found::Definition(node) => Some(node),
            Found::Pipeline(_) => {
                self.report
                    .error(
                        span,
                        "undefined_machine",
                        format!("`{id}` is a pipeline, and only native workflows are invoked"),
                    )
                    .help("name a workflow with `initial` and `states`");
                None
            }
            Found::Wrapper(fields) => fields.get("definition"),
            Found::Gateway(fields) => {
                let workflows = fields.get("workflows")?;
                let default = fields.text("default").and_then(|name| workflows.get(name));
                let entry = workflows.get(id).or(default);
                if entry.is_none() {
                    self.report.error(
                        span,
                        "undefined_machine",
                        format!("the file found for `{id}` contains no workflow of that name"),
                    );
                }
                entry.map(|entry| &entry.value)
            }
        }
    }

    fn unknown_machine(&mut self, current: &Current<'_>, id: &str, span: Span) {
        let mut known = current.scope.names();
        known.extend(self.siblings.iter().map(|entry| entry.key.as_str()));
        let near = nearest(id, known)
            .map(|name| format!(": did you mean `{name}`?"))
            .unwrap_or_default();
        self.report
            .error(
                span,
                "undefined_machine",
                format!("no workflow `{id}` is known{near}"),
            )
            .help("define it under `machines`, or as a file in `.interlock/workflows/`");
    }
}
