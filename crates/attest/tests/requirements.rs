//! Requirements on a statement, and the messages if they are not met.

use interlock_attest::{Statement, verify};

use crate::made::{expected, guard, key, names, statement, unsigned};

/// Checks a statement against requirements; `says` is a part of the refusal, or empty.
#[track_caller]
fn check(one: &Statement, require: &[&str], says: &str) {
    let require = names(require);
    let signed = unsigned(one).signed(&key(1)).to_json();
    let found = verify(signed.as_bytes(), &[key(1).public()], &expected(&require));
    match found {
        Ok(_) => assert_eq!(says, "", "it is accepted"),
        Err(refused) => {
            let text = refused.to_string();
            assert!(!says.is_empty() && text.contains(says), "{text}");
        }
    }
}

#[test]
fn what_holds_is_accepted() {
    let one = statement();
    check(&one, &[], "");
    check(
        &one,
        &[
            "tests_passed",
            "approved",
            "completed",
            "guard:tests_passed",
        ],
        "",
    );
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    check(
        &statement(),
        &["test_pased"],
        "did you mean `tests_passed`?",
    );
    check(&statement(), &["aproved"], "did you mean `approved`?");
    check(
        &statement(),
        &["zzz"],
        "there are `approved`, `approved_with_passkey`, `completed`, `tests_passed`",
    );
    check(
        &statement(),
        &["guard:approved"],
        "no requirement `guard:approved`",
    );
}

#[test]
fn a_guard_must_hold_on_the_files_of_the_commit() {
    let mut one = statement();
    one.predicate.guards[0].on_commit = Some(false);
    one.predicate.guards[0].why = Some("`a.js` changed after it".to_owned());
    check(
        &one,
        &["tests_passed"],
        "`tests_passed` is required and not met: `a.js` changed after it",
    );
    one.predicate.guards[0].on_commit = None;
    check(&one, &["tests_passed"], "");
    one.predicate.guards[0].holds = false;
    check(&one, &["tests_passed"], "not met");
}

#[test]
fn a_guard_cannot_take_the_name_of_a_requirement() {
    let mut one = statement();
    one.predicate.guards.push(guard("approved"));
    one.predicate.approvals.clear();
    check(&one, &["approved"], "no person has approved a transition");
    check(&one, &["guard:approved"], "");
}

#[test]
fn an_approval_covers_the_commit_or_does_not_count() {
    let mut one = statement();
    check(&one, &["approved_with_passkey"], "approved with a passkey");
    one.predicate.approvals[0].passkey = true;
    check(&one, &["approved_with_passkey"], "");
    one.predicate.approvals[0].on_commit = false;
    one.predicate.approvals[0].why = Some("`a.js` changed after it".to_owned());
    check(
        &one,
        &["approved"],
        "the approval a9 by ana does not cover this commit: `a.js` changed after it",
    );
    // A person who allows one call has not approved the work.
    one.predicate.approvals[0].on_commit = true;
    one.predicate.approvals[0].kind = "call".to_owned();
    check(&one, &["approved"], "no person has approved a transition");
}

#[test]
fn a_run_that_goes_on_is_not_completed_and_all_that_lacks_is_said() {
    let mut one = statement();
    one.predicate.run.status = "running".to_owned();
    one.predicate.approvals.clear();
    check(&one, &["completed"], "the run is `running`");
    check(&one, &["completed", "approved"], "no person has approved");
    check(&one, &["completed", "approved"], "the run is `running`");
}
