//! The cases, by client.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use interlock_clients::{ClientId, install::Scope};

use crate::install::place::{Project, read_all, write_all};

/// A directory with the files before, after, and after removal.
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
            // Only the parts of the plugin that differ between the cases.
            let is_plugin = path.ends_with("plugins/interlock.ts") && text.contains("spawn");
            if is_plugin || path.ends_with("interlock/hooks/register.js") {
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

/// In a case with `left`, hooks of ours existed before.
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
    // It cannot be known whether an empty file or a single number was there.
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
