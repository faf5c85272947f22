#![expect(clippy::panic, reason = "a failed test panics")]

use super::*;

const OLD: &str = "id: fix
initial: working
states:
  working:
    allowed_tools: [Read, Edit, Bash]
    allowed_commands: [npm test, git status]
    on:
      DONE: {target: done, guard: tests_passed, requires_approval: true}
  done: {type: final}
guards:
  tests_passed: {evidence: {command: npm test}}
";

/// Returns the result for `OLD` with one text replaced by another, as a word.
#[track_caller]
fn replaced(what: &str, by: &str) -> &'static str {
    assert!(OLD.contains(what), "{what}");
    word(&OLD.replace(what, by), OLD)
}

fn word(new: &str, old: &str) -> &'static str {
    match check_stricter(("new.yaml", new), ("old.yaml", old)) {
        Ok(()) => "as strict",
        Err(Looser::Permits(_)) => "permits more",
        Err(Looser::Unknown(_)) => "unknown",
        Err(Looser::Invalid(errors)) => panic!("{errors}\n{new}"),
    }
}

#[test]
fn a_project_tightens_and_never_loosens() {
    for (what, by, expected) in [
        ("Read", "Read", "as strict"),
        ("[Read, Edit, Bash]", "[Read, Bash]", "as strict"),
        ("[npm test, git status]", "[npm test]", "as strict"),
        (
            "    on:",
            "    instructions: Be careful.\n    on:",
            "as strict",
        ),
        ("    on:", "    max_iterations: 50\n    on:", "as strict"),
        ("id: fix\n", "id: fix\nfinish: required\n", "as strict"),
        ("working", "fixing", "as strict"),
        (
            "[Read, Edit, Bash]",
            "[Read, Edit, Bash, WebFetch]",
            "permits more",
        ),
        (
            "    allowed_tools: [Read, Edit, Bash]\n",
            "",
            "permits more",
        ),
        (
            "[npm test, git status]",
            "[npm test, git status, git push]",
            "permits more",
        ),
        (", requires_approval: true", "", "permits more"),
        (" guard: tests_passed,", "", "permits more"),
        ("    on:", "    on:\n      SKIP: done", "permits more"),
        ("    on:", "    max_edit_lines: 10\n    on:", "unknown"),
        ("    on:", "    env: {A: b}\n    on:", "unknown"),
        ("requires_approval: true", "approval: passkey", "unknown"),
        ("id: fix", "id: other", "unknown"),
    ] {
        assert_eq!(replaced(what, by), expected, "{what} -> {by}");
    }
}

/// A comparison of steps reads no limits of edits, so the same steps must lead to the state with the same limits.
#[test]
fn limits_that_are_not_compared_cannot_be_left_behind_by_another_name() {
    let limited = OLD.replace("    on:", "    max_edit_lines: 10\n    on:");
    assert_eq!(word(&limited, &limited), "as strict");
    assert_eq!(word(OLD, &limited), "unknown");
    let renamed = OLD.replace("working", "fixing");
    assert_eq!(word(&renamed, &limited), "unknown");
    let fewer = limited.replace("[Read, Edit, Bash]", "[Read, Edit]");
    assert_eq!(word(&fewer, &limited), "as strict");
    // The limits of two states, exchanged by where an event leads.
    let two = "id: two
initial: a
states:
  a: {allowed_tools: [Read], on: {NEXT: b, OTHER: c}}
  b: {allowed_tools: [Edit], max_edit_lines: 5, on: {DONE: done}}
  c: {allowed_tools: [Edit], on: {DONE: done}}
  done: {type: final}
";
    assert_eq!(word(two, two), "as strict");
    let exchanged = two.replace("NEXT: b, OTHER: c", "NEXT: c, OTHER: b");
    assert_eq!(word(&exchanged, two), "unknown");
}

#[test]
fn an_agent_that_must_finish_cannot_be_let_go() {
    let required = OLD.replace("id: fix\n", "id: fix\nfinish: required\n");
    assert_eq!(word(OLD, &required), "unknown");
}

#[test]
fn a_passkey_cannot_become_a_click() {
    let passkey = OLD.replace("requires_approval: true", "approval: passkey");
    assert_eq!(word(OLD, &passkey), "unknown");
    assert_eq!(word(&passkey, &passkey), "as strict");
}

/// The context that a run starts with opens guards as a rule does.
#[test]
fn a_guard_cannot_be_opened_by_the_context() {
    let closed = "id: ctx
initial: a
context: {ok: false}
states:
  a: {allowed_tools: [Read], on: {DONE: {target: done, guard: is_ok}}}
  done: {type: final}
guards:
  is_ok: {field: ok, op: eq, value: true}
";
    assert_eq!(word(closed, closed), "as strict");
    let open = closed.replace("ok: false", "ok: true");
    assert_eq!(word(&open, closed), "permits more");
    assert_eq!(word(closed, &open), "as strict");
    let other = closed.replace("value: true", "value: false");
    assert_eq!(word(&other, closed), "permits more");
}

#[test]
fn a_check_after_a_write_cannot_be_taken_away() {
    let checked = "id: i
initial: working
states:
  working: {allowed_tools: [Read, Edit], on: {DONE: done}}
  checking:
    allowed_tools: [Read, Bash]
    allowed_commands: [make check]
    on: {VALID: {target: $return, guard: checked}}
  done: {type: final}
guards:
  checked: {evidence: {command: make check}}
interrupts:
  migrations: {trigger: {file_pattern: \"db/**\"}, target: checking}
";
    assert_eq!(word(checked, checked), "as strict");
    let fewer = checked.replace("db/**", "db/old/**");
    assert_eq!(word(&fewer, checked), "permits more");
    let unguarded = checked.replace(", guard: checked", "");
    assert_eq!(word(&unguarded, checked), "permits more");
}
