//! The tools that a client offers, for writers of rules and for messages.

use interlock_core::policy::wildcard_matches;
use interlock_facts::Shape;
use interlock_tool_names::{all_names, is_known};

use super::{rows::Row, table};
use crate::client::ClientId;

/// Returns whether the table of `client` has a tool of this name.
#[must_use]
pub fn knows(client: ClientId, name: &str) -> bool {
    table(client).iter().any(|row| row.name == name)
}

/// Returns the tools that `client` was observed to offer its model, without those of servers.
#[must_use]
pub fn offered(client: ClientId) -> Vec<&'static str> {
    rows(client).map(|row| row.name).collect()
}

/// Returns the tools of `client` that only manage the conversation, offered ones first.
#[must_use]
pub fn conversation(client: ClientId) -> Vec<&'static str> {
    let all = |offered: bool| {
        table(client)
            .iter()
            .filter(move |row| row.offered == offered && row.shape == Shape::Conversation)
            .map(|row| row.name)
    };
    all(true).chain(all(false)).collect()
}

/// Returns the names by which `client` offers what `rule` lists; empty if it offers none of it.
///
/// Patterns, tools of servers and names in no table stay as they are, because their matches are unknown here.
#[must_use]
pub fn offered_as(client: ClientId, rule: &str) -> Vec<String> {
    if !is_known(rule)
        || rule.contains('*')
        || rule.contains("__")
        || rule.starts_with("mcp")
        || rule.contains(':')
    {
        return vec![rule.to_owned()];
    }
    let names = all_names(rule);
    let means = |row: &&Row| row.name == rule || names.contains(&row.name);
    let direct: Vec<String> = rows(client)
        .filter(means)
        .map(|row| row.name.to_owned())
        .collect();
    // A patch edits and writes; if a client has no other tool for that, its patch tool goes by those names.
    let patched = ["Edit", "Write", "MultiEdit"]
        .iter()
        .any(|common| *common == rule || all_names(common).contains(&rule));
    if !direct.is_empty() || !patched {
        return direct;
    }
    rows(client)
        .filter(|row| matches!(row.shape, Shape::Patch { .. }))
        .map(|row| row.name.to_owned())
        .collect()
}

/// Returns whether `client` offers a tool that `rule`, which may be a pattern, lists.
#[must_use]
pub fn offers(client: ClientId, rule: &str) -> bool {
    match rule {
        rule if rule.contains('*') => {
            rule.starts_with("mcp")
                || rows(client).any(|row| {
                    let names = all_names(row.name);
                    wildcard_matches(rule, row.name)
                        || names.iter().any(|name| wildcard_matches(rule, name))
                })
        }
        rule => !offered_as(client, rule).is_empty(),
    }
}

fn rows(client: ClientId) -> impl Iterator<Item = &'static Row> {
    table(client).iter().filter(|row| row.offered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_shown_by_the_names_that_the_client_has() {
        let rows: [(ClientId, &str, &[&str]); 10] = [
            (ClientId::Codex, "MyTool", &["MyTool"]),
            (ClientId::Codex, "Read", &[]),
            (ClientId::Codex, "Bash", &["exec_command", "write_stdin"]),
            (ClientId::Codex, "Edit", &["apply_patch"]),
            (ClientId::Codex, "Write", &["apply_patch"]),
            (ClientId::Gemini, "Edit", &["replace"]),
            (ClientId::ClaudeCode, "Grep", &[]),
            (ClientId::ClaudeCode, "read_file", &["Read"]),
            (ClientId::Copilot, "Read", &["view"]),
            (ClientId::Opencode, "mcp__docs__*", &["mcp__docs__*"]),
        ];
        for (client, rule, names) in rows {
            assert_eq!(offered_as(client, rule), names, "{client:?} {rule}");
            assert_eq!(offers(client, rule), !names.is_empty());
        }
    }

    #[test]
    fn the_names_of_every_table_are_known_to_the_checks_of_workflows() {
        for (_, client) in ClientId::ALL {
            for row in table(client) {
                assert!(
                    is_known(row.name),
                    "`{}` of {} is not known",
                    row.name,
                    client.word()
                );
            }
        }
    }

    #[test]
    fn no_table_names_a_tool_twice() {
        for (_, client) in ClientId::ALL {
            let mut names: Vec<&str> = table(client).iter().map(|row| row.name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", client.word());
        }
    }
}
