//! `Bash` and CodeMie's `bash`: shell lines, run by `interlock exec`.

use std::time::Duration;

use interlock_facts::{CallContext, Disk, RealDisk, locate, variables};
use interlock_sandbox::{
    Ended, Exit, Plan,
    carrier::{CarrierMessage, Order},
    plan::{LeftOver, Start},
};
use serde_json::Value;

mod follow;

use crate::{
    Carrier, Code, ConfinementReport, ToolContext, ToolEnd,
    end::Failure,
    input::text,
    place::{self, Bounds},
};
use follow::{CommandSpec, Outcome, Stop, Streams};

/// Default time limit of a line.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum size of standard output that CodeMie's tool returns, in bytes.
const STDOUT_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Runs a line and shows everything it prints.
pub(crate) fn bash(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let timeout = input.get("timeout_ms").and_then(Value::as_u64);
    let line = ShellCall {
        text: text(input, "command"),
        timeout: timeout.map_or(TIMEOUT, Duration::from_millis),
        directory: context.call_context.site.cwd.clone(),
        variables: Vec::new(),
    };
    let outcome = line.run(Streams::One, context.result_bytes_max, context)?;
    let printed = outcome.out.text(notice);
    let mut end = line.end(&outcome, context);
    end.bytes = outcome.out.total();
    end.text = match (printed.is_empty(), end.text.is_empty()) {
        (true, true) => "(no output)".to_owned(),
        (true, false) => end.text,
        (false, true) => printed,
        (false, false) => format!("{}\n({})", printed.trim_end_matches('\n'), end.text),
    };
    Ok(end)
}

/// Runs a line like CodeMie's tool, whose result is the standard output.
pub(crate) fn codemie(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let wrong = |why: String| Failure::new(Code::InvalidArguments, why);
    let directory = starts_at(input, context.call_context, &RealDisk).map_err(wrong)?;
    if directory != context.call_context.site.cwd {
        place::check(&directory, Bounds::Datasources, context)?;
    }
    let seconds = input.get("timeout").and_then(Value::as_f64);
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let line = ShellCall {
        text: text(input, "command"),
        timeout: timeout.unwrap_or(TIMEOUT),
        directory,
        variables: variables(input, "env").map_err(wrong)?,
    };
    let outcome = line.run(Streams::Two, STDOUT_BYTES_MAX, context)?;
    let mut end = line.end(&outcome, context);
    end.bytes = outcome.out.total();
    if end.ok {
        end.text = outcome.out.text(notice);
        return Ok(end);
    }
    for (name, kept) in [
        ("standard error", &outcome.err),
        ("standard output", &outcome.out),
    ] {
        let printed = kept.text(notice);
        if !printed.is_empty() {
            end.text.push_str(&format!("\n{name}:\n{printed}"));
        }
    }
    Ok(end)
}

/// Returns the directory of CodeMie's line, with links resolved.
///
/// # Errors
/// One sentence: the directory in the call cannot be judged.
pub(crate) fn starts_at(
    input: &Value,
    call_context: &CallContext,
    disk: &dyn Disk,
) -> Result<String, String> {
    match input.get("cwd").and_then(Value::as_str) {
        None => Ok(call_context.site.cwd.clone()),
        Some(named) => locate(named, call_context, disk).map(|found| found.real),
    }
}

/// A line of a call.
struct ShellCall<'a> {
    text: &'a str,
    timeout: Duration,
    directory: String,
    variables: Vec<(String, String)>,
}

impl ShellCall<'_> {
    fn run(
        &self,
        streams: Streams,
        bytes_max: usize,
        context: &ToolContext<'_>,
    ) -> Result<Outcome, Failure> {
        let not_started = |why: String| Failure::new(Code::NotStarted, why);
        let carrier = context
            .carrier
            .ok_or_else(|| not_started("no shell line can be run here".to_owned()))?;
        let order = Order {
            plan: self.plan(&carrier, context)?,
            level_max: carrier.level_max,
        };
        let wanted = CommandSpec {
            program: carrier.program,
            order: &order,
            timeout: self.timeout,
            streams,
            bytes_max,
        };
        follow::follow(&wanted, context)
            .map_err(|error| not_started(format!("the line was not started: {error}")))
    }

    /// Returns the plan of the verdict, which must be for this line and this place.
    fn plan(&self, carrier: &Carrier<'_>, context: &ToolContext<'_>) -> Result<Plan, Failure> {
        let mut plan = carrier.plan.clone();
        let is_same = matches!(&plan.start, Start::Line(line) if line == self.text)
            && plan.directory.to_str() == Some(&self.directory);
        if !is_same {
            let why = "the plan is for another line or another place; nothing was run";
            return Err(Failure::new(Code::NotStarted, why));
        }
        if let Some(confinement) = &mut plan.confinement {
            // Programs that a stage's call starts have ended when its end is reported.
            confinement.left_over = LeftOver::End;
        }
        let given = context.environment.iter().chain(&self.variables);
        plan.environment.given.extend(given.cloned());
        Ok(plan)
    }

    /// Describes how the line ended, without its output.
    fn end(&self, outcome: &Outcome, context: &ToolContext<'_>) -> ToolEnd {
        let failed = |code: Code, why: String| ToolEnd::failed(code, why);
        let (ended, mut end) = match (&outcome.told, outcome.stopped) {
            (Some(CarrierMessage::Refused(why)), _) => {
                (None, failed(Code::NotStarted, why.clone()))
            }
            (told, stopped) => {
                let ended = match told {
                    Some(CarrierMessage::Ended(ended)) => Some(ended),
                    _ => None,
                };
                let end = match (stopped, ended) {
                    (Some(Stop::TooLong), _) => failed(
                        Code::Timeout,
                        format!(
                            "the line took longer than {} ms and was ended",
                            self.timeout.as_millis()
                        ),
                    ),
                    (Some(Stop::Asked), _) => failed(
                        Code::Cancelled,
                        "the line was ended: the call was cancelled".to_owned(),
                    ),
                    (None, Some(ended)) => of_exit(ended.exit),
                    (None, None) => failed(
                        Code::NotStarted,
                        "it is unknown how the line ended: it may have run".to_owned(),
                    ),
                };
                (ended, end)
            }
        };
        if let Some(ended) = ended {
            end.exit = Some(code(ended.exit));
            end.wrote = wrote(ended, context);
            end.held = Some(held(ended));
            for changed in &ended.changed {
                let path = place::shown(&changed.path.to_string_lossy(), context);
                if !end.text.is_empty() {
                    end.text.push_str("; ");
                }
                end.text
                    .push_str(&format!("`{path}` is protected and was changed"));
            }
        }
        end
    }
}

fn notice(left_out: u64) -> String {
    format!("... ({left_out} bytes are left out)")
}

fn of_exit(exit: Exit) -> ToolEnd {
    match exit {
        Exit::Code(0) => ToolEnd::done(""),
        Exit::Code(code) => ToolEnd::failed(Code::ExitStatus, format!("exit code {code}")),
        Exit::Signal(signal) => {
            ToolEnd::failed(Code::ExitStatus, format!("ended by signal {signal}"))
        }
    }
}

fn code(exit: Exit) -> i64 {
    match exit {
        Exit::Code(code) => i64::from(code),
        Exit::Signal(signal) => 128 + i64::from(signal),
    }
}

fn wrote(ended: &Ended, context: &ToolContext<'_>) -> Vec<String> {
    let root = context.call_context.project_root.trim_end_matches('/');
    let paths = ended.wrote.iter();
    paths.map(|relative| format!("{root}/{relative}")).collect()
}

fn held(ended: &Ended) -> ConfinementReport {
    ConfinementReport {
        level: ended.level,
        unconfined: ended.unconfined.clone(),
        changed: ended.changed.clone(),
        unseen: ended.unseen.clone(),
    }
}
