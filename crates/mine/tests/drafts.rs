//! Drafts from sessions: their texts, and the calls they refuse.

use interlock_backtest::{Backtester, Options};
use interlock_mine::{NoDraft, grade, mine};
use interlock_sessions::{Call, Ended, Format, Losses, Session};
use interlock_simulate::Scenario;
use serde_json::{Value, json};

fn call(tool: &str, input: Value, exit: Option<i64>) -> Call {
    Call {
        id: String::new(),
        tool: tool.to_owned(),
        input,
        agent: None,
        at_ms: None,
        directory: None,
        ended: if exit.is_some_and(|code| code != 0) {
            Ended::Failed
        } else {
            Ended::Well
        },
        exit,
        bytes: 0,
        files: Vec::new(),
        record: None,
    }
}

/// Makes a session from lines: `read F`, `edit F`, or a shell line with its exit code after `=`.
fn session(lines: &[&str]) -> Session {
    let made = lines.iter().enumerate().map(|(index, line)| {
        let path = |file: &str| format!("/project/{file}");
        let made = match line.split_once(' ') {
            Some(("read", file)) => call("Read", json!({"file_path": path(file)}), None),
            Some(("edit", file)) => {
                let input = json!({"file_path": path(file), "old_string": "a", "new_string": "b"});
                call("Edit", input, None)
            }
            _ => {
                let (line, exit) = line.split_once(" = ").unwrap_or((line, "0"));
                call("Bash", json!({"command": line}), exit.parse().ok())
            }
        };
        Call {
            id: format!("c{index}"),
            ..made
        }
    });
    Session {
        id: "s".to_owned(),
        source: String::new(),
        format: Format::ClaudeCode,
        client: Some("claude-code".to_owned()),
        version: None,
        directory: None,
        calls: made.collect(),
        losses: Losses::default(),
    }
}

fn work() -> Vec<Session> {
    vec![
        session(&[
            "read a",
            "edit a",
            "cargo test = 1",
            "edit a",
            "cargo test",
            "git commit -m one",
        ]),
        session(&["read a", "ls", "edit b", "cargo test", "git commit -m two"]),
        session(&[
            "read c",
            "edit c",
            "edit d",
            "cargo test",
            "read c",
            "git commit -m three",
        ]),
    ]
}

#[test]
fn phases_commands_and_evidence_are_found() {
    let setting = Scenario::default();
    let sessions = work();
    let pairs: Vec<_> = sessions.iter().map(|one| (one, &setting)).collect();
    let draft = mine("work", &pairs).unwrap();
    for wanted in [
        "id: work\ninitial: looking\n",
        "passed_before_committing: {evidence: {command: cargo test, since: last_edit}}",
        "  looking:\n    allowed_tools: [Bash, Read]\n",
        "      EDIT: editing\n",
        "      COMMIT: {target: committing, guard: passed_before_committing}\n",
        "      - git commit -m\n",
        "      DONE:",
    ] {
        assert!(draft.text.contains(wanted), "{wanted}\n{}", draft.text);
    }
    let mut tester = Backtester::new(&draft.machine, Options::default()).unwrap();
    for session in &sessions {
        let found = tester.place(session, &setting);
        assert_eq!(found.fewest, 0, "{}", draft.text);
        assert!(found.can_end, "{}", draft.text);
    }
    // Committing untested changes is refused.
    let hasty = session(&["read a", "cargo test", "edit a", "git commit -m no"]);
    assert_eq!(tester.place(&hasty, &setting).fewest, 1, "{}", draft.text);
}

#[test]
fn a_draft_is_graded_by_the_session_it_was_not_made_of() {
    let setting = Scenario::default();
    let mut sessions = work();
    let grades = |sessions: &[Session]| {
        let pairs: Vec<_> = sessions.iter().map(|one| (one, &setting)).collect();
        grade("work", &pairs)
    };
    // Only the first returns from the tests to the edits.
    let before = grades(&sessions);
    assert_eq!(
        (before.sessions, before.calls, before.refused),
        (3, 17, 1),
        "{before:?}"
    );
    sessions.push(session(&[
        "read a",
        "edit a",
        "curl https://example.com/x",
        "git push",
    ]));
    let after = grades(&sessions);
    assert_eq!(after.sessions, 4);
    assert!(after.refused > before.refused + 1, "{after:?}");
}

#[test]
fn work_without_an_order_gives_no_draft() {
    let setting = Scenario::default();
    let mixed = [
        session(&[
            "edit a",
            "cargo test",
            "git commit -m a",
            "edit a",
            "git commit -m b",
            "cargo test",
            "edit a",
        ]),
        session(&["git commit -m a", "edit b", "cargo test", "git commit -m c"]),
        session(&[
            "cargo test",
            "git commit -m a",
            "cargo test",
            "edit a",
            "cargo test",
        ]),
    ];
    let pairs: Vec<_> = mixed.iter().map(|one| (one, &setting)).collect();
    match mine("mixed", &pairs) {
        Err(NoDraft::NoOrder) => {}
        other => panic!("{other:?}"),
    }
    let empty = session(&[]);
    assert_eq!(
        mine("empty", &[(&empty, &setting)]).unwrap_err(),
        NoDraft::Nothing
    );
}
