//! Protected things in text of which nothing more is known.

use super::{
    Guarded, folded, named,
    table::{ACTS, FILES, PROGRAM, READERS, Row, Under},
};

impl Guarded<'_> {
    /// Looks for the name of a protected thing in text that may be run or written to.
    pub(super) fn in_text(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        if lower.contains("interlock_") {
            return Some("the variables `INTERLOCK_*`".to_owned());
        }
        own_command(&lower)
            .or_else(|| {
                FILES
                    .iter()
                    .find(|row| mentions(row, &lower))
                    .map(|row| named(row.what, &row.names.join("/")))
            })
            .or_else(|| self.own_place(&lower))
    }

    fn own_place(&self, lower: &str) -> Option<String> {
        let surroundings = self.surroundings;
        let places = [
            &surroundings.state_directory,
            &surroundings.config_directory,
        ];
        let home = surroundings.home.as_deref().map(folded);
        places.into_iter().flatten().find_map(|place| {
            let whole = folded(place);
            let below_home = home
                .as_deref()
                .and_then(|home| whole.strip_prefix(home))
                .unwrap_or(&whole);
            (lower.contains(&whole) || lower.contains(below_home))
                .then(|| named("Interlock's files", place))
        })
    }
}

/// Finds Interlock's command with a word that does more than report.
fn own_command(lower: &str) -> Option<String> {
    let mut tokens = lower
        .split(|c: char| !(c.is_ascii_alphanumeric() || "_-./$".contains(c)))
        .filter(|token| !token.is_empty())
        .peekable();
    while let Some(token) = tokens.next() {
        if token.rsplit('/').next() != Some(PROGRAM) {
            continue;
        }
        let mut rest = tokens.clone().filter(|token| !token.starts_with('-'));
        match rest.next() {
            Some(word) if ACTS.contains(&word) || word.starts_with('$') => {
                return Some(format!("the command `{PROGRAM} {word}`"));
            }
            _ => {}
        }
    }
    None
}

/// Tells whether text holds the path of a row as a path of its own.
fn mentions(row: &Row, lower: &str) -> bool {
    let path = row.names.join("/");
    let beginning = path.trim_end_matches('*');
    lower.match_indices(beginning).any(|(at, _)| {
        let before = lower.get(..at).and_then(|text| text.chars().next_back());
        let after = lower.get(at + beginning.len()..).unwrap_or_default();
        starts_here(row.under, before) && ends_here(row, path.ends_with('*'), after)
    })
}

fn starts_here(under: Under, before: Option<char>) -> bool {
    match under {
        // What lies in home is named from there.
        Under::Home | Under::Root => before == Some('/'),
        Under::Any => !before.is_some_and(is_name_character),
    }
}

fn ends_here(row: &Row, open: bool, after: &str) -> bool {
    if let Some(below) = after.strip_prefix('/') {
        let next = below
            .split(|c| !is_name_character(c))
            .next()
            .unwrap_or_default();
        return row.deep && !row.but.contains(&next);
    }
    open || !after.chars().next().is_some_and(is_name_character)
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Tells whether a tool of a server says by its name that it only reads.
pub(super) fn names_a_reader(tool: &str) -> bool {
    let last = tool
        .rsplit("__")
        .next()
        .unwrap_or(tool)
        .to_ascii_lowercase();
    const CHANGES: [&str; 22] = [
        "write", "replace", "edit", "update", "delete", "remove", "create", "put", "move",
        "rename", "exec", "run", "save", "append", "patch", "insert", "apply", "copy", "host",
        "upload", "modify", "make",
    ];
    let reads = last
        .split(['_', '-', '.'])
        .any(|part| READERS.iter().any(|reader| part.starts_with(reader)));
    // A name that says both is taken for the worse.
    reads && !CHANGES.iter().any(|word| last.contains(word))
}
