//! Two runs side by side: their common events and their differences.

use interlock_core::{
    event::Event,
    machine::Machine,
    names::{CallId, Digest},
};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{
    Scenario, Simulation,
    compare::{Alignment, Row, fingerprint},
    input::short_form,
};

const FLOW: &str = "
id: fix
initial: planning
context: {n: 0}
states:
  planning: {on: {READY: editing}}
  editing: {on: {DONE: finished}}
  finished: {type: final}
";

fn played(project: &str, lines: &[&str]) -> Vec<Event> {
    let machine: Machine = load(&Source::new("a.yaml", FLOW), None, &NoWorkflows)
        .unwrap()
        .machine;
    let setting = Scenario {
        project_root: project.to_owned(),
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(machine, setting);
    for line in lines {
        let line = short_form(line).unwrap();
        simulation.step(&line.to_string()).unwrap();
    }
    simulation.events().to_vec()
}

fn prints(events: &[Event], project: &str) -> Vec<u64> {
    events
        .iter()
        .map(|event| fingerprint(event, project))
        .collect()
}

/// Gives calls other ids and digests, and all events other times, as in another run.
fn of_another_run(events: &[Event]) -> Vec<Event> {
    let mut all = events.to_vec();
    for event in &mut all {
        match event {
            Event::CallAllowed { call, .. } => {
                call.id = CallId::new(format!("other-{}", call.id));
                call.digest = Digest::from("other");
            }
            Event::CallEnded { call, bytes, .. } => {
                *call = CallId::new(format!("other-{call}"));
                *bytes += 7;
            }
            Event::TransitionTaken { at_ms, .. } => *at_ms += 5_000,
            _ => {}
        }
    }
    all
}

const LINES: [&str; 6] = [
    "Read a.rs",
    "Bash cargo test",
    "result {\"exit\": 0}",
    "READY {\"n\": 1}",
    "Edit a.rs",
    "DONE",
];

#[test]
fn times_ids_and_the_place_of_the_project_make_no_difference() {
    let one = played("/project", &LINES);
    let other = of_another_run(&one);
    assert_ne!(one, other);
    let (left, right) = (prints(&one, "/project"), prints(&other, "/project"));
    assert_eq!(left, right);
    let file = |root: &str| format!("Edit {root}/a.rs");
    let there = played("/elsewhere/copy", &[&file("/elsewhere/copy")]);
    let here = played("/project", &[&file("/project")]);
    assert_eq!(prints(&here, "/project"), prints(&there, "/elsewhere/copy"));
    assert_ne!(prints(&here, "/project"), prints(&there, "/nowhere"));
}

#[test]
fn data_arguments_and_answers_make_a_difference() {
    let changed = |from: &str, to: &str| {
        let lines = LINES.map(|line| if line == from { to } else { line });
        let (one, other) = (played("/project", &LINES), played("/project", &lines));
        let found = Alignment::of(&prints(&one, "/project"), &prints(&other, "/project"));
        found.differences().count()
    };
    assert_eq!(changed("Read a.rs", "Read a.rs"), 0);
    assert_eq!(changed("Read a.rs", "Read b.rs"), 1);
    assert_eq!(changed("READY {\"n\": 1}", "READY {\"n\": 2}"), 1);
    assert_eq!(changed("result {\"exit\": 0}", "result {\"exit\": 1}"), 1);
}

#[test]
fn rows_stand_beside_each_other_and_each_event_has_one() {
    let left = [1, 2, 3, 4, 9, 9];
    let right = [1, 3, 4, 5, 6, 9];
    let found = Alignment::of(&left, &right);
    let rows: Vec<Row> = found.rows_from(0).collect();
    let (mut at, mut rows_wanted) = ((0, 0), Vec::new());
    let mut row = |left: Option<u64>, right: Option<u64>, same| {
        at = (
            left.map_or(at.0, |seq| seq + 1),
            right.map_or(at.1, |seq| seq + 1),
        );
        let reached = at;
        rows_wanted.push(Row {
            left,
            right,
            same,
            reached,
        });
    };
    row(Some(0), Some(0), true);
    row(Some(1), None, false);
    row(Some(2), Some(1), true);
    row(Some(3), Some(2), true);
    row(Some(4), Some(3), false);
    row(None, Some(4), false);
    row(Some(5), Some(5), true);
    assert_eq!(rows, rows_wanted);
    assert_eq!(found.rows(), 7);
    assert_eq!(found.rows_from(4).collect::<Vec<_>>(), rows[4..]);
    assert_eq!(
        found.differences().map(|(row, _)| row).collect::<Vec<_>>(),
        [1, 4]
    );
    assert_eq!(
        (found.row_of(3, true), found.row_of(4, false)),
        (Some(3), Some(5))
    );
    assert_eq!(found.row_of(6, true), None);
}
