//! A table that a test makes, in a page of the book.

use std::fs;
use std::path::Path;

/// Checks that the page holds `table` between the marks of this name.
///
/// `INTERLOCK_BLESS=1` writes it there; read what changed.
#[track_caller]
pub(crate) fn assert_holds(page: &str, name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/src")
        .join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = text.split_once(&begin).unwrap();
    let (found, after) = rest.split_once(&end).unwrap();
    let wanted = format!("\n{table}\n");
    if std::env::var_os("INTERLOCK_BLESS").is_some() {
        fs::write(&path, format!("{before}{begin}{wanted}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(
        found, wanted,
        "`{page}` does not say what was seen; `INTERLOCK_BLESS=1` writes it anew"
    );
}

/// A table with one line a row; the first row is the head.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        text += &line(row);
        if index == 0 {
            text += &line(&vec!["---".to_owned(); row.len()]);
        }
    }
    text
}
