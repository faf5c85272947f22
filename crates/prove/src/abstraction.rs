//! What two runs have in common for every rule, for those who follow runs of their own.

use std::collections::BTreeSet;

use interlock_core::{
    machine::{Machine, Object},
    names::{FramePath, RunId},
    run::{Frame, Phase, Run},
    substance::Checked,
};

use crate::{
    atlas::Atlas,
    hash::{Set, at, number},
    machine::unsupported,
    model::Model,
    moves::{Act, Try, attempt, candidates, starts},
    substance,
};

/// Names runs by what rules can tell of them, and lists what may be done without a call.
#[derive(Debug)]
pub struct Abstraction {
    model: Model,
    atlas: Atlas,
    /// Sets of files that were written in one stay, where a state limits them.
    files: Set<BTreeSet<String>>,
}

/// A run as far as rules read it, but for what limits have counted.
///
/// Two runs that are equal here, and of which limits have counted as much, are treated alike from then on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AbstractState {
    /// Everything but the evidence; it alone decides what a call is told.
    pub judged: Box<[u32]>,
    /// What was seen, by what guards ask of it.
    pub evidence: Box<[u32]>,
}

/// What a limit of a stay has counted; a run of which less is counted may do all that one with more may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The frame that stays.
    pub path: FramePath,
    /// When it entered its state.
    pub entered_seq: u64,
    /// What is counted.
    pub of: Counted,
    /// How many there may be.
    pub limit: u64,
    /// How many there are; of files the number of their set.
    pub now: u64,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Calls.
    Calls,
    /// Bytes of results.
    Bytes,
    /// Files that were written.
    Files,
}

/// What is counted of a stay that may make no further call, however it came to that.
const USED_UP: u64 = u64::MAX;

/// Something that is done without a call.
#[derive(Debug, Clone)]
pub struct FreeMove {
    /// What.
    pub act: FreeAct,
    /// The transitions that it takes: the state, the event, and which of its branches.
    pub taken: Vec<(String, String, usize)>,
    /// The run after it.
    pub run: Run,
}

/// What may be done without a call.
#[derive(Debug, Clone, PartialEq)]
pub enum FreeAct {
    /// The agent asks for a transition.
    Event {
        /// The event.
        event: String,
        /// The data that it sends.
        data: Object,
    },
    /// A person says yes.
    Yes,
    /// A person says no.
    No,
}

impl Abstraction {
    /// Reads a machine.
    ///
    /// # Errors
    /// Says what of it cannot be read yet.
    pub fn of(machine: &Machine) -> Result<Self, String> {
        if let Some(why) = unsupported(machine) {
            return Err(why);
        }
        let model = Model::new(machine, Vec::new(), 0);
        let atlas = Atlas::new(&model);
        Ok(Self {
            model,
            atlas,
            files: Set::default(),
        })
    }

    /// Returns the machine.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
        &self.model.machine
    }

    /// Starts a run without any data; `None`: the machine does not begin so.
    #[must_use]
    pub fn start(&self) -> Option<Run> {
        starts(&self.model).into_iter().next().map(|done| done.run)
    }

    /// Makes a run that has not begun.
    #[must_use]
    pub fn fresh() -> Run {
        Run::new(RunId::new("sim"))
    }

    /// Names a run.
    pub fn name(&mut self, run: &Run) -> AbstractState {
        let state = self.atlas.state(&self.model, run);
        let mut judged = vec![state.rest];
        judged.extend(&state.parts);
        AbstractState {
            judged: judged.into_boxed_slice(),
            evidence: state.words.into_boxed_slice(),
        }
    }

    /// Lists what limits have counted in the open stays of a run, always in the same order.
    pub fn counts(&mut self, run: &Run) -> Vec<Count> {
        let mut stays = Vec::new();
        if run.phase == Phase::Open {
            collect(&run.root, &FramePath::root(), &mut stays);
        }
        let mut all = Vec::new();
        for (path, frame) in stays {
            let state = self.model.state(frame.machine.as_ref(), &frame.at);
            let Some(policy) = state.map(|state| &state.policy) else {
                continue;
            };
            let used = &frame.stay.used;
            let is_over = |limit: Option<u64>, now: u64| limit.is_some_and(|limit| now >= limit);
            let is_used_up = is_over(policy.iterations_max, used.calls)
                || is_over(policy.result_bytes_max, used.bytes);
            let plain = |now: u64| if is_used_up { USED_UP } else { now };
            let mut add = |of: Counted, limit: Option<u64>, now: u64| {
                let Some(limit) = limit else { return };
                all.push(Count {
                    path: path.clone(),
                    entered_seq: frame.stay.entered_seq,
                    of,
                    limit,
                    now,
                });
            };
            add(Counted::Calls, policy.iterations_max, plain(used.calls));
            add(Counted::Bytes, policy.result_bytes_max, plain(used.bytes));
            if policy.files_max.is_some() {
                let set = number(&mut self.files, used.files.clone());
                add(Counted::Files, policy.files_max, u64::from(set));
            }
        }
        all
    }

    /// Makes limits of a run have counted this; the run is one with the same counts but for how many there are.
    pub fn set_counts<'a>(
        &self,
        run: &mut Run,
        counts: impl IntoIterator<Item = (&'a Count, u64)>,
    ) {
        for (count, now) in counts {
            let Some(frame) = run.frame_mut(&count.path) else {
                continue;
            };
            let used = &mut frame.stay.used;
            match count.of {
                Counted::Files => {
                    let set = u32::try_from(now).ok();
                    let set = set.and_then(|set| self.files.get_index(at(set)));
                    used.files = set.cloned().unwrap_or_default();
                }
                _ if now == USED_UP => {}
                Counted::Calls => used.calls = now,
                Counted::Bytes => used.bytes = now,
            }
        }
    }

    /// Numbers a set of files.
    pub fn files<'a>(&mut self, files: impl IntoIterator<Item = &'a String>) -> u32 {
        number(&mut self.files, files.into_iter().cloned().collect())
    }

    /// Returns how many files are in a set.
    #[must_use]
    pub fn count_of_files(&self, set: u32) -> u64 {
        let count = self.files.get_index(at(set)).map_or(0, BTreeSet::len);
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Numbers what is in one of two sets of files.
    pub fn all_files(&mut self, one: u32, other: u32) -> u32 {
        if self.has_no_more_files(other, one) {
            return one;
        }
        let sets = [one, other].map(|set| self.files.get_index(at(set)));
        let all = sets.into_iter().flatten().flatten().cloned().collect();
        number(&mut self.files, all)
    }

    /// Tells whether all files of one set are in another.
    #[must_use]
    pub fn has_no_more_files(&self, one: u32, other: u32) -> bool {
        let of = |set: u32| self.files.get_index(at(set));
        one == other
            || of(one)
                .zip(of(other))
                .is_some_and(|(one, other)| one.is_subset(other))
    }

    /// Lists everything that may be done where a run stands without a call, by the engine itself.
    ///
    /// Only one of the data that guards do not tell apart is tried; a person corrects none.
    pub fn moves(&mut self, run: &Run) -> Vec<FreeMove> {
        let state = self.atlas.state(&self.model, run);
        let leaves: Vec<_> = state
            .parts
            .iter()
            .filter_map(|part| self.atlas.part(*part))
            .flat_map(|part| part.leaves.clone())
            .collect();
        let mut found = Vec::new();
        let mut stopped = None;
        for candidate in candidates(&self.model, &leaves) {
            let act = match &candidate.what {
                Try::Call { .. } => continue,
                Try::Yes(data) if *data > 0 => continue,
                _ if stopped == Some(candidate.series) => continue,
                Try::Yes(_) => FreeAct::Yes,
                Try::No => FreeAct::No,
                Try::Event(event, data) => FreeAct::Event {
                    event: event.clone(),
                    data: self
                        .model
                        .cells
                        .data
                        .get(*data)
                        .cloned()
                        .unwrap_or_default(),
                },
            };
            let Some(leaf) = leaves.get(candidate.leaf) else {
                continue;
            };
            let tried = attempt(&self.model, run, leaf, &candidate.what);
            if tried.stop {
                stopped = Some(candidate.series);
            }
            let Some(done) = tried.done else { continue };
            debug_assert!(!matches!(done.act, Act::Call { .. }), "calls are left out");
            let taken = done.facts.taken.iter();
            found.push(FreeMove {
                act,
                taken: taken
                    .map(|((_, state), event, index)| (state.to_string(), event.clone(), *index))
                    .collect(),
                run: done.run,
            });
        }
        found
    }

    /// Says of the reports and frozen files that guards ask for the best that can be said.
    #[must_use]
    pub fn best_report(&self, run: &Run) -> Checked {
        substance::checked(run)
    }
}

/// Collects the frames that stand for themselves, in their order.
fn collect<'a>(frame: &'a Frame, path: &FramePath, found: &mut Vec<(FramePath, &'a Frame)>) {
    if frame.regions.is_empty() {
        found.push((path.clone(), frame));
        return;
    }
    let going_on = frame.regions.iter().filter(|region| region.ended.is_none());
    for region in going_on {
        collect(&region.frame, &path.child(&region.name), found);
    }
}
