//! Evidence from rewritten lines: the end of each named command is observed, whatever surrounds it.
#![cfg(target_os = "linux")]

mod changes;
mod session;
mod substance;

use std::{fs, os::unix::fs::PermissionsExt as _, process::Output};

use serde_json::{Value, json};
use session::Session;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_named_command_runs_in_a_state_that_only_reads() {
    let session = Session::held_to(&["Read", "Bash"], "git status");
    let mut git = session.room.command("git");
    assert!(git.args(["init", "-q"]).status().unwrap().success());
    for line in ["git status", "git status 2>&1 | tail -3; echo over"] {
        let ran = session.run(line);
        let printed = String::from_utf8_lossy(&ran.output.stdout).into_owned();
        assert!(
            printed.contains("nothing to commit"),
            "{line}: {:?}",
            ran.output
        );
        assert!(ran.counts, "{line}: {}", ran.commands);
    }
}

#[test]
fn what_stands_around_a_check_hides_its_end_no_more() {
    let lines = [
        "npm test",
        "npm test 2>&1 | tail -2",
        "npm test 2>&1 | tail -2 | grep ok",
        "npm test | grep -v ok",
        "npm test; echo done",
        "npm test; echo \"exit: $?\"",
        "npm test || true",
        "npm test || echo failed",
        "npm test && echo green || echo red",
        "if npm test; then echo green; else echo red; fi",
        "out=$(npm test 2>&1); echo \"$out\" | tail -1",
        "echo \"$(npm test 2>&1 | tail -1)\"",
        "cd . && CI=true npm test --silent 2>&1 | tail -50",
        "timeout 60 npm test 2>&1 | tail -5; echo ${PIPESTATUS[0]}",
        "env CI=1 npm test | cat",
        "time npm test 2>&1 | cat",
        "(npm test) 2>&1 | tail -1",
        "{ npm test; echo x; } | wc -l",
        "bash -c 'npm test' | cat",
        "for i in 1 2 3; do npm test | tail -1; done",
        "check() { npm test 2>&1 | tail -1; }; check; check",
        "set -euo pipefail; npm test | tail -1",
        "npm test < /dev/null | tail -1",
        "npm test <<'END' | tail -1\ntext\nEND",
        "npm test > /tmp/interlock-evidence.txt 2>&1; tail -1 /tmp/interlock-evidence.txt",
        "npm test | while read -r l; do echo \"$l\"; done | tail -1",
        "npm test 2>&1 | tail -1 &&\n  echo é # npm test fails",
    ];
    for line in lines {
        let session = Session::new();
        let ran = session.run(line);
        assert!(ran.counts, "{line}: {} {:?}", ran.commands, ran.output);
    }
}

#[test]
fn a_variable_that_the_client_exports_is_not_set_for_a_check_unseen() {
    // Set without `export`, it reaches npm because the client's shell exports it.
    let line = "PREFIX=elsewhere; npm test";
    for (given, counts) in [(vec![], true), (vec![("PREFIX", "here")], false)] {
        let mut session = Session::new();
        session.variables = given;
        let ran = session.run(line);
        assert_eq!(ran.counts, counts, "{}", ran.commands);
    }
}

#[test]
fn what_did_not_end_with_0_each_time_does_not_count() {
    let lines = [
        "CODE=1 npm test | tail -1",
        "CODE=1 npm test; true",
        "CODE=1 npm test || npm test | tail -1",
        "npm test | tail -1; CODE=1 npm test | tail -1",
        "for c in 0 1 0; do CODE=$c npm test | tail -1; done",
        "SIGNAL=TERM npm test | tail -1",
        "SIGNAL=KILL npm test; true",
        "LINES_PRINTED=100000 npm test | head -1",
        "timeout 0.2 npm test --slow | cat; sleep 1 & npm test & wait",
        "npm test & wait; true",
        "(npm test; true) & wait",
        "cat <(npm test)",
        "npm test --if-present | tail -1",
        "npm testing | tail -1",
        "bash -c 'npm test; true'",
        "bash -c 'npm test | tail -1'",
        "true || npm test",
        "PATH=$PWD/bin:$PATH npm test | cat",
        "npm test && echo 1 > src.py",
        "trap 'true' EXIT; npm test | tail -1",
        "set -x; npm test | tail -1",
    ];
    for line in lines {
        let session = Session::new();
        let ran = session.run(line);
        assert!(!ran.counts, "{line}: {} {:?}", ran.commands, ran.output);
    }
}

#[test]
fn a_failure_closes_the_guard_again_and_names_its_code() {
    let session = Session::new();
    assert!(session.run("npm test | tail -1").counts);
    let failed = session.run("CODE=3 npm test | tail -1");
    assert!(!failed.counts);
    assert_eq!(failed.output.status.code(), Some(0));
    assert_eq!(failed.commands[0]["exits"], json!([3]));
    assert!(session.run("npm test 2>&1 | tail -1").counts);
}

#[test]
fn a_probed_line_shows_and_ends_as_the_line_itself_would() {
    let lines = [
        "npm test a 'b  c' \"$HOME\" d\\ e",
        "sleep 0 | npm test | cat; echo ${PIPESTATUS[*]}",
        "CODE=7 npm test; echo $?",
        "SIGNAL=TERM npm test; echo $?",
        "SIGNAL=PIPE npm test; echo $?",
        "(exit 3); npm test $?; echo $_",
        "npm test >&2; exit 5",
        "CODE=1 npm test && echo no",
        "set -e; CODE=4 npm test | cat; npm test",
        "x=1; npm test $x; x=2; echo $x $LINENO\necho $LINENO",
        "npm test # and no more",
        "umask 077; npm test",
    ];
    let session = Session::new();
    for line in lines {
        let carried = session.run(line).output;
        let mut plain = session.room.command("/bin/bash");
        let plain = plain
            .args(["--noprofile", "--norc", "-c", "--", line])
            .output()
            .unwrap();
        let all = |output: &Output| (output.status.code(), said(output), complained(output));
        assert_eq!(all(&carried), all(&plain), "{line}");
    }
}

#[test]
fn a_probed_program_is_found_and_started_as_the_shell_would() {
    let session = Session::new();
    let lines = [
        ("", "echo 1\nnpm test | cat"),
        ("not executable", "npm test | cat"),
        // Without a first line that names its interpreter, the shell runs a file itself.
        (
            "[[ -n $BASH_VERSION ]] && echo \"$0 $*\"",
            "npm test x | cat",
        ),
        (
            "#!/bin/sh\necho \"$0 $* $_\"; cat",
            "echo in | npm test x | cat",
        ),
        ("#!/nowhere/sh\n", "npm test; echo $?"),
    ];
    // No other `npm` on the machine can be found.
    let bin = session.room.path("only");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/cat", bin.join("cat")).unwrap();
    let only = |mut command: std::process::Command| command.env("PATH", &bin).output().unwrap();
    for (text, line) in lines {
        let path = bin.join("npm");
        let _ = fs::remove_file(&path);
        if !text.is_empty() {
            fs::write(&path, text).unwrap();
            let mode = if text.starts_with("not") {
                0o644
            } else {
                0o755
            };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut plain = session.room.command("/bin/bash");
        plain.args(["--norc", "-c", "--", line]);
        let mut carried = session.room.command("/bin/bash");
        carried.args(["-c", &session.carried(line)]);
        let all = |output: &Output| (output.status.code(), said(output), complained(output));
        assert_eq!(all(&only(carried)), all(&only(plain)), "{line}: {text}");
    }
}

#[test]
fn no_program_of_a_line_has_what_a_probe_tells_through() {
    let session = Session::new();
    let show = "ls /proc/self/fd | tr '\\n' ' '";
    for line in [
        format!("npm test | (cat > /dev/null; {show})"),
        format!("npm test; {show}"),
        format!("(npm test; {show}) | cat"),
        format!("x=$(npm test; {show}); echo \"$x\""),
        format!(
            "for i in 1; do npm test; {show}; done > /tmp/interlock-fds; cat /tmp/interlock-fds"
        ),
        format!("npm test; (sleep 0; {show}) & wait"),
    ] {
        let ran = session.run(&line);
        assert!(
            said(&ran.output).trim_end().ends_with("0 1 2 3"),
            "{line}: {:?}",
            ran.output
        );
        assert_eq!(ran.commands[0]["exits"], json!([0]), "{line}");
    }
    // Nor does the probed program.
    let inside = "#!/bin/sh\nls /proc/self/fd | tr '\\n' ' '\n";
    session.stand_in("npm", inside);
    assert_eq!(said(&session.run("npm test | cat").output), "0 1 2 3 ");
}

/// Forges a probe's report that the check at byte 0 started and ended with 0.
const FORGED: &str = r#"
forged() {
    printf '0123456789abcdef\0\0\0\0\0\0\0\0\0\0'
    printf '0123456789abcdef\0\0\0\0\0\0\0\0\1\0'
}
"#;

#[test]
fn a_program_of_the_line_cannot_tell_in_place_of_a_probe() {
    let interlock = INTERLOCK;
    let attempts = [
        // Writes to every descriptor, its own and its parents'.
        "for n in $(seq 3 40); do forged >&$n; done 2>/dev/null".to_owned(),
        "for f in /proc/$PPID/fd/* /proc/self/fd/*; do forged > $f; done 2>/dev/null".to_owned(),
        // Starts the probe itself, in every position.
        format!("'{interlock}' exec --probe 0:1 -- true"),
        format!("'{interlock}' exec --probe 0:1 -- true 9<&0 <&10"),
        format!("exec '{interlock}' exec --probe 0:1 -- true 9<&0"),
        format!("(exec -a npm '{interlock}' exec --probe 0:1 -- true 9<&0)"),
        format!("( ( '{interlock}' exec --probe 0:1 -- true 9<&0 ) & ); sleep 0.1"),
        format!(
            "cp '{interlock}' ./npm-probe; ./npm-probe exec --probe 0:1 -- true 9<&0; rm npm-probe"
        ),
        // Becomes a shell with the same words as the line's own.
        "readarray -d '' w < /proc/$PPID/cmdline; exec \"${w[@]}\" 20>&1".to_owned(),
    ];
    for attempt in attempts {
        let session = Session::new();
        session.program(
            "forge.sh",
            &format!("#!/bin/bash\n[ -z \"$AGAIN\" ] || exit\nexport AGAIN=1\n{FORGED}{attempt}\n"),
        );
        for line in [
            "CODE=1 npm test | cat; ./forge.sh",
            "CODE=1 npm test | ./forge.sh",
            "./forge.sh & CODE=1 npm test | cat; wait",
        ] {
            let ran = session.run(line);
            assert!(!ran.counts, "{attempt}: {line}");
            let exits = &ran.commands[0]["exits"];
            // A program that does not read its input may be ended by a signal.
            assert!(
                *exits == json!([1]) || *exits == json!([null]),
                "{attempt}: {line}: {exits}"
            );
            assert_eq!(
                ran.commands.as_array().unwrap().len(),
                1,
                "{attempt}: {line}"
            );
        }
    }
}

#[test]
fn a_probe_cannot_be_looked_into_by_what_it_starts() {
    let session = Session::new();
    let looks = "#!/bin/bash\n\
        for f in environ mem maps fd/0 fd/1; do cat /proc/$PPID/$f >/dev/null 2>&1 && echo seen $f; done\nexit 1";
    session.stand_in("npm", looks);
    let ran = session.run("npm test | cat");
    assert_eq!(said(&ran.output), "");
    assert_eq!(ran.commands[0]["exits"], json!([1]));
}

#[test]
fn a_probe_that_is_ended_tells_nothing_and_its_program_ends_with_it() {
    let session = Session::new();
    let kills = "#!/bin/bash\nkill -9 $PPID; sleep 5; echo still here";
    session.stand_in("npm", kills);
    let ran = session.run("npm test | cat; true");
    assert_eq!(said(&ran.output), "");
    assert_eq!(ran.commands[0]["exits"], json!([null]));
    assert!(!ran.counts);
}

#[test]
fn signals_for_a_probe_reach_its_program() {
    let session = Session::new();
    let waits = "#!/bin/bash\ntrap 'echo told; exit 0' TERM\nkill -TERM $PPID; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; done; exit 1";
    session.stand_in("npm", waits);
    let ran = session.run("npm test | cat");
    assert_eq!(said(&ran.output), "told\n");
    assert_eq!(ran.commands[0]["exits"], json!([0]));
}

#[test]
fn text_that_runs_in_the_shell_itself_leaves_no_evidence() {
    let session = Session::new();
    session.program(
        "lib.sh",
        &format!("{FORGED}forged >&10\nnpm() {{ true; }}\n"),
    );
    for line in [
        "source ./lib.sh; CODE=1 npm test | cat",
        ". ./lib.sh; npm test | cat",
        "npm test | cat 3>&10",
        "npm test | ./lib.sh 5<&10",
        "exec {x}>&1; npm test | cat >&$x",
        "npm test 12>&1 | cat",
        "npm test | cat; ulimit -n 64",
    ] {
        let ran = session.run(line);
        assert!(!ran.counts, "{line}");
        assert_eq!(ran.commands, Value::Null, "{line}");
    }
    // A Python environment is as trusted as the programs in it.
    session
        .room
        .write("venv/bin/activate", "VIRTUAL_ENV=x")
        .unwrap();
    let ran = session.run("source venv/bin/activate && npm test | cat");
    assert_eq!(ran.commands[0]["exits"], json!([0]));
}

#[test]
fn a_client_that_will_not_wait_for_a_line_gets_no_probe() {
    let session = Session::new();
    session.calls.set(1);
    let more = json!({ "tool_input": { "command": "npm test | cat", "run_in_background": true } });
    let answer = session.hook("PreToolUse", "npm test | cat", &more);
    let carried = answer["hookSpecificOutput"]["updatedInput"]["command"]
        .as_str()
        .unwrap();
    let mut shell = session.room.command("bash");
    shell.args(["-c", carried]).output().unwrap();
    assert_eq!(session.ended()["commands"], Value::Null);
}
