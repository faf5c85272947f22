//! Plays one schedule from the start of a run to its end, with the person who attends to it.

use std::collections::BTreeSet;

use interlock_core::{
    command::{ActivityOutcome, CommandKind, Effect, EffectSettlement, EffectStatus},
    effects,
    event::Event,
    machine::{EffectKind, Machine, Object},
    run::{DurableRun, Phase, Run},
};
use interlock_expr::text::Places;
use interlock_runner::{DriveError, Halt, command, drive, lose_effects};
use serde_json::json;

use crate::simulation::{
    choices::Choices,
    world::{Stop, World},
};

/// Maximum number of processes for one run.
const PROCESSES_MAX: u32 = 200;

/// The parts of a run's end that must be independent of disturbances.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    code: Option<u8>,
    variables: Object,
    /// Each success of a step with its output and its command, once per occurrence.
    successes: Vec<(String, String)>,
    /// Each failure of a step.
    failures: BTreeSet<(String, String)>,
    /// Whether a person resumed it: a failed branch is then repeated as a whole.
    was_reopened: bool,
}

impl Ending {
    /// Returns whether both runs reached the same end by the same steps.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let once = |ending: &Self| -> Vec<(String, String)> {
            let mut steps = ending.successes.clone();
            if self.was_reopened {
                steps.dedup();
            }
            steps
        };
        (self.code, &self.variables, &self.failures)
            == (other.code, &other.variables, &other.failures)
            && once(self) == once(other)
    }
}

/// One schedule of a workflow.
pub(crate) struct Schedule<'m> {
    pub(crate) machine: &'m Machine,
    pub(crate) is_fair: bool,
    pub(crate) crash_at: Option<(u32, bool)>,
}

/// The result of a schedule.
pub(crate) struct Played {
    pub(crate) ending: Result<Ending, String>,
    pub(crate) choices: Vec<u64>,
    pub(crate) appends: u32,
    pub(crate) trace: Vec<String>,
    pub(crate) log: Vec<Event>,
}

impl Schedule<'_> {
    /// Plays the schedule.
    pub(crate) fn play(&self, choices: Choices, traced: bool) -> Played {
        let mut world = World::new(self.machine, choices, self.is_fair, self.crash_at);
        world.trace = traced.then(Vec::new);
        let ending = match self.carry(&mut world) {
            Ok(()) => match world.wrong() {
                Some(wrong) => Err(wrong.to_owned()),
                None => Ok(ending(&world)),
            },
            Err(wrong) => Err(wrong),
        };
        Played {
            ending,
            choices: world.choices.taken().to_vec(),
            appends: world.appends,
            trace: world.trace.take().unwrap_or_default(),
            log: world.take_log(),
        }
    }

    fn carry(&self, world: &mut World<'_>) -> Result<(), String> {
        let machine = self.machine;
        let mut has_died = false;
        let mut reopened = 0;
        for _ in 0..PROCESSES_MAX {
            world.begin_again();
            let said = if world.log().is_empty() {
                tell(machine, world, &start())
            } else if has_died {
                lose_effects(machine, world).map(drop)
            } else {
                Ok(())
            };
            has_died = died(said)?;
            if has_died {
                continue;
            }
            let halt = match drive(machine, world) {
                Ok(halt) => halt,
                Err(error) => {
                    has_died = died(Err(error))?;
                    continue;
                }
            };
            let ask = match halt {
                Halt::Over if self.goes_on(world, reopened) => {
                    reopened += 1;
                    CommandKind::Reopen { by: person() }
                }
                Halt::Over => return self.check_end(world),
                Halt::Standing => self.unblock(world)?,
                Halt::Waiting(_) => return Err("the world never rests".to_owned()),
            };
            has_died = died(tell(machine, world, &ask))?;
        }
        Err(format!(
            "the run is not over after {PROCESSES_MAX} processes"
        ))
    }

    /// Returns whether a person resumes a run that is over.
    fn goes_on(&self, world: &mut World<'_>, reopened: u32) -> bool {
        match &world.run.phase {
            Phase::Cancelled if self.is_fair => true,
            Phase::Cancelled | Phase::Ended { cause: Some(_), .. } if !self.is_fair => {
                reopened < 2 && world.choices.below(4) == 3
            }
            _ => false,
        }
    }

    /// Chooses a person's command to a blocked run.
    fn unblock(&self, world: &mut World<'_>) -> Result<CommandKind, String> {
        if world.run.paused.is_some() {
            return Ok(CommandKind::Resume {
                by: person(),
                seen: None,
            });
        }
        let waiting: Vec<Effect> = effects(self.machine, &world.run)
            .into_iter()
            .filter(|effect| matches!(effect.status, EffectStatus::Person | EffectStatus::Lost))
            .collect();
        if waiting.is_empty() {
            return Err("the run is stuck: nothing goes on and nobody is asked".to_owned());
        }
        let at = world.choices.place(waiting.len());
        let effect = &waiting[at];
        let path = Some(effect.frame.to_string());
        if effect.status == EffectStatus::Person {
            let word = if effect.kind == EffectKind::Pause {
                ""
            } else {
                "yes"
            };
            return Ok(CommandKind::EndActivity {
                path,
                outcome: ActivityOutcome::done(word),
            });
        }
        let fates = if self.is_fair { 1 } else { 3 };
        let how = match world.choices.below(fates) {
            0 => EffectSettlement::Again,
            1 => EffectSettlement::Failed(json!(7)),
            _ => EffectSettlement::Done(json!("said")),
        };
        Ok(CommandKind::SettleEffect {
            path,
            how,
            by: person(),
        })
    }

    /// Checks the invariants of every run that is over.
    fn check_end(&self, world: &World<'_>) -> Result<(), String> {
        if world.folded() != world.run {
            return Err("the log replays to another state".to_owned());
        }
        if !effects(self.machine, &world.run).is_empty() {
            return Err("a run that is over has something to do".to_owned());
        }
        Ok(())
    }
}

fn person() -> String {
    "ana".to_owned()
}

fn start() -> CommandKind {
    CommandKind::Start {
        input: Object::new(),
        by: person(),
        durable: Some(DurableRun {
            places: Places {
                run_dir: "/run".to_owned(),
                project: "/project".to_owned(),
                home: "/home".to_owned(),
            },
            ..DurableRun::default()
        }),
    }
}

fn tell(
    machine: &Machine,
    world: &mut World<'_>,
    ask: &CommandKind,
) -> Result<(), DriveError<Stop>> {
    command(machine, world, ask).map(drop)
}

/// Returns whether the process died; any other problem is an error.
fn died(said: Result<(), DriveError<Stop>>) -> Result<bool, String> {
    match said {
        Ok(()) => Ok(false),
        Err(DriveError::Host(Stop::Crash)) => Ok(true),
        Err(error) => Err(error.to_string()),
    }
}

fn ending(world: &World<'_>) -> Ending {
    let mut successes = Vec::new();
    let mut failures = BTreeSet::new();
    let mut run = Run::new(interlock_core::names::RunId::new("r"));
    for event in world.log() {
        if let Event::ActivityEnded {
            path,
            output,
            error,
            stderr,
            ..
        } = event
        {
            let at = run.frame(path).map(|frame| frame.at.to_string());
            let place = format!("{path} at {}", at.unwrap_or_default());
            match error {
                None => successes.push((place, format!("{output} of {stderr}"))),
                Some(cause) => drop(failures.insert((place, cause.code.to_string()))),
            }
        }
        run = interlock_core::evolve(run, event);
    }
    successes.sort();
    let code = match &run.phase {
        Phase::Ended { cause, .. } => Some(cause.as_ref().map_or(0, |cause| cause.number())),
        Phase::Cancelled => Some(130),
        Phase::New | Phase::Open => None,
    };
    Ending {
        code,
        variables: run.root.line.context.as_ref().clone(),
        successes,
        failures,
        was_reopened: world
            .log()
            .iter()
            .any(|event| matches!(event, Event::RunReopened { .. })),
    }
}
