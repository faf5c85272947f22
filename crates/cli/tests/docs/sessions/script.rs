//! The needs of a page's commands besides what the page shows.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;
use serde_json::Value;

use super::super::pages::repository;

/// The script of a page.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// Shell commands that run in the project before the first command of the page.
    #[serde(default)]
    pub(super) prepare: String,
    /// Why no command of the page is run here.
    #[serde(default)]
    pub(super) not_run: Option<NotRun>,
    /// The commands with additional needs, in the order of the page.
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    /// The sources of the page's texts that are not sessions, in the order of the page.
    #[serde(default)]
    pub(super) shown: Vec<Shown>,
}

/// The source of a text on a page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shown {
    /// Shell commands whose output contains the lines of the text.
    #[serde(default)]
    pub(super) from: String,
    /// Why the text is not compared here.
    #[serde(default)]
    pub(super) not_run: Option<NotRun>,
}

/// The needs of one command.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// The command as written on the page.
    pub(super) at: String,
    /// Whether it begins in a new project and a new home.
    #[serde(default)]
    pub(super) fresh: bool,
    /// Shell commands that run before it, invisible on the page. `agent TOOL …` is a call that an agent proposes.
    #[serde(default)]
    pub(super) prepare: String,
    /// Keys to type once the last line of the screen contains a text.
    #[serde(default)]
    pub(super) keys: Vec<Keys>,
    /// The exit code.
    #[serde(default)]
    pub(super) exit: i32,
    /// Placeholders in the command, such as `01k` for a run, and shell commands that print their values.
    #[serde(default)]
    pub(super) with: BTreeMap<String, String>,
    /// Messages of the model that it calls, in order: the tools, and their inputs.
    #[serde(default)]
    pub(super) model: Vec<BTreeMap<String, Value>>,
    /// Whether it sends to a collector of spans.
    #[serde(default)]
    pub(super) collector: bool,
    /// Why the command is not run here.
    #[serde(default)]
    pub(super) not_run: Option<NotRun>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    pub(super) after: String,
    pub(super) press: String,
}

/// Why a command is not run here, and the tests that run it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NotRun {
    pub(super) because: String,
    #[serde(default)]
    pub(super) tests: Vec<String>,
}

impl Script {
    /// Reads the script of a page, if it has one.
    pub(super) fn read(name: &str) -> Option<Script> {
        let name = name.strip_prefix("docs/src/").unwrap_or(name);
        let file = format!("crates/cli/tests/docs/sessions/{name}.yaml");
        let text = fs::read_to_string(repository().join(&file)).ok()?;
        let script = serde_saphyr::from_str(&text);
        Some(script.unwrap_or_else(|error| unreachable!("{file}: {error}")))
    }
}

/// Checks that a test exists, written as `crates/cli/tests/prove.rs::name_of_the_test`, or a folder of cases:
/// `tests/cases/shell/`.
pub(crate) fn expect_test(whose: &str, test: &str) {
    let (file, name) = test.split_once("::").unwrap_or((test, ""));
    let path = repository().join(file);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let is_test = text.contains(&format!("fn {name}(")) && text.contains("#[test]");
    let is_folder =
        file.ends_with('/') && fs::read_dir(&path).is_ok_and(|entries| entries.count() > 0);
    assert!(is_test || is_folder, "{whose}: there is no test `{test}`");
}
