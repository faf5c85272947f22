//! CodeMie files: the diagnostics of invalid ones.

mod reading;

use std::fs;

use interlock_formats::{Severity, Source, Workflows, check, check_strictly, render};

use crate::support::corpus;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/codemie");

/// A configuration with few definitions.
struct Configuration;

impl Workflows for Configuration {
    fn find(&self, _id: &str) -> Option<Result<Source, String>> {
        None
    }

    fn entries(&self, table: &str) -> Option<Vec<String>> {
        let ids: &[&str] = match table {
            "assistants" => &["reviewer", "broken", "misspelt"],
            "datasources" => &["handbook"],
            "integrations" => &["prod-db"],
            "mcp_servers" => &["shared"],
            "skills" => &[],
            _ => return None,
        };
        Some(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    fn configured(&self, table: &str, id: &str) -> Option<Result<Source, String>> {
        let text = match (table, id) {
            ("assistants", "reviewer") => {
                "system_prompt: Review.\nmodel: gpt-4.1\ntools: [{name: read_file}]\n"
            }
            ("assistants", "broken") => "system_prompt: [\n",
            ("assistants", "misspelt") => "{\"system_promt\": \"Review.\"}",
            _ => return None,
        };
        let ending = if text.starts_with('{') {
            "json"
        } else {
            "yaml"
        };
        Some(Ok(Source::new(format!("{id}.{ending}"), text)))
    }
}

/// Returns the codes of a workflow's diagnostics, with lines and columns.
fn said(text: &str, strict: bool) -> Vec<String> {
    let source = Source::new("case.yaml", text);
    let found = if strict {
        check_strictly(&source, &Configuration)
    } else {
        check(&source, &Configuration)
    };
    found
        .iter()
        .map(|found| {
            format!(
                "{}:{} {} {}",
                found.line, found.column, found.severity, found.code
            )
        })
        .collect()
}

#[test]
fn every_mistake_is_named_at_its_place() {
    corpus::compare(CASES, "invalid", &Configuration, true);
}

#[test]
fn every_doubt_is_named_at_its_place() {
    corpus::compare(CASES, "warnings", &Configuration, false);
}

#[test]
fn files_in_order_have_no_errors() {
    for path in corpus::cases(CASES, "files") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let said = check(&Source::new(name.clone(), text), &Configuration);
        let fails = said.iter().any(|found| found.severity == Severity::Error);
        assert!(!fails, "{}", render(&said, false));
    }
}
