//! Case files: a project, and the commands in it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::flowstate_runs::case_file;

/// Keys that describe the project; the others belong to the only command.
const PROJECT: [&str; 6] = ["flow", "files", "programs", "path", "make", "after"];

/// A project, and the commands in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The text of `flow.yaml`.
    pub(crate) flow: Option<String>,
    /// Files by path: below the project, or below the home after `~/`.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Shell scripts by name, with precedence over other programs.
    #[serde(default)]
    pub(crate) programs: BTreeMap<String, String>,
    /// `only`: no other programs are found.
    pub(crate) path: Option<String>,
    /// Files of this many bytes.
    #[serde(default)]
    pub(crate) make: BTreeMap<String, u64>,
    pub(crate) steps: Vec<Step>,
    /// Files at the end; see [`Step::files`] for the paths, `./` is the run directory.
    #[serde(default)]
    pub(crate) after: BTreeMap<String, Option<String>>,
}

/// One command, and its expected result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Files written before it, or removed.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, Option<String>>,
    #[serde(default = "run_flow")]
    pub(crate) args: Vec<String>,
    /// The folder of the project in which it runs.
    #[serde(rename = "in", default)]
    pub(crate) folder: String,
    /// Run at a terminal.
    #[serde(default)]
    pub(crate) person: bool,
    /// Run at a terminal on which this was typed.
    pub(crate) typed: Option<String>,
    /// `gone`: nobody reads it; `closed`; `full`: as on a full disk.
    pub(crate) stdout: Option<String>,
    #[serde(default)]
    pub(crate) exit: Exit,
    /// The whole standard output.
    pub(crate) out: Option<String>,
    /// The same in hexadecimal digits.
    pub(crate) out_bytes: Option<String>,
    #[serde(default)]
    pub(crate) out_has: Vec<String>,
    #[serde(default)]
    pub(crate) out_lacks: Vec<String>,
    #[serde(default)]
    pub(crate) err_has: Vec<String>,
    #[serde(default)]
    pub(crate) err_lacks: Vec<String>,
    /// In either stream.
    #[serde(default)]
    pub(crate) all_has: Vec<String>,
    /// Every line of the standard output is a JSON object.
    #[serde(default)]
    pub(crate) json_lines: bool,
}

/// The end of a command.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Exit {
    Code(i32),
    /// `killed`: by SIGKILL.
    Signal(String),
}

impl Default for Exit {
    fn default() -> Self {
        Self::Code(0)
    }
}

fn run_flow() -> Vec<String> {
    ["run", "flow.yaml", "--name", "n"]
        .map(str::to_owned)
        .to_vec()
}

impl Case {
    /// Parses a case file.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let case = case_file::read(text, &PROJECT)?;
        let mut case: Self =
            serde_json::from_value(Value::Object(case)).map_err(|error| error.to_string())?;
        case.flow = case.flow.as_deref().map(repeated);
        Ok(case)
    }
}

/// Replaces `@@NUMBER@@` by this many letters.
fn repeated(text: &str) -> String {
    let mut written = String::new();
    for (at, part) in text.split("@@").enumerate() {
        match part.parse() {
            Ok(count) if at % 2 == 1 => written.push_str(&"x".repeat(count)),
            _ => written.push_str(part),
        }
    }
    written
}
