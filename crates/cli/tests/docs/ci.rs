//! The pages about CI: snippets name versions, inputs, variables and hooks that exist, and tables say what is so.

use std::{collections::BTreeMap, fs, process::Stdio};

use interlock_testkit::room::Room;
use serde_json::Value;

use super::pages::{blocks, pages, repository};

/// Reads a YAML file of the repository.
fn yaml(name: &str) -> Value {
    serde_saphyr::from_str(&read(name)).unwrap_or_else(|error| unreachable!("{name}: {error}"))
}

fn read(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap()
}

/// Calls `look` with every object in a value.
fn objects(value: &Value, look: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| objects(item, look)),
        Value::Object(members) => {
            look(members);
            members.values().for_each(|member| objects(member, look));
        }
        _ => {}
    }
}

/// Returns the YAML blocks of all pages that use the action, the template for GitLab or the hooks for pre-commit.
fn snippets() -> Vec<(String, Value)> {
    let uses = |text: &str| {
        ["interlock-cli/interlock", ".interlock-guard", "INTERLOCK_"]
            .iter()
            .any(|word| text.contains(word))
    };
    let mut found = Vec::new();
    for (path, text) in pages() {
        for block in blocks(&text) {
            if block.language == "yaml" && uses(&block.text) {
                let place = format!("{}:{}", path.display(), block.line);
                let value = serde_saphyr::from_str(&block.text);
                let value = value.unwrap_or_else(|error| unreachable!("{place}: {error}"));
                found.push((place, value));
            }
        }
    }
    found
}

/// Returns the keys of a member, if it is an object.
fn keys<'v>(of: &'v serde_json::Map<String, Value>, member: &str) -> Vec<&'v str> {
    let members = of.get(member).and_then(Value::as_object);
    members
        .into_iter()
        .flat_map(|members| members.keys().map(String::as_str))
        .collect()
}

#[test]
fn the_snippets_for_ci_services_name_what_is_there() {
    let action = yaml("action.yml");
    let inputs = action["inputs"].as_object().unwrap();
    let gitlab = yaml("ci/gitlab.yml");
    let hooks = yaml(".pre-commit-hooks.yaml");
    let scripts: String = [
        "ci/gitlab.yml",
        "ci/guard.sh",
        "ci/approve.sh",
        "ci/verify.sh",
    ]
    .map(read)
    .concat();
    let version = format!("v{}", env!("CARGO_PKG_VERSION"));
    let (mut used, mut variables) = (0, 0);
    for (place, value) in snippets() {
        objects(&value, &mut |object| {
            let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
            if let Some(is) = text("uses").strip_prefix("interlock-cli/interlock@") {
                used += 1;
                assert_eq!(is, version, "{place}");
                for input in keys(object, "with") {
                    assert!(inputs.contains_key(input), "{place}: no input `{input}`");
                }
            }
            if let Some((_, rest)) = text("remote").split_once("interlock-cli/interlock/") {
                used += 1;
                assert_eq!(rest, format!("{version}/ci/gitlab.yml"), "{place}");
            }
            if text("repo").ends_with("interlock-cli/interlock") {
                used += 1;
                assert_eq!(text("rev"), version, "{place}");
                let known = |id: &Value| {
                    let mut hooks = hooks.as_array().into_iter().flatten();
                    hooks.any(|hook| hook["id"] == *id)
                };
                for hook in object["hooks"].as_array().into_iter().flatten() {
                    assert!(known(&hook["id"]), "{place}: {hook}");
                }
            }
            let extends = text("extends");
            assert!(
                extends.is_empty() || gitlab.get(extends).is_some(),
                "{place}: `{extends}`"
            );
            for variable in [keys(object, "env"), keys(object, "variables")].concat() {
                if variable.starts_with("INTERLOCK_") {
                    variables += 1;
                    assert!(
                        scripts.contains(variable),
                        "{place}: nothing reads `{variable}`"
                    );
                }
            }
        });
    }
    assert!(
        used >= 5 && variables >= 6,
        "{used} uses, {variables} variables"
    );
}

#[test]
fn the_table_of_inputs_is_that_of_the_action() {
    let action = yaml("action.yml");
    let page = read("docs/src/ci.md");
    let (_, table) = page.split_once("\n| input |").unwrap();
    let mut listed: BTreeMap<&str, &str> = BTreeMap::new();
    let rows = table.lines().skip(2);
    for row in rows.take_while(|row| row.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [name, _, default] = cells.as_slice() else {
            unreachable!("{row}");
        };
        listed.insert(
            name.trim().trim_matches('`'),
            default.trim().trim_matches('`'),
        );
    }
    let inputs = action["inputs"].as_object().unwrap();
    for (name, input) in inputs {
        let default = listed.remove(name.as_str());
        let default = default.unwrap_or_else(|| unreachable!("`{name}` is not on the page"));
        let description = input["description"].as_str().unwrap_or_default();
        match input["default"].as_str().unwrap_or_default() {
            // A script fills it in, as the description says.
            "" => assert!(description.contains(default), "`{name}`: `{default}`"),
            is => assert_eq!(default, is, "`{name}`"),
        }
    }
    assert!(listed.is_empty(), "no inputs: {listed:?}");
}

#[test]
fn ci_compiles_for_other_systems_what_the_page_of_platforms_says() {
    let ci = yaml(".github/workflows/ci.yml");
    let lines = |job: &str| -> String {
        let steps = ci["jobs"][job]["steps"].as_array().unwrap().iter();
        let runs = steps.filter_map(|step| step["run"].as_str());
        runs.collect::<Vec<_>>().join("\n")
    };
    let page = read("docs/src/platforms.md");
    let row = page
        .lines()
        .find(|line| line.starts_with("| the program |"));
    let cells: Vec<&str> = row.unwrap().split(" | ").collect();
    let [_, linux, macos, windows] = cells.as_slice() else {
        unreachable!("{cells:?}");
    };
    assert!(linux.contains("all tests run there") && lines("test").contains(".ci/run"));
    assert!(macos.contains("is compiled by CI; no test runs there"));
    assert!(lines("macos").contains("cargo check --locked --workspace"));
    assert!(!lines("macos").contains("cargo test"));
    let compiled = lines("windows");
    let compiled: Vec<&str> = compiled.split_whitespace().collect();
    let crates: Vec<&str> = windows.split('`').skip(1).step_by(2).collect();
    assert!(crates.len() > 2, "{windows}");
    for name in crates {
        let package = format!("interlock-{name}");
        assert!(compiled.contains(&&*package), "{package}");
    }
}

/// A workflow without a mistake.
const SOUND: &str = "id: flow
initial: work
states:
  work: {allowed_tools: [Read], on: {DONE: done}}
  done: {type: final}
";

/// A case that fails.
const FAILING: &str = "workflow: sound.yaml
cases:
  - name: writing is allowed
    steps:
      - {tool: Edit, input: {file_path: a}, expect: {verdict: allow}}
";

#[test]
fn the_exit_codes_of_the_table_for_ci_are_those_of_the_program() {
    let rows = [
        ("check --deny-warnings", "1 for an error or a warning"),
        ("test", "1 if a case fails, 2 if there is none"),
        ("prove", "1 if a property fails, 3 if one is unknown"),
        ("prove NEW --against OLD", "1 if there are any"),
    ];
    let page = read("docs/src/team.md");
    let (_, table) = page.split_once("\n| command | finds |").unwrap();
    let table: Vec<&str> = table.lines().skip(2).take(rows.len() + 1).collect();
    assert_eq!(table.last(), Some(&""), "{table:?}");
    for (row, (command, code)) in table.iter().zip(rows) {
        assert!(row.starts_with(&format!("| `{command}` |")), "{row}");
        assert!(row.ends_with(&format!("| {code} |")), "{row}");
    }

    let room = Room::new().unwrap();
    let promise = "properties:\n  - never: {enter: done}\n";
    for (name, text) in [
        ("sound.yaml", SOUND),
        ("warned.yaml", &SOUND.replace("allowed_tools: [Read], ", "")),
        ("broken.yaml", &SOUND.replace("DONE: done", "DONE: nowhere")),
        ("more.yaml", &SOUND.replace("[Read]", "[Read, Edit]")),
        ("promise.yaml", &format!("{SOUND}{promise}")),
        ("failing.test.yaml", FAILING),
    ] {
        room.write(name, text).unwrap();
    }
    for (line, code) in [
        ("check --deny-warnings sound.yaml", 0),
        ("check --deny-warnings warned.yaml", 1),
        ("check --deny-warnings broken.yaml", 1),
        ("check warned.yaml", 0),
        ("test failing.test.yaml", 1),
        ("test", 2),
        ("prove sound.yaml", 0),
        ("prove promise.yaml", 1),
        ("prove sound.yaml --max-states 1", 3),
        ("prove sound.yaml --against sound.yaml", 0),
        ("prove more.yaml --against sound.yaml", 1),
    ] {
        let mut command = room.command(env!("CARGO_BIN_EXE_interlock"));
        let output = command.args(line.split(' ')).stdin(Stdio::null()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {output:?}");
    }
}
