//! What a verifier can require of a statement, by name.

use interlock_expr::nearest::nearest;

use crate::{
    envelope::cut,
    refusal::{Refusal, Unmet},
    statement::{ApprovalFacts, GuardFacts, Predicate},
};

/// The requirements that every statement knows; all others are named guards of its workflow.
pub const BUILT_IN: [&str; 3] = ["approved", "approved_with_passkey", "completed"];
/// What stands before the name of a guard that has the name of a built-in requirement.
const GUARD: &str = "guard:";

/// A requirement, found in one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement<'a> {
    /// The run has completed.
    Completed,
    /// A person approved a transition or a state's entry, and the files have not changed since.
    Approved {
        /// Whether a passkey must have signed it.
        passkey: bool,
    },
    /// A named guard holds, on the files of the commit.
    Guard(&'a GuardFacts),
}

impl<'a> Requirement<'a> {
    /// Finds the requirement with this name.
    ///
    /// # Errors
    /// There is none; the error names the nearest.
    pub fn find(name: &str, predicate: &'a Predicate) -> Result<Self, Refusal> {
        match name {
            "completed" => return Ok(Self::Completed),
            "approved" => return Ok(Self::Approved { passkey: false }),
            "approved_with_passkey" => return Ok(Self::Approved { passkey: true }),
            _ => {}
        }
        let wanted = name.strip_prefix(GUARD).unwrap_or(name);
        let mut guards = predicate.guards.iter();
        guards
            .find(|guard| guard.name == wanted)
            .map(Self::Guard)
            .ok_or_else(|| unknown(name, predicate))
    }

    /// Checks that the statement meets it.
    ///
    /// # Errors
    /// Says why it does not.
    pub fn check(self, name: &str, predicate: &Predicate) -> Result<(), Unmet> {
        let no = |why: String| {
            Err(Unmet {
                name: name.to_owned(),
                why,
            })
        };
        match self {
            Self::Completed if predicate.run.status == "completed" => Ok(()),
            Self::Completed => no(format!("the run is `{}`", cut(&predicate.run.status))),
            Self::Approved { passkey } => match approval(predicate, passkey) {
                Ok(_) => Ok(()),
                Err(why) => no(why),
            },
            Self::Guard(guard) if guard.holds && guard.on_commit != Some(false) => Ok(()),
            Self::Guard(guard) => no(guard
                .why
                .as_deref()
                .map_or_else(|| "the guard does not hold".to_owned(), cut)),
        }
    }
}

/// Finds an approval that covers the commit.
fn approval(predicate: &Predicate, passkey: bool) -> Result<&ApprovalFacts, String> {
    let fits = |one: &&ApprovalFacts| one.kind != "call" && (one.passkey || !passkey);
    let mut given = predicate.approvals.iter().filter(fits).peekable();
    if given.peek().is_none() {
        return Err(match passkey {
            true => "no transition of the run was approved with a passkey".to_owned(),
            false => "no person has approved a transition of the run".to_owned(),
        });
    }
    let mut last = None;
    for one in given {
        if one.on_commit {
            return Ok(one);
        }
        last = Some(one);
    }
    let (id, by, why) = last.map_or(("", "", None), |one| {
        (&*one.id, &*one.by, one.why.as_deref())
    });
    let why = why.map_or_else(String::new, |why| format!(": {}", cut(why)));
    Err(format!(
        "the approval {} by {} does not cover this commit{why}",
        cut(id),
        cut(by)
    ))
}

fn unknown(name: &str, predicate: &Predicate) -> Refusal {
    let guards = predicate.guards.iter().map(|guard| guard.name.as_str());
    let known: Vec<&str> = BUILT_IN.into_iter().chain(guards).collect();
    Refusal::UnknownRequirement {
        name: cut(name),
        near: nearest(name, known.iter().copied()).map(cut),
        known: known.into_iter().map(cut).collect(),
    }
}
