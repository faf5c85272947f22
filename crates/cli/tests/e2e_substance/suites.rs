//! Evidence of substance with the real Claude Code and the test runners of four languages.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use interlock_testkit::{
    claude::{Session, Version},
    interlock::Interlock,
    provider::{Call, Say, Script, call},
    room::Room,
};
use serde_json::json;

use super::{INTERLOCK, bash, done, refused};

/// Each session builds and runs tests five times, possibly in parallel with others.
const DEADLINE: Duration = Duration::from_secs(300);

/// A project with a passing test and a failing one, `adds`, for one test runner.
struct Suite {
    /// The required programs.
    programs: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    /// The failing test, as reports name it.
    name: &'static str,
    /// The line that runs every test.
    whole: &'static str,
    /// A line that runs only the passing test.
    subset: &'static str,
    report: &'static str,
    frozen: &'static str,
    /// The file with the tests.
    tests: &'static str,
    /// The text that is replaced by `removed` to remove the failing test.
    failing: &'static str,
    removed: &'static str,
    /// The failing test, skipped.
    skipped: &'static str,
    /// Text in the frozen file, and its replacement that makes the runner skip the failing test.
    rewritten: (&'static str, &'static str),
    /// The file with the bug, the bug, and the fix.
    mended: (&'static str, &'static str, &'static str),
    /// A refusal's text about a skipped test: some runners leave it out of their reports.
    says_skipped: &'static str,
}

const JEST: Suite = Suite {
    programs: &["npm"],
    files: &[
        (
            "package.json",
            r#"{"name": "sums", "private": true, "scripts": {"test": "jest --reporters=jest-junit"}}"#,
        ),
        ("sums.js", "exports.add = (a, b) => a + b + 1;\n"),
        (
            "sums.test.js",
            "const { add } = require('./sums.js');\ntest('is there', () => expect(typeof add).toBe('function'));\ntest('adds', () => expect(add(1, 1)).toBe(2));\n",
        ),
    ],
    name: "adds",
    whole: "npm test",
    subset: "npm test -- -t there",
    report: "junit.xml",
    frozen: "package.json",
    tests: "sums.test.js",
    failing: "test('adds', () =>",
    removed: "const nothing = (() =>",
    skipped: "test.skip('adds', () =>",
    rewritten: ("jest --", "jest -t there --"),
    mended: ("sums.js", "a + b + 1", "a + b"),
    says_skipped: "newly skipped",
};

const PYTEST: Suite = Suite {
    programs: &["python3"],
    files: &[
        (
            "pytest.ini",
            "[pytest]\naddopts = --junitxml=junit.xml -p no:cacheprovider\n",
        ),
        ("sums.py", "def add(a, b):\n    return a + b + 1\n"),
        (
            "test_sums.py",
            "import pytest\nfrom sums import add\n\n\ndef test_is_there():\n    assert callable(add)\n\n\ndef test_adds():\n    assert add(1, 1) == 2\n",
        ),
    ],
    name: "test_adds",
    whole: "pytest",
    subset: "pytest -k is_there",
    report: "junit.xml",
    frozen: "pytest.ini",
    tests: "test_sums.py",
    failing: "def test_adds():",
    removed: "def nothing():",
    skipped: "@pytest.mark.skip\ndef test_adds():",
    rewritten: ("addopts =", "addopts = -k is_there"),
    mended: ("sums.py", "a + b + 1", "a + b"),
    says_skipped: "newly skipped",
};

const NEXTEST: Suite = Suite {
    programs: &["cargo-nextest"],
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
        ),
        (
            "Cargo.lock",
            "version = 3\n\n[[package]]\nname = \"sums\"\nversion = \"0.1.0\"\n",
        ),
        (
            ".config/nextest.toml",
            "[profile.default]\nfail-fast = false\n\n[profile.default.junit]\npath = \"junit.xml\"\n",
        ),
        (
            "src/lib.rs",
            "pub fn add(a: u32, b: u32) -> u32 {\n    a + b + 1\n}\n",
        ),
        (
            "tests/sums.rs",
            "use sums::add;\n\n#[test]\nfn is_there() {\n    assert!(add(1, 1) > 0);\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n",
        ),
    ],
    name: "adds",
    whole: "cargo nextest run",
    subset: "cargo nextest run is_there",
    report: "target/nextest/default/junit.xml",
    frozen: ".config/nextest.toml",
    tests: "tests/sums.rs",
    failing: "#[test]\nfn adds() {",
    removed: "pub fn nothing() {",
    skipped: "#[test]\n#[ignore]\nfn adds() {",
    rewritten: (
        "fail-fast = false\n",
        "fail-fast = false\ndefault-filter = \"test(is_there)\"\n",
    ),
    mended: ("src/lib.rs", "a + b + 1", "a + b"),
    says_skipped: "is gone",
};

const GO: Suite = Suite {
    programs: &["go", "gotestsum", "make"],
    files: &[
        ("go.mod", "module sums\n\ngo 1.19\n"),
        (
            "Makefile",
            "test:\n\tGOCACHE=$(CURDIR)/.cache gotestsum --junitfile junit.xml -- $(ARGS) ./...\n",
        ),
        (
            "sums.go",
            "package sums\n\nfunc Add(a, b int) int {\n\treturn a + b + 1\n}\n",
        ),
        (
            "sums_test.go",
            "package sums\n\nimport \"testing\"\n\nfunc TestIsThere(t *testing.T) {\n\tAdd(1, 1)\n}\n\nfunc TestAdds(t *testing.T) {\n\tif Add(1, 1) != 2 {\n\t\tt.Fail()\n\t}\n}\n",
        ),
    ],
    name: "TestAdds",
    whole: "make test",
    subset: "make test ARGS=-run=IsThere",
    report: "junit.xml",
    frozen: "Makefile",
    tests: "sums_test.go",
    failing: "func TestAdds(t *testing.T) {\n",
    removed: "func nothing(t *testing.T) {\n",
    skipped: "func TestAdds(t *testing.T) {\n\tt.Skip()\n",
    rewritten: ("$(ARGS)", "-run=IsThere"),
    mended: ("sums.go", "a + b + 1", "a + b"),
    says_skipped: "newly skipped",
};

/// Tries every shortcut to passing tests, each of which is refused, and then fixes the code.
fn only_mended_code_passes(suite: &Suite) {
    if !is_installed(suite) {
        return;
    }
    // The client's handling of answers is tested with both versions elsewhere; here the runners differ.
    let version = Version::V2_1_332;
    let room = Room::new().unwrap();
    room.install("claude", &version.program().unwrap()).unwrap();
    install_packages(&room);
    for (path, text) in suite.files {
        room.write(path, text).unwrap();
    }
    let interlock = Interlock::new(INTERLOCK, &room);
    interlock.init().unwrap();
    let workflow = json!({
        "id": "bugfix", "initial": "fixing",
        "states": {
            "fixing": {
                "allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": [suite.whole],
                "on": {"DONE": {"target": "fixed", "guard": "tested"}},
            },
            "fixed": {"type": "final"},
        },
        "guards": {"tested": {"evidence": {
            "command": suite.whole, "report": suite.report, "passed_at_least": "start", "none_removed": true,
            "frozen": [suite.frozen],
        }}},
    });
    room.write("workflow.json", &workflow.to_string()).unwrap();
    let run = interlock.start("workflow.json").unwrap();
    let read = |path: &str| call("Read", json!({"file_path": room.file(path)}));
    let edit = |path: &str, old: &str, new: &str| {
        call(
            "Edit",
            json!({"file_path": room.file(path), "old_string": old, "new_string": new}),
        )
    };
    let test = || bash(suite.whole);
    let (plain, narrow) = suite.rewritten;
    let (code, mistake, right) = suite.mended;
    let mut steps = vec![read(suite.frozen), read(code), read(suite.tests)];
    let mut wanted: Vec<(usize, &str, &str)> = Vec::new();
    let mut attempt = |more: Vec<Say>, what: &'static str, why: &'static str| {
        steps.extend(more);
        steps.push(done());
        wanted.push((steps.len() - 1, what, why));
    };
    attempt(vec![test()], suite.whole, "was not seen");
    attempt(vec![bash(suite.subset)], suite.whole, "was not seen");
    attempt(
        vec![edit(suite.frozen, plain, narrow), test()],
        suite.frozen,
        "does not count",
    );
    attempt(
        vec![
            edit(suite.frozen, narrow, plain),
            edit(suite.tests, suite.failing, suite.removed),
            test(),
        ],
        suite.name,
        "is gone",
    );
    attempt(
        vec![edit(suite.tests, suite.removed, suite.skipped), test()],
        suite.name,
        suite.says_skipped,
    );
    steps.extend([
        edit(suite.tests, suite.skipped, suite.failing),
        edit(code, mistake, right),
        test(),
        done(),
    ]);
    let count = steps.len();
    let mut session = Session::new(version, &room, Script::calls(steps)).deadline(DEADLINE);
    for (name, value) in toolchains() {
        session = session.env(name, &value);
    }
    let outcome = session.run().unwrap();
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    let calls: Vec<Call> = outcome.calls();
    assert_eq!(calls.len(), count, "{calls:#?}");
    for (step, what, why) in wanted {
        refused(&calls[step], what);
        refused(&calls[step], why);
        // The line before it was not refused: only its output keeps the agent from continuing.
        assert!(
            !calls[step - 1].result.contains("not allowed"),
            "{calls:#?}"
        );
    }
    let last = calls.last().unwrap();
    assert!(!last.failed, "{calls:#?}");
    assert_eq!(interlock.status(&run).unwrap()["state"], "fixed");
}

/// Returns whether the runner is installed; in CI, it must be.
#[expect(clippy::print_stdout, reason = "a test that is left out says so")]
fn is_installed(suite: &Suite) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&path).any(|at| at.join(name).is_file());
    let missing = suite.programs.iter().filter(|name| !is_there(name));
    let missing: Vec<&&str> = missing.collect();
    if missing.is_empty() {
        return true;
    }
    let what = format!("not installed: {missing:?}");
    assert!(std::env::var_os("CI").is_none(), "{what}");
    println!("left out: {what}");
    false
}

/// Returns a folder of `tests` that `cargo xtask setup` fills.
fn installed(folder: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let place = tests.join(folder).canonicalize();
    place.unwrap_or_else(|_| panic!("`{folder}` is not installed: run `cargo xtask setup`"))
}

/// Makes Jest and pytest available in the room, as in a project.
fn install_packages(room: &Room) {
    let body = format!(
        "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='{}' exec python3 -m pytest \"$@\"",
        installed("e2e/python").display()
    );
    let script = room.script("run-pytest", &body).unwrap();
    room.install("pytest", &script).unwrap();
    let packages = installed("suites/node_modules");
    let own = room.project().join("node_modules");
    std::fs::create_dir_all(own.join(".bin")).unwrap();
    for (place, package) in [
        ("jest", "jest"),
        ("jest-junit", "jest-junit"),
        (".bin/jest", "jest/bin/jest.js"),
    ] {
        std::os::unix::fs::symlink(packages.join(package), own.join(place)).unwrap();
    }
}

/// Returns the variables by which a room with its own home finds this machine's toolchains.
fn toolchains() -> Vec<(&'static str, String)> {
    let own = std::env::home_dir().map(|home| home.join(".rustup"));
    let toolchains = std::env::var_os("RUSTUP_HOME").map(Into::into).or(own);
    let toolchains = toolchains.map(|path: PathBuf| ("RUSTUP_HOME", path.display().to_string()));
    let chosen = std::env::var("RUSTUP_TOOLCHAIN").ok();
    let chosen = chosen.map(|name| ("RUSTUP_TOOLCHAIN", name));
    toolchains.into_iter().chain(chosen).collect()
}

#[test]
fn jest() {
    only_mended_code_passes(&JEST);
}

#[test]
fn pytest() {
    only_mended_code_passes(&PYTEST);
}

#[test]
fn cargo_nextest() {
    only_mended_code_passes(&NEXTEST);
}

#[test]
fn gotestsum() {
    only_mended_code_passes(&GO);
}
