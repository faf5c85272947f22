//! The state of a run that no process runs any more.

use interlock_core::{
    command::EffectStatus,
    conversation::outputs_before,
    effects,
    event::Cause,
    machine::{Machine, Outcome},
    names::FramePath,
    pending::{About, pending},
    place::title_of,
    run::{Phase, Run},
};
use interlock_store::RunLog;
use interlock_view::report::{StandsFor, Status, report, standing};
use serde_json::{Value, json};

use super::stands_in_stage;
use crate::{
    app::App,
    failure::{Exit, Failure},
    live::put,
    log_line::time,
};

/// The tool that uses the terminal itself.
const INTERACTIVE: &str = "claude-code";

/// The state of a halted run.
#[derive(Debug)]
pub(crate) struct Halted {
    /// Title of the run.
    name: String,
    /// The run.
    pub(crate) run: Run,
    /// Title of the failed state, if it differs from its path.
    failed: Option<String>,
    status: Status,
    /// Paths of the current states.
    state: Vec<String>,
    /// Whether the agent that the run guards must continue.
    agent_goes_on: bool,
    /// Whether the workflow has model stages.
    of_stages: bool,
    /// Exit code of the program.
    pub(crate) code: u8,
    /// What the run waits for.
    pub(crate) waits: Vec<Wait>,
}

/// Something that only a person can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The state's path.
    pub(crate) path: String,
    /// Title of the state, if it differs.
    pub(crate) title: Option<String>,
    /// Kind: `question`, `pause`, `lost`, `lost_call`, `terminal`, `approval`; for the last, the path is the id.
    pub(crate) kind: &'static str,
    /// The question, the reason, or the interrupted step.
    pub(crate) text: String,
    /// Outputs that it depends on, if there are several and each can be edited.
    pub(crate) outputs: Vec<String>,
    /// Start of the wait, in milliseconds since 1970.
    pub(crate) since_ms: u64,
}

impl Halted {
    /// Describes `run`, which `log` records.
    pub(crate) fn of(log: &RunLog, run: Run, machine: &Machine) -> Result<Self, Failure> {
        let seen = report(machine, &run, None);
        let waits = waits(machine, &run);
        // If a run also guards an agent, its stages are over once it waits for the agent.
        let agent_goes_on = !machine.durable
            && !run.is_over()
            && waits.is_empty()
            && !stands_in_stage(machine, &run);
        Ok(Self {
            name: log.name()?.unwrap_or_else(|| run.id.to_string()),
            status: seen.status,
            state: seen.state.0,
            code: if agent_goes_on { 0 } else { code(&run) },
            agent_goes_on,
            of_stages: machine.stages.is_some(),
            waits,
            failed: match &run.phase {
                Phase::Ended {
                    cause: Some(cause), ..
                } => title_of(machine, &run, &cause.state),
                _ => None,
            },
            run,
        })
    }

    /// Describes the state on standard error, unless the run succeeded.
    pub(crate) fn tell(&self, app: &App) {
        let mut text = String::new();
        if let Some(cause) = self.cause() {
            text = format!("interlock: {} failed {}\n", self.name, self.sentence(cause));
        } else if self.status == Status::Cancelled {
            let name = &self.name;
            text = format!(
                "interlock: {name} was cancelled: `interlock resume {name}` continues it\n"
            );
        }
        if self.agent_goes_on {
            let state = self.state.join(", ");
            text = format!(
                "interlock: {} stands in `{state}`: its agent continues\n",
                self.name
            );
        }
        for wait in &self.waits {
            let what = wait.sentence(&self.name);
            text.push_str(&format!("interlock: {} waits: {what}\n", self.name));
        }
        app.output.remark(&text);
    }

    /// Formats it as the last of the JSON lines.
    pub(crate) fn line(&self) -> Value {
        let mut line = json!({
            "event": "Halted",
            "run": self.run.id,
            "name": self.name,
            "status": self.status,
            "state": self.state.join(", "),
            "code": self.code,
            "message": self.cause().map(|cause| &cause.message),
            "waits": self.waits.iter().map(Wait::line).collect::<Vec<_>>(),
        });
        if let (Some(result), Some(fields)) = (self.result(), line.as_object_mut()) {
            fields.insert("result".to_owned(), result.clone());
        }
        line
    }

    /// Returns the result of a run that calls models: the last output of its conversation, or a list of several; without a
    /// conversation, the submission of its last stage.
    pub(crate) fn result(&self) -> Option<&Value> {
        let root = &self.run.root;
        let result = match &root.line.dialogue {
            Some(dialogue) => &dialogue.task,
            None if self.of_stages && !root.line.output.is_null() => &*root.line.output,
            None => return None,
        };
        (self.status == Status::Completed).then_some(result)
    }

    /// Describes where and why the run failed.
    fn sentence(&self, cause: &Cause) -> String {
        let place = match self.failed.as_deref().unwrap_or(&cause.state) {
            "" => String::new(),
            state => format!("at `{state}` "),
        };
        // A code that is a name counts as 1 where a number is needed.
        let name = cause
            .code
            .as_str()
            .map_or_else(String::new, |name| format!(" ({name})"));
        format!(
            "{place}with code {}{name}: {}",
            cause.number(),
            cause.message
        )
    }

    fn cause(&self) -> Option<&Cause> {
        match &self.run.phase {
            Phase::Ended {
                outcome: Outcome::Failure,
                cause,
            } => cause.as_ref(),
            _ => None,
        }
    }
}

/// Returns the exit code of a process that carried out `run`.
pub(super) fn code(run: &Run) -> u8 {
    match &run.phase {
        Phase::Ended {
            outcome: Outcome::Success,
            ..
        } => 0,
        Phase::Ended { cause, .. } => cause.as_ref().map_or(1, Cause::number),
        Phase::Cancelled => Exit::Cancelled.code(),
        Phase::New | Phase::Open => Exit::Waiting.code(),
    }
}

/// Lists what the run waits for that only a person can do.
pub(crate) fn waits(machine: &Machine, run: &Run) -> Vec<Wait> {
    if let (Some(pause), Phase::Open) = (&run.paused, &run.phase) {
        let reason = pause.reason.clone();
        return vec![Wait {
            path: String::new(),
            title: None,
            kind: "stopped",
            text: reason.unwrap_or_else(|| format!("paused by {}", pause.by)),
            outputs: Vec::new(),
            since_ms: run.root.stay.entered_ms,
        }];
    }
    let stands = standing(machine, run).into_iter().map(|standing| Wait {
        kind: match standing.kind {
            StandsFor::Question => "question",
            StandsFor::Pause => "pause",
            StandsFor::Lost => "lost",
            StandsFor::LostCall => "lost_call",
        },
        path: standing.path,
        title: standing.title,
        text: standing.message,
        outputs: Vec::new(),
        since_ms: standing.since_ms,
    });
    let at_terminal = effects(machine, run)
        .into_iter()
        .filter(|effect| {
            effect.status == EffectStatus::Running && effect.kind.is_program(INTERACTIVE)
        })
        .map(|effect| Wait {
            kind: "terminal",
            text: format!("`{INTERACTIVE}` needs a terminal"),
            outputs: Vec::new(),
            since_ms: run
                .frame(&effect.frame)
                .map_or(0, |frame| frame.stay.entered_ms),
            path: effect.path,
            title: effect.title,
        });
    stands
        .chain(at_terminal)
        .chain(asked(machine, run))
        .collect()
}

/// Lists the requests to a person: about calls, entering a state, or taking a transition.
fn asked(machine: &Machine, run: &Run) -> Vec<Wait> {
    let all = pending(machine, run).into_iter();
    all.map(|one| {
        let text = match one.about() {
            About::Call(grant) => format!("`{}`: {}", grant.call.tool, grant.call.summary),
            About::Transition(asked) => asked.message.clone(),
            About::Entry { message } => message.clone(),
        };
        let text = if one.takes_passkey() {
            format!("{text} (an approval needs a passkey, on the page of `interlock console`)")
        } else {
            text
        };
        Wait {
            kind: "approval",
            text,
            outputs: match one.about() {
                About::Entry { .. } => outputs(machine, run, one.path()),
                About::Call(_) | About::Transition(_) => Vec::new(),
            },
            since_ms: one.request.at_ms,
            path: one.id().to_string(),
            title: (one.title != one.shown).then_some(one.title),
        }
    })
    .collect()
}

/// Names the outputs that a state begins with, if there are several.
fn outputs(machine: &Machine, run: &Run, path: &FramePath) -> Vec<String> {
    let all = outputs_before(machine, run, path);
    let several = all.len() > 1;
    let titles = all.into_iter().map(|output| output.title);
    titles.filter(|_| several).collect()
}

impl Wait {
    /// Parses the output of [`Wait::line`].
    pub(crate) fn of(line: &Value) -> Self {
        let get = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
        let kinds = [
            "question",
            "pause",
            "lost",
            "lost_call",
            "terminal",
            "stopped",
            "approval",
        ];
        Self {
            path: get("path").to_owned(),
            title: Some(get("title").to_owned()).filter(|title| !title.is_empty()),
            kind: kinds
                .into_iter()
                .find(|kind| *kind == get("kind"))
                .unwrap_or_default(),
            text: get("message").to_owned(),
            outputs: line
                .get("outputs")
                .and_then(|outputs| serde_json::from_value(outputs.clone()).ok())
                .unwrap_or_default(),
            since_ms: 0,
        }
    }

    /// Describes what it waits for, and what to do.
    pub(crate) fn sentence(&self, name: &str) -> String {
        let (path, text) = (&self.path, &self.text);
        let place = self.title.as_ref().unwrap_or(path);
        match self.kind {
            "question" => format!(
                "`{place}` asks: {text} (`interlock resume {name}` at a terminal, or `--answer TEXT`)"
            ),
            "pause" => format!("`{place}`: {text} (`interlock resume {name}`)"),
            "lost" => format!(
                "{text} at `{place}`: `interlock resume {name}` runs it again, with `--fail-with CODE` it counts as failed"
            ),
            "lost_call" => format!(
                "{text} at `{place}`, and may have written: `interlock resume {name} --again` runs it again, `--failed` or `--done TEXT` says what became of it"
            ),
            "approval" => {
                let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
                let mut rest: String = rest.lines().map(|line| format!("\n    {line}")).collect();
                if !self.outputs.is_empty() {
                    let names: Vec<String> = self
                        .outputs
                        .iter()
                        .map(|name| format!("`{name}`"))
                        .collect();
                    let names = names.join(", ");
                    rest.push_str(&format!(
                        "\n    one of them is edited with `--edit TEXT --of NAME`: {names}"
                    ));
                }
                format!(
                    "{first} (`interlock approve {name} {path}` or `reject`, then `interlock resume {name}`){rest}"
                )
            }
            "terminal" => format!("{text} at `{place}` (`interlock resume {name}` at one)"),
            _ => format!("{text} (`interlock resume {name}`)"),
        }
    }

    /// Formats it as JSON.
    pub(crate) fn line(&self) -> Value {
        let since = time(self.since_ms);
        let mut line =
            json!({ "path": self.path, "kind": self.kind, "message": self.text, "since": since });
        if let Some(title) = &self.title {
            put(&mut line, "title", json!(title));
        }
        if !self.outputs.is_empty() {
            put(&mut line, "outputs", json!(self.outputs));
        }
        line
    }
}
