//! Cases of a format: a file, and beside it its expected diagnostics.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_formats::{Diagnostic, Severity, Source, Workflows, check, render};

/// A folder with fewer cases is in the wrong place.
const CASES_LEAST: usize = 10;

/// Returns the cases in a folder, sorted.
pub(crate) fn cases(folder: &str, kind: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(Path::new(folder).join(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "yaml" || end == "json")
        })
        .collect();
    found.sort();
    found
}

/// Compares the diagnostics of each case with the file beside it.
///
/// `INTERLOCK_BLESS=1` rewrites the files; review them before committing.
pub(crate) fn compare(folder: &str, kind: &str, others: &dyn Workflows, wants_errors: bool) {
    let bless = std::env::var_os("INTERLOCK_BLESS").is_some();
    let mut wrong = Vec::new();
    let cases = cases(folder, kind);
    assert!(cases.len() > CASES_LEAST, "too few cases in {kind}");
    for path in cases {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let said = check(&Source::new(name.clone(), text), others);
        let lines: String = said.iter().map(|found| shown(found, &name)).collect();
        let expect = path.with_extension("expect");
        if bless {
            fs::write(&expect, &lines).unwrap();
        }
        let wanted = fs::read_to_string(&expect).unwrap_or_default();
        let fails = said.iter().any(|found| found.severity == Severity::Error);
        if lines != wanted || fails != wants_errors {
            wrong.push(format!(
                "== {name}\nwanted:\n{wanted}said:\n{lines}{}",
                render(&said, false)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Formats a diagnostic for an `.expect` file, with its file name only if it differs from the case.
fn shown(found: &Diagnostic, case: &str) -> String {
    let file = if found.file == case {
        String::new()
    } else {
        format!("{}:", found.file)
    };
    let help = found.help.as_ref();
    format!(
        "{file}{}:{} {} {}: {}{}\n",
        found.line,
        found.column,
        found.severity,
        found.code,
        found.message,
        help.map_or_else(String::new, |help| format!(" | {help}")),
    )
}
