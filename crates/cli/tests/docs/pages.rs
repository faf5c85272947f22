//! The pages of the book, and their content.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A fenced block of a page.
#[derive(Debug)]
pub(crate) struct Block {
    /// The word after the opening fence.
    pub(crate) language: String,
    /// The line number of the opening fence, from 1.
    pub(crate) line: usize,
    /// Its lines, without the fences.
    pub(crate) text: String,
}

/// Returns the root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Reads every page of the book, and the pages at the root for users and contributors.
pub(crate) fn pages() -> Vec<(PathBuf, String)> {
    let root = repository();
    let at_the_root = ["README.md", "CONTRIBUTING.md", "SECURITY.md"];
    let mut paths: Vec<PathBuf> = at_the_root.iter().map(|name| root.join(name)).collect();
    let book = fs::read_dir(root.join("docs/src")).unwrap();
    paths.extend(book.map(|entry| entry.unwrap().path()));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.sort();
    assert!(paths.len() > 8, "the book is missing: {paths:?}");
    paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

/// Returns the fenced blocks of a page.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => {
                open = Some(Block {
                    language: language.trim().to_owned(),
                    line: index + 1,
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed: {open:?}");
    found
}

/// Returns a page without its blocks.
pub(crate) fn prose(text: &str) -> String {
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}
