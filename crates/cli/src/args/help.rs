//! The first screen of help: every command in its group, one line each.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// The commands shown to people, in groups.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Guard an agent",
        &["init", "doctor", "new", "start", "demo"],
    ),
    ("Run steps", &["run", "fs"]),
    (
        "People",
        &[
            "approve", "reject", "send", "pause", "resume", "cancel", "passkey", "token", "attest",
        ],
    ),
    (
        "Look",
        &[
            "status",
            "runs",
            "workflows",
            "log",
            "export",
            "compare",
            "watch",
            "console",
            "graph",
            "verify",
        ],
    ),
    (
        "Tools",
        &[
            "check",
            "simulate",
            "test",
            "prove",
            "backtest",
            "mine",
            "explain",
            "edit",
            "convert",
            "schema",
            "lsp",
            "tools",
            "gateway",
            "serve",
            "shared",
            "worker",
            "telemetry",
            "completions",
            "man",
        ],
    ),
];

/// Number of columns before a command's description.
const INDENT: usize = 14;

/// Maximum number of columns of a line.
const WIDTH_MAX: usize = 100;

/// Returns the command table, with its first screen in groups.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let template = template(&command, width());
    command.help_template(template)
}

fn width() -> usize {
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let seen = || crossterm::terminal::size().ok().map(|(columns, _)| columns);
    let columns: u16 = asked.or_else(seen).unwrap_or(100);
    usize::from(columns).clamp(30, WIDTH_MAX)
}

fn template(command: &Command, width: usize) -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        text.push_str(&format!("\n{title}:\n"));
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(|found| found.get_about())
                .map(ToString::to_string)
                .unwrap_or_default();
            text.push_str(&line(name, &about, width));
        }
    }
    text.push_str("\nOptions:\n{options}{after-help}");
    text
}

/// Writes a command and its description, wrapped at the width of the terminal.
fn line(name: &str, about: &str, width: usize) -> String {
    let mut text = format!("  {name:<indent$}", indent = INDENT - 2);
    let mut column = INDENT;
    for word in about.split_whitespace() {
        let letters = word.chars().count();
        if column > INDENT && column + 1 + letters > width {
            text.push_str(&format!("\n{:INDENT$}", ""));
            column = INDENT;
        } else if column > INDENT {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += letters;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_that_is_shown_stands_in_one_group() {
        let command = Cli::command();
        let shown: Vec<&str> = command
            .get_subcommands()
            .filter(|known| !known.is_hide_set())
            .map(Command::get_name)
            .collect();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let set = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(set(&shown), set(&grouped));
        assert_eq!(shown.len(), grouped.len(), "one stands in two groups");
    }

    #[test]
    fn a_narrow_terminal_gets_narrow_lines() {
        let text = line(
            "start",
            "Hold an agent to a workflow, as long as it lasts.",
            40,
        );
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
    }
}
