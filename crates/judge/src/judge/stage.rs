//! Judges a call of a model stage: the common checks, plus approvals and modes.

use interlock_tool_names::SHELL;

use super::{JudgeContext, before_lists, contents, disallowed, not_listed};
use crate::{
    call::{CallKind, ToolCall},
    event::{AllowSource, GrantThen},
    facts::SimpleCommand,
    machine::{Activity, Mode, ModeRules},
    policy::OnDenied,
    refusal::{Code, Refusal},
};

/// The answer to a call of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageVerdict {
    /// The call may run.
    Allow(AllowSource),
    /// A person is asked; holds what an approval leads to.
    Ask(Refusal, GrantThen),
    /// The call may not run; the word says what denied it.
    Deny(&'static str, Refusal),
}

const POLICY: &str = "policy";
const MODE: &str = "mode";
const STAGE: &str = "stage";

/// Judges `context.call`; the first rule that applies decides.
#[must_use]
pub fn judge_stage(context: JudgeContext<'_>, mode: &ModeRules) -> StageVerdict {
    if let Err(refusal) = before_lists(context) {
        let source = if refusal.code == Code::InvalidArguments {
            STAGE
        } else {
            POLICY
        };
        return StageVerdict::Deny(source, refusal);
    }
    if let Err(refusal) = disallowed(context) {
        return StageVerdict::Deny(POLICY, refusal);
    }
    let policy = &context.state.policy;
    let source = match &policy.allowed_tools {
        Some(_) if context.call.is_listed(policy) => AllowSource::Stage,
        Some(_) if refuses(context) => {
            return StageVerdict::Deny(POLICY, not_listed(context));
        }
        Some(_) => return ask(context, Vec::new(), true),
        None => match by_mode(context, mode) {
            Ok(()) => AllowSource::Mode,
            Err(verdict) => return verdict,
        },
    };
    match contents(context, false) {
        Ok(()) => StageVerdict::Allow(source),
        Err(refusal) => StageVerdict::Deny(POLICY, refusal),
    }
}

/// Returns whether a call only reads, so that it may run in parallel with others, and again after a crash.
#[must_use]
pub fn only_reads(call: &ToolCall) -> bool {
    call.facts.only_reads && call.facts.writes.is_empty()
}

/// Returns whether a call outside the list is refused without asking a person.
///
/// An agent of a conversation has only the tools it is given; a person is asked for others only if its state says so.
fn refuses(context: JudgeContext<'_>) -> bool {
    let converses = match &context.state.activity {
        Activity::Stage(stage) => stage.history,
        _ => false,
    };
    converses && context.state.policy.on_denied == OnDenied::Deny
}

fn ask(context: JudgeContext<'_>, keys: Vec<String>, excuses: bool) -> StageVerdict {
    let then = GrantThen {
        denied: contents(context, excuses).err(),
        reads: only_reads(context.call),
        keys,
    };
    StageVerdict::Ask(not_listed(context), then)
}

fn by_mode(context: JudgeContext<'_>, rules: &ModeRules) -> Result<(), StageVerdict> {
    let deny =
        |message: String| StageVerdict::Deny(MODE, Refusal::new(Code::ToolNotAllowed, message));
    let tool = &context.call.tool;
    match rules.mode {
        Mode::Yolo => Ok(()),
        Mode::Allowlist => match keys(context.call) {
            Some(keys) => match keys.iter().find(|key| !is_allowed(&rules.allow, key)) {
                None => Ok(()),
                Some(key) => Err(deny(format!("`{key}` is on no allow list of this run"))),
            },
            None => Err(deny(format!(
                "what `{tool}` would do has no key that an allow list could hold"
            ))),
        },
        Mode::Ask => match keys(context.call) {
            Some(keys) if keys.iter().all(|key| context.run.keys.contains(key)) => Ok(()),
            Some(keys) => Err(ask(context, keys, false)),
            None => Err(ask(context, Vec::new(), false)),
        },
    }
}

/// Returns the keys of a call, all of which must be allowed; `None`: the call cannot be read.
///
/// A key is `Tool` for a server's tool, `Tool:path` for a file, and `Bash:program subcommand` for each simple command
/// of a line.
#[must_use]
pub fn keys(call: &ToolCall) -> Option<Vec<String>> {
    if let Some(line) = &call.facts.shell {
        if line.unreadable.is_some() || line.commands.is_empty() {
            return None;
        }
        return line.commands.iter().map(command_key).collect();
    }
    if call.kind == CallKind::Shell {
        return None;
    }
    let tool = &call.tool;
    if !call.served_as.is_empty() {
        return Some(vec![tool.clone()]);
    }
    let writes = call.facts.writes.iter();
    let paths: Option<Vec<&str>> = writes
        .map(|write| write.relative.as_deref().or(write.path.as_deref()))
        .chain(call.facts.reads.iter().map(|path| Some(path.as_str())))
        .collect();
    let mut keys: Vec<String> = paths?.iter().map(|path| format!("{tool}:{path}")).collect();
    keys.dedup();
    if keys.is_empty() {
        keys.push(tool.clone());
    }
    Some(keys)
}

fn command_key(command: &SimpleCommand) -> Option<String> {
    let mut words = command.words.iter();
    let program = words.next()?.literal()?;
    let subcommand = words
        .next()
        .map_or(Some(""), |word| word.literal())
        .filter(|word| !word.starts_with('-'))
        .unwrap_or_default();
    Some(
        format!("{SHELL}:{program} {subcommand}")
            .trim_end()
            .to_owned(),
    )
}

fn is_allowed(entries: &[String], key: &str) -> bool {
    entries.iter().any(|entry| matches(entry, key))
}

/// Matches a whole key; `*` is any text, `?` one character. Takes time linear in the product of the lengths.
fn matches(pattern: &str, key: &str) -> bool {
    let key: Vec<char> = key.chars().collect();
    // `reached[n]`: the pattern so far takes the first n characters.
    let mut reached = vec![false; key.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for wanted in pattern.chars() {
        let mut next = vec![false; key.len() + 1];
        let mut any = false;
        for (n, slot) in next.iter_mut().enumerate() {
            let before = n.checked_sub(1);
            let took =
                |n: Option<usize>| n.and_then(|n| reached.get(n)).copied().unwrap_or_default();
            let here = before.and_then(|n| key.get(n)).copied();
            any |= took(Some(n));
            *slot = match wanted {
                '*' => any,
                '?' => took(before),
                plain => took(before) && here == Some(plain),
            };
        }
        reached = next;
    }
    reached.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn entries_match_whole_keys() {
        for (pattern, key, wanted) in [
            ("Bash:git *", "Bash:git status", true),
            ("Bash:git *", "Bash:git", false),
            ("Bash:git*", "Bash:git", true),
            ("Read:src/?.rs", "Read:src/a.rs", true),
            ("Read:src/?.rs", "Read:src/ab.rs", false),
            ("Read", "Read:a", false),
            ("read:*", "Read:a", false),
            ("*", "", true),
            ("?", "", false),
            ("*a*b", "xaxxb", true),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, key), wanted, "{pattern} against {key}");
        }
    }
}
