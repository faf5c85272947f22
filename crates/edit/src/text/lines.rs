//! The lines of a file, and the ends of what is written in them.

use interlock_formats::{Entry, Kind, Node};

use super::Page;

impl Page<'_> {
    /// Returns where the line of a byte begins.
    pub(super) fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.rfind('\n').map_or(0, |found| found + 1)
    }

    /// Returns where the line of a byte ends, without the line break.
    pub(super) fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Returns where the next line begins; the end of the file if there is none.
    pub(super) fn next_line(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.find('\n').map_or(rest.len(), |found| found + 1)
    }

    /// Returns what precedes a byte in its line.
    pub(super) fn before(&self, at: usize) -> &str {
        self.text.get(self.line_start(at)..at).unwrap_or_default()
    }

    /// Returns what follows a byte in its line.
    pub(super) fn behind(&self, at: usize) -> &str {
        self.text.get(at..self.line_end(at)).unwrap_or_default()
    }

    /// Returns whether only blanks precede a byte in its line.
    pub(super) fn begins_line(&self, at: usize) -> bool {
        self.before(at)
            .bytes()
            .all(|byte| byte == b' ' || (self.style.is_json && byte == b'\t'))
    }

    /// Returns whether only blanks and a comment follow a byte in its line.
    pub(super) fn ends_line(&self, at: usize) -> bool {
        let rest = self.behind(at);
        let trimmed = rest.trim_start_matches([' ', '\t']);
        trimmed.is_empty() || (trimmed.starts_with('#') && trimmed.len() < rest.len())
    }

    /// Returns whether the line that begins at a byte is blank.
    pub(super) fn is_blank(&self, line: usize) -> bool {
        self.behind(line).trim().is_empty()
    }

    /// Returns whether a comment begins in a part of the text, as far as can be told without parsing.
    pub(super) fn has_comment(&self, range: std::ops::Range<usize>) -> bool {
        self.text.get(range).is_some_and(|part| part.contains('#'))
    }

    /// Returns the byte after the colon of an entry; `None` if it is written another way.
    pub(super) fn colon(&self, entry: &Entry) -> Option<usize> {
        let key = self.text.get(entry.key_span.start..entry.key_span.end)?;
        let at = entry.key_span.start + scalar_len(key);
        let rest = self.text.get(at..)?;
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        let blanks = if self.style.is_json {
            blanks
        } else {
            rest.len() - rest.trim_start_matches(' ').len()
        };
        rest.get(blanks..)?
            .starts_with(':')
            .then_some(at + blanks + 1)
    }

    /// Returns the byte after the dash of an item of a block list; comments may follow the dash.
    pub(super) fn dash(&self, item: &Node) -> Option<usize> {
        let mut before = self.text.get(..item.span.start)?;
        loop {
            before = before.trim_end_matches([' ', '\t', '\n', '\r']);
            if before.ends_with('-') {
                return Some(before.len());
            }
            let line = before.rfind('\n').map_or(0, |at| at + 1);
            let comment = before.get(line..)?.find('#')?;
            before = before.get(..line + comment)?;
        }
    }

    /// Returns whether a value is left out.
    pub(super) fn is_left_out(entry: &Entry) -> bool {
        entry.value.span == entry.key_span
    }

    /// Returns where the value of an entry ends; the end of its colon if it is left out.
    pub(super) fn entry_end(&self, entry: &Entry) -> Option<usize> {
        let colon = self.colon(entry)?;
        if Self::is_left_out(entry) {
            return Some(colon);
        }
        // The value of an alias is written elsewhere.
        if entry.value.span.start < colon {
            return None;
        }
        self.end(&entry.value)
    }

    /// Returns where a value ends, without the comments and blanks after it.
    pub(super) fn end(&self, node: &Node) -> Option<usize> {
        let last = match &node.kind {
            _ if self.is_flow(node) => return self.flow_end(node),
            Kind::Map(entries) => self.entry_end(entries.last()?)?,
            Kind::List(items) => {
                let item = items.last()?;
                // A later item follows an earlier one, or it is an alias.
                let in_order = items.windows(2).all(|pair| match pair {
                    [one, other] => one.span.start < other.span.start,
                    _ => true,
                });
                if !in_order || item.span.start < node.span.start {
                    return None;
                }
                if item.span.start == item.span.end {
                    self.dash(item)?
                } else {
                    self.end(item)?
                }
            }
            _ => {
                let written = self.text.get(node.span.start..node.span.end)?;
                node.span.start + scalar_len(written)
            }
        };
        (last >= node.span.start).then_some(last)
    }

    /// Returns where the comments begin that are right above a line and belong to it.
    pub(super) fn comments_above(&self, line: usize, indent: &str) -> usize {
        let mut begin = line;
        while begin > 0 {
            let above = self.line_start(begin - 1);
            let words = self.behind(above);
            let belongs = words
                .strip_prefix(indent)
                .is_some_and(|rest| rest.starts_with('#'));
            if !belongs {
                break;
            }
            begin = above;
        }
        begin
    }
}

/// Returns the length of a scalar without what the parser includes after it: blanks, and comments after quotes.
pub(super) fn scalar_len(written: &str) -> usize {
    let Some(quote) = written
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''))
    else {
        return written.trim_end().len();
    };
    let mut letters = written.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        if quote == '"' && letter == '\\' || letter == quote && quote == '\'' && next == Some(quote)
        {
            letters.next();
        } else if letter == quote {
            return at + 1;
        }
    }
    written.trim_end().len()
}
