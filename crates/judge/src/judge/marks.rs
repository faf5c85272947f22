//! Consequences of an allowed call for its run: counts, writes, interrupts, evidence.

use std::collections::BTreeSet;

use super::{
    JudgeContext, counted_files, places,
    proofs::{self, Standing},
    shell, substance,
};
use crate::{
    call::{CallKind, PathArea},
    event::{CallMarks, EvidenceMark, InterruptHit, ProbeMark, WatchedFile},
    facts::{CommandSpan, Probe, ShellFacts, SimpleCommand},
    glob::path_matches,
    guard::EvidenceOf,
    machine::Machine,
    parts::ReportMark,
    policy::wildcard_matches,
};

/// Derives the consequences of `context.call`, should it run.
#[must_use]
pub fn marks(context: JudgeContext<'_>) -> CallMarks {
    let call = context.call;
    if matches!(call.kind, CallKind::Control(_)) {
        return CallMarks::default();
    }
    if call.kind == CallKind::Conversation {
        return CallMarks {
            evidence: evidence(context),
            agent: call.agent.clone(),
            ..CallMarks::default()
        };
    }
    CallMarks {
        counts: true,
        writes: writes(context),
        shell: call.kind == CallKind::Shell,
        files: counted_files(context).map(str::to_owned).collect(),
        hits: hits(context),
        watched: watched(context),
        evidence: evidence(context),
        by_person: by_person(context),
        agent: call.agent.clone(),
    }
}

fn writes(context: JudgeContext<'_>) -> bool {
    let facts = &context.call.facts;
    if context.call.kind == CallKind::Edit
        || facts
            .writes
            .iter()
            .any(|write| write.place != PathArea::Scratch)
    {
        return true;
    }
    let Some(line) = &facts.shell else {
        return false;
    };
    line.unreadable.is_some()
        || line
            .commands
            .iter()
            .enumerate()
            .any(|(index, command)| command.opaque.is_some() && !is_named(context, index, command))
}

/// Returns whether all writes of a line are over before its `step` begins.
///
/// Only commands whose effect is unknown are compared by step. Known writes count at any step, except in scratch
/// directories.
fn writes_before(context: JudgeContext<'_>, step: usize) -> bool {
    let facts = &context.call.facts;
    let Some(line) = &facts.shell else {
        return false;
    };
    let over = |(index, command): (usize, &SimpleCommand)| {
        command.opaque.is_none()
            || is_named(context, index, command)
            || command.step.is_some_and(|own| own < step)
    };
    line.unreadable.is_none()
        && facts
            .writes
            .iter()
            .all(|write| write.place == PathArea::Scratch)
        && line.commands.iter().enumerate().all(over)
}

/// Returns whether a list of commands or an evidence guard names `command` as written, in the directory where it runs.
fn is_named(context: JudgeContext<'_>, index: usize, command: &SimpleCommand) -> bool {
    let place = place_of(context, index);
    shell::is_covered(context, command)
        || context
            .machine
            .evidence_guards()
            .any(|guard| match &guard.of {
                EvidenceOf::Command {
                    words, directory, ..
                } => {
                    let named = |command: &SimpleCommand| {
                        shell::names_plainly(words, command)
                            || proofs::is_named_loosely(words, command)
                    };
                    let wanted = directory.as_deref().unwrap_or_default();
                    let moved = places::moved(command, place);
                    place == Some(wanted) && named(command)
                        || moved.is_some_and(|moved| {
                            moved.directory.as_deref() == Some(wanted) && named(&moved.command)
                        })
                }
                EvidenceOf::Tool { .. } => false,
            })
}

/// Returns the directory that a command of the line runs in, relative to the project root.
pub(super) fn place_of(context: JudgeContext<'_>, index: usize) -> Option<&str> {
    context.call.facts.directories.get(index)?.as_deref()
}

/// Returns the person's entry that alone allows some command of the line.
fn by_person(context: JudgeContext<'_>) -> Option<String> {
    let commands = &context.call.facts.shell.as_ref()?.commands;
    commands
        .iter()
        .find_map(|command| shell::entry_of_person(context, command))
        .map(|entry| entry.text.clone())
}

fn hits(context: JudgeContext<'_>) -> Vec<InterruptHit> {
    let paths = context
        .call
        .facts
        .writes
        .iter()
        .filter_map(|write| write.relative.as_deref());
    interrupt_hits(
        context.machine,
        context.frame.machine.as_ref().map(|key| key.as_str()),
        paths,
    )
}

/// Maximum number of files watched for one call.
const WATCHED_MAX: usize = 50;

/// Returns the files of a shell line that would raise an interrupt, with their current state on disk.
fn watched(context: JudgeContext<'_>) -> Vec<WatchedFile> {
    let key = context.frame.machine.as_ref().map(|key| key.as_str());
    let raises = |relative: &str| {
        !interrupt_hits(context.machine, key, std::iter::once(relative)).is_empty()
    };
    context
        .call
        .facts
        .writes
        .iter()
        .filter_map(|write| {
            Some(WatchedFile {
                path: write.path.clone()?,
                relative: write.relative.clone()?,
                before: write.before.clone()?,
            })
        })
        .filter(|file| raises(&file.relative))
        .take(WATCHED_MAX)
        .collect()
}

/// Returns the interrupts that `paths` match, in the order of the machine.
pub fn interrupt_hits<'a>(
    machine: &Machine,
    called: Option<&str>,
    paths: impl Iterator<Item = &'a str>,
) -> Vec<InterruptHit> {
    let of = called.map_or(Some(machine), |key| machine.machines.get(key));
    let Some(of) = of.filter(|of| !of.interrupts.is_empty()) else {
        return Vec::new();
    };
    let paths: Vec<&str> = paths.collect();
    of.interrupts
        .iter()
        .filter_map(|(name, interrupt)| {
            let file = paths
                .iter()
                .find(|path| path_matches(&interrupt.file_pattern, path))?;
            Some(InterruptHit {
                interrupt: name.clone(),
                file: (*file).to_owned(),
            })
        })
        .collect()
}

fn evidence(context: JudgeContext<'_>) -> Vec<EvidenceMark> {
    let mut marks: Vec<EvidenceMark> = Vec::new();
    for guard in context.machine.evidence_guards() {
        // Most calls prove nothing: a key is written for those that do.
        let Some(proof) = proof(context, &guard.of) else {
            continue;
        };
        let key = guard.key();
        if marks.iter().any(|mark| mark.key == key) {
            continue;
        }
        let report = guard.report.as_ref().map(|report| ReportMark {
            alone: proof.whole
                && !proof.failure_only
                && substance::is_alone(context, guard, &report.source),
            source: report.source.clone(),
        });
        marks.push(EvidenceMark {
            report,
            key,
            proves_success: proof.success,
            proves_exit: proof.exit,
            probes: proof.probes,
            after_writes: proof
                .first_step
                .is_some_and(|step| writes_before(context, step)),
            failure_only: proof.failure_only,
        });
    }
    marks
}

/// What an outcome of a call would prove.
#[derive(Debug, Clone)]
struct CallProof {
    /// Whether exit code 0 proves it.
    success: bool,
    /// Whether any exit code belongs to the command that counts.
    exit: bool,
    /// Positions of the commands that count; empty unless each has a position.
    probes: Vec<ProbeMark>,
    /// First step of the line that contains one of them; `None`: unknown.
    first_step: Option<usize>,
    /// Whether a variable that is set for one of them may choose what it runs.
    failure_only: bool,
    /// Whether every command that counts is the whole check.
    whole: bool,
}

/// Returns what an outcome of the call would prove for the required kind of evidence.
fn proof(context: JudgeContext<'_>, of: &EvidenceOf) -> Option<CallProof> {
    match of {
        EvidenceOf::Tool { tool, path } => {
            let named = context
                .call
                .listed_names()
                .iter()
                .any(|name| wildcard_matches(tool, name));
            let touched = path.as_deref().is_none_or(|path| touches(context, path));
            (named && touched).then_some(CallProof {
                success: true,
                exit: true,
                probes: Vec::new(),
                first_step: None,
                failure_only: false,
                whole: true,
            })
        }
        EvidenceOf::Command {
            words, directory, ..
        } => {
            let line = context.call.facts.shell.as_ref()?;
            command_proof(
                context,
                line,
                words,
                directory.as_deref().unwrap_or_default(),
            )
        }
    }
}

fn touches(context: JudgeContext<'_>, path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    let facts = &context.call.facts;
    let written = facts
        .writes
        .iter()
        .filter_map(|write| write.relative.as_deref());
    facts
        .reads
        .iter()
        .map(String::as_str)
        .chain(written)
        .any(|touched| touched == path)
}

fn command_proof(
    context: JudgeContext<'_>,
    line: &ShellFacts,
    words: &[String],
    directory: &str,
) -> Option<CallProof> {
    let mut found: Option<CallProof> = None;
    let mut all_probed = true;
    let chosen = line.unreadable.is_some() || proofs::chooses(&line.env);
    for (index, command) in line.commands.iter().enumerate() {
        let standing = standing(words, directory, command, place_of(context, index));
        if standing == Standing::Other {
            continue;
        }
        let whole = !chosen && standing == Standing::Whole;
        let is_steered = proofs::is_steered(line, command, words);
        let proof = found.get_or_insert(CallProof {
            success: true,
            exit: true,
            probes: Vec::new(),
            first_step: Some(usize::MAX),
            failure_only: false,
            whole: true,
        });
        // A command of which it is not known when it runs is before every other.
        proof.first_step = proof.first_step.min(command.step);
        proof.success &= whole && !is_steered && command.proves_success;
        proof.failure_only |= is_steered;
        proof.whole &= whole;
        proof.exit &= command.proves_exit;
        match command.probe.filter(|probe| whole && probe.success) {
            Some(probe) => note(&mut proof.probes, &probe),
            None => all_probed = false,
        }
    }
    found.map(|proof| CallProof {
        probes: if all_probed { proof.probes } else { Vec::new() },
        ..proof
    })
}

/// Compares a command that runs at `place` with an entry that requires `wanted`.
pub(super) fn standing(
    words: &[String],
    wanted: &str,
    command: &SimpleCommand,
    place: Option<&str>,
) -> Standing {
    let at = |standing: Standing, place: Option<&str>| match place {
        // In another directory it is another command.
        Some(place) if place != wanted => Standing::Other,
        Some(_) => standing,
        None => standing.min(Standing::Narrowed),
    };
    let plain = proofs::standing(words, command);
    match places::moved(command, place) {
        Some(moved) if plain != Standing::Whole => at(
            proofs::standing(words, &moved.command),
            moved.directory.as_deref(),
        ),
        _ => at(plain, place),
    }
}

/// Adds a position; a command that a loop starts again has the same one.
fn note(probes: &mut Vec<ProbeMark>, probe: &Probe) {
    let at = probe.span.start;
    match probes.iter_mut().find(|known| known.at == at) {
        Some(known) => known.exit &= probe.exit,
        None => probes.push(ProbeMark {
            at,
            exit: probe.exit,
        }),
    }
}

/// Returns the positions in the line that are started through a probe, in order.
pub(super) fn probed_spans(context: JudgeContext<'_>) -> Vec<CommandSpan> {
    let Some(line) = &context.call.facts.shell else {
        return Vec::new();
    };
    let marks = evidence(context);
    let named = |span: &CommandSpan| {
        let mut probes = marks.iter().flat_map(|mark| &mark.probes);
        probes.any(|probe| probe.at == span.start)
    };
    let places: BTreeSet<CommandSpan> = line
        .commands
        .iter()
        .filter_map(|command| command.probe)
        .map(|probe| probe.span)
        .filter(named)
        .collect();
    places.into_iter().collect()
}
