//! The cookbook: each recipe's workflow passes `check`, and each printed session is played.

use std::{
    path::Path,
    process::{Output, Stdio},
};

use interlock_testkit::{
    room::{Room, expect_success},
    terminal,
};

use super::pages::{Block, blocks, pages};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Stands for the rest of a line, or for lines.
const REST: char = '…';

/// A section of the cookbook.
struct Recipe {
    title: String,
    workflow: Block,
    sessions: Vec<Block>,
}

/// A command in a session, and its printed output.
pub(crate) struct Command {
    pub(crate) words: Vec<String>,
    pub(crate) printed: Vec<String>,
}

fn recipes() -> Vec<Recipe> {
    let is_it = |path: &Path| path.ends_with("docs/src/cookbook.md");
    let mut pages = pages().into_iter();
    let (_, text) = pages.find(|(path, _)| is_it(path)).unwrap();
    let sections = text.split("\n## ").skip(1);
    sections
        .map(|section| {
            let title = section.lines().next().unwrap().to_owned();
            let (mut workflows, rest): (Vec<Block>, Vec<Block>) = blocks(section)
                .into_iter()
                .partition(|block| block.language == "yaml");
            assert_eq!(workflows.len(), 1, "workflows of `{title}`");
            let workflow = workflows.remove(0);
            let is_session = |block: &Block| block.language == "console";
            let sessions = rest.into_iter().filter(is_session).collect();
            Recipe {
                title,
                workflow,
                sessions,
            }
        })
        .collect()
}

/// Writes a recipe's workflow to the place that the page names, and returns its path.
fn place(room: &Room, recipe: &Recipe) -> String {
    let first = recipe.workflow.text.lines().next().unwrap();
    let path = match (first.strip_prefix("# "), first.strip_prefix("id: ")) {
        (Some(path), _) => path.to_owned(),
        (None, Some(id)) => format!(".interlock/workflows/{id}.yaml"),
        (None, None) => unreachable!("`{}` names no file", recipe.title),
    };
    room.write(&path, &recipe.workflow.text).unwrap();
    path
}

/// Parses the commands of a session.
pub(crate) fn commands(session: &Block) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in session.text.lines() {
        match (line.strip_prefix("$ interlock "), commands.last_mut()) {
            (Some(words), _) => commands.push(Command {
                words: words.split_whitespace().map(str::to_owned).collect(),
                printed: Vec::new(),
            }),
            (None, Some(command)) => command.printed.push(line.to_owned()),
            (None, None) => unreachable!("a session begins with a command: `{line}`"),
        }
    }
    commands
}

/// Returns whether a line matches the printed one, in which `…` stands for anything.
fn fits(line: &str, printed: &str) -> bool {
    let mut parts = printed.split(REST);
    let Some(mut rest) = parts.next().and_then(|begin| line.strip_prefix(begin)) else {
        return false;
    };
    for part in parts {
        if part.is_empty() {
            return true;
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

/// Plays a simulation at a terminal; the lines of the phase are not on the page.
fn simulate(room: &Room, command: &Command) -> Vec<(String, String)> {
    let typed: Vec<&str> = command
        .printed
        .iter()
        .filter_map(|line| line.strip_prefix("> "))
        .collect();
    let mut simulate = room.command(INTERLOCK);
    simulate.args(["--color", "never"]).args(&command.words);
    let keys = format!("{}\n\n", typed.join("\n"));
    let output = terminal::answered(&mut simulate, &keys).unwrap();
    expect_success("simulate", &output).unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let answers = out.split("\n> ").skip(1);
    let answers = answers.map(|answer| answer.lines().next().unwrap_or_default());
    typed
        .iter()
        .map(|typed| (*typed).to_owned())
        .zip(answers.map(str::to_owned))
        .collect()
}

/// Checks that the session of a simulation runs as printed.
fn expect_simulation(room: &Room, title: &str, command: &Command) {
    let played = simulate(room, command);
    let mut printed = command.printed.iter();
    for (typed, answer) in played {
        assert_eq!(printed.next(), Some(&format!("> {typed}")), "{title}");
        let expected = printed.next().unwrap();
        assert!(
            fits(&answer, expected),
            "{title}, after `{typed}`\n printed {expected}\n says    {answer}"
        );
    }
    assert_eq!(printed.next(), None, "{title}: the session ends earlier");
}

/// Checks that a command prints the lines in their order.
pub(crate) fn expect_lines(title: &str, command: &Command, output: &Output) {
    let both = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let said: Vec<&str> = both.iter().flat_map(|text| text.lines()).collect();
    let mut rest = said.iter();
    for expected in command.printed.iter().filter(|line| **line != "…") {
        assert!(
            rest.any(|line| fits(line, expected)),
            "{title}: `{expected}` is not in {said:#?}"
        );
    }
}

#[test]
fn every_recipe_checks_clean_and_goes_as_printed() {
    let recipes = recipes();
    assert!(recipes.len() >= 20, "{} recipes", recipes.len());
    for recipe in recipes {
        let room = Room::new().unwrap();
        room.script("bin/claude", "echo claude: \"$2\"").unwrap();
        room.script("bin/npm", "exit 0").unwrap();
        let path = place(&room, &recipe);
        let mut check = room.command(INTERLOCK);
        let check = check.args(["check", "--deny-warnings", &path]);
        expect_success(&recipe.title, &check.output().unwrap()).unwrap();
        let played: Vec<Command> = recipe.sessions.iter().flat_map(commands).collect();
        assert!(!played.is_empty(), "`{}` has no session", recipe.title);
        for command in played {
            if command.words.first().is_some_and(|word| word == "simulate") {
                expect_simulation(&room, &recipe.title, &command);
                continue;
            }
            let mut other = room.command(INTERLOCK);
            let other = other.args(&command.words).stdin(Stdio::null());
            let output = other.output().unwrap();
            expect_success(&recipe.title, &output).unwrap();
            expect_lines(&recipe.title, &command, &output);
        }
    }
}

#[test]
fn what_is_printed_fits_its_line_and_no_other() {
    assert!(fits("deny it. Tools: Read.", "deny it. …"));
    assert!(fits("done (0.1s) now", "done (…s) now"));
    assert!(!fits("deny it. Tools: Read.", "deny it."));
    assert!(!fits("allow it.", "deny …"));
    assert!(!fits("done (0.1s) later", "done (…s) now"));
}
