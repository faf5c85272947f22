#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

use super::{Form, Predicate, SinceWhat, own_properties, properties_file};
use crate::{Source, load, source::NoWorkflows};

const FLOW: &str = "id: f
initial: planning
guards:
  ready: {field: ok, op: eq, value: true}
states:
  planning:
    allowed_tools: [Read, Write]
    on:
      DONE: {target: finished, guard: ready, requires_approval: true}
  finished: {type: final}
";

fn wrong(properties: &str) -> Vec<(usize, usize, String)> {
    let loaded = load(&Source::new("f.yaml", FLOW), None, &NoWorkflows).unwrap();
    match properties_file(
        &Source::new("f.properties.yaml", properties),
        &loaded.machine,
    ) {
        Ok(found) => panic!("read: {found:?}"),
        Err(found) => found
            .into_iter()
            .map(|one| (one.line, one.column, one.message))
            .collect(),
    }
}

#[test]
fn properties_of_a_workflow_are_read_and_the_engine_ignores_them() {
    let text = format!(
        "{FLOW}properties:\n  - {{before: {{event: DONE}}, require: [{{guard: ready}}], since: last_edit}}\n"
    );
    let source = Source::new("f.yaml", text);
    let machine = load(&source, None, &NoWorkflows).unwrap().machine;
    let found = own_properties(&source, &machine).unwrap();
    let first = found.first().unwrap();
    assert_eq!(first.line, 12);
    assert_eq!(
        first.form,
        Form::Before {
            at: Predicate::Event("DONE".to_owned()),
            require: vec![Predicate::Guard("ready".to_owned())],
            since: SinceWhat::LastEdit,
        }
    );
    let bare = load(&Source::new("f.yaml", FLOW), None, &NoWorkflows).unwrap();
    assert_eq!(machine.hash, bare.machine.hash);
}

#[test]
fn an_unknown_name_is_told_with_its_place_and_the_nearest_one() {
    let found = wrong("- never: {state: planing}\n- possible: {evnt: DONE}\n");
    assert_eq!(
        found,
        [
            (
                1,
                18,
                "the workflow has no state `planing`; did you mean `planning`?".to_owned()
            ),
            (
                2,
                14,
                "unknown atom `evnt`; did you mean `event`?".to_owned()
            ),
        ]
    );
}

#[test]
fn every_mistake_is_told_at_once() {
    let found = wrong(
        "properties:
  - {never: {tool: Wirte}}
  - {before: {event: DONE}}
  - {only_in: [nowhere], what: {writes: any}}
  - {at_most: many, of: {tool: Write}}
  - {never_together: [{state: planning}]}
  - {never: {writes: 'a{'}}
  - {possible: {guard: redy}}
  - {only_with_person: {approved: STOP}}
  - {never: {command: 'a $b'}}
  - {sometimes: {state: planning}}
",
    );
    let lines: Vec<usize> = found.iter().map(|(line, _, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "{found:?}");
}
