//! Shared code of the reader's tests: a context, a short form of the facts, a judge.

use interlock_core::facts::{CommandClass, NetworkDirection, PathText, ShellFacts, SimpleCommand};
use interlock_shell::{Dialect, ShellContext};

/// Returns the context in which all lines of the tests run.
pub(crate) fn setting() -> ShellContext {
    ShellContext {
        dialect: Dialect::Bash,
        directory: "/p".to_owned(),
        project_root: "/p".to_owned(),
        home: Some("/home/me".to_owned()),
        temporary: Some("/tmp/me".to_owned()),
        user: Some("me".to_owned()),
        transparent: vec!["rtk".to_owned()],
        variables: vec!["GIVEN".to_owned()],
    }
}

/// One line of a case file: a command and its expected result.
pub(crate) struct Case {
    pub(crate) line: String,
    pub(crate) expected: String,
    pub(crate) shown: String,
}

/// Parses a case file: `command ⇒ expected`, `⏎` for a line feed, `#` for comments.
pub(crate) fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for row in text
        .lines()
        .filter(|row| !row.trim().is_empty() && !row.starts_with("# "))
    {
        let (line, expected) = row
            .rsplit_once('⇒')
            .unwrap_or_else(|| panic!("no ⇒ in `{row}`"));
        cases.push(Case {
            line: unescape(line.trim_end()),
            expected: expected.trim().to_owned(),
            shown: line.trim_end().to_owned(),
        });
    }
    assert!(!cases.is_empty(), "a case file without cases");
    cases
}

/// Checks every row of a case file with `read`, and reports all that differ.
pub(crate) fn check(text: &str, read: impl Fn(&Case) -> String) {
    let mut wrong = Vec::new();
    for case in cases(text) {
        let found = read(&case);
        if found != case.expected {
            wrong.push(format!(
                "{} ⇒ {found}   (expected {})",
                case.shown, case.expected
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Replaces `⏎`, `␉` and `⟨hex⟩` by the characters they represent.
pub(crate) fn unescape(text: &str) -> String {
    let mut all = String::new();
    let plain = text.replace('⏎', "\n").replace('␉', "\t");
    for (at, part) in plain.split('⟨').enumerate() {
        match part.split_once('⟩') {
            Some((hex, rest)) if at > 0 => {
                let code = u32::from_str_radix(hex, 16)
                    .unwrap_or_else(|_| panic!("`{hex}` is not a number"));
                all.push(
                    char::from_u32(code).unwrap_or_else(|| panic!("`{hex}` is not a character")),
                );
                all.push_str(rest);
            }
            _ => all.push_str(part),
        }
    }
    all
}

/// Writes facts in a short form; see `tests/cases/README.md`.
pub(crate) fn short(facts: &ShellFacts) -> String {
    if facts.unreadable.is_some() {
        return "U".to_owned();
    }
    let mut parts = Vec::new();
    if facts
        .commands
        .iter()
        .any(|command| command.opaque.is_some())
    {
        parts.push("O".to_owned());
    }
    for (class, letter) in [(CommandClass::Privilege, "P"), (CommandClass::System, "S")] {
        if facts.commands.iter().any(|command| command.class == class) {
            parts.push(letter.to_owned());
        }
    }
    for used in &facts.writes {
        parts.push(format!(
            "W {}{}",
            path(&used.path),
            if used.text.is_some() { " text" } else { "" }
        ));
    }
    for used in &facts.removes {
        parts.push(format!(
            "D {}{}",
            path(&used.path),
            if used.recursive { " all" } else { "" }
        ));
    }
    for used in &facts.network {
        let direction = match used.direction {
            NetworkDirection::Local => "local",
            NetworkDirection::Get => "get",
            NetworkDirection::Send => "send",
            NetworkDirection::Listen => "listen",
        };
        parts.push(
            format!("N {direction} {}", used.host.as_deref().unwrap_or_default())
                .trim_end()
                .to_owned(),
        );
    }
    parts.extend(
        facts
            .env
            .set
            .iter()
            .filter(|set| set.changes_programs)
            .map(|set| format!("E {}", set.name)),
    );
    if facts.env.dump {
        parts.push("dump".to_owned());
    }
    if facts.env.other_process {
        parts.push("other".to_owned());
    }
    if parts.is_empty() {
        "R".to_owned()
    } else {
        parts.join("; ")
    }
}

fn path(path: &PathText) -> String {
    let (text, more) = match path {
        PathText::Whole(text) => (text, ""),
        PathText::Below(text) => (text, "…"),
        PathText::Unknown => return "?".to_owned(),
    };
    let short = text.strip_prefix("/p/").unwrap_or(text);
    format!("{short}{more}")
}

/// Judges facts like a state that may only read, without `allowed_commands`.
///
/// Returns the code of the first row that refuses, or `+`.
pub(crate) fn judge_no_write(facts: &ShellFacts) -> &'static str {
    let is_class =
        |class: CommandClass| facts.commands.iter().any(|command| command.class == class);
    let name = |command: &SimpleCommand| {
        command
            .words
            .first()
            .and_then(|word| word.literal())
            .map(str::to_owned)
    };
    if facts
        .commands
        .iter()
        .any(|command| name(command).as_deref() == Some("interlock"))
    {
        return "protected";
    }
    if facts.unreadable.is_some()
        || facts.env.set.iter().any(|set| set.changes_programs)
        || facts
            .commands
            .iter()
            .any(|command| command.opaque.is_some())
    {
        return "shell_unreadable";
    }
    if is_class(CommandClass::Privilege) || is_class(CommandClass::System) {
        return "command_not_allowed";
    }
    if !facts.writes.is_empty() || !facts.removes.is_empty() {
        return "shell_write";
    }
    if !facts.network.is_empty() {
        return "command_not_allowed";
    }
    if facts.env.other_process || facts.env.used.iter().any(|name| name == "PROD_DB_URL") {
        return "env_blocked";
    }
    "+"
}
