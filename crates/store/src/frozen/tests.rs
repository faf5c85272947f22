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
