//! The files for editors: the schemas in `editors/schemas` are those of the program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_formats::{codemie_schema, flowstate_schema, pipeline_schema, schema};
use serde_json::{Value, json};

/// The address below which SchemaStore serves schemas; their `$id` contains it.
const STORE: &str = "https://www.schemastore.org";

/// Returns the formats, with the files in which editors expect them.
fn formats() -> [(&'static str, &'static str, Value, &'static [&'static str]); 4] {
    [
        (
            "native",
            "Interlock workflow",
            schema(),
            &[
                "**/.interlock/workflows/*.json",
                "**/.interlock/workflows/*.yaml",
                "**/.interlock/workflows/*.yml",
            ],
        ),
        (
            "flowstate",
            "FlowState workflow",
            flowstate_schema(),
            &["**/.flowstate/*.yaml", "**/.flowstate/*/index.yaml"],
        ),
        (
            "codemie",
            "CodeMie workflow",
            codemie_schema(),
            &["*.codemie.yaml"],
        ),
        (
            "pipeline",
            "Interlock pipeline",
            pipeline_schema(),
            &["*.pipeline.yaml", "*.pipeline.json"],
        ),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors")
}

/// Compares a file with its expected content, or writes it if `INTERLOCK_BLESS` is set.
fn same(path: &Path, wanted: &Value) {
    let text = format!("{}\n", serde_json::to_string_pretty(wanted).unwrap());
    if std::env::var_os("INTERLOCK_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &text).unwrap();
    }
    assert!(
        fs::read_to_string(path).is_ok_and(|found| found == text),
        "{}: set `INTERLOCK_BLESS=1` and run this test again",
        path.display()
    );
}

#[test]
fn the_schemas_for_editors_are_those_of_the_program() {
    for (format, _, schema, _) in formats() {
        let mut schema = schema;
        // In the program, a schema has a name; in the store, it has an address.
        schema["$id"] = json!(format!("{STORE}/interlock-{format}.json"));
        same(
            &folder().join(format!("schemas/{format}.schema.json")),
            &schema,
        );
    }
}

#[test]
fn the_extension_has_the_version_of_the_program() {
    let text = fs::read_to_string(folder().join("vscode/package.json")).unwrap();
    let about: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_page_installs_the_package_that_is_made() {
    let read = |name: &str| fs::read_to_string(folder().join(name)).unwrap();
    let about: Value = serde_json::from_str(&read("vscode/package.json")).unwrap();
    let text = |key: &str| about[key].as_str().unwrap();
    let (name, version) = (text("name"), text("version"));
    assert!(about["scripts"]["package"].is_string());
    assert!(read("vscode/scripts/package.mjs").contains("\"target/package/vscode\""));
    let page = read("../docs/src/editors.md");
    let install =
        format!("code --install-extension ../../target/package/vscode/{name}-{version}.vsix");
    assert!(
        page.contains(&format!("\nnpm run package\n{install}\n")),
        "{install}"
    );
}

#[test]
fn the_entries_of_the_catalog_name_every_schema() {
    let entries: Vec<Value> = formats()
        .into_iter()
        .map(|(format, name, _, files)| {
            json!({
                "name": name,
                "description": format!("{name}, checked by `interlock check`"),
                "fileMatch": files,
                "url": format!("{STORE}/interlock-{format}.json"),
            })
        })
        .collect();
    same(
        &folder().join("schemastore.json"),
        &json!({ "schemas": entries }),
    );
}
