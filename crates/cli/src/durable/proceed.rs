//! Continues a run that waits, failed, was cancelled or was interrupted.

use interlock_core::{
    Reply,
    command::{CommandKind, EffectSettlement},
    machine::{Machine, Outcome},
    refusal::{Code, Refusal},
    run::{Phase, Run},
};
use interlock_runner::{Resumed, answer, command, holder, resume_pause};
use serde_json::json;

use super::{Terms, begin::Begun, carry::ActiveRun, variables};
use crate::{
    answer::ask_run,
    app::{App, indented},
    args::ProceedArgs,
    failure::{Done, Exit, Failure},
    live::Live,
    origin::{self, Difference},
    standing::{Wait, waits},
};

/// A person's options for continuing a run.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// Name of the person.
    pub(crate) by: String,
    /// Answer to the run's question.
    pub(crate) answer: Option<String>,
    /// Variables to set.
    pub(crate) variables: Vec<(String, String)>,
    /// How to settle the interrupted step; by default it runs again.
    pub(crate) fate: Option<EffectSettlement>,
    /// State of the interrupted step.
    pub(crate) state: Option<String>,
    /// Whether the run moves to the present workflow file.
    pub(crate) adopt: bool,
}

/// Continues a run of steps as the command line says.
pub(crate) fn proceed_as(app: &App, live: Live, by: String, args: ProceedArgs, json: bool) -> Done {
    let terms = Terms {
        // A person who answers in advance does not wait for the next question.
        headless: args.headless || args.answer.is_some(),
        json,
        stages: args.stages.clone(),
    };
    let wishes = Wishes {
        by,
        fate: args.fate(),
        answer: args.answer,
        variables: args.variables,
        state: args.state,
        adopt: args.adopt,
    };
    proceed(app, live, &wishes, &terms)
}

/// Continues a run of steps, and carries it out from there.
pub(crate) fn proceed(app: &App, live: Live, wishes: &Wishes, terms: &Terms) -> Done {
    if let Some(over) = completed(&live.run) {
        return Err(refused(app, &over, terms)?);
    }
    // The process that runs it has only been told to pause.
    if live.run.paused.is_some() && wishes.is_plain() && holder(live.log.folder().work()).is_some()
    {
        let by = wishes.by.clone();
        return ask_run(
            app,
            live,
            CommandKind::Resume { by, seen: None },
            terms.json,
        );
    }
    same_mode(&live.run, terms)?;
    let Live {
        log, machine, run, ..
    } = live;
    let since = run.seq;
    let carrying = ActiveRun::take(app, Begun::known(log), &machine, terms, since)?;
    let mut going = Going {
        app,
        carrying,
        machine,
        terms,
        was_over: run.is_over(),
    };
    going.carrying.host().recover(&going.machine)?;
    going.settle(wishes)?;
    going.adopt(wishes)?;
    going.set(wishes)?;
    if going.go_on(wishes)? {
        going.carrying.drive(&going.machine)?;
    }
    going.carrying.end(app, &going.machine)
}

/// Refuses a mode other than the one the run began with.
fn same_mode(run: &Run, terms: &Terms) -> Done {
    let begun = run.mode().map(|rules| rules.mode);
    match terms.stages.mode.map(crate::args::ModeWord::mode) {
        Some(said) if begun != Some(said) => Err(Failure::usage(anyhow::anyhow!(
            "the mode of a run is fixed when it starts: leave out `--mode`"
        ))),
        _ => Ok(()),
    }
}

impl Wishes {
    /// Returns whether the run is only to be continued.
    const fn is_plain(&self) -> bool {
        self.answer.is_none() && self.variables.is_empty() && self.fate.is_none() && !self.adopt
    }
}

/// Returns why a completed run cannot continue.
fn completed(run: &Run) -> Option<Refusal> {
    let is_done = matches!(
        run.phase,
        Phase::Ended {
            outcome: Outcome::Success,
            ..
        }
    );
    is_done.then(|| {
        Refusal::new(
            Code::RunOver,
            "the run is over and cannot continue: start a new one",
        )
    })
}

/// Prints a refusal, and turns it into the exit code.
fn refused(app: &App, refusal: &Refusal, terms: &Terms) -> Result<Failure, Failure> {
    let code = refusal.code.as_str();
    if terms.json {
        let line = json!({ "event": "Refused", "code": code, "message": refusal.message });
        app.output.json(&line)?;
    } else {
        app.output.error(&format!(
            "refused ({code}): {}\n",
            indented(&refusal.message)
        ))?;
    }
    Ok(Failure::Said(Exit::Failed))
}

/// A run that is being continued.
struct Going<'a> {
    app: &'a App,
    carrying: ActiveRun,
    machine: Machine,
    terms: &'a Terms,
    /// Whether it had failed or was cancelled before.
    was_over: bool,
}

impl Going<'_> {
    fn run(&mut self) -> Result<Run, Failure> {
        Ok(self.carrying.host().run()?)
    }

    fn waits(&mut self) -> Result<Vec<Wait>, Failure> {
        let run = self.run()?;
        Ok(waits(&self.machine, &run))
    }

    fn ask(&mut self, ask: &CommandKind) -> Done {
        let decision = command(&self.machine, self.carrying.host(), ask)
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        match decision.reply {
            Reply::Refused(refusal) => Err(self.refused(&refusal)?),
            _ => Ok(()),
        }
    }

    fn refused(&mut self, refusal: &Refusal) -> Result<Failure, Failure> {
        self.carrying.host().release()?;
        refused(self.app, refusal, self.terms)
    }

    /// Releases the run and returns why it does not continue.
    fn stop<T>(&mut self, why: String) -> Result<T, Failure> {
        self.carrying.host().release()?;
        Err(anyhow::anyhow!(why).into())
    }

    /// Settles the interrupted step as the person says.
    fn settle(&mut self, wishes: &Wishes) -> Done {
        let Some(how) = &wishes.fate else {
            return Ok(());
        };
        self.ask(&CommandKind::SettleEffect {
            path: wishes.state.clone(),
            how: how.clone(),
            by: wishes.by.clone(),
        })
    }

    /// Moves to the present workflow, or reports that the run keeps its copy.
    fn adopt(&mut self, wishes: &Wishes) -> Done {
        let Some(begun) = self.carrying.host().log().folder().origin()? else {
            return Ok(());
        };
        let changed = origin::differences(&begun);
        if !wishes.adopt {
            if !changed.is_empty() && !self.terms.json {
                let list: Vec<String> = changed.iter().map(Difference::sentence).collect();
                self.app.output.remark(&format!(
                    "interlock: {}: the run uses its own copy (`--adopt` switches to the current files)\n",
                    list.join(", ")
                ));
            }
            return Ok(());
        }
        let project = self.run()?.places().map(|places| places.project.clone());
        let now = match origin::load_again(self.app, &begun, project.as_deref()) {
            Ok(now) => now,
            Err(failure) => {
                self.carrying.host().release()?;
                return Err(failure);
            }
        };
        if now.machine.hash == self.machine.hash {
            return Ok(());
        }
        self.carrying.host().log().keep_machine(&now.machine)?;
        self.ask(&CommandKind::Adopt {
            machine: Box::new(now.machine.clone()),
            by: wishes.by.clone(),
        })?;
        self.machine = now.machine;
        Ok(self
            .carrying
            .host()
            .log()
            .folder()
            .set_origin(&now.origin)?)
    }

    /// Sets variables.
    fn set(&mut self, wishes: &Wishes) -> Done {
        if wishes.variables.is_empty() {
            return Ok(());
        }
        let known = self
            .carrying
            .host()
            .log()
            .folder()
            .origin()?
            .unwrap_or_default();
        let values = match variables::checked(&wishes.variables, &known.variables) {
            Ok(values) => values,
            Err(failure) => {
                self.carrying.host().release()?;
                return Err(failure);
            }
        };
        self.ask(&CommandKind::SetVariables {
            values,
            by: wishes.by.clone(),
        })
    }

    /// Continues the run; returns whether it must be driven.
    fn go_on(&mut self, wishes: &Wishes) -> Result<bool, Failure> {
        let by = wishes.by.clone();
        let run = self.run()?;
        if self.was_over {
            self.ask(&CommandKind::Reopen { by })?;
            return self.answered(wishes);
        }
        if run.is_over() {
            // The interrupted step counts as failed, and no transition handles that.
            return Ok(false);
        }
        if run.paused.is_some() {
            self.ask(&CommandKind::Resume {
                by: by.clone(),
                seen: None,
            })?;
        }
        if wishes.fate.is_none() {
            self.run_lost_again(wishes)?;
        }
        if wishes.answer.is_some() {
            return self.answered(wishes);
        }
        let context = self.carrying.host().run_context().clone();
        let resumed = resume_pause(&self.machine, self.carrying.host(), &context)
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        Ok(match resumed {
            Resumed::GoesOn | Resumed::NothingPaused => true,
            Resumed::NotYet(failed) => {
                if !self.terms.json {
                    self.app.output.remark(&format!(
                        "interlock: its condition does not hold: {}\n",
                        failed.message
                    ));
                }
                false
            }
        })
    }

    /// Restarts the interrupted steps, which is the default of a resume.
    ///
    /// For a call that a model proposed, the person must ask for it, since it was not written by a person.
    fn run_lost_again(&mut self, wishes: &Wishes) -> Done {
        let waits = self.waits()?.into_iter();
        let lost = waits.filter(|wait| wait.kind == "lost");
        let wanted = lost.filter(|wait| wishes.state.as_ref().is_none_or(|at| *at == wait.path));
        for wait in wanted.collect::<Vec<_>>() {
            self.ask(&CommandKind::SettleEffect {
                path: Some(wait.path),
                how: EffectSettlement::Again,
                by: wishes.by.clone(),
            })?;
        }
        Ok(())
    }

    /// Gives the person's answer to the run's question, if there is one.
    fn answered(&mut self, wishes: &Wishes) -> Result<bool, Failure> {
        let Some(text) = &wishes.answer else {
            return Ok(true);
        };
        let context = self.carrying.host().run_context().clone();
        let given = answer(&self.machine, self.carrying.host(), &context, text)
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        match given {
            Some(Ok(())) => Ok(true),
            Some(Err(why)) => self.stop(why),
            None => self.stop("the run asks nothing: leave out `--answer`".to_owned()),
        }
    }
}
