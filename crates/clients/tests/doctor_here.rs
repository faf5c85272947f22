//! The results of `doctor` for environment variables and open runs.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use interlock_clients::{
    ClientId,
    doctor::{Check, Examination, Health, examine},
    hook::respond,
    install::{Request, Scope, Site, apply, plan},
    read,
};
use interlock_core::machine::Object;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_project::Environment;
use interlock_store::{Durability, Home, NewRun, SourceFile};
use serde_json::{Value, json};

/// Runs the tests of this file one at a time.
///
/// A program cannot be started while a child of another thread still has it open for writing.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Environment variables, by name.
type Variables = &'static [(&'static str, &'static str)];

struct Place {
    room: tempfile::TempDir,
    variables: BTreeMap<&'static str, OsString>,
}

impl Place {
    fn new(variables: &[(&'static str, &str)]) -> Self {
        let room = tempfile::tempdir().unwrap();
        for part in ["project/.git", "home", "bin"] {
            fs::create_dir_all(room.path().join(part)).unwrap();
        }
        let told = variables.iter();
        Self {
            room,
            variables: told.map(|(name, value)| (*name, value.into())).collect(),
        }
    }

    fn base(&self) -> PathBuf {
        self.room.path().canonicalize().unwrap()
    }

    fn site(&self) -> Site {
        let base = self.base();
        let site = Site::new(
            &base.join("project"),
            &base.join("home"),
            &base.join("bin/interlock"),
        );
        site.moved_by(|name| self.variables.get(name).cloned())
    }

    fn install(&self, client: ClientId) {
        self.install_for(client, Scope::Project);
    }

    fn install_for(&self, client: ClientId, scope: Scope) {
        let request = Request {
            clients: &[client],
            scope,
            remove: false,
            floor: None,
            trust: true,
        };
        apply(&plan(&self.site(), &request).unwrap()).unwrap();
    }

    fn checks(&self, what: &str) -> Vec<Check> {
        let report = examine(&Examination {
            machine: self.base().join("machine"),
            ..Examination::new(self.site(), self.base().join("state"), false)
        });
        let checks = report.checks.into_iter();
        checks.filter(|check| check.what == what).collect()
    }

    fn home(&self) -> Home {
        Home::at(self.base().join("state"))
    }

    /// Starts a run of the project and lets a first hook take the baseline.
    fn begin(&self) -> String {
        let source = Source::new(
            "w.json",
            r#"{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}"#,
        );
        let loaded = load(&source, None, &NoWorkflows).unwrap();
        let project = self.base().join("project");
        let new = NewRun {
            machine: &loaded.machine,
            source: &SourceFile {
                name: source.name,
                text: source.text,
            },
            project_root: &project,
            name: None,
            durability: Durability::Process,
            at_ms: 1,
        };
        let started = self
            .home()
            .start_run(&new, Object::new(), "a person")
            .unwrap();
        let run = started.log.run().clone();
        self.home()
            .lock_bindings()
            .unwrap()
            .wait_for_next(&run, &project, None)
            .unwrap();
        let input = json!({
            "session_id": "s", "cwd": project, "hook_event_name": "PreToolUse",
            "tool_name": "Read", "tool_use_id": "t", "permission_mode": "default",
            "tool_input": {"file_path": "/x"},
        });
        let environment = Environment {
            program: Some(self.base().join("bin/interlock")),
            variables: vec![("HOME".into(), self.base().join("home").into())],
            at_ms: 1,
            ..Environment::at(self.home())
        };
        let input = read(ClientId::ClaudeCode, input.to_string().as_bytes(), None).unwrap();
        respond(&environment, &input).unwrap();
        run.to_string()
    }
}

#[test]
fn trust_by_a_variable_counts_as_the_client_counts_it() {
    let _alone = alone();
    let cases: [(ClientId, Variables, Health); 9] = [
        (ClientId::Gemini, &[], Health::Fail),
        (
            ClientId::Gemini,
            &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
            Health::Warn,
        ),
        (
            ClientId::Gemini,
            &[("GEMINI_CLI_TRUST_WORKSPACE", "1")],
            Health::Fail,
        ),
        (
            ClientId::Gemini,
            &[("GEMINI_CLI_TRUST_WORKSPACE", "false")],
            Health::Fail,
        ),
        (
            ClientId::Gemini,
            &[
                ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
                ("GEMINI_RESTRICTED_MODE", "true"),
            ],
            Health::Fail,
        ),
        (ClientId::Copilot, &[], Health::Fail),
        (
            ClientId::Copilot,
            &[("COPILOT_ALLOW_ALL", "true")],
            Health::Warn,
        ),
        (
            ClientId::Copilot,
            &[("COPILOT_ALLOW_ALL", "1")],
            Health::Fail,
        ),
        (
            ClientId::Copilot,
            &[("COPILOT_ALLOW_ALL", "")],
            Health::Fail,
        ),
    ];
    for (client, variables, health) in cases {
        let place = Place::new(variables);
        place.install(client);
        let checks = place.checks("trusted");
        let seen: Vec<Health> = checks.iter().map(|check| check.health).collect();
        assert_eq!(seen, [health], "{client:?} {variables:?}: {checks:?}");
    }
}

/// The content of a file, for a folder.
type Content<'a> = &'a dyn Fn(&str) -> Value;

#[test]
fn a_folder_is_trusted_by_each_file_that_its_client_reads() {
    let _alone = alone();
    let list = |folder: &str| json!({"trustedFolders": [folder]});
    let off = |_: &str| json!({"security": {"folderTrust": {"enabled": false}}});
    let level = |folder: &str| json!({ folder: "TRUST_FOLDER" });
    let above = |folder: &str| json!({ format!("{folder}/below"): "TRUST_PARENT" });
    let none = |folder: &str| json!({ folder: "DO_NOT_TRUST" });
    let cases: [(ClientId, &str, Content<'_>, Health); 7] = [
        (ClientId::Copilot, "config.json", &list, Health::Ok),
        (ClientId::Copilot, "settings.json", &list, Health::Ok),
        (ClientId::Copilot, "others.json", &list, Health::Fail),
        (ClientId::Gemini, "trustedFolders.json", &level, Health::Ok),
        (ClientId::Gemini, "trustedFolders.json", &above, Health::Ok),
        (ClientId::Gemini, "trustedFolders.json", &none, Health::Fail),
        (ClientId::Gemini, "settings.json", &off, Health::Ok),
    ];
    for (client, file, content, health) in cases {
        let place = Place::new(&[]);
        let site = place.site();
        let home = match client {
            ClientId::Gemini => site.gemini_home,
            _ => site.copilot_home,
        };
        fs::create_dir_all(&home).unwrap();
        let root = place.base().join("project").display().to_string();
        fs::write(home.join(file), content(&root).to_string()).unwrap();
        place.install(client);
        let checks = place.checks("trusted");
        let seen: Vec<Health> = checks.iter().map(|check| check.health).collect();
        assert_eq!(seen, [health], "{client:?} {file}: {checks:?}");
    }
}

#[test]
fn the_list_of_trusted_folders_is_read_where_a_variable_puts_it() {
    let _alone = alone();
    let place = Place::new(&[]);
    let root = place.base().join("project").display().to_string();
    let elsewhere = place.base().join("trust.json");
    fs::write(&elsewhere, json!({ root: "TRUST_FOLDER" }).to_string()).unwrap();
    let moved = Place {
        variables: [("GEMINI_CLI_TRUSTED_FOLDERS_PATH", elsewhere.into())].into(),
        ..place
    };
    moved.install(ClientId::Gemini);
    let checks = moved.checks("trusted");
    let seen: Vec<Health> = checks.iter().map(|check| check.health).collect();
    assert_eq!(seen, [Health::Ok], "{checks:?}");
}

#[test]
fn protected_things_that_changed_are_listed_for_each_open_run() {
    let _alone = alone();
    let place = Place::new(&[]);
    place.install(ClientId::ClaudeCode);
    let run = place.begin();
    assert_eq!(place.checks("protected"), []);
    let settings = place.base().join("project/.claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("PreToolUse", "Other")).unwrap();
    let [check] = place.checks("protected").try_into().unwrap();
    assert_eq!(check.health, Health::Warn);
    assert!(check.seen.contains("settings.json"), "{check:?}");
    assert!(check.seen.contains(&run), "{check:?}");
    assert!(check.advice.contains("interlock resume"), "{check:?}");
    // Checking must not record anything: the log stays as it is.
    fs::write(&settings, text).unwrap();
    assert_eq!(place.checks("protected"), []);
}

#[test]
fn servers_that_a_project_brings_along_are_named_where_they_are_not_started() {
    const ANSWERS: &str = r#"#!/bin/sh
case "$1" in
hook) cat > /dev/null; echo '{}' ;;
gateway) read -r hello; echo '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"x","version":"1"}}}'
    read -r ready; read -r list; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}]}}' ;;
esac
"#;
    let _alone = alone();
    let place = Place::new(&[]);
    let program = place.site().program;
    fs::write(&program, ANSWERS).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = place.base().join("project/.interlock/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "[mcp.zoo]\ncommand = \"zoo\"\n").unwrap();
    place.install_for(ClientId::ClaudeCode, Scope::Project);
    assert_eq!(place.checks("mcp servers"), []);
    fs::remove_file(place.base().join("project/.mcp.json")).unwrap();
    place.install_for(ClientId::ClaudeCode, Scope::User);
    let [check] = place.checks("mcp servers").try_into().unwrap();
    assert_eq!(check.health, Health::Warn);
    assert!(check.seen.contains("zoo"), "{check:?}");
}
