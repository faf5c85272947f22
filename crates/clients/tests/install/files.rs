//! Files that are unreadable, links, or changed concurrently.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Command,
};

use interlock_clients::install::{InstallError, Scope, apply, diff};

use crate::install::place::{Project, text};

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
fn what_changed_since_planning_is_not_overwritten() {
    let project = Project::with("{}\n");
    let planned = project.ask(false).unwrap();
    fs::write(project.servers(), "{\"mcpServers\":{}}").unwrap();
    let refused = apply(&planned).unwrap_err();
    assert!(matches!(refused, InstallError::Changed { .. }), "{refused}");
    // Nothing was written, not even the file that had not changed.
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
    // Only planned, because a failure would remove the machine's own device.
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
    let [settings, servers, ..] = shown.as_slice() else {
        panic!("settings and servers change");
    };
    assert!(
        settings.contains("-  \"model\": \"opus\"\n+  \"model\": \"opus\",\n"),
        "{settings}"
    );
    assert!(servers.starts_with("--- /dev/null\n"), "{servers}");
}
