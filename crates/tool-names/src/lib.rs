//! What coding agents call their tools, and which of those names mean the same tool.
//!
//! A rule written with one name of a tool means it under every other. The first name of each is
//! the common one, which rules and messages use.

mod others;

/// The shell.
pub const SHELL: &str = "Bash";
/// The tool that reads a file.
pub const READER: &str = "Read";
/// The tools that write files.
pub const WRITERS: [&str; 5] = ["Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch"];
/// The tools that read from the network.
pub const FETCHERS: [&str; 2] = ["WebFetch", "WebSearch"];

/// Tools by all their names, the common one first.
pub const NAMES: [&[&str]; 18] = [
    &[
        "Bash",
        "run_shell_command",
        "shell",
        "shell_command",
        "exec_command",
        "local_shell",
        "unified_exec",
        "container.exec",
        "write_stdin",
        "bash",
        "write_bash",
        "Shell",
    ],
    &[
        "Edit",
        "replace",
        "edit",
        "str_replace_editor",
        "StrReplace",
    ],
    &["Write", "write_file", "create", "write"],
    &["MultiEdit", "multiedit"],
    &["NotebookEdit", "EditNotebook"],
    &["apply_patch", "patch", "ApplyPatch"],
    &["Read", "read_file", "view", "read"],
    &[
        "Grep",
        "search_file_content",
        "grep_search",
        "grep_files",
        "grep",
    ],
    &["Glob", "glob"],
    &["LS", "list_directory", "list_dir", "list", "ls"],
    &["WebFetch", "web_fetch", "webfetch", "fetch"],
    &["WebSearch", "google_web_search", "web_search", "websearch"],
    &[
        "Task",
        "Agent",
        "task",
        "spawn_agent",
        "collaborationspawn_agent",
        "invoke_agent",
    ],
    &[
        "AskUserQuestion",
        "request_user_input",
        "ask_user",
        "question",
        "AskQuestion",
    ],
    &[
        "TodoWrite",
        "update_plan",
        "write_todos",
        "update_todo",
        "todowrite",
    ],
    &["EnterPlanMode", "enter_plan_mode", "plan_enter"],
    &["ExitPlanMode", "exit_plan_mode", "plan_exit"],
    &["ToolSearch", "tool_search"],
];

/// Returns the name that a server has in those of its tools: letters, digits, `-`, and single `_` within.
#[must_use]
pub fn server_name(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars().take(64) {
        let plain = letter.is_ascii_alphanumeric() || letter == '_';
        let letter = if plain { letter } else { '-' };
        if letter != '_' || !name.ends_with('_') {
            name.push(letter);
        }
    }
    let name = name.trim_matches(['_', '-']);
    if name.is_empty() { "server" } else { name }.to_owned()
}

/// Returns every name of the tool that is called `name` somewhere; empty when it is not known.
#[must_use]
pub fn all_names(name: &str) -> &'static [&'static str] {
    NAMES
        .iter()
        .find(|names| names.contains(&name))
        .copied()
        .unwrap_or_default()
}

/// Returns whether a known client has a tool of exactly this name.
#[must_use]
pub fn is_known(name: &str) -> bool {
    known().any(|tool| tool == name)
}

/// Returns the name of every tool that a known client has.
pub fn known() -> impl Iterator<Item = &'static str> {
    NAMES
        .iter()
        .copied()
        .flatten()
        .chain(others::OTHERS)
        .copied()
}

/// Returns the tool whose name `name` looks like without being any name of it.
///
/// Case, blanks, characters that are not seen, and letters of other scripts that
/// look the same make no difference to who reads it, and one to who compares it.
#[must_use]
pub fn imitated(name: &str) -> Option<&'static str> {
    let looks: String = name.chars().filter_map(plain_look).collect();
    let known = || {
        NAMES
            .iter()
            .copied()
            .flatten()
            .chain(&OTHER_WRITERS)
            .copied()
    };
    if known().any(|known| known == name) {
        return None;
    }
    known().find(|known| known.to_ascii_lowercase() == looks)
}

/// Returns how a text looks to who reads it: small Latin letters, without characters that are not seen.
#[must_use]
pub fn looks(text: &str) -> String {
    text.chars()
        .filter_map(|c| {
            if c.is_whitespace() {
                Some(' ')
            } else {
                plain_look(c)
            }
        })
        .collect()
}

/// Further tools that write or run something, which have no common name.
const OTHER_WRITERS: [&str; 4] = ["Delete", "PowerShell", "powershell", "Monitor"];

/// Returns the small Latin letter that a character looks like; `None`: it is not seen.
fn plain_look(c: char) -> Option<char> {
    let hidden = c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    // Letters of full width stand in the order of the plain ones.
    let narrow = match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    };
    let looks = LOOKS.iter().find(|(letters, _)| letters.contains(narrow));
    let plain = looks.map_or(narrow, |(_, plain)| *plain);
    (!hidden).then(|| plain.to_ascii_lowercase())
}

/// Cyrillic and Greek letters, each with the Latin one it looks like.
const LOOKS: [(&str, char); 22] = [
    ("аАαΑ", 'a'),
    ("вВΒ", 'b'),
    ("сСϲ", 'c'),
    ("ԁ", 'd'),
    ("еЕёЁΕε", 'e'),
    ("ԍ", 'g'),
    ("һнНΗ", 'h'),
    ("іІїЇιΙ", 'i'),
    ("ј", 'j'),
    ("кКΚκ", 'k'),
    ("ӏ", 'l'),
    ("мМΜ", 'm'),
    ("пΝ", 'n'),
    ("оОοΟ", 'o'),
    ("рРρΡ", 'p'),
    ("ԛ", 'q'),
    ("г", 'r'),
    ("ѕЅ", 's'),
    ("тТτΤ", 't'),
    ("ѵνυ", 'v'),
    ("хХχΧ", 'x'),
    ("уУ", 'y'),
];

/// Returns the names by which rules may mean the tool `tool` of `server` behind the gateway.
///
/// The plain name, `SERVER__TOOL` and `mcp__SERVER__TOOL`; the one that is wrapped
/// alone has no name of its own and goes by the gateway's. A plain name that looks
/// like a client's own tool (`Read`, `Bash`) is left out: only the qualified ones mean it.
#[must_use]
pub fn served_names(server: &str, tool: &str) -> Vec<String> {
    let server = if server.is_empty() {
        "interlock"
    } else {
        server
    };
    let mut names = vec![
        format!("mcp__{server}__{tool}"),
        format!("{server}__{tool}"),
    ];
    // Clients begin the names of their own tools with a capital; `mcp__` is for servers' names.
    let own = tool.starts_with(|c: char| c.is_ascii_uppercase()) && is_known(tool);
    if !own && !tool.starts_with("mcp__") && !tool.contains("__") {
        names.push(tool.to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_only_looks_like_a_known_one_is_told_apart() {
        let rows = [
            ("Bash", None),
            ("bash", None),
            ("BASH", Some("Bash")),
            (" Bash", Some("Bash")),
            ("Bash\n", Some("Bash")),
            ("Ba\u{200b}sh", Some("Bash")),
            ("\u{412}ash", Some("Bash")),
            ("Ba\u{455}h", Some("Bash")),
            ("\u{ff22}ash", Some("Bash")),
            ("APPLY_PATCH", Some("apply_patch")),
            ("delete", Some("Delete")),
            ("ReadAll", None),
            ("mcp__a__Bash", None),
            ("", None),
        ];
        for (name, imitates) in rows {
            assert_eq!(imitated(name), imitates, "{name:?}");
        }
    }
}
