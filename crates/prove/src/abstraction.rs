//! Identifies runs that are the same for every rule, for code that follows runs of its own.

use std::collections::BTreeSet;

use interlock_core::{
    machine::{Machine, Object},
    names::RunId,
    run::{Run, Used},
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

/// Identifies runs by what rules can tell about them, and lists what may be done without a call.
#[derive(Debug)]
pub struct Abstraction {
    model: Model,
    atlas: Atlas,
    /// Sets of files that were written in one stay, where a state limits them.
    files: Set<BTreeSet<String>>,
}

/// A run as far as rules read it: two runs with equal values are treated alike from then on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AbstractState {
    /// Everything except the evidence and the used-up limits; it alone decides how a call is answered.
    pub judged: Box<[u32]>,
    /// What was seen, as far as guards ask for it.
    pub evidence: Box<[u32]>,
    /// The files written where a state limits them, by the numbers of the sets; a run with fewer may do everything that
    /// one with more may.
    pub files: Box<[u32]>,
    /// The used-up part of limits; a run with less of each may do everything that one with more may.
    pub used: Box<[u64]>,
}

/// Something that can be done without a call.
#[derive(Debug, Clone)]
pub struct FreeMove {
    /// What is done.
    pub act: FreeAct,
    /// The transitions that it takes: the state, the event, and which of its branches.
    pub taken: Vec<(String, String, usize)>,
    /// The run after it.
    pub run: Run,
}

/// What can be done without a call.
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
    /// Says what cannot be read yet.
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

    /// Starts a run without any data; `None` if the machine does not start without data.
    #[must_use]
    pub fn start(&self) -> Option<Run> {
        starts(&self.model).into_iter().next().map(|done| done.run)
    }

    /// Makes a run that has not begun.
    #[must_use]
    pub fn fresh() -> Run {
        Run::new(RunId::new("sim"))
    }

    /// Identifies a run.
    pub fn name(&mut self, run: &Run) -> AbstractState {
        let state = self.atlas.state(&self.model, run);
        let mut judged = vec![state.rest];
        judged.extend(&state.parts);
        let used = state.used.iter().flat_map(|part| self.atlas.used(*part));
        let mut used: Vec<u64> = used.copied().collect();
        let mut sets = Vec::new();
        // `prove` uses these up at once; a recorded call uses up what it states.
        for path in run.open_leaves() {
            let Some(frame) = run.frame(&path) else {
                continue;
            };
            let policy = self.model.state(frame.machine.as_ref(), &frame.at);
            let policy = policy.map(|state| &state.policy);
            if policy.is_some_and(|policy| policy.result_bytes_max.is_some()) {
                used.push(frame.stay.used.bytes);
            }
            if policy.is_some_and(|policy| policy.files_max.is_some()) {
                let files = frame.stay.used.files.iter().cloned().collect();
                sets.push(number(&mut self.files, files));
            }
        }
        AbstractState {
            used: used.into_boxed_slice(),
            judged: judged.into_boxed_slice(),
            evidence: state.words.into_boxed_slice(),
            files: sets.into_boxed_slice(),
        }
    }

    /// Identifies a run that differs from `run`, whose state is `named`, only in what its stay has used.
    ///
    /// `None`: a limit is used up in one of the two, or the run has regions.
    pub fn recounted(
        &mut self,
        (named, run): (&AbstractState, &Run),
        used: &Used,
    ) -> Option<AbstractState> {
        let frame = &run.root;
        let policy = &self.model.state(None, &frame.at)?.policy;
        let limits = [
            (policy.iterations_max, used.calls),
            (policy.files_max, u64::try_from(used.files.len()).ok()?),
            (policy.result_bytes_max, used.bytes),
        ];
        let counts_files = policy.files_max.is_some();
        let reaches =
            |(limit, used): &(Option<u64>, u64)| limit.is_some_and(|limit| *used >= limit);
        if !frame.regions.is_empty() || frame.machine.is_some() || limits.iter().any(reaches) {
            return None;
        }
        let counted = limits.iter().filter(|(limit, _)| limit.is_some());
        let counted: Box<[u64]> = counted.map(|(_, used)| *used).collect();
        // A state in which a limit is used up does not count it any more.
        if counted.len() != named.used.len() || named.files.len() != usize::from(counts_files) {
            return None;
        }
        let files = counts_files.then(|| number(&mut self.files, used.files.clone()));
        let found = AbstractState {
            judged: named.judged.clone(),
            evidence: named.evidence.clone(),
            files: files.into_iter().collect(),
            used: counted,
        };
        debug_assert_eq!(
            found,
            {
                let mut run = run.clone();
                run.root.stay.used = used.clone();
                self.name(&run)
            },
            "a run is identified by its state and what it has used"
        );
        Some(found)
    }

    /// Returns whether all files of one set are in another.
    #[must_use]
    pub fn has_no_more_files(&self, one: u32, other: u32) -> bool {
        let of = |set: u32| self.files.get_index(at(set));
        one == other
            || of(one)
                .zip(of(other))
                .is_some_and(|(one, other)| one.is_subset(other))
    }

    /// Names what rules can tell of a file that a state counts, by its absolute path.
    ///
    /// Runs that have written as many files of the same classes differ only in what [`AbstractState::files`] and
    /// [`AbstractState::used`] say.
    #[must_use]
    pub fn file_class(&self, path: &str) -> String {
        self.model.file_class(path)
    }

    /// Lists everything that may be done in the current states of a run without a call, according to the engine itself.
    ///
    /// Of data that guards do not tell apart, only one is tried; a person does not correct any.
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

    /// Makes the most favourable assumption about the reports and frozen files that guards ask for.
    #[must_use]
    pub fn best_report(&self, run: &Run) -> Checked {
        substance::checked(run)
    }
}
