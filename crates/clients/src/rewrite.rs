//! Whether an allowed shell line goes through `interlock exec`, and what the client is told then.
//!
//! INVARIANT: rewriting never widens what the client would have asked.

use interlock_core::{Hold, policy::Stance};
use interlock_project::Environment;

use crate::{
    input::{Input, Mode},
    protocol::{Effect, RewriteMode},
    registry,
};

/// What becomes of an allowed shell line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewriting {
    /// It stays as it is.
    Keep,
    /// `interlock exec` carries it, and the client asks nobody.
    Allow,
    /// `interlock exec` carries it, once the client's person says yes.
    Ask,
}

/// Tells whether a person answers what the client asks.
pub(crate) fn is_attended(environment: &Environment, input: &Input) -> bool {
    registry::protocol(input.client).is_attended(environment, input)
}

/// Decides what becomes of a line that is held as `hold` says.
pub(crate) fn rewriting(
    environment: &Environment,
    input: &Input,
    hold: &Hold<'_>,
    carrying: RewriteMode,
    rules: impl FnOnce() -> Option<Effect>,
) -> Rewriting {
    // Nothing of a free state is held; but how a check ends is seen only in a carried line.
    let free = hold.stance == Stance::Free
        && hold.policy.env_overrides.is_empty()
        && hold.probes.is_empty();
    if environment.program.is_none() || hold.nothing || free {
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
        // The client refuses or asks by the line as it is, which a rewritten one would hide.
        (Some(Effect::Deny), _) => Rewriting::Keep,
        (Some(Effect::Ask), _) => ask,
        (_, Mode::Bypass) => Rewriting::Allow,
        // There the client lets lines pass by reading them itself, whatever a hook allows.
        (_, Mode::Plan) if hold.reads => Rewriting::Keep,
        (_, Mode::Plan) => ask,
        // Nobody would have been asked about the line as it is.
        (Some(Effect::Allow), _) => Rewriting::Allow,
        (None, _) if hold.reads || hold.contained || !hold.listed.is_empty() => Rewriting::Allow,
        (None, _) => ask,
    }
}

#[cfg(test)]
mod tests;
