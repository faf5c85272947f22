#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn what_a_frozen_link_leads_to_is_frozen_with_it() {
    let room = tempfile::tempdir().unwrap();
    let project = room.path().join("project");
    fs::create_dir_all(project.join("tests")).unwrap();
    let target = room.path().join("shared.txt");
    fs::write(&target, "before").unwrap();
    symlink(&target, project.join("tests/link.txt")).unwrap();
    let look = |known: &Frozen| {
        let patterns = BTreeSet::from(["tests/**".to_owned()]);
        Frozen::look(&project, patterns, known)
    };
    let changed = |kept: &Frozen| {
        let changes = look(kept).differences(kept);
        let files = changes.into_iter().map(|change| change.files.count);
        files.sum::<u64>()
    };
    let kept = look(&Frozen::default());
    assert_eq!(changed(&kept), 0);
    fs::write(&target, "after").unwrap();
    assert_eq!(changed(&kept), 1, "the text of its target");
    fs::remove_file(&target).unwrap();
    assert_eq!(changed(&kept), 1, "its target is gone");
    fs::write(&target, "before").unwrap();
    assert_eq!(changed(&kept), 0, "it is as it was");
    let other = room.path().join("other.txt");
    fs::write(&other, "before").unwrap();
    fs::remove_file(project.join("tests/link.txt")).unwrap();
    symlink(&other, project.join("tests/link.txt")).unwrap();
    assert_eq!(changed(&kept), 1, "it leads elsewhere");
}

#[test]
fn what_builds_fill_is_frozen_where_a_pattern_names_it_and_nowhere_else() {
    let room = tempfile::tempdir().unwrap();
    let project = room.path();
    for name in FILLED {
        let directory = project.join("a").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("x.txt"), "before").unwrap();
        let changed = |pattern: &str| {
            let patterns = BTreeSet::from([pattern.to_owned()]);
            let look = |known: &Frozen| Frozen::look(project, patterns.clone(), known);
            fs::write(directory.join("x.txt"), "before").unwrap();
            let kept = look(&Frozen::default());
            fs::write(directory.join("x.txt"), "after it").unwrap();
            let changes = look(&kept).differences(&kept);
            !changes.is_empty()
        };
        for pattern in [
            format!("a/{name}/x.txt"),
            format!("a/{name}/**"),
            format!("**/{name}/*.txt"),
        ] {
            assert!(changed(&pattern), "{pattern}");
        }
        for pattern in ["**", "a/**", "a/*/x.txt"] {
            assert!(!changed(pattern), "{pattern}: {name}");
        }
    }
}

#[test]
fn a_link_into_itself_is_not_followed_and_one_to_another_directory_is() {
    let room = tempfile::tempdir().unwrap();
    let project = room.path().join("project");
    fs::create_dir_all(project.join("tests/inner")).unwrap();
    fs::create_dir_all(room.path().join("shared")).unwrap();
    let (own, shared) = (
        project.join("tests/a.txt"),
        room.path().join("shared/b.txt"),
    );
    fs::write(&own, "before").unwrap();
    fs::write(&shared, "before").unwrap();
    symlink("..", project.join("tests/inner/up")).unwrap();
    symlink(room.path().join("shared"), project.join("tests/shared")).unwrap();
    symlink("nowhere", project.join("tests/dangling")).unwrap();
    let look = |known: &Frozen| {
        let patterns = BTreeSet::from(["tests/**".to_owned()]);
        Frozen::look(&project, patterns, known)
    };
    let kept = look(&Frozen::default());
    let changed = || look(&kept).differences(&kept);
    assert_eq!(changed(), []);
    fs::write(&own, "after").unwrap();
    let [change] = changed().try_into().unwrap();
    assert_eq!((change.files.count, change.problem), (1, None));
    fs::write(&shared, "after").unwrap();
    let [change] = changed().try_into().unwrap();
    assert_eq!((change.files.count, change.problem), (2, None));
}

#[test]
fn what_cannot_be_compared_counts_as_changed() {
    let room = tempfile::tempdir().unwrap();
    let project = room.path().join("project");
    fs::create_dir_all(project.join("tests")).unwrap();
    fs::write(project.join("tests/a.txt"), "before").unwrap();
    let guard = |pattern: &str| {
        serde_json::json!({"evidence": {
            "of": {"command": {"text": "make", "words": ["make"], "exit": 0}},
            "frozen": [pattern],
        }})
    };
    let machine = |patterns: &[&str]| -> Machine {
        let guards: serde_json::Map<_, _> = patterns
            .iter()
            .enumerate()
            .map(|(at, pattern)| (format!("g{at}"), guard(pattern)))
            .collect();
        let used: Vec<_> = guards
            .keys()
            .map(|name| serde_json::json!({"named": name}))
            .collect();
        serde_json::from_value(serde_json::json!({
            "id": "m", "initial": "a", "guards": guards,
            "states": {
                "a": {"on": {"DONE": {"transitions": [{"target": {"state": "b"}, "guards": used}]}}},
                "b": {"activity": {"final": {"outcome": "success"}}},
            },
        }))
        .unwrap()
    };
    let one = machine(&["tests/**"]);
    let directory = room.path().join("run");
    fs::create_dir(&directory).unwrap();
    let folder = RunFolder::new(
        &directory,
        room.path().join("work"),
        crate::Durability::Process,
    );
    let changes = |machine: &Machine| {
        let changes = folder.frozen_changes(machine).unwrap();
        let told = changes
            .into_iter()
            .map(|change| (change.pattern, change.problem));
        told.collect::<Vec<_>>()
    };
    let all = |problem: FrozenProblem| vec![("tests/**".to_owned(), Some(problem))];
    assert_eq!(folder.frozen_changes(&machine(&[])), None);
    assert_eq!(changes(&one), all(FrozenProblem::NotKept));
    // Nothing was recorded, so that an approval has nothing to renew.
    folder.freeze_again(&one).unwrap();
    assert_eq!(changes(&one), all(FrozenProblem::NotKept));

    keep(&directory, &project, &one).unwrap();
    assert_eq!(changes(&one), []);
    // A pattern of a version to which the run has moved was not looked at.
    let moved_to = machine(&["tests/**", "src/**"]);
    let unknown = ("src/**".to_owned(), Some(FrozenProblem::NotKept));
    assert_eq!(changes(&moved_to), [unknown]);
    folder.freeze_again(&moved_to).unwrap();
    assert_eq!(changes(&moved_to), []);

    let socket = std::os::unix::net::UnixListener::bind(project.join("tests/socket")).unwrap();
    assert_eq!(changes(&one), all(FrozenProblem::Unreadable));
    drop(socket);
    fs::remove_file(project.join("tests/socket")).unwrap();
    assert_eq!(changes(&one), []);
    let named = std::os::unix::ffi::OsStrExt::from_bytes(b"tests/\xff");
    let no_text: &std::ffi::OsStr = named;
    fs::write(project.join(no_text), "x").unwrap();
    assert_eq!(changes(&one), all(FrozenProblem::Unreadable));
    fs::remove_file(project.join(no_text)).unwrap();

    let mut deep = project.join("tests");
    for _ in 0..DEPTH_MAX + 2 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(changes(&one), all(FrozenProblem::TooMany));
    fs::remove_dir_all(project.join("tests/d")).unwrap();
    assert_eq!(changes(&one), []);

    fs::write(directory.join(FILE), "{").unwrap();
    assert_eq!(changes(&one), all(FrozenProblem::Unreadable));
    assert!(folder.freeze_again(&one).is_err());
}
