//! Whether a command treats a word as more than text.

use super::{
    HOLE, Position, Scan, Token, Word,
    evaluators::{DECLARERS, EVALUATED, NAMERS, Program, WHOLE, WRAPPERS, program},
};

const TEXT: &str = "in text that a shell or another interpreter runs";
const NAME: &str = "as the name of a variable";
const OPERATOR: &str = "where a test may take it for an operator";

/// Operators of `test` with a word on either side.
const BETWEEN: &[&str] = &[
    "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a",
    "-o", "]",
];

/// Operators of `[[` whose sides are arithmetic.
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl Scan {
    /// Checks one command: its words, its here-strings and where its pipeline begins.
    pub(super) fn judge(
        &mut self,
        words: &[Word],
        strings: &[usize],
        pipeline: usize,
        command: usize,
    ) {
        let words = self.assignments(words);
        let Some(first) = words.first() else { return };
        let name = first.text.rsplit('/').next().unwrap_or_default();
        match name {
            "for" | "select" => self.blame_all(words.get(1), NAME),
            "[[" => self.double_brackets(words),
            "[" | "test" => self.test(words),
            "printf" => self.printf(words),
            "function" => self.blame_all(words.get(1), NAME),
            name if NAMERS.contains(&name) => self.namer(words),
            name if DECLARERS.contains(&name) => self.declarer(words),
            _ => {}
        }
        if matches!(first.text.as_str(), "builtin" | "command") {
            let rest = words.get(1..).unwrap_or_default();
            if !rest.is_empty() {
                self.judge(rest, strings, pipeline, command);
            }
        }
        let wraps = WRAPPERS.contains(&name);
        for (at, word) in words.iter().enumerate() {
            let rest = words.get(at + 1..).unwrap_or_default();
            let text = word.text.as_str();
            let last = text.rsplit('/').next().unwrap_or_default();
            let is_folder = at > 0 && matches!(last, "." | "at");
            if (at == 0 || wraps) && !is_folder && WHOLE.contains(&last) {
                self.blame_each(rest, TEXT);
                self.blame_holes(strings, TEXT);
            }
            if let Some(found) = program(text) {
                let heads = at == 0 || wraps;
                let reads = self.program(found, rest, heads);
                if heads && reads {
                    self.blame_input(strings, pipeline, command);
                }
            }
        }
    }

    /// Skips assignments before a command.
    fn assignments<'w>(&mut self, words: &'w [Word]) -> &'w [Word] {
        let mut rest = words;
        while let Some((word, after)) = rest.split_first() {
            let Some((name, _)) = word.text.split_once('=') else {
                break;
            };
            let name = name.trim_end_matches('+');
            let bare = name.split('[').next().unwrap_or_default();
            if name.contains(HOLE) && name.chars().all(|c| is_name(c) || c == HOLE) {
                self.blame_all(Some(word), NAME);
            } else if bare.is_empty() || !bare.chars().all(is_name) {
                break;
            } else if EVALUATED.contains(&bare) {
                self.blame_all(Some(word), TEXT);
            }
            rest = after;
        }
        rest
    }

    fn blame_all(&mut self, word: Option<&Word>, fault: &'static str) {
        if let Some(word) = word {
            self.blame_holes(&word.holes, fault);
        }
    }

    fn blame_each(&mut self, words: &[Word], fault: &'static str) {
        for word in words {
            self.blame_holes(&word.holes, fault);
        }
    }

    fn blame_holes(&mut self, holes: &[usize], fault: &'static str) {
        for hole in holes {
            self.blame(*hole, fault);
        }
    }

    /// Checks the arguments of a program that runs code; returns whether it reads the code from its input.
    fn program(&mut self, found: &Program, words: &[Word], heads: bool) -> bool {
        let mut rest = words.iter();
        let mut given = false;
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if is_code(found, text) {
                given = true;
                self.blame_all(Some(word), TEXT);
                self.blame_all(rest.next(), TEXT);
            } else if found.file.contains(&text) {
                given = true;
                rest.next();
            } else if found.takes.contains(&text) {
                given |= text == "-m";
                rest.next();
            } else if text == "--arg" || text == "--argjson" || text == "--slurpfile" {
                rest.next();
                rest.next();
            } else if text == "-" || text == "-s" {
                return heads;
            } else if text.starts_with(['-', '+']) {
                if heads && text.contains(HOLE) {
                    self.blame_all(Some(word), TEXT);
                }
            } else {
                // The script itself: a value could be an option here, or the code.
                let chosen = text.starts_with(HOLE) || found.first;
                if heads && !given && chosen {
                    self.blame_all(Some(word), TEXT);
                }
                if heads {
                    return false;
                }
            }
        }
        found.input && !given
    }

    /// Marks what a program reads as its code: here-documents, here-strings, the pipeline before it.
    fn blame_input(&mut self, strings: &[usize], pipeline: usize, command: usize) {
        self.blame_holes(strings, TEXT);
        for document in &mut self.documents {
            if document.from >= pipeline {
                document.fault.get_or_insert(TEXT);
            }
        }
        let before = self.tokens.get(pipeline..command).unwrap_or_default();
        let holes: Vec<usize> = before
            .iter()
            .filter_map(|token| match token {
                Token::Hole(hole) => Some(*hole),
                Token::Char(_) => None,
            })
            .collect();
        self.blame_holes(&holes, TEXT);
    }

    fn double_brackets(&mut self, words: &[Word]) {
        for (at, word) in words.iter().enumerate() {
            let after = words.get(at + 1);
            match word.text.as_str() {
                "=~" if !word.quoted => self.blame_all(after, "in the pattern of `=~`"),
                "-v" | "-R" if !word.quoted => self.blame_all(after, NAME),
                text if NUMERIC.contains(&text) => {
                    let before = at.checked_sub(1).and_then(|at| words.get(at));
                    for side in before.into_iter().chain(after) {
                        self.number(side);
                    }
                }
                _ => {}
            }
        }
    }

    /// Treats the holes of a word as numbers, since the shell evaluates it.
    fn number(&mut self, word: &Word) {
        for hole in &word.holes {
            if let Some(spot) = self.spots.get_mut(hole) {
                if spot.position == Position::Single {
                    spot.fault = Some("in a number within single quotes");
                }
                spot.position = Position::Arithmetic;
            }
        }
    }

    fn test(&mut self, words: &[Word]) {
        for (at, word) in words.iter().enumerate().skip(1) {
            if matches!(word.text.as_str(), "-v" | "-R") {
                self.blame_all(words.get(at + 1), NAME);
            }
            if word.text.starts_with(HOLE) {
                let after = words.get(at + 1).map(|word| word.text.as_str());
                let before = at.checked_sub(1).and_then(|at| words.get(at));
                let behind = before.is_some_and(|word| {
                    BETWEEN.contains(&word.text.as_str()) || word.text.starts_with('-')
                });
                let sure = after.is_none_or(|after| BETWEEN.contains(&after));
                if !sure && !behind {
                    self.blame_all(Some(word), OPERATOR);
                }
            }
        }
    }

    fn printf(&mut self, words: &[Word]) {
        let mut at = 1;
        match words.get(1).map(|word| word.text.as_str()) {
            Some("--") => return,
            Some(text) if text.starts_with("-v") => {
                self.blame_all(words.get(1), NAME);
                at = if text == "-v" { 2 } else { 1 };
                self.blame_all(words.get(at), NAME);
                at += 1;
            }
            _ => {}
        }
        if words
            .get(at)
            .is_some_and(|word| word.text.starts_with(HOLE))
        {
            self.blame_all(words.get(at), "as the format of `printf`");
        }
    }

    fn namer(&mut self, words: &[Word]) {
        let mut rest = words.iter().skip(1);
        while let Some(word) = rest.next() {
            if word.text == "-p" && words.first().is_some_and(|first| first.text == "read") {
                rest.next();
                continue;
            }
            self.blame_all(Some(word), NAME);
        }
    }

    fn declarer(&mut self, words: &[Word]) {
        let mut evaluates = false;
        for word in words.iter().skip(1) {
            let text = word.text.as_str();
            if text.starts_with(['-', '+']) {
                evaluates |= text.contains(['i', 'n', 'a', 'A']);
                self.blame_all(Some(word), NAME);
                continue;
            }
            let name = text.split('=').next().unwrap_or_default();
            let unsafe_name = name.contains(HOLE) || !text.contains('=');
            if unsafe_name {
                self.blame_all(Some(word), NAME);
            } else if evaluates || EVALUATED.contains(&name) {
                self.blame_all(Some(word), TEXT);
            }
        }
    }
}

/// Returns whether an option is followed by code, or contains it.
fn is_code(found: &Program, text: &str) -> bool {
    let is_cluster = |option: &str| {
        // `-ec`, `-lc`, `-ne`: the last of several letters takes the code.
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let letter = option.strip_prefix('-').filter(|rest| rest.len() == 1);
        letters
            .zip(letter)
            .is_some_and(|(letters, letter)| letters.len() <= 5 && letters.contains(letter))
    };
    found.code.iter().any(|option| {
        text == *option
            || (option.starts_with("--") && text.starts_with(&format!("{option}=")))
            || is_cluster(option)
    })
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
