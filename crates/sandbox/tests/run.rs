//! One confined command from start to end: what passes through, what remains, and what is restored.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use interlock_sandbox::plan::{LeftOver, Network, Start, WritablePlace};
use interlock_sandbox::{Exit, Level, Plan, Reach, Unconfined};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

mod ports;
mod protected;

use crate::support::trial::{self, Outcome, Trial, User, users};

/// Runs `line` in a no-write state as each user, at the two highest levels.
fn each(line: &str, check: impl Fn(&Trial, &Outcome)) {
    for user in users() {
        for level in [Level::Full, Level::Files] {
            let trial = Trial::new(user);
            let outcome = trial.run(&trial.no_write(line), level);
            check(&trial, &outcome);
        }
    }
}

fn prints(line: &str, expected: &str) {
    each(line, |trial, outcome| {
        assert_eq!(outcome.stdout, trial.fill(expected), "{line}: {outcome:?}");
    });
}

#[test]
fn exit_codes_pass_through() {
    for code in [0, 1, 2, 126, 127, 255] {
        each(&format!("exit {code}"), |_, outcome| {
            assert_eq!(outcome.code, Some(code), "{outcome:?}");
            assert_eq!(
                outcome.ended.as_ref().unwrap().exit,
                Exit::Code(u8::try_from(code).unwrap())
            );
        });
    }
}

#[test]
fn the_end_by_a_signal_is_told() {
    each("kill -SEGV $$", |_, outcome| {
        assert_eq!(
            outcome.ended.as_ref().unwrap().exit,
            Exit::Signal(11),
            "{outcome:?}"
        );
    });
}

#[test]
fn a_line_that_begins_with_a_dash_is_a_line() {
    each("-x; echo on", |_, outcome| {
        assert_eq!(outcome.stdout, "on\n", "{outcome:?}");
    });
}

#[test]
fn bytes_pass_through_both_ways() {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for user in users() {
        let trial = Trial::new(user);
        let plan =
            trial.no_write("cat | od -An -tx1 -v | tr -d ' \\n' | md5sum; cat >&2 <&1 & wait");
        let same = trial.no_write("md5sum");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let passed = trial.run_with(&plan, Level::Full, &bytes).stdout;
        let expected = trial.run_with(&same, Level::Full, hex.as_bytes()).stdout;
        assert_eq!(passed, expected);
    }
}

#[test]
fn reading_goes_on_as_ever() {
    prints(
        "cat {project}/file; ls; ls / | grep -c ^etc$",
        "contentfile\n1\n",
    );
    prints(
        "echo x > /dev/null; : 2>/dev/null > /dev/zero; echo $?",
        "0\n",
    );
    prints("diff <(echo a) <(echo a) && echo same", "same\n");
    prints("sort <<< $'b\\na' | cat", "a\nb\n");
    prints("ps -o args= -p $$ | grep -c bash", "1\n");
    prints("sleep 0.01 & wait $!; echo $?", "0\n");
}

#[test]
fn a_large_here_document_is_read() {
    // More than a pipe can buffer, so bash writes it to a file.
    let line = "x=$(printf '%0200000d' 0); wc -c <<< $x".to_owned();
    prints(&line, "200001\n");
}

#[test]
fn its_own_directory_can_be_written_and_is_gone_afterwards() {
    let line = "cd $TMPDIR && echo a > f && mkdir -m 000 d && mkdir -p e/f && mv f e/f/g \
                && ln e/f/g h && cat h && pwd -P | grep -c interlock-";
    each(line, |trial, outcome| {
        assert_eq!(outcome.stdout, "a\n1\n", "{outcome:?}");
        assert_eq!(trial.left_in_temporary(), Vec::<std::path::PathBuf>::new());
    });
}

#[test]
fn its_own_directory_is_gone_when_it_is_ended() {
    for user in users() {
        let trial = Trial::new(user);
        let plan = trial.no_write("echo $TMPDIR; touch x 2>/dev/null; sleep 600");
        let mut command = trial.command(&plan, Level::Full);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut own = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut own)
            .unwrap();
        assert!(fs::exists(own.trim()).unwrap());
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
        assert!(!fs::exists(own.trim()).unwrap());
    }
}

#[test]
fn what_a_killed_run_left_is_swept_by_the_next() {
    for user in users() {
        let trial = Trial::new(user);
        let plan = trial.no_write("echo $TMPDIR; sleep 600");
        let mut command = trial.command(&plan, Level::Full);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut own = String::new();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut own).unwrap();
        // Another run does not remove directories in use.
        trial.run(&trial.no_write("true"), Level::Full);
        assert!(fs::exists(own.trim()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(fs::exists(own.trim()).unwrap());
        trial.run(&trial.no_write("true"), Level::Full);
        assert!(!fs::exists(own.trim()).unwrap());
    }
}

#[test]
fn what_is_left_of_a_reading_line_ends_with_it() {
    let line = "sleep 601 & (setsid sleep 602 & ) ; (setsid bash -c '(sleep 603 &) ; sleep 604' &); \
                nohup sleep 605 >/dev/null 2>&1 & disown; \
                found() { ps -eo pid,args | awk '$2 == \"sleep\" && $3 ~ /^60[1-5]$/ {print $1}'; }; \
                until [ $(found | wc -l) -ge 5 ]; do :; done; found";
    each(line, |_, outcome| {
        let processes: Vec<_> = outcome.stdout.lines().collect();
        assert!(processes.len() >= 5, "{outcome:?}");
        for process in processes {
            assert!(
                !fs::exists(format!("/proc/{process}")).unwrap(),
                "{process} lives on"
            );
        }
    });
}

#[test]
fn what_is_left_of_a_writing_line_lives_on_confined() {
    for user in users() {
        let trial = Trial::new(user);
        let line = "setsid bash -c 'read < {project}/pipe; echo in > {project}/late; \
                    echo out > {outside}/late; echo done > {project}/pipe' > /dev/null 2>&1 & echo started";
        let plan = trial.writing(line);
        let pipe = trial.path("project/pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
        let outcome = trial.run(&plan, Level::Full);
        assert_eq!(outcome.stdout, "started\n");
        fs::write(&pipe, "go\n").unwrap();
        assert_eq!(fs::read_to_string(&pipe).unwrap(), "done\n");
        assert_eq!(
            fs::read_to_string(trial.path("project/late")).unwrap(),
            "in\n"
        );
        assert!(!fs::exists(trial.path("outside/late")).unwrap());
    }
}

#[test]
fn a_signal_sent_to_us_reaches_the_line() {
    for signal in ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2", "WINCH"] {
        for user in users() {
            let trial = Trial::new(user);
            let line = format!(
                "trap 'echo got; exit 3' {signal}; echo ready; while :; do sleep 0.01; done"
            );
            let mut command = trial.command(&trial.no_write(&line), Level::Full);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert_eq!(lines.next().unwrap().unwrap(), "ready");
            let number: Signal = format!("SIG{signal}").parse().unwrap();
            kill(Pid::from_raw(child.id().cast_signed()), number).unwrap();
            assert_eq!(lines.next().unwrap().unwrap(), "got", "{signal}");
            assert_eq!(child.wait().unwrap().code(), Some(3));
        }
    }
}

#[test]
fn variables_are_gone_and_set_however_they_are_read() {
    let line = "echo ${BLOCKED-none} ${SET-none}; printenv BLOCKED; env | grep -c BLOCKED; \
                tr '\\0' '\\n' < /proc/self/environ | grep -c ^BLOCKED; \
                cat /proc/$PPID/environ /proc/1/environ 2>/dev/null | grep -ac BLOCKED; echo $PAGER";
    for user in users() {
        for level in [Level::Full, Level::Files] {
            let trial = Trial::new(user);
            let mut plan = trial.no_write(line);
            plan.environment.removed.push("BLOCKED".to_owned());
            plan.environment
                .set
                .insert("SET".to_owned(), "new".to_owned());
            plan.environment
                .set
                .insert("PAGER".to_owned(), "cat".to_owned());
            let mut command = trial.command(&plan, level);
            command
                .env("BLOCKED", "value")
                .env("SET", "old")
                .env("PAGER", "evil");
            let outcome = trial.outcome(command.output().unwrap());
            assert_eq!(outcome.stdout, "none new\n0\n0\n0\ncat\n", "{outcome:?}");
        }
    }
}

#[test]
fn bash_starts_without_foreign_code() {
    let trial = Trial::new(User::Own);
    fs::write(trial.path("outside/evil"), "echo evil").unwrap();
    let plan = trial.no_write("set -x; cd project 2>/dev/null; ls /nowhere 2>/dev/null; f; true");
    let asked = interlock_sandbox::JudgedLine {
        policy: &interlock_core::policy::Policy {
            allowed_tools: Some(vec!["Bash".to_owned()]),
            ..Default::default()
        },
        facts: &Default::default(),
        start: &plan.start,
        directory: &plan.directory,
        covered: &[],
        person_allows: false,
    };
    let plan = Plan::for_line(
        &asked,
        &interlock_sandbox::PlanContext {
            project: trial.path("project"),
            ..Default::default()
        },
    );
    let mut command = trial.command(&plan, Level::Full);
    command
        .env("BASH_ENV", trial.path("outside/evil"))
        .env("ENV", trial.path("outside/evil"))
        .env("BASH_FUNC_ls%%", "() { echo evil; }")
        .env("BASH_FUNC_f%%", "() { echo evil; }")
        .env("PS4", "$(echo evil >&2)")
        .env("SHELLOPTS", "xtrace")
        .env("CDPATH", trial.path("."));
    let outcome = trial.outcome(command.output().unwrap());
    assert!(
        !outcome.stdout.contains("evil") && !outcome.stderr.contains("evil"),
        "{outcome:?}"
    );
    assert_eq!(outcome.stdout, "");
}

#[test]
fn below_the_required_level_nothing_starts() {
    for (most, required) in [
        (Level::Files, Level::Full),
        (Level::Partial, Level::Files),
        (Level::Environment, Level::Partial),
    ] {
        for user in users() {
            let trial = Trial::new(user);
            let mut plan = trial.writing("echo started > started");
            trial.protect(&mut plan, &["file"]);
            plan.require = required;
            let outcome = trial.run(&plan, most);
            assert_eq!(outcome.code, Some(126), "{outcome:?}");
            assert!(outcome.stderr.contains(required.as_str()), "{outcome:?}");
            assert!(!fs::exists(trial.path("project/started")).unwrap());
            // Without the requirement, the same plan starts at that level.
            plan.require = Level::Environment;
            let ended = trial.run(&plan, most).ended.unwrap();
            assert_eq!(ended.level, most);
        }
    }
}

#[test]
fn a_program_starts_without_a_shell() {
    let trial = Trial::new(User::Own);
    let mut plan = trial.no_write("");
    plan.start = Start::Program(vec![
        "printf".to_owned(),
        "%s".to_owned(),
        "$HOME;x".to_owned(),
    ]);
    assert_eq!(trial.run(&plan, Level::Full).stdout, "$HOME;x");
    plan.start = Start::Program(vec!["no-such-program".to_owned()]);
    let outcome = trial.run(&plan, Level::Full);
    assert_eq!(outcome.code, Some(126));
    assert!(outcome.stderr.contains("no-such-program"), "{outcome:?}");
}

#[test]
fn a_fetch_reaches_tcp_and_no_daemon() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for user in users() {
        let trial = Trial::new(user);
        let socket = trial.path("outside/socket");
        let _daemon = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let line = format!(
            "{{try}} tcp {port} && echo tcp; {{try}} tcp-listen 2>/dev/null || echo no-listen; \
             {{try}} unix {{outside}}/socket 2>/dev/null || echo no-daemon"
        );
        let mut plan = trial.no_write(&line);
        plan.confinement.as_mut().unwrap().network = Network::Fetch;
        assert_eq!(
            trial.run(&plan, Level::Full).stdout,
            "tcp\nno-listen\nno-daemon\n"
        );
    }
}

#[test]
fn a_named_socket_is_reached_and_no_other() {
    for user in users() {
        for make in [Trial::no_write, Trial::writing] {
            let trial = Trial::new(user);
            let bind = |name: &str| std::os::unix::net::UnixListener::bind(trial.path(name));
            // One is bound by another path than the one that names it.
            std::os::unix::fs::symlink(trial.path("outside"), trial.path("way")).unwrap();
            let bound = [
                "outside/named",
                "outside/other",
                "project/inside",
                "way/far",
            ];
            let _daemons = bound.map(bind);
            for name in bound {
                let path = trial.path(name);
                fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
            }
            let line = "for one in {outside}/named {outside}/other {project}/inside {outside}/far; do \
                        {try} unix $one 2>/dev/null && echo reached || echo kept; done";
            let mut plan = make(&trial, line);
            assert_eq!(
                trial.run(&plan, Level::Full).stdout,
                "kept\nkept\nkept\nkept\n",
                "{user:?}"
            );
            let named = ["outside/named", "outside/far"];
            plan.confinement.as_mut().unwrap().sockets = named.map(|name| trial.path(name)).into();
            let outcome = trial.run(&plan, Level::Full);
            assert_eq!(outcome.stdout, "reached\nkept\nkept\nreached\n", "{user:?}");
            assert_eq!(outcome.ended.unwrap().level, Level::Full);
        }
    }
}

#[test]
fn a_line_starts_its_own_programs_through_pairs_and_pipes() {
    let trial = Trial::new(User::Own);
    let plan = trial.writing("{try} pair && echo x | cat && echo done");
    let outcome = trial.run(&plan, Level::Full);
    assert_eq!(outcome.stdout, "x\ndone\n", "{outcome:?}");
}

#[test]
fn files_that_match_a_pattern_are_told() {
    let trial = Trial::new(User::Own);
    for name in ["src/a.rs", "src/b.rs", "src/c.txt"] {
        fs::create_dir_all(trial.path("project/src")).unwrap();
        fs::write(trial.path("project").join(name), "x").unwrap();
    }
    let mut plan = trial
        .writing("echo y > src/a.rs; rm src/b.rs; echo y > src/c.txt; mkdir -p m; echo n > m/n.rs");
    plan.post_check.reported = vec!["src/**/*.rs".to_owned(), "m/*.rs".to_owned()];
    let ended = trial.run(&plan, Level::Full).ended.unwrap();
    assert_eq!(ended.wrote, ["m/n.rs", "src/a.rs", "src/b.rs"]);
    assert_eq!(ended.unseen, None);
}

#[test]
fn the_state_directory_inside_a_writable_place_is_hidden() {
    for user in users() {
        let trial = Trial::new(user);
        let mut plan =
            trial.writing("cat {state}/secret; ls -A {state}; echo x > {state}/y; rm -rf {state}");
        plan.confinement
            .as_mut()
            .unwrap()
            .writable
            .push(WritablePlace::at(trial.path("")));
        let outcome = trial.run(&plan, Level::Full);
        assert_eq!(outcome.stdout, "", "{outcome:?}");
        assert_eq!(
            fs::read_to_string(trial.path("state/secret")).unwrap(),
            "secret"
        );
        assert!(!fs::exists(trial.path("state/y")).unwrap());
        // If mounts are refused, that is reported.
        let ended = trial.run(&trial_true(&plan), Level::Files).ended.unwrap();
        assert!(ended.unconfined.contains(&Unconfined::StateDirectory));
    }
}

fn trial_true(plan: &Plan) -> Plan {
    Plan {
        start: Start::Line("true".to_owned()),
        ..plan.clone()
    }
}

#[test]
fn a_build_directory_is_made_and_an_unused_one_removed() {
    let trial = Trial::new(User::Own);
    fs::write(trial.path("project/Cargo.toml"), "").unwrap();
    let place = |name: &str| WritablePlace {
        path: trial.path("project").join(name),
        made_beside: Some("Cargo.toml".to_owned()),
        within: Some(trial.path("project")),
    };
    let mut plan = trial.no_write("echo x > target/x; echo y > y; ls -d unused");
    plan.confinement.as_mut().unwrap().writable = vec![place("target"), place("unused")];
    let outcome = trial.run(&plan, Level::Full);
    assert_eq!(outcome.stdout, "unused\n", "{outcome:?}");
    assert!(fs::exists(trial.path("project/target/x")).unwrap());
    assert!(!fs::exists(trial.path("project/unused")).unwrap());
    assert!(!fs::exists(trial.path("project/y")).unwrap());
}

#[test]
fn a_link_laid_in_the_project_opens_nothing() {
    for (name, target) in [
        ("target", "."),
        ("target", "{outside}"),
        ("deep/target", "{outside}"),
    ] {
        let trial = Trial::new(User::Own);
        let project = trial.path("project");
        if name.starts_with("deep") {
            std::os::unix::fs::symlink(trial.path("outside"), project.join("deep")).unwrap();
            fs::write(trial.path("outside/Cargo.toml"), "").unwrap();
        } else {
            std::os::unix::fs::symlink(trial.fill(target), project.join(name)).unwrap();
        }
        let mut plan = trial.no_write("echo x > target/x; echo x > {outside}/x; echo x > x");
        plan.confinement.as_mut().unwrap().writable = vec![WritablePlace {
            path: project.join(name),
            made_beside: Some("Cargo.toml".to_owned()),
            within: Some(project.clone()),
        }];
        let before = trial.stand();
        trial.run(&plan, Level::Full);
        assert_eq!(before, trial.stand(), "{name} {target}");
    }
}

#[test]
fn nobody_types_into_the_terminal() {
    for user in users() {
        for make in [Trial::no_write as fn(&Trial, &str) -> Plan, Trial::writing] {
            let trial = Trial::new(user);
            let terminal = nix::pty::openpty(None, None).unwrap();
            let mut command = trial.command(&make(&trial, "{try} type"), Level::Full);
            command.stdin(Stdio::from(terminal.slave));
            let outcome = trial.outcome(command.output().unwrap());
            assert!(outcome.stderr.contains("not permitted"), "{outcome:?}");
            assert_eq!(outcome.code, Some(1));
        }
    }
}

#[test]
fn the_terminal_can_be_written_by_its_name() {
    let trial = Trial::new(User::Own);
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut command = trial.command(&trial.no_write("echo hello > $(tty); echo $?"), Level::Full);
    command.stdin(Stdio::from(terminal.slave));
    let outcome = trial.outcome(command.output().unwrap());
    assert_eq!(outcome.stdout, "0\n", "{outcome:?}");
}

#[test]
fn left_overs_that_stay_do_not_hold_the_run() {
    let trial = Trial::new(User::Own);
    let mut plan = trial.writing("sleep 600 > /dev/null 2>&1 & echo $!");
    assert_eq!(plan.confinement.as_ref().unwrap().left_over, LeftOver::Stay);
    let process = trial.run(&plan, Level::Full).stdout;
    assert!(fs::exists(format!("/proc/{}", process.trim())).unwrap());
    kill(
        Pid::from_raw(process.trim().parse().unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    plan.confinement.as_mut().unwrap().left_over = LeftOver::End;
    let process = trial.run(&plan, Level::Full).stdout;
    assert!(!fs::exists(format!("/proc/{}", process.trim())).unwrap());
}

#[test]
fn this_kernel_is_told() {
    let reached = interlock_sandbox::probe();
    // The tests above need all features; report clearly what is missing.
    let text = format!("this kernel reaches: {reached:?}\n");
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    assert!(reached.no_write >= Level::Files, "{text}");
}

#[test]
fn a_plan_without_a_whole_directory_starts_nothing() {
    let room = tempfile::tempdir().unwrap();
    let written = room.path().join("written");
    let trial = Trial::new(users().into_iter().next().unwrap());
    let plan = Plan {
        directory: "relative".into(),
        ..trial.no_write(&format!("touch {}", written.display()))
    };
    let refused = interlock_sandbox::run(&plan, Reach::NOTHING).unwrap_err();
    assert!(
        refused.to_string().contains("not an absolute directory"),
        "{refused}"
    );
    assert!(!written.exists());
}
