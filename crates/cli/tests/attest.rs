//! Attestations by the built program: a run in a real repository, its attestation, and its verification at a merge.
#![cfg(target_os = "linux")]

mod refused;
mod scene;
mod signed;
mod trusted;

use scene::{REQUIRED, Scene};
use serde_json::Value;

use interlock_testkit::{interlock::Interlock, room::Room};

#[test]
fn a_run_is_attested_and_a_merge_is_let_in() {
    let scene = Scene::worked();
    let made = scene.attest(&["--json"]);
    let summary: Value = serde_json::from_str(&scene::out(&made)).unwrap();
    assert_eq!(summary["commit"], scene.commit(), "{summary}");
    assert_eq!(
        summary["tree"],
        scene.git(&["rev-parse", "HEAD^{tree}"]),
        "{summary}"
    );
    let text = scene.verified(&[
        "--base",
        "main",
        "--workflow",
        "flow",
        "--require",
        REQUIRED,
    ]);
    for line in [
        &*format!("verified: commit {}", scene.commit()),
        "`tests_passed` is met\n",
        "`approved` is met\n",
        "`completed` is met\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // By path, by name, and with the keys in a file.
    scene.verified(&[
        "--base",
        "main",
        "--workflow",
        ".interlock/workflows/flow.yaml",
    ]);
    let key = scene.public.to_str().unwrap();
    scene.verified(&["--key", key, "--workflow", ".interlock/workflows/flow.yaml"]);
    let json = scene.verified(&["--key", key, "--require", REQUIRED, "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let predicate = &json["statement"]["predicate"];
    assert_eq!(json["ok"], true);
    assert_eq!(predicate["run"]["status"], "completed", "{json}");
    assert_eq!(
        predicate["run"]["startedAtCommit"],
        scene.git(&["rev-parse", "main"])
    );
    assert_eq!(predicate["guards"][0]["onCommit"], true, "{json}");
    assert_eq!(predicate["evidence"][0]["exit"], 0, "{json}");
    assert_eq!(predicate["approvals"][0]["about"], "DONE", "{json}");
    // The signed head is that of the log.
    let events = Interlock::new(scene::INTERLOCK, &scene.room)
        .events(&scene.run)
        .unwrap();
    assert_eq!(predicate["log"]["events"], events.len());
    assert_eq!(
        predicate["log"]["head"]["sha256"],
        events.last().unwrap()["hash"]
    );
}

#[test]
fn it_says_how_many_tests_were_left_out() {
    const REPORT: &str = r#"<testsuite><testcase name="a"/><testcase name="b"/>
<testcase name="c"><skipped/></testcase></testsuite>"#;
    // The tests write their report, so their state may write.
    let flow = scene::FLOW
        .replace("[Read, Bash]", "[Read, Edit, Bash]")
        .replace(
            "{command: npm test}",
            "{command: npm test, report: report.xml, none_removed: false}",
        );
    let scene = Scene::under(&flow);
    let script = format!("cat >report.xml <<'E'\n{REPORT}\nE\nexit \"${{CODE:-0}}\"");
    scene.room.script("bin/npm", &script).unwrap();
    scene.room.write(".gitignore", "report.xml\n").unwrap();
    scene.commit_all("ignored");
    scene.work();
    scene.finish();
    scene.commit_all("work");
    scene.attest(&[]);
    let key = scene.public.to_str().unwrap();
    let json = scene.verified(&["--key", key, "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let evidence = &json["statement"]["predicate"]["evidence"][0];
    assert_eq!(evidence["report"]["passed"], 2, "{json}");
    assert_eq!(evidence["report"]["failed"], 0, "{json}");
    assert_eq!(evidence["report"]["skipped"], 1, "{json}");
}

#[test]
fn it_is_checked_where_there_is_no_run_and_no_repository() {
    let scene = Scene::worked();
    scene.attest(&[]);
    let other = Room::new().unwrap();
    std::fs::remove_dir_all(other.path("project/.git")).unwrap();
    let file = scene.file.to_str().unwrap();
    let key = scene.public.to_str().unwrap();
    let verify = |commit: &str| {
        let words = [
            "verify",
            file,
            "--commit",
            commit,
            "--key",
            key,
            "--require",
            REQUIRED,
        ];
        Interlock::new(scene::INTERLOCK, &other)
            .run(&words)
            .unwrap()
    };
    let found = verify(&scene.commit());
    assert!(found.status.success(), "{found:?}");
    let named = verify("HEAD");
    assert_eq!(named.status.code(), Some(2));
    assert!(
        scene::err(&named).contains("give the commit's id in full"),
        "{named:?}"
    );
}

#[test]
fn a_commit_on_top_is_not_attested() {
    let scene = Scene::worked();
    scene.attest(&[]);
    let attested = scene.commit();
    scene.room.write("src/a.txt", "three\n").unwrap();
    scene.commit_all("more");
    let why = scene.refused(&["--base", "main", "--require", REQUIRED], "other_commit");
    assert!(
        why.contains(&format!(
            "foreign: the attestation is for commit {attested}"
        )),
        "{why}"
    );
    // A new attestation states what the tests did not cover.
    scene.attest(&[]);
    let why = scene.refused(&["--base", "main", "--require", REQUIRED], "not_met");
    for part in [
        "`tests_passed` is required and not met: `npm test` was seen, but `src/a.txt` changed after it",
        "`approved` is required and not met: the approval",
    ] {
        assert!(why.contains(part), "{why}");
    }
    scene.verified(&["--base", "main", "--require", "completed"]);
}

#[test]
fn a_file_that_the_tests_did_not_see_is_named() {
    let scene = Scene::worked();
    // The file was not tracked when the tests ran, and no call of the run wrote it.
    scene.room.write("src/new.txt", "new\n").unwrap();
    scene.commit_all("new");
    scene.attest(&[]);
    let why = scene.refused(&["--base", "main", "--require", "tests_passed"], "not_met");
    assert!(why.contains("`src/new.txt` changed after it"), "{why}");
}

#[test]
fn a_file_that_the_tests_saw_and_the_commit_lacks_is_named() {
    let scene = Scene::worked();
    scene.git(&["rm", "-q", "src/b.txt"]);
    scene.git(&["commit", "-qm", "less"]);
    scene.attest(&[]);
    let why = scene.refused(&["--base", "main", "--require", "tests_passed"], "not_met");
    assert!(why.contains("`src/b.txt` changed after it"), "{why}");
}

#[test]
fn a_file_written_before_the_tests_and_added_after_them_counts() {
    let scene = Scene::begun();
    scene.room.write("src/new.txt", "new\n").unwrap();
    scene.work();
    scene.finish();
    scene.commit_all("new");
    scene.attest(&[]);
    scene.verified(&["--base", "main", "--require", REQUIRED]);
}

#[test]
fn a_commit_before_the_tests_is_attested_too() {
    let scene = Scene::begun();
    scene.edit("two");
    scene.commit_all("work");
    scene.send("CHECK");
    scene.bash("npm test", 0);
    scene.finish();
    scene.attest(&[]);
    scene.verified(&["--base", "main", "--require", REQUIRED]);
}

#[test]
fn a_run_that_goes_on_is_attested_as_what_it_is() {
    let scene = Scene::begun();
    scene.work();
    scene.commit_all("work");
    scene.attest(&[]);
    scene.verified(&["--base", "main", "--require", "tests_passed"]);
    let why = scene.refused(&["--base", "main", "--require", REQUIRED], "not_met");
    assert!(why.contains("the run is `running`"), "{why}");
    assert!(why.contains("no person has approved a transition"), "{why}");
}

#[test]
fn tests_that_failed_prove_nothing() {
    let scene = Scene::begun();
    scene.edit("two");
    scene.send("CHECK");
    scene.bash("npm test", 1);
    scene.commit_all("work");
    scene.attest(&[]);
    let why = scene.refused(&["--base", "main", "--require", "tests_passed"], "not_met");
    assert!(why.contains("the last call ended with 1"), "{why}");
}

#[test]
fn a_write_after_the_tests_counts_even_if_it_was_undone() {
    let scene = Scene::begun();
    scene.edit("two");
    scene.bash("npm test", 0);
    // The tests may have passed only while the file was another one.
    scene.edit("three");
    scene.edit("two");
    scene.commit_all("work");
    scene.attest(&[]);
    let why = scene.refused(&["--base", "main", "--require", "tests_passed"], "not_met");
    assert!(why.contains("was not seen since the last edit"), "{why}");
    let key = scene.public.to_str().unwrap();
    let json = scene.verified(&["--key", key, "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let evidence = &json["statement"]["predicate"]["evidence"][0];
    assert_eq!(evidence["onCommit"], false, "{json}");
    assert_eq!(evidence["why"], "a write was allowed after it", "{json}");
}

#[test]
fn json_has_the_keys_that_the_page_lists() {
    let page = include_str!("../../../docs/src/json.md");
    let (_, section) = page.split_once("\n## attest, verify\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let scene = Scene::worked();
    let made = scene.attest(&["--json"]);
    let accepted = scene.verified(&["--base", "main", "--json"]);
    let refused = scene.verify(&["--base", "main", "--require", "x", "--json"]);
    for (heading, text) in [
        ("`attest`", scene::out(&made)),
        ("`verify`", accepted),
        ("a refusal", scene::out(&refused)),
    ] {
        let (_, table) = section
            .split_once(&format!("\nKeys of {heading}:\n"))
            .unwrap();
        let rows = table
            .trim_start()
            .lines()
            .take_while(|line| !line.is_empty());
        let keys: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        let value: Value = serde_json::from_str(&text).unwrap();
        let printed: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(printed, keys, "{heading}");
    }
}
