//! Annotations of GitHub Actions: one workflow command per line.

use interlock_core::visible::push_visible;
use interlock_formats::Severity;

use super::Finding;

/// Writes each finding as an annotation.
pub(super) fn write(findings: &[Finding]) -> String {
    findings.iter().map(annotation).collect()
}

fn annotation(finding: &Finding) -> String {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let column = finding
        .column
        .map_or_else(String::new, |column| format!(",col={column}"));
    format!(
        "::{command} file={},line={}{column},title={}::{}\n",
        property(&finding.file),
        finding.line,
        property(&finding.rule),
        data(&finding.message),
    )
}

/// Escapes the message of a command.
fn data(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '%' => escaped.push_str("%25"),
            '\r' => escaped.push_str("%0D"),
            '\n' => escaped.push_str("%0A"),
            other => push_visible(&mut escaped, other),
        }
    }
    escaped
}

/// Escapes the value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use interlock_formats::Severity;

    use super::{Finding, write};

    #[test]
    fn what_would_end_a_command_or_a_property_is_escaped() {
        let written = write(&[Finding {
            rule: "a:b,c".to_owned(),
            severity: Severity::Warning,
            message: "50% of it: one, two\r\n::error::not ours".to_owned(),
            file: "a,b:c%.yaml".to_owned(),
            line: 3,
            column: Some(7),
        }]);
        assert_eq!(
            written,
            "::warning file=a%2Cb%3Ac%25.yaml,line=3,col=7,title=a%3Ab%2Cc::50%25 of it: one, two%0D%0A::error::not ours\n"
        );
    }
}
