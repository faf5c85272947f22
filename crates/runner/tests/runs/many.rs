//! Many programs: no more at once than may, and one for each line of a list.

use interlock_core::machine::Machine;
use interlock_runner::Halt;
use serde_json::{Value, json};

use crate::flow::{Room, bash, machine, to};

#[test]
fn of_two_hundred_programs_sixteen_run_at_once_and_never_more() {
    // The first sixteen wait for each other, so that they do run at once; each counts who is there.
    let task = |at: usize| {
        let meet = match at {
            0..15 => format!("read < gate{at}; "),
            15 => "for gate in gate*; do echo > $gate; done; ".to_owned(),
            _ => String::new(),
        };
        bash(
            &format!("mkdir in/{at}; {meet}ls in | wc -l >> seen; rmdir in/{at}"),
            None,
        )
    };
    let name = |at: usize| format!("p/{at}");
    let mut states = json!({});
    let mut branches = json!({});
    for at in 0..200 {
        let mut state = task(at);
        state["shown_as"] = json!("");
        branches[at.to_string()] = json!({"initial": name(at), "terminal": ""});
        states[name(at)] = state;
    }
    let gates = "mkdir in; for at in {0..14}; do mkfifo gate$at; done";
    states["first"] = bash(gates, Some("p"));
    states["p"] = json!({
        "activity": {"fork": {"branches": branches, "join": "settle", "at_once": 16}},
        "on": {"done": {"transitions": [to(None)]}},
    });
    let room = Room::new(machine("first", states));
    assert_eq!(room.drive(), Halt::Over);
    assert_eq!(room.code(), Some(0));
    let seen = room.read("seen");
    let seen: Vec<u64> = seen
        .lines()
        .map(|line| line.trim().parse().unwrap())
        .collect();
    assert_eq!((seen.len(), seen.iter().max()), (200, Some(&16)));
}

#[test]
fn a_program_runs_for_each_line_of_a_list_in_order() {
    let mut list = bash("seq 100", Some("l/each"));
    list["fails_with"] = json!(1);
    let each = json!({
        "activity": {"each": {"machine": "body", "item": "item", "index": "index"}},
        "on": {"done": {"transitions": [to(None)]}},
        "shown_as": "l",
    });
    let body = json!({
        "id": "l", "initial": "s",
        "states": {"s": bash("echo {{ item }} {{ index }} >> order", None)},
    });
    let whole: Value = json!({
        "id": "flow", "initial": "l", "durable": true,
        "states": {"l": list, "l/each": each},
        "machines": {"body": body},
    });
    let whole = serde_json::from_value::<Machine>(whole).unwrap().seal();
    let room = Room::new(whole);
    assert_eq!(room.drive(), Halt::Over);
    let expected: String = (1..=100)
        .map(|item| format!("{item} {}\n", item - 1))
        .collect();
    assert_eq!(room.read("order"), expected);
}
