//! Programs from their start to the end of their group.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{
    fs,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Child, Command},
};

use interlock_process::{
    Cancel, Exit, GroupRecords, Input, Program, StartError, Stream, WORD_BYTES_MAX, end_leftovers,
    run, table,
};

fn shell(script: &str) -> Program {
    Program {
        file: "/bin/sh".into(),
        arguments: ["-c", script].map(Into::into).to_vec(),
        directory: "/".into(),
        environment: Vec::new(),
        names: Vec::new(),
        input: Input::Rule,
        merged: false,
        timeout_ms: None,
    }
}

/// Runs a program; returns its exit and its two outputs.
fn ended(program: &Program) -> (Exit, String, String) {
    let room = tempfile::tempdir().unwrap();
    let records = GroupRecords::beside(room.path());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = run(
        program,
        &Cancel::new().unwrap(),
        &records,
        None,
        &mut |stream, bytes| match stream {
            Stream::Out => out.extend_from_slice(bytes),
            Stream::Err => err.extend_from_slice(bytes),
        },
    );
    let left = fs::read_dir(room.path().join("groups")).unwrap().count();
    assert_eq!(left, 0, "a record of a group that has ended");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (exit.unwrap(), text(out), text(err))
}

#[test]
fn a_program_ends_as_it_has_ended_itself() {
    for (script, wanted) in [
        ("exit 0", Exit::Code(0)),
        ("exit 3", Exit::Code(3)),
        ("kill -9 $$", Exit::Signal(9)),
        ("kill -15 $$", Exit::Signal(15)),
    ] {
        assert_eq!(ended(&shell(script)).0, wanted, "{script}");
    }
    let both = "echo out; echo err >&2";
    let apart = (Exit::Code(0), "out\n".to_owned(), "err\n".to_owned());
    assert_eq!(ended(&shell(both)), apart);
    let merged = Program {
        merged: true,
        ..shell(both)
    };
    let together = (Exit::Code(0), "out\nerr\n".to_owned(), String::new());
    assert_eq!(ended(&merged), together);
    let reads = Program {
        input: Input::Bytes(b"told".to_vec()),
        ..shell("cat")
    };
    assert_eq!(ended(&reads).1, "told");
    assert_eq!(ended(&shell("cat")).1, "", "nothing to be read");
}

#[test]
fn what_takes_too_long_or_is_to_stop_is_ended_as_that() {
    let late = Program {
        timeout_ms: Some(20),
        ..shell("exec sleep 600")
    };
    assert_eq!(ended(&late).0, Exit::TimedOut);
    // A program that ends earlier is not late.
    let quick = Program {
        timeout_ms: Some(600_000),
        ..shell("exit 4")
    };
    assert_eq!(ended(&quick).0, Exit::Code(4));
    let room = tempfile::tempdir().unwrap();
    let stops: [fn(&Cancel); 2] = [Cancel::cancel, Cancel::kill];
    for stop in stops {
        let cancel = Cancel::new().unwrap();
        let exit = run(
            &shell("echo; exec sleep 600"),
            &cancel,
            &GroupRecords::beside(room.path()),
            None,
            &mut |_, _| stop(&cancel),
        );
        assert_eq!(exit.unwrap(), Exit::Stopped);
    }
}

#[test]
fn what_a_program_has_left_running_ends_with_it() {
    for script in [
        "sleep 600 >/dev/null 2>&1 & echo $!; exit 5",
        // It keeps the outputs open, too.
        "sleep 600 & echo $!; exit 5",
        "(trap '' TERM; exec sleep 600) >/dev/null 2>&1 & echo $!; exit 5",
    ] {
        let (exit, out, _) = ended(&shell(script));
        assert_eq!(exit, Exit::Code(5), "{script}");
        let left = table::entry(out.trim().parse().unwrap());
        let runs = left.is_some_and(|left| !left.has_ended);
        assert!(!runs, "{script}");
    }
}

#[test]
fn a_program_has_no_token_of_the_person_whatever_its_environment_sets() {
    let set = |name: &str| (name.to_owned(), "sesame".to_owned());
    let program = Program {
        environment: vec![set("INTERLOCK_TOKEN"), set("OTHER")],
        ..shell("echo ${INTERLOCK_TOKEN-none} ${OTHER-none}")
    };
    assert_eq!(ended(&program).1, "none sesame\n");
}

#[test]
fn what_cannot_be_started_is_told_in_the_words_of_its_workflow() {
    let room = tempfile::tempdir().unwrap();
    let why = |program: &Program| {
        let records = GroupRecords::beside(room.path());
        let started = run(
            program,
            &Cancel::new().unwrap(),
            &records,
            None,
            &mut |_, _| {},
        );
        started.map_err(|error| error.to_string()).unwrap_err()
    };
    let with = |name: &str, value: &str| Program {
        environment: vec![(name.to_owned(), value.to_owned())],
        names: vec![("IL_1".to_owned(), "answer".to_owned())],
        ..shell("true")
    };
    let long = "x".repeat(WORD_BYTES_MAX);
    for (program, said) in [
        (with("", "x"), "`` has no possible name"),
        (with("A=B", "x"), "`A=B` has no possible name"),
        (with("A", "x\0y"), "`A` has a NUL byte"),
        (with("IL_1", &long), "`answer` is too long"),
        (with("B", &long), "`B` is too long"),
        (shell("x\0y"), "argument 2 of `/bin/sh` has a NUL byte"),
        (shell(&long), "argument 2 of `/bin/sh` is too long"),
    ] {
        let why = why(&program);
        assert!(why.contains(said), "{why}");
    }
    let file = room.path().join("file");
    fs::write(&file, "").unwrap();
    for directory in [file.as_path(), Path::new("/no/such/directory")] {
        let program = Program {
            directory: directory.to_owned(),
            ..shell("true")
        };
        let why = why(&program);
        assert!(why.contains("cannot start in"), "{why}");
    }
    let missing = Program {
        file: "/no/such/program".into(),
        ..shell("true")
    };
    assert!(why(&missing).contains("cannot start `/no/such/program`"));
    let refused = run(
        &missing,
        &Cancel::new().unwrap(),
        &GroupRecords::beside(room.path()),
        None,
        &mut |_, _| {},
    );
    assert!(matches!(refused, Err(StartError::System { .. })));
}

/// Starts a program that keeps running, with a variable, in its own process group or in this test's.
fn stays(value: &str, in_own_group: bool) -> Child {
    let mut command = Command::new("sleep");
    command.arg("600").env("INTERLOCK_TEST_EFFECT", value);
    if in_own_group {
        command.process_group(0);
    }
    command.spawn().unwrap()
}

#[test]
fn what_a_runner_left_is_found_by_its_variable_and_nothing_else_is_ended() {
    let marks = ["a", "b"].map(|mark| format!("{mark}-{}", std::process::id()));
    let mut left = stays(&marks[0], true);
    let mut other = stays(&marks[1], true);
    let mut own = stays(&marks[0], false);
    // Until it has executed its program, its environment is still this test's.
    for child in [&left, &other, &own] {
        while !table::environment(child.id())
            .iter()
            .any(|pair| pair.starts_with(b"INTERLOCK_TEST_EFFECT="))
        {
            std::thread::yield_now();
        }
    }
    end_leftovers("INTERLOCK_TEST_EFFECT", &marks[..1]);
    assert_eq!(left.wait().unwrap().signal(), Some(15), "it was asked");
    for child in [&mut other, &mut own] {
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
