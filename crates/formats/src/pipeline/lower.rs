//! Converts a pipeline to a machine: one state per stage, and one more per fork.

use std::collections::HashSet;

use indexmap::IndexMap;
use interlock_core::{
    guard::Guard,
    machine::{
        Activity, Branch as CoreBranch, Budget, Join, Machine, Merge, Mode, ModelStage, Outcome,
        Parallel, Rule, StageRules, State, Target, Transition,
    },
    names::{EventName, GuardName, StateName},
};

use super::syntax::{END, FAIL, Fork, Next, Pipeline, Settings, Stage};
use crate::native;

/// Code of a run that fails because a branch did.
const SIBLING_FAILED: &str = "sibling_failed";

/// Creates the machine, even if there are errors.
///
/// `inside` names the stages that only run in a branch that another stage joins: their end ends the branch, not the run.
pub(super) fn lower(
    pipeline: &Pipeline,
    guards: IndexMap<GuardName, Guard>,
    inside: &HashSet<&str>,
) -> Machine {
    let mut states: IndexMap<StateName, State> = IndexMap::new();
    let mut made: IndexMap<StateName, State> = IndexMap::new();
    let mut ends = HashSet::new();
    for (id, stage) in &pipeline.stages {
        let way = Way {
            inside: inside.contains(id.as_str()),
        };
        let name = StateName::new(id.clone());
        if let Next::Fork(fork) = &stage.next {
            let (name, state) = way.fork(pipeline, id, fork, &mut ends);
            made.insert(name, state);
        }
        states.insert(name, way.stage(pipeline, id, stage, &guards, &mut ends));
    }
    for (word, outcome) in [(END, Outcome::Success), (FAIL, Outcome::Failure)] {
        if ends.contains(word) {
            made.insert(StateName::new(word), ending(word, outcome));
        }
    }
    let first = pipeline.stages.keys().next().cloned();
    let entry = pipeline.entry.as_ref().map(|entry| entry.text.clone());
    states.extend(made);
    Machine {
        initial: StateName::new(entry.or(first).unwrap_or_default()),
        context: pipeline.context.clone(),
        states,
        guards,
        stages: Some(rules(&pipeline.settings)),
        meta: pipeline.meta.clone(),
        durable: true,
        ..native::empty(&pipeline.id)
    }
}

/// How the targets of one stage are interpreted.
struct Way {
    /// Whether the end is that of a branch.
    inside: bool,
}

impl Way {
    fn stage(
        &self,
        pipeline: &Pipeline,
        id: &str,
        stage: &Stage,
        guards: &IndexMap<GuardName, Guard>,
        ends: &mut HashSet<&'static str>,
    ) -> State {
        let mut on = IndexMap::new();
        if let Some(rule) = self.next(id, stage, ends) {
            on.insert(EventName::new("done"), rule);
        }
        for (event, target) in &stage.ends {
            let rule = only(self.target(&target.text, ends));
            on.insert(EventName::new(*event), rule);
        }
        let settings = &pipeline.settings;
        let parts = &stage.parts;
        State {
            activity: Activity::Stage(Box::new(ModelStage {
                gate: parts.over_context(guards),
                ..parts.model_stage(settings.timeout_ms)
            })),
            policy: stage.policy.clone(),
            on,
            model: stage.model.clone(),
            retry: parts.retry.clone().or_else(|| settings.retry.clone()),
            approval_before: parts.approval_before(),
            ..State::default()
        }
    }

    fn next(&self, id: &str, stage: &Stage, ends: &mut HashSet<&'static str>) -> Option<Rule> {
        Some(match &stage.next {
            Next::Broken => return None,
            Next::To(target) => only(self.target(&target.text, ends)),
            Next::Branches(branches) => Rule {
                branched: true,
                transitions: branches
                    .iter()
                    .map(|branch| Transition {
                        guards: branch.guards.clone(),
                        target: self.target(&branch.target.text, ends),
                        approval: None,
                    })
                    .collect(),
            },
            Next::Fork(_) => only(Target::State(fork_name(id))),
        })
    }

    fn fork(
        &self,
        pipeline: &Pipeline,
        id: &str,
        fork: &Fork,
        ends: &mut HashSet<&'static str>,
    ) -> (StateName, State) {
        let terminal = fork.join.as_ref().map_or(END, |join| join.text.as_str());
        let branches = fork.siblings.iter().map(|sibling| {
            let branch = CoreBranch {
                initial: StateName::new(sibling.text.clone()),
                terminal: StateName::new(terminal),
            };
            (sibling.text.clone(), branch)
        });
        let activity = Activity::Parallel(Parallel {
            join: Join::FailFast,
            merge: Merge::Captured,
            concurrency: Some(at_once(&pipeline.settings)),
            fails_as: Some(SIBLING_FAILED.to_owned()),
            ..Parallel::branches(branches.collect())
        });
        if fork.join.is_none() {
            ends.insert(END);
        }
        let mut on = IndexMap::new();
        on.insert(EventName::new("done"), only(self.target(terminal, ends)));
        if let Some(target) = &fork.on_fail {
            on.insert(
                EventName::new("error"),
                only(self.target(&target.text, ends)),
            );
        }
        let name = fork_name(id);
        let state = State {
            activity,
            on,
            shown_as: Some(name.clone()),
            ..State::default()
        };
        (name, state)
    }

    fn target(&self, name: &str, ends: &mut HashSet<&'static str>) -> Target {
        let (word, outcome) = match name {
            END => (END, Outcome::Success),
            FAIL => (FAIL, Outcome::Failure),
            _ => return Target::State(StateName::new(name)),
        };
        if self.inside {
            return Target::End(outcome);
        }
        ends.insert(word);
        Target::State(StateName::new(word))
    }
}

/// Returns the name of the state in which the stages after `id` run concurrently.
pub(super) fn fork_name(id: &str) -> StateName {
    StateName::new(format!("{id}.fork"))
}

fn ending(word: &str, outcome: Outcome) -> State {
    State {
        activity: Activity::Final { outcome },
        shown_as: Some(StateName::new(word)),
        ..State::default()
    }
}

fn only(target: Target) -> Rule {
    Rule {
        branched: false,
        transitions: vec![Transition {
            guards: Vec::new(),
            target,
            approval: None,
        }],
    }
}

fn at_once(settings: &Settings) -> usize {
    let written = settings
        .at_once
        .and_then(|count| usize::try_from(count).ok());
    written.unwrap_or(StageRules::default().at_once)
}

fn rules(settings: &Settings) -> StageRules {
    let default = StageRules::default();
    StageRules {
        mode: match settings.mode.as_deref() {
            Some("allowlist") => Some(Mode::Allowlist),
            Some("yolo") => Some(Mode::Yolo),
            Some(_) => Some(Mode::Ask),
            None => None,
        },
        allowlist: settings.allowlist.clone(),
        tools: settings.tools.clone(),
        at_once: at_once(settings),
        executions_max: settings.executions_max.unwrap_or(default.executions_max),
        grant_timeout_ms: settings.grant_timeout_ms,
        result_bytes: settings.result_bytes.unwrap_or(default.result_bytes),
        budget: Budget {
            tokens: settings.tokens,
            pico_usd: settings.pico_usd,
        },
        model: settings.model.clone(),
    }
}
