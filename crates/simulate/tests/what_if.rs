//! What if: under the same workflow, nothing changes, whatever was recorded; under another one, the expected
//! differences are found.

use std::{collections::BTreeMap, fs};

use interlock_core::{event::Event, machine::Machine, refusal::Code, run::RunKind};
use interlock_simulate::{
    Scenario, Simulation,
    input::short_form,
    what_if::{CannotJudge, Change, WhatIf, Window, what_if},
};
use proptest::prelude::*;

use crate::support::case_files::{loaded, root};
use crate::support::made_up_runs::{lines, machine};
use crate::support::played_cases::played_cases;

const ALL: Window = Window {
    from: 0,
    limit: usize::MAX,
};

fn judge(events: &[Event], pinned: &Machine, other: &Machine) -> Result<WhatIf, CannotJudge> {
    let log = events.iter().cloned().map(Ok);
    what_if(log, pinned, other, &Scenario::default(), ALL)
}

/// Returns every case of the corpus: its machine, and the events recorded when it is played.
fn cases() -> Vec<(String, Machine, Vec<Event>)> {
    let same = |machine: Machine| machine;
    played_cases(same, |name, machine, events| {
        (name, machine.clone(), events)
    })
}

fn is_guarded(events: &[Event]) -> bool {
    matches!(events.first(), Some(Event::RunStarted { kind, .. }) if *kind == RunKind::Guarded)
}

#[test]
fn under_the_same_workflow_no_case_comes_out_differently() {
    let (mut runs, mut judged, mut unjudged) = (0, 0, Vec::new());
    for (name, machine, events) in cases() {
        if events.is_empty() {
            continue;
        }
        let found = judge(&events, &machine, &machine);
        if !is_guarded(&events) {
            let refused = matches!(
                found,
                Err(CannotJudge::StepsRun(_) | CannotJudge::StepsWorkflow(_))
            );
            assert!(refused, "{name}: {found:?}");
            continue;
        }
        let found = found.unwrap();
        assert_eq!(found.differences, [], "{name}");
        assert_eq!(found.then, found.now, "{name}");
        runs += 1;
        judged += found.judged;
        for one in found.not_judged {
            unjudged.push(format!("{name}: {} {} ({})", one.seq, one.what, one.why));
        }
    }
    assert!(runs > 300, "{runs} runs");
    // A comparison that judges nothing would find no difference either.
    let share = unjudged.len() as f64 / (judged as f64 + unjudged.len() as f64);
    assert!(share < 0.04, "{judged} judged, not: {}", unjudged.len());
}

#[test]
fn under_the_same_workflow_no_recorded_history_comes_out_differently() {
    let machines: BTreeMap<String, Machine> = cases()
        .into_iter()
        .map(|(_, machine, _)| (machine.hash.clone(), machine))
        .collect();
    let (mut played, mut steps) = (Vec::new(), 0);
    for entry in fs::read_dir(root().join("tests/histories")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let (lines, _) = text.trim_end().rsplit_once('\n').unwrap();
        let events: Vec<Event> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let Some(Event::RunStarted { hash, .. }) = events.first() else {
            continue;
        };
        if !is_guarded(&events) {
            let found = judge(&events, &machine(), &machine());
            assert!(matches!(found, Err(CannotJudge::StepsRun(_))), "{found:?}");
            steps += 1;
            continue;
        }
        // The workflows of the others are not in the repository.
        let Some(machine) = machines.get(hash) else {
            continue;
        };
        let found = judge(&events, machine, machine).unwrap();
        assert_eq!(found.differences, [], "{}", path.display());
        assert_eq!(found.then, found.now, "{}", path.display());
        let has_stages = events.iter().any(|event| event.name() == "StageEntered");
        assert!(has_stages || found.unjudged == 0, "{}", path.display());
        played.push(path);
    }
    assert!(played.len() >= 6 && steps >= 10, "{played:?} {steps}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn under_the_same_workflow_no_made_up_run_comes_out_differently(lines in lines()) {
        let mut simulation = Simulation::new(machine(), Scenario::default());
        for line in &lines {
            let _ = simulation.step(line);
        }
        let found = judge(simulation.events(), &machine(), &machine()).unwrap();
        prop_assert_eq!(found.differences, vec![]);
        prop_assert_eq!(found.then, found.now);
        // The log contains neither the data of a refused transition, nor a missing branch.
        for one in found.not_judged {
            let event = simulation.events().get(usize::try_from(one.seq).unwrap()).unwrap();
            let refused = match event {
                Event::CallDenied { refusal, .. } | Event::TransitionRejected { refusal, .. } => refusal.code,
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            prop_assert!(matches!(refused, Code::UnknownBranch | Code::ReservedKey | Code::LimitExceeded), "{:?}", event);
        }
    }

    #[test]
    fn under_another_workflow_any_made_up_run_can_be_judged(lines in lines(), left_out in 0_usize..9) {
        let mut simulation = Simulation::new(machine(), Scenario::default());
        for line in &lines {
            let _ = simulation.step(line);
        }
        let mut other = machine();
        other.hash = "other".to_owned();
        let name = other.states.get_index(left_out).map(|(name, _)| name.clone()).unwrap();
        if let Some(state) = other.states.get_mut(&name) {
            state.on.clear();
            state.policy.allowed_tools = Some(Vec::new());
        }
        let found = judge(simulation.events(), &machine(), &other).unwrap();
        // The first is the first, and none precedes it.
        prop_assert_eq!(found.first, found.differences.first().map(|one| one.seq));
        prop_assert!(found.differences.is_sorted_by_key(|one| one.seq));
        prop_assert_eq!(u64::try_from(found.differences.len()).unwrap(), found.differing);
        for one in &found.differences {
            prop_assert!(one.then != one.now, "{:?}", one);
        }
    }
}

const FLOW: &str = "
id: fix
initial: planning
context: {n: 0}
guards:
  tested: {evidence: {command: cargo test, exit: 0}}
states:
  planning:
    allowed_tools: [Read]
    on: {READY: editing}
  editing:
    allowed_tools: [Read, Edit, Write, Bash]
    on:
      DONE: {target: finished, guards: [tested]}
  finished: {type: final}
";

/// Plays lines in short form on `text`, and judges the records under `other`; returns the differences, one per line.
fn differences(text: &str, other: &str, lines: &[&str]) -> (Vec<String>, WhatIf) {
    let (pinned, other) = (
        loaded("a.yaml", text).unwrap(),
        loaded("b.yaml", other).unwrap(),
    );
    let mut simulation = Simulation::new(pinned.clone(), Scenario::default());
    for line in lines {
        let line = short_form(line).unwrap();
        simulation.step(&line.to_string()).unwrap();
    }
    let found = judge(simulation.events(), &pinned, &other).unwrap();
    let shown = found.differences.iter().map(|one| {
        let change = serde_json::to_value(one.change).unwrap();
        let code = one.now.code.map_or("-", |code| code.as_str());
        format!(
            "{} {} {} {code}",
            one.seq,
            one.what,
            change.as_str().unwrap()
        )
    });
    (shown.collect(), found)
}

const LINES: [&str; 8] = [
    "Read a.rs",
    "Edit a.rs",
    "READY",
    "Bash git push",
    "Bash cargo test",
    "result {\"exit\": 0}",
    "DONE",
    "Read a.rs",
];

#[test]
fn the_same_text_in_another_file_is_the_same_workflow() {
    let (found, all) = differences(FLOW, FLOW, &LINES);
    assert_eq!((found, all.first), (vec![], None));
    assert!(all.judged >= 7, "{all:?}");
}

#[test]
fn a_tool_that_is_not_listed_any_more_is_refused_and_the_rest_stays() {
    let other = FLOW.replace("allowed_tools: [Read]", "allowed_tools: [Grep]");
    let (found, all) = differences(FLOW, &other, &LINES);
    assert_eq!(
        found,
        [r#"1 Read {"file_path":"a.rs"} refused tool_not_allowed"#]
    );
    assert_eq!((all.first, all.then), (Some(1), all.now));
}

#[test]
fn a_tool_that_is_listed_now_is_possible() {
    let other = FLOW.replace("allowed_tools: [Read]", "allowed_tools: [Read, Edit]");
    let (found, all) = differences(FLOW, &other, &LINES);
    assert_eq!(found, ["3 Edit a.rs possible -"]);
    let [one] = all.differences.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!(one.then.code.unwrap().as_str(), "tool_not_allowed");
}

#[test]
fn a_transition_that_is_shut_now_is_refused_and_all_that_follows_is_asked_where_the_run_still_stands()
 {
    let other = FLOW.replace(
        "    on: {READY: editing}",
        "    on: {READY: {target: editing, guards: [tested]}}",
    );
    let (found, all) = differences(FLOW, &other, &LINES);
    assert_eq!(
        found,
        [
            "4 READY refused guard_failed",
            "5 Bash git push refused tool_not_allowed",
            "7 Bash cargo test refused tool_not_allowed",
            "9 DONE refused unknown_event",
        ]
    );
    assert_eq!(all.then.state, ["finished"]);
    assert_eq!(all.now.state, ["planning"]);
}

#[test]
fn where_only_the_other_workflow_asks_a_person_a_yes_is_taken_for_granted() {
    let other = FLOW.replace(
        "    on: {READY: editing}",
        "    on: {READY: {target: editing, requires_approval: true, approval_message: Go on?}}",
    );
    let (found, all) = differences(FLOW, &other, &LINES);
    assert_eq!(found, ["4 READY asks -"]);
    assert!(all.differences.iter().all(|one| one.yes_assumed));
    assert_eq!(all.then.state, all.now.state);
    // And vice versa: the answer has no request.
    let lines = ["Read a.rs", "READY", "approve", "Edit a.rs"];
    let (found, all) = differences(&other, FLOW, &lines);
    assert_eq!(found, ["3 READY possible -"]);
    assert_eq!(all.then.state, all.now.state);
}

#[test]
fn evidence_is_what_the_other_workflow_asks_for() {
    let other = FLOW.replace("command: cargo test", "command: cargo clippy");
    let (found, all) = differences(FLOW, &other, &LINES);
    let [first] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(first.ends_with("DONE refused guard_failed"), "{first}");
    let message = all
        .differences
        .first()
        .and_then(|one| one.now.message.clone());
    assert!(message.unwrap().contains("cargo clippy"));
}

#[test]
fn a_run_that_ends_earlier_is_not_judged_behind_its_end() {
    let other = FLOW.replace(
        "on: {READY: editing}",
        "on: {READY: finished, LATER: editing}",
    );
    let (found, all) = differences(FLOW, &other, &LINES);
    assert_eq!(found, ["4 READY other_way -"]);
    assert_eq!(all.now.status, "completed");
    assert!(all.over.is_some());
    assert_eq!(all.then.state, ["finished"]);
}

#[test]
fn a_window_counts_what_it_does_not_list() {
    let pinned = loaded("a.yaml", FLOW).unwrap();
    let other = loaded("b.yaml", &FLOW.replace("[Read]", "[Grep]")).unwrap();
    let mut simulation = Simulation::new(pinned.clone(), Scenario::default());
    for _ in 0..1_000 {
        simulation
            .step(r#"{"tool": "Read", "input": {"file_path": "a.rs"}}"#)
            .unwrap();
    }
    let window = Window { from: 21, limit: 3 };
    let log = simulation
        .events()
        .iter()
        .cloned()
        .map(Ok::<_, CannotJudge>);
    let found = what_if(log, &pinned, &other, &Scenario::default(), window).unwrap();
    assert_eq!((found.differing, found.first), (1_000, Some(1)));
    assert_eq!(found.differences.len(), 3);
    assert!(
        found
            .differences
            .iter()
            .all(|one| one.seq >= 21 && one.change == Change::Refused)
    );
}

#[test]
fn a_line_that_the_log_cuts_is_not_judged_unless_its_tool_is_refused() {
    let long = format!("Bash cargo test {}", "x".repeat(400));
    let lines = ["READY", long.as_str()];
    let other = FLOW.replace("Write, Bash]", "Write, Bash]\n    allowed_commands: [git]");
    let (found, all) = differences(FLOW, &other, &lines);
    assert_eq!(found, Vec::<String>::new());
    assert_eq!((all.unjudged, all.not_judged.len()), (1, 1));
    let other = FLOW.replace("Write, Bash]", "Write]");
    let (found, all) = differences(FLOW, &other, &lines);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(all.unjudged, 0);
}
