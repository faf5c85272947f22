//! What `init` writes into a client's settings, and what `init --remove` leaves.
//!
//! A case is a directory below `tests/install`: the files before and after. A
//! file without `before` is not there yet. `INTERLOCK_BLESS=1` writes what comes out; read it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use interlock_clients::install::{
    EVENTS, FileChange, HookState, InstallError, Scope, Site, apply, diff, plan,
};
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

/// A project of one test, with a home directory beside it.
struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for part in ["project/.claude", "home/.claude"] {
            fs::create_dir_all(directory.path().join(part)).unwrap();
        }
        Self { directory }
    }

    fn with(settings: &str) -> Self {
        let project = Self::new();
        fs::write(project.settings(), settings).unwrap();
        project
    }

    fn site(&self) -> Site {
        Site {
            project_root: self.directory.path().join("project"),
            home: self.directory.path().join("home"),
            program: PathBuf::from("/opt/my tools/interlock"),
        }
    }

    fn settings(&self) -> PathBuf {
        self.site().settings(Scope::Project)
    }

    fn servers(&self) -> PathBuf {
        self.site().servers(Scope::Project)
    }

    fn plan(&self, remove: bool) -> Vec<FileChange> {
        plan(&self.site(), Scope::Project, remove).unwrap()
    }

    fn refusal(&self) -> InstallError {
        plan(&self.site(), Scope::Project, false).unwrap_err()
    }

    fn install(&self) {
        apply(&self.plan(false)).unwrap();
    }

    fn remove(&self) {
        apply(&self.plan(true)).unwrap();
    }
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn cases() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install");
    let mut cases: Vec<PathBuf> = fs::read_dir(all)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    cases
}

#[test]
fn each_file_becomes_what_was_read() {
    for case in cases() {
        let project = Project::new();
        let files = [("settings", project.settings()), ("mcp", project.servers())];
        for (name, path) in &files {
            if let Some(before) = text(&case.join(format!("{name}.before.json"))) {
                fs::write(path, before).unwrap();
            }
        }
        project.install();
        for (name, path) in &files {
            let kept = case.join(format!("{name}.after.json"));
            if std::env::var_os("INTERLOCK_BLESS").is_some() {
                fs::copy(path, &kept).unwrap();
            }
            assert_eq!(text(path), text(&kept), "{}", kept.display());
        }
        assert_eq!(project.plan(false), [], "{}: twice", case.display());
    }
}

/// Cases in which Interlock's own hooks were there before, or a list that was empty.
const NOT_AS_BEFORE: [&str; 4] = [
    "moved_program",
    "only_some_tools",
    "others_stay",
    "without_on_failure",
];

#[test]
fn removing_gives_back_every_byte() {
    for case in cases() {
        let name = case.file_name().unwrap().to_str().unwrap();
        if NOT_AS_BEFORE.contains(&name) {
            continue;
        }
        let project = Project::new();
        let before = text(&case.join("settings.before.json"));
        if let Some(before) = &before {
            fs::write(project.settings(), before).unwrap();
        }
        project.install();
        project.remove();
        assert_eq!(text(&project.settings()), before, "{name}");
        assert_eq!(text(&project.servers()), None, "{name}");
        assert_eq!(project.plan(true), [], "{name}: twice");
    }
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
    for event in EVENTS {
        assert_eq!(
            settings["hooks"][event],
            json!([{ "hooks": [{
                "type": "command",
                "command": "'/opt/my tools/interlock' hook claude-code",
                "timeout": 10,
                "onFailure": "block",
            }] }])
        );
        let state = HookState::of(&settings, event, &project.site());
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
        HookState::of(&settings, "PreToolUse", &project.site())
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
    let planned = project.plan(false);
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
    assert_eq!(text(&real).as_deref(), Some("{}\n"));
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
fn the_persons_own_settings_may_be_linked_from_anywhere() {
    let project = Project::new();
    let dotfiles = project.directory.path().join("dotfiles.json");
    fs::write(&dotfiles, "{\n  \"a\": 1\n}\n").unwrap();
    let site = project.site();
    symlink(&dotfiles, site.settings(Scope::User)).unwrap();
    apply(&plan(&site, Scope::User, false).unwrap()).unwrap();
    assert!(text(&dotfiles).unwrap().contains("hook claude-code"));
    assert!(
        text(&site.home.join(".claude.json"))
            .unwrap()
            .contains("gateway")
    );
    assert_eq!(text(&project.settings()), None);
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
fn settings() -> impl Strategy<Value = Value> {
    let group = object(value()).prop_map(Value::from);
    let hooks = vec((0..EVENTS.len(), vec(group, 1..3)), 1..4).prop_map(|events| {
        let named = events.into_iter().map(|(event, groups)| {
            let name = EVENTS.get(event).copied().unwrap_or_default();
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

/// Writes a value in one of the ways people and programs write JSON.
fn written(value: &Value, way: u8) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap();
    match way {
        0 => value.to_string(),
        1 => pretty,
        2 => format!("{pretty}\n"),
        3 => format!("\n{}\n\n", pretty.replace("  ", "\t")),
        4 => format!("{}\r\n", pretty.replace('\n', "\r\n")),
        _ => format!("{} ", pretty.replace("\n", " ")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merged_and_removed_is_as_it_was(value in settings(), way in 0_u8..6) {
        let before = written(&value, way);
        let project = Project::with(&before);
        project.install();
        let merged: Value = serde_json::from_str(&text(&project.settings()).unwrap()).unwrap();
        for event in EVENTS {
            let state = HookState::of(&merged, event, &project.site());
            prop_assert!(matches!(state, HookState::Complete(_)), "{} in {}", event, merged);
        }
        prop_assert_eq!(project.plan(false), []);
        project.remove();
        prop_assert_eq!(text(&project.settings()), Some(before));
    }
}
