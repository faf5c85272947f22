//! The environment rules: blocked variables do not reach a shell line.

use super::{Bench, Check, refuse};
use crate::{facts::ShellFacts, policy::Stance, refusal::Code};

pub(super) fn check(bench: Bench<'_>, facts: &ShellFacts, stance: Stance) -> Check {
    if stance == Stance::Free {
        return Ok(());
    }
    let blocked = &bench.state.policy.blocked_env;
    let set = facts.env.set.iter().map(|set| &set.name);
    if let Some(name) = facts
        .env
        .used
        .iter()
        .chain(set)
        .find(|name| blocked.contains(name))
    {
        return refuse(
            Code::EnvBlocked,
            format!("`{name}` is blocked in `{}`: leave it out", bench.frame.at),
        );
    }
    if facts.env.other_process {
        return refuse(
            Code::EnvBlocked,
            "the environment of another process may not be read",
        );
    }
    if facts.env.dump && !blocked.is_empty() && !bench.call.facts.environment_held {
        return refuse(
            Code::EnvBlocked,
            format!(
                "the whole environment would be shown, and `{}` blocks {}: name the variables you need",
                bench.frame.at,
                blocked.join(", ")
            ),
        );
    }
    Ok(())
}
