//! The examples of the repository, each in a separate project, with stand-ins for the agents.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use interlock_testkit::{
    room::{Room, expect_success},
    terminal::{self, Terminal},
};
use serde_json::Value;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Returns a project with an example, where `claude` and `gh` are scripts.
fn room(example: &str) -> Room {
    let room = Room::new().unwrap();
    room.script("bin/claude", "echo \"claude: $#\"").unwrap();
    room.script("bin/gh", "exit 1").unwrap();
    let file = format!("{example}.yaml");
    let text = fs::read_to_string(examples().join(example).join(&file)).unwrap();
    let folder = if is_of_models(&text) {
        ".interlock/workflows"
    } else {
        ".flowstate"
    };
    room.write(&format!("{folder}/{file}"), &text).unwrap();
    for (name, value) in [("user.name", "Ana"), ("user.email", "ana@example.com")] {
        git(&room, &["config", name, value]);
    }
    room
}

/// Returns whether a file is a pipeline or a CodeMie file, which `model_runs` plays, rather than steps of programs.
fn is_of_models(text: &str) -> bool {
    let begins = |key: &str| text.lines().any(|line| line.starts_with(key));
    begins("stages:") || begins("assistants:")
}

fn git(room: &Room, words: &[&str]) {
    let output = room.command("git").args(words).output().unwrap();
    expect_success(&words.join(" "), &output).unwrap();
}

fn commit(room: &Room, file: &str, message: &str) {
    room.write(file, message).unwrap();
    git(room, &["add", file]);
    git(room, &["commit", "--quiet", "--message", message]);
}

fn call(room: &Room, words: &[&str]) -> Output {
    let mut command = room.command(INTERLOCK);
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:#?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Writes a script of the project.
fn program(room: &Room, name: &str, body: &str) {
    let path = room.script(name, body).unwrap();
    fs::rename(path, room.project().join(name)).unwrap();
}

#[test]
fn every_example_checks_clean_and_is_described() {
    let mut seen = 0;
    let index = fs::read_to_string(examples().join("README.md")).unwrap();
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        seen += 1;
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(index.contains(&format!("]({name}/README.md)")), "{name}");
        let readme = fs::read_to_string(path.join("README.md")).unwrap();
        assert!(readme.contains(&format!("interlock run {name}")), "{name}");
        let output = call(&room(name), &["check", name, "--json"]);
        let checked: Value = serde_json::from_str(&printed(&output)).unwrap();
        let found = checked["diagnostics"].as_array().unwrap();
        let wrong: Vec<_> = found
            .iter()
            // Variables from the input of a run are set by no state.
            .filter(|one| one["severity"] != "note" && one["code"] != "unset_variable")
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
    assert_eq!(seen, 10);
}

#[test]
fn whoever_has_no_model_is_told_what_to_set_before_anything_starts() {
    let mut seen = 0;
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let file = path.join(format!("{name}.yaml"));
        let text = fs::read_to_string(&file).unwrap_or_default();
        if !is_of_models(&text) {
            continue;
        }
        seen += 1;
        // Not copied, but given by its path, as in the README.
        let room = Room::new().unwrap();
        let mut words = vec!["run", file.to_str().unwrap()];
        if text.contains("${ctx.task}") {
            let said = refused(&room, &words);
            assert!(said.contains("the input `task` is missing"), "{said}");
            words.push("greet politely");
        }
        let said = refused(&room, &words);
        assert!(said.contains("set `default_model`"), "{said}");
        words.extend(["--model", "anthropic/claude-sonnet-4-5"]);
        let said = refused(&room, &words);
        assert!(said.contains("ANTHROPIC_API_KEY"), "{said}");
        let runs = printed(&call(&room, &["list", "--json"]));
        assert_eq!(runs, "", "a run began");
    }
    assert_eq!(seen, 5);
}

/// Returns the output of a refused command.
fn refused(room: &Room, words: &[&str]) -> String {
    let output = call(room, words);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn release_notes_are_written_of_what_is_new() {
    let room = room("release-notes");
    let output = call(&room, &["run", "release-notes"]);
    assert_eq!(output.status.code(), Some(1), "there is no tag yet");
    commit(&room, "a.txt", "Add $(touch evil) a");
    git(&room, &["tag", "v1"]);
    let none = printed(&call(&room, &["run", "release-notes"]));
    assert_eq!(none, "nothing new since v1\n");
    commit(&room, "b.txt", "Mend `touch evil` b");
    // The prompt is the word after `-p`.
    room.script("bin/claude", "printf 'Notes of:\\n%s\\n' \"$2\"")
        .unwrap();
    let wrote = printed(&call(&room, &["run", "release-notes"]));
    assert_eq!(wrote, "wrote RELEASE_NOTES.md: what is new since v1\n");
    let notes = room.read("RELEASE_NOTES.md").unwrap();
    assert!(notes.starts_with("Notes of:\n"), "{notes}");
    assert!(
        notes.contains("- Mend `touch evil` b (") && !notes.contains("Add"),
        "{notes}"
    );
    assert_eq!(room.read("evil"), None);
}

#[test]
fn a_test_matrix_goes_again_until_it_passes() {
    let room = room("test-matrix");
    let script = "echo \"$1\" >> seen; [ \"$1\" != unit ] || [ \"$(grep -c unit seen)\" -ge 2 ]";
    program(&room, "test.sh", script);
    let passed = printed(&call(&room, &["run", "test-matrix"]));
    assert_eq!(passed, "all passed in round 2\n");
    let seen = room.read("seen").unwrap();
    assert_eq!(seen.lines().filter(|line| *line == "lint").count(), 2);
}

#[test]
fn a_test_matrix_gives_up_after_its_rounds() {
    let room = room("test-matrix");
    program(&room, "test.sh", "echo \"$1\" >> seen; [ \"$1\" != lint ]");
    let output = call(&room, &["run", "test-matrix", "--var", "rounds=2"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("gave up after 2 rounds: "), "{said}");
    assert_eq!(room.read("seen").unwrap().lines().count(), 6);
}

/// Returns a room with a repository to push to, and programs that solve issue 7.
fn issue_room() -> Room {
    let room = room("issue-to-pr");
    commit(&room, "a.txt", "begin");
    let far = room.path("far.git").display().to_string();
    git(&room, &["init", "--quiet", "--bare", &far]);
    git(&room, &["remote", "add", "origin", &far]);
    let gh = "case $1 in issue) [ \"$3\" = 7 ] && echo '{\"title\": \"It is broken\"}' ;; pr) printf '%s\\n' \"$@\" > pr.txt ;; esac";
    room.script("bin/gh", gh).unwrap();
    let claude = "echo fixed >> fix.txt; printf '%s\\n' \"$2\" >> prompts.txt; echo \"Mended it: $(wc -l < fix.txt)\"";
    room.script("bin/claude", claude).unwrap();
    room
}

#[test]
fn an_issue_becomes_a_pull_request_with_a_yes() {
    let room = issue_room();
    let mut command = room.command(INTERLOCK);
    command
        .args(["run", "issue-to-pr", "--var", "issue=7"])
        .env("TERM", "xterm");
    let mut terminal = Terminal::start(&command, 40, 100).unwrap();
    let asked =
        |text: &'static str| move |screen: &str| screen.contains(text) && screen.ends_with("> ");
    terminal
        .wait_for("question", asked("Mended it: 1"))
        .unwrap();
    terminal.press("with a test, please\n").unwrap();
    terminal
        .wait_for("second question", asked("Mended it: 2"))
        .unwrap();
    terminal.press("yes\n").unwrap();
    assert!(terminal.end().unwrap().success(), "{}", terminal.screen());
    let prompts = room.read("prompts.txt").unwrap();
    assert!(prompts.contains("It is broken"), "{prompts}");
    assert!(
        prompts.contains("in addition: with a test, please"),
        "{prompts}"
    );
    let request = room.read("pr.txt").unwrap();
    assert_eq!(
        request,
        "pr\ncreate\n--title\nSolve issue 7\n--body\nMended it: 2\n"
    );
    let log = room
        .command("git")
        .args(["log", "-1", "--format=%s", "origin/issue-7"])
        .output()
        .unwrap();
    assert_eq!(printed(&log), "Solve issue 7\n");
}

#[test]
fn without_a_person_nothing_is_pushed() {
    let room = issue_room();
    let output = call(
        &room,
        &["run", "issue-to-pr", "--name", "n", "--var", "issue=7"],
    );
    assert_eq!(output.status.code(), Some(75));
    let mut answer = room.command(INTERLOCK);
    let answered = terminal::output(answer.args(["resume", "n", "--answer", "no"])).unwrap();
    let said = printed(&answered);
    assert!(said.contains("nothing was pushed"), "{said}");
    assert_eq!(room.read("pr.txt"), None);
    let unknown = call(&room, &["run", "issue-to-pr", "--var", "issue=8"]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn a_build_is_waited_for_without_a_process() {
    let room = room("nightly-poll");
    let script = "echo \"$*\" >> calls; case $1 in start) echo b1 ;; is-done) [ -e done ] ;; result) cat done ;; esac";
    program(&room, "build.sh", script);
    let output = call(&room, &["run", "nightly-poll", "--name", "tonight"]);
    assert_eq!(output.status.code(), Some(75), "{output:#?}");
    let resume = || {
        let mut command = room.command(INTERLOCK);
        terminal::output(command.args(["fs", "resume", "tonight"])).unwrap()
    };
    assert_eq!(resume().status.code(), Some(75));
    room.write("done", "passed\n").unwrap();
    assert!(resume().status.success());
    let calls = room.read("calls").unwrap();
    assert_eq!(
        calls,
        "start\nis-done b1\nis-done b1\nresult b1\npublish b1\n"
    );
}

#[test]
fn each_file_is_summarised_whatever_becomes_of_the_others() {
    let room = room("map-files");
    let empty = call(&room, &["run", "map-files"]);
    assert_eq!(empty.status.code(), Some(1));
    for (file, text) in [("a.md", "one"), ("b c.md", "bad"), ("d.md", "three")] {
        commit(&room, file, text);
    }
    let claude = "case $2 in *bad*) exit 1 ;; *) echo \"About:\" $2 ;; esac";
    room.script("bin/claude", claude).unwrap();
    let output = call(&room, &["run", "map-files"]);
    assert_eq!(printed(&output), "2 files are summarised in summaries/\n");
    let summary = room.read("summaries/d.md.txt").unwrap();
    assert_eq!(
        summary,
        "About: Summarise this file in one sentence. three\n"
    );
    assert_eq!(room.read("summaries/b c.md.txt"), None);
}
