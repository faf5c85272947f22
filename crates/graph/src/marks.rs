//! Where a run stands in its machines, and the way it took.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    event::{Event, How},
    names::{EventName, FramePath, InterruptName, MachineId, StateName},
    run::{Frame, Phase, Run},
};

/// A machine by key; `None`: the outermost.
type Key = Option<MachineId>;

/// Where a run stands and the way it took.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    standing: BTreeMap<(Key, StateName), Standing>,
    visited: BTreeSet<(Key, StateName)>,
    taken: BTreeMap<(Key, Step), u32>,
}

/// What a run has to do with a state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Lines of execution that stand there.
    pub(crate) here: u32,
    /// Those of them that wait for a person.
    pub(crate) parked: u32,
    /// Branches or a called machine are open in it.
    pub(crate) inside: bool,
    /// An interrupt left it, to be returned to.
    pub(crate) interrupted: bool,
    /// It was entered at least once.
    pub(crate) visited: bool,
}

impl Standing {
    /// Returns words for what goes on there now.
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
        } else if self.here > 0 {
            Some(format!("here{}", times(self.here)))
        } else if self.interrupted {
            Some("interrupted".to_owned())
        } else {
            None
        }
    }
}

/// One move along an edge of the graph.
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

impl Marks {
    /// Reads a run and its events.
    pub(crate) fn of(run: Option<&Run>, events: &[Event]) -> Self {
        let mut marks = Self::default();
        if let Some(run) = run.filter(|run| run.phase != Phase::New) {
            marks.stand(run);
        }
        let mut machines = BTreeMap::new();
        for event in events {
            marks.follow(event, &mut machines);
        }
        marks
    }

    /// Returns what the run has to do with `state`.
    pub(crate) fn standing(&self, key: Option<&MachineId>, state: &StateName) -> Standing {
        let place = (key.cloned(), state.clone());
        let found = self.standing.get(&place).copied().unwrap_or_default();
        Standing {
            visited: self.visited.contains(&place),
            ..found
        }
    }

    /// Returns how often the run took `step`.
    pub(crate) fn taken(&self, key: Option<&MachineId>, step: &Step) -> u32 {
        self.taken
            .get(&(key.cloned(), step.clone()))
            .copied()
            .unwrap_or_default()
    }

    fn stand(&mut self, run: &Run) {
        let mut frames: Vec<(Key, &Frame)> = vec![(run.root.machine.clone(), &run.root)];
        while let Some((key, frame)) = frames.pop() {
            let open = frame.children.iter().filter(|child| child.ended.is_none());
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
                place.parked += u32::from(frame.parked.is_some());
            }
            if let Some(handling) = &frame.handling {
                let left = (key, handling.return_to.clone());
                self.standing.entry(left).or_default().interrupted = true;
            }
        }
    }

    /// Follows one event; `machines` remembers which machine each called frame runs in.
    fn follow(&mut self, event: &Event, machines: &mut BTreeMap<FramePath, MachineId>) {
        match event {
            Event::RunStarted { initial, .. } => self.start(None, initial),
            Event::MachineCalled {
                path,
                machine,
                shown,
                initial,
                ..
            } => {
                machines.insert(path.child(shown), machine.clone());
                self.start(Some(machine.clone()), initial);
            }
            Event::ForkOpened { path, branches } => {
                let key = machine_at(machines, path);
                for branch in branches {
                    self.start(key.clone(), &branch.initial);
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
                let step = match how {
                    How::Written => Step::Written(from.clone(), event.clone(), to.clone()),
                    How::SafeNext => Step::SafeNext(from.clone()),
                    How::Returned => Step::Returned(from.clone(), event.clone()),
                };
                self.move_to(machine_at(machines, path), step, to);
            }
            Event::InterruptRaised {
                path,
                interrupt,
                to,
                ..
            } => {
                let step = Step::Interrupted(interrupt.clone());
                self.move_to(machine_at(machines, path), step, to);
            }
            _ => {}
        }
    }

    fn start(&mut self, key: Key, initial: &StateName) {
        self.move_to(key, Step::Start(initial.clone()), initial);
    }

    fn move_to(&mut self, key: Key, step: Step, to: &StateName) {
        self.visited.insert((key.clone(), to.clone()));
        *self.taken.entry((key, step)).or_default() += 1;
    }
}

/// Returns the machine that the frame at `path` runs in.
fn machine_at(machines: &BTreeMap<FramePath, MachineId>, path: &FramePath) -> Key {
    let mut path = path.clone();
    loop {
        if let Some(machine) = machines.get(&path) {
            return Some(machine.clone());
        }
        path = path.split_last()?.0;
    }
}
