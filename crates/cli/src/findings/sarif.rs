//! SARIF 2.1.0, for code scanning services.

use interlock_formats::Severity;
use serde_json::{Value, json};

use super::Finding;

/// Schema of the document.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes one run of one tool.
pub(super) fn write(command: &str, findings: &[Finding]) -> Value {
    let mut rules: Vec<&str> = findings
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| result(finding, &rules))
        .collect();
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| json!({ "id": rule, "shortDescription": { "text": rule.replace('_', " ") } }))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "interlock",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://github.com/interlock-cli/interlock",
                "rules": rules,
            } },
            "automationDetails": { "id": format!("interlock/{command}/") },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(finding: &Finding, rules: &[&str]) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut region = json!({ "startLine": finding.line.max(1) });
    if let (Some(column), Value::Object(region)) = (finding.column, &mut region) {
        region.insert("startColumn".to_owned(), json!(column.max(1)));
    }
    json!({
        "ruleId": finding.rule,
        "ruleIndex": rules.iter().position(|rule| *rule == finding.rule),
        "level": level,
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": artifact(&finding.file),
            "region": region,
        } }],
    })
}

/// Names a file by a relative reference, or by its complete URI if it is outside the repository.
fn artifact(file: &str) -> Value {
    if file.starts_with('/') {
        return json!({ "uri": format!("file://{}", reference(file)) });
    }
    json!({ "uri": reference(file), "uriBaseId": "%SRCROOT%" })
}

/// Writes a path as a part of a URI.
fn reference(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use interlock_formats::Severity;
    use serde_json::json;

    use super::{Finding, artifact, write};

    #[test]
    fn paths_become_references() {
        assert_eq!(
            artifact("a b/ü:c.yaml"),
            json!({ "uri": "a%20b/%C3%BC%3Ac.yaml", "uriBaseId": "%SRCROOT%" })
        );
        assert_eq!(
            artifact("/tmp/a.yaml"),
            json!({ "uri": "file:///tmp/a.yaml" })
        );
    }

    #[test]
    fn every_result_points_at_its_rule() {
        let finding = |rule: &str, severity| Finding {
            rule: rule.to_owned(),
            severity,
            message: "it is wrong".to_owned(),
            file: "a.yaml".to_owned(),
            line: 0,
            column: Some(2),
        };
        let written = write(
            "check",
            &[
                finding("unset_key", Severity::Note),
                finding("dead_end", Severity::Error),
                finding("unset_key", Severity::Warning),
            ],
        );
        let rules = written.pointer("/runs/0/tool/driver/rules");
        assert_eq!(
            rules,
            Some(&json!([
                { "id": "dead_end", "shortDescription": { "text": "dead end" } },
                { "id": "unset_key", "shortDescription": { "text": "unset key" } },
            ]))
        );
        for (index, rule, level) in [(0, 1, "note"), (1, 0, "error"), (2, 1, "warning")] {
            let at = |field: &str| written.pointer(&format!("/runs/0/results/{index}/{field}"));
            assert_eq!(at("ruleIndex"), Some(&json!(rule)));
            assert_eq!(at("level"), Some(&json!(level)));
            let line = at("locations/0/physicalLocation/region/startLine");
            assert_eq!(line, Some(&json!(1)), "lines count from 1");
        }
    }
}
