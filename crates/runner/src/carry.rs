//! Carries out one order, from its arguments to its outcome.

use std::sync::Arc;

use crate::{
    codemie,
    guard::{GuardWanted, Guarded},
    order::{Capture, Failed, Order, Outcome},
    output::{Collect, KeptFiles, Output, OutputError, written},
    people,
    run_context::RunContext,
    screen::Shown,
    stage::Outbox,
    tools::{Codes, Prepared, Task, prepare},
};
use interlock_process::{self, At, Cancel, Exit, Program, Stream};

/// Code of an activity that took too long.
const TIMED_OUT: i64 = 124;
/// Code of an activity that somebody cancelled.
const CANCELLED: i64 = 130;
/// Offset added to a signal's number to form a code.
const SIGNAL_BASE: i64 = 128;

/// Carries out `order`; returns when nothing of it is running any more.
///
/// Commands of a node to its run go through `outbox`.
pub(crate) fn carry_out(
    order: &Order,
    context: &RunContext,
    cancel: &Cancel,
    outbox: Outbox,
) -> Outcome {
    context.screen.begins(order);
    let outcome = perform(order, context, cancel, outbox);
    context.screen.ends(order, &outcome);
    outcome
}

fn perform(order: &Order, context: &RunContext, cancel: &Cancel, outbox: Outbox) -> Outcome {
    if let Some(failed) = target_fault(order) {
        return failed.into();
    }
    if let Some(node) = &order.node {
        return codemie::carry(order, node, context, cancel, outbox);
    }
    match prepare(order, context) {
        Err(failed) => failed.into(),
        Ok(Task::Text(text)) => written(order, &text, context),
        Ok(Task::Question(question)) => match context.terminal() {
            Some(terminal) => {
                let screen = context.screen.as_ref();
                let answer = people::ask(&question, &order.path, terminal, screen, cancel);
                answered(order, answer, context)
            }
            None => Failed::new(1, "there is no terminal to ask at").into(),
        },
        Ok(Task::Program(prepared)) => run(order, *prepared, context, cancel),
    }
}

/// Returns what is wrong with the target file of the output, before anything runs.
fn target_fault(order: &Order) -> Option<Failed> {
    match &order.capture {
        Some(Capture::File(target)) if target.is_dir() => Some(Failed::new(
            1,
            format!(
                "cannot write the output to `{}`: it is a directory",
                target.display()
            ),
        )),
        _ => None,
    }
}

fn answered(order: &Order, answer: Outcome, context: &RunContext) -> Outcome {
    match answer {
        Outcome::Done { stdout, .. } => written(order, &stdout, context),
        other => other,
    }
}

/// Returns the name of one attempt of an effect.
pub(crate) fn mark(id: &str, attempt: u32) -> String {
    format!("{id}#{attempt}")
}

pub(crate) fn run(
    order: &Order,
    mut prepared: Prepared,
    context: &RunContext,
    cancel: &Cancel,
) -> Outcome {
    let mark = mark(&order.id, order.attempt);
    let mut guarded = match begin_guard(order, &prepared, &mark, context) {
        Ok(guarded) => guarded,
        Err(why) => return Failed::new(1, why).into(),
    };
    if let Some(guarded) = &guarded {
        let program = &mut prepared.program;
        program.environment.extend(guarded.environment());
        let before = guarded.arguments().into_iter().map(Into::into);
        program.arguments.splice(0..0, before);
    }
    let ours = context.variables(&order.path, &mark);
    let environment = &mut prepared.program.environment;
    environment.extend(
        ours.into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    let slot = context.slots.take(|| cancel.is_cancelled());
    let outcome = match slot {
        Some(_) => follow(order, &prepared, context, cancel),
        None => Failed::new(CANCELLED, "it was stopped before it was started").into(),
    };
    match guarded.as_mut().map(|guarded| guarded.end()) {
        Some(Err(why)) => unguarded(outcome, why),
        _ => outcome,
    }
}

fn begin_guard(
    order: &Order,
    prepared: &Prepared,
    mark: &str,
    context: &RunContext,
) -> Result<Option<Box<dyn Guarded>>, String> {
    let Some(workflow) = &prepared.guard else {
        return Ok(None);
    };
    let Some(guard) = &context.guard else {
        return Err(format!(
            "`guard: {workflow}`: nothing here can guard an agent with a workflow"
        ));
    };
    let tool = order.kind.to_string();
    let wanted = GuardWanted {
        workflow,
        tool: &tool,
        project: &context.places.project,
        program: &prepared.program.file,
        environment: &prepared.program.environment,
        mark,
        run: &context.run,
        state: &order.path,
    };
    guard
        .begin(&wanted)
        .map(Some)
        .map_err(|why| format!("`guard: {workflow}`: {why}"))
}

/// Turns the success of an agent into a failure because of the workflow that guarded it.
fn unguarded(outcome: Outcome, why: String) -> Outcome {
    match outcome {
        Outcome::Done { stdout, stderr } => Outcome::Failed(Failed {
            code: 1,
            reason: Some("guard_failed"),
            message: why,
            stdout,
            stderr,
            passing: None,
        }),
        other => other,
    }
}

fn follow(order: &Order, prepared: &Prepared, context: &RunContext, cancel: &Cancel) -> Outcome {
    let mut printed = Printed::new(order, context);
    let terminal = context.terminal().filter(|_| order.alone);
    let terminal = match (terminal, prepared.owns_terminal) {
        (Some(terminal), true) => Some(At::Owning(terminal)),
        (Some(terminal), false) => Some(At::Reading(terminal)),
        (None, false) => None,
        (None, true) => return Failed::new(1, "there is no terminal to start it at").into(),
    };
    let exit = interlock_process::run(
        &prepared.program,
        cancel,
        &context.records(),
        terminal,
        &mut |stream, bytes| printed.take(stream, bytes),
    );
    printed.finish();
    match exit {
        Ok(exit) => printed.outcome(order, prepared, exit, context),
        Err(error) => Failed::new(1, error.to_string()).into(),
    }
}

/// The output of one program.
struct Printed {
    out: Output,
    err: Output,
}

impl Printed {
    fn new(order: &Order, context: &RunContext) -> Self {
        let files = KeptFiles::of(&context.beside, &order.id, order.attempt);
        let shown = |stream| {
            let screen = Arc::clone(&context.screen);
            Shown::new(screen, &order.path, stream, order.label.as_deref())
        };
        let wanted = Collect::of(order.capture.as_ref(), order.read_whole);
        let shows = order.capture.is_none() && order.shown;
        let shown_out = shows.then(|| shown(Stream::Out));
        Self {
            out: Output::new(files.stdout, wanted, shown_out),
            err: Output::new(files.stderr, Collect::Ends, Some(shown(Stream::Err))),
        }
    }

    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Out => self.out.take(bytes),
            Stream::Err => self.err.take(bytes),
        }
    }

    fn finish(&mut self) {
        self.out.finish();
        self.err.finish();
    }

    fn outcome(
        &mut self,
        order: &Order,
        prepared: &Prepared,
        exit: Exit,
        context: &RunContext,
    ) -> Outcome {
        for trouble in [self.out.trouble(), self.err.trouble()]
            .into_iter()
            .flatten()
        {
            context.screen.warn(&order.path, &trouble.to_string());
        }
        let (code, message) = match exit {
            Exit::Code(0) => return self.captured(order),
            Exit::Interrupted => return Outcome::Interrupted,
            other => told(&prepared.name, &prepared.program, other),
        };
        let code = match (prepared.codes, exit) {
            (Codes::One, Exit::Code(_) | Exit::Signal(_)) => 1,
            _ => code,
        };
        let advice = prepared.advice.as_ref().and_then(|advice| advice.say());
        let message =
            advice.map_or_else(|| message.clone(), |advice| format!("{message}; {advice}"));
        Outcome::Failed(self.failed(code, None, message))
    }

    /// Stores the output of a successful program.
    fn captured(&mut self, order: &Order) -> Outcome {
        let stdout = match Collect::of(order.capture.as_ref(), order.read_whole) {
            Collect::Ends => Ok(self.out.preview()),
            Collect::Text => self.out.text(),
            Collect::File => match &order.capture {
                Some(Capture::File(target)) => self.out.put(target).map(|()| self.out.preview()),
                _ => Ok(String::new()),
            },
        };
        match stdout {
            Ok(stdout) => Outcome::Done {
                stdout,
                stderr: self.err.preview(),
            },
            Err(error) => {
                let reason = (error == OutputError::TooLarge).then_some("output_too_large");
                Outcome::Failed(self.failed(1, reason, error.to_string()))
            }
        }
    }

    fn failed(&self, code: i64, reason: Option<&'static str>, message: String) -> Failed {
        Failed {
            code,
            reason,
            message,
            stdout: self.out.preview(),
            stderr: self.err.preview(),
            passing: None,
        }
    }
}

/// Returns the code and the message of an unsuccessful end.
fn told(name: &str, program: &Program, exit: Exit) -> (i64, String) {
    match exit {
        Exit::Code(code) => (code.into(), format!("{name} ended with code {code}")),
        Exit::Signal(signal) => (
            SIGNAL_BASE + i64::from(signal),
            format!("{name} was ended by signal {signal}"),
        ),
        Exit::TimedOut => {
            let limit = program.timeout_ms.unwrap_or_default();
            (
                TIMED_OUT,
                format!("{name} took longer than {} s and was ended", limit / 1000),
            )
        }
        Exit::Stopped | Exit::Interrupted => (CANCELLED, format!("{name} was cancelled")),
    }
}

#[cfg(test)]
mod tests;
