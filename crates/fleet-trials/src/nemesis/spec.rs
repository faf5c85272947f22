//! The sequential specification of a run's log: what each call must answer if calls came one after the other.

use std::{cell::Cell, rc::Rc};

use stateright::semantics::SequentialSpec;

/// What a key of a command is called in a history; 0 is no command's.
pub(super) type Key = u64;

/// A call of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Op {
    /// Have a command decided.
    Append {
        key: Key,
        what: What,
        /// The epoch of a carrier.
        epoch: Option<u64>,
        /// Where the command stands in the log, if another answer to its key has said so.
        placed: Option<usize>,
    },
    /// Read the keys of the events from a number on.
    Read { from: usize },
    /// Take the run over.
    Take,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A call of the agent.
    Propose,
    /// The transition that a person has to approve.
    AskForEnd,
    /// The approval.
    Approve,
}

/// What a call has answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ret {
    /// The command stands in the log.
    Recorded {
        from: usize,
        events: usize,
        accepted: bool,
        repeated: bool,
    },
    /// Another carrier has taken the run over; nothing was recorded.
    Stale,
    /// The keys of the events, 0 for those of no call.
    Keys(Vec<Key>),
    /// The run was taken over, under this epoch.
    Epoch(u64),
}

/// What a command does where the run stands: the number of its events, and whether it is accepted.
pub(super) type Effect = (usize, bool);

/// What each command does, by where the run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Effects {
    /// The number of events of a run that was started.
    pub(super) started: usize,
    pub(super) proposed: Effect,
    pub(super) proposed_while_waiting: Effect,
    pub(super) proposed_after_end: Effect,
    pub(super) asked: Effect,
    pub(super) approved: Effect,
    pub(super) approved_late: Effect,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    Working,
    Waiting,
    Over,
}

/// The log of a run.
#[derive(Debug, Clone)]
pub(super) struct Log {
    keys: Vec<Key>,
    /// Each command with its answer.
    known: Vec<(Key, usize, usize, bool)>,
    epoch: u64,
    stand: Stand,
    effects: Effects,
    /// A command without an answer was put where its later answer says it is not.
    is_impossible: bool,
    /// How many more steps may be tried.
    budget: Rc<Cell<u64>>,
}

impl Log {
    /// Returns the log of a run that was started.
    pub(super) fn new(effects: Effects, budget: &Rc<Cell<u64>>) -> Self {
        Self {
            keys: vec![0; effects.started],
            known: Vec::new(),
            epoch: 0,
            stand: Stand::Working,
            effects,
            is_impossible: false,
            budget: Rc::clone(budget),
        }
    }

    fn append(&mut self, key: Key, what: What, epoch: Option<u64>) -> Ret {
        if let Some((_, from, events, accepted)) = self.known.iter().find(|known| known.0 == key) {
            return Ret::Recorded {
                from: *from,
                events: *events,
                accepted: *accepted,
                repeated: true,
            };
        }
        if epoch.is_some_and(|epoch| epoch != self.epoch) {
            return Ret::Stale;
        }
        let effects = self.effects;
        let (events, accepted) = match (what, self.stand) {
            (What::Propose, Stand::Working) => effects.proposed,
            (What::Propose, Stand::Waiting) => effects.proposed_while_waiting,
            (What::Propose, Stand::Over) => effects.proposed_after_end,
            (What::AskForEnd, _) => {
                self.stand = Stand::Waiting;
                effects.asked
            }
            (What::Approve, Stand::Waiting) => {
                self.stand = Stand::Over;
                effects.approved
            }
            (What::Approve, _) => effects.approved_late,
        };
        let from = self.keys.len();
        let tag = if what == What::Propose { key } else { 0 };
        self.keys.extend(std::iter::repeat_n(tag, events));
        self.known.push((key, from, events, accepted));
        Ret::Recorded {
            from,
            events,
            accepted,
            repeated: false,
        }
    }
}

impl SequentialSpec for Log {
    type Op = Op;
    type Ret = Ret;

    fn invoke(&mut self, op: &Op) -> Ret {
        match op {
            Op::Append {
                key,
                what,
                epoch,
                placed,
            } => {
                let ret = self.append(*key, *what, *epoch);
                if let (Ret::Recorded { from, .. }, Some(placed)) = (&ret, placed) {
                    self.is_impossible |= from != placed;
                }
                ret
            }
            Op::Read { from } => Ret::Keys(self.keys.get(*from..).unwrap_or_default().to_vec()),
            Op::Take => {
                self.epoch += 1;
                Ret::Epoch(self.epoch)
            }
        }
    }

    fn is_valid_step(&mut self, op: &Op, ret: &Ret) -> bool {
        let left = self.budget.get().saturating_sub(1);
        self.budget.set(left);
        left > 0 && !self.is_impossible && self.invoke(op) == *ret
    }
}
