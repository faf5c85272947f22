//! Checks arguments of custom tools against their schema.

use serde_json::Value;

use super::Check;
use crate::{
    fit::{self, SchemaError},
    flowstate::{
        reader::{Flow, each_action},
        syntax::{Custom, CustomTool, Doing, Named, Tree},
        values::shown,
    },
    source::Span,
};

impl Check<'_> {
    /// Checks the arguments of every use of a custom tool.
    pub(super) fn arguments(&mut self, flow: &Flow) {
        let mut uses: Vec<(&Named, &Custom, &CustomTool)> = Vec::new();
        each_action(&flow.states, &mut |action| {
            if let Doing::Custom(custom) = &action.doing
                && let Some(tool) = flow.tools.get(&action.tool.text)
            {
                uses.push((&action.tool, custom, tool));
            }
        });
        for (name, custom, tool) in uses {
            self.arguments_of(name, custom, tool);
        }
    }

    fn arguments_of(&mut self, name: &Named, custom: &Custom, tool: &CustomTool) {
        self.names(name, custom, tool);
        let mut holes = false;
        let mut literal = interlock_core::machine::Object::new();
        for (key, tree) in &custom.arguments {
            match value(tree) {
                Some(value) => drop(literal.insert(key.text.clone(), value)),
                None => holes = true,
            }
        }
        let mut schema = tool.schema.clone();
        if let Value::Object(schema) = &mut schema {
            // Missing ones were already reported.
            schema.remove("required");
        }
        let literal = fit::converted(&schema, &literal);
        // An invalid schema was reported where it is written.
        let found = fit::misfits(&schema, &Value::Object(literal)).unwrap_or_default();
        for misfit in found {
            if holes && misfit.path.is_empty() {
                continue;
            }
            self.misfit(name, custom, &misfit);
        }
    }

    fn names(&mut self, name: &Named, custom: &Custom, tool: &CustomTool) {
        let known = fit::names(&tool.schema);
        for (key, _) in &custom.arguments {
            if known.contains(&key.text) || fit::takes_others(&tool.schema) {
                continue;
            }
            let near =
                interlock_expr::nearest::nearest(&key.text, known.iter().map(String::as_str));
            let guess = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            let listed: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            self.report
                .error(
                    key.span,
                    "unknown_argument",
                    format!(
                        "unknown argument `{}` in `{}`{guess}",
                        shown(&key.text),
                        name.text
                    ),
                )
                .help(if listed.is_empty() {
                    "the tool takes none".to_owned()
                } else {
                    format!("it takes {}", listed.join(", "))
                });
        }
        let required = tool.schema.get("required").and_then(Value::as_array);
        for wanted in required.into_iter().flatten().filter_map(Value::as_str) {
            let given = custom.arguments.iter().any(|(key, _)| key.text == wanted);
            let pointer = format!("/properties/{wanted}/default");
            if !given && tool.schema.pointer(&pointer).is_none() {
                self.report
                    .error(
                        name.span,
                        "missing_argument",
                        format!("`{}` needs the argument `{wanted}`", name.text),
                    )
                    .help(format!("add `{wanted}` below `arguments`"));
            }
        }
    }

    fn misfit(&mut self, name: &Named, custom: &Custom, misfit: &SchemaError) {
        let mut path = misfit.path.split('/').skip(1);
        let first = path.next().unwrap_or_default();
        let tree = custom
            .arguments
            .iter()
            .find(|(key, _)| key.text == first)
            .map(|(_, tree)| tree);
        let span = tree.map_or(custom.span, |tree| inner(tree, path));
        self.report
            .error(
                span,
                "wrong_value",
                format!(
                    "the arguments of `{}` do not match its schema: {}",
                    name.text, misfit.message
                ),
            )
            .help("see `arguments` of the tool");
    }
}

/// Returns a value without templates; `None` if it has any.
fn value(tree: &Tree) -> Option<Value> {
    Some(match tree {
        Tree::Text(text) => Value::String(text.literal()?),
        Tree::Null(_) => Value::Null,
        Tree::List(_, items) => Value::Array(items.iter().map(value).collect::<Option<_>>()?),
        Tree::Map(_, fields) => Value::Object(
            fields
                .iter()
                .map(|(key, field)| Some((key.text.clone(), value(field)?)))
                .collect::<Option<_>>()?,
        ),
    })
}

fn inner<'p>(tree: &Tree, path: impl Iterator<Item = &'p str>) -> Span {
    let mut at = tree;
    for part in path {
        let next = match at {
            Tree::List(_, items) => part.parse::<usize>().ok().and_then(|nth| items.get(nth)),
            Tree::Map(_, fields) => fields
                .iter()
                .find(|(key, _)| key.text == part)
                .map(|(_, field)| field),
            _ => None,
        };
        let Some(next) = next else { break };
        at = next;
    }
    at.span()
}
