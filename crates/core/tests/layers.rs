//! The layers of the engine: each module uses only those below it, and is short enough to be read at once.
#![expect(
    clippy::disallowed_methods,
    reason = "the engine touches no disk; a test reads its source"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Every module of the engine, from the bottom up, by crate.
const CRATES: &[(&str, &[&str])] = &[
    // The compiled form of a workflow.
    (
        "machine",
        &[
            "defaults",
            "names",
            "refusal",
            "instant",
            "visible",
            "glob",
            "canonical",
            "policy",
            "substance",
            "guard",
            "cause",
            "machine",
        ],
    ),
    // Commands to a run, its events, and its state.
    (
        "run",
        &[
            "facts", "parts", "passkey", "call", "attempt", "data", "dialogue", "run", "command",
            "event", "place", "pending",
        ],
    ),
    // Whether a call may run, and whether a guard holds.
    ("judge", &["address", "holds", "judge"]),
    // The consequences for the run.
    (
        "core",
        &[
            "conversation",
            "stage",
            "fill",
            "evolve",
            "effects",
            "merge",
            "decide",
        ],
    ),
];
/// Files that consist of a single list.
const LISTS: &[&str] = &["event.rs"];
/// Maximum number of lines in a file of the engine.
const LINES_MAX: usize = 600;

/// Returns the folder of the crates.
fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns every file of the engine except roots and tests, by its path below `src`, with its text.
fn files() -> Vec<(String, String)> {
    let own = CRATES.iter().map(|(name, _)| *name);
    own.flat_map(files_of).collect()
}

/// Returns the files of one crate.
fn files_of(name: &str) -> Vec<(String, String)> {
    let source = crates().join(name).join("src");
    let mut found = Vec::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(&source).unwrap();
            let name = below.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "lib.rs" && !name.ends_with("tests.rs") {
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}

/// Returns the top-level module that contains a file.
fn module(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or_default();
    first.strip_suffix(".rs").unwrap_or(first)
}

/// Returns the names in the root of the crate that a text uses, except in tests.
fn used(text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let mut names = BTreeSet::new();
    for behind in code.split("crate::").skip(1) {
        match behind.strip_prefix('{') {
            Some(group) => names.extend(first_of_each(group)),
            None => {
                names.insert(word(behind));
            }
        }
    }
    names
}

/// Returns the first name of each path in a group of a `use`.
fn first_of_each(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut begins) = (0_u32, true);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            letter if begins && !letter.is_whitespace() => {
                names.push(word(group.get(at..).unwrap_or_default()));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

fn word(text: &str) -> String {
    let is_part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    text.chars().take_while(is_part).collect()
}

#[test]
fn a_module_knows_only_what_stands_below_it() {
    let layers: Vec<&str> = CRATES.iter().flat_map(|(_, own)| *own).copied().collect();
    let place = |name: &str| layers.iter().position(|layer| *layer == name);
    for (file, text) in files() {
        let own = module(&file);
        let here = place(own);
        assert!(
            here.is_some(),
            "`{own}` has no place in CRATES: give it one"
        );
        for name in used(&text) {
            if name == own {
                continue;
            }
            let there = place(&name);
            assert!(
                there.is_some() && there < here,
                "{file} may not use `crate::{name}`: `{own}` stands below it, or it is not a module"
            );
        }
    }
}

#[test]
fn each_layer_stands_in_its_crate() {
    for (name, layers) in CRATES {
        let there: BTreeSet<String> = files_of(name)
            .iter()
            .map(|(file, _)| module(file).to_owned())
            .collect();
        let stated: BTreeSet<String> = layers.iter().map(|layer| (*layer).to_owned()).collect();
        assert_eq!(there, stated, "the modules of `{name}`");
    }
}

/// The fields of a run are readable; only `evolve` may change its frames.
#[test]
fn only_evolve_changes_a_run() {
    let mut seen = 0;
    for entry in fs::read_dir(crates()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        for (file, text) in files_of(&name) {
            let defines = name == "run" && matches!(file.as_str(), "run.rs" | "run/stay.rs");
            let evolves = name == "core" && module(&file) == "evolve";
            // Two of its steps use up a limit at once, which no event does.
            let proves = name == "prove" && file == "perform.rs";
            for word in [
                "frame_mut",
                "effect_mut",
                "take_effect",
                "items_mut",
                "stage_attempt_mut",
            ] {
                let used = names(&text, word);
                seen += usize::from(used);
                assert!(
                    !used || defines || evolves || proves,
                    "{name}: {file} changes a run by `{word}`: let an event do it"
                );
            }
        }
    }
    assert!(
        seen > 8,
        "the files that fold events are not where they were"
    );
}

#[test]
fn a_file_is_short_enough_to_be_read_at_once() {
    for (file, text) in files() {
        let lines = text.lines().count();
        let is_list = LISTS.contains(&file.as_str());
        assert!(
            is_list || lines <= LINES_MAX,
            "{file} has {lines} lines: at most {LINES_MAX}, or split it"
        );
    }
}

/// The parser of these tests recognizes each way of writing a path.
#[test]
fn a_use_is_seen_however_it_is_written() {
    let text = "use crate::{\n    call::{CallKind, ToolCall},\n    names,\n};\n\
                use crate::run::Run;\n// crate::comment::x\nfn f() { crate::judge::judge(); }\n\
                #[cfg(test)]\nmod tests { use crate::decide::decide; }\n";
    let seen: Vec<String> = used(text).into_iter().collect();
    assert_eq!(seen, ["call", "judge", "names", "run"]);
}

/// Returns the string literals in a file's code, except in comments and tests.
fn texts(text: &str) -> Vec<&str> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split('"').skip(1).step_by(2))
        .collect()
}

/// Returns whether `name` occurs in `text` as a separate word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let behind = text.get(at + name.len()..).unwrap_or_default();
        !before.ends_with(is_part) && !behind.starts_with(is_part)
    })
}

#[test]
fn no_format_is_named() {
    for (file, text) in files() {
        let text = text.to_lowercase();
        for format in ["codemie", "flowstate", "statewright", "pipeline"] {
            assert!(!text.contains(format), "{file} names the format `{format}`");
        }
    }
}

/// Returns whether a file belongs to the chart: states, transitions, interrupts, calls and regions.
fn is_chart(file: &str) -> bool {
    let own = ["settle", "transitions", "interrupts", "machines"];
    own.iter()
        .any(|name| file == format!("decide/{name}.rs").as_str())
        || file.starts_with("decide/regions")
}

/// The work of a run affects its chart through `decide/hooks.rs` and `decide/failures.rs` only.
#[test]
fn the_chart_knows_no_kind_of_run_and_no_stage_or_conversation() {
    let mut seen = 0;
    for (file, text) in files().iter().filter(|(file, _)| is_chart(file)) {
        seen += 1;
        for word in [
            "is_durable",
            "is_guarded",
            "machine.conversation",
            "ModelStage",
            "StageAttempt",
            "has_stages",
            "stage_of",
            "stage_attempt",
            "UPSTREAM",
        ] {
            assert!(!names(text, word), "{file} asks for `{word}`: use a hook");
        }
    }
    assert!(seen > 8, "the files of the chart are not where they were");
}

#[test]
fn one_file_decides_by_the_kind_of_a_run() {
    // The dispatch of commands refuses those that a kind of run does not support.
    let dispatch = ["decide.rs", "decide/adopt.rs", "decide/durable.rs"];
    for (file, text) in files() {
        let decides = file.starts_with("decide") && !dispatch.contains(&file.as_str());
        let asks = text.matches("is_durable()").count();
        let wanted = usize::from(file == "decide/failures.rs");
        assert!(
            !decides || asks == wanted,
            "{file} asks {asks} times whether a run is durable"
        );
    }
}

#[test]
fn no_tool_of_a_client_is_named() {
    // A single lower-case word may also be an ordinary word.
    let is_a_name =
        |name: &&str| name.starts_with(|c: char| c.is_ascii_uppercase()) || name.contains('_');
    let tools: Vec<&str> = interlock_tool_names::known().filter(is_a_name).collect();
    for (file, text) in files() {
        for text in texts(&text) {
            for tool in &tools {
                assert!(!names(text, tool), "{file} names the tool `{tool}`: {text}");
            }
        }
    }
}

#[test]
fn no_program_is_named() {
    let programs = [
        "bash", "cargo", "curl", "docker", "git", "npm", "npx", "pip", "pnpm", "pytest", "python",
        "sed", "sudo", "tox", "uv", "yarn",
    ];
    for (file, text) in files() {
        // Files with secrets have the names of the programs that store them.
        if file == "judge/secrets.rs" {
            continue;
        }
        for text in texts(&text) {
            for program in programs {
                let named = names(text, program) && !text.contains(&format!(".{program}"));
                assert!(!named, "{file} names the program `{program}`: {text}");
            }
        }
    }
}
