//! The results of `doctor` for intact and broken installations.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use interlock_clients::{
    ClientId,
    doctor::{Check, Examination, Found, Health, Report, examine},
    install::{Request, Scope, Site, apply, hook_file, plan},
};
use serde_json::{Value, json};

/// Runs the tests of this file one at a time.
///
/// A program cannot be started while a child of another thread still has it open for writing.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program that answers as hook and as server.
const ANSWERS: &str = r#"#!/bin/sh
case "$1" in
hook) cat > /dev/null; echo '{}' ;;
exec) echo done ;;
gateway) read -r hello; echo '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"x","version":"1"}}}'
    read -r ready; read -r list; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}]}}' ;;
esac
"#;

/// A program that fails at once.
const BREAKS: &str = "#!/bin/sh\nexit 3\n";

/// The machine of one test.
struct Machine {
    directory: tempfile::TempDir,
    client: PathBuf,
    policy: bool,
}

impl Machine {
    /// Returns a machine with a client of this version, without Interlock.
    fn new(version: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for part in ["project/.claude", "home/.claude", "bin"] {
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

    /// Returns a machine on which only another client is installed, with Interlock.
    fn of(client: ClientId, program: &str, text: &str, scope: Scope) -> Self {
        let machine = Self::new("0");
        fs::remove_file(&machine.client).unwrap();
        for part in ["project/.claude", "home/.claude"] {
            fs::remove_dir(machine.directory.path().join(part)).unwrap();
        }
        write_program(&machine.directory.path().join("bin").join(program), text);
        machine.install_for(client, scope)
    }

    fn site(&self) -> Site {
        let below = |part: &str| self.directory.path().join(part);
        Site {
            programs: vec![below("bin")],
            ..Site::new(&below("project"), &below("home"), &below("bin/interlock"))
        }
    }

    fn install(self) -> Self {
        self.install_for(ClientId::ClaudeCode, Scope::Project)
    }

    fn install_for(self, client: ClientId, scope: Scope) -> Self {
        let request = Request {
            clients: &[client],
            scope,
            remove: false,
            floor: None,
            trust: true,
        };
        apply(&plan(&self.site(), &request).unwrap()).unwrap();
        self
    }

    fn write(self, path: &str, content: &Value) -> Self {
        self.write_text(path, &content.to_string())
    }

    fn write_text(self, path: &str, text: &str) -> Self {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Changes the installed settings at a JSON Pointer.
    fn set(self, pointer: &str, value: Value) -> Self {
        let path = hook_file(ClientId::ClaudeCode, &self.site(), Scope::Project);
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
        self.program_named("interlock", text)
    }

    fn program_named(self, name: &str, text: &str) -> Self {
        write_program(&self.directory.path().join("bin").join(name), text);
        self
    }

    fn report(&self) -> Report {
        examine(&Examination {
            machine: self.directory.path().join("machine"),
            ..Examination::new(
                self.site(),
                self.directory.path().join("state"),
                self.policy,
            )
        })
    }

    fn examine(&self) -> Vec<Check> {
        self.report().checks
    }
}

fn fails(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.health == Health::Fail)
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the results of the client's checks with this name.
fn health(checks: &[Check], what: &str) -> Vec<Health> {
    let found = checks.iter().filter(|check| check.what == what);
    found.map(|check| check.health).collect()
}

#[test]
fn what_init_installs_holds() {
    let _alone = alone();
    let checks = Machine::new("2.1.332").install().counted_on().examine();
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
    // The unmediated tools are reported even if everything is in order.
    assert_eq!(health(&checks, "not mediated"), [Health::Warn]);
}

#[test]
fn each_gap_is_found() {
    let _alone = alone();
    use Health::{Fail, Ok as Well, Warn};
    let new = || Machine::new("2.1.332");
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
            "a client that asks nothing about skills",
            Machine::new("2.1.331").install(),
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
                "machine/etc/claude-code/managed-settings.json",
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
    let machine = Machine::new("2.1.332").install();
    fs::write(
        hook_file(ClientId::ClaudeCode, &machine.site(), Scope::Project),
        "{ not json",
    )
    .unwrap();
    let checks = machine.examine();
    assert_eq!(health(&checks, "settings"), [Health::Fail]);
    assert!(fails(&checks));
}

#[test]
fn a_client_that_is_not_there_is_said_so() {
    let _alone = alone();
    let machine = Machine::new("2.1.332");
    fs::remove_file(&machine.client).unwrap();
    let checks = machine.examine();
    assert_eq!(health(&checks, "version"), [Health::Warn]);
    assert!(!fails(&checks));
}

#[test]
fn a_check_is_written_as_json() {
    let _alone = alone();
    let checks = Machine::new("2.1.332").install().examine();
    let written = serde_json::to_value(&checks).unwrap();
    let first = written.get(0).unwrap();
    assert_eq!(
        *first,
        json!({ "of": "claude-code", "what": "version", "health": "ok", "seen": "2.1.332", "advice": "" })
    );
}

/// Marks the folder as trusted in the client's own files.
fn trusted(machine: Machine, client: ClientId) -> Machine {
    let root = machine.site().project_root.display().to_string();
    match client {
        ClientId::Gemini => machine.write(
            "home/.gemini/trustedFolders.json",
            &json!({ root: "TRUST_FOLDER" }),
        ),
        ClientId::Copilot => machine.write_text(
            "home/.copilot/config.json",
            &format!("// written by the client\n{{\"trustedFolders\": [\"{root}\"],}}"),
        ),
        _ => machine,
    }
}

/// The other clients, each with its version's output.
const OTHERS: [(ClientId, &str, &str); 4] = [
    (ClientId::Gemini, "gemini", "0.61.0"),
    (ClientId::Copilot, "copilot", "GitHub Copilot CLI 1.0.102."),
    (ClientId::Cursor, "cursor-agent", "2026.10.01"),
    (ClientId::Opencode, "opencode", "1.18.34"),
];

fn says(version: &str) -> String {
    format!("#!/bin/sh\necho '{version}'\n")
}

#[test]
fn every_client_has_a_row() {
    let _alone = alone();
    for (client, program, version) in OTHERS {
        let machine = Machine::of(client, program, &says(version), Scope::Project);
        let report = trusted(machine, client).report();
        let [row] = report.clients.as_slice() else {
            panic!("{:?}", report.clients);
        };
        assert_eq!(row.client, client.word());
        assert!(version.contains(row.version.as_deref().unwrap()), "{row:?}");
        assert_eq!(row.hooks, Found::All, "{report:?}");
        assert!(
            row.answers_ms.is_some() && row.gateway == Some(true),
            "{row:?}"
        );
        assert!(!report.fails(), "{report:#?}");
    }
}

#[test]
fn a_folder_that_the_client_does_not_trust_is_not_guarded() {
    let _alone = alone();
    for (client, program, version) in OTHERS {
        let asks = matches!(client, ClientId::Gemini | ClientId::Copilot);
        let report = Machine::of(client, program, &says(version), Scope::Project).report();
        assert_eq!(report.fails(), asks, "{report:#?}");
        let trusts = report.clients.first().unwrap().trusted;
        assert_eq!(trusts, asks.then_some(false), "{client:?}");
        // The person's own hooks apply in every folder.
        let report = Machine::of(client, program, &says(version), Scope::User).report();
        assert!(!report.fails(), "{report:#?}");
    }
}

/// Codex as an app server: it lists the hooks in the files, and trusts those that its configuration names.
const CODEX: &str = r#"#!/usr/bin/env python3
import json, os, sys, pathlib
if "--version" in sys.argv:
    print("codex-cli 0.171.0"); sys.exit()
home = pathlib.Path(os.environ.get("CODEX_HOME", os.path.expanduser("~/.codex"))).resolve()
config = (home / "config.toml").read_text() if (home / "config.toml").exists() else ""
def snake(name):
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))
def listed(path):
    for event, groups in json.loads(path.read_text())["hooks"].items():
        for i, group in enumerate(groups):
            for j, hook in enumerate(group["hooks"]):
                key = f"{path}:{snake(event)}:{i}:{j}"
                digest = "sha256:" + str(sum(map(ord, json.dumps([event, hook]))))
                known = f'"{key}"]\ntrusted_hash = "{digest}"' in config
                yield {"key": key, "currentHash": digest, "enabled": True,
                       "trustStatus": "trusted" if known else "untrusted"}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    result = {}
    if asked["method"] == "hooks/list":
        cwd = pathlib.Path(asked["params"]["cwds"][0]).resolve()
        files = {home / "hooks.json"}
        if f'[projects."{cwd}"]' in config: files.add(cwd / ".codex/hooks.json")
        hooks = [hook for path in files if path.exists() for hook in listed(path)]
        result = {"data": [{"cwd": str(cwd), "hooks": hooks, "warnings": [], "errors": []}]}
    print(json.dumps({"id": asked["id"], "result": result}), flush=True)
"#;

fn codex(scope: Scope) -> Machine {
    let machine = Machine::of(ClientId::Codex, "codex", CODEX, scope);
    let home = machine.site().codex_home;
    let text = CODEX.replace("os.path.expanduser(\"~/.codex\")", &format!("{:?}", home));
    machine.program_named("codex", &text)
}

#[test]
fn codex_is_asked_which_hooks_it_trusts() {
    let _alone = alone();
    // The person's own hooks: the written hashes are sufficient.
    let report = codex(Scope::User).report();
    assert_eq!(
        report.clients.first().unwrap().trusted,
        Some(true),
        "{report:#?}"
    );
    assert!(!report.fails());
    // A project's hooks: one setting makes Codex trust both the folder and the hooks.
    let machine = codex(Scope::Project);
    let report = machine.report();
    assert_eq!(
        report.clients.first().unwrap().trusted,
        Some(true),
        "{report:#?}"
    );
    // Codex ignores the hooks of an untrusted project.
    let path = machine.site().codex_home.join("config.toml");
    let config = fs::read_to_string(&path).unwrap();
    fs::write(&path, config.replace("[projects.", "[others.")).unwrap();
    let report = machine.report();
    assert_eq!(
        report.clients.first().unwrap().trusted,
        Some(false),
        "{report:#?}"
    );
    assert!(report.fails());
    fs::write(&path, config).unwrap();
    let report = machine.report();
    assert_eq!(
        report.clients.first().unwrap().trusted,
        Some(true),
        "{report:#?}"
    );
    assert!(!report.fails());
    // Another line has another hash.
    let hooks = hook_file(ClientId::Codex, &machine.site(), Scope::Project);
    let changed = fs::read_to_string(&hooks)
        .unwrap()
        .replace("86400", "86401");
    fs::write(&hooks, changed).unwrap();
    let report = machine.report();
    assert_eq!(
        report.clients.first().unwrap().trusted,
        Some(false),
        "{report:#?}"
    );
}

#[test]
fn each_switch_of_each_client_is_found() {
    let _alone = alone();
    let cases = [
        (
            ClientId::Codex,
            "home/.codex/config.toml",
            "[features]\nhooks = false\n",
        ),
        (
            ClientId::Codex,
            "project/.codex/config.toml",
            "features.codex_hooks = false\n",
        ),
        (
            ClientId::Codex,
            "machine/etc/codex/requirements.toml",
            "allow_managed_hooks_only = true\n",
        ),
        (
            ClientId::Gemini,
            "home/.gemini/settings.json",
            "{\"hooksConfig\": {\"enabled\": false}} // off",
        ),
        (
            ClientId::Gemini,
            "machine/etc/gemini-cli/settings.json",
            "{\"hooksConfig\": {\"disabled\": [\"interlock\"]}}",
        ),
        (
            ClientId::Copilot,
            "home/.copilot/settings.json",
            "{\"disableAllHooks\": true}",
        ),
        (
            ClientId::Copilot,
            "project/.github/copilot/settings.json",
            "{\"disableAllHooks\": true,}",
        ),
    ];
    for (client, path, text) in cases {
        let scope = if path.starts_with("home") {
            Scope::Project
        } else {
            Scope::User
        };
        let program = client.word();
        let machine = Machine::of(client, program, &says("1.0"), scope).write_text(path, text);
        let checks = machine.examine();
        assert_eq!(
            health(&checks, "settings"),
            [Health::Fail],
            "{path}: {checks:#?}"
        );
    }
}

#[test]
fn hooks_of_the_project_and_of_the_person_are_said_to_be_two() {
    let _alone = alone();
    let machine = Machine::of(ClientId::Gemini, "gemini", &says("0.61.0"), Scope::Project);
    let machine = machine.install_for(ClientId::Gemini, Scope::User);
    let checks = machine.examine();
    assert_eq!(
        health(&checks, "hooks"),
        [Health::Ok, Health::Ok, Health::Warn],
        "{checks:#?}"
    );
}
