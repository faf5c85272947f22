//! What workers refuse: requests that Restate has not signed, and options that are not safe.

use std::{fs, process::Command};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    cluster::until,
    crew::{self, Crew, Worker, program},
    restate::{Restate, free_port},
    server::ROLE,
};

/// A private key for Restate's requests, made for these tests.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIHsTBOqbmb9n96O70zrjZzdUWd1/LTBABIEe8dCRMQ9U
-----END PRIVATE KEY-----
";

/// Sends an unsigned request to a worker and returns the status.
fn unsigned(port: u16, path: &str) -> String {
    let mut command = Command::new("curl");
    command
        .args(["-sS", "--http2-prior-knowledge", "-o", "/dev/null"])
        .args([
            "-w",
            "%{http_code}",
            "-H",
            "accept: application/vnd.restate.endpointmanifest.v4+json",
        ])
        .arg(format!("http://127.0.0.1:{port}{path}"));
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn a_request_that_restate_has_not_signed_is_refused() {
    if !crate::programs::are_built() {
        return;
    }
    let room = TempDir::new().unwrap();
    let key = room.path().join("key.pem");
    fs::write(&key, PRIVATE).unwrap();
    let Some(restate) = Restate::start_with(Some(&key)) else {
        return;
    };
    let Some(crew) = Crew::with(restate) else {
        return;
    };
    let public = crew.restate.public_key();
    let worker = crew.worker_of(30, "", &["--identity-key", &public]);
    for path in [
        "/discover",
        "/invoke/Run/wake",
        "/invoke/Run/carry",
        "/",
        "/x",
    ] {
        assert_eq!(unsigned(worker.port, path), "401", "{path}");
    }
    // Restate's own are accepted.
    let run = crew.start("steps.yaml", &crate::runs::steps(&["one"]));
    crew.until_status(&run, "completed");
}

#[test]
fn workers_with_the_key_of_another_restate_are_not_registered() {
    let Some(crew) = Crew::new() else { return };
    let key = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f";
    let (code, said) = crew.refused_worker(&["--identity-key", key]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("401"), "{said}");
}

#[test]
fn a_path_that_no_endpoint_has_ends_no_connection() {
    let Some(crew) = Crew::new() else { return };
    let worker = crew.worker(30);
    assert_eq!(unsigned(worker.port, "/discover"), "200");
    for path in ["/", "/x", "/x/y/z", "/invoke/Run/none"] {
        let status: u16 = unsigned(worker.port, path).parse().unwrap();
        assert!((400..=500).contains(&status), "{path}: {status}");
    }
}

#[test]
fn a_key_of_another_tenant_is_no_run_of_these_workers() {
    let Some(crew) = Crew::new() else { return };
    let _worker = crew.worker(30);
    let run = crew.start("steps.yaml", &crate::runs::steps(&["one"]));
    crew.until_status(&run, "completed");
    for key in [
        format!("other%2F{run}"),
        "acme%2F..".to_owned(),
        run.clone(),
    ] {
        let reply = crew.restate.call_key(&key, "standing", &Value::Null);
        assert_eq!(reply.status, 404, "{key}: {reply:?}");
        let reply = crew.restate.call_key(&key, "wake", &json!("x"));
        assert_eq!(reply.status, 404, "{key}: {reply:?}");
    }
}

#[test]
fn what_is_not_safe_or_not_whole_is_refused_with_a_sentence() {
    let Some(crew) = Crew::new() else { return };
    let home = TempDir::new().unwrap();
    let words = crew.fleet.server.words(&crew.fleet.name, ROLE);
    let project = crew.project().display().to_string();
    let refused = |options: &[&str]| -> (i32, String) {
        let mut command = program(home.path(), &words);
        let (code, said) = crew::refused(command.args(options));
        assert!(!said.contains(&format!("password={ROLE}")), "{said}");
        (code.unwrap(), said)
    };
    let port = free_port().to_string();
    let elsewhere = format!("0.0.0.0:{port}");
    let cases: [(&[&str], i32, &str); 7] = [
        (&[], 1, "--project"),
        (
            &["--project", &project, "--listen", &elsewhere],
            1,
            "--identity-key",
        ),
        (
            &[
                "--project",
                &project,
                "--restate",
                "http://restate.example:8080",
            ],
            1,
            "--identity-key",
        ),
        (
            &[
                "--project",
                &project,
                "--listen",
                "127.0.0.1:0",
                "--restate-admin",
                "http://restate.example:9070",
            ],
            1,
            "another machine",
        ),
        (
            &["--project", &project, "--identity-key", "x"],
            1,
            "publickeyv1_",
        ),
        (&["--project", &project, "--lease", "1"], 2, "--lease"),
        (
            &["--project", &project, "--tenant", "none"],
            1,
            "has no tenant",
        ),
    ];
    for (options, code, named) in cases {
        let (found, said) = refused(options);
        assert_eq!(found, code, "{options:?}: {said}");
        assert!(said.contains(named), "{options:?}: {said}");
    }
}

#[test]
fn a_run_that_cannot_be_carried_here_is_left_as_it_is() {
    let Some(crew) = Crew::new() else { return };
    let worker: Worker = crew.worker(30);
    // There is no model.
    let run = crew.start(
        "review.yaml",
        "id: review\nstages:\n  Review:\n    body: Say something.\n    completionTool: submit\n    \
         completionSchema: {type: object}\n    turnCap: 3\n    next: end\n",
    );
    let events = crew.events(&run).len();
    until("it is given back", || {
        worker.has_said("ended", |note| {
            note["next"] == "later"
                && note["why"]
                    .as_str()
                    .is_some_and(|why| why.contains("model"))
        })
    });
    assert_eq!(crew.events(&run).len(), events);
}
