//! `init` and `doctor` of the built program: their output, changes and refusals.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Output, Stdio},
};

use interlock_testkit::{room::Room, terminal};
use serde_json::Value;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// The sign that a client is used: a directory of its settings.
const SIGNS: [(&str, &str); 6] = [
    ("claude-code", "project/.claude"),
    ("codex", "project/.codex"),
    ("gemini", "home/.gemini"),
    ("copilot", "home/.copilot"),
    ("cursor", "project/.cursor"),
    ("opencode", "project/.opencode"),
];

fn room() -> Room {
    Room::new().unwrap()
}

/// Returns a room in which every client is used.
fn crowded() -> Room {
    let room = room();
    for (_, sign) in SIGNS {
        fs::create_dir_all(room.path(sign)).unwrap();
    }
    room
}

fn call(room: &Room, arguments: &[&str]) -> Output {
    room.command(INTERLOCK)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[track_caller]
fn out(output: &Output, code: i32) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}\n{errors}");
    text
}

#[track_caller]
fn json(output: &Output, code: i32) -> Value {
    serde_json::from_str(&out(output, code)).unwrap()
}

/// Returns every file of the project and the home, except those of git.
fn files(room: &Room) -> BTreeMap<String, String> {
    fn read(directory: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with(".git") {
                read(&path, files);
            } else if path.is_file() {
                let text = fs::read_to_string(&path).unwrap();
                files.insert(path.display().to_string(), text);
            }
        }
    }
    let mut found = BTreeMap::new();
    read(&room.project(), &mut found);
    read(&room.home(), &mut found);
    found
}

fn words(value: &Value) -> Vec<&str> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}

#[test]
fn the_clients_that_are_here_are_found() {
    let all: Vec<&str> = SIGNS.iter().map(|(client, _)| *client).collect();
    let found = |room: &Room| json(&call(room, &["init", "--dry-run", "--json"]), 0);
    assert_eq!(words(&found(&crowded())["clients"]), all);
    // Without any sign, the most common client is chosen.
    assert_eq!(words(&found(&room())["clients"]), ["claude-code"]);
    // A program on the PATH is sufficient.
    let room = room();
    let program = room.path("bin/gemini");
    fs::write(&program, "#!/bin/sh\necho 0.61.0\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(words(&found(&room)["clients"]), ["gemini"]);
    let named = json(
        &call(
            &room,
            &["init", "cursor", "codex", "cursor", "--dry-run", "--json"],
        ),
        0,
    );
    assert_eq!(words(&named["clients"]), ["cursor", "codex"]);
}

#[test]
fn where_no_client_is_found_init_says_whose_files_it_writes() {
    let says_so = |room: &Room, arguments: &[&str]| {
        let mut init = room.command(INTERLOCK);
        // No client of this machine is on the PATH.
        init.args(arguments).env("PATH", room.path("bin"));
        let output = init.stdin(Stdio::null()).output().unwrap();
        let shown = out(&output, 0);
        assert!(shown.contains("Claude Code\n"), "{shown}");
        shown.contains("no client was found here")
    };
    assert!(says_so(&room(), &["init", "--dry-run"]));
    assert!(!says_so(&room(), &["init", "claude-code", "--dry-run"]));
    let with_a_sign = room();
    fs::create_dir_all(with_a_sign.project().join(".claude")).unwrap();
    assert!(!says_so(&with_a_sign, &["init", "--dry-run"]));
}

#[test]
fn without_a_person_the_changes_are_shown_and_not_made() {
    let room = crowded();
    for arguments in [["init"].as_slice(), &["init", "--user"]] {
        let refused = call(&room, arguments);
        let shown = out(&refused, 2);
        for file in ["hooks.json", "settings.json", "interlock.ts", "config.toml"] {
            assert!(shown.contains(file), "no {file} in {shown}");
        }
        assert!(
            shown.contains("Claude Code\n") && shown.contains("11 hooks"),
            "{shown}"
        );
        assert!(!shown.contains("PreToolUse"), "{shown}");
        let whole = call(&room, &[arguments, &["--diff"]].concat());
        let whole = out(&whole, 2);
        assert!(whole.contains("+    \"PreToolUse\": ["), "{whole}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("add `--yes`"), "{said}");
    }
    let refused = call(&room, &["init", "--json"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(files(&room).is_empty());
}

#[test]
fn a_dry_run_changes_nothing() {
    let room = crowded();
    let shown = out(&call(&room, &["init", "--dry-run"]), 0);
    assert!(
        shown.contains("hook cursor") && shown.ends_with("nothing was changed\n"),
        "{shown}"
    );
    let shown = json(&call(&room, &["init", "--dry-run", "--json"]), 0);
    assert_eq!(shown["dry_run"], true);
    assert!(shown["changed"].as_array().unwrap().len() > 8, "{shown}");
    assert!(files(&room).is_empty());
}

#[test]
fn a_person_is_asked_once_for_everything() {
    let room = crowded();
    let answered = |typed: &str| {
        let mut command = room.command(INTERLOCK);
        out(&terminal::answered(command.arg("init"), typed).unwrap(), 0)
    };
    let shown = answered("n\n");
    assert_eq!(shown.matches("[y/N").count(), 1, "{shown}");
    assert!(shown.ends_with("nothing was changed\n"), "{shown}");
    assert!(files(&room).is_empty());
    let shown = answered("y\n");
    assert!(shown.contains("[y/N"), "{shown}");
    assert!(files(&room).len() > 8, "{shown}");
}

#[test]
fn a_person_may_look_first_and_choose_clients() {
    let room = crowded();
    let mut command = room.command(INTERLOCK);
    let typed = "d\ncluade-code\ncursor, codex\ny\n";
    let answered = terminal::answered(command.arg("init").env("PAGER", "cat"), typed);
    let shown = out(&answered.unwrap(), 0);
    assert_eq!(shown.matches("[y/N").count(), 4, "{shown}");
    assert!(shown.contains("did you mean `claude-code`?"), "{shown}");
    let files = files(&room);
    let written = |part: &str| files.keys().any(|path| path.contains(part));
    assert!(written(".cursor/hooks.json") && written(".codex/hooks.json"));
    assert!(!written(".claude") && !written(".gemini"), "{files:#?}");
}

#[test]
fn shared_files_name_the_program_and_those_of_one_person_its_place() {
    let room = crowded();
    let place = Path::new(INTERLOCK).display().to_string();
    let named = |room: &Room| files(room).values().any(|text| text.contains(&place));
    // Not on the PATH: others have to be configured.
    let shown = out(&call(&room, &["init", "--yes"]), 0);
    assert!(
        shown.contains("put `interlock` on your PATH first"),
        "{shown}"
    );
    assert!(named(&room));
    room.install("interlock", INTERLOCK.as_ref()).unwrap();
    out(&call(&room, &["init", "--yes"]), 0);
    assert!(!named(&room), "{:#?}", files(&room));
    assert!(out(&call(&room, &["init"]), 0).contains("in place already"));
    let checks = json(&call(&room, &["doctor", "--json"]), 1);
    let answers = checks["checks"].as_array().unwrap().iter();
    for check in answers.filter(|check| check["what"] == "hook answers") {
        assert_eq!(check["health"], "ok", "{check}");
    }
    out(&call(&room, &["init", "--remove", "--yes"]), 0);
    assert!(files(&room).is_empty(), "{:#?}", files(&room));
    out(
        &call(&room, &["init", "claude-code", "--local", "--yes"]),
        0,
    );
    assert!(named(&room));
    let files = files(&room);
    let claude = |name: &str| files.keys().any(|path| path.ends_with(name));
    assert!(
        claude(".claude/settings.local.json") && !claude(".claude/settings.json"),
        "{:#?}",
        files.keys()
    );
}

#[test]
fn what_one_person_has_is_left_out_of_git() {
    let room = crowded();
    let git = |arguments: &[&str]| {
        let output = room.command("git").args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let exclude = room.project().join(".git/info/exclude");
    let before = fs::read_to_string(&exclude).unwrap_or_default();
    for _ in 0..2 {
        out(&call(&room, &["init", "--local", "--yes"]), 0);
        assert_eq!(git(&["status", "--porcelain"]), "");
    }
    assert!(room.project().join(".mcp.json").exists());
    out(&call(&room, &["init", "--remove", "--yes"]), 0);
    assert_eq!(fs::read_to_string(&exclude).unwrap_or_default(), before);
    assert!(files(&room).is_empty(), "{:#?}", files(&room));
}

#[test]
fn all_clients_are_put_in_and_taken_out_again() {
    for scope in [[].as_slice(), &["--user"]] {
        let room = crowded();
        room.write(".cursor/hooks.json", "{ \"version\": 1 }")
            .unwrap();
        let before = files(&room);
        out(&call(&room, &[&["init", "--yes"], scope].concat()), 0);
        assert!(files(&room).len() > 8, "{:?}", files(&room).keys());
        let again = out(&call(&room, &[&["init", "--yes"], scope].concat()), 0);
        assert!(
            again.starts_with("everything is in place already"),
            "{again}"
        );
        out(
            &call(&room, &[&["init", "--remove", "--yes"], scope].concat()),
            0,
        );
        assert_eq!(files(&room), before);
        let again = out(&call(&room, &[&["init", "--remove"], scope].concat()), 0);
        assert!(
            again.starts_with("there is nothing of Interlock to remove"),
            "{again}"
        );
    }
}

#[test]
fn without_the_persons_word_codex_is_not_told_to_trust_the_hooks() {
    for (words, is_left) in [
        (&["init", "codex", "--yes", "--no-trust"][..], true),
        (&["init", "codex", "--yes"], false),
    ] {
        let told = out(&call(&crowded(), words), 0);
        assert_eq!(told.contains("Codex trusts no hook yet"), is_left, "{told}");
    }
}

#[test]
fn a_malformed_file_of_one_client_stops_all() {
    let room = crowded();
    room.write(".codex/config.toml", "a = 1\nb = \n").unwrap();
    let before = files(&room);
    let refused = call(&room, &["init", "--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("config.toml:2:5`: not TOML"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(files(&room), before);
}

#[test]
fn a_client_that_nobody_knows_is_named() {
    let room = room();
    let refused = call(&room, &["init", "emacs"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("no client is called `emacs`"), "{said}");
    assert!(said.contains("`opencode`"), "{said}");
}

#[test]
fn a_floor_is_put_in_and_taken_out_with_the_rest() {
    let room = room();
    out(&call(&room, &["init", "--floor", "research", "--yes"]), 0);
    let settings = room.read(".claude/settings.json").unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let denied = words(&settings["permissions"]["deny"]);
    assert!(denied.contains(&"Edit(/.interlock/**)"), "{denied:?}");
    out(&call(&room, &["init", "--remove", "--yes"]), 0);
    assert!(files(&room).is_empty());
    let refused = call(&room, &["init", "--floor", "nowhere", "--yes"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(files(&room).is_empty());
}

/// Every hook and server that `init` writes is answered by this program.
#[test]
fn what_init_writes_answers() {
    let room = crowded();
    out(&call(&room, &["init", "--user", "--yes"]), 0);
    let report = call(&room, &["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let rows = report["clients"].as_array().unwrap();
    assert_eq!(rows.len(), SIGNS.len());
    for row in rows {
        assert_eq!(row["hooks"], "all", "{row}");
        assert_eq!(row["gateway"], true, "{row}");
        assert!(row["answers_ms"].is_u64(), "{row}");
    }
    let table = String::from_utf8(call(&room, &["doctor"]).stdout).unwrap();
    assert!(table.starts_with("client       version "), "{table}");
}

#[test]
fn a_run_that_no_client_would_ask_about_is_said_to_hold_none() {
    let room = crowded();
    let start = |session| {
        out(
            &call(&room, &["start", "research", "--session", session]),
            0,
        )
    };
    let note = "note: no client is set up here";
    assert!(start("one").contains(note));
    out(&call(&room, &["init", "codex", "--yes"]), 0);
    assert!(!start("two").contains(note));
    out(&call(&room, &["init", "--remove", "--yes"]), 0);
    assert!(start("three").contains(note));
    out(&call(&room, &["init", "gemini", "--user", "--yes"]), 0);
    assert!(!start("four").contains(note));
}

#[test]
fn a_probe_takes_no_run_that_waits_for_a_session() {
    let room = crowded();
    out(&call(&room, &["init", "--yes"]), 0);
    out(&call(&room, &["start", "research"]), 0);
    let status = || json(&call(&room, &["status", "--json"]), 0);
    let before = status();
    call(&room, &["doctor"]);
    assert_eq!(status(), before);
}

#[test]
fn a_look_leaves_nothing_behind() {
    let room = room();
    // A client that leaves a file wherever it is started, like an npm package.
    let package = room.path("lib/node_modules/@google/gemini-cli");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("package.json"), r#"{"version": "0.61.0"}"#).unwrap();
    let program = package.join("gemini.js");
    fs::write(&program, "#!/bin/sh\n: > \"$HOME/left.tmp\"\necho 0.61.0\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    room.install("gemini", &program).unwrap();
    out(&call(&room, &["init", "gemini", "--yes"]), 0);
    let report = json(&call(&room, &["doctor", "--json"]), 1);
    let checks = report["checks"].as_array().unwrap();
    let seen = |what: &str| checks.iter().find(|check| check["what"] == what).unwrap();
    assert_eq!(seen("version")["seen"], "0.61.0");
    assert_eq!(seen("hook answers")["health"], "ok");
    out(&call(&room, &["init", "--remove", "--yes"]), 0);
    assert!(files(&room).is_empty(), "{:#?}", files(&room));
}
