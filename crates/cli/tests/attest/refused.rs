//! Runs that cannot be attested, and users that may not attest.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio};

use interlock_testkit::{interlock::databases, room::expect_success};
use serde_json::json;

use super::scene::{INTERLOCK, Scene, err};

#[test]
fn a_working_tree_that_is_not_the_commit_is_not_attested() {
    let scene = Scene::worked();
    scene.room.write("src/a.txt", "three\n").unwrap();
    let why = scene.not_attested(&[]);
    assert!(
        why.contains("files differ from commit") && why.contains("`src/a.txt`"),
        "{why}"
    );
    // A flag in the index hides nothing.
    scene.git(&["update-index", "--assume-unchanged", "src/a.txt"]);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    assert!(scene.not_attested(&[]).contains("`src/a.txt`"));
    scene.git(&["update-index", "--no-assume-unchanged", "src/a.txt"]);
    scene.git(&["checkout", "-q", "src/a.txt"]);
    scene.room.write("conftest.py", "").unwrap();
    assert!(scene.not_attested(&[]).contains("`conftest.py`"));
    scene
        .room
        .write(".git/info/exclude", "conftest.py\n")
        .unwrap();
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    assert!(scene.not_attested(&[]).contains("`conftest.py`"));
    fs::remove_file(scene.room.path("project/conftest.py")).unwrap();
    scene.attest(&[]);
}

#[test]
fn a_program_that_the_repository_configures_is_not_started() {
    let scene = Scene::worked();
    let evil = scene
        .room
        .script("evil", "touch \"$0.ran\"; exit 1")
        .unwrap();
    let evil = evil.to_str().unwrap();
    for key in ["core.fsmonitor", "filter.x.clean", "diff.external"] {
        scene.git(&["config", key, evil]);
    }
    scene
        .room
        .write(".git/info/attributes", "* filter=x\n")
        .unwrap();
    scene.attest(&[]);
    scene.verified(&["--base", "main", "--require", "tests_passed"]);
    assert!(!scene.room.path("evil.ran").exists());
}

#[test]
fn a_log_that_does_not_verify_is_not_attested() {
    let scene = Scene::worked();
    let databases = databases(&scene.room.state(), &scene.run).unwrap();
    let code = "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\ndb.execute('update events set at_ms = at_ms - 1 where seq = 2')\ndb.commit()";
    let mut python = scene.room.command("python3");
    let output = python.args(["-c", code]).arg(&databases[0]).output();
    expect_success("python3", &output.unwrap()).unwrap();
    let why = scene.not_attested(&[]);
    assert!(
        why.contains("does not verify, so nothing is attested: event 2 is not what was recorded"),
        "{why}"
    );
}

#[test]
fn without_a_repository_or_a_commit_nothing_is_attested() {
    let scene = Scene::worked();
    fs::rename(scene.room.path("project/.git"), scene.room.path("git")).unwrap();
    let why = scene.not_attested(&[]);
    assert!(why.contains("is in no git repository"), "{why}");
}

#[test]
fn only_a_person_attests() {
    let scene = Scene::worked();
    let file = scene.file.to_str().unwrap();
    let mut command = scene.room.command(INTERLOCK);
    command.args(["attest", &scene.run, "-o", file]);
    let nobody = command.stdin(Stdio::null()).output().unwrap();
    assert!(
        err(&nobody).contains("only a person may do this"),
        "{nobody:?}"
    );
    assert!(!scene.file.exists());
    let mut keygen = scene.room.command(INTERLOCK);
    let nobody = keygen
        .args(["attest", "keygen"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        err(&nobody).contains("only a person may do this"),
        "{nobody:?}"
    );
}

#[test]
fn a_guarded_agent_reaches_neither_the_command_nor_the_key() {
    let scene = Scene::begun();
    let key = scene.room.state().join("interlock/attest.key");
    assert!(key.is_file());
    let key = key.to_str().unwrap();
    for (tool, input) in [
        ("Bash", json!({"command": "interlock attest"})),
        (
            "Bash",
            json!({"command": "interlock attest keygen --key /tmp/k"}),
        ),
        ("Bash", json!({"command": "sh -c 'interlock attest -o x'"})),
        ("Bash", json!({"command": format!("cat {key}")})),
        ("Read", json!({"file_path": key})),
        ("Write", json!({"file_path": key, "content": "x"})),
        (
            "Write",
            json!({"file_path": scene.room.file(".interlock/attest.pub"), "content": "x"}),
        ),
        ("Bash", json!({"command": "echo x > .interlock/attest.pub"})),
    ] {
        let said = scene.proposes(tool, &input);
        assert_eq!(said["permissionDecision"], "deny", "{tool} {input}: {said}");
        let why = said["permissionDecisionReason"].as_str().unwrap();
        assert!(why.starts_with("protected"), "{tool} {input}: {why}");
    }
}

#[test]
fn a_key_that_is_no_secret_is_not_used() {
    let scene = Scene::worked();
    let key = scene.room.state().join("interlock/attest.key");
    let mode = |mode: u32| fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(
        fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    mode(0o640);
    assert!(scene.not_attested(&[]).contains("others can read the key"));
    mode(0o600);
    let again = scene.person(&["attest", "keygen"]);
    assert!(err(&again).contains("cannot be written"), "{again:?}");
    let inside = scene.room.file("attest.key");
    let why = scene.not_attested(&["--key", &inside]);
    assert!(
        why.contains("is in the project, where agents work"),
        "{why}"
    );
    // A link from outside leads there, too.
    fs::write(scene.room.path("project/attest.key"), "x").unwrap();
    let link = scene.room.path("link");
    std::os::unix::fs::symlink(scene.room.path("project"), &link).unwrap();
    let linked = link.join("attest.key");
    let why = scene.not_attested(&["--key", linked.to_str().unwrap()]);
    assert!(
        why.contains("is in the project, where agents work"),
        "{why}"
    );
    fs::remove_file(scene.room.path("project/attest.key")).unwrap();
    let public = scene.public.to_str().unwrap();
    fs::set_permissions(&scene.public, fs::Permissions::from_mode(0o600)).unwrap();
    let why = scene.not_attested(&["--key", public]);
    assert!(
        why.contains("no `-----BEGIN PRIVATE KEY-----` block"),
        "{why}"
    );
    fs::remove_file(&key).unwrap();
    assert!(
        scene
            .not_attested(&[])
            .contains("make a key with `interlock attest keygen`")
    );
}
