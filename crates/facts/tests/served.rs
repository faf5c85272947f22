//! Tools of MCP servers: the files that their arguments name.

use interlock_core::{
    call::{CallKind, ToolCall},
    names::CallId,
};
use interlock_facts::{
    CallContext, FileUse, GivenDisk, Proposal, Shape, TextUse, facts, served_facts,
};
use serde_json::{Value, json};

fn disk() -> GivenDisk {
    GivenDisk::empty()
        .with("/p", "a.py", "x\nkeep\nx\n")
        .with("/p", ".interlock/config.toml", "")
}

fn context() -> CallContext {
    CallContext {
        home: Some("/home/you".to_owned()),
        state_directory: Some("/home/you/.local/state/interlock".to_owned()),
        ..CallContext::of_project("/p")
    }
}

fn proposal<'a>(tool: &'a str, input: &'a Value) -> Proposal<'a> {
    Proposal {
        id: CallId::from("1"),
        tool,
        common: None,
        shape: Shape::Other,
        input,
        doubled: None,
        agent: None,
        branch: None,
    }
}

fn found(tool: &str, input: &Value) -> ToolCall {
    facts(proposal(tool, input), &context(), &disk())
}

/// Describes a call in one line: kind, reads, writes (`-` before removed paths), lines.
fn told(call: &ToolCall) -> String {
    let facts = &call.facts;
    let writes: Vec<String> = facts
        .writes
        .iter()
        .map(|write| {
            let mark = if write.removes { "-" } else { "" };
            let path = write.relative.as_deref().or(write.path.as_deref());
            format!("{mark}{}", path.unwrap_or("?"))
        })
        .collect();
    let lines = facts
        .edit_lines
        .map_or("?".to_owned(), |lines| lines.to_string());
    let kind = match call.kind {
        CallKind::Edit => "edit",
        CallKind::Shell => "shell",
        _ => "other",
    };
    format!(
        "{kind} r[{}] w[{}] {lines}",
        facts.reads.join(","),
        writes.join(",")
    )
}

#[test]
fn a_tool_of_a_file_server_writes_what_it_says() {
    let rows = [
        (
            "mcp__fs__write_file",
            json!({"path": "/p/new.py", "content": "1\n2\n"}),
            "edit r[] w[new.py] 2",
        ),
        (
            "mcp__fs__write_file",
            json!({"path": "a.py", "content": "x\nkeep\ny\n"}),
            "edit r[] w[a.py] 1",
        ),
        (
            "mcp__interlock__fs__edit_file",
            json!({"path": "a.py", "edits": [{"oldText": "x\nkeep", "newText": "y\nkeep\nz"}]}),
            "edit r[] w[a.py] 2",
        ),
        (
            "mcp_fs_move_file",
            json!({"source": "a.py", "destination": "b.py"}),
            "edit r[] w[-a.py,b.py] 0",
        ),
        (
            "fs-create_directory",
            json!({"path": "lib/deep"}),
            "edit r[] w[lib/deep] 0",
        ),
        (
            "MCP:read_text_file",
            json!({"path": "file:///p/a.py"}),
            "other r[a.py] w[] ?",
        ),
        (
            "fs_read_multiple_files",
            json!({"paths": ["a.py", "./b.py"]}),
            "other r[a.py,b.py] w[] ?",
        ),
        (
            "mcp__fs__delete_file",
            json!({"path": "a.py"}),
            "edit r[] w[-a.py] 3",
        ),
    ];
    for (tool, input, expected) in rows {
        assert_eq!(told(&found(tool, &input)), expected, "{tool} {input}");
    }
}

#[test]
fn the_words_of_an_unknown_tools_name_say_what_it_does() {
    let rows = [
        (
            "mcp__docs__updatePage",
            json!({"filePath": "doc/a.md", "text": "1\n2\n3"}),
            "edit r[] w[doc/a.md] 3",
        ),
        (
            "mcp__docs__save-all",
            json!({"files": [{"path": "a.py", "content": "1"}, {"path": "b.py"}]}),
            "edit r[] w[a.py,b.py] ?",
        ),
        (
            "mcp__docs__save-map",
            json!({"files": {"a.py": "1", "src/b": "2", "mode": "w"}}),
            "edit r[] w[a.py,src/b] ?",
        ),
        (
            "mcp__docs__save-one",
            json!({"file": {"path": "a.py", "content": "1"}}),
            "edit r[] w[a.py] ?",
        ),
        (
            "mcp__docs__save-address",
            json!({"path": "file:/p/a.py"}),
            "edit r[] w[a.py] ?",
        ),
        (
            "mcp__docs__save-elsewhere",
            json!({"path": " FILE://server/p/a.py"}),
            "edit r[] w[a.py] ?",
        ),
        (
            "mcp__docs__rename",
            json!({"from": "a.py", "to": "b.py"}),
            "edit r[] w[-a.py,b.py] 0",
        ),
        (
            "mcp__docs__lookup",
            json!({"path": "a.py"}),
            "other r[a.py] w[] ?",
        ),
        // No file is named: an issue tracker uses similar words.
        (
            "mcp__tracker__create_issue",
            json!({"title": "x", "content": "y"}),
            "other r[] w[] ?",
        ),
        (
            "mcp__web__save_page",
            json!({"uri": "https://example.org/a"}),
            "edit r[] w[] ?",
        ),
    ];
    for (tool, input, expected) in rows {
        assert_eq!(told(&found(tool, &input)), expected, "{tool} {input}");
    }
}

#[test]
fn what_a_server_says_of_itself_only_takes_away() {
    let input = json!({"path": "a.py", "content": "x"});
    let guessed = FileUse::of("save_note", &input, true);
    assert!(!guessed.changes(), "a guess gives way");
    let known = FileUse::of("write_file", &input, true);
    assert!(known.changes(), "what is known does not");
}

#[test]
fn a_setting_takes_the_place_of_every_guess() {
    let files = FileUse {
        writes: vec!["target".to_owned()],
        text: TextUse::Whole("body".to_owned()),
        sure: true,
        ..FileUse::default()
    };
    let input = json!({"target": "a.py", "body": "x\nkeep\nx\nmore\n", "path": "b.py"});
    let call = served_facts(
        proposal("mcp__x__store", &input),
        &files,
        &context(),
        &disk(),
    );
    assert_eq!(told(&call), "edit r[] w[a.py] 1");
    let line = FileUse {
        line: Some("what".to_owned()),
        sure: true,
        ..FileUse::default()
    };
    let input = json!({"what": "rm a.py"});
    let call = served_facts(proposal("mcp__x__do", &input), &line, &context(), &disk());
    assert_eq!(call.kind, CallKind::Shell);
    assert_eq!(told(&call), "shell r[] w[-a.py] ?");
    let input = json!({"target": 5, "body": ""});
    let call = served_facts(
        proposal("mcp__x__store", &input),
        &files,
        &context(),
        &disk(),
    );
    assert!(call.facts.malformed.is_some(), "what is set must be text");
}

#[test]
fn protected_things_are_found_whatever_the_tool_and_the_way_the_path_is_written() {
    for (tool, input) in [
        (
            "mcp__fs__write_file",
            json!({"path": "/p/.interlock/config.toml", "content": ""}),
        ),
        (
            "mcp__fs__write_file",
            json!({"path": "x/../.interlock/config.toml", "content": ""}),
        ),
        (
            "mcp__fs__write_file",
            json!({"path": "file:///p/.interlock/config.toml", "content": ""}),
        ),
        (
            "mcp__fs__write_file",
            json!({"path": "/p/.mcp.json", "content": ""}),
        ),
        (
            "mcp__fs__move_file",
            json!({"source": "x", "destination": ".claude/settings.json"}),
        ),
        (
            "mcp__fs__read_text_file",
            json!({"path": "/home/you/.local/state/interlock/token.json"}),
        ),
        (
            "mcp__x__innocent",
            json!({"deep": [{"er": "/p/.interlock/workflows/w.json"}]}),
        ),
        (
            "mcp__x__innocent",
            json!({"texts": {"/p/.interlock/config.toml": "x"}}),
        ),
        ("mcp__x__innocent", json!({"a": "file:/p/.mcp.json"})),
        (
            "mcp__x__innocent",
            json!({"a": "FILE://LOCALHOST/p/.mcp.json"}),
        ),
        (
            "mcp__x__innocent",
            json!({"a": "file://server/p/.mcp.json?x#y"}),
        ),
        ("mcp__x__innocent", json!({"a": "fs://root/p/%2emcp.json"})),
        ("mcp__x__innocent", json!({"a": "\tfi\nle:///p/.mcp.json"})),
        ("mcp__x__innocent", json!({"a": "/p/.mcp.json\n"})),
        ("mcp__x__innocent", json!({"a": "src\\..\\.mcp.json"})),
        ("mcp__sh__run", json!({"command": "interlock approve"})),
        (
            "mcp__sh__run",
            json!({"command": ["rm", "-rf", ".interlock"]}),
        ),
    ] {
        let call = found(tool, &input);
        assert!(call.facts.protected.is_some(), "{tool} {input}");
    }
    for (tool, input) in [
        (
            "mcp__fs__write_file",
            json!({"path": "/p/src/a.rs", "content": "interlock approve"}),
        ),
        ("mcp__sh__run", json!({"command": "cargo test"})),
        (
            "mcp__web__fetch",
            json!({"url": "https://example.org/p/.mcp.json"}),
        ),
        ("mcp__x__innocent", json!({"a": "note: see the settings"})),
    ] {
        let call = found(tool, &input);
        assert_eq!(call.facts.protected, None, "{tool} {input}");
    }
}

/// Words in tool names, and the effect on a path, on a source, and on a destination: `r` reads, `w` writes, `-`
/// removes, `.` nothing.
const DEEDS: [(&[&str], &str); 5] = [
    (&["delete", "remove", "unlink", "rm"], "---"),
    (&["move", "rename", "mv"], "--w"),
    (&["copy", "cp"], "rrw"),
    (
        &[
            "write", "edit", "create", "update", "append", "patch", "mkdir", "download",
        ],
        "wrw",
    ),
    (&["read", "list", "frobnicate"], "rr."),
];
const ROLES: [&[&str]; 3] = [
    &[
        "path",
        "filePath",
        "file_name",
        "target_file",
        "uri",
        "new_path",
        "folder",
    ],
    &[
        "source",
        "from",
        "old_path",
        "src_path",
        "source_file",
        "old",
    ],
    &[
        "destination",
        "to",
        "newPath",
        "dest_path",
        "target_dir",
        "output",
    ],
];

#[test]
fn the_word_of_a_name_decides_about_each_argument() {
    let mut wrong = Vec::new();
    for (words, deeds) in DEEDS {
        for (at, word) in words.iter().enumerate() {
            for present in 1..8_usize {
                let there: Vec<(&str, char)> = ROLES
                    .iter()
                    .zip(deeds.chars())
                    .enumerate()
                    .filter(|(role, _)| present >> role & 1 == 1)
                    .filter_map(|(_, (names, deed))| {
                        Some((*names.get((at + present) % names.len())?, deed))
                    })
                    .collect();
                let input: Value = there
                    .iter()
                    .map(|(name, _)| ((*name).to_owned(), json!("a.py")))
                    .collect();
                for read_only in [false, true] {
                    let of = |wanted: char| -> Vec<&str> {
                        let deed = |deed: char| if read_only { 'r' } else { deed };
                        let those = there.iter().filter(|(_, is)| deed(*is) == wanted);
                        those.map(|(name, _)| *name).collect()
                    };
                    let found = FileUse::of(&format!("mcp__s__{word}_thing"), &input, read_only);
                    if (found.reads, found.writes, found.removes)
                        != sorted(of('r'), of('w'), of('-'))
                    {
                        wrong.push(format!("{word} {input} {read_only}"));
                    }
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn sorted(
    reads: Vec<&str>,
    writes: Vec<&str>,
    removes: Vec<&str>,
) -> (Vec<String>, Vec<String>, Vec<String>) {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    (owned(reads), owned(writes), owned(removes))
}

#[test]
fn a_name_is_known_by_whole_words_and_not_by_its_end() {
    let input = json!({"path": "a.py", "source": "a.py", "destination": "b.py", "content": "1", "edits": []});
    for known in [
        "write_file",
        "edit_file",
        "delete_file",
        "move_file",
        "copy_file",
        "create_directory",
        "read_text_file",
    ] {
        let plain = FileUse::of(known, &input, false);
        assert!(plain.sure, "{known}");
        for before in ["mcp__fs__", "mcp_fs_", "fs-", "MCP:", "fs.", "fs/"] {
            let name = format!("{before}{known}");
            assert_eq!(FileUse::of(&name, &input, false), plain, "{name}");
        }
        for before in ["un", "mcp__fs__un", "mcp__fs__re_un", "x2"] {
            let name = format!("{before}{known}");
            let found = FileUse::of(&name, &input, false);
            assert!(!found.sure, "{name}: {found:?}");
        }
    }
}
