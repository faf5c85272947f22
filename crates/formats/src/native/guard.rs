//! Guards: named, inline, composed.

use interlock_core::{
    guard::{EvidenceGuard, EvidenceOf, FieldGuard, Guard, GuardRef, Op, Since, Source},
    names::GuardName,
};
use interlock_validate::{GuardSite, Place};

use super::{
    guard_fields::EVIDENCE,
    machine::{Current, Reader},
};
use crate::{
    commands,
    node::{Kind, Node},
    table::Fields,
};

/// Fields that determine the kind of a guard.
const KINDS: &[&str] = &["field", "all", "any", "not", "evidence"];

impl Reader<'_, '_> {
    /// Parses a guard by name or inline.
    pub(crate) fn guard_ref(
        &mut self,
        current: &Current<'_>,
        node: &Node,
        site: &GuardSite,
    ) -> Option<GuardRef> {
        self.spans
            .note(current.key.as_ref(), Place::Guard(site.clone()), node.span);
        match &node.kind {
            Kind::Text(name) => Some(GuardRef::Named(GuardName::new(name.clone()))),
            Kind::Map(_) => {
                let guard = self.guard(current, node, site);
                Some(GuardRef::Inline(Box::new(
                    guard.unwrap_or_else(placeholder),
                )))
            }
            _ => {
                self.report
                    .error(
                        node.span,
                        "wrong_type",
                        format!("a guard is a name or an object, not {}", node.describe()),
                    )
                    .help("write the name of one of `guards`");
                None
            }
        }
    }

    /// Parses an object that is a guard.
    pub(super) fn guard(
        &mut self,
        current: &Current<'_>,
        node: &Node,
        site: &GuardSite,
    ) -> Option<Guard> {
        self.spans
            .note(current.key.as_ref(), Place::Guard(site.clone()), node.span);
        let fields = self.reads.table.read(node, &mut self.report)?;
        self.guard_of(current, &fields, site)
    }

    /// Creates a guard from its fields.
    pub(crate) fn guard_of(
        &mut self,
        current: &Current<'_>,
        fields: &Fields<'_>,
        site: &GuardSite,
    ) -> Option<Guard> {
        let node = fields.node;
        let kinds: Vec<&str> = KINDS
            .iter()
            .copied()
            .filter(|kind| fields.has(kind))
            .collect();
        match *kinds.as_slice() {
            ["field"] => self.field_guard(current, fields, site),
            ["all"] => {
                self.refuse_beside(fields, "all");
                Some(Guard::All(self.guard_items(
                    current,
                    fields.get("all")?,
                    site,
                )))
            }
            ["any"] => {
                self.refuse_beside(fields, "any");
                Some(Guard::Any(self.guard_items(
                    current,
                    fields.get("any")?,
                    site,
                )))
            }
            ["not"] => {
                self.refuse_beside(fields, "not");
                let item = self.guard_ref(current, fields.get("not")?, &site.item(0))?;
                Some(Guard::Not(Box::new(item)))
            }
            [_] => {
                self.refuse_beside(fields, "evidence");
                self.evidence(fields.get("evidence")?)
            }
            [] => {
                self.report
                    .error(node.span, "missing_field", "`field` is missing in a guard")
                    .help("add `field` and `op`; or compose it with `all`, `any` or `not`; or ask for `evidence`");
                None
            }
            [first, second, ..] => {
                let message = format!("`{first}` and `{second}` are two kinds of guard");
                let span = fields
                    .entry(second)
                    .map_or(node.span, |entry| entry.key_span);
                self.report
                    .error(span, "mixed_shapes", message)
                    .help("keep one; `all` holds several guards");
                None
            }
        }
    }

    fn guard_items(
        &mut self,
        current: &Current<'_>,
        list: &Node,
        site: &GuardSite,
    ) -> Vec<GuardRef> {
        self.spans.note(
            current.key.as_ref(),
            Place::GuardItems(site.clone()),
            list.span,
        );
        let items = list.items().iter().enumerate();
        items
            .filter_map(|(index, item)| self.guard_ref(current, item, &site.item(index)))
            .collect()
    }

    /// Reports fields that only a comparing guard has.
    fn refuse_beside(&mut self, fields: &Fields<'_>, kind: &str) {
        for name in ["op", "value", "from"] {
            if let Some(entry) = fields.entry(name) {
                self.report
                    .error(
                        entry.key_span,
                        "misplaced_field",
                        format!("`{name}` belongs beside `field`, not beside `{kind}`"),
                    )
                    .help("remove it");
            }
        }
    }

    fn field_guard(
        &mut self,
        current: &Current<'_>,
        fields: &Fields<'_>,
        site: &GuardSite,
    ) -> Option<Guard> {
        if !fields.has("op") {
            self.report
                .error(
                    fields.node.span,
                    "missing_field",
                    "`op` is missing in a guard",
                )
                .help("add `op`: how `field` is compared");
        }
        let field = fields.get("field")?;
        let op = fields.get("op")?;
        let key = current.key.as_ref();
        self.spans
            .note(key, Place::GuardField(site.clone()), field.span);
        self.spans
            .note(key, Place::GuardOperator(site.clone()), op.span);
        if let Some(value) = fields.get("value") {
            self.spans
                .note(key, Place::GuardValue(site.clone()), value.span);
        }
        let from = match fields.text("from") {
            Some("output") => Source::Output,
            Some(_) => Source::Context,
            None => self.reads.from,
        };
        Some(Guard::Field(FieldGuard {
            field: field.text()?.to_owned(),
            from,
            op: operator(op.text()?)?,
            value: fields.get("value").map(Node::to_value),
        }))
    }

    fn evidence(&mut self, node: &Node) -> Option<Guard> {
        let fields = EVIDENCE.read(node, &mut self.report)?;
        let of = match (fields.has("command"), fields.has("tool")) {
            (true, false) => self.evidence_command(&fields),
            (false, true) => {
                self.refuse_evidence_field(&fields, "exit", "command");
                self.refuse_evidence_field(&fields, "directory", "command");
                for name in ["report", "passed_at_least", "none_removed", "frozen"] {
                    self.refuse_evidence_field(&fields, name, "command");
                }
                fields.string("tool").map(|tool| EvidenceOf::Tool {
                    tool,
                    path: fields.string("path"),
                })
            }
            (true, true) => {
                let span = fields
                    .entry("tool")
                    .map_or(node.span, |entry| entry.key_span);
                self.report
                    .error(
                        span,
                        "mixed_shapes",
                        "`command` and `tool` are two kinds of evidence",
                    )
                    .help("ask for each in a guard of its own");
                None
            }
            (false, false) => {
                self.report
                    .error(
                        node.span,
                        "missing_field",
                        "`command` is missing in evidence",
                    )
                    .help(
                        "add `command` for a shell command, or `tool` for a call of another tool",
                    );
                None
            }
        };
        let since = match fields.text("since") {
            Some("state_entry") => Since::StateEntry,
            Some("run_start") => Since::RunStart,
            _ => Since::LastEdit,
        };
        let is_command = fields.has("command") && !fields.has("tool");
        let (report, frozen) = if is_command {
            (self.report_guard(&fields), self.frozen(&fields))
        } else {
            (None, Vec::new())
        };
        Some(Guard::Evidence(EvidenceGuard {
            of: of?,
            since,
            report,
            frozen,
        }))
    }

    fn evidence_command(&mut self, fields: &Fields<'_>) -> Option<EvidenceOf> {
        self.refuse_evidence_field(fields, "path", "tool");
        let node = fields.get("command")?;
        let text = node.text()?;
        let words = commands::words(text, node.span, &mut self.report)?;
        let exit = match fields.get("exit").map(|node| &node.kind) {
            Some(Kind::Number(number)) => number.as_i64()?,
            _ => 0,
        };
        let directory = match fields.get("directory") {
            Some(node) => self.directory_below(node)?,
            None => None,
        };
        Some(EvidenceOf::Command {
            text: text.to_owned(),
            words,
            exit,
            directory,
        })
    }

    /// Parses a directory of the project; `Some(None)` is its root.
    fn directory_below(&mut self, node: &Node) -> Option<Option<String>> {
        let text = node.text()?;
        let parts = text.split('/').filter(|part| !matches!(*part, "" | "."));
        let parts: Vec<&str> = parts.collect();
        let problem = if text.starts_with(['/', '~']) {
            Some("is absolute")
        } else if parts.contains(&"..") {
            Some("leads out of what it names")
        } else if text.contains(['\\', '\0']) {
            Some("is not a plain path")
        } else {
            None
        };
        if let Some(problem) = problem {
            self.report
                .error(
                    node.span,
                    "invalid_path",
                    format!("the directory `{text}` {problem}"),
                )
                .help("write it relative to the project root, as `src` or `packages/small`");
            return None;
        }
        Some((!parts.is_empty()).then(|| parts.join("/")))
    }

    pub(super) fn refuse_evidence_field(&mut self, fields: &Fields<'_>, name: &str, beside: &str) {
        if let Some(entry) = fields.entry(name) {
            self.report
                .error(
                    entry.key_span,
                    "misplaced_field",
                    format!("`{name}` belongs beside `{beside}`"),
                )
                .help("remove it");
        }
    }
}

/// Returns a placeholder for a guard that could not be parsed, which the checks ignore.
pub(crate) fn placeholder() -> Guard {
    let of = EvidenceOf::Tool {
        tool: "*".to_owned(),
        path: None,
    };
    Guard::Evidence(EvidenceGuard::of(of, Since::RunStart))
}

fn operator(word: &str) -> Option<Op> {
    Some(match word {
        "eq" => Op::Eq,
        "neq" => Op::Neq,
        "gt" => Op::Gt,
        "gte" => Op::Gte,
        "lt" => Op::Lt,
        "lte" => Op::Lte,
        "in" => Op::In,
        "contains" => Op::Contains,
        "exists" => Op::Exists,
        "not_exists" => Op::NotExists,
        _ => return None,
    })
}
