#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{pipeline_schema, schema};
use crate::{
    diagnostic::Report,
    parse,
    source::{Files, Source},
};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases");

/// What the shape of a file shows, without knowing what its names stand for.
const OF_SHAPE: &[&str] = &[
    "unknown_field",
    "wrong_type",
    "missing_field",
    "two_spellings",
    "wrong_value",
];

/// Cases whose mistake of this kind only the reading finds.
const NOT_SHOWN: &[&str] = &[
    "a_default_of_another_type",
    "a_budget_too_fine",
    "an_unknown_way_to_think",
    "body_is_missing",
];

fn cases(folder: &str) -> Vec<(PathBuf, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(Path::new(CASES).join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if !path
            .extension()
            .is_some_and(|end| end == "yaml" || end == "json")
        {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut files = Files::default();
        let file = files.add(Source::new(path.display().to_string(), text));
        let tree = parse::parse(&files, file, &mut Report::default());
        found.extend(tree.map(|tree| (path, tree.to_value())));
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found
}

fn admits_all(schema: &Value, folder: &str) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let cases = cases(folder);
    assert!(cases.len() > 5);
    for (path, value) in cases {
        let wrong: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
    }
}

#[test]
fn files_in_order_are_admitted() {
    admits_all(&pipeline_schema(), "pipeline/valid");
    admits_all(&pipeline_schema(), "pipeline/warnings");
    admits_all(&schema(), "warnings");
}

#[test]
fn a_pipeline_of_another_shape_is_not_admitted() {
    let validator = jsonschema::validator_for(&pipeline_schema()).unwrap();
    let mut looked_at = 0;
    for (path, value) in cases("pipeline/invalid") {
        let expect = fs::read_to_string(path.with_extension("expect")).unwrap();
        let code = |line: &str| {
            line.split_whitespace()
                .nth(2)
                .map(|code| code.trim_end_matches(':').to_owned())
        };
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let shown = expect
            .lines()
            .all(|line| code(line).is_some_and(|code| OF_SHAPE.contains(&code.as_str())));
        if shown && !NOT_SHOWN.contains(&name.as_str()) {
            looked_at += 1;
            assert!(!validator.is_valid(&value), "{name}");
        }
    }
    assert!(looked_at > 25, "{looked_at}");
}

#[test]
fn every_schema_has_a_name_of_its_own() {
    let schemas = [
        schema(),
        super::flowstate_schema(),
        super::codemie_schema(),
        pipeline_schema(),
    ];
    let mut ids: Vec<&str> = schemas
        .iter()
        .map(|schema| schema.get("$id").and_then(Value::as_str).unwrap())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| id.starts_with("urn:interlock:schema:")));
}
