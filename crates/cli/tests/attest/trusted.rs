//! The trusted keys and the workflow: those of the commit that is merged into.

use std::{fs, process::Stdio};

use interlock_testkit::room::expect_success;

use super::scene::{FLOW, INTERLOCK, REQUIRED, Scene, err, out};

#[test]
fn a_branch_cannot_bring_its_own_key() {
    let scene = Scene::begun();
    let key = scene.room.path("eve.key");
    let key = key.to_str().unwrap();
    let made = scene.person(&["attest", "keygen", "--key", key]);
    expect_success("keygen", &made).unwrap();
    scene
        .room
        .write(".interlock/attest.pub", &out(&made))
        .unwrap();
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "my key"]);
    scene.attest(&["--key", key]);
    let why = scene.refused(&["--base", "main"], "unknown_key");
    assert!(why.contains("which is not trusted here"), "{why}");
    for base in ["HEAD", "branch"] {
        let found = scene.verify(&["--base", base]);
        assert_eq!(found.status.code(), Some(2), "{found:?}");
        assert!(err(&found).contains("may bring its own keys"), "{found:?}");
    }
    // The file in the working tree is never read.
    let found = scene.verify(&[]);
    assert_eq!(found.status.code(), Some(2), "{found:?}");
    assert!(err(&found).contains("no key is trusted"), "{found:?}");
}

#[test]
fn a_branch_cannot_bring_its_own_workflow() {
    let looser = FLOW.replace("requires_approval: true, ", "");
    let scene = Scene::under(&looser);
    scene.work();
    scene.send("DONE");
    // If a file has the name of a workflow, a path refers to the file.
    scene.room.write("flow", &looser).unwrap();
    scene.commit_all("work");
    scene.attest(&[]);
    scene.verified(&["--base", "main", "--require", "completed"]);
    for wanted in ["flow", ".interlock/workflows/flow.yaml"] {
        let words = [
            "--base",
            "main",
            "--workflow",
            wanted,
            "--require",
            "completed",
        ];
        let why = scene.refused(&words, "other_workflow");
        assert!(
            why.contains("`flow` (flow.yaml), whose text was another"),
            "{why}"
        );
    }
    // Without `--base`, the checked-out file is used.
    let key = scene.public.to_str().unwrap();
    scene.verified(&["--key", key, "--workflow", "flow"]);
}

#[test]
fn what_a_merge_check_is_told_wrongly_is_said() {
    let scene = Scene::worked();
    scene.attest(&[]);
    for (words, says) in [
        (
            &["--base", "nowhere"][..],
            "there is no such commit here; fetch it first",
        ),
        (
            &["--base", "main", "--workflow", "a/b.yaml"],
            "`a/b.yaml` is not in commit `main`",
        ),
        (
            &["--base", "main", "--workflow", "../flow.yaml"],
            "must be a path below the project",
        ),
        (
            &["--base", "main", "--require", "test_passed"],
            "did you mean `tests_passed`?",
        ),
        (
            &["--base", "main", "--repository", "shop"],
            "is not of the form HOST/PATH",
        ),
        (&["--key", "nowhere.pub"], "cannot be read"),
        (
            &["--key", "src/a.txt"],
            "it holds no `-----BEGIN PUBLIC KEY-----` block",
        ),
    ] {
        let found = scene.verify(words);
        assert_eq!(found.status.code(), Some(2), "{words:?}: {found:?}");
        assert!(err(&found).contains(says), "{words:?}: {found:?}");
    }
    let first = scene.git(&["rev-list", "--max-parents=0", "HEAD"]);
    scene.git(&["checkout", "-q", "main"]);
    scene.git(&["rm", "-q", ".interlock/attest.pub"]);
    scene.commit_all("no keys");
    scene.git(&["checkout", "-q", "branch"]);
    let found = scene.verify(&["--base", "main"]);
    assert!(
        err(&found).contains("commit `main` has no `.interlock/attest.pub`"),
        "{found:?}"
    );
    // Keys that were once in a commit are still there.
    scene.verified(&["--base", &first]);
}

#[test]
fn a_repository_by_another_name_is_foreign() {
    let scene = Scene::worked();
    let address = "https://ana:secret@github.com/acme/shop.git";
    scene.git(&["remote", "add", "origin", address]);
    scene.attest(&[]);
    let base = ["--base", "main", "--repository"];
    scene.verified(&[&base[..], &["git@github.com:acme/shop.git"]].concat());
    let why = scene.refused(
        &[&base[..], &["github.com/eve/shop"]].concat(),
        "other_repository",
    );
    assert!(
        why.contains("`github.com/acme/shop`, not in `github.com/eve/shop`"),
        "{why}"
    );
    let text = fs::read_to_string(&scene.file).unwrap();
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn a_job_asks_for_the_note_of_the_commit() {
    let scene = Scene::worked();
    scene.room.install("interlock", INTERLOCK.as_ref()).unwrap();
    scene.attest(&[]);
    let origin = scene.room.path("origin.git");
    let origin = origin.to_str().unwrap();
    scene.git(&["init", "-q", "--bare", origin]);
    scene.git(&["remote", "add", "origin", origin]);
    scene.git(&["push", "-q", "origin", "main", "branch"]);
    let clone = scene.room.path("job");
    let job = |required: &str| {
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/attested.sh");
        let mut sh = scene.room.command("sh");
        sh.arg(script.canonicalize().unwrap())
            .current_dir(&clone)
            .env("INTERLOCK_COMMIT", scene.commit())
            .env("INTERLOCK_BASE", "origin/main")
            .env("INTERLOCK_WORKFLOW", "flow")
            .env("INTERLOCK_REQUIRE", required);
        sh.stdin(Stdio::null()).output().unwrap()
    };
    scene.git(&[
        "clone",
        "-q",
        "-b",
        "branch",
        origin,
        clone.to_str().unwrap(),
    ]);
    let none = job(REQUIRED);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    assert!(err(&none).contains("has no attestation"), "{none:?}");
    let note = scene.file.to_str().unwrap();
    scene.git(&["notes", "--ref", "interlock", "add", "-F", note]);
    scene.git(&["push", "-q", "origin", "refs/notes/interlock"]);
    let found = job(REQUIRED);
    assert!(found.status.success(), "{found:?}");
    let lacking = job("approved_with_passkey");
    assert_eq!(lacking.status.code(), Some(1), "{lacking:?}");
    assert_eq!(job("").status.code(), Some(2));
}
