//! The rows of `tests/shell/*.txt`.

/// A line and its effects.
#[derive(Debug)]
pub(crate) struct Row {
    /// The number of the line in the file.
    pub(crate) number: usize,
    pub(crate) line: String,
    pub(crate) shown: String,
    /// As in `tests/shell/README.md`: `+ran`, `-f.txt`, `shows NAME`, `connects`.
    pub(crate) effects: Vec<String>,
}

/// Parses a table: `line ⇒ effects`, `⏎` for a line feed, `# ` for headings.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, row) in text.lines().enumerate() {
        if row.trim().is_empty() || row.starts_with("# ") {
            continue;
        }
        let (line, effects) = row.rsplit_once(" ⇒ ").unwrap_or((row, ""));
        rows.push(Row {
            number: at + 1,
            line: line.replace('⏎', "\n").replace('␉', "\t"),
            shown: line.to_owned(),
            effects: effects
                .split("; ")
                .map(str::trim)
                .filter(|effect| !effect.is_empty())
                .map(str::to_owned)
                .collect(),
        });
    }
    rows
}
