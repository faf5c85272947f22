//! The client's own permission rules for shell lines, as far as they would not see the original of a rewritten line.
//!
//! Tested with 2.1.197 and 2.1.332: after a hook has rewritten a line, rules such as `Bash(git push:*)` are compared with the
//! rewritten line only.

use std::{fs, path::PathBuf};

use interlock_core::facts::{CommandClass, ShellFacts, SimpleCommand, Word};
use serde_json::Value;

use crate::protocol::Effect;

/// Maximum size of a settings file that is read, in bytes.
const BYTES_MAX: u64 = 4 * 1_048_576;

/// A rule for shell lines: its effect, and the prefix of the lines that it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    effect: Effect,
    beginning: String,
}

/// A settings file, and whether the client respects its `allow` rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The file.
    pub(crate) path: PathBuf,
    /// Whether its `allow` rules count; a project's do not until its folder is trusted.
    pub(crate) may_allow: bool,
}

/// The rules of the person, the project and the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Rules that deny or ask.
    strict: Vec<Rule>,
    /// Lines that `allow` rules permit.
    allowed: Vec<Allowed>,
}

/// What an `allow` rule permits.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    /// Every line.
    Everything,
    /// This exact command.
    Exactly(String),
    /// Commands with this prefix.
    Beginning(String),
}

impl Rules {
    /// Reads the rules of these settings files; a missing or malformed file has none.
    pub(crate) fn read(files: &[Settings]) -> Self {
        let mut rules = Self::default();
        for file in files {
            let fits = fs::metadata(&file.path).is_ok_and(|found| found.len() <= BYTES_MAX);
            let text = fits.then(|| fs::read(&file.path).ok()).flatten();
            let settings = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
            if let Some(settings) = settings {
                rules.add(&settings, file.may_allow);
            }
        }
        rules
    }

    fn add(&mut self, settings: &Value, may_allow: bool) {
        for (key, effect) in [("deny", Effect::Deny), ("ask", Effect::Ask)] {
            let rules = texts(settings, key).filter_map(beginning);
            self.strict
                .extend(rules.map(|beginning| Rule { effect, beginning }));
        }
        if may_allow {
            self.allowed
                .extend(texts(settings, "allow").filter_map(allowed));
        }
    }

    /// Returns the effect of the rules on the line, or `None` if no rule matches it.
    ///
    /// When in doubt, a rule that denies or asks matches and a rule that allows does not.
    pub(crate) fn about(&self, line: &ShellFacts) -> Option<Effect> {
        let strict = self
            .strict
            .iter()
            .filter(|rule| line.commands.iter().any(|command| rule.matches(command)))
            .map(|rule| rule.effect)
            .max();
        strict.or_else(|| self.allow(line).then_some(Effect::Allow))
    }

    /// Returns whether the rules allow every command that does more than read.
    fn allow(&self, line: &ShellFacts) -> bool {
        let harmless = |command: &SimpleCommand| {
            command.opaque.is_none()
                && matches!(command.class, CommandClass::Nothing | CommandClass::Reader)
        };
        let allowed = |command: &SimpleCommand| {
            command.via.is_empty()
                && command.assignments.is_empty()
                && words(command)
                    .is_some_and(|words| self.allowed.iter().any(|one| one.has(&words)))
        };
        let writes = line.writes.iter().chain(&line.removes).next().is_some();
        line.unreadable.is_none()
            && line.env.set.is_empty()
            && !writes
            && line.commands.iter().any(|command| !harmless(command))
            && line
                .commands
                .iter()
                .all(|command| harmless(command) || allowed(command))
    }
}

fn texts<'v>(settings: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    let listed = settings
        .pointer(&format!("/permissions/{key}"))
        .and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns what an `allow` rule permits; `None` for another tool's rule or an unknown form.
fn allowed(rule: &str) -> Option<Allowed> {
    let of_bash = rule.trim().strip_prefix("Bash")?;
    if matches!(of_bash, "" | "(*)") {
        return Some(Allowed::Everything);
    }
    let inner = of_bash.strip_prefix('(')?.strip_suffix(')')?;
    let beginning = inner
        .strip_suffix(":*")
        .or_else(|| inner.strip_suffix(" *"));
    match beginning {
        Some(words) if !words.is_empty() && !words.contains('*') => {
            Some(Allowed::Beginning(words.to_owned()))
        }
        None if !inner.is_empty() && !inner.contains('*') => {
            Some(Allowed::Exactly(inner.to_owned()))
        }
        _ => None,
    }
}

impl Allowed {
    fn has(&self, words: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Exactly(line) => words == line,
            Self::Beginning(beginning) => words
                .strip_prefix(beginning.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
        }
    }
}

/// Joins the words of a command if all of them are known and none contains a blank.
fn words(command: &SimpleCommand) -> Option<String> {
    let plain = |word: &Word| {
        word.literal()
            .is_some_and(|text| !text.contains(char::is_whitespace))
    };
    command
        .words
        .iter()
        .all(plain)
        .then(|| joined(&command.words))
}

/// Returns the prefix of the lines that a rule such as `Bash(git push:*)` matches; `None` for another tool's rule.
fn beginning(rule: &str) -> Option<String> {
    let of_bash = rule.trim().strip_prefix("Bash")?;
    if of_bash.is_empty() {
        return Some(String::new());
    }
    let inner = of_bash.strip_prefix('(')?.strip_suffix(')')?;
    let literal = inner.split('*').next().unwrap_or_default();
    Some(literal.trim_end_matches(':').trim().to_owned())
}

impl Rule {
    /// Returns whether the rule may match `command`; true when in doubt.
    fn matches(&self, command: &SimpleCommand) -> bool {
        let begins = |words: &[Word]| joined(words).starts_with(&self.beginning);
        begins(&command.words) || (!command.wrapped.is_empty() && begins(&command.wrapped))
    }
}

fn joined(words: &[Word]) -> String {
    let texts = words.iter().map(|word| match word {
        Word::Literal(text) | Word::Dynamic(text) => text.as_str(),
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(rules: &str, line: &str) -> Option<Effect> {
        let settings: Value = serde_json::from_str(rules).unwrap_or_default();
        let setting = interlock_shell::ShellContext {
            directory: "/p".to_owned(),
            project_root: "/p".to_owned(),
            ..interlock_shell::ShellContext::default()
        };
        let mut known = Rules::default();
        known.add(&settings, true);
        known.about(&interlock_shell::read(line, &setting))
    }

    #[test]
    fn a_rule_is_found_wherever_its_command_stands() {
        let rules = r#"{"permissions":{"deny":["Bash(git push:*)","Read(./.env)"],"ask":["Bash(npm publish*)"],"allow":["Bash(ls:*)"]}}"#;
        assert_eq!(about(rules, "git push origin main"), Some(Effect::Deny));
        assert_eq!(
            about(rules, "cd x && timeout 5 git push"),
            Some(Effect::Deny)
        );
        assert_eq!(about(rules, "npm publish --tag x"), Some(Effect::Ask));
        assert_eq!(about(rules, "npm publish; git push"), Some(Effect::Deny));
        assert_eq!(about(rules, "git status"), None);
        assert_eq!(
            about(r#"{"permissions":{"ask":["Bash"]}}"#, "ls"),
            Some(Effect::Ask)
        );
        assert_eq!(
            about(r#"{"permissions":{"deny":["Bash(*)"]}}"#, "ls"),
            Some(Effect::Deny)
        );
    }

    #[test]
    fn a_permission_counts_only_for_plain_lines_that_it_is_wholly_about() {
        let rules = r#"{"permissions":{"allow":["Bash(cargo build:*)","Bash(make check)","Bash(npm run *)","Bash(git * main)","Read"]}}"#;
        let allowed = [
            "cargo build",
            "cargo build --release",
            "cd x && cargo build 2>&1 | tail -3",
            "make check",
            "npm run lint",
        ];
        for line in allowed {
            assert_eq!(about(rules, line), Some(Effect::Allow), "{line}");
        }
        let others = [
            "cargo buildx",
            "cargo",
            "cargo build; cargo run",
            "cargo build > out",
            "RUSTFLAGS=x cargo build",
            "sudo cargo build",
            "cargo build $X",
            "make check -j4",
            "git push main",
            "touch x",
            "ls",
        ];
        for line in others {
            assert_eq!(about(rules, line), None, "{line}");
        }
        let both = r#"{"permissions":{"allow":["Bash"],"deny":["Bash(make:*)"]}}"#;
        assert_eq!(about(both, "cargo build"), Some(Effect::Allow));
        assert_eq!(about(both, "cargo build && make"), Some(Effect::Deny));
    }
}
