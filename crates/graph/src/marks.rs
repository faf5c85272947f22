//! The current states of a run in its machines, and the path it took.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    event::{Event, RegionOutcome, RegionsStart, TransitionKind},
    machine::Outcome,
    names::{EventName, FramePath, InterruptName, MachineId, StateName},
    run::{Frame, Phase, Run},
};

/// The key of a machine; `None` for the outermost.
type Key = Option<MachineId>;

/// The states that a run has entered and the transitions it has taken, as far as its events were followed.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    visited: BTreeSet<(Key, StateName)>,
    taken: BTreeMap<(Key, Step), u32>,
    way: Way,
}

/// The current states of a run and the path it took.
#[derive(Debug)]
pub(crate) struct Marks<'t> {
    standing: BTreeMap<(Key, StateName), Standing>,
    trace: &'t Trace,
}

/// How a run relates to a state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The number of lines of execution that are in the state.
    pub(crate) here: u32,
    /// The number of those that wait for a person.
    pub(crate) parked: u32,
    /// Whether branches or a called machine are open in it.
    pub(crate) inside: bool,
    /// Whether an interrupt left it, to be returned to.
    pub(crate) interrupted: bool,
    /// Whether it was entered at least once.
    pub(crate) visited: bool,
    /// Whether the run is over, so that nothing goes on there any more.
    pub(crate) over: bool,
}

impl Standing {
    /// Returns a text for what goes on there now.
    pub(crate) fn words(self) -> Option<String> {
        let times = |count: u32| {
            if count > 1 {
                format!(" ×{count}")
            } else {
                String::new()
            }
        };
        if self.parked > 0 {
            Some(format!("waits for approval{}", times(self.parked)))
        } else if self.here > 0 && self.over {
            Some(format!("ended here{}", times(self.here)))
        } else if self.here > 0 {
            Some(format!("here{}", times(self.here)))
        } else if self.interrupted {
            Some("interrupted".to_owned())
        } else {
            None
        }
    }
}

/// A move along an edge of the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Into the first state.
    Start(StateName),
    /// By an event's own transition.
    Written(StateName, EventName, StateName),
    /// By `safe_next`.
    SafeNext(StateName),
    /// Back from a handler.
    Returned(StateName, EventName),
    /// By an interrupt.
    Interrupted(InterruptName),
}

impl<'t> Marks<'t> {
    /// Reads a run, whose events `trace` has followed.
    pub(crate) fn of(run: Option<&Run>, trace: &'t Trace) -> Self {
        let mut marks = Self {
            standing: BTreeMap::new(),
            trace,
        };
        if let Some(run) = run.filter(|run| run.phase != Phase::New) {
            marks.stand(run);
        }
        marks
    }

    /// Returns how the run relates to `state`.
    pub(crate) fn standing(&self, key: Option<&MachineId>, state: &StateName) -> Standing {
        let place = (key.cloned(), state.clone());
        let found = self.standing.get(&place).copied().unwrap_or_default();
        Standing {
            visited: self.trace.visited.contains(&place),
            ..found
        }
    }

    /// Returns how often the run took `step`.
    pub(crate) fn taken(&self, key: Option<&MachineId>, step: &Step) -> u32 {
        self.trace
            .taken
            .get(&(key.cloned(), step.clone()))
            .copied()
            .unwrap_or_default()
    }

    fn stand(&mut self, run: &Run) {
        let mut frames: Vec<(Key, &Frame)> = vec![(run.root.machine.clone(), &run.root)];
        while let Some((key, frame)) = frames.pop() {
            let open = frame.regions.iter().filter(|child| child.ended.is_none());
            let before = frames.len();
            frames.extend(open.map(|child| {
                let own = child.frame.machine.clone().or_else(|| key.clone());
                (own, &child.frame)
            }));
            let place = self
                .standing
                .entry((key.clone(), frame.at.clone()))
                .or_default();
            if frames.len() > before {
                place.inside = true;
            } else {
                place.here += 1;
                place.over = run.is_over();
                place.parked += u32::from(frame.stay.request.is_some());
            }
            if let Some(handling) = &frame.line.handling {
                let left = (key, handling.return_to.clone());
                self.standing.entry(left).or_default().interrupted = true;
            }
        }
    }
}

impl Trace {
    /// Follows the next event of the run; events that are not moves are skipped.
    pub fn follow(&mut self, event: &Event) {
        // Both are changed, one with the help of the other.
        let mut way = std::mem::take(&mut self.way);
        self.follow_with(event, &mut way);
        self.way = way;
    }

    fn follow_with(&mut self, event: &Event, way: &mut Way) {
        match event {
            Event::RunStarted { initial, .. } => {
                self.start(way, &FramePath::root(), None, initial);
            }
            Event::MachineCalled {
                path,
                machine,
                shown,
                initial,
                ..
            } => self.call(way, &path.child(shown), machine, initial),
            Event::RegionsStarted { path, start } => {
                for (region, initial) in start.regions(path) {
                    let key = match start {
                        RegionsStart::Line { machine, .. } => {
                            way.machines.insert(region.clone(), machine.clone());
                            Some(machine.clone())
                        }
                        _ => way.machine_at(path),
                    };
                    self.start(way, &region, key, initial);
                }
            }
            Event::RegionPassed { path, to, .. } => self.visit(way, path, to),
            Event::Joined {
                path,
                next: Some(next),
                ..
            } => self.visit(way, path, &next.to),
            Event::TransitionTaken {
                path,
                event,
                from,
                to,
                how,
                ..
            } => {
                let step = match how {
                    TransitionKind::Written => {
                        Step::Written(from.clone(), event.clone(), to.clone())
                    }
                    TransitionKind::SafeNext => Step::SafeNext(from.clone()),
                    TransitionKind::Returned => Step::Returned(from.clone(), event.clone()),
                };
                self.move_to(way, path, step, to);
            }
            Event::InterruptRaised {
                path,
                interrupt,
                to,
                ..
            } => self.move_to(way, path, Step::Interrupted(interrupt.clone()), to),
            other => self.ends(other, way),
        }
    }

    /// Follows the end of an activity, or of the line of execution whose last activity it was.
    fn ends(&mut self, event: &Event, way: &mut Way) {
        match event {
            Event::ActivityEnded { path, error, .. } => way.done(path, error.is_none()),
            Event::Joined {
                path,
                lines,
                outcome,
                ..
            } if lines.is_empty() => way.done(path, *outcome == Outcome::Success),
            Event::MachineReturned { path, outcome, .. } => {
                for child in way.children(path) {
                    self.end(way, &child);
                }
                way.done(path, *outcome == Outcome::Success);
            }
            // A line that leads to another state does not leave its machine.
            Event::RegionEnded {
                path,
                outcome,
                exits,
                ..
            } if *outcome != RegionOutcome::Cancelled && exits.is_empty() => self.end(way, path),
            Event::RunEnded { .. } => self.end(way, &FramePath::root()),
            _ => {}
        }
    }

    fn call(&mut self, way: &mut Way, path: &FramePath, machine: &MachineId, initial: &StateName) {
        way.machines.insert(path.clone(), machine.clone());
        self.start(way, path, Some(machine.clone()), initial);
    }

    fn start(&mut self, way: &mut Way, path: &FramePath, key: Key, initial: &StateName) {
        way.last.remove(path);
        self.note(way, path, key, Step::Start(initial.clone()), initial);
    }

    /// Marks a state that was entered by no arrow that is drawn.
    fn visit(&mut self, way: &mut Way, path: &FramePath, to: &StateName) {
        let key = way.machine_at(path);
        way.at.insert(path.clone(), (key.clone(), to.clone()));
        self.visited.insert((key, to.clone()));
    }

    fn move_to(&mut self, way: &mut Way, path: &FramePath, step: Step, to: &StateName) {
        let key = way.machine_at(path);
        self.note(way, path, key, step, to);
    }

    fn note(&mut self, way: &mut Way, path: &FramePath, key: Key, step: Step, to: &StateName) {
        way.at.insert(path.clone(), (key.clone(), to.clone()));
        self.visited.insert((key.clone(), to.clone()));
        *self.taken.entry((key, step)).or_default() += 1;
    }

    /// Marks the way out of a machine, which is an event of the last state there.
    fn end(&mut self, way: &mut Way, path: &FramePath) {
        let (Some((key, state)), Some(event)) = (way.at.remove(path), way.last.remove(path)) else {
            return;
        };
        let step = Step::Written(state, event, StateName::new(""));
        *self.taken.entry((key, step)).or_default() += 1;
    }
}

/// What has to be known about a run to follow its events.
#[derive(Debug, Clone, Default)]
struct Way {
    /// The machine that each called frame runs in.
    machines: BTreeMap<FramePath, MachineId>,
    /// The current state of each frame.
    at: BTreeMap<FramePath, (Key, StateName)>,
    /// The event that the last activity of each frame raised.
    last: BTreeMap<FramePath, EventName>,
}

impl Way {
    fn done(&mut self, path: &FramePath, well: bool) {
        let event = EventName::new(if well { "done" } else { "error" });
        self.last.insert(path.clone(), event);
    }

    fn children(&self, path: &FramePath) -> Vec<FramePath> {
        let below =
            |known: &&FramePath| known.split_last().is_some_and(|(outer, _)| outer == *path);
        self.at.keys().filter(below).cloned().collect()
    }

    /// Returns the machine that the frame at `path` runs in.
    fn machine_at(&self, path: &FramePath) -> Key {
        let mut path = path.clone();
        loop {
            if let Some(machine) = self.machines.get(&path) {
                return Some(machine.clone());
            }
            path = path.split_last()?.0;
        }
    }
}
