//! Checks the context paths in stage texts.

use interlock_expr::nearest::nearest;
use serde_json::Value;

use super::{Declared, ERROR_PARTS, RESERVED, declared};
use crate::diagnostic::Report;
use crate::source::Span;

/// A context path in a text of a stage.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    /// Path without `ctx`; at least one name.
    pub(crate) path: Vec<String>,
    pub(crate) span: Span,
}

/// Names with which a path may begin, and the rules for errors.
pub(crate) struct Names<'n> {
    /// The names that are declared.
    pub(crate) declared: &'n [&'n str],
    /// Where to declare another one.
    pub(crate) remedy: &'static str,
    /// Whether other names may exist, so that an undeclared one is only a warning.
    pub(crate) open: bool,
    /// Key with the schema of a stage.
    pub(crate) schema_key: &'static str,
    /// The stages with the schemas of their payloads.
    pub(crate) stages: &'n [(&'n str, &'n Value)],
}

impl Names<'_> {
    /// Reports a path that leads nowhere; returns the index of the stage that it leads to.
    pub(crate) fn check(&self, used: &Use, report: &mut Report) -> Option<usize> {
        let path: Vec<&str> = used.path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["upstream", of, ..] => return self.upstream(of, used, report),
            ["error", part, rest @ ..] if !ERROR_PARTS.contains(part) || !rest.is_empty() => {
                let path = path.get(1..).unwrap_or_default().join(".");
                let parts: Vec<String> =
                    ERROR_PARTS.iter().map(|part| format!("`{part}`")).collect();
                report
                    .error(
                        used.span,
                        "ctx_unresolved",
                        format!("an error has no `{path}`"),
                    )
                    .help(format!("it has {}", parts.join(", ")));
            }
            [name, ..] if !self.declared.contains(name) && !RESERVED.contains(name) => {
                let known = self.declared.iter().chain(RESERVED).copied();
                let near = nearest(name, known)
                    .map_or_else(String::new, |near| format!(": did you mean `ctx.{near}`?"));
                let message = format!("`ctx.{name}` is not declared{near}");
                let problem = if self.open {
                    report.warning(used.span, "ctx_unresolved", message)
                } else {
                    report.error(used.span, "ctx_unresolved", message)
                };
                problem.help(self.remedy);
            }
            _ => {}
        }
        None
    }

    fn upstream(&self, of: &str, used: &Use, report: &mut Report) -> Option<usize> {
        let Some((at, (_, schema))) = self
            .stages
            .iter()
            .enumerate()
            .find(|(_, (id, _))| *id == of)
        else {
            let near = nearest(of, self.stages.iter().map(|(id, _)| *id))
                .map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            report
                .error(
                    used.span,
                    "ctx_unresolved",
                    format!("there is no stage `{of}`{near}"),
                )
                .help("name a stage of this workflow");
            return None;
        };
        let fields = used.path.get(2..).unwrap_or_default();
        let Declared::Not(part, near) = declared(schema, fields) else {
            return Some(at);
        };
        let name = fields.get(..=part).unwrap_or_default().join(".");
        let near = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
        report
            .error(
                used.span,
                "ctx_unresolved",
                format!("the schema of `{of}` declares no `{name}`{near}"),
            )
            .help(format!(
                "add it to the `properties` of its `{}`, or name another field",
                self.schema_key
            ));
        None
    }
}
