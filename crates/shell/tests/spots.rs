//! The positions of placeholders for values in a command.

use interlock_shell::{Position, spots};

use crate::support::{cases, check};

const CASES: &str = include_str!("cases/spots.txt");

const HOLE: &str = "{{ x }}";

/// Commands that contain others at `@`, or stand beside them.
const AROUND: [&str; 20] = [
    "( @\n)",
    "{ @\n}",
    "if @\nthen :; fi",
    "if :; then @\nfi",
    "if :; then :; elif @\nthen :; fi",
    "if :; then :; else @\nfi",
    "while @\ndo :; done",
    "until @\ndo :; done",
    "while :; do @\ndone",
    "for v in a; do @\ndone",
    "case a in a) @\n;; esac",
    "f() { @\n}",
    "true && @",
    "true || @",
    "true; @",
    "true & @",
    "@\ntrue",
    "cat <<A; @\nb\nA",
    "cat <<-A\n\tb\n\tA\n@",
    "case a in b) : ;; esac; @",
];

/// Writes the positions of a command's placeholders, one letter each.
fn letters(line: &str) -> String {
    let mut pieces = Vec::new();
    for (at, text) in line.split(HOLE).enumerate() {
        if at > 0 {
            pieces.push(None);
        }
        pieces.push(Some(text));
    }
    let Some(spots) = spots(pieces) else {
        return "lost".to_owned();
    };
    let letters = spots.iter().map(|spot| {
        let letter = match spot.position {
            Position::Word => "w",
            Position::Quotes => "q",
            Position::Single => "s",
            Position::Arithmetic => "a",
            Position::Comment => "c",
            Position::Document => "d",
        };
        let fault = if spot.fault.is_some() { "!" } else { "" };
        format!("{letter}{fault}")
    });
    letters.collect()
}

#[test]
fn every_hole_has_its_place() {
    check(CASES, |case| letters(&case.line));
}

#[test]
fn every_hole_keeps_its_place_within_and_beside_other_commands() {
    let mut wrong = Vec::new();
    for around in AROUND {
        for case in cases(CASES) {
            // A document begins after the line that names it, and one with an unknown end has no placeholders.
            let begins = around.contains("<<A;") && case.line.contains("<<");
            if begins || case.line.contains("<<{{") {
                continue;
            }
            let line = around.replace('@', &case.line);
            let found = letters(&line);
            if found != case.expected {
                wrong.push(format!("{line} ⇒ {found}   (expected {})", case.expected));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
