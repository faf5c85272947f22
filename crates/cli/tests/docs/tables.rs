//! The claims in tables are checked by tests, which `tables.yaml` lists row by row, or dated with their observation.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;

use super::{
    pages::{pages, repository},
    sessions::expect_test,
};

const FILE: &str = "crates/cli/tests/docs/tables.yaml";
/// Instead of a test: the section states the month and the year, and where or how it was observed.
const DATED: &str = "dated";
/// Instead of a test: the table explains words, or leads to other pages.
const WORDS: &str = "words";
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A table of a page.
struct Table {
    /// The line above it, if a test writes it.
    mark: String,
    head: String,
    /// The first cell of each row.
    rows: Vec<String>,
    /// The section that contains it, from heading to heading.
    section: String,
}

/// The checks of a table: tests for all of it, or for each row by its beginning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// The beginning of its first line.
    table: String,
    #[serde(default)]
    by: Vec<String>,
    #[serde(default)]
    rows: BTreeMap<String, Vec<String>>,
}

/// The checks of a page's tables: tests for all of them, or for each.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    page: String,
    #[serde(default)]
    by: Vec<String>,
    #[serde(default)]
    tables: Vec<Known>,
}

fn tables(text: &str) -> Vec<Table> {
    let mut found = Vec::new();
    let mut is_code = false;
    for section in text.split("\n#") {
        let mut above = "";
        let mut inside: Option<Table> = None;
        for line in section.lines() {
            is_code ^= line.starts_with("```");
            match (&mut inside, line.starts_with('|') && !is_code) {
                (None, true) => {
                    inside = Some(Table {
                        mark: above.to_owned(),
                        head: line.to_owned(),
                        rows: Vec::new(),
                        section: section.to_owned(),
                    });
                }
                (Some(table), true) => {
                    let first = line.trim_start_matches('|').split(" |").next();
                    let first = first.unwrap_or_default().trim();
                    if !first.starts_with("--") {
                        table.rows.push(first.to_owned());
                    }
                }
                (Some(_), false) => found.extend(inside.take()),
                (None, false) if line.is_empty() => {}
                (None, false) => above = line,
            }
        }
        found.extend(inside);
    }
    found
}

/// Checks that the given tests or dates exist for a claim.
fn expect_checked(place: &str, by: &[String], section: &str) {
    assert!(!by.is_empty(), "{place}: checked by nothing");
    for test in by {
        match test.as_str() {
            WORDS => {}
            DATED => {
                let words: Vec<&str> = section.split_whitespace().collect();
                let is_year =
                    |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit()).len() == 4;
                let is_date = |pair: &[&str]| match pair {
                    [month, year] => MONTHS.contains(month) && is_year(year),
                    _ => false,
                };
                assert!(words.windows(2).any(is_date), "{place}: no date");
            }
            test => expect_test(place, test),
        }
    }
}

/// Checks that each row is covered, and that no missing row is listed.
fn expect_rows(place: &str, known: &Known, table: &Table) {
    if known.rows.is_empty() {
        return expect_checked(place, &known.by, &table.section);
    }
    let mut unused: Vec<&String> = known.rows.keys().collect();
    for row in &table.rows {
        let begins = |key: &&String| row.starts_with(key.as_str());
        let key = known.rows.keys().filter(begins).max_by_key(|key| key.len());
        let key = key.unwrap_or_else(|| unreachable!("{place}: no test of `{row}`"));
        unused.retain(|other| *other != key);
        let by = known.rows.get(key).map(Vec::as_slice).unwrap_or_default();
        expect_checked(&format!("{place}: `{row}`"), by, &table.section);
    }
    assert!(unused.is_empty(), "{place}: no rows {unused:?}");
}

#[test]
fn every_claim_of_a_table_is_checked_or_dated() {
    let text = fs::read_to_string(repository().join(FILE)).unwrap();
    let listed: Vec<Page> = serde_saphyr::from_str(&text).unwrap();
    let mut seen = 0;
    for (path, text) in pages() {
        let name = path.strip_prefix(repository()).unwrap();
        let name = name.to_string_lossy().into_owned();
        let page = listed.iter().find(|page| page.page == name);
        let mut known: Vec<&Known> = page.iter().flat_map(|page| &page.tables).collect();
        for table in tables(&text) {
            let place = format!("{name}: `{}`", table.head);
            seen += 1;
            let at = known
                .iter()
                .position(|known| table.head.starts_with(&known.table));
            match (at, page) {
                (Some(at), _) => expect_rows(&place, known.remove(at), &table),
                // A test writes it.
                (None, _) if table.mark.starts_with("<!-- ") => {}
                (None, Some(page)) => expect_checked(&place, &page.by, &table.section),
                (None, None) => unreachable!("{place}: not in `{FILE}`"),
            }
        }
        assert!(known.is_empty(), "{name}: no table {known:?}");
    }
    assert!(seen > 250, "only {seen} tables were found");
}
