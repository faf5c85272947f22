//! The rows of `tests/habits`.

use std::{fs, path::Path};

use serde::Deserialize;

/// The effect of a line, as classified by a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Only reads files, history or the machine's state.
    Read,
    /// Reads, and accesses servers.
    Fetch,
    /// Changes something.
    Write,
    /// Runs a whole test suite.
    Suite,
    /// Runs a part of it, or hides its exit code.
    Narrowed,
}

/// A line from an agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// The shell line.
    pub(crate) line: String,
    /// Its effect.
    pub(crate) kind: Kind,
    /// The command of the related evidence guard.
    #[serde(default)]
    pub(crate) guard: Option<String>,
    /// The directory in the guard.
    #[serde(default)]
    pub(crate) directory: Option<String>,
}

/// Reads every row of every file, sorted by file name.
pub(crate) fn rows() -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/habits");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    let mut rows = Vec::new();
    for file in files {
        for (at, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            let row: Row = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), at + 1));
            let of_suite = matches!(row.kind, Kind::Suite | Kind::Narrowed);
            assert_eq!(of_suite, row.guard.is_some(), "{line}");
            rows.push(row);
        }
    }
    rows
}
