//! A yes with a passkey, as a simulation has it: no key signs it, and only the engine takes it.

use interlock_core::{
    command::Answer,
    machine::Machine,
    passkey::{PasskeyAssertion, Statement},
    pending::pending,
    run::Run,
};

/// Gives a yes what the request takes that it means.
#[must_use]
pub fn with_what_it_takes(machine: &Machine, run: &Run, yes: Answer) -> Answer {
    if takes_passkey(machine, run, yes.path.as_deref()) {
        with_passkey(machine, run, yes)
    } else {
        yes
    }
}

/// Gives a yes the assertion of a passkey for the request that it means; where it means none, it stays as it is.
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

/// Tells whether what a yes means takes a passkey.
#[must_use]
pub fn takes_passkey(machine: &Machine, run: &Run, path: Option<&str>) -> bool {
    let waiting = pending(machine, run);
    let mut meant = waiting
        .iter()
        .filter(|one| path.is_none_or(|wanted| one.is_named(wanted)));
    meant.any(|one| one.takes_passkey())
}
