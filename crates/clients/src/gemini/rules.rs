//! Whether Gemini CLI would prompt a person about a line, or has rules for lines.
//!
//! Its hooks are not told this; its command line and its files contain it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_project::Environment;
use serde_json::Value;

use crate::process;

/// Maximum size of a file that is read, in bytes.
const BYTES_MAX: u64 = 4 * 1_048_576;

/// Returns whether the client was started so that it prompts nobody.
pub(super) fn asks_nobody() -> bool {
    is_yolo(&process::client_arguments())
}

fn is_yolo(arguments: &[String]) -> bool {
    let mode = arguments.iter().position(|word| word == "--approval-mode");
    let mode = mode
        .and_then(|at| arguments.get(at + 1))
        .map(String::as_str);
    arguments
        .iter()
        .any(|word| matches!(word.as_str(), "--yolo" | "-y" | "--approval-mode=yolo"))
        || mode == Some("yolo")
}

/// Returns whether there are rules for shell lines other than those that Interlock wrote.
pub(super) fn has_rules(environment: &Environment, project: &Path) -> bool {
    let home = ["GEMINI_CLI_HOME", "HOME"]
        .iter()
        .find_map(|name| environment.variable(name).filter(|home| !home.is_empty()))
        .map(PathBuf::from);
    let places = [
        home.map(|home| home.join(".gemini")),
        Some(project.join(".gemini")),
        Some("/etc/gemini-cli".into()),
        Some("/Library/Application Support/GeminiCli".into()),
    ];
    let more = process::client_arguments().iter().any(|word| {
        ["--policy", "--admin-policy", "--allowed-tools"]
            .iter()
            .any(|known| word.starts_with(known))
    });
    more || places
        .iter()
        .flatten()
        .any(|place| in_policies(place) || in_settings(&place.join("settings.json")))
}

/// Searches the policy files of a folder.
fn in_policies(place: &Path) -> bool {
    let Ok(entries) = fs::read_dir(place.join("policies")) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let path = entry.path();
        let counts = path.extension().is_some_and(|ending| ending == "toml")
            && path.file_stem().is_some_and(|name| name != "interlock");
        counts
            && read(&path)
                .is_none_or(|text| text.contains("run_shell_command") || text.contains('*'))
    })
}

/// Searches settings for rules that name lines: `run_shell_command(git push)`.
fn in_settings(path: &Path) -> bool {
    if !path.exists() {
        return false;
    }
    let Some(text) = read(path) else { return true };
    let Ok(settings) = serde_json::from_str::<Value>(&text) else {
        // Not plain JSON, for example because of comments: search the text.
        return text.contains("run_shell_command") || text.contains("ShellTool");
    };
    [
        "/tools/exclude",
        "/tools/core",
        "/tools/allowed",
        "/excludeTools",
        "/coreTools",
        "/policyPaths",
    ]
    .iter()
    .any(|at| settings.pointer(at).is_some())
}

fn read(path: &Path) -> Option<String> {
    let fits = fs::metadata(path).is_ok_and(|found| found.len() <= BYTES_MAX);
    fits.then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_it_was_started_with_say_whether_it_asks() {
        let rows = [
            ("node gemini --yolo -p x", true),
            ("gemini -y", true),
            ("gemini --approval-mode yolo -p x", true),
            ("gemini --approval-mode=yolo", true),
            ("gemini", false),
            ("gemini --approval-mode auto_edit", false),
            ("gemini -p yolo", false),
            ("", false),
        ];
        for (line, nobody) in rows {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(is_yolo(&words), nobody, "{line}");
        }
    }
}
