//! Conversion of workflows to the native format: the same machine, or a list of the parts that cannot be expressed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_formats::{NoWorkflows, Source, Syntax, convert, load, render, workflow_names};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(directory: &str, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root().join(directory))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    found.sort();
    found
}

/// Returns every self-contained workflow in the tree.
fn workflows() -> Vec<Source> {
    let mut all = Vec::new();
    let mut paths = files("workflows", ".yaml");
    paths.extend(files("tests/cases/examples", ".json"));
    paths.extend(files("tests/cases/warnings", ".yaml"));
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        all.push(Source::new(
            path.file_name().unwrap().to_str().unwrap(),
            text,
        ));
    }
    for area in fs::read_dir(root().join("tests/cases")).unwrap() {
        let area = area.unwrap().path();
        let Some(name) = area
            .file_name()
            .and_then(|name| name.to_str())
            .map(str::to_owned)
        else {
            continue;
        };
        if !area.is_dir() {
            continue;
        }
        for path in files(&format!("tests/cases/{name}"), ".test.yaml") {
            let text = fs::read_to_string(&path).unwrap();
            // The cases of some areas refer to a file instead.
            if let Some(workflow) = case_workflow(&text) {
                all.push(Source::new("case.yaml", workflow));
            }
        }
    }
    all.retain(|source| load(source, None, &NoWorkflows).is_ok());
    assert!(all.len() > 150, "the workflows are missing: {}", all.len());
    all
}

/// Returns the workflow in a case file, as a separate text.
fn case_workflow(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| *line != "workflow:");
    lines.next()?;
    let block: Vec<&str> = lines
        .take_while(|line| line.is_empty() || line.starts_with("  "))
        .map(|line| line.strip_prefix("  ").unwrap_or(line))
        .collect();
    Some(block.join("\n"))
}

#[test]
fn what_is_converted_is_the_same_machine() {
    for source in workflows() {
        let converted = convert(&source, &NoWorkflows).unwrap();
        let before = load(&source, None, &NoWorkflows).unwrap();
        for (name, syntax) in [("a.json", Syntax::Json), ("a.yaml", Syntax::Yaml)] {
            let text = converted.text(syntax);
            let again = Source::new(name, text.clone());
            let after = load(&again, None, &NoWorkflows)
                .unwrap_or_else(|found| panic!("{}\n{text}", render(&found, false)));
            assert_eq!(after.machine, before.machine, "{text}");
            assert_eq!(after.upstream_servers, before.upstream_servers);
            let twice = convert(&again, &NoWorkflows).unwrap();
            assert_eq!(twice, converted);
        }
    }
}

#[test]
fn every_field_has_the_spelling_of_the_format() {
    let state = json!({"deny_env": ["A"], "env": {"B": "c"}, "on": {"E": "b"}});
    let machine = |state: &Value| json!({"id": "x", "initial": "a", "states": {"a": state, "b": {"type": "final"}}});
    let spelled = json!({"blocked_env": ["A"], "env_overrides": {"B": "c"}, "on": {"E": "b"}});
    let rows = [
        (machine(&state), machine(&spelled)),
        (
            json!({"definition": machine(&state), "upstream_servers": {"s": {}}}),
            json!({"definition": machine(&spelled), "upstream_servers": {"s": {}}}),
        ),
        (
            json!({"workflows": {"x": machine(&state), "y": machine(&state)}}),
            json!({"workflows": {"x": machine(&spelled), "y": machine(&spelled)}}),
        ),
    ];
    for (written, wanted) in rows {
        let source = Source::new("a.json", written.to_string());
        let converted = convert(&source, &NoWorkflows).unwrap();
        assert_eq!(converted.value, wanted);
        let names = workflow_names(&source);
        let again = Source::new("a.yaml", converted.text(Syntax::Yaml));
        assert_eq!(workflow_names(&again), names);
    }
}

/// Returns line, column, code and message of each diagnostic of a file.
fn refused(text: &str) -> Vec<String> {
    let found = convert(&Source::new("case.yaml", text), &NoWorkflows).unwrap_err();
    found
        .iter()
        .map(|found| {
            format!(
                "{}:{} {} {}",
                found.line, found.column, found.code, found.message
            )
        })
        .collect()
}

#[test]
fn everything_that_cannot_be_said_is_listed_where_it_stands() {
    let text = "start-at: build
cwd: \"@/\"
states:
  build:
    tool: bash
    arguments: {command: make}
    next: both
  both:
    tool: parallel
    arguments:
      tasks:
        - {tool: bash, arguments: {command: make lint}}
        - {tool: claude, arguments: {prompt: review}}
    next: each
  each:
    tool: for-each
    arguments:
      items-from: {tool: bash, arguments: {command: ls}}
      start-at: one
      states:
        one: {tool: if-empty, arguments: {value: \"{{ item }}\"}}
";
    let found = refused(text);
    let places: Vec<&str> = found
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    let wanted = [
        "2:1", "5:11", "9:11", "12:18", "13:18", "16:11", "18:26", "21:21",
    ];
    assert_eq!(places, wanted, "{found:#?}");
    assert!(
        found.iter().all(|line| line.contains(" not_native ")),
        "{found:#?}"
    );
    assert!(
        found[1].contains("the state `build` cannot be converted: it runs `bash`"),
        "{}",
        found[1]
    );
}

#[test]
fn a_file_that_is_not_in_order_is_not_converted() {
    let found = refused("start-at: a\nstates: {a: {tool: bsah}}\n");
    assert!(found[0].contains("unknown_tool"), "{found:?}");
    let found = refused("id: x\ninitial: a\nstates: {a: {on: {E: b}}}\n");
    assert!(
        found.iter().any(|line| line.contains("undefined_state")),
        "{found:?}"
    );
    let found = refused("stages: []\n");
    assert!(
        found.iter().any(|line| line.contains("must be an object")),
        "{found:?}"
    );
    assert!(!refused("a: [\n").is_empty());
}
