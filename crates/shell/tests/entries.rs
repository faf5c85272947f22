//! Entries of `allowed_commands` and names of the environment.

use interlock_shell::{ShellContext, changes_programs, read, split_entry};

#[track_caller]
fn check(entry: &str, expected: Option<&[&str]>) {
    let expected = expected.map(|words| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    });
    assert_eq!(split_entry(entry), expected, "{entry}");
}

#[test]
fn an_entry_is_split_as_shell_words() {
    check("pytest", Some(&["pytest"]));
    check("cargo test", Some(&["cargo", "test"]));
    check("  npm   test ", Some(&["npm", "test"]));
    check("sh -c 'a b'", Some(&["sh", "-c", "a b"]));
    check(
        "git commit -m \"a b\"",
        Some(&["git", "commit", "-m", "a b"]),
    );
    check("./run.sh", Some(&["./run.sh"]));
    check("/usr/bin/pytest", Some(&["/usr/bin/pytest"]));
    check(
        "timeout 60 npm test",
        Some(&["timeout", "60", "npm", "test"]),
    );
}

#[test]
fn a_last_star_adds_nothing() {
    check("npm test *", Some(&["npm", "test"]));
    check("npm *", Some(&["npm"]));
    check("*", None);
    check("npm *test", None);
    check("npm * test", None);
    check("npm '*'", Some(&["npm", "*"]));
}

#[test]
fn an_entry_that_is_not_literal_is_none() {
    check("", None);
    check("$CMD", None);
    check("npm $X", None);
    check("npm test; ls", None);
    check("npm test && ls", None);
    check("npm test | ls", None);
    check("npm test > a", None);
    check("A=1 npm test", None);
    check("$(ls)", None);
    check("npm 'test", None);
    check("npm\ntest", None);
    check("# npm", None);
}

#[test]
fn names_that_change_programs_are_known() {
    for name in [
        "PATH",
        "IFS",
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "GIT_DIR",
        "GIT_PAGER",
        "MY_PAGER",
        "VISUAL",
        "LESSOPEN",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "npm_config_script_shell",
        "CARGO_HOME",
        "GOFLAGS",
        "MAKEFLAGS",
        "http_proxy",
        "KUBECONFIG",
        "BASH_FUNC_ls%%",
        "HOME",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "AWS_PROFILE",
        "DESTDIR",
        "GREP",
        "GROFF_COMMAND_PREFIX",
        "RUSTDOC",
        "JAVACMD",
        "GNUMAKEFLAGS",
        "GTEST_FILTER",
        "SPEC_OPTS",
    ] {
        assert!(changes_programs(name), "{name}");
    }
    for name in [
        "FOO",
        "CI",
        "LC_ALL",
        "LANG",
        "DEBUG",
        "NODE_ENV",
        "PYTHONUNBUFFERED",
        "CARGO_TERM_COLOR",
        "GIT_TERMINAL_PROMPT",
        "RUST_LOG",
        "COLUMNS",
        "NO_COLOR",
        "PORT",
    ] {
        assert!(!changes_programs(name), "{name}");
    }
}

#[test]
fn names_that_reach_other_programs_are_marked() {
    let setting = ShellContext {
        directory: "/project".to_owned(),
        project_root: "/project".to_owned(),
        variables: vec!["GIVEN".to_owned()],
        ..ShellContext::default()
    };
    let exported = |line: &str| {
        let facts = read(line, &setting);
        assert_eq!(facts.unreadable, None, "{line}");
        facts
            .env
            .set
            .iter()
            .any(|set| matches!(set.name.as_str(), "A" | "GIVEN") && set.exported)
    };
    for line in [
        "export A=1; npm test",
        "export A; A=1; npm test",
        "A=1; export A; npm test",
        "declare -x A=1; npm test",
        "typeset -x A; A=1; npm test",
        "readonly -x A=1; npm test",
        "set -a; A=1; npm test",
        "set -eao pipefail; A=1; npm test",
        "set -o allexport; A=1; npm test",
        "A=1 bash -c 'npm test'",
        "A=1 eval 'npm test'",
        "A=1 timeout 5 bash -c 'npm test'",
        "env A=1 sh -c 'npm test'",
        "f() { npm test; }; A=1 f",
        "A=1 :; npm test",
        "for A in x; do export A; npm test; done",
        "read A < f; export A; npm test",
        // They receive the variables given to the shell, whoever changes them.
        "GIVEN=1; npm test",
        "printf -v GIVEN x; npm test",
        "read GIVEN < f; npm test",
        "for GIVEN in x; do npm test; done",
    ] {
        assert!(exported(line), "{line}");
    }
    for line in [
        "A=1; npm test",
        "A=1 npm test",
        "A=1 timeout 5 npm test",
        "env A=1 npm test",
        "A=1 true; npm test",
        "for A in x; do npm test; done",
        "A=$(cat f); npm test",
        "echo $GIVEN; npm test",
    ] {
        assert!(!exported(line), "{line}");
    }
}
