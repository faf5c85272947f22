//! YAML 1.2 with places: core schema, text keys, no tags, one document.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError};

use super::{
    SyntaxError,
    bounds::{DEPTH_MAX, VALUES_MAX, mark_len, too_deep, too_many},
    json::duplicate,
};
use crate::{
    node::{Entry, Kind, Node},
    source::{Letters, Span},
};

mod scalar;

type Read<T> = Result<T, SyntaxError>;

/// Reads the whole of `text` as one YAML document.
pub(super) fn parse(text: &str, file: usize) -> Read<Node> {
    let skipped = mark_len(text);
    let body = text.get(skipped..).unwrap_or_default();
    let mut reader = Reader {
        places: Places::new(body, skipped),
        parser: Parser::new_from_str(body),
        file,
        open: Vec::new(),
        root: None,
        anchors: HashMap::new(),
        values: 0,
        documents: 0,
    };
    reader.read()?;
    match reader.root {
        Some(root) if reader.documents == 1 => Ok(root),
        _ => Err(SyntaxError::new(skipped..skipped, "the file is empty")),
    }
}

struct Reader<'a> {
    places: Places<'a>,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    file: usize,
    /// Lists and maps that are not closed yet, outermost first.
    open: Vec<Open>,
    root: Option<Node>,
    /// What each anchor stands for, with the number of its values.
    anchors: HashMap<usize, (Node, usize)>,
    values: usize,
    documents: usize,
}

/// A list or map that is not closed yet.
struct Open {
    start: usize,
    anchor: usize,
    values_before: usize,
    held: Held,
}

enum Held {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        keys: HashSet<String>,
        key: Option<(String, Span)>,
    },
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
                                .help("a file holds one workflow"),
                        );
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    refuse_tag(tag.is_some(), start..end)?;
                    self.scalar(text, style, anchor, start, end)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    refuse_tag(tag.is_some(), start..end)?;
                    self.open(start, anchor, Held::List(Vec::new()))?;
                }
                Event::MappingStart(anchor, tag) => {
                    refuse_tag(tag.is_some(), start..end)?;
                    self.open(
                        start,
                        anchor,
                        Held::Map {
                            entries: Vec::new(),
                            keys: HashSet::new(),
                            key: None,
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
        if self.at_key() && plain && text == "<<" {
            return Err(
                SyntaxError::new(start..end, "merge keys (`<<`) are not part of YAML 1.2")
                    .help("write the fields out"),
            );
        }
        let kind = match scalar::read(text, plain) {
            Ok(kind) => kind,
            Err(message) => {
                return Err(SyntaxError::new(start..end, message).help("quote it if text is meant"));
            }
        };
        self.count(1, start)?;
        let node = Node {
            span: Span::new(self.file, start, end),
            kind,
        };
        self.keep_anchor(anchor, &node, 1)?;
        self.put(node)
    }

    /// Tells whether what comes next is a key.
    fn at_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open {
                held: Held::Map { key: None, .. },
                ..
            })
        )
    }

    fn open(&mut self, start: usize, anchor: usize, held: Held) -> Read<()> {
        if self.open.len() > DEPTH_MAX {
            return Err(too_deep(start));
        }
        if self.at_key() {
            return Err(not_text(start..start + 1));
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
            Held::List(items) => Kind::List(items),
            Held::Map { entries, .. } => Kind::Map(entries),
        };
        let end = self.places.trim(open.start, end);
        let node = Node {
            span: Span::new(self.file, open.start, end),
            kind,
        };
        self.keep_anchor(open.anchor, &node, self.values - open.values_before)?;
        self.put(node)
    }

    fn alias(&mut self, anchor: usize, start: usize, end: usize) -> Read<()> {
        let Some((node, values)) = self.anchors.get(&anchor).cloned() else {
            return Err(SyntaxError::new(
                start..end,
                "this alias stands inside what it stands for",
            ));
        };
        self.count(values, start)?;
        // The depth of what an alias brings along adds to the depth here.
        if self.open.len() + depth(&node) > DEPTH_MAX {
            return Err(too_deep(start));
        }
        self.put(node)
    }

    fn count(&mut self, values: usize, at: usize) -> Read<()> {
        self.values = self.values.saturating_add(values);
        if self.values > VALUES_MAX {
            Err(too_many(at))
        } else {
            Ok(())
        }
    }

    /// Keeps a copy of what an anchor stands for; the copy counts.
    fn keep_anchor(&mut self, anchor: usize, node: &Node, values: usize) -> Read<()> {
        if anchor != 0 {
            self.count(values, node.span.start)?;
            self.anchors.insert(anchor, (node.clone(), values));
        }
        Ok(())
    }

    /// Puts a finished value where it belongs.
    fn put(&mut self, node: Node) -> Read<()> {
        match self.open.last_mut().map(|open| &mut open.held) {
            None => self.root = Some(node),
            Some(Held::List(items)) => items.push(node),
            Some(Held::Map { entries, keys, key }) => match key.take() {
                None => {
                    let at = node.span.start..node.span.end;
                    let Kind::Text(text) = node.kind else {
                        return Err(not_text(at));
                    };
                    *key = Some((text, node.span));
                }
                Some((text, key_span)) => {
                    // A value that is not there is shown at its key.
                    let is_there = node.span.end > node.span.start;
                    let span = if is_there { node.span } else { key_span };
                    let node = Node { span, ..node };
                    let entry = Entry {
                        key: text,
                        key_span,
                        value: node,
                    };
                    if !keys.insert(entry.key.clone()) {
                        return Err(duplicate(&entry));
                    }
                    entries.push(entry);
                }
            },
        }
        Ok(())
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

/// Returns how many lists and maps lie within each other.
fn depth(node: &Node) -> usize {
    let items = node
        .items()
        .iter()
        .chain(node.entries().iter().map(|entry| &entry.value));
    items.map(|item| 1 + depth(item)).max().unwrap_or_default()
}

/// Turns the parser's lines and columns into bytes.
///
/// Its index counts bytes in comments and characters elsewhere; its lines and
/// columns can be trusted.
struct Places<'a> {
    body: &'a str,
    skipped: usize,
    /// Characters before each line.
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

    fn char_end(&self, at: usize) -> usize {
        let rest = self.body.get(at - self.skipped..).unwrap_or_default();
        at + rest.chars().next().map_or(0, char::len_utf8)
    }

    /// Leaves out blanks and line breaks before `end`.
    fn trim(&self, start: usize, end: usize) -> usize {
        let inner = self
            .body
            .get(start - self.skipped..end.saturating_sub(self.skipped))
            .unwrap_or_default();
        start + inner.trim_end().len()
    }
}
