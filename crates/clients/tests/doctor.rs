//! What `doctor` says of installations that hold and of those that do not.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use interlock_clients::{
    doctor::{Check, Examination, Health, examine, fails},
    install::{Scope, Site, apply, plan},
};
use serde_json::{Value, json};

/// Keeps the tests of this file one after the other.
///
/// A program cannot be started while another thread's child still holds it open for writing.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program that answers as hook and as server.
const ANSWERS: &str = r#"#!/bin/sh
case "$1" in
hook) cat > /dev/null; echo '{}' ;;
exec) echo done ;;
gateway) read -r hello; echo '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"x","version":"1"}}}' ;;
esac
"#;

/// A program that breaks at once.
const BREAKS: &str = "#!/bin/sh\nexit 3\n";

/// A machine of one test.
struct Machine {
    directory: tempfile::TempDir,
    client: PathBuf,
    policy: bool,
}

impl Machine {
    /// A client of this version, and Interlock not installed.
    fn new(version: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for part in ["project/.claude", "home/.claude", "bin", "etc"] {
            fs::create_dir_all(directory.path().join(part)).unwrap();
        }
        let machine = Self {
            client: directory.path().join("bin/claude"),
            directory,
            policy: false,
        };
        let says = format!("#!/bin/sh\necho '{version} (Claude Code)'\n");
        write_program(&machine.client, &says);
        write_program(&machine.site().program, ANSWERS);
        machine
    }

    fn site(&self) -> Site {
        let below = |part: &str| self.directory.path().join(part);
        Site {
            project_root: below("project"),
            home: below("home"),
            program: below("bin/interlock"),
        }
    }

    fn install(self) -> Self {
        apply(&plan(&self.site(), Scope::Project, false).unwrap()).unwrap();
        self
    }

    fn write(self, path: &str, content: &Value) -> Self {
        fs::write(self.directory.path().join(path), content.to_string()).unwrap();
        self
    }

    /// Changes the installed settings at a JSON Pointer.
    fn set(self, pointer: &str, value: Value) -> Self {
        let path = self.site().settings(Scope::Project);
        let mut settings: Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        *settings.pointer_mut(pointer).unwrap() = value;
        fs::write(path, settings.to_string()).unwrap();
        self
    }

    fn counted_on(self) -> Self {
        Self {
            policy: true,
            ..self
        }
    }

    fn program(self, text: &str) -> Self {
        write_program(&self.site().program, text);
        self
    }

    fn examine(&self) -> Vec<Check> {
        examine(&Examination {
            client: self.client.clone(),
            managed: self.directory.path().join("etc/managed.json"),
            ..Examination::new(
                self.site(),
                self.directory.path().join("state"),
                self.policy,
            )
        })
    }
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns how the client's checks of this name stand.
fn health(checks: &[Check], what: &str) -> Vec<Health> {
    let found = checks.iter().filter(|check| check.what == what);
    found.map(|check| check.health).collect()
}

#[test]
fn what_init_installs_holds() {
    let _alone = alone();
    let checks = Machine::new("2.1.329").install().counted_on().examine();
    for what in [
        "version",
        "hooks",
        "hook answers",
        "control server",
        "state directory",
    ] {
        assert_eq!(health(&checks, what), [Health::Ok], "{what}: {checks:?}");
    }
    assert!(!fails(&checks));
    let timed = checks
        .iter()
        .filter(|check| check.took_ms.is_some())
        .count();
    assert_eq!(timed, 2);
    // What is not mediated is said even when all is well.
    assert_eq!(health(&checks, "not mediated"), [Health::Warn]);
}

#[test]
fn each_gap_is_found() {
    let _alone = alone();
    use Health::{Fail, Ok as Well, Warn};
    let new = || Machine::new("2.1.329");
    let hook = "/hooks/PreToolUse/0/hooks/0";
    let cases: Vec<(&str, Machine, &str, &[Health])> = vec![
        ("not installed", new(), "hooks", &[Warn]),
        (
            "not installed, counted on",
            new().counted_on(),
            "hooks",
            &[Fail],
        ),
        (
            "no server, counted on",
            new().counted_on(),
            "control server",
            &[Fail],
        ),
        (
            "an old client",
            Machine::new("2.1.197").install(),
            "version",
            &[Warn],
        ),
        (
            "no number at all",
            Machine::new("unknown").install(),
            "version",
            &[Warn],
        ),
        (
            "no onFailure",
            new()
                .install()
                .set(&format!("{hook}/onFailure"), json!("continue")),
            "hooks",
            &[Fail],
        ),
        (
            "one event short",
            new().install().set("/hooks/PostToolUse", json!([])),
            "hooks",
            &[Fail],
        ),
        (
            "a hook that breaks",
            new().install().program(BREAKS),
            "hook answers",
            &[Fail],
        ),
        (
            "a server that breaks",
            new().install().program(BREAKS),
            "control server",
            &[Fail],
        ),
        (
            "a hook that prints more than one document",
            new()
                .install()
                .program("#!/bin/sh\necho '{}'\necho hello\n"),
            "hook answers",
            &[Fail],
        ),
        (
            "hooks switched off by the person",
            new().install().write(
                "home/.claude/settings.json",
                &json!({ "disableAllHooks": true }),
            ),
            "settings",
            &[Fail],
        ),
        (
            "hooks switched off on this machine",
            new().install().write(
                "project/.claude/settings.local.json",
                &json!({ "disableAllHooks": true }),
            ),
            "settings",
            &[Fail],
        ),
        (
            "only managed hooks",
            new().install().write(
                "etc/managed.json",
                &json!({ "allowManagedHooksOnly": true }),
            ),
            "settings",
            &[Fail],
        ),
        (
            "the switch of managed settings means nothing elsewhere",
            new().install().write(
                "home/.claude/settings.json",
                &json!({ "allowManagedHooksOnly": true }),
            ),
            "settings",
            &[],
        ),
        (
            "the server switched off",
            new().install().write(
                "project/.claude/settings.local.json",
                &json!({ "disabledMcpjsonServers": ["interlock"] }),
            ),
            "control server",
            &[Well, Warn],
        ),
        (
            "half of it elsewhere",
            new().install().write(
                "home/.claude/settings.json",
                &json!({ "hooks": { "PreToolUse": [{ "hooks": [
                    { "type": "command", "command": "interlock hook claude-code" },
                ] }] } }),
            ),
            "hooks",
            &[Well, Warn],
        ),
    ];
    for (name, machine, what, expected) in cases {
        let checks = machine.examine();
        assert_eq!(health(&checks, what), expected, "{name}: {checks:?}");
        assert_eq!(
            fails(&checks),
            checks.iter().any(|check| check.health == Fail),
            "{name}"
        );
        let idle = checks
            .iter()
            .filter(|check| check.health == Fail && check.advice.is_empty());
        assert_eq!(idle.count(), 0, "{name}: a failure says what to do");
    }
}

#[test]
fn settings_that_cannot_be_read_are_a_failure() {
    let _alone = alone();
    let machine = Machine::new("2.1.329").install();
    fs::write(machine.site().settings(Scope::Project), "{ not json").unwrap();
    let checks = machine.examine();
    assert_eq!(health(&checks, "settings"), [Health::Fail]);
    assert!(fails(&checks));
}

#[test]
fn a_client_that_is_not_there_is_said_so() {
    let _alone = alone();
    let machine = Machine::new("2.1.329");
    fs::remove_file(&machine.client).unwrap();
    let checks = machine.examine();
    assert_eq!(health(&checks, "version"), [Health::Warn]);
    assert!(!fails(&checks));
}

#[test]
fn a_check_is_written_as_json() {
    let _alone = alone();
    let checks = Machine::new("2.1.329").install().examine();
    let written = serde_json::to_value(&checks).unwrap();
    let first = written.get(0).unwrap();
    assert_eq!(
        *first,
        json!({ "of": "claude-code", "what": "version", "health": "ok", "seen": "2.1.329", "advice": "" })
    );
}
