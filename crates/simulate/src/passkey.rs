//! Approvals with a passkey in a simulation: no key signs them, and only the engine accepts them.

use interlock_core::{
    command::Answer,
    machine::Machine,
    passkey::{PasskeyAssertion, Statement},
    pending::pending,
    run::Run,
};

/// Adds what the request requires to an approval.
#[must_use]
pub fn with_what_it_takes(machine: &Machine, run: &Run, yes: Answer) -> Answer {
    if takes_passkey(machine, run, yes.path.as_deref()) {
        with_passkey(machine, run, yes)
    } else {
        yes
    }
}

/// Adds the assertion of a passkey for the request to an approval; without a request, it stays unchanged.
pub(crate) fn with_passkey(machine: &Machine, run: &Run, answer: Answer) -> Answer {
    let waiting = pending(machine, run);
    let meant = waiting.iter().find(|one| {
        let wanted = answer.path.as_deref();
        wanted.is_none_or(|wanted| one.is_named(wanted))
    });
    let Some(meant) = meant else {
        return answer;
    };
    let said = Statement {
        run: &run.id,
        request: &meant.id(),
        question: meant.digest(),
        note: answer.note.as_deref(),
    };
    let assertion = PasskeyAssertion::unsigned(said, run.seq, answer.data.clone());
    Answer {
        passkey: Some(Box::new(assertion)),
        ..answer
    }
}

/// Returns whether the request of an approval requires a passkey.
#[must_use]
pub fn takes_passkey(machine: &Machine, run: &Run, path: Option<&str>) -> bool {
    let waiting = pending(machine, run);
    let mut meant = waiting
        .iter()
        .filter(|one| path.is_none_or(|wanted| one.is_named(wanted)));
    meant.any(|one| one.takes_passkey())
}
