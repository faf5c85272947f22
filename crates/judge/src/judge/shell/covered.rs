//! Refuses a listed command whose entry does not cover all its words.

use super::{
    Found, ShellRule,
    entries::{beyond, entries, longest},
    refuse, show,
    steering::{self, Uncovered, steering_variables},
};
use crate::{
    facts::{ShellFacts, SimpleCommand},
    judge::JudgeContext,
    policy::CommandEntry,
    refusal::Code,
};

/// Refuses a listed command whose words change its meaning.
pub(super) fn covered_as_it_stands(context: JudgeContext<'_>, facts: &ShellFacts) -> Found {
    let Some((command, why)) = steering::first(context, facts) else {
        return Ok(());
    };
    let shown = show(command);
    let listing = "or let a person write it into the entry, or end the entry with ` *`";
    let (what, instead) = match why {
        Uncovered::Steers(word) => (
            format!("`{word}` may make `{shown}` run or touch something else"),
            format!("leave `{word}` out, {listing}"),
        ),
        Uncovered::Unlisted(word) => (
            format!("what `{word}` is to `{shown}` is in no table of options"),
            format!("leave `{word}` out, {listing}"),
        ),
        Uncovered::Adds(word) => (
            format!("`{word}` is one more thing for `{shown}` to do than its entry lists"),
            format!("leave `{word}` out, or let a person list it"),
        ),
        Uncovered::MaySteer(word) => (
            format!("`{word}` of `{shown}` may turn out to be an option"),
            "write it out".to_owned(),
        ),
        Uncovered::Strays => (
            format!("`{shown}` would run outside the project"),
            "run it in a directory of the project that is written out".to_owned(),
        ),
        Uncovered::Odd(reason) => (
            format!("what `{shown}` does cannot be known ({reason})"),
            "leave out what makes it so".to_owned(),
        ),
    };
    refuse(ShellRule::Opaque, Code::ShellUnreadable, what, instead)
}

/// Refuses a variable that may affect a listed command for which it is set.
pub(super) fn names_of_listed(context: JudgeContext<'_>, facts: &ShellFacts) -> Found {
    let found = facts
        .commands
        .iter()
        .find_map(|command| Some((command, steering_name(context, facts, command)?)));
    let Some((command, (entry, name))) = found else {
        return Ok(());
    };
    let listed = entry.text.trim_end_matches(" *");
    refuse(
        ShellRule::Names,
        Code::ShellUnreadable,
        format!("setting `{name}` may change what `{}` does", show(command)),
        format!(
            "leave it out; names that steer nothing pass (`CI`, `NO_COLOR`, `LC_ALL`, `NODE_ENV`), \
             and a person can set it under `env_overrides` or list `env {name}=VALUE {listed}`"
        ),
    )
}

/// Returns the nearest entry that lists `command`, with a variable that steers it.
///
/// `None`: an entry that lists `command` covers all variables.
fn steering_name<'a>(
    context: JudgeContext<'a>,
    facts: &'a ShellFacts,
    command: &'a SimpleCommand,
) -> Option<(&'a CommandEntry, &'a str)> {
    let (nearest, _) = longest(context, command)?;
    let steers = |entry: &CommandEntry| steering_variables(facts, command, &entry.words);
    let mut listing = entries(context, command).filter(|entry| beyond(entry, command).is_some());
    if listing.any(|entry| steers(entry).is_empty()) {
        return None;
    }
    let name = steers(nearest).into_iter().next()?;
    Some((nearest, name))
}
