//! The documents of datasources as a list: what `generate_documents_tree` gives.

use std::time::UNIX_EPOCH;

use globset::GlobSet;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use interlock_core::glob::compile_plain;
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::{
    Code, ToolContext,
    end::Failure,
    files::read,
    knowledge::{self, SEPARATOR},
};

/// Bytes of texts that one list may have.
const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Which documents are listed, and what of each.
#[derive(Debug, Clone, Copy, Default)]
pub struct Documents<'a> {
    /// Lines as in a gitignore file, or paths: what they name is listed, what `!` names is not.
    pub filter: &'a [String],
    /// A regular expression that a path must hold a match of, or else a glob.
    pub pattern: Option<&'a str>,
    /// Whether texts are in the list.
    pub content: bool,
    /// Whether sizes and times are in the list.
    pub metadata: bool,
    /// How deep folders are followed; 0: none. `None`: all the way.
    pub depth_max: Option<u64>,
}

/// Lists the documents of `around.datasources`: each with `source`, `file_path` and `chunk_num`.
///
/// In the order of the datasources, and of paths in each. Links are not followed.
///
/// # Errors
/// A datasource cannot be read, or a pattern is none; one sentence.
pub fn documents(wanted: &Documents<'_>, context: &ToolContext<'_>) -> Result<Vec<Value>, String> {
    listed(wanted, context).map_err(|failure| failure.message)
}

fn listed(wanted: &Documents<'_>, context: &ToolContext<'_>) -> Result<Vec<Value>, Failure> {
    let chosen = Chosen::new(wanted)?;
    let mut all = Vec::new();
    let mut bytes = 0_usize;
    for source in context.datasources {
        let mut paths = knowledge::documents(source, context)?;
        paths.sort();
        for path in paths {
            let below = knowledge::relative(source, &path);
            if !chosen.takes(below) {
                continue;
            }
            let mut document = Map::new();
            let id = format!("{}{SEPARATOR}{below}", source.id);
            document.insert("source".to_owned(), json!(id));
            document.insert("file_path".to_owned(), json!(below));
            document.insert("chunk_num".to_owned(), json!(0));
            // What is not text has none.
            if wanted.content
                && let Ok(text) = read::whole_text(&path, &path, context)
            {
                bytes = bytes.saturating_add(text.len());
                if bytes > TEXT_BYTES_MAX {
                    let why = format!("the documents have more than {TEXT_BYTES_MAX} bytes");
                    return Err(Failure::new(Code::TooLarge, why));
                }
                document.insert("content".to_owned(), json!(text));
            }
            if wanted.metadata {
                document.insert("metadata".to_owned(), metadata(&path));
            }
            all.push(Value::Object(document));
        }
    }
    Ok(all)
}

fn metadata(path: &str) -> Value {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return json!({});
    };
    let modified = found.modified().ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ms = since.and_then(|since| u64::try_from(since.as_millis()).ok());
    json!({"size": found.len(), "modified_ms": modified_ms})
}

/// Which paths are listed.
struct Chosen {
    filter: Option<Gitignore>,
    /// Whether all lines of the filter say what is left out.
    takes_others: bool,
    pattern: Option<Pattern>,
    depth_max: Option<u64>,
}

enum Pattern {
    Regex(Regex),
    Glob(GlobSet),
}

impl Chosen {
    fn new(wanted: &Documents<'_>) -> Result<Self, Failure> {
        let wrong = |what: &str, why: String| {
            let why = format!("`{what}` is not a pattern of documents: {why}");
            Failure::new(Code::InvalidArguments, why)
        };
        let mut filter = None;
        if !wanted.filter.is_empty() {
            let mut builder = GitignoreBuilder::new("");
            for line in wanted.filter {
                let added = builder.add_line(None, line);
                added.map_err(|error| wrong(line, error.to_string()))?;
            }
            let built = builder.build();
            filter = Some(built.map_err(|error| wrong("documents_filter", error.to_string()))?);
        }
        let pattern = match wanted.pattern {
            None => None,
            Some(text) => Some(match Regex::new(text) {
                Ok(regex) => Pattern::Regex(regex),
                Err(_) => {
                    Pattern::Glob(compile_plain(text, false).map_err(|why| wrong(text, why))?)
                }
            }),
        };
        let mut lines = wanted.filter.iter();
        Ok(Self {
            filter,
            takes_others: lines.all(|line| line.starts_with('!')),
            pattern,
            depth_max: wanted.depth_max,
        })
    }

    fn takes(&self, path: &str) -> bool {
        let depth = u64::try_from(path.matches('/').count()).unwrap_or(u64::MAX);
        if self.depth_max.is_some_and(|max| depth > max) {
            return false;
        }
        let filtered = self.filter.as_ref().is_none_or(|filter| {
            let found = filter.matched_path_or_any_parents(path, false);
            found.is_ignore() || found.is_none() && self.takes_others
        });
        let matches = match &self.pattern {
            None => true,
            Some(Pattern::Regex(regex)) => regex.is_match(path),
            Some(Pattern::Glob(glob)) => glob.is_match(path),
        };
        filtered && matches
    }
}

#[cfg(test)]
mod tests {
    use super::{Chosen, Documents};

    #[test]
    fn filters_and_patterns_choose_paths() {
        let paths = [
            "a.md",
            "docs/b.md",
            "docs/deep/c.md",
            "docs/d.txt",
            "src/e.rs",
        ];
        for (filter, pattern, depth_max, wanted) in [
            (&[][..], None, None, &paths[..]),
            (
                &["*.md"],
                None,
                None,
                &["a.md", "docs/b.md", "docs/deep/c.md"],
            ),
            (
                &["/docs/"],
                None,
                None,
                &["docs/b.md", "docs/deep/c.md", "docs/d.txt"],
            ),
            (
                &["docs/b.md", "src/e.rs"],
                None,
                None,
                &["docs/b.md", "src/e.rs"],
            ),
            (
                &["docs/**", "!docs/deep/**"],
                None,
                None,
                &["docs/b.md", "docs/d.txt"],
            ),
            (&["!*.md"], None, None, &["docs/d.txt", "src/e.rs"]),
            (
                &[],
                Some("**/*.md"),
                None,
                &["a.md", "docs/b.md", "docs/deep/c.md"],
            ),
            (&[], Some("*.md"), None, &["a.md"]),
            (
                &[],
                Some(r"^docs/.*\.md$"),
                None,
                &["docs/b.md", "docs/deep/c.md"],
            ),
            (&[], None, Some(0), &["a.md"]),
            (&[], Some("md"), Some(1), &["a.md", "docs/b.md"]),
        ] {
            let filter: Vec<String> = filter.iter().map(ToString::to_string).collect();
            let documents = Documents {
                filter: &filter,
                pattern,
                depth_max,
                ..Documents::default()
            };
            let chosen = Chosen::new(&documents);
            let found: Vec<&str> = match &chosen {
                Ok(chosen) => paths
                    .into_iter()
                    .filter(|path| chosen.takes(path))
                    .collect(),
                Err(_) => Vec::new(),
            };
            assert_eq!(found, wanted, "{filter:?} {pattern:?} {depth_max:?}");
        }
        let bad = Documents {
            pattern: Some("[a"),
            ..Documents::default()
        };
        assert!(Chosen::new(&bad).is_err());
    }
}
