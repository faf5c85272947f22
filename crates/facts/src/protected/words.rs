//! Protected files and commands in unparsed text.

use super::{
    Guarded, clients, folded, named,
    table::{ACTS, ANSWERS, BESIDE, FILES, PROGRAM, READERS, Row, Under},
};

/// Maximum length of a line that is searched; no shell can be started with a longer one as an argument.
const TEXT_MAX: usize = 256 * 1024;

impl Guarded<'_> {
    /// Searches text that may be run or written to for the name of a protected file.
    pub(super) fn in_text(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        if lower.contains("interlock_") {
            return Some("the variables `INTERLOCK_*`".to_owned());
        }
        own_command(&lower)
            .or_else(|| clients::in_text(&lower))
            .or_else(|| mentioned(&lower))
            .or_else(|| self.own_place(&lower))
    }

    /// Does the same for an entire unreadable line, also without its quoting characters.
    pub(super) fn in_hidden_text(&self, line: &str) -> Option<String> {
        if line.len() > TEXT_MAX {
            return Some("whatever a line of more than 256 KiB hides".to_owned());
        }
        let lower = line.to_lowercase();
        let answer = ANSWERS.iter().find(|word| lower.contains(**word));
        if let Some(word) = answer.filter(|_| names_program(&lower)) {
            return Some(format!("the command `{PROGRAM} {word}`"));
        }
        self.in_text(line).or_else(|| {
            let bare = line.replace(['"', '\'', '\\'], "");
            self.in_text(&bare)
        })
    }

    fn own_place(&self, lower: &str) -> Option<String> {
        let context = self.context;
        let places = [&context.state_directory, &context.config_directory];
        let home = context.home.as_deref().map(folded);
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

/// Finds the path of a protected file in text.
pub(super) fn mentioned(lower: &str) -> Option<String> {
    FILES
        .iter()
        .find(|row| mentions(row, lower))
        .map(|row| named(row.what, &row.names.join("/")))
}

/// Returns whether text contains the name of Interlock's program as a word.
pub(super) fn names_program(lower: &str) -> bool {
    let mut tokens = lower.split(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c)));
    tokens.any(|token| token.rsplit('/').next() == Some(PROGRAM))
}

/// Finds Interlock's command with a word that does more than report.
pub(super) fn own_command(lower: &str) -> Option<String> {
    let renamed = lower.contains("=interlock") && lower.contains("alias");
    if renamed && let Some(word) = ACTS.iter().find(|word| lower.contains(**word)) {
        return Some(format!("the command `{PROGRAM} {word}`"));
    }
    let mut tokens = lower
        .split(|c: char| !(c.is_ascii_alphanumeric() || "_-./$".contains(c)))
        .filter(|token| !token.is_empty())
        .peekable();
    while let Some(token) = tokens.next() {
        match token.rsplit('/').next() {
            Some(PROGRAM) => {}
            // It reports nothing that an agent needs.
            Some(name) if BESIDE.contains(&name) => return Some(format!("the command `{name}`")),
            _ => continue,
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

/// Returns whether text contains the path of a row as a separate path.
fn mentions(row: &Row, lower: &str) -> bool {
    let mut path = row.names.join("/");
    if row.under == Under::Config {
        path.insert_str(0, ".config/");
    }
    let beginning = path.trim_end_matches('*');
    lower.match_indices(beginning).any(|(at, _)| {
        let before = lower.get(..at).and_then(|text| text.chars().next_back());
        let after = lower.get(at + beginning.len()..).unwrap_or_default();
        starts_here(row.under, before) && ends_here(row, path.ends_with('*'), after)
    })
}

fn starts_here(under: Under, before: Option<char>) -> bool {
    match under {
        // What is in home is named relative to it.
        Under::Home | Under::Config | Under::Root => before == Some('/'),
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

/// Returns whether the name of a server's tool suggests that it only reads.
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
    // If a name suggests both, the worse counts.
    reads && !CHANGES.iter().any(|word| last.contains(word))
}

/// Returns whether the name of a tool suggests that it shows the contents of files below a directory.
pub(super) fn names_a_search(tool: &str) -> bool {
    let last = tool
        .rsplit("__")
        .next()
        .unwrap_or(tool)
        .to_ascii_lowercase();
    [
        "search",
        "grep",
        "tree",
        "directory",
        "query",
        "multiple",
        "many",
    ]
    .iter()
    .any(|word| last.contains(word))
}

/// Returns whether code removes or moves an entire repository.
pub(super) fn takes_away_a_repository(lower: &str) -> bool {
    let verbs = ["rm", "remove", "unlink", "rename", "move", "delete"];
    let named = lower.match_indices(".git").any(|(at, part)| {
        let before = lower.get(..at).and_then(|text| text.chars().next_back());
        let after = lower
            .get(at + part.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(is_name_character)
            && matches!(after, Some('"' | '\'' | '`' | '/' | ' ' | ')'))
    });
    named && verbs.iter().any(|verb| lower.contains(verb))
}
