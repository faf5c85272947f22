//! The compared parts of files that a client or git itself writes.
//!
//! Each function returns, in a canonical form, what determines what runs; empty if the file contains nothing of that, `None` if
//! it cannot be parsed.

use serde_json::{Map, Value};

use crate::{canonical::canonical, protected::is_harmless_key};

/// Keys of a client's JSON settings that determine what runs, wherever they are.
pub const SETTINGS_KEYS: &[&str] = &[
    "hooks",
    "disableAllHooks",
    "allowManagedHooksOnly",
    "mcpServers",
    "mcp",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "disabledMcpjsonServers",
    "allowedMcpServers",
    "deniedMcpServers",
    "env",
    "sandbox",
    "tools",
    "plugins",
    "enabledPlugins",
    "pluginConfigs",
    "extraKnownMarketplaces",
    "extensions",
    "hooksConfig",
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "otelHeadersHelper",
    "statusLine",
    "fileSuggestion",
    "policyHelper",
    "additionalDirectories",
];

/// Maximum depth at which such a key is searched: below a project's path is deep enough.
const DEPTH_MAX: usize = 4;

/// Returns the keys of JSON settings that determine what runs.
pub(super) fn json(bytes: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let mut kept = Vec::new();
    keep(&value, "", DEPTH_MAX, &mut kept);
    Some(kept.join("\n"))
}

fn keep(value: &Value, at: &str, depth: usize, kept: &mut Vec<String>) {
    let Value::Object(object) = value else { return };
    for (key, value) in sorted(object) {
        let at = format!("{at}/{key}");
        let counts = SETTINGS_KEYS.contains(&key.as_str())
            || key == "deny" && at.ends_with("/permissions/deny");
        if counts && !says_nothing(value) {
            kept.push(format!("{at}: {}", canonical(value)));
        } else if !counts && depth > 0 {
            keep(value, &at, depth - 1, kept);
        }
    }
}

fn sorted(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<(&String, &Value)> = object.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.as_str());
    entries
}

/// Returns whether a value means the same as a missing key.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

/// Tables of a client's TOML settings that it writes itself and that run nothing.
const TABLES: &[&str] = &["projects", "notice", "tui", "history", "model_migrations"];
/// Top-level keys with the same property.
const TOP_KEYS: &[&str] = &[
    "model",
    "model_reasoning_effort",
    "personality",
    "service_tier",
];

/// Returns TOML settings without what a client writes itself.
pub(super) fn toml(text: &str) -> Option<String> {
    // A multi-line text may look like a table.
    if text.contains("\"\"\"") || text.contains("\'\'\'") {
        return None;
    }
    let mut kept = String::new();
    let mut table = "";
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            table = first_name(header);
        }
        let key = || first_name(line);
        let own = TABLES.contains(&table) || table.is_empty() && TOP_KEYS.contains(&key());
        if !own && !line.is_empty() && !line.starts_with('#') {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    Some(kept)
}

fn first_name(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Returns the lines that are neither empty nor comments.
pub(super) fn lines(text: &str) -> Option<String> {
    let kept: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    Some(kept.join("\n"))
}

/// Keys that git itself writes and that run nothing.
const GIT_OWN: &[&str] = &[
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "extensions.objectformat",
    "extensions.refstorage",
    "submodule.active",
];

/// Returns the keys of a git configuration that may not be written.
pub(super) fn git(text: &str) -> Option<String> {
    let mut reader = GitReader {
        rest: text
            .strip_prefix('\u{feff}')
            .unwrap_or(text)
            .chars()
            .peekable(),
        section: String::new(),
        kept: Vec::new(),
    };
    reader.read()?;
    Some(reader.kept.join("\n"))
}

/// Parses like git itself: several sections and keys may share a line.
struct GitReader<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    section: String,
    kept: Vec<String>,
}

impl GitReader<'_> {
    fn read(&mut self) -> Option<()> {
        while let Some(c) = self.rest.next() {
            match c {
                c if c.is_whitespace() => {}
                '#' | ';' => while self.rest.next().is_some_and(|c| c != '\n') {},
                '[' => self.section = self.header()?,
                c if c.is_ascii_alphabetic() => self.entry(c)?,
                _ => return None,
            }
        }
        Some(())
    }

    /// Parses `section "sub"]` as `section.sub`.
    fn header(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.rest.next()? {
                ']' => return Some(name),
                '"' => {
                    name.push('.');
                    loop {
                        match self.rest.next()? {
                            '"' => break,
                            '\\' => name.push(self.rest.next()?),
                            '\n' => return None,
                            c => name.push(c),
                        }
                    }
                }
                '\n' => return None,
                c if c.is_whitespace() => {}
                c => name.push(c.to_ascii_lowercase()),
            }
        }
    }

    fn entry(&mut self, first: char) -> Option<()> {
        let mut key = first.to_ascii_lowercase().to_string();
        while let Some(c) = self
            .rest
            .next_if(|c| c.is_ascii_alphanumeric() || *c == '-')
        {
            key.push(c.to_ascii_lowercase());
        }
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let value = match self.rest.next_if_eq(&'=') {
            Some(_) => self.value()?,
            None => String::new(),
        };
        let whole = format!("{}.{key}", self.section);
        let fetches = self.section.starts_with("remote.") && key == "fetch";
        if !is_harmless_key(&whole) && !GIT_OWN.contains(&whole.as_str()) && !fetches {
            self.kept.push(format!("{whole} = {value}"));
        }
        Some(())
    }

    fn value(&mut self) -> Option<String> {
        let (mut value, mut quoted) = (String::new(), false);
        while let Some(c) = self.rest.next() {
            match c {
                '\n' if !quoted => break,
                '\n' => return None,
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    c => value.extend(['\\', c]),
                },
                '"' => quoted = !quoted,
                '#' | ';' if !quoted => {
                    while self.rest.next().is_some_and(|c| c != '\n') {}
                    break;
                }
                c => value.push(c),
            }
        }
        Some(value.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_decide_what_runs_are_kept() {
        let kept = |text: &str| json(text.as_bytes()).unwrap_or_default();
        assert_eq!(
            kept(r#"{"permissions": {"allow": ["x"]}, "numStartups": 3}"#),
            ""
        );
        assert_eq!(
            kept(r#"{"hooks": {}, "mcpServers": {}, "disableAllHooks": false}"#),
            ""
        );
        assert_ne!(kept(r#"{"disableAllHooks": true}"#), "");
        assert_ne!(kept(r#"{"permissions": {"deny": ["x"]}}"#), "");
        assert_ne!(
            kept(r#"{"projects": {"/p": {"permissions": {"deny": ["x"]}}}}"#),
            ""
        );
        assert_ne!(
            kept(r#"{"projects": {"/p": {"mcpServers": {"a": {}}}}}"#),
            ""
        );
        assert_eq!(
            kept(r#"{"env": {"A": "1", "B": "2"}, "x": 1}"#),
            kept(r#"{"x": 2, "env": {"B": "2", "A": "1"}}"#)
        );
        assert_eq!(json(b"{"), None);
    }

    #[test]
    fn a_configuration_of_version_control_is_read_as_git_reads_it() {
        let kept = |text: &str| git(text).unwrap_or_default();
        let new = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
        assert_eq!(kept(new), "");
        let usual = "[remote \"origin\"]\n url = x\n fetch = +refs/heads/*:refs/remotes/origin/*\n\
                     [branch \"main\"]\n remote = origin\n[user]\n name = \"a # b\"\n";
        assert_eq!(kept(usual), "");
        for hidden in [
            "[core]\n hooksPath = h",
            "[user] name = x\n[core] hooksPath=h",
            "[user][core]hooksPath=h",
            "[branch \"x\"]\n remote = a \\\n b\n[alias]\n st = !id",
            "[remote \"o\"]\n uploadpack = ./x",
            "[color \"a\"] ui = auto\n[include]\npath = ./x",
            "[CORE]\nFSMONITOR = ./x",
            "# [user]\n[alias]\n st = !id",
            "; a\n[alias] # [user]\n st = !id",
            "[user] name = x # [user]\n[core] editor = e",
            "[url \"a\\\"]b\"] insteadOf = c",
            "[core] fsmonitor",
        ] {
            assert_ne!(kept(hidden), "", "{hidden}");
        }
        for alike in [
            "[core]\n editor = e # a comment",
            "[core]\n editor = e ; another\n# and one more",
            "\u{feff}[core]\n\n\teditor=e\n",
            "[ core ] editor = \\\ne",
        ] {
            assert_eq!(kept(alike), "core.editor = e", "{alike}");
        }
        assert_eq!(kept("[core] editor = \"a # b\""), "core.editor = a # b");
        for unreadable in [
            "= x",
            "[core\n] a = b",
            "[core",
            "[a \"b\nc\"]",
            "[a \"b",
            "[core] editor = \"a\nb\"",
            "[core] editor = a\\",
        ] {
            assert_eq!(git(unreadable), None, "{unreadable}");
        }
        // A header within a value is not one.
        assert_ne!(kept("[core]\n editor = \"a\\\n[user]\\\nname\""), "");
    }

    #[test]
    fn what_a_client_notes_in_its_settings_is_left_out() {
        let kept = |text: &str| toml(text).unwrap_or_default();
        assert_eq!(
            kept("model = \"x\"\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n"),
            ""
        );
        assert_ne!(kept("[mcp_servers.a]\ncommand = \"x\""), "");
        assert_ne!(kept("[projects.a]\nx = 1\n[hooks]\ny = 1"), "");
        assert_eq!(toml("a = \"\"\"\n[projects]\n\"\"\""), None);
        assert_eq!(lines("# a\n\n  # b\n"), Some(String::new()));
        assert_ne!(lines("*.c filter=x"), Some(String::new()));
    }
}
