//! The `meta` of a workflow.

use interlock_core::{machine::Object, names::MachineId};
use interlock_validate::Place;

use super::{fields::META, machine::Reader};
use crate::{node::Node, table::Fields};

/// Fields of `meta` that other tools use and this one ignores.
const IGNORED: &[(&str, &str)] = &[
    (
        "debug",
        "does nothing here: the log keeps everything that happens",
    ),
    (
        "autonomous",
        "does nothing here: what needs a person says so with `requires_approval`",
    ),
    (
        "orchestration",
        "does nothing here: forks and `invoke` say what runs beside what",
    ),
    (
        "approval_mode",
        "does nothing here: what needs a person says so with `requires_approval`",
    ),
];

impl Reader<'_, '_> {
    /// Checks the known fields of `meta` and keeps all of them.
    pub(super) fn meta(&mut self, key: Option<&MachineId>, fields: &Fields<'_>) -> Object {
        let Some(node) = fields.get("meta") else {
            return Object::new();
        };
        if let Some(known) = META.read(node, &mut self.report) {
            if let Some(entry) = known.entry("requires_human_approval") {
                self.spans
                    .note(key, Place::Meta("requires_human_approval"), entry.key_span);
            }
            for (name, does) in IGNORED {
                if let Some(entry) = known.entry(name) {
                    self.report.note(
                        entry.key_span,
                        "ignored_field",
                        format!("`meta.{name}` {does}"),
                    );
                }
            }
        }
        Node::to_object(node)
    }
}
