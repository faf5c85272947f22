//! `docs`: checks that every relative link leads to a file and to a heading in it, and that included files exist.

mod page;

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail};
use page::{Link, Page};

use crate::{arguments, steps::Steps, tools};

/// Folders without files written by hand.
const SKIPPED: &[&str] = &["target", "node_modules"];
/// The book, and its table of contents.
const BOOK: &str = "docs/src";
const SUMMARY: &str = "SUMMARY.md";

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    steps.own("links", "every link leads somewhere", check);
    Ok(steps.finish())
}

/// Checks the pages of the workspace and the links between them.
///
/// # Errors
/// A link leads nowhere, an included file is missing, or the table of contents omits a page or lists it twice; the
/// error lists all of them.
pub(crate) fn check() -> Result<()> {
    let pages = Pages::read(&tools::root())?;
    let wrong = pages.wrong();
    if wrong.is_empty() {
        println!("{} pages, {} links", pages.pages.len(), pages.links());
        return Ok(());
    }
    bail!("{}", wrong.join("\n"))
}

/// Every page of a folder, by its relative path.
#[derive(Debug)]
struct Pages {
    root: PathBuf,
    pages: BTreeMap<PathBuf, Page>,
}

impl Pages {
    fn read(root: &Path) -> Result<Self> {
        let mut found = Self {
            root: root.to_owned(),
            pages: BTreeMap::new(),
        };
        found.walk(root)?;
        Ok(found)
    }

    fn walk(&mut self, folder: &Path) -> Result<()> {
        let failed = || format!("`{}` cannot be read", folder.display());
        for entry in fs::read_dir(folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            if name.starts_with('.') || SKIPPED.contains(&name.as_str()) {
                continue;
            }
            if entry.file_type().with_context(failed)?.is_dir() {
                self.walk(&path)?;
            } else if name.ends_with(".md") {
                let text = tools::read(&path)?;
                let relative = path.strip_prefix(&self.root).unwrap_or(&path);
                self.pages.insert(relative.to_owned(), Page::read(&text));
            }
        }
        Ok(())
    }

    fn links(&self) -> usize {
        self.pages.values().map(|page| page.links.len()).sum()
    }

    /// Returns all problems, one per line.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (path, page) in &self.pages {
            for link in &page.links {
                if let Err(why) = self.follow(path, link) {
                    let (path, line, target) = (path.display(), link.line, &link.target);
                    wrong.push(format!("{path}:{line}: `{target}` {why}"));
                }
            }
            for include in &page.includes {
                if !self.is_there(path, &include.target) {
                    let (path, line, target) = (path.display(), include.line, &include.target);
                    wrong.push(format!(
                        "{path}:{line}: `{target}` is included and not there"
                    ));
                }
            }
        }
        wrong.extend(self.contents());
        wrong
    }

    fn is_there(&self, from: &Path, file: &str) -> bool {
        let folder = from.parent().unwrap_or(Path::new(""));
        inside(&folder.join(file)).is_some_and(|path| self.root.join(path).is_file())
    }

    fn follow(&self, from: &Path, link: &Link) -> Result<(), String> {
        let (file, anchor) = match link.target.split_once('#') {
            Some((file, anchor)) => (file, Some(anchor)),
            None => (link.target.as_str(), None),
        };
        if is_elsewhere(file) {
            return Ok(());
        }
        let path = if file.is_empty() {
            from.to_owned()
        } else {
            let folder = from.parent().unwrap_or(Path::new(""));
            inside(&folder.join(file)).ok_or("leads out of the project")?
        };
        if !self.pages.contains_key(&path) && !self.root.join(&path).exists() {
            return Err("leads to no file".to_owned());
        }
        match (anchor, self.pages.get(&path)) {
            (Some(anchor), Some(page)) if !page.anchors.contains(anchor) => {
                Err("leads to no heading of that file".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Returns the pages of the book that its table of contents omits or lists more than once.
    fn contents(&self) -> Vec<String> {
        let summary = Path::new(BOOK).join(SUMMARY);
        let Some(contents) = self.pages.get(&summary) else {
            return Vec::new();
        };
        let listed: Vec<PathBuf> = contents
            .links
            .iter()
            .filter_map(|link| inside(&Path::new(BOOK).join(&link.target)))
            .collect();
        let pages = self.pages.keys();
        pages
            .filter(|path| path.starts_with(BOOK) && **path != summary)
            .filter_map(|path| {
                let why = match listed.iter().filter(|listed| *listed == path).count() {
                    0 => "is not in it",
                    1 => return None,
                    _ => "is in it more than once",
                };
                Some(format!("{}: `{}` {why}", summary.display(), path.display()))
            })
            .collect()
    }
}

/// Returns whether the target is outside this project: another host or a mail address.
fn is_elsewhere(target: &str) -> bool {
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| target.starts_with(scheme))
}

/// Resolves `..` lexically; returns `None` if the path leads out of the folder.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => whole.push(name),
            Component::CurDir => {}
            Component::ParentDir if whole.pop() => {}
            _ => return None,
        }
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Page, Pages};

    /// Checks the problems of pages that link to each other.
    fn check(pages: &[(&str, &str)], expected: &[&str]) {
        let root = env!("CARGO_MANIFEST_DIR").into();
        let pages = pages
            .iter()
            .map(|(path, text)| (PathBuf::from(path), Page::read(text)))
            .collect();
        assert_eq!(Pages { root, pages }.wrong(), expected);
    }

    #[test]
    fn links_to_files_and_headings_pass() {
        check(
            &[
                (
                    "Cargo.toml.md",
                    "[a](Cargo.toml) [b](https://example.org/no#where) [c](#end)\n# End",
                ),
                ("src/main.rs", "# Top"),
                ("src/a.md", "[up](../Cargo.toml) [there](main.rs#top)"),
            ],
            &[],
        );
    }

    #[test]
    fn links_that_lead_nowhere_are_named_with_their_line() {
        check(
            &[("a.md", "\n[a](none.md)\n[b](#none) [c](../../x)")],
            &[
                "a.md:2: `none.md` leads to no file",
                "a.md:3: `#none` leads to no heading of that file",
                "a.md:3: `../../x` leads out of the project",
            ],
        );
    }

    #[test]
    fn a_page_missing_from_the_contents_is_named() {
        check(
            &[
                ("docs/src/SUMMARY.md", "[b](b.md)\n[b](b.md)"),
                ("docs/src/a.md", ""),
                ("docs/src/b.md", ""),
            ],
            &[
                "docs/src/SUMMARY.md: `docs/src/a.md` is not in it",
                "docs/src/SUMMARY.md: `docs/src/b.md` is in it more than once",
            ],
        );
    }

    #[test]
    fn an_included_file_that_is_missing_is_named() {
        check(
            &[(
                "src/a.md",
                "```\n{{#include ../Cargo.toml}}\n{{#include main.rs:2:4}}\n{{#include none.yaml}}\n```",
            )],
            &["src/a.md:4: `none.yaml` is included and not there"],
        );
    }
}
