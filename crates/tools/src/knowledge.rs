//! `search_knowledge_base` and `get_document_by_id`: full-text search in datasources.
//!
//! Documents are split into passages. A passage ranks by how many of the query's words it has, then by how often; equal ranks are
//! in the order of datasources and paths.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    Code, Datasource, ToolContext, ToolEnd,
    disk::Trouble,
    end::Failure,
    files::{read, walk},
    input::{count, optional, text},
    place::{self, Aim},
};

/// Approximate number of characters of a passage.
const PASSAGE_CHARS: usize = 1_500;
/// Maximum number of documents that are searched.
const DOCUMENTS_MAX: usize = 50_000;
/// Default number of passages returned.
const RESULTS: usize = 10;
/// Separator of datasource and path in an id.
pub(crate) const SEPARATOR: char = ':';

/// Searches for the words of a query.
pub(crate) fn search(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let wanted: BTreeSet<String> = words(text(input, "query")).collect();
    if wanted.is_empty() {
        let why = "`query` holds no word";
        return Err(Failure::new(Code::InvalidArguments, why));
    }
    let sources: Vec<&Datasource> = match optional(input, "datasource") {
        Some(id) => vec![source(id, context)?],
        None => context.datasources.iter().collect(),
    };
    let max = count(input, "max_results").unwrap_or(RESULTS);
    let mut best: BTreeMap<Rank, Value> = BTreeMap::new();
    let mut order = 0;
    for source in sources {
        for path in documents(source, context)? {
            let Ok(whole) = read::whole_text(&path, &path, context) else {
                continue;
            };
            for (number, passage) in passages(&whole).enumerate() {
                order += 1;
                let Some(rank) = rank(passage, &wanted, order) else {
                    continue;
                };
                best.insert(rank, told(source, &path, number, passage, rank));
                if best.len() > max {
                    best.pop_last();
                }
            }
        }
    }
    let results: Vec<Value> = best.into_values().collect();
    Ok(ToolEnd::done(json!({"results": results}).to_string()))
}

/// Returns a document by its id.
pub(crate) fn document(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let id = text(input, "id");
    let nothing = || Failure::new(Code::NotFound, format!("no document has the id `{id}`"));
    let (name, below) = id.split_once(SEPARATOR).ok_or_else(nothing)?;
    let source = source(name, context)?;
    // Only what a search would find: no path is built from the text of an id.
    let path = documents(source, context)?
        .into_iter()
        .find(|path| relative(source, path) == below)
        .ok_or_else(nothing)?;
    Ok(ToolEnd::done(read::whole_text(&path, id, context)?))
}

fn source<'a>(id: &str, context: &ToolContext<'a>) -> Result<&'a Datasource, Failure> {
    let found = context.datasources.iter().find(|source| source.id == id);
    found.ok_or_else(|| Failure::new(Code::NoDatasource, format!("there is no datasource `{id}`")))
}

/// Lists the documents of a datasource: paths without links, sorted.
pub(crate) fn documents(
    source: &Datasource,
    context: &ToolContext<'_>,
) -> Result<Vec<String>, Failure> {
    let shown = &source.id;
    let real = source.path.to_str().ok_or_else(|| {
        Failure::new(
            Code::CannotRead,
            format!("the path of `{shown}` is not text"),
        )
    })?;
    if place::is_hidden(real, context) || place::is_no_file(real) {
        let why = format!("the datasource `{shown}` contains no documents");
        return Err(Failure::new(Code::Protected, why));
    }
    if walk::start(real, shown)? == walk::Start::File {
        return Ok(vec![real.to_owned()]);
    }
    let mut paths = Vec::new();
    for entry in walk::walk(real, walk::Skipped::default(), context)?.flatten() {
        if context.cancel.is_cancelled() {
            return Err(Trouble::Cancelled.of(shown, Aim::Read));
        }
        let path = entry.path().to_str().filter(|_| walk::is_file(&entry));
        paths.extend(path.map(str::to_owned));
        if paths.len() >= DOCUMENTS_MAX {
            break;
        }
    }
    Ok(paths)
}

/// Returns the path of a document relative to its datasource; for a single file, its name.
pub(crate) fn relative<'p>(source: &Datasource, path: &'p str) -> &'p str {
    let root = source.path.to_str().unwrap_or_default();
    match path
        .strip_prefix(root)
        .map(|rest| rest.trim_start_matches('/'))
    {
        Some(rest) if !rest.is_empty() => rest,
        _ => path.rsplit('/').next().unwrap_or(path),
    }
}

fn told(source: &Datasource, path: &str, number: usize, passage: &str, rank: Rank) -> Value {
    let below = relative(source, path);
    json!({
        "id": format!("{}{SEPARATOR}{below}", source.id),
        "datasource": source.id,
        "file_path": below,
        "passage": number,
        "words": usize::MAX - rank.words,
        "text": passage,
    })
}

/// Rank of a passage; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Counted down from the largest number.
    words: usize,
    /// Counted down from the largest number.
    times: usize,
    order: usize,
}

fn rank(passage: &str, wanted: &BTreeSet<String>, order: usize) -> Option<Rank> {
    let mut found = BTreeSet::new();
    let mut times = 0;
    for word in words(passage).filter(|word| wanted.contains(word)) {
        found.insert(word);
        times += 1;
    }
    (times > 0).then(|| Rank {
        words: usize::MAX - found.len(),
        times: usize::MAX - times,
        order,
    })
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Splits a text into passages at line breaks.
fn passages(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = 0;
        for line in rest.split_inclusive('\n') {
            if end > 0 && end + line.len() > PASSAGE_CHARS {
                break;
            }
            end += line.len();
        }
        let (passage, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(passage)
    })
    .filter(|passage| !passage.trim().is_empty())
}
