//! Many programs: their concurrency is limited, and there is one for each line of a list.

use interlock_core::machine::Machine;
use interlock_runner::Halt;
use serde_json::{Value, json};

use crate::runs::flow::{Room, bash, machine, to};

#[test]
fn of_two_hundred_programs_sixteen_run_at_once_and_never_more() {
    // The first fifteen wait for the sixteenth and leave when all are there, so they do run concurrently; each records
    // that it begins and that it ends.
    let task = |at: usize| {
        let meet = match at {
            0..15 => format!("echo > come{at}; read < leave{at}; "),
            15 => "for gate in come*; do read < $gate; done; \
                   for gate in leave*; do echo > $gate; done; "
                .to_owned(),
            _ => String::new(),
        };
        bash(
            &format!("echo begins >> seen; {meet}echo ends >> seen"),
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
    let gates = "for at in {0..14}; do mkfifo come$at leave$at; done";
    states["first"] = bash(gates, Some("p"));
    states["p"] = json!({
        "activity": {"parallel": {"over": {"branches": branches}, "join": "settled", "merge": "captured", "concurrency": 16}},
        "on": {"done": {"transitions": [to(None)]}},
    });
    let room = Room::new(machine("first", states));
    assert_eq!(room.drive(), Halt::Over);
    assert_eq!(room.code(), Some(0));
    let seen = room.read("seen");
    let at_work = seen.lines().scan(0_i32, |at_work, line| {
        *at_work += if line == "begins" { 1 } else { -1 };
        Some(*at_work)
    });
    let at_work: Vec<i32> = at_work.collect();
    let most = at_work.iter().max();
    assert_eq!(
        (at_work.len(), most, at_work.last()),
        (400, Some(&16), Some(&0))
    );
}

#[test]
fn a_program_runs_for_each_line_of_a_list_in_order() {
    let mut list = bash("seq 100", Some("l/each"));
    list["fails_with"] = json!(1);
    let each = json!({
        "activity": {"parallel": {"over": {"lines": {"machine": "body", "item": "item", "index": "index"}}, "join": "settled", "merge": "shared", "concurrency": 1}},
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
