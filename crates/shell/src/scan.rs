//! A second count of substitutions, independent of the grammar.
//!
//! It knows only quotes, comments and here-documents, so that an error of the parser about where a substitution begins results in
//! a different number.

/// What the scan is inside of, innermost last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    /// Inside `$(`, `<(` or `(`: commands.
    Commands,
    /// Inside `${`; the flag tells whether double quotes surround it.
    Braces(bool),
    /// Inside arithmetic brackets, with the closing bracket.
    Numbers(u8),
    /// Inside double quotes.
    Quotes,
    /// In the body of a here-document.
    Document,
}

/// Maximum number of open square brackets; the second parser recurses with each.
const BRACKETS_MAX: usize = 100;

struct Scan<'a> {
    bytes: &'a [u8],
    pos: usize,
    stack: Vec<Nesting>,
    base: Nesting,
    count: usize,
    /// Square brackets of words that are open.
    brackets: usize,
    documents: Vec<(Vec<u8>, bool, bool)>,
}

/// Counts `$(`, backtick pairs, `<(` and `>(` that run; returns `None` if it loses track.
pub(crate) fn substitutions(text: &str) -> Option<usize> {
    count(text.as_bytes(), Nesting::Commands)
}

fn count(bytes: &[u8], base: Nesting) -> Option<usize> {
    let mut scan = Scan {
        bytes,
        pos: 0,
        stack: Vec::new(),
        base,
        count: 0,
        brackets: 0,
        documents: Vec::new(),
    };
    while let Some(byte) = scan.at(0) {
        scan.step(byte)?;
    }
    scan.stack.is_empty().then_some(scan.count)
}

impl Scan<'_> {
    fn at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.pos + ahead).copied()
    }

    fn place(&self) -> Nesting {
        self.stack.last().copied().unwrap_or(self.base)
    }

    fn enter(&mut self, place: Nesting, width: usize) {
        self.stack.push(place);
        self.pos += width;
    }

    fn leave(&mut self) {
        self.stack.pop();
        self.pos += 1;
    }

    fn step(&mut self, byte: u8) -> Option<()> {
        let place = self.place();
        let is_quoted = matches!(
            place,
            Nesting::Quotes | Nesting::Document | Nesting::Braces(true)
        );
        match byte {
            b'\\' => self.pos += 2,
            b'`' => return self.backticks(),
            b'$' => self.dollar(is_quoted)?,
            b'"' if place == Nesting::Quotes => self.leave(),
            b'"' if place != Nesting::Document => self.enter(Nesting::Quotes, 1),
            b'\'' if !is_quoted => return self.skip_past(b'\'', false),
            b'}' if matches!(place, Nesting::Braces(_)) => self.leave(),
            _ => match place {
                Nesting::Commands => self.command_byte(byte)?,
                Nesting::Numbers(end) if byte == end => self.leave(),
                Nesting::Numbers(end) if byte == opener(end) => self.enter(place, 1),
                _ => self.pos += 1,
            },
        }
        Some(())
    }

    fn dollar(&mut self, is_quoted: bool) -> Option<()> {
        match (self.at(1), self.at(2)) {
            (Some(b'('), Some(b'(')) => {
                self.stack.push(Nesting::Numbers(b')'));
                self.enter(Nesting::Numbers(b')'), 3);
            }
            (Some(b'('), _) => {
                self.count += 1;
                self.enter(Nesting::Commands, 2);
            }
            (Some(b'['), _) => self.enter(Nesting::Numbers(b']'), 2),
            (Some(b'{'), _) => {
                self.enter(Nesting::Braces(is_quoted), 2);
                if self.at(0) == Some(b'#') {
                    self.pos += 1;
                }
            }
            (Some(b'\''), _) if !is_quoted => {
                self.pos += 1;
                return self.skip_past(b'\'', true);
            }
            (Some(b'$' | b'#'), _) => self.pos += 2,
            _ => self.pos += 1,
        }
        Some(())
    }

    /// Skips a quoted string that begins here.
    fn skip_past(&mut self, end: u8, escapes: bool) -> Option<()> {
        self.pos += 1;
        loop {
            let byte = self.at(0)?;
            self.pos += if byte == b'\\' && escapes { 2 } else { 1 };
            if byte == end {
                return Some(());
            }
        }
    }

    fn backticks(&mut self) -> Option<()> {
        self.count += 1;
        self.skip_past(b'`', true)
    }

    fn command_byte(&mut self, byte: u8) -> Option<()> {
        match (byte, self.at(1)) {
            (b'<' | b'>', Some(b'(')) => {
                self.count += 1;
                self.enter(Nesting::Commands, 2);
            }
            (b'<', Some(b'<')) if self.at(2) == Some(b'<') => self.pos += 3,
            (b'<', Some(b'<')) => self.document_start(),
            (b'(', Some(b'(')) => {
                self.stack.push(Nesting::Numbers(b')'));
                self.enter(Nesting::Numbers(b')'), 2);
            }
            (b'(', _) => self.enter(Nesting::Commands, 1),
            (b')', _) => self.leave(),
            (b'#', _) if self.at_word_start() => {
                while self.at(0).is_some_and(|byte| byte != b'\n') {
                    self.pos += 1;
                }
            }
            (b'\n', _) => {
                self.pos += 1;
                return self.documents();
            }
            (b'[', _) => {
                self.brackets += 1;
                self.pos += 1;
                return (self.brackets <= BRACKETS_MAX).then_some(());
            }
            (b']', _) => {
                self.brackets = self.brackets.saturating_sub(1);
                self.pos += 1;
            }
            _ => self.pos += 1,
        }
        Some(())
    }

    fn at_word_start(&self) -> bool {
        match self.pos.checked_sub(1).and_then(|at| self.bytes.get(at)) {
            None => true,
            Some(before) => b" \t\n;&|()<>".contains(before),
        }
    }

    fn document_start(&mut self) {
        self.pos += 2;
        let strips = self.at(0) == Some(b'-');
        self.pos += usize::from(strips);
        while matches!(self.at(0), Some(b' ' | b'\t')) {
            self.pos += 1;
        }
        let mut mark = Vec::new();
        let mut is_quoted = false;
        while let Some(byte) = self.at(0).filter(|byte| !b" \t\n;&|()<>".contains(byte)) {
            if matches!(byte, b'\'' | b'"' | b'\\') {
                is_quoted = true;
            } else {
                mark.push(byte);
            }
            self.pos += 1;
        }
        self.documents.push((mark, strips, is_quoted));
    }

    fn documents(&mut self) -> Option<()> {
        for (mark, strips, is_quoted) in std::mem::take(&mut self.documents) {
            let start = self.pos;
            loop {
                let rest = self.bytes.get(self.pos..).filter(|rest| !rest.is_empty())?;
                let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let body = self.bytes.get(start..self.pos).unwrap_or_default();
                self.pos += line.len() + 1;
                let tabs = line
                    .iter()
                    .take_while(|byte| strips && **byte == b'\t')
                    .count();
                if line.get(tabs..) == Some(mark.as_slice()) {
                    if !is_quoted {
                        self.count += count(body, Nesting::Document)?;
                    }
                    break;
                }
            }
        }
        Some(())
    }
}

fn opener(end: u8) -> u8 {
    if end == b')' { b'(' } else { b'[' }
}
