//! Normalizes lines by removing what differs between runs of a command.

use std::path::PathBuf;

use interlock_testkit::room::Room;

/// Stands for the rest of a line, or for lines.
const REST: char = '…';

/// The directories of a room, which have other names on the pages.
pub(super) struct Normal {
    places: [(PathBuf, &'static str); 4],
}

impl Normal {
    pub(super) fn new(room: &Room) -> Normal {
        Normal {
            places: [
                (room.project(), "/home/ana/shop"),
                (room.home(), "/home/ana"),
                (room.state(), "/home/ana/.local/state"),
                (room.config(), "/home/ana/.config"),
            ],
        }
    }

    /// Replaces times, durations, ids, digests and directories by names, and columns of spaces by two spaces.
    pub(super) fn line(&self, line: &str) -> String {
        let mut line = line.trim_end().to_owned();
        for (path, name) in &self.places {
            line = line.replace(path.to_str().unwrap(), name);
        }
        if let Some(what) = of_the_machine(&line) {
            return what.to_owned();
        }
        let mut made = String::new();
        let mut rest = line.as_str();
        while let Some(begin) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
            let (before, word) = rest.split_at(begin);
            let is_inside = |c: char| c.is_ascii_alphanumeric() || ".:-".contains(c);
            let end = word.find(|c| !is_inside(c)).unwrap_or(word.len());
            let (word, after) = word.split_at(end);
            let kept = word.trim_end_matches(['.', ':', '-']);
            made.push_str(&columns(before, made.is_empty()));
            made.push_str(named(kept, after));
            made.push_str(word.get(kept.len()..).unwrap_or_default());
            rest = after;
        }
        made.push_str(&columns(rest, made.is_empty()));
        made
    }
}

/// Returns the subject of a line whose rest depends on the kernel, the desktop and the programs of the machine.
fn of_the_machine(line: &str) -> Option<&str> {
    [
        "shell:",
        "without writing ",
        "when writing ",
        "confined line ",
        "notifications ",
        "git version ",
    ]
    .into_iter()
    .find(|what| line.contains(what))
}

/// Reduces several spaces to two, unless a line begins with them.
fn columns(text: &str, is_begin: bool) -> String {
    let spaces = text.len() - text.trim_start_matches(' ').len();
    match spaces > 2 && !is_begin {
        true => format!("  {}", text.trim_start_matches(' ')),
        false => text.to_owned(),
    }
}

/// Returns the name for a word that differs between runs, or the word itself.
fn named<'a>(word: &'a str, after: &str) -> &'a str {
    let is_lower = word
        .bytes()
        .all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
    let is_hex = word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let is_number = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let shape: String = word
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let unit = after.trim_start().split(' ').next().unwrap_or_default();
    match &*shape {
        "0000-00-00" => return "DATE",
        "00:00:00" => return "CLOCK",
        _ if shape.starts_with("0000-00-00T00:00:00") => return "TIME",
        _ => {}
    }
    if word.starts_with("01") && is_lower && (word.len() == 26 || after.starts_with(REST)) {
        return "RUN";
    }
    if is_hex && word.len() >= 12 {
        return "DIGEST";
    }
    let is_unit = ["ms", "s"].contains(&unit.trim_end_matches([',', '.', ';', ')']));
    if is_number && is_unit {
        return "N";
    }
    match word
        .strip_suffix('s')
        .is_some_and(|n| n.contains('.') && n.parse::<f64>().is_ok())
    {
        true => "Ns",
        false => word,
    }
}

/// Returns whether lines match the printed ones, in which `…` stands for lines, or within a line for text.
pub(super) fn fits(lines: &[String], printed: &[String]) -> bool {
    let Some((first, rest)) = printed.split_first() else {
        return lines.is_empty();
    };
    if first.chars().all(|c| c == REST) && !first.is_empty() {
        return (0..=lines.len()).any(|from| fits(lines.get(from..).unwrap_or_default(), rest));
    }
    let Some((line, others)) = lines.split_first() else {
        return false;
    };
    is_like(line, first) && fits(others, rest)
}

/// Returns whether a line matches the printed one.
pub(super) fn is_like(line: &str, printed: &str) -> bool {
    let Some((begin, rest)) = printed.split_once(REST) else {
        return line == printed;
    };
    let Some(line) = line.strip_prefix(begin) else {
        return false;
    };
    let mut ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    ends.any(|at| line.get(at..).is_some_and(|line| is_like(line, rest)))
}

#[test]
fn what_differs_with_each_run_is_named() {
    let normal = Normal::new(&Room::new().unwrap());
    for (line, named) in [
        (
            "started 01m7y46c4vzmerz3a7mrg4yna2 of `bugfix`",
            "started RUN of `bugfix`",
        ),
        ("   0 05:00:24 RunStarted ana", "   0 CLOCK RunStarted ana"),
        (
            "ok   codex        answers in 8 ms, the",
            "ok  codex  answers in N ms, the",
        ),
        ("2026-11-21T04:00:24.219Z", "TIME"),
        ("limits: iterations 0 of 30", "limits: iterations 0 of 30"),
        ("[fix] done (0.1s)", "[fix] done (Ns)"),
    ] {
        assert_eq!(normal.line(line), named);
    }
}

#[test]
fn lines_fit_as_printed_and_no_others() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let fits = |is: &str, printed: &str| fits(&lines(is), &lines(printed));
    assert!(fits("a\nb\nc", "a\n…\nc") && fits("a\nc", "a\n…\nc"));
    assert!(fits("deny it. Tools: Read.", "deny it. …"));
    assert!(!fits("a\nb\nc", "a\nc") && !fits("a\nb", "a\n…\nc"));
    assert!(!fits("deny it. Tools", "deny it."));
    assert!(fits("one two three", "one … three") && !fits("one two four", "one … three"));
}
