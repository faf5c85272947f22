//! The evidence from reports of overlapping calls, and the baseline of later ones.
#![expect(
    clippy::type_complexity,
    reason = "a table of cases is written once and read as a table"
)]

use interlock_core::{
    event::{
        About, AllowSource, ApprovalKind, CallRecord, Event, PendingGrant, PromptEnd, VoidReason,
    },
    evolve,
    names::{CallId, Digest, FramePath},
    refusal::{Code, Refusal},
    run::Run,
    substance::ReportRead,
};
use serde_json::{Value, json};

use crate::support::started::started;

const KEY: &str = "tested";

fn source() -> Value {
    json!({"format": "junit", "path": "report.xml"})
}

/// Returns the marks of calls: one that runs the tests, and others.
fn marks(kind: &str) -> Value {
    let mut marks = json!({"counts": true, "writes": false, "shell": false});
    let evidence = json!([
        {"key": KEY, "proves_success": true, "proves_exit": true, "report": {"source": source(), "alone": true}},
        {"key": "ran", "proves_success": true, "proves_exit": true},
    ]);
    match kind {
        "reads" => {}
        "writes" => marks["writes"] = json!(true),
        "line" => marks["shell"] = json!(true),
        "tests and writes" => {
            marks["shell"] = json!(true);
            marks["writes"] = json!(true);
            marks["evidence"] = evidence;
        }
        _ => {
            marks["shell"] = json!(true);
            marks["evidence"] = evidence;
        }
    }
    marks
}

fn begins_with(run: Run, id: &str, marks: Value) -> Run {
    let call = CallRecord {
        id: CallId::new(id),
        tool: "Bash".to_owned(),
        digest: Digest::new(id),
        summary: String::new(),
        agent: None,
    };
    let allowed = Event::CallAllowed {
        path: FramePath::root(),
        call,
        source: AllowSource::Policy,
        marks: serde_json::from_value(marks).unwrap(),
    };
    evolve(run, &allowed)
}

fn begins(run: Run, id: &str, kind: &str) -> Run {
    begins_with(run, id, marks(kind))
}

/// Ends a call, with observations of its commands and its report.
fn ends_with(run: Run, id: &str, exit: i64, commands: Value, checked: Value) -> Run {
    let ended = Event::CallEnded {
        call: CallId::new(id),
        ok: exit == 0,
        exit: Some(exit),
        bytes: 0,
        wrote: Vec::new(),
        commands: serde_json::from_value(commands).unwrap(),
        assumed: false,
        checked: serde_json::from_value(checked).unwrap(),
        writes: run
            .calls
            .iter()
            .any(|call| call.id.as_str() == id && call.marks.writes),
    };
    evolve(run, &ended)
}

/// Ends a call with a report of this many passed tests.
fn ends(run: Run, id: &str, passed: u64) -> Run {
    let counts = json!({"digest": passed.to_string(), "passed": passed, "failed": 0, "skipped": 0});
    let checked = json!({"reports": [{"source": source(), "read": {"tests": counts}}]});
    ends_with(run, id, 0, json!([]), checked)
}

fn begun() -> Run {
    let machine = json!({"id": "m", "initial": "a", "states": {"a": {}}});
    started(&serde_json::from_value(machine).unwrap())
}

fn counts(run: &Run) -> Option<u64> {
    match run.evidence.get(KEY)?.report.as_ref()? {
        ReportRead::Tests(tests) => Some(tests.passed),
        ReportRead::Problem { .. } => None,
    }
}

#[test]
fn a_report_proves_nothing_where_another_call_may_have_written_it() {
    for (other, proves) in [
        ("reads", true),
        ("writes", false),
        ("line", false),
        ("tests", false),
    ] {
        // The other call runs before and after, begins within, or has ended before.
        let around = begins(begun(), "other", other);
        let around = ends(begins(around, "t", "tests"), "t", 5);
        assert_eq!(counts(&around).is_some(), proves, "{other} around");
        let within = begins(begun(), "t", "tests");
        let within = ends(begins(within, "other", other), "t", 5);
        assert_eq!(counts(&within).is_some(), proves, "{other} within");
        let before = ends(begins(begun(), "other", other), "other", 3);
        let before = ends(begins(before, "t", "tests"), "t", 5);
        assert_eq!(counts(&before), Some(5), "{other} before");
    }
}

#[test]
fn of_several_reports_without_a_write_between_them_the_one_of_most_tests_is_the_baseline() {
    let ran = |passed: &[u64]| {
        let mut run = begun();
        for (number, passed) in passed.iter().enumerate() {
            let id = format!("t{number}");
            run = ends(begins(run, &id, "tests"), &id, *passed);
        }
        run.baselines.get(KEY).map(|baseline| baseline.ran)
    };
    assert_eq!(ran(&[5]), Some(5));
    assert_eq!(ran(&[5, 7]), Some(7));
    assert_eq!(ran(&[7, 5]), Some(7));
}

#[test]
fn what_is_reported_after_a_write_is_no_baseline() {
    let mut run = begins(begun(), "t", "tests and writes");
    run = ends(run, "t", 5);
    assert!(run.baselines.is_empty(), "its own call has written");
    let run = ends(begins(begun(), "w", "writes"), "w", 0);
    let run = ends(begins(run, "t", "tests"), "t", 5);
    assert!(run.baselines.is_empty());
}

#[test]
fn what_a_probe_saw_counts_as_far_as_it_belongs_to_the_command() {
    let all: [(bool, &[Option<i64>], Option<i64>); 8] = [
        // Success is the command's own, even if another might have ended the line there.
        (false, &[Some(0)], Some(0)),
        (true, &[Some(0)], Some(0)),
        (false, &[Some(3)], None),
        (true, &[Some(3)], Some(3)),
        // Of several starts, the common exit code.
        (true, &[Some(3), Some(3)], Some(3)),
        (true, &[Some(0), Some(3)], None),
        (false, &[Some(0), Some(0)], Some(0)),
        (true, &[None], None),
    ];
    for (exit, exits, wanted) in all {
        let mut marks = marks("tests");
        marks["evidence"] = json!([{"key": KEY, "proves_success": false, "proves_exit": false,
            "probes": [{"at": 4, "exit": exit}]}]);
        let run = begins_with(begun(), "t", marks);
        // Another command of the line ends differently.
        let commands = json!([{"at": 0, "exits": [1]}, {"at": 4, "exits": exits}]);
        let run = ends_with(run, "t", 1, commands, json!({}));
        let seen = run.evidence.get(KEY).and_then(|seen| seen.exit);
        assert_eq!(seen, wanted, "{exit} {exits:?}");
    }
}

#[test]
fn a_write_ages_evidence_whether_its_call_counts_against_a_limit_or_not() {
    for counts in [true, false] {
        for writes in [true, false] {
            let tested = ends(begins(begun(), "t", "tests"), "t", 5);
            assert!(!tested.evidence[KEY].is_before_an_edit(&tested));
            let marks = json!({"counts": counts, "writes": writes});
            let run = begins_with(tested, "c", marks);
            let stale = run.evidence[KEY].is_before_an_edit(&run);
            assert_eq!(stale, writes, "counts: {counts}");
            assert_eq!(run.root.stay.used.calls, 1 + u64::from(counts), "{writes}");
            let run = ends_with(run, "c", 0, json!([]), json!({}));
            let stale = run.evidence[KEY].is_before_an_edit(&run);
            assert_eq!(stale, writes, "counts: {counts}, at its end");
        }
    }
}

/// Begins a call that a person is asked about: it runs once its line has started.
fn asked(run: Run, id: &str, kind: &str) -> Run {
    let call = CallRecord {
        id: CallId::new(id),
        tool: "Bash".to_owned(),
        digest: Digest::new(id),
        summary: String::new(),
        agent: None,
    };
    let grant = PendingGrant {
        call,
        refusal: Refusal::new(Code::ToolNotAllowed, "it is not listed"),
        marks: serde_json::from_value(marks(kind)).unwrap(),
        then: None,
    };
    let opened = Event::RequestOpened {
        path: FramePath::root(),
        about: About::Call(Box::new(grant)),
        question: Digest::new(id),
        prompt: None,
        approval: ApprovalKind::Person,
        at_ms: 1,
    };
    evolve(run, &opened)
}

fn runs(run: Run, id: &str) -> Run {
    let confined = Event::LineConfined {
        call: CallId::new(id),
        level: "files".to_owned(),
        unconfined: Vec::new(),
        settles: true,
    };
    evolve(run, &confined)
}

#[test]
fn a_call_that_waited_for_a_person_is_beside_others_once_it_runs() {
    let overlapped = |run: &Run, id: &str| {
        let mut calls = run.calls.iter();
        calls
            .find(|call| call.id.as_str() == id)
            .unwrap()
            .overlapped
    };
    let waits = asked(begins(begun(), "other", "line"), "t", "tests");
    assert!(!overlapped(&waits, "t"), "it does not run yet");
    assert!(overlapped(&runs(waits, "t"), "t"));
    // Another call that tests overlaps one that begins late, too.
    let waits = asked(begins(begun(), "t", "tests"), "late", "line");
    assert!(!overlapped(&waits, "t"));
    assert!(overlapped(&runs(waits, "late"), "t"));
    let alone = runs(asked(begun(), "t", "tests"), "t");
    assert!(!overlapped(&alone, "t"));
}

#[test]
fn of_reports_with_as_many_tests_the_first_is_the_baseline() {
    let ran = |run: Run, id: &str, digest: &str, exit: i64| {
        let counts = json!({"digest": digest, "passed": 5, "failed": 0, "skipped": 0});
        let checked = json!({"reports": [{"source": source(), "read": {"tests": counts}}]});
        ends_with(begins(run, id, "tests"), id, exit, json!([]), checked)
    };
    let run = ran(ran(begun(), "t1", "first", 0), "t2", "second", 0);
    assert_eq!(run.baselines[KEY].digest, Digest::new("first"));
}

#[test]
fn what_began_before_a_person_approved_is_no_baseline_from_then_on() {
    let accepted = Event::ProjectAccepted {
        by: "ana".to_owned(),
    };
    let run = evolve(begins(begun(), "t", "tests"), &accepted);
    let run = ends(run, "t", 5);
    assert!(run.baselines.is_empty());
    let run = ends(begins(run, "t2", "tests"), "t2", 5);
    assert_eq!(run.baselines[KEY].after, run.approved);
}

#[test]
fn a_report_of_a_run_whose_end_is_not_known_is_no_baseline() {
    let counts = json!({"digest": "d", "passed": 5, "failed": 0, "skipped": 0});
    let checked = json!({"reports": [{"source": source(), "read": {"tests": counts}}]});
    for (proves, known) in [(true, true), (false, false)] {
        let mut marks = marks("tests");
        marks["evidence"][0]["proves_exit"] = json!(proves);
        let run = ends_with(
            begins_with(begun(), "t", marks),
            "t",
            1,
            json!([]),
            checked.clone(),
        );
        assert_eq!(run.baselines.contains_key(KEY), known, "{proves}");
    }
}

#[test]
fn so_many_calls_and_answers_are_remembered_and_no_more() {
    let mut run = begun();
    for number in 0..257 {
        run = begins(run, &number.to_string(), "reads");
    }
    let kept: Vec<&str> = run.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!((kept.len(), kept[0], kept[255]), (256, "1", "256"));
    let mut run = begun();
    let mut ids = Vec::new();
    for number in 0..33 {
        run = asked(run, &number.to_string(), "reads");
        let open = run.requests[0].clone();
        ids.push(open.id());
        let voided = Event::RequestVoided {
            path: open.path.clone(),
            id: open.id(),
            question: open.question.clone(),
            why: VoidReason::Prompt(PromptEnd::TurnOver),
            at_ms: 1,
        };
        run = evolve(run, &voided);
    }
    let kept: Vec<_> = run.settled.iter().map(|one| one.id.clone()).collect();
    assert_eq!(kept, ids[1..], "the oldest is forgotten");
}
