//! The commands within sentences: the program accepts their words as written.

use std::{path::Path, process::Stdio};

use interlock_testkit::room::Room;

use super::{commands_in_sentences, pages::pages};

/// What the program says of words that it does not know, or not together.
const WRONG: [&str; 6] = [
    "unexpected argument",
    "unexpected value",
    "unrecognized subcommand",
    "invalid value",
    "cannot be used with",
    "cannot be used multiple times",
];

/// Commands that a sentence names incompletely or with a piece of a shell line.
fn is_whole(words: &[String]) -> bool {
    let is_piece = |word: &String| word.contains('…') || word == "|";
    // It would open a console, and wait.
    let waits = words.iter().any(|word| word == "--console");
    words.len() > 1 && !waits && !words.iter().any(is_piece)
}

/// Returns what is wrong with the words of a command.
fn complaint(room: &Room, words: &str) -> Option<String> {
    let mut bash = room.command("bash");
    bash.args(["-c", &format!("interlock {words}")]);
    // No state can be stored, so each command ends once its words are known.
    bash.env("XDG_STATE_HOME", "/dev/null/state");
    let output = bash.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    WRONG
        .iter()
        .any(|wrong| said.contains(wrong))
        .then_some(said)
}

#[test]
fn the_words_of_every_command_in_a_sentence_are_accepted() {
    let room = Room::new().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_interlock"));
    room.install("interlock", program).unwrap();
    let mut seen = 0;
    for (path, text) in pages() {
        for words in commands_in_sentences(&text) {
            if !is_whole(&words) {
                continue;
            }
            seen += 1;
            let words = words.join(" ");
            let complaint = complaint(&room, &words);
            let place = path.display();
            assert!(
                complaint.is_none(),
                "{place}: `interlock {words}`\n{complaint:?}"
            );
        }
    }
    assert!(seen > 60, "only {seen} commands were found");
    for wrong in ["log RUN OTHER", "status --runs", "passkey take x"] {
        assert!(complaint(&room, wrong).is_some(), "{wrong}");
    }
}
