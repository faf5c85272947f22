//! What `init` writes into a client's settings, and what `init --remove` leaves.
//!
//! A case is a directory below `tests/install/CLIENT`: the files `before` and `after`, below
//! `project` and `home`; with a file `user` in it the person's own settings are meant, with
//! `not_as_before` something of ours was there and `left` is what stays.
//! `INTERLOCK_BLESS=1` writes what comes out; read it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use interlock_clients::{
    ClientId,
    install::{
        FileChange, HookState, InstallError, Plan, Request, Scope, Site, apply, diff, events,
        hook_file, hook_state, plan, server_file,
    },
};
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

/// A project of one test, with a home directory beside it.
struct Project {
    directory: tempfile::TempDir,
    client: ClientId,
    scope: Scope,
}

impl Project {
    fn of(client: ClientId) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for part in ["project", "home"] {
            fs::create_dir_all(directory.path().join(part)).unwrap();
        }
        Self {
            directory,
            client,
            scope: Scope::Project,
        }
    }

    fn new() -> Self {
        let project = Self::of(ClientId::ClaudeCode);
        for part in ["project/.claude", "home/.claude"] {
            fs::create_dir_all(project.directory.path().join(part)).unwrap();
        }
        project
    }

    fn with(settings: &str) -> Self {
        let project = Self::new();
        fs::write(project.settings(), settings).unwrap();
        project
    }

    fn site(&self) -> Site {
        let below = |part: &str| self.directory.path().join(part);
        Site {
            state: Some(below("state")),
            ..Site::new(
                &below("project"),
                &below("home"),
                Path::new("/opt/my tools/interlock"),
            )
        }
    }

    fn settings(&self) -> PathBuf {
        hook_file(self.client, &self.site(), self.scope)
    }

    fn servers(&self) -> PathBuf {
        server_file(self.client, &self.site(), self.scope)
    }

    fn ask(&self, remove: bool) -> Result<Plan, InstallError> {
        let request = Request {
            clients: &[self.client],
            scope: self.scope,
            remove,
            floor: None,
            trust: false,
        };
        plan(&self.site(), &request)
    }

    fn plan(&self, remove: bool) -> Vec<FileChange> {
        self.ask(remove).unwrap().changes
    }

    fn refusal(&self) -> InstallError {
        self.ask(false).unwrap_err()
    }

    fn install(&self) {
        apply(&self.ask(false).unwrap()).unwrap();
    }

    fn remove(&self) {
        apply(&self.ask(true).unwrap()).unwrap();
    }

    /// Every file of project and home.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for part in ["project", "home"] {
            read_all(self.directory.path(), Path::new(part), &mut files);
        }
        files
    }
}

impl Project {
    /// Every directory below project and home.
    fn directories(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.site().project_root, self.site().home];
        while let Some(directory) = open.pop() {
            let entries = fs::read_dir(&directory).unwrap();
            let below: Vec<PathBuf> = entries
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_dir())
                .collect();
            found.extend(below.clone());
            open.extend(below);
        }
        found
    }
}

fn read_all(base: &Path, below: &Path, files: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(base.join(below)) else {
        return;
    };
    for entry in entries {
        let path = below.join(entry.unwrap().file_name());
        if base.join(&path).is_dir() {
            read_all(base, &path, files);
        } else {
            let text = fs::read_to_string(base.join(&path)).unwrap();
            files.insert(path.display().to_string(), text);
        }
    }
}

fn write_all(base: &Path, files: &BTreeMap<String, String>) {
    for (path, text) in files {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn state(settings: &Value, event: &str, project: &Project) -> HookState {
    hook_state(project.client, settings, event, &project.site())
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// One directory of files before, after, and after they were taken out again.
struct Case {
    path: PathBuf,
    client: ClientId,
}

impl Case {
    fn all() -> Vec<Self> {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install");
        let mut cases = Vec::new();
        for (word, client) in ClientId::ALL {
            let entries = fs::read_dir(all.join(word)).unwrap();
            cases.extend(entries.map(|entry| Self {
                path: entry.unwrap().path(),
                client,
            }));
        }
        cases.sort_by(|one, other| one.path.cmp(&other.path));
        assert!(cases.len() > 30, "only {} cases", cases.len());
        cases
    }

    fn files(&self, part: &str) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        read_all(&self.path.join(part), Path::new(""), &mut files);
        files
    }

    fn has(&self, mark: &str) -> bool {
        self.path.join(mark).exists()
    }

    fn project(&self) -> Project {
        let mut project = Project::of(self.client);
        write_all(project.directory.path(), &self.files("before"));
        if self.has("user") {
            project.scope = Scope::User;
        }
        project
    }

    fn check(&self, part: &str, project: &Project) {
        let mut files = project.files();
        for (path, text) in &mut files {
            // Of the plugin only what is not the same in every case.
            if path.ends_with("plugins/interlock.ts") && text.contains("spawn") {
                let kept = |line: &&str| line.contains("init") || line.starts_with("const PROGRAM");
                *text = text.lines().filter(kept).collect::<Vec<_>>().join("\n");
            }
        }
        if std::env::var_os("INTERLOCK_BLESS").is_some() {
            let _ = fs::remove_dir_all(self.path.join(part));
            write_all(&self.path.join(part), &files);
        }
        assert_eq!(files, self.files(part), "{} {part}", self.path.display());
    }
}

#[test]
fn each_file_becomes_what_was_read() {
    for case in Case::all() {
        let project = case.project();
        project.install();
        case.check("after", &project);
        assert_eq!(project.plan(false), [], "{}: twice", case.path.display());
    }
}

/// In a case with `left`, hooks of ours were there before.
#[test]
fn removing_gives_back_every_byte() {
    for case in Case::all() {
        let project = case.project();
        project.install();
        project.remove();
        let part = if case.has("not_as_before") {
            "left"
        } else {
            "before"
        };
        let name = case.path.display();
        if part == "left" {
            case.check(part, &project);
        } else {
            assert_eq!(project.files(), case.files(part), "{name}");
        }
        assert_eq!(project.plan(true), [], "{name}: twice");
        let directories = project.directories();
        assert!(
            directories
                .iter()
                .all(|path| fs::read_dir(path).unwrap().next().is_some()),
            "{name}: {directories:?}"
        );
        let record = project.directory.path().join("state/installed.json");
        assert!(!record.exists(), "{name}: the record stays");
    }
}

#[test]
fn without_a_record_others_find_their_files_as_they_were() {
    // Nobody can know whether an empty file or a lone number was there.
    let unknowable = ["empty", "only_", "not_as_before"];
    for case in Case::all() {
        let name = case.path.display().to_string();
        let before = case.files("before");
        let unknown = unknowable.iter().any(|word| name.contains(word))
            || case.has("not_as_before")
            || before.values().any(|text| {
                text.contains("[]") || text.replace(['\t', '\r', '\n', ' '], "").contains("{}")
            });
        if unknown {
            continue;
        }
        let project = case.project();
        project.install();
        fs::remove_dir_all(project.directory.path().join("state")).unwrap();
        project.remove();
        assert_eq!(project.files(), before, "{name}");
    }
}

#[test]
fn several_clients_are_changed_all_or_none() {
    let project = Project::new();
    fs::create_dir_all(project.site().project_root.join(".cursor")).unwrap();
    let broken = hook_file(ClientId::Cursor, &project.site(), Scope::Project);
    fs::write(&broken, "{\n  \"version\": 1,\n  oops\n}\n").unwrap();
    let clients = ClientId::ALL.map(|(_, client)| client);
    let request = Request {
        clients: &clients,
        scope: Scope::Project,
        remove: false,
        floor: None,
        trust: false,
    };
    let before = project.files();
    let said = plan(&project.site(), &request).unwrap_err().to_string();
    assert!(said.contains("hooks.json:3:3`: not JSON"), "{said}");
    assert_eq!(project.files(), before);

    fs::remove_file(&broken).unwrap();
    let planned = plan(&project.site(), &request).unwrap();
    // The last file cannot be put in its place: a directory is there by now.
    let last = &planned.changes.last().unwrap().path;
    fs::create_dir_all(last.join("x")).unwrap();
    assert!(apply(&planned).is_err());
    fs::remove_dir_all(last).unwrap();
    assert_eq!(project.files().len(), 0);
    apply(&planned).unwrap();
    assert_eq!(plan(&project.site(), &request).unwrap().changes, []);
    let gone = Request {
        remove: true,
        ..request
    };
    apply(&plan(&project.site(), &gone).unwrap()).unwrap();
    assert_eq!(project.files().len(), 0);
}

#[test]
fn a_server_that_another_client_reads_stays() {
    let project = Project::new();
    let clients = [ClientId::ClaudeCode, ClientId::Copilot];
    let request = |clients, remove| Request {
        clients,
        scope: Scope::Project,
        remove,
        floor: None,
        trust: false,
    };
    let site = project.site();
    apply(&plan(&site, &request(&clients, false)).unwrap()).unwrap();
    apply(&plan(&site, &request(&clients[1..], true)).unwrap()).unwrap();
    assert!(text(&project.servers()).unwrap().contains("gateway"));
    assert!(!hook_file(ClientId::Copilot, &site, Scope::Project).exists());
    project.remove();
    assert_eq!(project.files().len(), 0);
}

#[test]
fn removing_leaves_what_others_wrote() {
    let before = "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"a\" }] }\n    ]\n  }\n}\n";
    let project = Project::with(before);
    project.install();
    // Somebody writes behind what was put in.
    let mut with: Value = serde_json::from_str(&text(&project.settings()).unwrap()).unwrap();
    let groups = with
        .pointer_mut("/hooks/Stop")
        .unwrap()
        .as_array_mut()
        .unwrap();
    groups.push(json!({ "hooks": [{ "type": "command", "command": "b" }] }));
    with["hooks"]["PreToolUse"][0]["hooks"]
        .as_array_mut()
        .unwrap()
        .insert(
            0,
            json!({ "type": "command", "command": "interlock-lint hook claude-code" }),
        );
    fs::write(
        project.settings(),
        serde_json::to_string_pretty(&with).unwrap(),
    )
    .unwrap();
    project.remove();
    let left: Value = serde_json::from_str(&text(&project.settings()).unwrap()).unwrap();
    assert_eq!(
        left,
        json!({ "hooks": {
            "Stop": [
                { "hooks": [{ "type": "command", "command": "a" }] },
                { "hooks": [{ "type": "command", "command": "b" }] },
            ],
            "PreToolUse": [
                { "hooks": [{ "type": "command", "command": "interlock-lint hook claude-code" }] },
            ],
        } })
    );
}

#[test]
fn every_hook_blocks_on_failure_and_has_no_matcher() {
    let project = Project::new();
    project.install();
    let settings: Value = serde_json::from_str(&text(&project.settings()).unwrap()).unwrap();
    for event in events(ClientId::ClaudeCode) {
        let mut groups = settings["hooks"][event].clone();
        let line = groups[0]["hooks"][0]["command"].take();
        assert_eq!(
            groups,
            json!([{ "hooks": [{
                "type": "command",
                "command": null,
                "timeout": 10,
                "onFailure": "block",
            }] }])
        );
        let line = line.as_str().unwrap();
        assert!(
            line.contains("'/opt/my tools/interlock' hook claude-code"),
            "{line}"
        );
        assert_eq!(line.contains("exit 2"), *event == "PreToolUse", "{line}");
        let state = state(&settings, event, &project);
        assert!(matches!(state, HookState::Complete(_)), "{event}");
    }
}

#[test]
fn what_weakens_a_hook_makes_it_incomplete() {
    let whole = json!({
        "type": "command", "command": "interlock hook claude-code", "onFailure": "block",
    });
    let weakened = [
        ("onFailure", json!("continue")),
        ("async", json!(true)),
        ("once", json!(true)),
        ("if", json!("Bash(git *)")),
    ];
    let project = Project::new();
    let state = |group: Value| {
        let settings = json!({ "hooks": { "PreToolUse": [group] } });
        state(&settings, "PreToolUse", &project)
    };
    assert!(matches!(
        state(json!({ "hooks": [whole.clone()] })),
        HookState::Complete(_)
    ));
    for (key, value) in weakened {
        let mut hook = whole.clone();
        hook[key] = value;
        assert_eq!(
            state(json!({ "hooks": [hook] })),
            HookState::Incomplete,
            "{key}"
        );
    }
    let narrow = json!({ "matcher": "Bash|Edit", "hooks": [whole] });
    assert_eq!(state(narrow), HookState::Incomplete);
    let other = json!({ "hooks": [{ "command": "true; interlock hook claude-code" }] });
    assert_eq!(state(other), HookState::Missing);
}

#[test]
fn what_cannot_be_read_is_named_and_left_alone() {
    let cases = [
        ("{\n  \"a\": 1,\n}\n", ":3:1`: not JSON"),
        ("{ \"a\": 1 } // mine\n", "not JSON"),
        ("[]", ":1:1`: not an object"),
        ("{\n  \"hooks\": []\n}", ":2:12`: `hooks` is not an object"),
        (
            "{\"hooks\":{\"Stop\":{}}}",
            ":1:18`: `hooks.Stop` is not a list",
        ),
        (
            "{\"hooks\": {},\n \"hooks\": {}}",
            ":2:2`: `hooks` stands there twice",
        ),
    ];
    for (settings, expected) in cases {
        let project = Project::with(settings);
        let said = project.refusal().to_string();
        assert!(said.contains(expected), "{said}");
        assert_eq!(text(&project.settings()).as_deref(), Some(settings));
        assert_eq!(text(&project.servers()), None);
    }
}

#[test]
fn a_server_of_the_same_name_that_is_not_ours_is_not_replaced() {
    let project = Project::new();
    let theirs = "{\"mcpServers\":{\"interlock\":{\"url\":\"http://x\"}}}";
    fs::write(project.servers(), theirs).unwrap();
    let said = project.refusal().to_string();
    assert!(
        said.contains(":1:28`: `mcpServers.interlock` is another server"),
        "{said}"
    );
    project.remove();
    assert_eq!(text(&project.servers()).as_deref(), Some(theirs));
}

#[test]
fn what_changed_since_planning_is_not_overwritten() {
    let project = Project::with("{}\n");
    let planned = project.ask(false).unwrap();
    fs::write(project.servers(), "{\"mcpServers\":{}}").unwrap();
    let refused = apply(&planned).unwrap_err();
    assert!(matches!(refused, InstallError::Changed { .. }), "{refused}");
    // Nothing at all was written, not even the file that had not changed.
    assert_eq!(text(&project.settings()).as_deref(), Some("{}\n"));
}

#[test]
fn permissions_and_links_stay() {
    let project = Project::new();
    let real = project.site().project_root.join("shared.json");
    fs::write(&real, "{\n  \"a\": 1\n}\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, project.settings()).unwrap();
    project.install();
    assert!(project.settings().symlink_metadata().unwrap().is_symlink());
    assert!(text(&real).unwrap().contains("hook claude-code"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    project.remove();
    assert_eq!(text(&real).as_deref(), Some("{\n  \"a\": 1\n}\n"));
}

#[test]
fn a_link_to_a_file_that_becomes_empty_is_not_cut() {
    let project = Project::new();
    let real = project.site().project_root.join("shared.json");
    fs::write(&real, "{}").unwrap();
    symlink(&real, project.settings()).unwrap();
    project.install();
    project.remove();
    assert_eq!(text(&real).as_deref(), Some("{}"));
    assert!(project.settings().symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_link_out_of_the_project_or_to_nothing_is_not_followed() {
    let project = Project::new();
    let outside = project.directory.path().join("outside.json");
    symlink(&outside, project.settings()).unwrap();
    let said = project.refusal().to_string();
    assert!(said.contains("leads nowhere"), "{said}");
    assert!(!outside.exists());
    fs::write(&outside, "{}").unwrap();
    let said = project.refusal().to_string();
    assert!(said.contains("leads out of the project"), "{said}");

    let project = Project::new();
    let claude = project.site().project_root.join(".claude");
    fs::remove_dir(&claude).unwrap();
    symlink(project.directory.path().join("home/.claude"), &claude).unwrap();
    let said = project.refusal().to_string();
    assert!(said.contains("leads out of the project"), "{said}");
}

#[test]
fn a_device_or_a_pipe_is_not_replaced_by_a_file() {
    let mut project = Project::new();
    project.scope = Scope::User;
    // Only planned: what went wrong here would take the machine's own device away.
    symlink("/dev/null", project.settings()).unwrap();
    let said = project.refusal().to_string();
    assert!(said.contains("device or a pipe"), "{said}");
    fs::remove_file(project.settings()).unwrap();
    let made = Command::new("mkfifo").arg(project.settings()).status();
    assert!(made.unwrap().success());
    let said = project.refusal().to_string();
    assert!(said.contains("device or a pipe"), "{said}");
}

#[test]
fn the_persons_own_settings_may_be_linked_from_anywhere() {
    let mut project = Project::new();
    let dotfiles = project.directory.path().join("dotfiles.json");
    fs::write(&dotfiles, "{\n  \"a\": 1\n}\n").unwrap();
    let in_project = project.settings();
    project.scope = Scope::User;
    symlink(&dotfiles, project.settings()).unwrap();
    project.install();
    assert!(text(&dotfiles).unwrap().contains("hook claude-code"));
    assert!(text(&project.servers()).unwrap().contains("gateway"));
    assert_eq!(text(&in_project), None);
}

#[test]
fn a_change_is_shown_as_a_diff() {
    let project = Project::with("{\n  \"model\": \"opus\"\n}\n");
    let planned = project.plan(false);
    let shown: Vec<String> = planned.iter().map(diff).collect();
    let [settings, servers] = shown.as_slice() else {
        panic!("two files change");
    };
    assert!(
        settings.contains("-  \"model\": \"opus\"\n+  \"model\": \"opus\",\n"),
        "{settings}"
    );
    assert!(servers.starts_with("--- /dev/null\n"), "{servers}");
}

/// Any JSON value, deep enough to be interesting.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~äé\\n\"\\\\]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(Value::from),
            object(inner).prop_map(Value::from),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec(("[a-z\"é{]{1,6}", inner), 1..4).prop_map(|members| members.into_iter().collect())
}

/// Settings with hooks of others among them, none of them empty.
fn settings(events: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let group = object(value()).prop_map(Value::from);
    let hooks = vec((0..events.len(), vec(group, 1..3)), 1..4).prop_map(|named| {
        let named = named.into_iter().map(|(event, groups)| {
            let name = events.get(event).copied().unwrap_or_default();
            (name.to_owned(), Value::from(groups))
        });
        Value::from(named.collect::<Map<_, _>>())
    });
    (object(value()), prop::option::of(hooks), 0_usize..4).prop_map(|(others, hooks, place)| {
        let mut members: Vec<(String, Value)> = others.into_iter().collect();
        let place = place.min(members.len());
        members.splice(place..place, hooks.map(|hooks| ("hooks".to_owned(), hooks)));
        Value::from(members.into_iter().collect::<Map<_, _>>())
    })
}

/// A client whose hooks stand in JSON, and settings for it.
fn any_settings() -> impl Strategy<Value = (ClientId, Value)> {
    let clients = [
        ClientId::ClaudeCode,
        ClientId::Codex,
        ClientId::Gemini,
        ClientId::Copilot,
        ClientId::Cursor,
    ];
    prop::sample::select(clients.to_vec())
        .prop_flat_map(|client| (Just(client), settings(events(client))))
        .prop_map(|(client, mut settings)| {
            // Without this number the file would be none of the client's.
            if matches!(client, ClientId::Copilot | ClientId::Cursor) {
                settings["version"] = json!(1);
            }
            (client, settings)
        })
}

/// Writes a value in one of the ways people and programs write JSON.
fn written(value: &Value, way: u8) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap();
    match way {
        0 => value.to_string(),
        1 => pretty,
        2 => format!("{pretty}\n"),
        3 => format!("\n{}\n\n", with_tabs(&pretty)),
        4 => format!("{}\r\n", pretty.replace('\n', "\r\n")),
        _ => format!("\u{feff}{} ", pretty.replace("\n", " ")),
    }
}

/// Indents by tabs; what stands inside a text stays.
fn with_tabs(pretty: &str) -> String {
    let lines = pretty.lines().map(|line| {
        let rest = line.trim_start_matches(' ');
        "\t".repeat((line.len() - rest.len()) / 2) + rest
    });
    lines.collect::<Vec<_>>().join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn merged_and_removed_is_as_it_was((client, value) in any_settings(), way in 0_u8..6, known in any::<bool>()) {
        let before = written(&value, way);
        let project = Project::of(client);
        fs::create_dir_all(project.settings().parent().unwrap()).unwrap();
        fs::write(project.settings(), &before).unwrap();
        project.install();
        let merged = text(&project.settings()).unwrap();
        let merged: Value = serde_json::from_str(merged.trim_start_matches('\u{feff}')).unwrap();
        for event in events(client) {
            let state = state(&merged, event, &project);
            prop_assert!(matches!(state, HookState::Complete(_)), "{} in {}", event, merged);
        }
        prop_assert_eq!(project.plan(false), []);
        if !known {
            fs::remove_dir_all(project.directory.path().join("state")).unwrap();
        }
        project.remove();
        prop_assert_eq!(text(&project.settings()), Some(before));
    }
}
