//! Workers that are lost, stopped or ended while they carry a run.

use std::{fs, process::Stdio};

use serde_json::Value;

use crate::{
    cluster::{psql, until},
    crew::Crew,
    runs::HELD,
    server::ROLE,
};

const DONE: [&str; 5] = ["one", "begin", "begin", "two", "three"];

fn is_takeover(note: &Value) -> bool {
    note["epoch"] == 2 && note["interrupted"] == true
}

#[test]
fn a_killed_workers_run_is_carried_on_by_another_and_finished_steps_are_done_once() {
    let Some(crew) = Crew::new() else { return };
    let mut first = crew.worker(3);
    let run = crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    let second = crew.worker(3);
    first.kill();
    until("its program has ended, too", || !crew.is_alive(0));
    until("the other has taken the run over", || {
        second.has_said("taken", is_takeover)
    });
    until("the step runs again", || crew.lines("pids").len() == 2);
    fs::write(crew.project().join("go"), "").unwrap();
    crew.until_status(&run, "completed");
    assert_eq!(crew.lines("journal"), DONE);
    crew.fleet.verified(&run);
    until("the outbox is empty", || crew.outbox() == "0");
}

#[test]
fn a_worker_whose_companion_is_killed_ends_its_programs_and_stops() {
    let Some(crew) = Crew::new() else { return };
    let mut worker = crew.worker(3600);
    crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    worker.kill_companion();
    assert_eq!(worker.ended().code(), Some(1));
    assert!(worker.errors().contains("start it again"));
    assert!(!crew.is_alive(0));
}

#[test]
fn an_interrupted_step_that_may_have_written_waits_for_a_person() {
    let Some(crew) = Crew::new() else { return };
    let mut first = crew.worker(3);
    let run = crew.start("held.yaml", &HELD.replace("    on-crash: retry\n", ""));
    until("the step runs", || crew.lines("pids").len() == 1);
    let second = crew.worker(3);
    first.kill();
    until("its program has ended, too", || !crew.is_alive(0));
    until("the other has taken the run over, and waits", || {
        second.has_said("ended", |note| {
            note["epoch"] == 2 && note["next"] == "person"
        })
    });
    assert!(second.has_said("taken", is_takeover));
    assert_eq!(crew.lines("journal"), ["one", "begin"]);
    crew.fleet.verified(&run);
}

#[test]
fn a_stopped_worker_appends_nothing_and_ends_its_programs_when_it_continues() {
    let Some(crew) = Crew::new() else { return };
    let first = crew.worker(3);
    let run = crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    let second = crew.worker(3);
    first.signal("-STOP");
    crew.proxy.remove(first.port);
    until("the other has taken the run over", || {
        second.has_said("taken", is_takeover) && crew.lines("pids").len() == 2
    });
    let events = crew.events(&run).len();
    first.signal("-CONT");
    until("its program has ended", || !crew.is_alive(0));
    until("it has noticed", || {
        first.has_said("ended", |note| note["epoch"] == 1 && note["next"] == "lost")
    });
    assert!(crew.is_alive(1), "the program of the other has ended");
    assert_eq!(crew.events(&run).len(), events);
    fs::write(crew.project().join("go"), "").unwrap();
    crew.until_status(&run, "completed");
    assert_eq!(crew.lines("journal"), DONE);
    crew.fleet.verified(&run);
}

#[test]
fn a_worker_that_cannot_renew_its_lease_ends_its_programs_before_the_lease_ends() {
    let Some(crew) = Crew::new() else { return };
    let _worker = crew.worker(3);
    let run = crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    let events = crew.events(&run).len();
    // The database answers nothing about the run.
    let locked = format!(
        "BEGIN; SELECT 1 FROM interlock.runs WHERE run = '{run}' FOR UPDATE; SELECT pg_sleep(600)"
    );
    let mut lock = psql(&crew.fleet.server.words(&crew.fleet.name, ROLE), &locked);
    let mut lock = lock
        .env("PGOPTIONS", "-c interlock.tenant=acme")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("its program has ended", || !crew.is_alive(0));
    assert_eq!(crew.events(&run).len(), events);
    lock.kill().unwrap();
    lock.wait().unwrap();
}

#[test]
fn a_worker_that_has_lost_a_run_ends_its_programs() {
    let Some(crew) = Crew::new() else { return };
    let worker = crew.worker(3);
    let run = crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    let events = crew.events(&run).len();
    let taken = format!("UPDATE interlock.runs SET epoch = epoch + 1 WHERE run = '{run}'");
    crew.fleet.server.sql(&crew.fleet.name, &taken);
    until("its program has ended", || !crew.is_alive(0));
    until("it has noticed", || {
        worker.has_said("ended", |note| note["next"] == "lost")
    });
    assert_eq!(crew.events(&run).len(), events);
}

#[test]
fn a_worker_that_is_told_to_end_ends_its_programs_and_gives_its_runs_back() {
    let Some(crew) = Crew::new() else { return };
    // Nobody waits for this lease.
    let mut first = crew.worker(3600);
    let run = crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    let second = crew.worker(3600);
    first.signal("-TERM");
    assert_eq!(first.ended().code(), Some(0), "{}", first.errors());
    assert!(!crew.is_alive(0));
    until("the other has taken the run over", || {
        second.has_said("taken", is_takeover)
    });
    fs::write(crew.project().join("go"), "").unwrap();
    crew.until_status(&run, "completed");
    assert_eq!(crew.lines("journal"), DONE);
    crew.fleet.verified(&run);
}

#[test]
fn a_killed_restate_loses_no_run() {
    let Some(mut crew) = Crew::new() else { return };
    let worker = crew.worker(30);
    let run = crew.start("held.yaml", HELD);
    until("the step runs", || crew.lines("pids").len() == 1);
    crew.restate.kill();
    // The run goes on: nobody asks Restate while it is carried.
    fs::write(crew.project().join("go"), "").unwrap();
    crew.until_status(&run, "completed");
    until("it waits to tell Restate", || {
        worker.has_said("ended", |_| true) && crew.outbox() == "1"
    });
    let other = crew.start("steps.yaml", &crate::runs::steps(&["four"]));
    crew.restate.start_again();
    crew.until_status(&other, "completed");
    until("the outbox is empty", || crew.outbox() == "0");
    assert_eq!(
        crew.lines("journal"),
        ["one", "begin", "two", "three", "four"]
    );
}
