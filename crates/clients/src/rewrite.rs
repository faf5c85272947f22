//! Whether an allowed shell line goes through `interlock exec`, and the client's answer then.
//!
//! INVARIANT: rewriting never bypasses a question that the client would have asked.

use interlock_core::{LineConfinement, policy::Stance};
use interlock_project::Environment;

use crate::{
    input::{Input, Mode},
    protocol::{Effect, RewriteMode},
    registry,
};

/// What happens to an allowed shell line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewriting {
    /// The line stays unchanged.
    Keep,
    /// `interlock exec` runs the line, and the client asks nobody.
    Allow,
    /// `interlock exec` runs the line once the client's person agrees.
    Ask,
}

/// Returns whether a person answers the client's prompts.
pub(crate) fn is_attended(environment: &Environment, input: &Input) -> bool {
    registry::protocol(input.client).is_attended(environment, input)
}

/// Decides whether a line that `hold` confines is rewritten.
pub(crate) fn rewriting(
    environment: &Environment,
    input: &Input,
    confinement: &LineConfinement<'_>,
    carrying: RewriteMode,
    rules: impl FnOnce() -> Option<Effect>,
) -> Rewriting {
    // An unrestricted state confines nothing, but the outcome of a check is only seen in a rewritten line.
    let free = confinement.stance == Stance::Free
        && confinement.policy.env_overrides.is_empty()
        && confinement.probes.is_empty();
    if environment.program.is_none() || confinement.nothing || free {
        return Rewriting::Keep;
    }
    match carrying {
        RewriteMode::No => return Rewriting::Keep,
        RewriteMode::Yes => return Rewriting::Allow,
        RewriteMode::ByRules => {}
    }
    let ask = if is_attended(environment, input) {
        Rewriting::Ask
    } else {
        Rewriting::Keep
    };
    match (rules(), input.mode) {
        // The client denies or asks by the original line, which a rewritten one would hide.
        (Some(Effect::Deny), _) => Rewriting::Keep,
        (Some(Effect::Ask), _) => ask,
        (_, Mode::Bypass) => Rewriting::Allow,
        // There the client itself reads lines to decide which to allow, whatever a hook allows.
        (_, Mode::Plan) if confinement.reads => Rewriting::Keep,
        (_, Mode::Plan) => ask,
        // Nobody would have been asked about the original line.
        (Some(Effect::Allow), _) => Rewriting::Allow,
        (None, _)
            if confinement.reads || confinement.contained || !confinement.listed.is_empty() =>
        {
            Rewriting::Allow
        }
        (None, _) => ask,
    }
}

#[cfg(test)]
mod tests;
