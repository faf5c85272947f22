#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::schema;
use crate::{
    diagnostic::Report,
    parse,
    source::{Files, Source},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Cases whose mistake the shape of a file shows, without knowing what its names stand for.
const SHOWN: &[&str] = &[
    "unknown-argument",
    "unknown-state-key",
    "unknown-top-key",
    "missing-argument",
    "missing-tool",
    "arguments-is-a-list",
    "capture-word",
    "command-is-a-list",
    "condition-of-another-tool",
    "custom-tool-command-is-a-text",
    "custom-tool-without-command",
    "duration-with-two-units",
    "duration-without-unit",
    "empty-states",
    "environment-name",
    "loop-empty-word",
    "loop-with-two-bodies",
    "loop-without-a-body",
    "max-transitions-is-zero",
    "no-states",
    "next-with-a-template",
    "on-crash-word",
    "on-error-code-negative",
    "on-error-code-text",
    "on-error-code-too-large",
    "on-error-code-zero",
    "options-empty",
    "output-form",
    "output-with-a-template",
    "output-without-a-name",
    "parallel-at-once",
    "parallel-pause",
    "parallel-switch",
    "parallel-task-with-next",
    "parallel-without-tasks",
    "retry-attempts",
    "retry-without-attempts",
    "state-name-with-a-slash",
    "states-is-a-text",
    "switch-without-goto",
    "switch-without-rest",
    "tool-with-a-template",
];

/// Reads a file as an editor does.
fn read(path: &Path) -> Value {
    read_text(path, &fs::read_to_string(path).unwrap())
}

fn read_text(path: &Path, text: &str) -> Value {
    let mut files = Files::default();
    let file = files.add(Source::new("case.yaml", text));
    let mut report = Report::default();
    let tree = parse::parse_as_written(&files, file, &mut report);
    assert!(!report.has_errors(), "{} cannot be read", path.display());
    parse::typed_value(&tree.unwrap())
}

fn yaml_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(yaml_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn files_in_order_fit_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let root = Path::new(ROOT);
    let mut all = yaml_below(&root.join("tests/cases/flowstate/warnings"));
    all.extend(yaml_below(&root.join("examples")));
    // What others name and extend.
    for name in ["asks", "checks", "parent"] {
        all.push(root.join(format!("tests/cases/flowstate/files/{name}.yaml")));
    }
    for path in &all {
        let value = read(path);
        // Other formats have schemas of their own.
        let is_other = ["initial", "stages", "assistants"]
            .iter()
            .any(|key| value.get(key).is_some());
        if is_other {
            continue;
        }
        let found: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(found.is_empty(), "{}: {found:#?}", path.display());
    }
    assert!(all.len() > 25, "the cases are missing: {}", all.len());
}

/// Errors that say nothing of a file's shape, but of others that it names.
const OF_OTHERS: &[&str] = &[
    "undefined_workflow",
    "undefined_state",
    "undefined_namespace",
    "bad_guard",
    "unknown_tool",
    "missing_key",
];

/// Returns every workflow that stands in the case files and is in order, as far as it can be seen alone.
fn of_cases() -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for path in yaml_below(&Path::new(ROOT).join("tests/cases/flowstate/runs")) {
        let case = read(&path);
        let named = case.get("files").and_then(Value::as_object);
        let texts = named
            .into_iter()
            .flatten()
            .filter(|(name, _)| name.ends_with(".yaml"))
            .map(|(_, text)| text)
            .chain(case.get("flow"));
        for text in texts.filter_map(Value::as_str) {
            let is_one = text.contains("start-at:") || text.contains("extends:");
            let found = crate::check(&Source::new("case.yaml", text), &crate::NoWorkflows);
            let in_order = found.iter().all(|found| {
                found.severity != crate::Severity::Error || OF_OTHERS.contains(&found.code)
            });
            if is_one && in_order {
                all.push((path.clone(), text.to_owned()));
            }
        }
    }
    all
}

#[test]
fn the_workflows_of_the_cases_fit_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let all = of_cases();
    assert!(all.len() > 150, "the cases are missing: {}", all.len());
    let mut wrong = Vec::new();
    for (path, text) in &all {
        let value = read_text(path, text);
        let errors = validator.iter_errors(&value);
        wrong.extend(
            errors.map(|error| format!("{}: {}: {error}", path.display(), error.instance_path())),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_the_shape_of_a_file_shows_is_refused() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let cases = Path::new(ROOT).join("tests/cases/flowstate/invalid");
    let shown = |name: &str| !validator.is_valid(&read(&cases.join(format!("{name}.yaml"))));
    let missed: Vec<&&str> = SHOWN.iter().filter(|name| !shown(name)).collect();
    assert!(missed.is_empty(), "these fit the schema: {missed:?}");
}

#[test]
fn every_key_says_what_it_does() {
    let schema = schema();
    let mut count = 0;
    let mut open = vec![&schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                if let Some(Value::Object(properties)) = object.get("properties")
                    && object.contains_key("additionalProperties")
                {
                    for (name, property) in properties {
                        count += 1;
                        assert!(property.get("description").is_some(), "{name}");
                    }
                }
                open.extend(object.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    assert!(count > 60, "{count}");
}
