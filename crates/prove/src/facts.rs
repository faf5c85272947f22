//! What happened in a step, as properties ask for it.

use interlock_core::{
    call::{CallKind, ToolCall},
    event::{Event, RequestKind, TransitionKind},
    glob::path_matches,
    guard::GuardRef,
    holds::{Scope, unmet},
    machine::Target,
    names::{FramePath, MachineId, StateName},
    policy::wildcard_matches,
    run::{Frame, Phase, Run},
};
use interlock_formats::Predicate;

use crate::model::{Model, Standing};

/// A transition as written: where it stands, its event, and which of its branches.
pub(crate) type Taken = (Standing, String, usize);

/// What happened in one step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Facts {
    pub(crate) entered: Vec<Standing>,
    pub(crate) events: Vec<String>,
    pub(crate) taken: Vec<Taken>,
    /// Interrupts that were raised.
    pub(crate) raised: Vec<String>,
    pub(crate) approved: Vec<String>,
    pub(crate) rejected: Vec<String>,
    /// Whether a call ran that may write.
    pub(crate) wrote: bool,
    /// Files of the project that a line was seen to write.
    pub(crate) files: Vec<String>,
    pub(crate) exit: Option<i64>,
    /// Whether a call ended as a failure.
    pub(crate) failed: bool,
    /// Whether it was a person's step.
    pub(crate) by_person: bool,
    /// Whether it ended the run.
    pub(crate) over: bool,
}

impl Facts {
    /// Reads what happened out of the events between two runs.
    pub(crate) fn of<'e>(
        model: &Model,
        before: Option<&Run>,
        events: impl IntoIterator<Item = &'e Event>,
        after: &Run,
    ) -> Self {
        let mut facts = Self::default();
        let enter = |facts: &mut Self, standing: Standing| {
            if !facts.entered.contains(&standing) {
                facts.entered.push(standing);
            }
        };
        let machine_at = |path: &FramePath| {
            let frame = |run: &Run| run.frame(path).map(|frame| frame.machine.clone());
            before.and_then(frame).or_else(|| frame(after)).flatten()
        };
        for event in events {
            match event {
                Event::RunStarted { initial, .. } => enter(&mut facts, (None, initial.clone())),
                Event::CallAllowed { marks, .. } => facts.wrote |= marks.writes,
                Event::CallEnded {
                    exit, wrote, ok, ..
                } => {
                    facts.failed = !ok;
                    facts.wrote |= !wrote.is_empty();
                    let inside = wrote.iter().filter_map(|one| one.relative.clone());
                    facts.files.extend(inside);
                    facts.exit = *exit;
                }
                Event::RequestAnswered {
                    path, about, yes, ..
                } => {
                    facts.by_person = true;
                    if *about == RequestKind::Transition {
                        let asked = before.and_then(|run| run.frame(path));
                        let event = asked.and_then(|frame| frame.stay.pending_transition());
                        let named = event.map_or_else(String::new, |one| one.event.to_string());
                        let list = if *yes {
                            &mut facts.approved
                        } else {
                            &mut facts.rejected
                        };
                        list.push(named);
                    } else if *yes {
                        facts.approved.push("a call".to_owned());
                    }
                }
                Event::TransitionTaken {
                    path,
                    event,
                    from,
                    to,
                    how,
                    ..
                } => {
                    let machine = machine_at(path);
                    facts.events.push(event.to_string());
                    facts.taken.extend(taken(
                        model,
                        before,
                        path,
                        (&machine, from),
                        event.as_str(),
                        to,
                        *how,
                    ));
                    enter(&mut facts, (machine, to.clone()));
                }
                Event::InterruptRaised {
                    path,
                    interrupt,
                    to,
                    ..
                } => {
                    facts.raised.push(interrupt.to_string());
                    enter(&mut facts, (machine_at(path), to.clone()));
                }
                Event::RegionsStarted { path, start } => {
                    for (_, state) in start.regions(path) {
                        enter(&mut facts, (machine_at(path), state.clone()));
                    }
                }
                Event::MachineCalled {
                    machine, initial, ..
                } => {
                    enter(&mut facts, (Some(machine.clone()), initial.clone()));
                }
                Event::RunEnded { .. } => facts.over = true,
                _ => {}
            }
        }
        facts
    }
}

/// Finds which written transitions an event that was taken may have been.
fn taken(
    model: &Model,
    before: Option<&Run>,
    path: &FramePath,
    (machine, from): (&Option<MachineId>, &StateName),
    event: &str,
    to: &StateName,
    how: TransitionKind,
) -> Vec<Taken> {
    let Some(rule) = model
        .state(machine.as_ref(), from)
        .and_then(|state| state.on.get(event))
    else {
        return Vec::new();
    };
    let standing = (machine.clone(), from.clone());
    let frame = before.and_then(|run| Some((run, run.frame(path)?)));
    let exactly = frame.filter(|(_, frame)| frame.at == *from && frame.machine == *machine);
    if let Some((run, frame)) = exactly
        && let Some(machine) = model.machine.called(machine.as_ref())
    {
        let asked = frame.stay.pending_transition().map(|asked| asked.index);
        let scope = Scope {
            machine,
            run,
            frame,
        };
        let mut chosen = rule.transitions.iter();
        let index = asked.or_else(|| chosen.position(|one| unmet(scope, &one.guards).is_empty()));
        return index
            .map(|index| (standing, event.to_owned(), index))
            .into_iter()
            .collect();
    }
    let fits = |target: &Target| match target {
        Target::State(state) => state == to,
        Target::Return => how == TransitionKind::Returned,
        Target::End(_) => false,
    };
    let all = rule
        .transitions
        .iter()
        .enumerate()
        .filter(|(_, one)| fits(&one.target));
    all.map(|(index, _)| (standing.clone(), event.to_owned(), index))
        .collect()
}

/// A step: what happened in which frame, and where the run stood before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) before: Option<&'a Run>,
    pub(crate) path: &'a FramePath,
    pub(crate) facts: &'a Facts,
    pub(crate) call: Option<&'a ToolCall>,
    pub(crate) after: &'a Run,
}

/// Says of every predicate that properties ask for whether it is so at this step.
///
/// What is about where a run stands is asked after the step; what happens, with where its frame stood before it.
pub(crate) fn bits(model: &Model, step: Step<'_>) -> Vec<bool> {
    model
        .slots
        .iter()
        .map(|slot| match slot.stands() {
            true => stands(model, slot, step.after),
            false => happens(model, slot, step),
        })
        .collect()
}

/// Says the same of what happens alone: where the run stands is asked of the state that is reached, once for all steps to it.
pub(crate) fn happening(model: &Model, step: Step<'_>) -> Vec<bool> {
    let slots = model.slots.iter().zip(&model.standing);
    slots
        .map(|(slot, stands)| !stands && happens(model, slot, step))
        .collect()
}

/// Returns whether a predicate holds of one of the branches of a run.
pub(crate) fn stands(model: &Model, what: &Predicate, run: &Run) -> bool {
    leaves(run)
        .iter()
        .any(|path| stands_at(model, what, run, path))
}

/// Returns the frames that stand for themselves; of a run that has ended, the outermost.
pub(crate) fn leaves(run: &Run) -> Vec<FramePath> {
    match run.phase {
        Phase::Open => run.open_leaves(),
        _ => vec![FramePath::root()],
    }
}

/// Returns whether a predicate holds of a frame with all above it.
pub(crate) fn stands_at(model: &Model, what: &Predicate, run: &Run, path: &FramePath) -> bool {
    let frames = chain(run, path);
    eval(what, &mut |atom| match atom {
        Predicate::State(state) => frames.iter().any(|frame| frame.at.as_str() == state),
        Predicate::Guard(name) => frames
            .iter()
            .any(|frame| guard_holds(model, run, frame, name)),
        _ => false,
    })
}

fn chain<'r>(run: &'r Run, path: &FramePath) -> Vec<&'r Frame> {
    let mut at = FramePath::root();
    let mut frames = vec![&run.root];
    for name in path.names() {
        at = at.child(name);
        frames.extend(run.frame(&at));
    }
    frames
}

fn guard_holds(model: &Model, run: &Run, frame: &Frame, name: &str) -> bool {
    let Some(machine) = model.machine.called(frame.machine.as_ref()) else {
        return false;
    };
    let Some((name, _)) = machine.guards.get_key_value(name) else {
        return false;
    };
    let guard = GuardRef::Named(name.clone());
    unmet(
        Scope {
            machine,
            run,
            frame,
        },
        std::slice::from_ref(&guard),
    )
    .is_empty()
}

fn happens(model: &Model, what: &Predicate, step: Step<'_>) -> bool {
    let facts = step.facts;
    eval(what, &mut |atom| match atom {
        Predicate::State(_) | Predicate::Guard(_) => step
            .before
            .is_some_and(|run| stands_at(model, atom, run, step.path)),
        Predicate::Enter(state) => facts.entered.iter().any(|(_, at)| at.as_str() == state),
        Predicate::Event(event) => facts.events.iter().any(|one| one == event),
        Predicate::Approved(event) => answered(&facts.approved, event.as_deref()),
        Predicate::Rejected(event) => answered(&facts.rejected, event.as_deref()),
        Predicate::Final(wanted) => {
            facts.over
                && matches!(&step.after.phase, Phase::Ended { outcome, .. } if outcome == wanted)
        }
        Predicate::Command { exit, .. } => {
            step.call.is_some_and(|call| of_call(atom, call))
                && (exit.is_none() || *exit == facts.exit)
        }
        // An edit that failed has written nothing; a line may have, up to where it failed.
        Predicate::Writes(_)
            if facts.failed && step.call.is_some_and(|call| call.kind == CallKind::Edit) =>
        {
            false
        }
        Predicate::Writes(None) => facts.wrote,
        Predicate::Writes(Some(pattern)) => {
            facts.files.iter().any(|path| path_matches(pattern, path))
                || step.call.is_some_and(|call| of_call(atom, call))
        }
        Predicate::Tool(_) => step.call.is_some_and(|call| of_call(atom, call)),
        Predicate::All(_) | Predicate::Any(_) | Predicate::Not(_) => false,
    })
}

fn answered(said: &[String], event: Option<&str>) -> bool {
    said.iter()
        .any(|one| event.is_none_or(|event| one == event))
}

fn eval(what: &Predicate, atom: &mut dyn FnMut(&Predicate) -> bool) -> bool {
    match what {
        Predicate::All(items) => items.iter().all(|item| eval(item, atom)),
        Predicate::Any(items) => items.iter().any(|item| eval(item, atom)),
        Predicate::Not(item) => !eval(item, atom),
        other => atom(other),
    }
}

/// Returns whether an atom about calls fits a call.
pub(crate) fn of_call(atom: &Predicate, call: &ToolCall) -> bool {
    match atom {
        Predicate::Tool(pattern) => call
            .names()
            .iter()
            .any(|name| wildcard_matches(pattern, name)),
        Predicate::Command { words, .. } => call.facts.shell.as_ref().is_some_and(|line| {
            line.commands.iter().any(|command| {
                let own: Vec<&str> = command
                    .words
                    .iter()
                    .filter_map(|word| word.literal())
                    .collect();
                own.len() >= words.len() && own.iter().zip(words).all(|(own, word)| own == word)
            })
        }),
        Predicate::Writes(Some(pattern)) => call
            .facts
            .writes
            .iter()
            .filter_map(|write| write.relative.as_deref())
            .any(|path| path_matches(pattern, path)),
        _ => false,
    }
}

/// Returns whether a predicate holds of a branch by itself, without what it has in common with the others.
pub(crate) fn stands_below(
    model: &Model,
    what: &Predicate,
    run: &Run,
    path: &FramePath,
    leaves: &[FramePath],
) -> bool {
    let shared = leaves
        .iter()
        .filter(|other| *other != path)
        .map(|other| {
            path.names()
                .iter()
                .zip(other.names())
                .take_while(|(a, b)| a == b)
                .count()
        })
        .max()
        .unwrap_or(0);
    let frames = chain(run, path);
    let own = frames.get(shared + 1..).unwrap_or_default();
    eval(what, &mut |atom| match atom {
        Predicate::State(state) => own.iter().any(|frame| frame.at.as_str() == state),
        Predicate::Guard(name) => own.iter().any(|frame| guard_holds(model, run, frame, name)),
        _ => false,
    })
}
