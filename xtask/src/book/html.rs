//! The links and link targets of a built page.

use std::{collections::BTreeSet, path::Path};

/// The parts of a built page that the check of links needs.
#[derive(Debug, Default)]
pub(super) struct Html {
    /// The targets of links, images, styles and scripts.
    pub(super) links: BTreeSet<String>,
    /// The ids that a link may name after `#`.
    ids: BTreeSet<String>,
    /// Whether an include was not replaced by mdBook.
    left: bool,
}

impl Html {
    /// Parses a page written by mdBook, which quotes every attribute.
    pub(super) fn read(text: &str) -> Self {
        Self {
            links: values(text, " href=\"")
                .chain(values(text, " src=\""))
                .collect(),
            ids: values(text, " id=\"").collect(),
            left: text.contains("{{#include"),
        }
    }
}

fn values<'a>(text: &'a str, before: &'static str) -> impl Iterator<Item = String> + 'a {
    text.split(before)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(|value| value.replace("&amp;", "&"))
}

/// Returns all problems of the pages in a folder, one per line.
pub(super) fn wrong(folder: &Path, pages: &[(String, Html)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, page) in pages {
        if page.left {
            wrong.push(format!("{name}: an include was left as it is"));
        }
        for link in &page.links {
            if let Err(why) = follow(folder, pages, (name.as_str(), page), link) {
                wrong.push(format!("{name}: `{link}` {why}"));
            }
        }
    }
    wrong
}

fn follow(
    folder: &Path,
    pages: &[(String, Html)],
    (name, page): (&str, &Html),
    link: &str,
) -> Result<(), &'static str> {
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, anchor),
        None => (link, ""),
    };
    if file.contains("://") || file.starts_with("mailto:") || file.starts_with("data:") {
        return Ok(());
    }
    let target = match file {
        "" => Some(page),
        _ if file == name => Some(page),
        _ => pages
            .iter()
            .find_map(|(name, page)| (name == file).then_some(page)),
    };
    match target {
        None if folder.join(file).is_file() => Ok(()),
        None => Err("leads to no file"),
        Some(target) if anchor.is_empty() || target.ids.contains(anchor) => Ok(()),
        Some(_) => Err("leads to no heading of that page"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Html, wrong};

    /// Checks the problems of pages; other links are relative to this crate's folder.
    fn check(pages: &[(&str, &str)], expected: &[&str]) {
        let pages: Vec<(String, Html)> = pages
            .iter()
            .map(|(name, text)| ((*name).to_owned(), Html::read(text)))
            .collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(wrong(folder, &pages), expected);
    }

    #[test]
    fn links_to_pages_headings_and_files_pass() {
        check(
            &[
                (
                    "a.html",
                    "<h1 id=\"top\"></h1><a href=\"b.html#end\"><a href=\"#top\">",
                ),
                (
                    "b.html",
                    "<h2 id=\"end\"></h2><img src=\"Cargo.toml\"><a href=\"https://example.org/x#y\">",
                ),
            ],
            &[],
        );
    }

    #[test]
    fn links_that_lead_nowhere_and_includes_that_were_left_are_named() {
        check(
            &[
                ("a.html", "<a href=\"b.html#none\"><a href=\"none.html\">"),
                ("b.html", "{{#include x}}"),
            ],
            &[
                "a.html: `b.html#none` leads to no heading of that page",
                "a.html: `none.html` leads to no file",
                "b.html: an include was left as it is",
            ],
        );
    }
}
