//! The page of proofs: its workflows are at the given places, and its commands print what is shown.

use std::process::Stdio;

use interlock_testkit::room::Room;

use super::{
    cookbook::{commands, expect_lines},
    pages::{blocks, pages},
};

#[test]
fn the_proofs_of_the_book_go_as_printed() {
    let mut pages = pages().into_iter();
    let (_, text) = pages
        .find(|(path, _)| path.ends_with("docs/src/prove-story.md"))
        .unwrap();
    let room = Room::new().unwrap();
    let (mut held, mut failed) = (0, 0);
    for block in blocks(&text) {
        if let Some(path) = block.text.strip_prefix("# ") {
            room.write(path.lines().next().unwrap(), &block.text)
                .unwrap();
        }
        if block.language != "console" {
            continue;
        }
        for command in commands(&block) {
            let mut run = room.command(env!("CARGO_BIN_EXE_interlock"));
            let output = run.args(&command.words).stdin(Stdio::null()).output();
            let output = output.unwrap();
            let title = command.words.join(" ");
            expect_lines(&title, &command, &output);
            let fails = command.printed.iter().any(|line| line.starts_with("fails"));
            let code = i32::from(fails);
            assert_eq!(output.status.code(), Some(code), "{title}: {output:?}");
            failed += code;
            held += 1 - code;
        }
    }
    // Both a hole and its fix are shown.
    assert!(held >= 1 && failed >= 3, "{held} hold, {failed} fail");
}
