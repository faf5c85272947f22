//! Evidence besides an exit code: the report of the run, and files that must not change.

use interlock_core::{
    glob,
    substance::{PassedAtLeast, ReportFormat, ReportGuard, ReportSource},
};

use super::machine::Reader;
use crate::{
    native::PIPELINE_GUARD,
    node::{Kind, Node},
    table::{Choice, Fields, Shape, Table, field},
};

/// A report with its format.
pub(crate) static REPORT: Table = Table {
    name: "a report",
    key: "report",
    doc: "The path of the command's report, by format.",
    open: false,
    choice: Choice::OneOf(&[&["junit"], &["tap"], &["json"]]),
    fields: &[
        field(
            "junit",
            Shape::Name,
            "JUnit XML, as pytest, jest-junit, vitest, cargo-nextest, gotestsum and surefire write it.",
        ),
        field(
            "tap",
            Shape::Name,
            "The Test Anything Protocol, as `node --test` writes it.",
        ),
        field("json", Shape::Name, "The JSON of jest and vitest."),
    ],
};

/// Fields that require a report.
const OF_REPORTS: [&str; 2] = ["passed_at_least", "none_removed"];

impl Reader<'_, '_> {
    /// Parses the report of command evidence.
    pub(super) fn report_guard(&mut self, fields: &Fields<'_>) -> Option<ReportGuard> {
        self.refuse_in_pipelines(fields);
        let Some(node) = fields.get("report") else {
            if !fields.has("report") {
                for name in OF_REPORTS {
                    self.refuse_evidence_field(fields, name, "report");
                }
            }
            return None;
        };
        let source = self.report_source(node)?;
        let passed = match fields.get("passed_at_least") {
            None => PassedAtLeast::Count(1),
            Some(node) => self.passed_at_least(node)?,
        };
        let keeps = fields.get("none_removed");
        Some(ReportGuard {
            source,
            passed,
            none_removed: keeps.is_none_or(|node| node.kind == Kind::Bool(true)),
        })
    }

    /// Parses a path, whose extension determines the format, or a path with its format.
    fn report_source(&mut self, node: &Node) -> Option<ReportSource> {
        let (format, at) = match &node.kind {
            Kind::Text(text) if text.ends_with(".json") => {
                self.report
                    .error(
                        node.span,
                        "wrong_value",
                        format!("what wrote `{text}` is not known by its name"),
                    )
                    .help(format!(
                        "write `report: {{json: {text}}}` for the JSON of jest or vitest"
                    ));
                return None;
            }
            Kind::Text(text) if text.ends_with(".tap") => (ReportFormat::Tap, node),
            Kind::Text(_) => (ReportFormat::Junit, node),
            Kind::Map(_) => self.report_by_format(node)?,
            _ => {
                self.report
                    .error(
                        node.span,
                        "wrong_type",
                        format!("`report` is a path or an object, not {}", node.describe()),
                    )
                    .help("write the file of JUnit XML that the command writes, or `{tap: FILE}` or `{json: FILE}`");
                return None;
            }
        };
        let path = self.report_path(at)?;
        Some(ReportSource { format, path })
    }

    fn report_by_format<'n>(&mut self, node: &'n Node) -> Option<(ReportFormat, &'n Node)> {
        let fields = REPORT.read(node, &mut self.report)?;
        let formats = [ReportFormat::Junit, ReportFormat::Tap, ReportFormat::Json];
        let mut named = formats
            .into_iter()
            .filter(|format| fields.has(format.as_str()));
        match (named.next(), named.next()) {
            (Some(format), None) => Some((format, fields.get(format.as_str())?)),
            (Some(first), Some(second)) => {
                let (first, second) = (first.as_str(), second.as_str());
                let span = fields
                    .entry(second)
                    .map_or(node.span, |entry| entry.key_span);
                self.report
                    .error(
                        span,
                        "mixed_shapes",
                        format!("`{first}` and `{second}` are two formats of one report"),
                    )
                    .help("keep one; ask for each report in a guard of its own");
                None
            }
            _ => {
                self.report
                    .error(node.span, "missing_field", "a report needs its file")
                    .help("add `junit`, `tap` or `json` with the file");
                None
            }
        }
    }

    fn report_path(&mut self, node: &Node) -> Option<String> {
        let text = node.text()?;
        let path = text.strip_prefix("./").unwrap_or(text);
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let problem = if name.is_empty() {
            Some("names a directory")
        } else if path.contains(['\\', '\0']) {
            Some("is not a plain path")
        } else if directory.contains(['*', '?', '[', '{']) {
            Some("has a wildcard before its last part")
        } else if let Err(reason) = glob::compile(name) {
            self.invalid_pattern(node, text, &reason);
            return None;
        } else {
            None
        };
        if let Some(problem) = problem {
            self.report
                .error(
                    node.span,
                    "invalid_path",
                    format!("the report `{text}` {problem}"),
                )
                .help("write a file relative to the project root, as `reports/junit.xml` or `reports/TEST-*.xml`");
            return None;
        }
        let leads_out = path.split('/').any(|part| part == "..");
        if leads_out || path.starts_with(['/', '~']) {
            self.report
                .warning(
                    node.span,
                    "report_outside",
                    format!("the report `{text}` lies outside the project, so it is never read and this never holds"),
                )
                .help("have the command write it into the project, and name it relative to the project root");
        }
        Some(path.to_owned())
    }

    fn passed_at_least(&mut self, node: &Node) -> Option<PassedAtLeast> {
        match &node.kind {
            Kind::Text(text) if text == "start" => Some(PassedAtLeast::Start),
            Kind::Number(number) if number.as_u64().is_some_and(|count| count > 0) => {
                number.as_u64().map(PassedAtLeast::Count)
            }
            _ => {
                self.report
                    .error(
                        node.span,
                        "wrong_value",
                        format!(
                            "`passed_at_least` must be `start` or a whole number from 1, not {}",
                            node.describe()
                        ),
                    )
                    .help("`start` wants as many tests to pass as passed at the run's start");
                None
            }
        }
    }

    /// Parses the patterns of files that must not change.
    pub(super) fn frozen(&mut self, fields: &Fields<'_>) -> Vec<String> {
        let Some(names) = fields.names("frozen") else {
            return Vec::new();
        };
        if let (true, Some(node)) = (names.is_empty(), fields.get("frozen")) {
            self.report
                .warning(
                    node.span,
                    "frozen_nothing",
                    "`frozen` has no patterns, so it keeps no file as it was",
                )
                .help("name files such as `tests/**` and `package.json`, or remove it");
        }
        let mut patterns = Vec::new();
        for (text, node) in names {
            match glob::compile(text) {
                Ok(_) => patterns.push(text.to_owned()),
                Err(reason) => self.invalid_pattern(node, text, &reason),
            }
            let leads_out = text.split('/').any(|part| part == "..");
            if leads_out || text.starts_with(['/', '~']) {
                self.report
                    .warning(
                        node.span,
                        "report_outside",
                        format!("`{text}` matches nothing: only files of the project are frozen"),
                    )
                    .help("write it relative to the project root");
            }
        }
        patterns
    }

    fn invalid_pattern(&mut self, node: &Node, text: &str, reason: &str) {
        self.report
            .error(
                node.span,
                "invalid_pattern",
                format!("`{text}` is not a valid pattern: {reason}"),
            )
            .help("use `*` within a segment, `**` for any depth, `?`, `[...]` and `{a,b}`");
    }

    /// Refuses what only a workflow that guards an agent can observe.
    fn refuse_in_pipelines(&mut self, fields: &Fields<'_>) {
        if !std::ptr::eq(self.reads.table, &raw const PIPELINE_GUARD) {
            return;
        }
        for name in ["report", "frozen"] {
            if let Some(entry) = fields.entry(name) {
                self.report
                    .error(
                        entry.key_span,
                        "misplaced_field",
                        format!("`{name}` is for workflows that guard an agent: in a pipeline nobody reads reports"),
                    )
                    .help("remove it");
            }
        }
    }
}
