//! Protected things compared with their baseline: what is reported, what is not, and what is read again.

#![cfg(unix)]

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
};

use interlock_core::event::ProtectedFate;
use interlock_facts::{
    Baseline, CallContext, Comparison, Disk, DiskError, Quiet, RealDisk, Seen, Stamp,
};

/// A time long after every file of a test was written.
const LATER_MS: u64 = 9_000_000_000_000;

struct Room {
    directory: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        let room = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        room.write(
            "p/.claude/settings.json",
            "{\"permissions\": {\"allow\": []}}",
        );
        room.write("p/.claude/agents/a.md", "a");
        room.write("p/.claude/plans/a.md", "a");
        room.write("p/.git/config", "[core]\n\tbare = false\n");
        room.write("p/.git/hooks/pre-push.sample", "x");
        room.write("p/.interlock/config.toml", "");
        room.write("home/.claude.json", "{\"numStartups\": 1}");
        room.write("home/.bashrc", "a");
        room
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn context(&self) -> CallContext {
        let text = |below: &str| self.path(below).to_str().unwrap().to_owned();
        CallContext {
            home: Some(text("home")),
            config_directory: Some(text("home/.config/interlock")),
            state_directory: Some(text("home/.local/state/interlock")),
            ..CallContext::of_project(text("p"))
        }
        .resolved(&RealDisk)
    }

    fn take(&self) -> Baseline {
        Baseline::take(&self.context(), &RealDisk, LATER_MS)
    }

    /// Compares unchanged files, and keeps the proof of that.
    fn quiet(&self, baseline: &Baseline) -> Quiet {
        let (found, quiet) = self.compare_again(baseline);
        assert!(found.changes.is_empty() && found.renewed.is_none());
        quiet.unwrap()
    }

    fn compare_again(&self, baseline: &Baseline) -> (Comparison, Option<Quiet>) {
        baseline.compare_again(&self.context(), &BTreeMap::new(), &RealDisk, LATER_MS)
    }

    /// Lists the changes, each with its path below the room and its kind.
    fn changed(&self, baseline: &Baseline) -> Vec<(String, ProtectedFate)> {
        let found = baseline.compare(&self.context(), &BTreeMap::new(), &RealDisk, LATER_MS);
        let root = fs::canonicalize(self.directory.path()).unwrap();
        let below = |path: &str| {
            let below = path.strip_prefix(root.to_str().unwrap());
            below.unwrap_or(path).trim_start_matches('/').to_owned()
        };
        let changes = found.changes.iter();
        changes
            .map(|change| (below(&change.path), change.fate))
            .collect()
    }
}

/// Applies a change to a room and checks the report: `+` new, `*` changed, `-` removed.
fn check(deed: impl FnOnce(&Room), expected: &[&str]) {
    let room = Room::new();
    let baseline = room.take();
    let quiet = room.quiet(&baseline);
    deed(&room);
    // The quick check of a later call never hides what a full comparison finds.
    let holds = quiet.holds(&room.context().places_key(), &BTreeMap::new(), &RealDisk);
    assert!(expected.is_empty() || !holds, "the change does not show");
    let found: Vec<String> = room
        .changed(&baseline)
        .into_iter()
        .map(|(path, fate)| match fate {
            ProtectedFate::Appeared => format!("+{path}"),
            ProtectedFate::Changed => format!("*{path}"),
            ProtectedFate::Vanished => format!("-{path}"),
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn nothing_changed_is_nothing_reported() {
    check(|_| {}, &[]);
}

#[test]
fn what_runs_later_is_reported_however_it_came() {
    check(|room| room.write("p/.envrc", "x"), &["+p/.envrc"]);
    check(|room| room.write("home/.zshenv", "x"), &["+home/.zshenv"]);
    check(|room| room.write("home/.bashrc", "b"), &["*home/.bashrc"]);
    check(
        |room| fs::remove_file(room.path("home/.bashrc")).unwrap(),
        &["-home/.bashrc"],
    );
    check(
        |room| room.write("p/.git/hooks/pre-commit", "x"),
        &["+p/.git/hooks/pre-commit"],
    );
    check(
        |room| room.write("p/.claude/commands/deep/x.md", "x"),
        &["+p/.claude/commands/deep/x.md"],
    );
    check(
        |room| room.write("home/.claude/skills/s/SKILL.md", "x"),
        &["+home/.claude/skills/s/SKILL.md"],
    );
    check(
        |room| room.write("home/.config/interlock/config.toml", "x"),
        &["+home/.config/interlock/config.toml"],
    );
    check(
        |room| symlink("/etc/hostname", room.path("p/.mcp.json")).unwrap(),
        &["+p/.mcp.json"],
    );
    check(
        |room| {
            fs::rename(room.path("p/.claude"), room.path("p/old")).unwrap();
        },
        &["-p/.claude/agents/a.md"],
    );
    check(
        |room| {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(room.path("home/.bashrc"), mode).unwrap();
        },
        &["*home/.bashrc"],
    );
}

#[test]
fn of_settings_only_what_decides_what_runs_counts() {
    let settings = "p/.claude/settings.json";
    check(
        |room| {
            room.write(
                settings,
                "{\"permissions\": {\"allow\": [\"Read\"]}, \"theme\": 1}",
            )
        },
        &[],
    );
    check(
        |room| room.write(settings, "{\"hooks\": {\"Stop\": [1]}}"),
        &["*p/.claude/settings.json"],
    );
    check(
        |room| {
            room.write(
                "p/.claude/settings.local.json",
                "{\"permissions\": {\"allow\": []}}",
            )
        },
        &[],
    );
    check(
        |room| {
            room.write(
                "p/.claude/settings.local.json",
                "{\"disableAllHooks\": true}",
            )
        },
        &["+p/.claude/settings.local.json"],
    );
    check(
        |room| room.write("home/.claude.json", "{\"numStartups\": 2, \"tips\": {}}"),
        &[],
    );
    check(
        |room| {
            let servers =
                "{\"projects\": {\"/p\": {\"mcpServers\": {\"x\": {\"command\": \"y\"}}}}}";
            room.write("home/.claude.json", servers);
        },
        &["*home/.claude.json"],
    );
    check(
        |room| room.write(settings, "no settings"),
        &["*p/.claude/settings.json"],
    );
}

#[test]
fn work_with_version_control_and_notes_is_none_of_it() {
    check(
        |room| {
            let config =
                "[core]\n\tbare = false\n[user]\n\tname = x\n[branch \"a.b\"]\n\tremote = o\n";
            room.write("p/.git/config", config);
            room.write("p/.git/index", "x");
            room.write("p/.git/hooks/post-rewrite.sample", "x");
            room.write("p/.claude/plans/b.md", "x");
            room.write("home/.claude/projects/x/1.jsonl", "x");
            room.write("p/src/.envrc", "x");
        },
        &[],
    );
    check(
        |room| room.write("p/.git/config", "[core]\n\tbare = false\n\thooksPath = h\n"),
        &["*p/.git/config"],
    );
}

#[test]
fn what_a_client_unpacks_itself_is_no_change() {
    check(
        |room| {
            room.write("home/.codex/skills/.system/creator/SKILL.md", "x");
            room.write("home/.codex/skills/own/SKILL.md", "x");
        },
        &["+home/.codex/skills/own/SKILL.md"],
    );
}

#[test]
fn a_repository_that_begins_is_no_change() {
    let room = Room::new();
    fs::remove_dir_all(room.path("p/.git")).unwrap();
    let baseline = room.take();
    room.write(
        "p/.git/config",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n",
    );
    room.write("p/.git/info/exclude", "# git ls-files --others\n");
    room.write("p/.git/hooks/pre-push.sample", "x");
    assert_eq!(room.changed(&baseline), []);
    room.write("p/.git/info/attributes", "* filter=x\n");
    assert_eq!(room.changed(&baseline).len(), 1);
}

#[test]
fn what_a_person_accepted_is_no_change_and_anything_else_is() {
    let room = Room::new();
    let baseline = room.take();
    room.write("p/.envrc", "one");
    let compare = |accepted: &BTreeMap<String, Option<String>>| {
        baseline
            .compare(&room.context(), accepted, &RealDisk, LATER_MS)
            .changes
    };
    let changes = compare(&BTreeMap::new());
    let accepted: BTreeMap<String, Option<String>> = changes
        .into_iter()
        .map(|change| (change.path, change.digest))
        .collect();
    assert_eq!(compare(&accepted), []);
    room.write("p/.envrc", "two");
    assert_eq!(compare(&accepted).len(), 1);
    // If restored to its state at the beginning of the run, it needs no acceptance.
    fs::remove_file(room.path("p/.envrc")).unwrap();
    assert_eq!(compare(&accepted), []);
}

#[test]
fn a_renewed_baseline_says_the_same_and_still_finds_changes() {
    let room = Room::new();
    let baseline = room.take();
    room.write("p/.git/config", "[user]\n\tname = x\n");
    room.write("p/new", "x");
    let compare = |baseline: &Baseline| {
        baseline.compare(&room.context(), &BTreeMap::new(), &RealDisk, LATER_MS)
    };
    let renewed = compare(&baseline).renewed.unwrap();
    assert_eq!(compare(&renewed).renewed, None);
    let text = serde_json::to_string(&renewed).unwrap();
    assert_eq!(serde_json::from_str::<Baseline>(&text).unwrap(), renewed);
    room.write("p/.git/config", "[alias]\n\tst = !id\n");
    room.write("p/.mcp.json", "{}");
    assert_eq!(compare(&renewed).changes.len(), 2);
    // It is found again until somebody accepts it.
    let again = compare(&renewed).renewed.unwrap_or(renewed);
    assert_eq!(compare(&again).changes.len(), 2);
}

#[test]
fn what_nobody_has_touched_is_seen_from_stamps_alone() {
    let room = Room::new();
    let quiet = room.quiet(&room.take());
    let accepted = BTreeMap::new();
    assert!(quiet.holds(&room.context().places_key(), &accepted, &RealDisk));
    // A full comparison must judge what a person accepts, and any additional place.
    let more = BTreeMap::from([("/x".to_owned(), None)]);
    assert!(!quiet.holds(&room.context().places_key(), &more, &RealDisk));
    let elsewhere = CallContext {
        home: None,
        ..room.context()
    };
    assert!(!quiet.holds(&elsewhere.places_key(), &accepted, &RealDisk));
}

#[test]
fn what_comes_into_a_directory_that_has_just_changed_shows_too() {
    let room = Room::new();
    let baseline = room.take();
    // As recent as in a real call: a directory may change again within the same clock tick.
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    let at_ms = u64::try_from(now.as_millis()).unwrap();
    let accepted = BTreeMap::new();
    for file in ["home/.zshenv", "p/.envrc", "home/.config/fish/config.fish"] {
        let (_, quiet) = baseline.compare_again(&room.context(), &accepted, &RealDisk, at_ms);
        room.write(file, "x");
        let holds = |quiet: &Quiet| quiet.holds(&room.context().places_key(), &accepted, &RealDisk);
        assert!(!quiet.is_some_and(|quiet| holds(&quiet)), "{file}");
        fs::remove_file(room.path(file)).unwrap();
    }
}

#[test]
fn what_had_to_be_read_or_has_changed_is_compared_as_a_whole_again() {
    let room = Room::new();
    let baseline = room.take();
    room.write("home/.bashrc", "b");
    let compare = || room.compare_again(&baseline);
    assert_eq!(compare().1, None);
    // The same text in another file: read once, and then its stamp is sufficient.
    room.write("home/.bashrc", "a");
    let (found, quiet) = compare();
    assert_eq!((found.changes.len(), quiet), (0, None));
    room.quiet(&found.renewed.unwrap());
}

#[test]
fn a_stamp_as_young_as_the_look_itself_proves_nothing() {
    let room = Room::new();
    let early = Baseline::take(&room.context(), &RealDisk, 0);
    let text = serde_json::to_string(&early).unwrap();
    assert!(!text.contains("numbers"), "{text}");
    assert_eq!(room.changed(&early), []);
}

/// A disk on which one file is written during its first look, without a change of its stamp.
struct Restless {
    path: String,
    reads: Cell<u32>,
    stamp: Option<Stamp>,
}

impl Disk for Restless {
    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, DiskError> {
        if path == self.path {
            self.reads.set(self.reads.get() + 1);
        }
        RealDisk.read(path, bytes_max)
    }

    fn real(&self, path: &str) -> Result<String, DiskError> {
        RealDisk.real(path)
    }

    fn look(&self, path: &str) -> Option<Seen> {
        RealDisk.look(path)
    }

    fn stamp(&self, path: &str) -> Option<Stamp> {
        if path != self.path {
            return RealDisk.stamp(path);
        }
        let mut stamp = self.stamp.clone()?;
        if self.reads.get() == 1 {
            self.reads.set(2);
            stamp.numbers[2] += 1;
        }
        Some(stamp)
    }

    fn names(&self, directory: &str, max: usize) -> Vec<String> {
        RealDisk.names(directory, max)
    }
}

#[test]
fn what_comes_into_a_directory_that_was_and_is_too_young_shows() {
    let room = Room::new();
    let (context, nothing) = (room.context(), BTreeMap::new());
    // By this clock, every stamp is later than the look.
    let baseline = Baseline::take(&context, &RealDisk, 1);
    let unchanged = baseline.compare(&context, &nothing, &RealDisk, 1);
    assert_eq!(unchanged.changes, []);
    // One where there was nothing, and one in a directory whose names are known.
    room.write("p/.envrc", "x");
    room.write("p/.git/hooks/pre-commit", "x");
    let found = baseline.compare(&context, &nothing, &RealDisk, 1);
    let ends = ["p/.envrc", "p/.git/hooks/pre-commit"];
    assert_eq!(found.changes.len(), ends.len(), "{:?}", found.changes);
    for (change, end) in found.changes.iter().zip(ends) {
        assert!(change.path.ends_with(end), "{}", change.path);
        assert_eq!(change.fate, ProtectedFate::Appeared);
    }
}

#[test]
fn a_file_that_was_written_while_it_was_read_is_read_again() {
    let room = Room::new();
    let context = room.context();
    let agent = fs::canonicalize(room.path("p/.claude/agents/a.md")).unwrap();
    let path = agent.to_str().unwrap().to_owned();
    let disk = Restless {
        stamp: RealDisk.stamp(&path),
        path,
        reads: Cell::new(0),
    };
    let baseline = Baseline::take(&context, &disk, LATER_MS);
    disk.reads.set(2);
    room.write("p/.claude/agents/a.md", "b");
    let found = baseline.compare(&context, &BTreeMap::new(), &disk, LATER_MS);
    let changed: Vec<&str> = found.changes.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(changed, [disk.path.as_str()]);
}
