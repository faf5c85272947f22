//! Parses scripts of `sed`; a script that this small parser does not understand is opaque.

use super::pattern;
use crate::options::{self, Effect};
use crate::tables::own::SED;
use crate::value::Arg;
use crate::walk::Walker;

/// What a script touches.
#[derive(Debug, Default, PartialEq, Eq)]
struct Script {
    reads: Vec<String>,
    writes: Vec<String>,
}

impl Walker<'_> {
    pub(super) fn sed(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &SED);
        self.check_sorted(index, &sorted);
        self.apply(index, "sed", &sorted);
        let mut pieces: Vec<Arg> = Vec::new();
        for (effect, value) in &sorted.effects {
            if *effect == Effect::First {
                pieces.extend(value.clone());
            }
        }
        let mut operands = sorted.operands.iter();
        if !sorted.does(Effect::First) {
            pieces.extend(operands.next().cloned());
        }
        let in_place = sorted.does(Effect::WriteOperands);
        let directory = self.directory();
        // A number is an address or a count.
        let texts: Option<Vec<&str>> = pieces.iter().map(Arg::shape).collect();
        let script = texts.map(|texts| texts.join("\n"));
        if in_place && script.as_deref() == Some("") {
            self.facts.opaque(
                index,
                "`sed -i` with an empty word, which other systems read in another way",
            );
        }
        let is_known = pieces.iter().all(|piece| piece.literal().is_some());
        match script.as_deref().map(parse) {
            None => self.facts.opaque(index, "its script is not known"),
            Some(Ok(script)) if !is_known && script.writes.len() + script.reads.len() > 0 => {
                self.facts
                    .opaque(index, "the files of its script are not known");
            }
            Some(Err(reason)) => self.facts.opaque(index, &reason),
            Some(Ok(script)) => {
                for path in &script.reads {
                    self.facts
                        .read(&Arg::text(path), directory.as_deref(), "sed", false);
                }
                for path in &script.writes {
                    self.facts
                        .write(&Arg::text(path), directory.as_deref(), "sed");
                }
            }
        }
        let suffix = sorted
            .value("i")
            .or_else(|| sorted.value("in-place"))
            .and_then(Arg::literal)
            .unwrap_or_default()
            .to_owned();
        if suffix.contains(['/', '*']) {
            self.facts.opaque(index, "`sed -i` keeps copies elsewhere");
        }
        for path in operands {
            self.facts.read(path, directory.as_deref(), "sed", false);
            if in_place {
                self.facts.write(path, directory.as_deref(), "sed -i");
                if let (Arg::Literal(path), false) = (path, suffix.is_empty()) {
                    self.facts.write(
                        &Arg::Literal(format!("{path}{suffix}")),
                        directory.as_deref(),
                        "sed -i",
                    );
                }
            }
        }
    }
}

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(is_skipped);
    }

    fn line(&mut self) -> &'a str {
        let line = self.rest.split('\n').next().unwrap_or_default();
        self.rest = self.rest.get(line.len()..).unwrap_or_default();
        line
    }

    /// Reads a pattern up to its `end`; returns `None` if its end is not certain.
    fn pattern(&mut self, end: char) -> Option<()> {
        let width = pattern::width(self.rest, end, pattern::Kind::Sed)?;
        self.rest = self.rest.get(width + end.len_utf8()..)?;
        Some(())
    }

    /// Reads text up to an unescaped `end`; a line feed before it is an error.
    fn until(&mut self, end: char) -> Option<&'a str> {
        let start = self.rest;
        loop {
            let at = start.len() - self.rest.len();
            match self.bump()? {
                '\n' => return None,
                '\\' => {
                    self.bump()?;
                }
                c if c == end => return start.get(..at),
                _ => {}
            }
        }
    }
}

fn parse(script: &str) -> Result<Script, String> {
    let mut found = Script::default();
    let mut cursor = Cursor { rest: script };
    let unknown = |cursor: &Cursor<'_>| {
        let near: String = cursor.rest.chars().take(12).collect();
        format!("its script is not read near `{near}`")
    };
    loop {
        cursor.skip(|c| c.is_ascii_whitespace() || c == ';');
        if cursor.rest.is_empty() {
            return Ok(found);
        }
        let before = Cursor { rest: cursor.rest };
        if command(&mut cursor, &mut found)?.is_none() {
            return Err(unknown(&before));
        }
    }
}

/// Parses one command with its addresses; returns `None` if it is not understood.
fn command(cursor: &mut Cursor<'_>, found: &mut Script) -> Result<Option<()>, String> {
    if addresses(cursor).is_none() {
        return Ok(None);
    }
    cursor.skip(|c| c == ' ' || c == '\t' || c == '!');
    let Some(c) = cursor.bump() else {
        return Ok(None);
    };
    match c {
        '{' => return Ok(Some(())),
        '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
        }
        'l' | 'q' | 'Q' => cursor.skip(|c| c == ' ' || c.is_ascii_digit()),
        '#' => {
            cursor.line();
        }
        ':' | 'b' | 't' | 'T' => {
            cursor.skip(|c| c == ' ');
            cursor.skip(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        }
        'a' | 'i' | 'c' => return Ok(text(cursor)),
        'r' | 'R' => found.reads.push(cursor.line().trim_start().to_owned()),
        'w' | 'W' => found.writes.push(cursor.line().trim_start().to_owned()),
        's' => return substitute(cursor, found),
        'y' => {
            let Some(end) = cursor.bump().filter(|c| *c != '\n' && *c != '\\') else {
                return Ok(None);
            };
            if cursor.until(end).is_none() || cursor.until(end).is_none() {
                return Ok(None);
            }
        }
        'e' => return Err("its script runs another program (`e`)".to_owned()),
        _ => return Ok(None),
    }
    Ok(ends(cursor).then_some(()))
}

/// Returns whether a command ends here.
fn ends(cursor: &mut Cursor<'_>) -> bool {
    cursor.skip(|c| c == ' ' || c == '\t');
    matches!(cursor.peek(), None | Some('\n' | ';' | '}' | '#'))
}

fn addresses(cursor: &mut Cursor<'_>) -> Option<()> {
    if !address(cursor)? {
        return Some(());
    }
    cursor.skip(|c| c == ' ' || c == '\t');
    if cursor.peek() == Some(',') {
        cursor.bump();
        cursor.skip(|c| c == ' ' || c == '\t');
        if matches!(cursor.peek(), Some('+' | '~')) {
            cursor.bump();
        }
        if !address(cursor)? {
            return None;
        }
        cursor.skip(|c| c == ' ' || c == '\t');
    }
    Some(())
}

/// Parses one address; returns `None` if it is not understood.
fn address(cursor: &mut Cursor<'_>) -> Option<bool> {
    match cursor.peek() {
        Some('$') => {
            cursor.bump();
        }
        Some(c) if c.is_ascii_digit() => {
            cursor.skip(|c| c.is_ascii_digit());
            if cursor.peek() == Some('~') {
                cursor.bump();
                cursor.skip(|c| c.is_ascii_digit());
            }
        }
        Some('/') => {
            cursor.bump();
            cursor.pattern('/')?;
            cursor.skip(|c| c == 'I' || c == 'M');
        }
        Some('\\') => {
            cursor.bump();
            let end = cursor.bump().filter(|c| *c != '\n' && *c != '\\')?;
            cursor.pattern(end)?;
            cursor.skip(|c| c == 'I' || c == 'M');
        }
        _ => return Some(false),
    }
    Some(true)
}

/// Reads the text after `a`, `i` or `c`: to the end of the line, and further while lines end with `\`.
fn text(cursor: &mut Cursor<'_>) -> Option<()> {
    loop {
        let line = cursor.line();
        let continues = line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        if !continues {
            return Some(());
        }
        if cursor.bump().is_none() {
            // `$a\` alone only adds a line break to the last line.
            return Some(());
        }
    }
}

fn substitute(cursor: &mut Cursor<'_>, found: &mut Script) -> Result<Option<()>, String> {
    let Some(end) = cursor.bump().filter(|c| *c != '\n' && *c != '\\') else {
        return Ok(None);
    };
    if cursor.pattern(end).is_none() || cursor.until(end).is_none() {
        return Ok(None);
    }
    loop {
        match cursor.peek() {
            Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                cursor.bump();
            }
            Some('e') => return Err("its script runs what it makes (`s///e`)".to_owned()),
            Some('w') => {
                cursor.bump();
                found.writes.push(cursor.line().trim_start().to_owned());
                return Ok(Some(()));
            }
            _ => return Ok(ends(cursor).then_some(())),
        }
    }
}
