//! The facts of calls: edit sizes, written paths, and calls that cannot be judged.

use interlock_core::{
    call::{CallFacts, FileWrite, PathArea},
    names::CallId,
};
use interlock_facts::{CallContext, EditFields, GivenDisk, Proposal, Shape, facts};
use interlock_shell::Dialect;
use serde_json::{Value, json};

const EDIT: Shape = Shape::Edit {
    path: "file_path",
    fields: EditFields::SNAKE,
};
const MULTI: Shape = Shape::MultiEdit {
    path: "file_path",
    edits: "edits",
    fields: EditFields::SNAKE,
};
const WRITE: Shape = Shape::Write {
    path: "file_path",
    content: "content",
};
const NOTEBOOK: Shape = Shape::Notebook {
    path: "notebook_path",
};
const PATCH: Shape = Shape::Patch { text: "command" };
const SHELL: Shape = Shape::Shell {
    dialect: Dialect::Bash,
    line: "command",
    directory: Some("directory"),
    environment: None,
};
const SET: Shape = Shape::Shell {
    dialect: Dialect::Bash,
    line: "command",
    directory: None,
    environment: Some("env"),
};

fn disk() -> GivenDisk {
    GivenDisk::empty()
        .with("/p", "a.py", "x\nkeep\nx\nkeep\nx\n")
        .with("/p", "big.rs", "1\n2\n3\n4\n")
        .with("/p", "lib/mod.rs", "")
        .with("/etc", "conf/a", "")
        .with(
            "/p",
            "n.ipynb",
            r#"{"cells": [{"id": "c", "source": "one\ntwo"}]}"#,
        )
}

fn found(shape: Shape, input: &Value) -> CallFacts {
    let context = CallContext {
        home: Some("/home/you".to_owned()),
        temporary: Some("/tmp".to_owned()),
        caches: vec!["/home/you/.cache".to_owned()],
        ..CallContext::of_project("/p")
    };
    found_on(&disk(), &context, shape, input)
}

fn found_on(disk: &GivenDisk, context: &CallContext, shape: Shape, input: &Value) -> CallFacts {
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
    facts(proposal, context, disk).facts
}

#[test]
fn an_operation_has_a_size() {
    let edit = |old: &str, new: &str, all: bool| json!({"file_path": "a.py", "old_string": old, "new_string": new, "replace_all": all});
    let patch = |body: &str| json!({"command": format!("*** Begin Patch\n{body}\n*** End Patch")});
    let rows = [
        (EDIT, edit("x", "y", true), 3),
        (EDIT, edit("x", "y", false), 1),
        (EDIT, edit("x\nkeep\n", "", false), 2),
        (EDIT, edit("keep\n", "1\n2\n3\n", false), 3),
        (
            MULTI,
            json!({"file_path": "a.py", "edits": [
                {"old_string": "x\nkeep", "new_string": "y\nkeep"},
                {"old_string": "y", "new_string": "z\nz"},
                {"old_string": "x", "new_string": "w", "replace_all": true},
            ]}),
            5,
        ),
        (
            WRITE,
            json!({"file_path": "big.rs", "content": "1\n2\nX\n4\n"}),
            1,
        ),
        (WRITE, json!({"file_path": "new.rs", "content": "1\n2"}), 2),
        (
            WRITE,
            json!({"file_path": "./lib/../big.rs", "content": ""}),
            4,
        ),
        (
            NOTEBOOK,
            json!({"notebook_path": "n.ipynb", "cell_id": "c", "new_source": "one\n2\n3"}),
            2,
        ),
        (
            NOTEBOOK,
            json!({"notebook_path": "n.ipynb", "edit_mode": "insert", "new_source": "1\n2\n3\n4"}),
            4,
        ),
        (
            PATCH,
            patch("*** Add File: b.txt\n+1\n+2\n*** Delete File: big.rs"),
            4,
        ),
        (PATCH, patch("*** Update File: a.py\n@@\n-x\n+y\n+y"), 2),
    ];
    for (shape, input, lines) in rows {
        let facts = found(shape, &input);
        assert_eq!(facts.malformed, None, "{input}");
        assert_eq!(facts.edit_lines, Some(lines), "{input}");
    }
}

#[test]
fn huge_edits_are_answered() {
    let content: String = (0..1_000_000).map(|n| format!("{}\n", n % 7_919)).collect();
    let facts = found(WRITE, &json!({"file_path": "big.rs", "content": content}));
    assert!(facts.edit_lines > Some(900_000));
    let line = format!("echo {}", "a ".repeat(5_000_000));
    assert!(
        found(SHELL, &json!({ "command": line }))
            .shell
            .is_some_and(|shell| shell.unreadable.is_some())
    );
}

#[test]
fn what_cannot_be_judged_says_so() {
    let rows = [
        (WRITE, json!("text")),
        (WRITE, json!([1])),
        (WRITE, json!({})),
        (WRITE, json!({"file_path": ""})),
        (WRITE, json!({"file_path": 5, "content": "x"})),
        (WRITE, json!({"file_path": ["a"], "content": "x"})),
        (WRITE, json!({"file_path": "a\u{0}b", "content": "x"})),
        (WRITE, json!({"file_path": "a", "content": {"x": 1}})),
        (
            WRITE,
            json!({"file_path": "file://other/a", "content": "x"}),
        ),
        (EDIT, json!({"file_path": "a", "old_string": 1})),
        (MULTI, json!({"file_path": "a", "edits": "x"})),
        (PATCH, json!({"command": "rm -rf /"})),
        (SHELL, json!({})),
        (SHELL, json!({"command": ["ls"]})),
        (SHELL, json!({"command": {"x": 1}})),
        (SHELL, json!({"command": 5})),
        (SHELL, json!({"command": null})),
        (SHELL, json!({"command": "ls\u{0}"})),
        (SHELL, json!({"command": "ls", "directory": 5})),
        (SET, json!({"command": "ls", "env": "A=1"})),
        (SET, json!({"command": "ls", "env": {"A B": "x"}})),
        (SET, json!({"command": "ls", "env": {"1A": "x"}})),
        (SET, json!({"command": "ls", "env": {"": "x"}})),
        (SET, json!({"command": "ls", "env": {"A": null}})),
        (SET, json!({"command": "ls", "env": {"A": ["x"]}})),
        (SET, json!({"command": "ls", "env": {"A": "x\u{0}y"}})),
        (WRITE, json!({"file_path": "a ", "content": "x"})),
        (WRITE, json!({"file_path": " ", "content": "x"})),
        (
            MULTI,
            json!({"file_path": "a.py", "edits": [{"file_path": "b.py", "old_string": "x", "new_string": "y"}]}),
        ),
        (Shape::Other, json!("x")),
        (Shape::Read { paths: &["path"] }, json!({"path": 5})),
    ];
    for (shape, input) in rows {
        assert!(
            found(shape, &input).malformed.is_some(),
            "{shape:?} {input}"
        );
    }
    assert_eq!(found(Shape::Other, &Value::Null).malformed, None);
}

#[test]
fn a_key_that_stands_twice_makes_a_call_unjudgeable() {
    let proposal = Proposal {
        id: CallId::from("1"),
        tool: "Bash",
        common: None,
        shape: SHELL,
        input: &json!({"command": "ls"}),
        doubled: Some("/tool_input/command"),
        agent: None,
        branch: None,
    };
    let call = facts(proposal, &CallContext::of_project("/p"), &disk());
    assert!(
        call.facts
            .malformed
            .is_some_and(|why| why.contains("/tool_input/command"))
    );
}

/// Returns the writes of a line: the place, the path in the project or the whole path, and the lines.
fn writes(line: &str) -> Vec<String> {
    let facts = found(SHELL, &json!({ "command": line }));
    facts.writes.iter().map(shown).collect()
}

fn shown(write: &FileWrite) -> String {
    let mark = match write.place {
        PathArea::Project => "project",
        PathArea::Scratch => "scratch",
        PathArea::Outside => "outside",
        PathArea::Whole => "whole",
        PathArea::Unknown => "unknown",
    };
    let path = write.relative.as_ref().or(write.path.as_ref());
    let path = path.map_or("?", String::as_str);
    let lines = write
        .lines
        .map_or_else(String::new, |lines| format!(" {lines}"));
    let removes = if write.removes { "-" } else { "" };
    format!("{mark} {removes}{path}{lines}")
}

#[test]
fn a_shell_line_writes_where_the_disk_says() {
    let rows: &[(&str, &[&str])] = &[
        ("echo hi > out.txt", &["project out.txt 1"]),
        ("cat > big.rs <<'E'\n1\n2\nX\n4\nE", &["project big.rs 1"]),
        ("echo x >> big.rs", &["project big.rs 1"]),
        ("touch a b", &["project a 0", "project b 0"]),
        ("cp big.rs new.rs", &["project new.rs"]),
        ("cp big.rs lib", &["project lib/big.rs"]),
        ("cp /etc/hosts .", &["project hosts"]),
        ("mv big.rs lib/", &["project lib/big.rs", "project -big.rs"]),
        ("rm -rf lib", &["project -lib", "project -lib/mod.rs"]),
        (
            "mv lib new",
            &[
                "project new",
                "project new/mod.rs",
                "project -lib",
                "project -lib/mod.rs",
            ],
        ),
        // Files outside the project are copied, but not listed.
        ("cp -r /etc/conf new", &["project new"]),
        ("touch *.rs", &["project big.rs 0"]),
        ("rm l*/*.rs", &["project -lib/mod.rs"]),
        ("touch *.none", &["project *.none 0"]),
        (
            "git restore lib",
            &[
                "project .git/objects",
                "project lib",
                "project lib/mod.rs",
                "project lib/*",
            ],
        ),
        ("rm -rf .", &["whole -/p"]),
        ("rm -rf /", &["whole -/"]),
        ("rm -rf ~", &["whole -/home/you"]),
        ("rm -rf .git", &["whole -.git"]),
        ("rm -rf ../other", &["outside -/other"]),
        ("echo x > /tmp/y", &["scratch /tmp/y 1"]),
        ("echo x > ~/.cache/y", &["scratch /home/you/.cache/y 1"]),
        ("echo x > ~/y", &["outside /home/you/y 1"]),
        ("rm -rf \"$DIR/build\"", &["unknown -?"]),
        ("ls > /dev/null", &[]),
    ];
    for (line, expected) in rows {
        assert_eq!(writes(line), *expected, "{line}");
    }
}

#[test]
fn a_copied_pattern_that_matches_a_directory_writes_anything_below_the_target() {
    let disk = || {
        GivenDisk::empty()
            .with("/p", "conf.txt", "")
            .with("/p", "out/a", "")
    };
    let written = |disk: &GivenDisk| {
        let input = json!({ "command": "cp -r conf* out/" });
        let found = found_on(disk, &CallContext::of_project("/p"), SHELL, &input);
        let paths = found.writes.into_iter().map(|write| write.relative);
        paths.collect::<Vec<_>>()
    };
    let whole = Some("out".to_owned());
    assert!(!written(&disk()).contains(&whole));
    assert!(written(&disk().with("/p", "confdir/x", "")).contains(&whole));
}

#[test]
fn a_directory_left_is_named_as_written() {
    let outside = |line: &str| found(SHELL, &json!({ "command": line })).outside_directories;
    assert_eq!(outside("cd .. && ls"), [".."]);
    assert_eq!(outside("cd lib && cd .. && ls"), Vec::<String>::new());
    assert_eq!(outside("cd /tmp; cd /p/lib"), ["/tmp"]);
}

#[test]
fn the_directory_of_a_call_counts() {
    let facts = found(SHELL, &json!({"command": "touch x", "directory": "lib"}));
    let relative: Vec<_> = facts
        .writes
        .iter()
        .filter_map(|write| write.relative.clone())
        .collect();
    assert_eq!(relative, ["lib/x"]);
}

#[test]
fn variables_of_a_call_are_set_for_its_line() {
    let shown = |variables: Value| {
        let facts = found(SET, &json!({"command": "touch $DIR/x$N", "env": variables}));
        assert_eq!(facts.malformed, None, "{variables}");
        facts.writes.iter().map(shown).collect::<Vec<_>>()
    };
    let here = shown(json!({"DIR": "lib", "N": 7}));
    assert_eq!(here, writes("touch lib/x7"));
    assert_eq!(
        shown(json!({"DIR": "it's", "_N": 1, "N": true})),
        writes("touch \"it's/xtrue\"")
    );
    assert_eq!(
        shown(json!({"DIR": "/etc", "N": ""})),
        writes("touch /etc/x")
    );
    assert_ne!(shown(json!(null)), here);
}

/// Returns why the first command of a line is opaque, on a disk with these files.
fn opaque(line: &str, files: &[&str]) -> Option<String> {
    let mut disk = GivenDisk::empty();
    for file in files {
        disk.put("/p", file, "");
    }
    let input = json!({ "command": line });
    let found = found_on(&disk, &CallContext::of_project("/p"), SHELL, &input);
    let shell = found.shell.unwrap_or_default();
    shell.commands.into_iter().next_back()?.opaque
}

#[test]
fn names_that_could_be_options_make_a_pattern_opaque() {
    assert_eq!(opaque("sort *.txt", &["a.txt", "b/-o.txt"]), None);
    assert!(opaque("sort *.txt", &["a.txt", "-o.txt"]).is_some());
    assert_eq!(opaque("sort -- *.txt", &["-o.txt"]), None);
    assert!(opaque("sort *.txt --compress-program=./x", &["a.txt"]).is_some());
    assert!(opaque("sort $x *.txt", &["a.txt"]).is_some());
}

#[test]
fn version_control_in_another_repository_is_opaque() {
    assert_eq!(opaque("git -C lib status", &["lib/a", ".git/HEAD"]), None);
    assert!(opaque("git -C lib status", &["lib/.git/HEAD"]).is_some());
    assert!(
        opaque(
            "cd lib/deep && git log",
            &["lib/HEAD", "lib/objects/x", "lib/deep/y"]
        )
        .is_some()
    );
    assert!(opaque("git -C /other log", &[]).is_some());
}

#[test]
fn a_directory_that_the_person_names_may_be_written() {
    let place = |path: &str, writable: &[&str]| {
        let context = CallContext {
            home: Some("/home/you".to_owned()),
            writable: writable.iter().map(|path| (*path).to_owned()).collect(),
            ..CallContext::of_project("/p")
        };
        let input = json!({"file_path": path, "content": ""});
        let found = found_on(&GivenDisk::empty(), &context, WRITE, &input);
        found.writes.first().map(|write| write.place)
    };
    assert_eq!(place("/srv/data/x", &[]), Some(PathArea::Outside));
    assert_eq!(
        place("/srv/data/x", &["/srv/data"]),
        Some(PathArea::Scratch)
    );
    assert_eq!(place("/srv/other", &["/srv/data"]), Some(PathArea::Outside));
    assert_eq!(
        place("/home/you/.claude/plans/a.md", &[]),
        Some(PathArea::Scratch)
    );
    assert_eq!(place("/home/you/notes/a.md", &[]), Some(PathArea::Outside));
    assert_eq!(
        place("/home/you/notes/a.md", &["/home/you"]),
        Some(PathArea::Scratch)
    );
}

#[test]
fn home_is_where_it_is_however_a_line_writes_it() {
    let context = CallContext {
        home: Some("/home/you".to_owned()),
        ..CallContext::of_project("/home/you/p")
    };
    let disk = GivenDisk::empty()
        .with("/home/you", "a/x.txt", "1\n")
        .with("/home/you", "b/y.txt", "1\n2\n")
        .with("/home/you/p", "src/x.txt", "1\n2\n3\n")
        .with("/home/you/p", ".npmrc", "a=b\n");
    let lines = [
        "cp H/a/x.txt H/p/src",
        "cp -r H/a H/p/src",
        "cp -t H/p/src H/a/x.txt H/b/y.txt",
        "mv H/p/src/x.txt H/p/new.txt",
        "mv H/a/x.txt H/p/.npmrc",
        "install H/a/x.txt H/p/src/x.txt",
        "rsync -a H/a/ H/p/src",
        "ln -s H/a H/p/link; echo 1 > H/p/link/x.txt",
        "ln -s H/a/x.txt H/p/src/x.txt",
        "ln H/p/src/x.txt H/p/y.txt && cat H/p/y.txt",
        "cd H/p; cp H/a/x.txt src/x.txt",
        "tee H/p/src/x.txt < H/a/x.txt",
        "sed -i s/1/2/ H/p/src/x.txt",
        "rm -r H/p/src",
        "mkdir H/p/c && cp H/b/y.txt H/p/c",
    ];
    for line in lines {
        let [tilde, plain] = ["~", "/home/you"].map(|home| {
            let line = line.replace("H/", &format!("{home}/"));
            let input = json!({ "command": line });
            let mut found = found_on(&disk, &context, SHELL, &input);
            found.shell = None;
            found
        });
        assert_eq!(tilde, plain, "{line}");
    }
}
