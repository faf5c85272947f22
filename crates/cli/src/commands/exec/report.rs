//! Reports what happened to a line: to its run, or to the person who ran it.

use std::{collections::BTreeSet, io::Write as _, path::Path};

use interlock_core::{
    call::WrittenPath,
    command::{Command, CommandKind, LineEnd, LineStart},
    event::{ProbedCommand, ProtectedChange, ProtectedFate},
    machine::{Machine, State},
    run::Run,
    substance::Checked,
};
use interlock_sandbox::{
    Answer, Change, Changed, Ended, Exit, Level, Plan, Probed, Unconfined, plan::Column,
};
use interlock_store::{EventLog as _, Files, Home, RunLog, StoreError, Ticket, is_check, submit};

use super::checks::Checks;
use crate::live::now_ms;

/// The run to which one line is reported.
pub(super) struct Report {
    log: RunLog,
    machine: Machine,
    run: Run,
    call: interlock_core::names::CallId,
    path: interlock_core::names::FramePath,
    proves: bool,
    /// State of the project's files before the line, if its state counts what is written.
    before: Option<Files>,
    /// What guards need besides the exit code.
    checks: Checks,
}

impl Report {
    /// Opens the run of a ticket; a run that is not active lets nothing begin.
    pub(super) fn open(home: &Home, ticket: &Ticket) -> Result<Self, String> {
        let opened = || -> Result<(RunLog, Machine, Run), StoreError> {
            let log = home.open_run(&ticket.run)?;
            let run = log.load()?;
            let machine = log.machine_of(&run)?;
            Ok((log, machine, run))
        };
        let (log, machine, run) = opened().map_err(|error| error.to_string())?;
        if run.paused.is_some() {
            return Err(
                "the run was paused since this line was allowed; nothing was run".to_owned(),
            );
        }
        Ok(Self {
            log,
            machine,
            run,
            call: ticket.call.clone(),
            path: ticket.path.clone(),
            proves: ticket.proves,
            before: None,
            checks: Checks::default(),
        })
    }

    /// Compares the project's files before the line begins.
    ///
    /// Before a check, files that changed since the last check are reported to the run. Before any other line of a state that
    /// limits files, their state is stored, so that everything the line writes counts.
    pub(super) fn look_at_files(&mut self, plan: &Plan) -> Result<(), String> {
        if is_check(&self.run, &self.call).is_none() {
            let limits = self.state().is_some_and(|at| at.policy.files_max.is_some());
            if limits && plan.column == Column::Writing {
                self.before = Files::look(&plan.project);
            }
            return Ok(());
        }
        let files = self.log.folder().changed_files(&self.run);
        if !files.is_empty() {
            self.ask(CommandKind::ReportFiles {
                files,
                before: Some(self.call.clone()),
            })?;
        }
        self.checks = Checks::look(
            &self.log,
            &self.machine,
            &self.run,
            &self.call,
            &plan.project,
        );
        Ok(())
    }

    /// Returns whether the run is still in a state that may write.
    pub(super) fn may_go_on(&mut self) -> bool {
        // Writes of this process may have come after those of others.
        if !self.log.count().is_ok_and(|count| count == self.run.seq) {
            // If the run cannot be read, the line is still confined to its plan.
            let Ok(run) = self.log.load() else {
                return true;
            };
            self.run = run;
        }
        let state = self.state();
        self.run.is_over() || state.is_none_or(|state| state.policy.may_write())
    }

    /// Returns the state of the line's frame.
    fn state(&self) -> Option<&State> {
        let frame = self.run.frame(&self.path).unwrap_or(&self.run.root);
        let machine = self.machine.called(frame.machine.as_ref())?;
        machine.states.get(&frame.at)
    }

    /// Reports to the run how far the line is confined.
    pub(super) fn started(
        &mut self,
        level: Level,
        unconfined: &[Unconfined],
    ) -> Result<(), String> {
        let unconfined = unconfined.iter().map(|thing| thing.as_str().to_owned());
        self.ask(CommandKind::StartLine(LineStart {
            call: self.call.clone(),
            level: level.as_str().to_owned(),
            unconfined: unconfined.collect(),
        }))
    }

    /// Reports to the run how the line ended and what was found after it.
    ///
    /// If something cannot be reported, the rest still is, but it is not evidence.
    pub(super) fn ended(&mut self, ended: &Ended, plan: &Plan, began: bool) -> Result<(), String> {
        let exit = match ended.exit {
            Exit::Code(code) => i64::from(code),
            Exit::Signal(signal) => 128 + i64::from(signal),
        };
        // Stored before the end is reported: nothing is evidence without it.
        let kept = match is_check(&self.run, &self.call) {
            Some(begun) => self.log.folder().keep_files(&plan.project, begun),
            None => Ok(()),
        };
        let proves = began && kept.is_ok();
        let checks = std::mem::take(&mut self.checks);
        let checked = checks.seen(&self.log, &self.machine, &self.run);
        let changed = self.before.take().map(|files| files.changed());
        let wrote: BTreeSet<&String> = ended.wrote.iter().chain(changed.iter().flatten()).collect();
        let wrote = wrote
            .into_iter()
            .map(|relative| written(&plan.project, relative))
            .collect();
        let told = self.ask(CommandKind::EndLine(LineEnd {
            call: self.call.clone(),
            path: self.path.clone(),
            exit: (proves && self.proves).then_some(exit),
            wrote,
            commands: commands(if proves { &ended.probed } else { &[] }),
            // In an unrestricted state, nothing is compared.
            unseen: ended.unseen.is_some() || plan.column == Column::Free,
            checked: if proves { checked } else { Checked::default() },
        }));
        let reported = match ended.changed.as_slice() {
            [] => Ok(()),
            changed => self.ask(CommandKind::ReportProtected {
                changes: changed.iter().map(protected_change).collect(),
            }),
        };
        kept.map_err(|error| error.to_string())
            .and(told)
            .and(reported)
    }

    fn ask(&mut self, command: CommandKind) -> Result<(), String> {
        let command = Command {
            at_ms: now_ms(),
            kind: command,
        };
        submit(&mut self.log, &self.machine, &mut self.run, &command)
            .map(|_| ())
            .map_err(|error| error.to_string())
    }
}

/// Collects what was observed of each probed command.
fn commands(probed: &[Probed]) -> Vec<ProbedCommand> {
    let mut commands: Vec<ProbedCommand> = Vec::new();
    for seen in probed {
        let exit = seen.exit.map(i64::from);
        match commands.iter_mut().find(|known| known.at == seen.at) {
            Some(known) => known.exits.push(exit),
            None => commands.push(ProbedCommand {
                at: seen.at,
                exits: vec![exit],
            }),
        }
    }
    commands
}

fn written(project: &Path, relative: &str) -> WrittenPath {
    WrittenPath {
        path: project.join(relative).to_string_lossy().into_owned(),
        relative: Some(relative.to_owned()),
    }
}

fn protected_change(changed: &Changed) -> ProtectedChange {
    ProtectedChange {
        path: changed.path.to_string_lossy().into_owned(),
        what: "written by a shell line".to_owned(),
        fate: match changed.change {
            Change::Appeared => ProtectedFate::Appeared,
            Change::Altered => ProtectedFate::Changed,
            Change::Removed => ProtectedFate::Vanished,
        },
        digest: None,
        undone: !matches!(changed.answer, Answer::Left(_)),
    }
}

/// Reports to a person what was found after their line.
pub(super) fn tell_person(ended: &Ended) {
    for changed in &ended.changed {
        // If standard error is closed, the line's own exit code is all that remains.
        let _ = writeln!(
            std::io::stderr(),
            "interlock: {}",
            interlock_core::visible::visible(&protected_change(changed).sentence())
        );
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use interlock_core::{
        event::Event,
        machine::Object,
        names::{CallId, FramePath},
    };
    use interlock_formats::{NoWorkflows, Source, load};
    use interlock_sandbox::plan::{EnvironmentChanges, PostCheck, Start};
    use interlock_store::{Durability, NewRun, SourceFile};
    use interlock_testkit::room::Room;

    use super::*;

    #[test]
    fn a_line_whose_start_is_in_no_log_proves_nothing() {
        let room = Room::new_in_no_temporary(&std::env::temp_dir()).unwrap();
        let text = r#"{"id": "w", "initial": "work", "states": {
            "work": {"allowed_tools": ["Bash"], "on": {"DONE": "end"}}, "end": {"type": "final"}}}"#;
        let source = Source::new("w.json", text);
        let loaded = load(&source, None, &NoWorkflows).unwrap();
        let home = Home::at(room.state().join("interlock"));
        let new = NewRun {
            machine: &loaded.machine,
            source: &SourceFile {
                name: source.name,
                text: source.text,
            },
            project_root: &room.project(),
            name: None,
            durability: Durability::Process,
            at_ms: 1,
        };
        let run = home.start_run(&new, Object::new(), "ana").unwrap();
        let run = run.log.run().clone();
        let plan = Plan {
            column: Column::Writing,
            start: Start::Line("npm test".to_owned()),
            probes: Vec::new(),
            directory: room.project(),
            project: room.project(),
            environment: EnvironmentChanges::default(),
            confinement: None,
            post_check: PostCheck::default(),
            require: Level::Environment,
        };
        let ended = Ended {
            exit: Exit::Code(0),
            level: Level::Environment,
            unconfined: Vec::new(),
            changed: Vec::new(),
            wrote: Vec::new(),
            probed: vec![Probed {
                at: 0,
                exit: Some(0),
            }],
            left_behind: 0,
            unseen: None,
        };
        for (began, wanted) in [(true, (Some(0), 1)), (false, (None, 0))] {
            let log = home.open_run(&run).unwrap();
            let mut report = Report {
                run: log.load().unwrap(),
                log,
                machine: loaded.machine.clone(),
                call: CallId::new("t1"),
                path: FramePath::root(),
                proves: true,
                before: None,
                checks: Checks::default(),
            };
            let since = report.run.seq;
            report.ended(&ended, &plan, began).unwrap();
            let told =
                report
                    .log
                    .events(since)
                    .find_map(|recorded| match recorded.unwrap().event {
                        Event::LineEnded { exit, commands, .. } => Some((exit, commands.len())),
                        _ => None,
                    });
            assert_eq!(told, Some(wanted), "began: {began}");
        }
    }
}
