//! YAML 1.2 with positions: core schema, text keys, no tags, one document.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError};

use super::{
    Scalars, SyntaxError,
    bounds::{DEPTH_MAX, mark_len, too_deep, too_many},
    json::duplicate,
};
use crate::{
    node::{Entry, Kind, Node},
    source::{Letters, Span},
};

mod merge;
pub(super) mod scalar;
mod written;

pub(super) use written::parse_as_written;

type Read<T> = Result<T, SyntaxError>;

/// Parses the whole of `text` as one YAML document.
pub(super) fn parse(text: &str, file: usize) -> Read<Node> {
    let skipped = mark_len(text);
    let body = text.get(skipped..).unwrap_or_default();
    // The parser reads an entire bracketed list before it reports its first item.
    let most = Scalars::Typed.values_max();
    let mut commas = text.bytes().enumerate().filter(|(_, byte)| *byte == b',');
    if let Some((at, _)) = commas.nth(most) {
        return Err(too_many(at, most));
    }
    Reader::new(body, skipped, file, Scalars::Typed)
        .whole()
        .map_err(|broken| broken.error)
}

struct Reader<'a> {
    places: Places<'a>,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    file: usize,
    scalars: Scalars,
    /// Bytes where an `@` begins a text, which the parser saw as a letter.
    marks: &'a [usize],
    /// Lists and maps that are not closed yet, outermost first.
    open: Vec<Open>,
    root: Option<Node>,
    /// Value of each anchor, with the number of its values.
    anchors: HashMap<usize, (Node, usize)>,
    values: usize,
    documents: usize,
}

/// A list or map that is not closed yet.
struct Open {
    start: usize,
    anchor: usize,
    values_before: usize,
    held: Collected,
}

enum Collected {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        keys: HashSet<String>,
        key: Option<Key>,
        /// Entries from `<<`, and its position.
        merged: Option<(Node, Span)>,
    },
}

/// A key whose value is still to come.
struct Key {
    text: String,
    span: Span,
    /// Whether it is an unquoted `<<`.
    merges: bool,
}

/// Why a document could not be parsed.
struct Broken {
    error: SyntaxError,
    /// Byte offset at which the parser itself gave up.
    scan: Option<usize>,
    /// Workflow state that was open there.
    state: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(body: &'a str, skipped: usize, file: usize, scalars: Scalars) -> Self {
        Self {
            places: Places::new(body, skipped),
            parser: Parser::new_from_str(body),
            file,
            scalars,
            marks: &[],
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            values: 0,
            documents: 0,
        }
    }

    fn whole(mut self) -> Result<Node, Box<Broken>> {
        let read = self.read();
        let state = self.open_state().map(str::to_owned);
        let broken = |error: SyntaxError| {
            Box::new(Broken {
                scan: error.by_parser.then_some(error.start),
                error,
                state,
            })
        };
        read.map_err(broken)?;
        match self.root {
            Some(root) if self.documents == 1 => Ok(root),
            _ => {
                let at = self.places.skipped;
                Err(Box::new(Broken {
                    error: SyntaxError::new(at..at, "the file is empty"),
                    scan: None,
                    state: None,
                }))
            }
        }
    }

    /// Returns the name of the state that is being parsed: the key below the innermost `states`.
    fn open_state(&self) -> Option<&str> {
        let keys: Vec<Option<&str>> = self
            .open
            .iter()
            .map(|open| match &open.held {
                Collected::Map { key, .. } => key.as_ref().map(|key| key.text.as_str()),
                Collected::List(_) => None,
            })
            .collect();
        let pairs = keys.windows(2).rev();
        let mut names = pairs.filter_map(|pair| match pair {
            [Some("states"), Some(name)] => Some(*name),
            _ => None,
        });
        names.next()
    }
}

impl Reader<'_> {
    fn read(&mut self) -> Read<()> {
        while let Some(next) = self.parser.next_event() {
            let (event, span) = next.map_err(|error| self.broken(&error))?;
            let start = self.places.byte(span.start);
            let end = self.places.byte(span.end).max(start);
            match event {
                Event::StreamEnd => break,
                Event::DocumentStart(_) => {
                    self.documents += 1;
                    if self.documents > 1 {
                        return Err(
                            SyntaxError::new(start..end, "a second document begins here")
                                .help("a file contains one workflow"),
                        );
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    refuse_tag(tag.is_some(), start..end)?;
                    self.scalar(text, style, anchor, start, end)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    refuse_tag(tag.is_some(), start..end)?;
                    self.open(start, anchor, Collected::List(Vec::new()))?;
                }
                Event::MappingStart(anchor, tag) => {
                    refuse_tag(tag.is_some(), start..end)?;
                    self.open(
                        start,
                        anchor,
                        Collected::Map {
                            entries: Vec::new(),
                            keys: HashSet::new(),
                            key: None,
                            merged: None,
                        },
                    )?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(end)?,
                Event::Alias(anchor) => self.alias(anchor, start, end)?,
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
            }
        }
        Ok(())
    }

    fn broken(&self, error: &ScanError) -> SyntaxError {
        let at = self.places.byte(*error.marker());
        let end = self.places.char_end(at);
        SyntaxError::new(
            at..end,
            format!("not valid YAML: {}", error.info().trim_end_matches('.')),
        )
        .by_parser()
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        start: usize,
        end: usize,
    ) -> Read<()> {
        let plain = style == ScalarStyle::Plain;
        let merges = self.at_key() && plain && text == "<<";
        if merges && self.scalars == Scalars::Typed {
            return Err(
                SyntaxError::new(start..end, "merge keys (`<<`) are not part of YAML 1.2")
                    .help("write the fields out"),
            );
        }
        let kind = match self.scalars {
            Scalars::AsWritten => {
                self.refuse_tab(start)?;
                written::scalar(text, plain, self.marks.contains(&start))
            }
            Scalars::Typed => scalar::read(text, plain).map_err(|message| {
                SyntaxError::new(start..end, message).help("quote it if text is meant")
            })?,
        };
        // A key is part of its value.
        let values = usize::from(!self.at_key());
        self.count(values, start)?;
        let node = Node {
            span: Span::new(self.file, start, end),
            kind,
        };
        self.keep_anchor(anchor, &node, 1)?;
        self.put(node, merges)
    }

    /// Returns whether a key comes next.
    fn at_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open {
                held: Collected::Map { key: None, .. },
                ..
            })
        )
    }

    fn open(&mut self, start: usize, anchor: usize, held: Collected) -> Read<()> {
        if self.open.len() > DEPTH_MAX {
            return Err(too_deep(start));
        }
        if self.at_key() {
            return Err(self.map_as_key(start));
        }
        self.open.push(Open {
            start,
            anchor,
            values_before: self.values,
            held,
        });
        self.count(1, start)
    }

    fn close(&mut self, end: usize) -> Read<()> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let kind = match open.held {
            Collected::List(items) => Kind::List(items),
            Collected::Map {
                mut entries,
                merged,
                ..
            } => {
                if let Some((node, span)) = merged {
                    merge::apply(&mut entries, node, span)?;
                }
                Kind::Map(entries)
            }
        };
        let end = self.places.trim(open.start, end);
        let node = Node {
            span: Span::new(self.file, open.start, end),
            kind,
        };
        self.keep_anchor(open.anchor, &node, self.values - open.values_before)?;
        self.put(node, false)
    }

    fn alias(&mut self, anchor: usize, start: usize, end: usize) -> Read<()> {
        let Some((node, values)) = self.anchors.get(&anchor).cloned() else {
            return Err(SyntaxError::new(
                start..end,
                "this alias is inside its own anchor",
            ));
        };
        self.count(values, start)?;
        // The depth of an alias's value adds to the present depth.
        if self.open.len() + depth(&node) > DEPTH_MAX {
            return Err(too_deep(start));
        }
        self.put(node, false)
    }

    fn count(&mut self, values: usize, at: usize) -> Read<()> {
        self.values = self.values.saturating_add(values);
        let max = self.scalars.values_max();
        if self.values > max {
            Err(too_many(at, max))
        } else {
            Ok(())
        }
    }

    /// Stores a copy of an anchor's value; the copy counts.
    fn keep_anchor(&mut self, anchor: usize, node: &Node, values: usize) -> Read<()> {
        if anchor != 0 {
            self.count(values, node.span.start)?;
            self.anchors.insert(anchor, (node.clone(), values));
        }
        Ok(())
    }

    /// Adds a finished value to its parent.
    fn put(&mut self, node: Node, merges: bool) -> Read<()> {
        match self.open.last_mut().map(|open| &mut open.held) {
            None => self.root = Some(node),
            Some(Collected::List(items)) => items.push(node),
            Some(Collected::Map {
                entries,
                keys,
                key,
                merged,
            }) => match key.take() {
                None => *key = Some(as_key(node, merges)?),
                Some(Key {
                    text,
                    span: key_span,
                    merges,
                }) => {
                    // A missing value has the position of its key.
                    let is_there = node.span.end > node.span.start;
                    let span = if is_there { node.span } else { key_span };
                    let entry = Entry {
                        key: text,
                        key_span,
                        value: Node { span, ..node },
                    };
                    if !keys.insert(entry.key.clone()) {
                        return Err(duplicate(&entry));
                    }
                    if merges {
                        *merged = Some((entry.value, key_span));
                    } else {
                        entries.push(entry);
                    }
                }
            },
        }
        Ok(())
    }
}

/// Converts a value to the key of a map.
fn as_key(node: Node, merges: bool) -> Read<Key> {
    let at = node.span.start..node.span.end;
    match node.kind {
        Kind::Text(text) | Kind::Plain(text) => Ok(Key {
            text,
            span: node.span,
            merges,
        }),
        _ => Err(not_text(at)),
    }
}

fn refuse_tag(tagged: bool, at: std::ops::Range<usize>) -> Read<()> {
    if tagged {
        return Err(SyntaxError::new(at, "tags (`!…`) are not allowed")
            .help("remove the tag; quotes make text"));
    }
    Ok(())
}

fn not_text(at: std::ops::Range<usize>) -> SyntaxError {
    SyntaxError::new(at, "a key must be text").help("put it in quotes")
}

/// Returns the nesting of lists and maps.
fn depth(node: &Node) -> usize {
    let items = node
        .items()
        .iter()
        .chain(node.entries().iter().map(|entry| &entry.value));
    items.map(|item| 1 + depth(item)).max().unwrap_or_default()
}

/// Converts the parser's lines and columns to bytes.
///
/// Its index counts bytes in comments and characters elsewhere; its lines and columns are reliable.
struct Places<'a> {
    body: &'a str,
    skipped: usize,
    /// Number of characters before each line.
    lines: Vec<usize>,
    letters: Letters,
}

impl<'a> Places<'a> {
    fn new(body: &'a str, skipped: usize) -> Self {
        let mut lines = vec![0];
        let mut letters = body.chars().enumerate().peekable();
        while let Some((at, letter)) = letters.next() {
            let next = letters.peek().map(|(_, next)| *next);
            if letter == '\n' || (letter == '\r' && next != Some('\n')) {
                lines.push(at + 1);
            }
        }
        Self {
            body,
            skipped,
            lines,
            letters: Letters::of(body),
        }
    }

    fn byte(&self, marker: Marker) -> usize {
        match self.lines.get(marker.line().saturating_sub(1)) {
            Some(before) => self.skipped + self.letters.byte(self.body, before + marker.col()),
            None => self.skipped + self.body.len(),
        }
    }

    /// Returns the text from the byte `at` on.
    fn rest(&self, at: usize) -> &str {
        at.checked_sub(self.skipped)
            .and_then(|at| self.body.get(at..))
            .unwrap_or_default()
    }

    /// Returns the text of the line before the byte `at`.
    fn line_before(&self, at: usize) -> &str {
        let before = at
            .checked_sub(self.skipped)
            .and_then(|at| self.body.get(..at))
            .unwrap_or_default();
        before.rsplit('\n').next().unwrap_or_default()
    }

    fn char_end(&self, at: usize) -> usize {
        let rest = self.body.get(at - self.skipped..).unwrap_or_default();
        at + rest.chars().next().map_or(0, char::len_utf8)
    }

    /// Removes blanks and line breaks before `end`.
    fn trim(&self, start: usize, end: usize) -> usize {
        let inner = self
            .body
            .get(start - self.skipped..end.saturating_sub(self.skipped))
            .unwrap_or_default();
        start + inner.trim_end().len()
    }
}
