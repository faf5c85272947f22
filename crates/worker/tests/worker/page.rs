//! The page of the book, run as printed.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    cluster::until,
    crew::{Crew, Worker, program},
    restate::free_port,
    server::ROLE,
};

const PAGE: &str = include_str!("../../../../docs/src/workers.md");

/// Returns the commands of the page, continued lines joined.
fn commands() -> Vec<String> {
    let blocks = PAGE.split("```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap().replace("\\\n", ""));
    let lines = blocks.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns the options that a text names.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
    let words =
        words.filter(|word| word.starts_with("--") && word.chars().any(char::is_alphabetic));
    words.map(str::to_owned).collect()
}

#[test]
fn the_page_of_workers_is_true() {
    let Some(crew) = Crew::new() else { return };
    let home = TempDir::new().unwrap();
    let words = crew.fleet.server.words(&crew.fleet.name, ROLE);
    let script = crew.project().join("test.sh");
    fs::write(&script, "#!/bin/sh\necho tested >> journal\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(home.path().join("ana.token"), &crew.ana).unwrap();
    let (mut worker, mut run) = (None, None);
    for line in commands() {
        if let Some(options) = line.strip_prefix("interlock worker ") {
            let options = options
                .replace("~/shop", crew.project().to_str().unwrap())
                .replace("http://127.0.0.1:9070", &crew.restate.admin());
            let port = free_port();
            let mut command = program(home.path(), &words);
            // Other tests use the default addresses, too.
            command
                .args(options.split(' '))
                .args(["--restate", &crew.restate.ingress()])
                .args(["--listen", &format!("127.0.0.1:{port}"), "--json"]);
            worker = Some(Worker::start(command, home.path(), port));
        } else if line.starts_with("curl ") && line.ends_with("/v1/runs") {
            let line = line.replace("127.0.0.1:4680", crew.fleet.served.address());
            let mut command = Command::new("sh");
            let said = command.args(["-c", &line]).current_dir(home.path());
            let said = said.output().unwrap().stdout;
            let started: Value = serde_json::from_slice(&said).unwrap();
            run = Some(started["run"].as_str().unwrap().to_owned());
        }
    }
    let (worker, run) = (worker.unwrap(), run.unwrap());
    crew.until_status(&run, "completed");
    assert_eq!(crew.lines("journal"), ["tested"]);
    until("the run is given back", || {
        worker.has_said("ended", |_| true)
    });
    // Every object has the keys of the page about JSON, and no other.
    for note in worker.said() {
        let keys: Vec<&String> = note.as_object().unwrap().keys().collect();
        let wanted: &[&str] = match note["event"].as_str().unwrap() {
            "ready" => &["event", "listen", "holder"],
            "taken" => &["event", "run", "epoch", "interrupted"],
            "ended" => &["event", "run", "epoch", "next", "why"],
            other => panic!("{other}: {:?}", worker.said()),
        };
        assert_eq!(keys, wanted);
    }
    let help = program(home.path(), &words).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let table = PAGE.split("| option |").nth(1).unwrap();
    let table = table.split("\n\n").next().unwrap();
    let mut known = options(&help);
    for other in ["--help", "--version", "--database"] {
        assert!(known.remove(other), "{other}: {help}");
    }
    assert_eq!(options(table), known);
}
