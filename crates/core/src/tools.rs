//! The names of tools: which names of different clients mean the same tool.
//!
//! A rule may be written with either name; what the arguments of a tool are
//! called is not known here.

/// The common names, as workflows are usually written with them.
const COMMON: [&str; 14] = [
    "Read",
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "apply_patch",
    "Bash",
    "Grep",
    "Glob",
    "LS",
    "WebFetch",
    "WebSearch",
    "Task",
    "TodoWrite",
];

/// A client's own name, and the common name of the same tool.
#[rustfmt::skip]
const NATIVE: &[(&str, &str)] = &[
    // Claude Code
    ("Agent", "Task"),
    // Codex
    ("shell", "Bash"),
    ("exec_command", "Bash"),
    ("local_shell", "Bash"),
    ("web_search", "WebSearch"),
    ("update_plan", "TodoWrite"),
    // Gemini CLI
    ("run_shell_command", "Bash"),
    ("read_file", "Read"),
    ("read_many_files", "Read"),
    ("write_file", "Write"),
    ("replace", "Edit"),
    ("search_file_content", "Grep"),
    ("grep_search", "Grep"),
    ("list_directory", "LS"),
    ("web_fetch", "WebFetch"),
    ("google_web_search", "WebSearch"),
    ("write_todos", "TodoWrite"),
    // Copilot CLI
    ("bash", "Bash"),
    ("view", "Read"),
    ("create", "Write"),
    ("edit", "Edit"),
    ("str_replace", "Edit"),
    ("grep", "Grep"),
    ("glob", "Glob"),
    ("task", "Task"),
    // Cursor
    ("Shell", "Bash"),
    ("run_terminal_cmd", "Bash"),
    ("edit_file", "Edit"),
    ("delete_file", "Write"),
    ("list_dir", "LS"),
    ("file_search", "Glob"),
    // opencode
    ("read", "Read"),
    ("write", "Write"),
    ("multiedit", "MultiEdit"),
    ("patch", "apply_patch"),
    ("list", "LS"),
    ("webfetch", "WebFetch"),
    ("websearch", "WebSearch"),
    ("todowrite", "TodoWrite"),
];

/// Returns the common name of a tool that a client has another name for.
#[must_use]
pub fn common_name(name: &str) -> Option<&'static str> {
    NATIVE
        .iter()
        .find(|(native, _)| *native == name)
        .map(|(_, common)| *common)
}

/// Tells whether some client has a tool of this name.
#[must_use]
pub fn is_known(name: &str) -> bool {
    COMMON.contains(&name) || common_name(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::{COMMON, NATIVE, common_name, is_known};

    #[test]
    fn every_native_name_has_one_common_name() {
        for (index, (native, common)) in NATIVE.iter().enumerate() {
            assert!(COMMON.contains(common), "{native}");
            assert!(!COMMON.contains(native), "{native}");
            let again = NATIVE
                .iter()
                .skip(index + 1)
                .find(|(other, _)| other == native);
            assert_eq!(again, None, "{native}");
        }
        assert_eq!(common_name("run_shell_command"), Some("Bash"));
        assert!(is_known("Bash") && !is_known("bosh"));
    }
}
