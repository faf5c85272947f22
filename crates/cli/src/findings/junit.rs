//! JUnit XML, for CI services and for `report` evidence of workflows.

use std::{collections::BTreeSet, fmt::Write as _};

use interlock_core::visible::push_visible;

use super::{Case, CaseResult};

/// Writes one suite per file.
pub(super) fn write(command: &str, cases: &[Case]) -> String {
    let files: BTreeSet<&str> = cases.iter().map(|case| case.file.as_str()).collect();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<testsuites name=\"interlock {command}\"{}>",
        counts(cases.iter())
    );
    for file in files {
        let of_file = || cases.iter().filter(|case| case.file == file);
        let name = escaped(file);
        let _ = writeln!(text, "  <testsuite name=\"{name}\"{}>", counts(of_file()));
        for case in of_file() {
            write_case(&mut text, &name, case);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn write_case(text: &mut String, file: &str, case: &Case) {
    let name = escaped(&case.name);
    let _ = write!(
        text,
        "    <testcase classname=\"{file}\" file=\"{file}\" name=\"{name}\""
    );
    let (element, why) = match &case.outcome {
        CaseResult::Passed => {
            text.push_str("/>\n");
            return;
        }
        CaseResult::Failed(why) => ("failure", why),
        CaseResult::Undecided(why) => ("error", why),
    };
    let first = escaped(why.lines().next().unwrap_or_default());
    let _ = writeln!(
        text,
        ">\n      <{element} message=\"{first}\">{}</{element}>\n    </testcase>",
        escaped(why)
    );
}

/// Returns the attributes that count cases by their outcome.
fn counts<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let (mut tests, mut failures, mut errors) = (0_usize, 0_usize, 0_usize);
    for case in cases {
        tests += 1;
        match case.outcome {
            CaseResult::Passed => {}
            CaseResult::Failed(_) => failures += 1,
            CaseResult::Undecided(_) => errors += 1,
        }
    }
    format!(" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

/// Escapes text for an attribute or an element; characters that XML cannot represent are shown by their codes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' | '\t' => escaped.push(letter),
            '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(letter));
            }
            other => push_visible(&mut escaped, other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use interlock_core::substance::ReportFormat;
    use interlock_facts::read_report;

    use super::{Case, CaseResult, write};

    #[test]
    fn our_own_reader_of_reports_reads_every_outcome() {
        let case = |file: &str, name: &str, outcome| Case {
            file: file.to_owned(),
            name: name.to_owned(),
            outcome,
        };
        let nasty = "]]> <&\"' \u{1b}[31m \u{0} \u{ffff} \u{1f600}\r\nsecond".to_owned();
        let cases = [
            case("a.yaml", "one", CaseResult::Passed),
            case("b <&>.yaml", "two \"<&>'\" \u{7}", CaseResult::Passed),
            case("a.yaml", "three", CaseResult::Failed(nasty.clone())),
            case("a.yaml", "four", CaseResult::Undecided(nasty)),
        ];
        let written = write("test", &cases);
        let report = read_report(ReportFormat::Junit, &[written.into_bytes()]).unwrap();
        let counts = report.counts(None);
        assert_eq!((counts.passed, counts.failed, counts.skipped), (2, 2, 0));
    }

    #[test]
    fn a_report_without_cases_is_whole() {
        let written = write("check", &[]);
        let report = read_report(ReportFormat::Junit, &[written.into_bytes()]).unwrap();
        assert_eq!(report.counts(None).passed, 0);
    }
}
