//! Operations on texts, from case files.

use std::{fs, path::Path};

use interlock_edit::{Operation, edit};
use interlock_formats::{NoWorkflows, Source};
use serde_json::Value;

#[test]
fn operations_do_what_the_cases_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let mut options = serde_saphyr::Options::default();
        // As in YAML 1.2, `on`, `no` and `y` are text.
        options.strict_booleans = true;
        let cases: Vec<Value> = serde_saphyr::from_str_with_options(&text, options).unwrap();
        for case in cases {
            count += 1;
            wrong.extend(tried(&case));
        }
    }
    assert!(count > 30, "{count} cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the problem, if there is one.
fn tried(case: &Value) -> Option<String> {
    let word = |key: &str| case.get(key).and_then(Value::as_str);
    let name = word("name").unwrap();
    let source = Source::new(word("file").unwrap_or("w.yaml"), word("text").unwrap());
    let operations = case.get("operations").unwrap().to_string();
    let operations: Vec<Operation> = serde_json::from_str(&operations).unwrap();
    let found = edit(&source, word("machine"), &operations, &NoWorkflows);
    match (found, word("becomes"), word("refused")) {
        (Ok(edited), Some(wanted), None) if edited.text == wanted => None,
        (Ok(edited), wanted, _) => Some(format!(
            "{name}: became\n{}\ninstead of\n{}",
            edited.text,
            wanted.unwrap_or("a refusal")
        )),
        (Err(refusal), None, Some(wanted)) if refusal.why.code() == wanted => None,
        (Err(refusal), ..) => Some(format!("{name}: refused: {refusal:?}")),
    }
}
