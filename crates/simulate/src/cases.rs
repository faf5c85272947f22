//! Test files next to workflows: named cases with steps and their expected answers.

mod matching;
mod source;

use std::{fmt, fs, path::Path};

use interlock_core::{
    event::Event,
    machine::{Machine, Object},
};
use interlock_sandbox::Level;
use serde_json::Value;

use crate::{input::InputLine, output::OutputLine, scenario::Scenario, simulation::Simulation};

pub use source::{WorkflowText, find_case_files};

/// A parsed test file.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseFile {
    /// The workflow under test.
    pub workflow: WorkflowText,
    /// Cases in the order of the file.
    pub cases: Vec<Case>,
}

/// One named case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Name of the case, a sentence.
    pub name: String,
    /// Input of the run, if the workflow has a conversation.
    pub input: String,
    /// Level at which lines are confined; `None` for that of the scenario.
    pub level: Option<Level>,
    /// Steps and their expected answers.
    pub steps: Vec<Step>,
}

/// One step of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Input line.
    pub line: InputLine,
    /// Text shown in a failure.
    pub shown: String,
    /// The part of the output that must match.
    pub expect: Object,
}

/// Why a test file cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadCaseFile(pub String);

/// Outcome of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutcome {
    /// Name of the case.
    pub name: String,
    /// The first step with an unexpected answer, if any.
    pub failure: Option<Failure>,
}

/// A step with an unexpected answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Number of the step, from 1.
    pub step: usize,
    /// The step, as a line.
    pub line: String,
    /// Differences, one line each.
    pub differences: Vec<String>,
}

/// Keys of a test file.
const FILE_KEYS: [&str; 2] = ["workflow", "cases"];

impl CaseFile {
    /// Parses a test file.
    ///
    /// # Errors
    /// [`BadCaseFile`] describes the error.
    pub fn parse(text: &str) -> Result<Self, BadCaseFile> {
        let root = object(read_yaml(text)?, "the file")?;
        if let Some(key) = root.keys().find(|key| !FILE_KEYS.contains(&key.as_str())) {
            return bad(format!(
                "unknown key `{key}`; a test file has `workflow` and `cases`"
            ));
        }
        let workflow = match root.get("workflow") {
            Some(Value::String(path)) => WorkflowText::File(path.clone()),
            Some(inline @ Value::Object(_)) => source::inline(text, inline),
            Some(_) => return bad("`workflow` is neither a workflow nor the path of one"),
            None => return bad("`workflow` is missing: write one, or the path of its file"),
        };
        let Some(Value::Array(cases)) = root.get("cases") else {
            return bad("`cases` is missing, or no list");
        };
        let cases = cases
            .iter()
            .enumerate()
            .map(|(index, case)| read_case(index + 1, case))
            .collect::<Result<_, _>>()?;
        Ok(Self { workflow, cases })
    }
}

/// Loads a workflow from its name for messages and its text.
///
/// An error is printed unchanged.
pub type Load<'a> = &'a dyn Fn(&str, &str) -> Result<Machine, String>;

/// Plays every case of the test file at `path`.
///
/// # Errors
/// [`BadCaseFile`] if the file or its workflow cannot be read.
pub fn play_file(
    path: &Path,
    setting: &Scenario,
    load: Load<'_>,
) -> Result<Vec<CaseOutcome>, BadCaseFile> {
    let file = CaseFile::parse(&read(path)?)
        .map_err(|BadCaseFile(why)| BadCaseFile(format!("{}: {why}", path.display())))?;
    let machine = match &file.workflow {
        WorkflowText::Inline(text) => load(&path.display().to_string(), text),
        WorkflowText::File(relative) => {
            let path = path.with_file_name(relative);
            load(&path.display().to_string(), &read(&path)?)
        }
    };
    let machine = machine.map_err(BadCaseFile)?;
    let play = |case: &Case| case.play(&machine, setting);
    Ok(file.cases.iter().map(play).collect())
}

fn read(path: &Path) -> Result<String, BadCaseFile> {
    fs::read_to_string(path)
        .map_err(|error| BadCaseFile(format!("{} cannot be read: {error}", path.display())))
}

impl Case {
    /// Plays the case against a fresh run of `machine`.
    #[must_use]
    pub fn play(&self, machine: &Machine, setting: &Scenario) -> CaseOutcome {
        let mut simulation = self.begin(machine, setting);
        let failure = self.steps.iter().enumerate().find_map(|(index, step)| {
            let differences = play_step(&mut simulation, step);
            (!differences.is_empty()).then(|| Failure {
                step: index + 1,
                line: step.shown.clone(),
                differences,
            })
        });
        CaseOutcome {
            name: self.name.clone(),
            failure,
        }
    }

    /// Plays the case, and returns all events of its run.
    #[must_use]
    pub fn recorded(&self, machine: &Machine, setting: &Scenario) -> Vec<Event> {
        let mut simulation = self.begin(machine, setting);
        for step in &self.steps {
            play_step(&mut simulation, step);
        }
        simulation.events().to_vec()
    }

    fn begin(&self, machine: &Machine, setting: &Scenario) -> Simulation {
        let setting = Scenario {
            input: self.input.clone(),
            level: self.level.unwrap_or(setting.level),
            ..setting.clone()
        };
        Simulation::new(machine.clone(), setting)
    }
}

fn play_step(simulation: &mut Simulation, step: &Step) -> Vec<String> {
    let line = match simulation.check(step.line.clone()) {
        Ok(line) => line,
        Err(message) => return vec![message],
    };
    differences(&step.expect, &simulation.take(line))
}

/// Lists the differences of an answer from `expect`, one line each.
#[must_use]
pub fn differences(expect: &Object, answer: &OutputLine) -> Vec<String> {
    match serde_json::to_value(answer) {
        Ok(output) => matching::differences(expect, &output),
        Err(error) => vec![format!("the answer is not JSON: {error}")],
    }
}

fn read_yaml(text: &str) -> Result<Value, BadCaseFile> {
    let mut options = serde_saphyr::Options::default();
    // In YAML 1.2, `on`, `no` and `yes` are text.
    options.strict_booleans = true;
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| BadCaseFile(error.to_string()))
}

fn read_case(number: usize, case: &Value) -> Result<Case, BadCaseFile> {
    let what = format!("case {number}");
    let case = object(case.clone(), &what)?;
    let name = match case.get("name") {
        Some(Value::String(name)) => name.clone(),
        _ => return bad(format!("{what} has no `name`")),
    };
    let known = ["name", "input", "level", "steps"];
    if let Some(key) = case.keys().find(|key| !known.contains(&key.as_str())) {
        return bad(format!("{what} ({name}): unknown key `{key}`"));
    }
    let input = match case.get("input") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let level = match case.get("level") {
        None => None,
        Some(value) => match value.as_str().and_then(Level::named) {
            Some(level) => Some(level),
            None => return bad(format!("{what} ({name}): `level` is none of {}", levels())),
        },
    };
    let Some(Value::Array(steps)) = case.get("steps") else {
        return bad(format!("{what} ({name}) has no list of `steps`"));
    };
    let steps = steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            read_step(step).map_err(|BadCaseFile(why)| {
                BadCaseFile(format!("{what} ({name}), step {}: {why}", index + 1))
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Case {
        name,
        input,
        level,
        steps,
    })
}

/// Lists the names of the levels.
fn levels() -> String {
    Level::ALL.map(Level::as_str).join(", ")
}

fn read_step(step: &Value) -> Result<Step, BadCaseFile> {
    let mut line = object(step.clone(), "a step")?;
    let expect = match line.shift_remove("expect") {
        None => Object::new(),
        Some(expect) => object(expect, "`expect`")?,
    };
    if let Some(key) = expect.keys().find(|key| !matching::is_known(key)) {
        return bad(format!("unknown key `{key}` in `expect`"));
    }
    let shown = Value::Object(line.clone()).to_string();
    let line = InputLine::from_value(Value::Object(line)).map_err(BadCaseFile)?;
    Ok(Step {
        line,
        shown,
        expect,
    })
}

fn object(value: Value, what: &str) -> Result<Object, BadCaseFile> {
    match value {
        Value::Object(object) => Ok(object),
        _ => bad(format!("{what} is not a map of keys")),
    }
}

fn bad<T>(message: impl Into<String>) -> Result<T, BadCaseFile> {
    Err(BadCaseFile(message.into()))
}

impl fmt::Display for CaseOutcome {
    /// Writes one line, followed by the differences.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(failure) = &self.failure else {
            return writeln!(f, "ok      {}", self.name);
        };
        writeln!(f, "FAILED  {}", self.name)?;
        writeln!(f, "        step {}: {}", failure.step, failure.line)?;
        for line in &failure.differences {
            writeln!(f, "          {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "cases/tests.rs"]
mod tests;
