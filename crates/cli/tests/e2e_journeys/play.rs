//! One journey by one real client, from `interlock init` to the final state.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;
use std::sync::Mutex;
use std::time::Duration;

use interlock_testkit::client::{Client, Outcome, Session};
use interlock_testkit::interlock::Interlock;
use interlock_testkit::programs;
use interlock_testkit::proposal::Script;
use interlock_testkit::room::{Room, expect_success};
use interlock_testkit::terminal;
use serde_json::Value;

use crate::e2e_journeys::journey::{Journey, Step};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// Far more time than a session needs on a busy machine.
const DEADLINE: Duration = Duration::from_secs(540);

/// Plays the journey; returns the states that the run passed, or the problem.
pub(crate) fn play(client: Client, journey: &Journey) -> Result<Vec<String>, String> {
    let room = project(journey);
    let interlock = Interlock::new(INTERLOCK, &room);
    let stub = programs::built("interlock-testkit", "mcp-stub", INTERLOCK).unwrap();
    client.install(&room, &stub).unwrap();
    assert_eq!(!suite_passes(&room, journey), journey.fails_before);
    interlock.init().unwrap();
    let run = interlock.start(journey.workflow).unwrap();
    let outcome = Session::new(client, &room, script(&room, &run, journey))
        .only_offered()
        .deadline(DEADLINE)
        .run()
        .map_err(|error| error.to_string())?;
    let status = interlock.status(&run).unwrap();
    let events = interlock.events(&run).unwrap();
    let mut found = faults(journey, &outcome, &status, &events);
    found.extend(faults_of_project(&room, journey));
    if !found.is_empty() {
        let log: Vec<String> = events.iter().filter_map(logged).collect();
        return Err(format!(
            "{found:#?}\nlog: {log:#?}\nstatus: {status}\nresults: {:#?}\nexit {:?}\n{}\n{}",
            outcome.results, outcome.exit, outcome.stdout, outcome.stderr
        ));
    }
    interlock.verify(&run).unwrap();
    Ok(states(&events))
}

/// Returns a repository with the journey's files, its change as a second commit, and a remote to push to.
fn project(journey: &Journey) -> Room {
    let room = Room::new().unwrap();
    for pair in [
        ["user.name", "Ana"],
        ["user.email", "ana@example.org"],
        ["commit.gpgsign", "false"],
    ] {
        git(&room, &["config", pair[0], pair[1]]);
    }
    git(&room, &["symbolic-ref", "HEAD", "refs/heads/main"]);
    commit(&room, &journey.files, "The first");
    if !journey.change.is_empty() {
        commit(&room, &journey.change, "The second");
    }
    // No line can access a folder beside the project.
    let origin = room.file(".git/origin.git");
    git(&room, &["init", "--quiet", "--bare", &origin]);
    git(&room, &["remote", "add", "origin", &origin]);
    room
}

fn commit(room: &Room, files: &[(&'static str, String)], message: &str) {
    for (path, text) in files {
        room.write(path, text).unwrap();
    }
    git(room, &["add", "--all"]);
    git(room, &["commit", "--quiet", "--message", message]);
}

fn git(room: &Room, arguments: &[&str]) {
    let output = room.command("git").args(arguments).output().unwrap();
    expect_success(&format!("git {}", arguments.join(" ")), &output).unwrap();
}

fn suite_passes(room: &Room, journey: &Journey) -> bool {
    let output: Output = room
        .command("sh")
        .args(["-c", journey.suite])
        .output()
        .unwrap();
    output.status.success()
}

/// Proposes one step after the other; if one waits for a person, it is approved before the next.
fn script(room: &Room, run: &str, journey: &Journey) -> Script {
    let proposals: Vec<_> = journey
        .steps
        .iter()
        .map(|step| step.proposal().clone())
        .collect();
    let parks: Vec<bool> = journey
        .steps
        .iter()
        .map(|step| matches!(step, Step::Park(..)))
        .collect();
    let (project, environment) = (room.project(), room.environment());
    let (run, answered) = (run.to_owned(), Mutex::new(BTreeSet::new()));
    Script::new(move |turn| {
        let before = turn
            .checked_sub(1)
            .filter(|before| parks.get(*before) == Some(&true));
        if let Some(before) = before
            && answered.lock().unwrap().insert(before)
        {
            approve(&project, &environment, &run);
        }
        proposals.get(turn).cloned()
    })
}

/// Approves the pending request as a person at a separate terminal.
fn approve(project: &Path, environment: &[(&'static str, std::path::PathBuf)], run: &str) {
    let mut command = std::process::Command::new(INTERLOCK);
    command.args(["approve", run]).current_dir(project);
    command.env_clear().envs(environment.iter().cloned());
    // If nothing was pending, the run's log shows it.
    drop(terminal::output(&mut command));
}

/// Returns the differences between the session and the journey.
fn faults(journey: &Journey, outcome: &Outcome, status: &Value, events: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    if outcome.exit != Some(0) {
        faults.push(format!("the client ended with {:?}", outcome.exit));
    }
    if status["status"] != "completed" {
        faults.push(format!("the run is {}", status["status"]));
    }
    let wanted: Vec<String> = journey.steps.iter().flat_map(Step::logged).collect();
    let log: Vec<String> = events.iter().filter_map(logged).collect();
    if log != wanted {
        faults.push(format!("the log is not {wanted:?}"));
    }
    for (index, step) in journey.steps.iter().enumerate() {
        let result = outcome.results.get(index).map_or("", String::as_str);
        if !result.contains(step.shows()) {
            faults.push(format!("step {index} does not show `{}`", step.shows()));
        }
    }
    faults
}

/// Returns the differences between the project and the journey's expected files.
fn faults_of_project(room: &Room, journey: &Journey) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in &journey.left {
        let left = room.read(path).unwrap_or_default();
        if !left.contains(text) {
            faults.push(format!("`{path}` holds {left:?}"));
        }
    }
    if !suite_passes(room, journey) {
        faults.push(format!("`{}` fails", journey.suite));
    }
    faults
}

/// Returns the text of an event about a proposal or a state.
fn logged(event: &Value) -> Option<String> {
    match event["event"].as_str()? {
        "CallAllowed" if event["source"] == "control" => None,
        "CallAllowed" => Some("allowed".to_owned()),
        "CallDenied" | "TransitionRejected" => event["refusal"]["code"].as_str().map(str::to_owned),
        "ApprovalRequested" => Some("waits for a person".to_owned()),
        "RunCompleted" | "RunFailed" | "RunStarted" => None,
        _ => event["to"].as_str().map(|state| format!("to {state}")),
    }
}

/// Returns the states that the run passed, in order.
fn states(events: &[Value]) -> Vec<String> {
    let begun = events.iter().find_map(|event| event["initial"].as_str());
    let entered = events.iter().filter_map(logged);
    let entered = entered.filter_map(|line| line.strip_prefix("to ").map(str::to_owned));
    begun
        .map(str::to_owned)
        .into_iter()
        .chain(entered)
        .collect()
}
