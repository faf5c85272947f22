//! `book`: builds the book with mdBook at a pinned version and checks the built pages.
//!
//! It is not part of `test`: mdBook is built from source if it is not installed, which takes minutes.

mod html;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail};
use html::Html;

use crate::{arguments, steps::Steps, tools};

/// The version of mdBook that builds the book.
const VERSION: &str = "0.5.4";
/// The output folder below `target`.
const PAGES: &str = "book";
/// The page for an address that does not exist; its links are relative to the root of a host.
const NOT_FOUND: &str = "404.html";

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    let pages = tools::root().join("target").join(PAGES);
    steps.own("mdbook", "the program is there, at its version", install);
    let to = pages.to_string_lossy().into_owned();
    let mdbook = program().to_string_lossy().into_owned();
    let build = tools::program(&mdbook, &["build", "docs", "--dest-dir", &to]);
    steps.command("book", build);
    steps.own("pages", "links and includes of the built pages", || {
        check(&pages)
    });
    Ok(steps.finish())
}

/// Returns the path of mdBook, installed for this workspace only.
fn program() -> PathBuf {
    tools::root().join("target/mdbook/bin/mdbook")
}

fn install() -> Result<()> {
    let mdbook = program().to_string_lossy().into_owned();
    let wanted = format!("mdbook v{VERSION}");
    if tools::answer(&mut tools::program(&mdbook, &["--version"])) == Some(wanted) {
        println!("mdBook {VERSION} is there, nothing to do");
        return Ok(());
    }
    let root = tools::root().join("target/mdbook");
    let root = root.to_string_lossy();
    let call = [
        "install",
        "mdbook",
        "--version",
        VERSION,
        "--locked",
        "--force",
        "--root",
        &root,
        "--no-default-features",
        "--features",
        "search",
    ];
    let ended = tools::cargo(&call)
        .status()
        .context("cargo cannot be started")?;
    if !ended.success() {
        bail!("mdBook {VERSION} was not built: {ended}");
    }
    Ok(())
}

/// Checks the built pages and the links between them.
///
/// # Errors
/// A link leads nowhere, an include was not replaced, or the search index is missing; the error lists all of them.
fn check(folder: &Path) -> Result<()> {
    let mut pages = Vec::new();
    let mut has_search = false;
    for entry in
        fs::read_dir(folder).with_context(|| format!("no pages in {}", folder.display()))?
    {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        has_search |= name.starts_with("searchindex");
        if name.ends_with(".html") && name != NOT_FOUND {
            pages.push((name.into_owned(), Html::read(&tools::read(&path)?)));
        }
    }
    let mut wrong = html::wrong(folder, &pages);
    if !has_search {
        wrong.push("the book has no index for its search".to_owned());
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    let links: usize = pages.iter().map(|(_, page)| page.links.len()).sum();
    println!("{} pages, {links} links", pages.len());
    Ok(())
}
