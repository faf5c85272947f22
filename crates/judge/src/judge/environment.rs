//! Environment rules: shell lines receive no blocked variables.

use super::{
    JudgeContext,
    shell::{Found, ShellRule, refuse},
};
use crate::{facts::ShellFacts, policy::Stance, refusal::Code};

pub(super) fn check(context: JudgeContext<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    if stance == Stance::Free {
        return Ok(());
    }
    let blocked = &context.state.policy.blocked_env;
    let set = facts.env.set.iter().map(|set| &set.name);
    if let Some(name) = facts
        .env
        .used
        .iter()
        .chain(set)
        .find(|name| blocked.contains(name))
    {
        return object(
            format!("`{name}` is blocked in `{}`", context.frame.at),
            "leave it out",
        );
    }
    if facts.env.other_process {
        return object(
            "the environment of another process may not be read".to_owned(),
            "name the file you want below `/proc`",
        );
    }
    if facts.env.dump && !blocked.is_empty() && !context.call.facts.environment_held {
        return object(
            format!(
                "the whole environment would be shown, and `{}` blocks {}",
                context.frame.at,
                blocked.join(", ")
            ),
            "name the variables you need",
        );
    }
    Ok(())
}

fn object(what: String, instead: &str) -> Found {
    refuse(ShellRule::Environment, Code::EnvBlocked, what, instead)
}
