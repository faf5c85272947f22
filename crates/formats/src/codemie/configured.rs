//! Assistants and skills of the configuration, as defaults for those of the file.

use super::{
    notes::{Notes, shown},
    syntax::Workflow,
};
use crate::{
    diagnostic::Report,
    node::{Entry, Kind, Node},
    parse::parse_as_written,
    source::{Files, Source, Span, Workflows},
};

/// Keys whose lists are concatenated.
const LISTS: [&str; 4] = ["tools", "mcp_servers", "datasource_ids", "skill_ids"];
/// Keys that name an assistant, and are not part of its definition.
const NAMES: [&str; 2] = ["id", "assistant_id"];

/// Merges each assistant of the file with the one of the configuration that it names.
///
/// Keys of the file override, lists are concatenated. Values from the configuration get the position where the assistant is
/// named.
pub(super) fn merged(tree: &Node, others: &dyn Workflows, report: &mut Report) -> Node {
    let mut tree = tree.clone();
    let inner = match tree.get("execution_config") {
        Some(_) => value_of(&mut tree, "execution_config"),
        None => Some(&mut tree),
    };
    let assistants = inner.and_then(|inner| value_of(inner, "assistants"));
    if let Some(Node {
        kind: Kind::List(items),
        ..
    }) = assistants
    {
        for item in items {
            lay_under(item, others, report);
        }
    }
    tree
}

fn value_of<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    match &mut node.kind {
        Kind::Map(entries) => {
            let mut entries = entries.iter_mut();
            let entry = entries.find(|entry| entry.key == key)?;
            Some(&mut entry.value)
        }
        _ => None,
    }
}

fn lay_under(item: &mut Node, others: &dyn Workflows, report: &mut Report) {
    let Some((id, span)) = item.get("assistant_id").and_then(|entry| {
        let id = entry.value.text()?.to_owned();
        Some((id, entry.value.span))
    }) else {
        return;
    };
    let base = match others.configured("assistants", &id) {
        None => return,
        Some(Ok(source)) => read(&source),
        Some(Err(why)) => Err(why),
    };
    let base = match base {
        Ok(base) => base,
        Err(why) => {
            report.error(
                span,
                "configured_assistant",
                format!(
                    "the assistant `{}` of the configuration cannot be read: {why}",
                    shown(&id)
                ),
            );
            return;
        }
    };
    let Kind::Map(own) = &mut item.kind else {
        return;
    };
    for mut entry in base {
        at(&mut entry.value, span);
        entry.key_span = span;
        let known = own.iter_mut().find(|known| known.key == entry.key);
        match known {
            // An empty value counts as missing.
            Some(known) if known.value.kind == Kind::Null => known.value = entry.value,
            Some(known) if LISTS.contains(&entry.key.as_str()) => {
                if let (Kind::List(own), Kind::List(mut items)) =
                    (&mut known.value.kind, entry.value.kind)
                {
                    items.append(own);
                    *own = items;
                }
            }
            Some(_) => {}
            None => own.push(entry),
        }
    }
}

/// Parses the keys of an assistant of the configuration.
fn read(source: &Source) -> Result<Vec<Entry>, String> {
    let mut files = Files::default();
    let file = files.add(source.clone());
    let mut report = Report::default();
    let node = parse_as_written(&files, file, &mut report);
    if report.has_errors() {
        let found = report.into_diagnostics(&files);
        let first = found.first();
        return Err(first.map_or_else(String::new, |first| {
            format!("`{}`, line {}: {}", source.name, first.line, first.message)
        }));
    }
    match node.map(|node| node.kind) {
        Some(Kind::Map(mut entries)) => {
            entries.retain(|entry| !NAMES.contains(&entry.key.as_str()));
            Ok(entries)
        }
        _ => Err(format!("`{}` is not a map", source.name)),
    }
}

/// Gives a value and everything in it the same position.
fn at(node: &mut Node, span: Span) {
    node.span = span;
    match &mut node.kind {
        Kind::List(items) => items.iter_mut().for_each(|item| at(item, span)),
        Kind::Map(entries) => {
            for entry in entries {
                entry.key_span = span;
                at(&mut entry.value, span);
            }
        }
        _ => {}
    }
}

/// Reads the texts of the skills that assistants name.
pub(super) fn skills(workflow: &mut Workflow, others: &dyn Workflows, notes: &mut Notes<'_>) {
    for assistant in &mut workflow.assistants {
        for skill in &assistant.skills {
            match others.configured("skills", &skill.text) {
                // Whether it must exist is checked elsewhere.
                None => {}
                Some(Ok(source)) => assistant.skill_texts.push(source.text),
                Some(Err(why)) => {
                    notes.report.error(
                        skill.span,
                        "configured_skill",
                        format!(
                            "the skill `{}` of the configuration cannot be read: {why}",
                            shown(&skill.text)
                        ),
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
