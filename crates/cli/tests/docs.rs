//! The book and the README: workflows load, sessions run as printed, commands exist, links lead somewhere.
#![expect(
    clippy::unwrap_used,
    clippy::unreachable,
    reason = "a failed test panics"
)]

mod ci;
mod cookbook;
mod json;
mod keys;
mod mentioned;
mod pages;
mod plugins;
mod refusal;
mod sessions;
mod story;
mod tables;
mod trouble;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use interlock_formats::{NoWorkflows, Source, load, render};
use interlock_testkit::room::Room;
use pages::{blocks, pages, prose, repository};

#[test]
fn every_workflow_in_the_docs_checks_clean() {
    let mut seen = 0;
    for (path, text) in pages() {
        for block in blocks(&text) {
            let has = |key: &str| block.text.lines().any(|line| line.starts_with(key));
            if block.language != "yaml" || !has("id:") || !has("states:") {
                continue;
            }
            seen += 1;
            let name = format!("{}:{}", path.display(), block.line);
            let loaded = load(&Source::new(&name, &block.text), None, &NoWorkflows);
            let said = match loaded {
                Ok(loaded) => loaded.warnings,
                Err(found) => found,
            };
            assert!(said.is_empty(), "{name}\n{}", render(&said, false));
        }
    }
    assert!(seen > 10, "only {seen} workflows were found");
}

#[test]
fn what_a_page_includes_is_there() {
    let mut seen = 0;
    for (path, text) in pages() {
        for include in text.split("{{#include ").skip(1) {
            let file = include.split("}}").next().unwrap();
            seen += 1;
            let found = path.parent().unwrap().join(file);
            assert!(found.is_file(), "{}: {file}", path.display());
        }
    }
    assert!(seen > 4, "only {seen} files are included");
}

/// Writes a page's workflow of steps into a project, to the file in its first line.
fn place_flow(room: &Room, page: &str) -> String {
    let (_, text) = pages()
        .into_iter()
        .find(|(path, _)| path.ends_with(page))
        .unwrap();
    let block = blocks(&text)
        .into_iter()
        .find(|block| block.text.starts_with("# .flowstate/"))
        .unwrap();
    let path = block.text.lines().next().unwrap().trim_start_matches("# ");
    room.write(path, &block.text).unwrap();
    let name = Path::new(path).file_stem().unwrap();
    name.to_str().unwrap().to_owned()
}

#[test]
fn the_durable_workflow_of_the_book_runs() {
    let room = Room::new().unwrap();
    let name = place_flow(&room, "docs/src/durable.md");
    let call = |command: &mut Command| command.stdin(std::process::Stdio::null()).output().unwrap();
    let program = env!("CARGO_BIN_EXE_interlock");
    let said = call(room.command(program).args(["run", &name, "--headless"]));
    assert_eq!(said.status.code(), Some(75), "{said:?}");
    let mut resume = room.command(program);
    let said = interlock_testkit::terminal::output(resume.args([
        "resume",
        &format!("{name}-1"),
        "--answer",
        "staging",
    ]));
    let said = said.unwrap();
    let out = String::from_utf8_lossy(&said.stdout);
    assert_eq!(
        (said.status.code(), &*out),
        (Some(0), "to staging:\n- nothing yet\n"),
        "{said:?}"
    );
}

#[test]
fn the_commands_for_ci_pass_where_new_wrote_the_workflow() {
    let is_it = |path: &Path| path.ends_with("docs/src/team.md");
    let (_, text) = pages().into_iter().find(|(path, _)| is_it(path)).unwrap();
    let (_, section) = text.split_once("\n## In CI\n").unwrap();
    let block = blocks(section)
        .into_iter()
        .find(|block| block.language == "console")
        .unwrap();
    let room = Room::new().unwrap();
    room.write("package.json", r#"{"scripts": {"test": "node --test"}}"#)
        .unwrap();
    let interlock = |words: &str| {
        let mut command = room.command(env!("CARGO_BIN_EXE_interlock"));
        let output = command.args(words.split_whitespace()).output().unwrap();
        interlock_testkit::room::expect_success(words, &output).unwrap();
    };
    interlock("new bugfix --yes");
    let commands: Vec<&str> = block
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("$ interlock "))
        .collect();
    assert!(commands.len() >= 3, "{commands:?}");
    commands.into_iter().for_each(interlock);
}

#[test]
fn every_workflow_of_steps_in_the_docs_checks_clean() {
    let mut seen = 0;
    for (path, text) in pages() {
        for block in blocks(&text) {
            let begins = |line: &str| line.starts_with("start-at:");
            if block.language != "yaml" || !block.text.lines().any(begins) {
                continue;
            }
            seen += 1;
            let room = Room::new().unwrap();
            for program in ["claude", "codex", "gemini", "gh"] {
                room.script(&format!("bin/{program}"), "exit 1").unwrap();
            }
            room.write("flow.yaml", &block.text).unwrap();
            let mut check = room.command(env!("CARGO_BIN_EXE_interlock"));
            let check = check.args(["check", "--deny-warnings", "flow.yaml"]);
            let output = check.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let place = format!("{}:{}", path.display(), block.line);
            assert!(output.status.success(), "{place}\n{said}");
        }
    }
    assert!(seen > 0, "no workflow of steps was found");
}

/// Returns the words after `interlock` in every line that a page tells a person to type.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let blocks = blocks(text);
    let lines = blocks.iter().flat_map(|block| {
        let of_console = block.language == "console";
        let is_typed = of_console || block.language.is_empty() || block.language == "sh";
        let lines = block.text.lines().filter(move |_| is_typed);
        lines.filter_map(move |line| {
            let typed = if of_console {
                line.strip_prefix("$ ")?
            } else {
                line
            };
            let rest = typed.strip_prefix("interlock ")?;
            let command = rest.split(" # ").next()?;
            Some(command.split_whitespace().map(str::to_owned).collect())
        })
    });
    // `shared` and `worker` are separate programs, whose tests run these commands; `adds` is a word in a demonstration.
    let is_here = |word: &String| !ELSEWHERE.contains(&word.as_str());
    lines
        .filter(|words: &Vec<String>| words.first().is_some_and(is_here))
        .collect()
}

/// Words after `interlock` that are no commands of this program.
const ELSEWHERE: [&str; 3] = ["adds", "shared", "worker"];

/// Returns the words after `interlock` in every command within a sentence.
fn commands_in_sentences(text: &str) -> Vec<Vec<String>> {
    let prose = prose(text).replace('\n', " ");
    let codes = prose.split('`').skip(1).step_by(2);
    codes
        .filter_map(|code| code.strip_prefix("interlock "))
        .map(|words| words.split_whitespace().map(str::to_owned).collect())
        .filter(|words: &Vec<String>| {
            let is_lower = |word: &String| word.bytes().all(|b| b.is_ascii_lowercase());
            words
                .first()
                .is_some_and(|word| is_lower(word) && !ELSEWHERE.contains(&word.as_str()))
        })
        .collect()
}

/// Returns the help of a command.
fn help(words: &[&String]) -> Option<String> {
    let mut help = Command::new(env!("CARGO_BIN_EXE_interlock"));
    let output = help.args(words).arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then_some(text)
}

#[test]
fn every_command_and_option_in_the_docs_exists() {
    let mut seen: BTreeSet<Vec<String>> = BTreeSet::new();
    for (path, text) in pages() {
        let lines = command_lines(&text).into_iter();
        for words in lines.chain(commands_in_sentences(&text)) {
            if !seen.insert(words.clone()) {
                continue;
            }
            let place = format!("{}: `interlock {}`", path.display(), words.join(" "));
            let [command, rest @ ..] = words.as_slice() else {
                continue;
            };
            let known = help(&[command]).unwrap_or_else(|| unreachable!("{place}"));
            // Subcommands have their own options.
            let below = || {
                let below = rest.iter().take(2);
                below
                    .filter_map(|word| help(&[command, word]))
                    .collect::<String>()
            };
            let mine = rest.iter().take_while(|word| *word != "--");
            for word in mine.filter(|word| word.starts_with("--")) {
                let option = word.split('=').next().unwrap_or_default();
                assert!(
                    known.contains(option) || below().contains(option),
                    "{place} has no `{option}`"
                );
            }
        }
    }
    assert!(seen.len() > 100, "only {} lines were found", seen.len());
}

#[test]
fn every_link_in_the_docs_leads_somewhere() {
    let mut seen = 0;
    for (path, text) in pages() {
        for link in links(&prose(&text)) {
            if link.contains("://") {
                continue;
            }
            seen += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => path.clone(),
                _ => path.parent().unwrap().join(file),
            };
            assert!(target.exists(), "{}: `{link}`", path.display());
            let there = fs::read_to_string(&target).unwrap_or_default();
            assert!(
                anchor.is_empty() || anchors(&there).contains(anchor),
                "{}: `{link}`; there are {:?}",
                path.display(),
                anchors(&there)
            );
        }
    }
    assert!(seen > 20, "only {seen} links were found");
}

#[test]
fn every_page_named_in_code_words_is_there() {
    for (path, text) in pages() {
        for word in prose(&text).split('`').skip(1).step_by(2) {
            if word.starts_with("docs/") && word.ends_with(".md") {
                assert!(
                    repository().join(word).exists(),
                    "{}: `{word}`",
                    path.display()
                );
            }
        }
    }
}

/// Returns the targets of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_owned())
        .collect()
}

/// Returns the anchors that mdBook generates for the headings.
fn anchors(text: &str) -> BTreeSet<String> {
    prose(text)
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter_map(|c| match c {
                    ' ' => Some('-'),
                    c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                    _ => None,
                })
                .collect()
        })
        .collect()
}
