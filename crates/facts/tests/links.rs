//! Paths on a real disk with links.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use interlock_core::{
    call::{CallFacts, PathArea},
    names::CallId,
};
use interlock_facts::{CallContext, Disk as _, DiskError, Proposal, RealDisk, Shape, facts};
use interlock_shell::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

const WRITE: Shape = Shape::Write {
    path: "file_path",
    content: "content",
};
const SHELL: Shape = Shape::Shell {
    dialect: Dialect::Bash,
    line: "command",
    directory: None,
    environment: None,
};

/// Returns a project with links in every direction.
fn project() -> TempDir {
    let room = tempfile::tempdir().unwrap();
    let at = |path: &str| room.path().join(path);
    fs::create_dir_all(at("p/src/deep")).unwrap();
    fs::create_dir_all(at("p/.claude")).unwrap();
    fs::create_dir_all(at("outside/inner")).unwrap();
    fs::write(at("p/src/a.rs"), "1\n2\n").unwrap();
    fs::write(at("p/.claude/settings.json"), "{}").unwrap();
    symlink("src/a.rs", at("p/link.rs")).unwrap();
    symlink("src", at("p/dir")).unwrap();
    symlink(at("outside/inner"), at("p/away")).unwrap();
    symlink("nowhere/x", at("p/dangling")).unwrap();
    symlink("loop2", at("p/loop1")).unwrap();
    symlink("loop1", at("p/loop2")).unwrap();
    symlink(".claude", at("p/settings")).unwrap();
    symlink("src/deep/../../.claude/settings.json", at("p/winding")).unwrap();
    fs::hard_link(at("p/.claude/settings.json"), at("p/hard.json")).unwrap();
    room
}

fn found(room: &TempDir, shape: Shape, input: &Value) -> CallFacts {
    let root = room.path().join("p").to_str().unwrap().to_owned();
    let context = CallContext::of_project(root).resolved(&RealDisk);
    let proposal = Proposal {
        id: CallId::from("1"),
        tool: "T",
        common: None,
        shape,
        input,
        doubled: None,
        agent: None,
        branch: None,
    };
    facts(proposal, &context, &RealDisk).facts
}

fn written(room: &TempDir, path: &str) -> CallFacts {
    found(
        room,
        WRITE,
        &json!({"file_path": path, "content": "1\n2\n3\n"}),
    )
}

fn in_line(room: &TempDir, line: &str) -> CallFacts {
    found(room, SHELL, &json!({ "command": line }))
}

fn relative(facts: &CallFacts) -> Vec<Option<&str>> {
    facts
        .writes
        .iter()
        .map(|write| write.relative.as_deref())
        .collect()
}

#[test]
fn a_link_is_the_file_it_leads_to() {
    let room = project();
    for path in [
        "src/a.rs",
        "link.rs",
        "dir/a.rs",
        "./dir//a.rs",
        "src/deep/../a.rs",
    ] {
        let facts = written(&room, path);
        assert_eq!(relative(&facts), [Some("src/a.rs")], "{path}");
        assert_eq!(facts.edit_lines, Some(1), "{path}");
    }
    assert_eq!(relative(&written(&room, "dangling")), [Some("nowhere/x")]);
    assert_eq!(relative(&written(&room, "away/x")), [None]);
}

#[test]
fn protected_files_are_found_behind_links() {
    let room = project();
    for path in [
        "settings/settings.json",
        "winding",
        "settings",
        "hard.json",
        "settings/new.json",
    ] {
        assert!(written(&room, path).protected.is_some(), "{path}");
    }
    let lines = [
        "echo x > settings/settings.json",
        "rm winding",
        "echo x > hard.json",
        "cp a settings",
        "rm -rf settings/",
        "cd settings && rm settings.json",
    ];
    for line in lines {
        assert!(in_line(&room, line).protected.is_some(), "{line}");
    }
    assert_eq!(written(&room, "link.rs").protected, None);
    assert_eq!(in_line(&room, "echo x > link.rs").protected, None);
}

#[test]
fn a_path_that_two_programs_read_in_two_ways_is_refused() {
    let room = project();
    assert!(written(&room, "away/../a.rs").malformed.is_some());
    assert!(written(&room, "loop1").malformed.is_some());
    assert!(written(&room, "/proc/self/cwd/a.rs").malformed.is_some());
    assert_eq!(written(&room, "src/../a.rs").malformed, None);
    // The shell follows the link, and so leaves the project.
    let facts = in_line(&room, "touch away/../a.rs");
    assert!(relative(&facts).contains(&None), "{:?}", facts.writes);
}

#[test]
fn what_a_line_writes_where_no_path_leads_may_be_anywhere() {
    let room = project();
    for (line, removes) in [
        ("echo x > loop1", false),
        ("touch loop1", false),
        ("touch loop1/a", false),
        ("cp src/a.rs loop2/a", false),
        ("rm loop1/a", true),
        ("rm -rf loop1/a", true),
    ] {
        let facts = in_line(&room, line);
        let mut writes = facts.writes.iter();
        let anywhere = writes.any(|write| {
            write.place == PathArea::Outside && write.path.is_none() && write.removes == removes
        });
        assert!(anywhere, "{line}: {:?}", facts.writes);
    }
}

#[test]
fn each_way_to_change_a_file_goes_through_links_as_the_shell_does() {
    let room = project();
    fs::write(room.path().join("outside/a.rs"), "1\n").unwrap();
    for line in [
        "touch {f}",
        "echo x > {f}",
        "echo x >> {f}",
        "tee {f}",
        "cp src/a.rs {f}",
        "mv src/a.rs {f}",
        "rm {f}",
        "rm -f {f}",
        "mv {f} b",
        "truncate -s 0 {f}",
        "sed -i s/1/2/ {f}",
        "chmod 600 {f}",
    ] {
        let through = in_line(&room, &line.replace("{f}", "away/../a.rs"));
        assert!(
            relative(&through).contains(&None),
            "{line}: {:?}",
            through.writes
        );
        let plain = in_line(&room, &line.replace("{f}", "src/../a.rs"));
        assert!(
            !relative(&plain).contains(&None),
            "{line}: {:?}",
            plain.writes
        );
    }
}

#[test]
fn what_changes_a_directory_as_a_whole_changes_the_files_in_it() {
    let room = project();
    for line in [
        "rm -r src",
        "chmod -R 600 src",
        "chown -R you src",
        "chgrp -R you src",
        "mv src elsewhere",
        "git checkout src",
        "git restore src",
    ] {
        let facts = in_line(&room, line);
        assert!(
            relative(&facts).contains(&Some("src/a.rs")),
            "{line}: {:?}",
            facts.writes
        );
    }
    // The directory itself is not a file in it.
    let facts = in_line(&room, "chmod 700 src");
    assert_eq!(relative(&facts), [Some("src")]);
}

#[test]
fn a_path_is_where_the_nearest_known_directory_says() {
    use interlock_core::call::PathArea::{Outside, Project, Scratch, Whole};
    use interlock_facts::{GivenDisk, locate};
    let around = |project: &str, temporary: &str| CallContext {
        home: Some("/home/u".to_owned()),
        temporary: Some(temporary.to_owned()),
        caches: vec!["/home/u/.cache".to_owned(), "/var/tmp".to_owned()],
        writable: vec!["/srv/data".to_owned(), format!("{project}/out")],
        ..CallContext::of_project(project.to_owned())
    };
    let usual = around("/home/u/work/p", "/tmp");
    let in_scratch = around("/tmp/w/p", "/tmp");
    let around_scratch = around("/home/u/work/p", "/home/u/work/p/tmp");
    let in_cache = around("/home/u/.cache/w/p", "/tmp");
    for (place, path, wanted) in [
        (&usual, "/home/u/work/p/a", Project),
        (&usual, "/home/u/work/p/a/b", Project),
        (&usual, "/home/u/work/p/out/a", Scratch),
        (&usual, "/home/u/work/p2/a", Outside),
        (&usual, "/home/u/work/q", Outside),
        (&usual, "/home/u/a", Outside),
        (&usual, "/home/u/.cache/a", Scratch),
        (&usual, "/tmp/a", Scratch),
        (&usual, "/var/tmp/a", Scratch),
        (&usual, "/srv/data/a", Scratch),
        (&usual, "/srv/a", Outside),
        (&usual, "/etc/a", Outside),
        (&usual, "/home/u/work/p", Whole),
        (&usual, "/home/u/work", Whole),
        (&usual, "/home/u", Whole),
        (&usual, "/", Whole),
        (&in_scratch, "/tmp/w/p/a", Project),
        (&in_scratch, "/tmp/w/p/out/a", Scratch),
        (&in_scratch, "/tmp/w/a", Outside),
        (&in_scratch, "/tmp/a", Scratch),
        (&around_scratch, "/home/u/work/p/tmp/a", Scratch),
        (&around_scratch, "/home/u/work/p/a", Project),
        (&in_cache, "/home/u/.cache/w/p/a", Project),
        (&in_cache, "/home/u/.cache/w/a", Outside),
        (&in_cache, "/home/u/.cache/a", Scratch),
        (&in_cache, "/home/u/a", Outside),
    ] {
        let found = locate(path, place, &GivenDisk::empty()).unwrap();
        assert_eq!(found.place, wanted, "{path} of {}", place.project_root);
    }
}

#[test]
fn removing_a_link_removes_the_link() {
    let room = project();
    assert_eq!(relative(&in_line(&room, "rm link.rs")), [Some("link.rs")]);
    assert_eq!(relative(&in_line(&room, "rm -rf away")), [Some("away")]);
}

#[test]
fn what_is_no_regular_file_is_not_read() {
    let room = project();
    let path = room.path().join("p/src");
    let path = path.to_str().unwrap();
    assert_eq!(RealDisk.read(path, 10), Err(DiskError::NotAFile));
    assert_eq!(RealDisk.read("/dev/zero", 10), Err(DiskError::NotAFile));
    let file = format!("{path}/a.rs");
    assert_eq!(RealDisk.read(&file, 3), Err(DiskError::TooLarge(4)));
    assert_eq!(RealDisk.read(&file, 4), Ok(Some(b"1\n2\n".to_vec())));
    assert_eq!(RealDisk.read(&format!("{file}/x"), 4), Ok(None));
}

/// Returns the standard library's result: the longest existing part resolved, then the rest.
fn reference(path: &Path) -> Option<PathBuf> {
    let mut rest = Vec::new();
    let mut known = path.to_owned();
    loop {
        match known.canonicalize() {
            Ok(real) => {
                return Some(rest.iter().rev().fold(real, |path, name| path.join(name)));
            }
            // A dangling link does not count as a missing part.
            Err(_) if known.is_symlink() => return None,
            Err(_) => {
                rest.push(known.file_name()?.to_owned());
                known.pop();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn agrees_with_the_standard_library(
        parts in proptest::collection::vec("src|deep|dir|away|inner|link\\.rs|a\\.rs|settings|new|\\.claude", 1..6)
    ) {
        let room = project();
        let path = room.path().join("p").join(parts.join("/"));
        if let Some(expected) = reference(&path) {
            let real = RealDisk.real(path.to_str().unwrap()).unwrap();
            prop_assert_eq!(PathBuf::from(real), expected);
        }
    }
}

#[test]
fn every_name_of_a_file_counts_as_written() {
    let room = project();
    let at = |path: &str| room.path().join(path);
    fs::create_dir_all(at("p/db")).unwrap();
    fs::hard_link(at("p/src/a.rs"), at("p/db/a.rs")).unwrap();
    let written = |facts: CallFacts| -> Vec<String> {
        let relative = facts.writes.into_iter().filter_map(|write| write.relative);
        let mut relative: Vec<String> = relative.collect();
        relative.sort();
        relative
    };
    let line = json!({"command": "echo x > db/a.rs"});
    assert_eq!(written(found(&room, SHELL, &line)), ["db/a.rs", "src/a.rs"]);
    let file = json!({"file_path": "src/a.rs", "content": "x"});
    assert_eq!(written(found(&room, WRITE, &file)), ["db/a.rs", "src/a.rs"]);
    // A new file has one name.
    let file = json!({"file_path": "src/b.rs", "content": "x"});
    assert_eq!(written(found(&room, WRITE, &file)), ["src/b.rs"]);
}

#[test]
fn what_is_written_through_a_link_of_the_same_line_lies_where_the_link_leads() {
    let room = project();
    for (line, wanted) in [
        (
            "ln -s ../outside/inner made; echo 1 > made/x",
            PathArea::Outside,
        ),
        (
            "ln -s ../outside made && cp src/a.rs made/inner/x",
            PathArea::Outside,
        ),
        ("ln -s src made; echo 1 > made/x", PathArea::Project),
        ("mkdir d; ln -s src d; echo 1 > d/src/x", PathArea::Project),
    ] {
        let facts = found(&room, SHELL, &json!({ "command": line }));
        let last = facts.writes.last().unwrap();
        assert_eq!(last.place, wanted, "{line}: {:?}", facts.writes);
    }
}
