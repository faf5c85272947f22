//! The links and headings of a Markdown page.

use std::collections::{BTreeMap, BTreeSet};

/// The parts of a page that the check of links needs.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Its links.
    pub(super) links: Vec<Link>,
    /// The files that mdBook includes, also inside code blocks.
    pub(super) includes: Vec<Link>,
    /// The anchors that a link may name after `#`.
    pub(super) anchors: BTreeSet<String>,
}

/// A link, as written.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) line: usize,
    pub(super) target: String,
}

impl Page {
    /// Parses links and headings, ignoring those in code.
    pub(super) fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut seen = BTreeMap::new();
        let mut fence: Option<&str> = None;
        for (line, text) in (1..).zip(text.lines()) {
            page.includes.extend(included(text).map(|target| Link {
                line,
                target: target.to_owned(),
            }));
            let begin = text.trim_start();
            let mark = ["```", "~~~"]
                .into_iter()
                .find(|mark| begin.starts_with(mark));
            match (fence, mark) {
                (None, Some(mark)) => fence = Some(mark),
                (Some(open), Some(mark)) if open == mark => fence = None,
                (Some(_), _) => {}
                (None, None) => page.read_line(line, text, &mut seen),
            }
        }
        page
    }

    fn read_line(&mut self, line: usize, text: &str, seen: &mut BTreeMap<String, usize>) {
        if let Some(title) = heading(text) {
            let anchor = anchor(title);
            let count = seen.entry(anchor.clone()).or_default();
            // A second heading with the same text gets the suffix 1.
            self.anchors.insert(match *count {
                0 => anchor,
                before => format!("{anchor}-{before}"),
            });
            *count += 1;
        }
        let text = without_code(text);
        let targets = targets(&text).map(|target| Link {
            line,
            target: target.to_owned(),
        });
        self.links.extend(targets);
        self.anchors
            .extend(quoted(&text, "id=\"").map(str::to_owned));
    }
}

/// Returns the files that a line includes, without the selected line ranges.
fn included(line: &str) -> impl Iterator<Item = &str> {
    line.split("{{#include ").skip(1).filter_map(|rest| {
        let (what, _) = rest.split_once("}}")?;
        what.trim().split(':').next()
    })
}

/// Returns the text of a heading written with `#`.
fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let depth = line.len() - title.len();
    ((1..=6).contains(&depth) && title.starts_with(' ')).then(|| title.trim())
}

/// Returns the anchor that the pages' host generates for a heading.
fn anchor(title: &str) -> String {
    let mut anchor = String::new();
    for character in linked_text(title).chars() {
        match character {
            ' ' | '-' => anchor.push('-'),
            '_' => anchor.push('_'),
            other if other.is_alphanumeric() => anchor.extend(other.to_lowercase()),
            _ => {}
        }
    }
    anchor
}

/// Replaces each `[text](target)` by its text.
fn linked_text(title: &str) -> String {
    let mut text = String::new();
    let mut rest = title;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text + rest
}

/// Removes the text between backticks.
fn without_code(line: &str) -> String {
    let pieces: Vec<&str> = line.split('`').collect();
    let last = pieces.len().saturating_sub(1);
    let mut text = String::new();
    for (place, piece) in pieces.iter().enumerate() {
        // An odd piece is code, unless its closing backtick is missing.
        if place % 2 == 0 || place == last {
            text.push_str(piece);
        }
    }
    text
}

/// Returns the targets of a line's links: inline, by reference, in HTML.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).map(|rest| {
        let rest = rest.split(')').next().unwrap_or_default();
        // A title may follow after a space.
        rest.split(' ').next().unwrap_or_default()
    });
    let reference = line
        .starts_with('[')
        .then(|| line.split_once("]: "))
        .flatten()
        .and_then(|(_, rest)| rest.split_whitespace().next());
    inline
        .chain(reference)
        .chain(quoted(line, "href=\""))
        .chain(quoted(line, "src=\""))
        .filter(|target| !target.is_empty())
}

fn quoted<'a>(line: &'a str, before: &'static str) -> impl Iterator<Item = &'a str> {
    line.split(before)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::Page;

    fn check(text: &str, links: &[&str], anchors: &[&str]) {
        let page = Page::read(text);
        let found: Vec<&str> = page.links.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(found, links, "links of {text}");
        let found: Vec<&str> = page.anchors.iter().map(String::as_str).collect();
        assert_eq!(found, anchors, "anchors of {text}");
    }

    #[test]
    fn every_way_to_write_a_link_is_seen() {
        check(
            "see [a](a.md#x), ![b](b.png \"B\")",
            &["a.md#x", "b.png"],
            &[],
        );
        check("[a]: a.md \"A\"", &["a.md"], &[]);
        check(
            "<a href=\"a.md\"><img src=\"b.svg\"></a>",
            &["a.md", "b.svg"],
            &[],
        );
    }

    #[test]
    fn code_holds_no_links() {
        check("`[a](a.md)` and [b](b.md)", &["b.md"], &[]);
        check("```\n[a](a.md)\n# no\n```\n[b](b.md)", &["b.md"], &[]);
        check("~~~\n```\n# no\n~~~\n# yes", &[], &["yes"]);
    }

    #[test]
    fn headings_have_the_anchors_of_their_host() {
        check(
            "## What `run` does, in *short*",
            &[],
            &["what-run-does-in-short"],
        );
        check("# Same\n# Same", &[], &["same", "same-1"]);
        check("# The [list](a.md) of_all", &["a.md"], &["the-list-of_all"]);
        check("#no\n<a id=\"kept\"></a>", &[], &["kept"]);
    }
}
