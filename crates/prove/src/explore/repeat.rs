//! States whose parts all are at places with recorded expansions: these are repeated without a look at the table.
//!
//! Most steps of a region change nothing but its part, so that the number of their target is found by one half of the state.

use std::rc::Rc;

use super::{
    Asking, Explorer, Move,
    again::{Expansion, Target},
};
use crate::{
    atlas::{State, copy},
    graph::Edge,
    hash::{Map, NONE, at, short},
    rows::Rows,
    states::Halves,
    table::Kind,
};

/// Which parts are at places with recorded expansions.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// What places read of a state, apart from their own part.
    settings: Rows,
    /// The number of the expansion of a part, by the number of its setting, its index and its own number.
    expansions: Map<(u32, u32, u32), u32>,
}

/// A state that is expanded, in buffers.
#[derive(Debug, Default)]
pub(super) struct Current {
    visit: u32,
    node: u32,
    state: State,
    packed: Vec<u32>,
    halves: Option<Halves>,
    setting: Vec<u32>,
    /// The number of the expansion of each part.
    expansions: Vec<u32>,
    half: Vec<u32>,
    targets: Vec<Target>,
}

impl Explorer<'_> {
    /// Repeats the expansions of all parts of a state; returns `false` if one of them is not recorded.
    ///
    /// With limits a state is expanded by what it has used, too, which is not done here.
    pub(super) fn repeat(&mut self, visit: usize) -> bool {
        if self.limited || self.asking == Asking::Always {
            return false;
        }
        let mut current = std::mem::take(&mut self.current);
        let is_recorded = self.find_recorded(visit, &mut current);
        if is_recorded {
            let from = self.graph.steps();
            for part in 0..current.expansions.len() {
                self.repeat_part(&mut current, part);
            }
            self.graph.close_span(at(current.node), from);
        }
        self.current = current;
        is_recorded
    }

    /// Notes which expansion each part of a state repeats from now on.
    pub(super) fn note_recorded(&mut self, state: &State, expansions: &[Option<usize>]) {
        if self.limited || expansions.iter().all(Option::is_none) {
            return;
        }
        let mut setting = Vec::new();
        self.setting(state, &mut setting);
        let setting = self.recorded.settings.add(&setting);
        let parts = state.parts.iter().zip(expansions).enumerate();
        for (index, (part, expansion)) in parts {
            if let Some(number) = expansion {
                let place = (setting, short(index), *part);
                self.recorded.expansions.insert(place, short(*number));
            }
        }
    }

    /// Decodes the state of a visit, and finds the expansions of all its parts.
    fn find_recorded(&self, visit: usize, current: &mut Current) -> bool {
        let Some(node) = self.read(visit, &mut current.packed, &mut current.state) else {
            return false;
        };
        (current.visit, current.node) = (short(visit), node);
        current.halves = self.graph.keys.halves(node);
        self.setting(&current.state, &mut current.setting);
        let Some(setting) = self.recorded.settings.find(&current.setting) else {
            return false;
        };
        current.expansions.clear();
        let parts = (0..).zip(&current.state.parts);
        let known = parts.map_while(|(index, part)| {
            let place = (setting, index, *part);
            self.recorded.expansions.get(&place).copied()
        });
        current.expansions.extend(known);
        current.expansions.len() == current.state.parts.len()
    }

    /// Writes what the places of a state read of it, apart from their own parts.
    ///
    /// Of a part that is not told to the others it is the number of its frames, by which the age of evidence is counted.
    fn setting(&self, state: &State, setting: &mut Vec<u32>) {
        setting.clear();
        setting.push(state.rest);
        setting.extend(&state.words);
        for (part, used) in state.parts.iter().zip(&state.used) {
            setting.extend(match self.is_told(*part) {
                true => [*part, *used],
                false => [NONE, self.atlas.frames(*part)],
            });
        }
    }

    /// Repeats the expansion of one part.
    fn repeat_part(&mut self, current: &mut Current, part: usize) {
        let number = current.expansions.get(part).copied().unwrap_or(NONE);
        let Some(expansion) = self.expansions.get_index(at(number)) else {
            return;
        };
        let expansion = Rc::clone(expansion.1);
        self.enter_targets(current, part, &expansion);
        for step in &expansion.steps {
            let target = current.targets.get(at(step.effect));
            let Some(Target::Node { node, .. }) = target else {
                continue;
            };
            let label = self.label(step.template, *node);
            self.graph.edges.push(Edge { to: *node, label });
        }
    }

    /// Finds or enters the target of each effect of an expansion.
    fn enter_targets(&mut self, current: &mut Current, part: usize, expansion: &Expansion) {
        let middle = State::middle(&current.packed);
        let place = State::PARTS + part;
        let is_head = place < middle;
        let (half, place) = match is_head {
            true => (current.packed.get(..middle), place),
            false => (current.packed.get(middle..), place - middle),
        };
        copy(half.unwrap_or_default(), &mut current.half);
        let own = current.state.parts.get(part).copied();
        current.targets.clear();
        for effect in &expansion.effects {
            let known = effect.alone.and_then(|after| {
                if own == Some(after) {
                    return Some(current.node);
                }
                *current.half.get_mut(place)? = after;
                let half = self.graph.keys.find_half(&current.half, is_head)?;
                let halves = current.halves?;
                self.graph.keys.find_halves(match is_head {
                    true => Halves {
                        head: half,
                        ..halves
                    },
                    false => Halves {
                        tail: half,
                        ..halves
                    },
                })
            });
            let target = match known {
                Some(node) => Target::Node { node, idle: false },
                None => {
                    let by = Move {
                        part: short(part),
                        candidate: effect.candidate,
                        kind: Kind::Plain,
                    };
                    self.enter_effect(&current.state, current.visit, by, effect)
                }
            };
            current.targets.push(target);
        }
    }
}
