//! JSON Pointers of positions in a tree, each found without a walk through the whole tree.

use std::ops::Range;

use super::{Entry, Kind, Node};
use crate::source::Span;

/// The keys and values of a tree in order of their beginnings.
pub(crate) struct Pointers<'t> {
    parts: Vec<Part<'t>>,
    /// Indices into `parts`, by where they begin; of those that begin together, the outer one first.
    begun: Vec<usize>,
}

/// A key or a value.
struct Part<'t> {
    span: Span,
    step: Step<'t>,
    /// The enclosing list or map; `None` for the root.
    of: Option<usize>,
}

enum Step<'t> {
    Root,
    Key(&'t str),
    Value(&'t str),
    Item(usize),
}

impl<'t> Pointers<'t> {
    pub(crate) fn of(root: &'t Node) -> Self {
        let mut pointers = Self {
            parts: Vec::new(),
            begun: Vec::new(),
        };
        pointers.add(root, Step::Root, None);
        let mut begun: Vec<usize> = (0..pointers.parts.len()).collect();
        // An anchor has the position of its first use; later ones are ignored.
        let rank = |at: &usize| {
            let span = pointers.parts.get(*at).map(|part| part.span);
            span.map(|span| (span.start, usize::MAX - span.end))
        };
        begun.sort_by_key(rank);
        begun.dedup_by_key(|at| {
            let part = pointers.parts.get(*at);
            part.map(|part| (part.span, matches!(part.step, Step::Key(_))))
        });
        pointers.begun = begun;
        pointers
    }

    fn add(&mut self, node: &'t Node, step: Step<'t>, of: Option<usize>) {
        let at = self.parts.len();
        let span = node.span;
        self.parts.push(Part { span, step, of });
        match &node.kind {
            Kind::Map(entries) => {
                for Entry {
                    key,
                    key_span,
                    value,
                } in entries
                {
                    self.parts.push(Part {
                        span: *key_span,
                        step: Step::Key(key),
                        of: Some(at),
                    });
                    self.add(value, Step::Value(key), Some(at));
                }
            }
            Kind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.add(item, Step::Item(index), Some(at));
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Plain(_) => {}
        }
    }

    /// Returns the JSON Pointer of the innermost key or value that `span` begins in.
    pub(crate) fn at(&self, span: &Range<usize>) -> Option<String> {
        let begins = |at: &usize| {
            let part = self.parts.get(*at);
            part.is_some_and(|part| part.span.start <= span.start)
        };
        let after = self.begun.partition_point(begins);
        let mut next = after
            .checked_sub(1)
            .and_then(|last| self.begun.get(last))
            .copied();
        while let Some(at) = next {
            let part = self.parts.get(at)?;
            let covers = span.start < part.span.end.max(part.span.start + 1);
            if covers && !self.is_lack(part, span) {
                return Some(self.pointer(at));
            }
            next = part.of;
        }
        None
    }

    /// Returns whether `span` concerns the map that begins with the key `part`: a missing key is reported at the map's first
    /// byte.
    fn is_lack(&self, part: &Part<'_>, span: &Range<usize>) -> bool {
        let Step::Key(key) = part.step else {
            return false;
        };
        let map = part.of.and_then(|of| self.parts.get(of));
        let is_first = map.is_some_and(|map| map.span.start == span.start);
        is_first && span.len() == 1 && key.len() > 1
    }

    fn pointer(&self, at: usize) -> String {
        let mut steps = Vec::new();
        let mut next = self.parts.get(at);
        while let Some(part) = next {
            match &part.step {
                Step::Root => {}
                Step::Key(key) | Step::Value(key) => {
                    steps.push(key.replace('~', "~0").replace('/', "~1"));
                }
                Step::Item(index) => steps.push(index.to_string()),
            }
            next = part.of.and_then(|of| self.parts.get(of));
        }
        let steps = steps.iter().rev();
        steps.map(|step| format!("/{step}")).collect()
    }
}
