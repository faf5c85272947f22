//! Machines that check the bundles of a server themselves, and keep the last good one.

use std::{
    fs,
    process::{Command, Output},
};

use interlock_shared::{KeptBundles, Role};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    api::{Fleet, Served, command, token},
    bundles::{FIX, HOUR_MS, bundle, made, now_ms, put, serving, spoilt, start, tenant, value},
    keys::{self, key},
    server::ROLE,
};

#[test]
fn a_machine_keeps_the_last_good_bundle() {
    let state = TempDir::new().unwrap();
    let trusted = [key(1).public()];
    let kept = |server: &str| KeptBundles::new(state.path(), server, &tenant("acme"));
    let here = kept("https://a.example");
    let accepted = |bytes: &[u8], now_ms| match here.accept(Ok(bytes), &trusted, now_ms).unwrap() {
        Ok(accepted) => (
            accepted.bundle.manifest.revision,
            accepted.refused.map_or("good", |refusal| refusal.code()),
        ),
        Err(refusal) => (0, refusal.code()),
    };
    let now = now_ms();
    assert_eq!(
        accepted(&made("shop", 2, now, 2), now),
        (0, "bundle_other_key")
    );
    let second = bundle(2);
    assert_eq!(accepted(&second, now), (2, "good"));
    assert_eq!(accepted(&second, now), (2, "good"));
    for (code, bytes) in [
        ("bundle_older", bundle(1)),
        ("bundle_other_of_revision", made("shop", 2, now - 1_000, 1)),
        ("bundle_other_name", made("free", 3, now, 1)),
        ("bundle_other_key", made("shop", 3, now, 2)),
        ("bundle_expired", made("shop", 3, now - 2 * HOUR_MS, 1)),
        (
            "bundle_unsigned",
            spoilt(|it| it["envelope"]["signatures"] = json!([])),
        ),
        (
            "bundle_file_changed",
            spoilt(|it| it["files"]["fix.yaml"] = json!("id: x")),
        ),
        (
            "bundle_file_added",
            spoilt(|it| it["files"]["more.yaml"] = json!(FIX)),
        ),
        ("bundle_file_missing", spoilt(|it| it["files"] = json!({}))),
    ] {
        assert_eq!(accepted(&bytes, now), (2, code));
    }
    let third = made("shop", 3, now, 1);
    assert_eq!(accepted(&third, now), (3, "good"));
    assert_eq!(accepted(&second, now), (3, "bundle_older"));
    // The kept one is good for its time only.
    assert_eq!(accepted(&second, now + 2 * HOUR_MS), (0, "bundle_older"));
    // Another server has a place of its own.
    let other = kept("https://b.example").accept(Ok(&second), &trusted, now);
    assert_eq!(other.unwrap().unwrap().bundle.manifest.revision, 2);
    // What was changed on the disk is not taken for a first time.
    let file = fs::read_dir(state.path().join("bundles"))
        .unwrap()
        .flatten();
    for entry in file {
        let text = fs::read_to_string(entry.path()).unwrap();
        fs::write(entry.path(), text.replace("[Read, Edit]", "[Read, Bash]")).unwrap();
    }
    let damaged = here
        .accept(Ok(&second), &trusted, now)
        .unwrap_err()
        .to_string();
    assert!(
        damaged.contains("was changed") && damaged.contains("remove the file"),
        "{damaged}"
    );
}

/// A machine that starts and joins runs with the public key in `team.pub`.
struct Machine {
    place: TempDir,
}

impl Machine {
    fn new() -> Self {
        let place = TempDir::new().unwrap();
        keys::write(place.path(), "team", 1);
        Self { place }
    }

    fn call(&self, words: &str, code: i32) -> (String, String) {
        let mut program: Command = command("", &self.place);
        program.env_remove("INTERLOCK_DATABASE");
        let words: Vec<&str> = words.split(' ').collect();
        let Output {
            status,
            stdout,
            stderr,
        } = program
            .args(words)
            .current_dir(self.place.path())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(stdout), text(stderr));
        assert_eq!(status.code(), Some(code), "{out}\n{err}");
        (out, err)
    }
}

#[test]
fn a_machine_starts_and_joins_only_what_the_bundle_says() {
    let Some(fleet) = Fleet::new() else { return };
    let (served, _place) = serving(&fleet);
    let machine = Machine::new();
    let folder = machine.place.path();
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ana");
    fs::write(folder.join("ana.token"), &ana).unwrap();
    fs::write(folder.join("agent.token"), &agent).unwrap();
    fs::write(
        folder.join("own.yaml"),
        FIX.replace("[Read, Edit]", "[Read]"),
    )
    .unwrap();
    fs::write(
        folder.join("loose.yaml"),
        FIX.replace("Edit]", "Edit, Bash]"),
    )
    .unwrap();
    keys::write(folder, "other", 2);
    let with = format!("--server http://{}", served.address());
    let starting =
        format!("start fix.yaml {with} --token-file ana.token --bundle-key team.pub --json");
    let (_, err) = machine.call(&starting, 1);
    assert!(
        err.contains("the server has no good bundle") && err.contains("publish"),
        "{err}"
    );

    fleet
        .acme
        .publish_bundle(&bundle(1), &[key(1).public()])
        .unwrap();
    let (out, _) = machine.call(&starting, 0);
    let run = value(out.as_bytes())["run"].as_str().unwrap().to_owned();
    let joining = |run: &str, key: &str| {
        // One run waits for the next session of a project.
        fs::create_dir_all(folder.join(run)).unwrap();
        format!("join {run} {with} --token-file agent.token --project {run} --bundle-key {key}")
    };
    machine.call(&joining(&run, "team.pub"), 0);
    let (out, _) = machine.call(&format!("{starting} --workflow own.yaml"), 0);
    let tightened = value(out.as_bytes())["run"].as_str().unwrap().to_owned();
    machine.call(&joining(&tightened, "team.pub"), 0);
    let (_, err) = machine.call(&format!("{starting} --workflow loose.yaml"), 1);
    assert!(err.contains("permits more than the bundle's"), "{err}");
    let (_, err) = machine.call(&starting.replace("fix.yaml", "other.yaml"), 1);
    assert!(err.contains("it has `fix.yaml`"), "{err}");
    let (_, err) = machine.call(&joining(&run, "other.pub"), 1);
    assert!(err.contains("not trusted here"), "{err}");
    let (_, err) = machine.call(&starting.replace("ana.token", "agent.token"), 1);
    assert!(err.contains("forbidden_role"), "{err}");

    // A run that somebody has put into the log, past the servers that check.
    let loose = |text: &str| {
        let rest = TempDir::new().unwrap();
        let database = fleet.server.words(&fleet.name, ROLE);
        let unchecked = fleet.server.new_database();
        let own = fleet.server.tenant_in(&unchecked, "acme");
        let elsewhere = Served::start(&fleet.server.words(&unchecked, ROLE));
        let body = json!({ "workflow": { "name": "fix.yaml", "text": text } });
        let ana = token(&own, Role::Person, "ana");
        let run = start(&elsewhere, &ana, &body).json()["run"]
            .as_str()
            .unwrap()
            .to_owned();
        let file = rest.path().join("run.jsonl");
        for (words, arguments) in [
            (
                fleet.server.words(&unchecked, ROLE),
                ["export", &run, "-o", file.to_str().unwrap()].to_vec(),
            ),
            (database, ["import", file.to_str().unwrap()].to_vec()),
        ] {
            let mut program = command(&words, &rest);
            let program = program
                .env("INTERLOCK_TENANT", "acme")
                .current_dir(rest.path());
            let done = program.args(arguments).output().unwrap();
            assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
        drop((elsewhere, own));
        fleet.server.drop_database(&unchecked);
        run
    };
    for (text, why) in [
        (
            FIX.replace("Edit]", "Edit, Bash]"),
            "permits more than the bundle's",
        ),
        (
            FIX.replace("id: fix", "id: free"),
            "the bundle has no workflow `free`",
        ),
    ] {
        let run = loose(&text);
        let (_, err) = machine.call(&joining(&run, "team.pub"), 1);
        assert!(
            err.contains("does not follow revision 1") && err.contains(why),
            "{err}"
        );
    }
    machine.call(&joining(&loose(FIX), "team.pub"), 0);

    // The server's bundle is spoilt for every server that starts now; this machine goes by the one that it has kept.
    machine.call(&joining(&run, "team.pub"), 0);
    fleet
        .acme
        .publish_bundle(&bundle(2), &[key(1).public()])
        .unwrap();
    let (out, err) = machine.call(&joining(&run, "team.pub"), 0);
    assert!(out.contains("guards") && err.is_empty(), "{out}{err}");
    put(&fleet, 3, &made("shop", 3, now_ms() - 2 * HOUR_MS, 1));
    let (_, err) = machine.call(&joining(&run, "team.pub"), 0);
    assert!(
        err.contains("expired") && err.contains("revision 2 is used"),
        "{err}"
    );
}
