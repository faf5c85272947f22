//! The picture of a refusal in the README: the refused steps of `interlock demo`, drawn as a terminal.

use std::{fmt::Write as _, fs};

use interlock_testkit::room::{Room, expect_success};
use serde_json::Value;

use super::pages::repository;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const PICTURE: &str = "docs/src/images/refusal.svg";

/// Number of columns of the text after the actor's name.
const COLUMNS: usize = 92;
const INDENT: usize = 10;
/// Width of a letter and height of a line, in pixels.
const LETTER: f64 = 7.8;
const LINE: usize = 20;
const MARGIN: usize = 20;

/// One line of the picture: its start, its style, its text.
type Row = (usize, &'static str, String);

fn steps() -> Vec<(String, String, String)> {
    let room = Room::new().unwrap();
    let mut demo = room.command(INTERLOCK);
    let output = demo.args(["demo", "--json"]).output().unwrap();
    expect_success("demo", &output).unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let text = |step: &Value, key: &str| {
        let value = step.get(key).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    out.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|step| step.get("who").is_some())
        .map(|step| (text(&step, "who"), text(&step, "what"), text(&step, "why")))
        .collect()
}

fn rows() -> Vec<Row> {
    let mut rows = vec![(0, "command", "$ interlock demo".to_owned())];
    let mut is_first = true;
    for (who, what, why) in steps() {
        let (class, is_shown) = match who.as_str() {
            "denied" | "refused" => ("no", true),
            "you" => ("you", is_first),
            "allowed" => ("yes", what == "sh check.sh"),
            _ => ("", false),
        };
        is_first &= who != "you";
        if !is_shown {
            continue;
        }
        rows.push((0, class, who));
        for (nth, line) in wrapped(&what).into_iter().enumerate() {
            rows.push((INDENT, if nth == 0 { "what same" } else { "what" }, line));
        }
        let known = rows.iter().any(|(_, class, _)| *class == "why");
        // The alternatives are shown only once.
        let why = match why.split_once(" Tools: ") {
            Some((why, _)) if known => format!("{why} …"),
            _ => why,
        };
        let lines = wrapped(&why).into_iter();
        rows.extend(lines.map(|line| (INDENT, "why", line)));
    }
    rows
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn drawn(rows: &[Row]) -> String {
    let lines = rows.iter().filter(|(_, class, _)| !class.ends_with("same"));
    let height = lines.count() * LINE + 2 * MARGIN;
    let width = 860;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">
<title>What `interlock demo` refuses</title>
<style>
rect {{ fill: #16181d; }}
text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #e6e8ec; white-space: pre; }}
.no {{ fill: #ff8a80; }} .yes {{ fill: #7fd88f; }} .you {{ fill: #8fb4ff; }} .why {{ fill: #a9afba; }} .command {{ fill: #a9afba; }}
</style>
<rect width=\"{width}\" height=\"{height}\" rx=\"8\"/>
"
    );
    let mut below = MARGIN;
    for (column, class, line) in rows {
        if !class.ends_with("same") {
            below += LINE;
        }
        #[expect(clippy::cast_precision_loss, reason = "a column of a terminal")]
        let x = 20.0 + *column as f64 * LETTER;
        let y = below - 6;
        let line = line
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let _ = writeln!(
            text,
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{line}</text>"
        );
    }
    text.push_str("</svg>\n");
    text
}

/// `INTERLOCK_BLESS=1` draws it; review the changes.
#[test]
fn the_picture_of_a_refusal_shows_what_the_demo_says() {
    let made = drawn(&rows());
    let file = repository().join(PICTURE);
    if std::env::var_os("INTERLOCK_BLESS").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "{PICTURE} is not what `interlock demo` says; `INTERLOCK_BLESS=1` draws it again"
    );
}

#[test]
fn the_demo_shows_the_phase_in_lines_of_its_own() {
    let room = Room::new().unwrap();
    let output = room.command(INTERLOCK).arg("demo").output().unwrap();
    expect_success("demo", &output).unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains("Phase: planning. Tools: Read, Bash.\n               Commands: ls, cat.\n"),
        "{out}"
    );
}
