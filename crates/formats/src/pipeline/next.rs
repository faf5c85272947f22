//! The target of a stage: a stage, branches, or a fork.

use interlock_core::{
    guard::GuardRef,
    names::{EventName, StateName},
};
use interlock_validate::{GuardRoot, Place};

use super::{
    document::{Document, named},
    keys::{BRANCH, ENDS, PARALLEL, STAGES},
    syntax::{Branch, END, Fork, Named, Next},
};
use crate::{
    node::{Entry, Kind, Node},
    source::Span,
    table::Fields,
};

impl Document<'_, '_, '_> {
    pub(super) fn ends(
        &mut self,
        name: &StateName,
        fields: &Fields<'_>,
    ) -> Vec<(&'static str, Named)> {
        let Some(fields) = fields
            .get("on")
            .and_then(|node| ENDS.read(node, &mut self.reader.report))
        else {
            return Vec::new();
        };
        let mut ends = Vec::new();
        for field in ENDS.fields {
            self.incomplete |= fields.is_broken(field.name);
            let Some(target) = named(&fields, field.name) else {
                continue;
            };
            let place = Place::Target(name.clone(), EventName::new(field.name), 0);
            self.reader.spans.note(None, place, target.span);
            ends.push((field.name, target));
        }
        ends
    }

    pub(super) fn next(&mut self, name: &StateName, entry: &Entry) -> Next {
        let node = &entry.value;
        let event = EventName::new("done");
        self.reader.spans.note(
            None,
            Place::Event(name.clone(), event.clone()),
            entry.key_span,
        );
        match &node.kind {
            Kind::Text(text) if !text.is_empty() => {
                let place = Place::Target(name.clone(), event, 0);
                self.reader.spans.note(None, place, node.span);
                Next::To(Named {
                    text: text.clone(),
                    span: node.span,
                })
            }
            Kind::List(items) => self.branches(name, items, node.span),
            Kind::Map(_) => self.fork(node),
            _ => {
                self.reader
                    .report
                    .error(
                        node.span,
                        "wrong_type",
                        format!("`next` must lead to a stage, not {}", node.describe()),
                    )
                    .help("write a stage, `end`, `fail`, a list of branches, or `{parallel: […], join: …}`");
                Next::Broken
            }
        }
    }

    fn branches(&mut self, name: &StateName, items: &[Node], span: Span) -> Next {
        if items.is_empty() {
            self.reader
                .report
                .error(span, "no_branch", "`next` has no branch")
                .help("add an object with `target`, or write `next: end`");
        }
        let mut branches: Vec<Branch> = Vec::new();
        for item in items {
            let index = branches.len();
            let branch = self.branch(name, item, index);
            self.incomplete |= branch.is_none();
            branches.extend(branch);
        }
        for (branch, item) in branches.iter().zip(items).rev().skip(1) {
            if branch.guards.is_empty() && branches.len() == items.len() {
                self.reader
                    .report
                    .warning(
                        item.span,
                        "hidden_branch",
                        "this branch has no guard, so those behind it are never asked",
                    )
                    .help("put it last, or give it a guard");
                break;
            }
        }
        if branches.is_empty() {
            return Next::Broken;
        }
        Next::Branches(branches)
    }

    fn branch(&mut self, name: &StateName, item: &Node, index: usize) -> Option<Branch> {
        if let Some(text) = item.text() {
            self.reader
                .report
                .error(
                    item.span,
                    "wrong_type",
                    format!(
                        "a branch is an object with `target`, not {}",
                        item.describe()
                    ),
                )
                .help(format!(
                    "write {{target: {text}}}; for stages beside each other `{{parallel: […]}}`"
                ));
            return None;
        }
        let fields = BRANCH.read(item, &mut self.reader.report)?;
        let single = fields.get("guard").into_iter();
        let several = fields.get("guards").map(Node::items).unwrap_or_default();
        let mut guards: Vec<GuardRef> = Vec::new();
        for node in single.chain(several) {
            let root = GuardRoot::Transition {
                state: name.clone(),
                event: EventName::new("done"),
                index,
                nth: guards.len(),
            };
            guards.extend(self.reader.guard_ref(&self.current, node, &root.whole()));
        }
        let target = named(&fields, "target")?;
        let place = Place::Target(name.clone(), EventName::new("done"), index);
        self.reader.spans.note(None, place, target.span);
        Some(Branch { guards, target })
    }

    fn fork(&mut self, node: &Node) -> Next {
        let of_page = node.get("stages").is_some() || node.get("execution").is_some();
        if of_page && node.get("parallel").is_none() {
            return self.stages_of_page(node);
        }
        let Some(fields) = PARALLEL.read(node, &mut self.reader.report) else {
            return Next::Broken;
        };
        if !fields.has("parallel") {
            return Next::Broken;
        }
        Next::Fork(fork(&fields, "parallel"))
    }

    /// Parses `{stages: […], execution: …, join?}`.
    fn stages_of_page(&mut self, node: &Node) -> Next {
        let Some(fields) = STAGES.read(node, &mut self.reader.report) else {
            return Next::Broken;
        };
        let (Some(stages), Some(execution)) = (fields.names("stages"), fields.text("execution"))
        else {
            return Next::Broken;
        };
        let is_parallel = execution == "parallel";
        if is_parallel && !stages.is_empty() {
            return Next::Fork(fork(&fields, "stages"));
        }
        for name in ["join", "on_fail"] {
            if let Some(entry) = fields.entry(name) {
                self.reader
                    .report
                    .error(
                        entry.key_span,
                        "misplaced_field",
                        format!("`{}` belongs to stages that start at once", entry.key),
                    )
                    .help("remove it, or write `execution: parallel` with two stages or more");
            }
        }
        match stages.as_slice() {
            [] => Next::To(Named {
                text: END.to_owned(),
                span: node.span,
            }),
            [(text, node)] => Next::To(Named {
                text: (*text).to_owned(),
                span: node.span,
            }),
            [_, (_, second), ..] => {
                self.reader
                    .report
                    .error(
                        second.span,
                        "too_many_stages",
                        "`execution: sequential` takes one stage: which follows it says its own `next`",
                    )
                    .help("keep the first one, or write `execution: parallel`");
                Next::Broken
            }
        }
    }
}

/// Creates a fork of the stages in a list under `key`.
fn fork(fields: &Fields<'_>, key: &str) -> Fork {
    let names = fields.names(key).unwrap_or_default();
    let siblings = names.into_iter().map(|(text, node)| Named {
        text: text.to_owned(),
        span: node.span,
    });
    Fork {
        span: fields.get(key).map_or(fields.node.span, |node| node.span),
        siblings: siblings.collect(),
        // The run ends after the fork if nothing joins it.
        join: named(fields, "join").filter(|join| join.text != END),
        on_fail: named(fields, "on_fail"),
    }
}
