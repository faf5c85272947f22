//! The places of the calls: a usual one, and one with all optional settings.

use std::fs;

use interlock_confine::Decided;
use interlock_facts::{CallContext, CallSite, GivenDisk};
use interlock_shell::Dialect;

/// Returns the files that exist in both places.
pub(crate) fn disk() -> GivenDisk {
    GivenDisk::empty()
        .with("/project", "src/main.rs", "fn main() {}\nx\n")
        .with("/project", "src/a.py", "x\nkeep\nx\n")
        .with("/project", "f.txt", "one\ntwo\n")
        .with("/project", "docs/spec.md", "# x\n")
        .with("/project", ".env", "KEY=1\n")
        .with("/project", "Makefile", "test:\n\ttrue\n")
        .with("/project", ".claude/settings.json", "{}\n")
        .with("/project", ".git/config", "[core]\n")
        .with("/home/you", ".ssh/id_ed25519", "key\n")
        .with("/home/you", ".bashrc", "\n")
}

/// Returns the usual place of a session, at the root of a project.
pub(crate) fn plain() -> CallContext {
    CallContext {
        home: Some("/home/you".to_owned()),
        temporary: Some("/tmp".to_owned()),
        caches: vec!["/home/you/.cache".to_owned()],
        state_directory: Some("/home/you/.local/state/interlock".to_owned()),
        config_directory: Some("/home/you/.config/interlock".to_owned()),
        environment_held: true,
        kernel_holds: true,
        ..CallContext::of_project("/project")
    }
}

/// Returns a place below the project's root, with everything that a person may set.
pub(crate) fn other() -> CallContext {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    CallContext {
        site: CallSite {
            cwd: "/project/src".to_owned(),
            shell: Dialect::Zsh,
            pid: Some(4_242),
        },
        user: Some("you".to_owned()),
        writable: texts(&["/opt/data"]),
        temporary: Some("/var/tmp/you".to_owned()),
        programs: texts(&["/usr/local/bin/interlock"]),
        search_path: texts(&["/usr/local/bin", "/usr/bin", "/bin"]),
        allowed_by_person: texts(&["sudo systemctl restart db", "docker *", "brew *"]),
        transparent: texts(&["myrun", "chronic"]),
        variables: texts(&["HOME", "API_KEY", "PROD_DB_URL", "SRC"]),
        moved: vec![(".claude".to_owned(), "/home/you/moved-claude".to_owned())],
        opened: texts(&["~/.bashrc"]),
        consoles: vec![4_173],
        environment_held: false,
        kernel_holds: false,
        ..plain()
    }
}

/// Returns the decisions of a person and a project about the second place.
pub(crate) fn decided() -> Decided {
    let room = tempfile::tempdir().unwrap();
    let own = room.path().join("config.toml");
    let text = "[sandbox]\nwritable = [\"/opt/data\"]\nsockets = [\"/run/db.sock\"]\nrequire = \"partial\"\n";
    fs::write(&own, text).unwrap();
    let project = room.path().join("project/.interlock");
    fs::create_dir_all(&project).unwrap();
    fs::write(
        project.join("config.toml"),
        "[sandbox]\nrequire = \"files\"\n",
    )
    .unwrap();
    Decided::read(&room.path().join("project"), Some(room.path())).unwrap()
}
