//! The sequential specification of a run's log: what each call must answer if calls came one after the other.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    rc::Rc,
};

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
    /// The sum of the digests of the calls so far, whatever their order.
    calls: u128,
    search: Rc<RefCell<Search>>,
}

/// What a search for an order has tried.
#[derive(Debug)]
pub(super) struct Search {
    /// The calls that were put in order, with the log that they lead to: none of these is tried a second time.
    tried: BTreeSet<(u128, u64)>,
    /// How many more steps may be tried.
    left: u64,
}

impl Search {
    pub(super) fn new(steps: u64) -> Self {
        Self {
            tried: BTreeSet::new(),
            left: steps,
        }
    }

    /// Returns whether it was given up.
    pub(super) const fn is_over(&self) -> bool {
        self.left == 0
    }
}

impl Log {
    /// Returns the log of a run that was started.
    pub(super) fn new(effects: Effects, search: &Rc<RefCell<Search>>) -> Self {
        Self {
            keys: vec![0; effects.started],
            known: Vec::new(),
            epoch: 0,
            stand: Stand::Working,
            effects,
            is_impossible: false,
            calls: 0,
            search: Rc::clone(search),
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

impl Log {
    fn call(&mut self, op: &Op) -> Ret {
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

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.keys, self.epoch, self.stand as u8).hash(&mut hasher);
        hasher.finish()
    }
}

impl SequentialSpec for Log {
    /// A call with its number in the history.
    type Op = (usize, Op);
    type Ret = Ret;

    fn invoke(&mut self, (number, op): &(usize, Op)) -> Ret {
        let mut hasher = DefaultHasher::new();
        number.hash(&mut hasher);
        let low = hasher.finish();
        low.hash(&mut hasher);
        let digest = u128::from(hasher.finish()) << 64 | u128::from(low);
        self.calls = self.calls.wrapping_add(digest);
        self.call(op)
    }

    fn is_valid_step(&mut self, op: &(usize, Op), ret: &Ret) -> bool {
        let left = self.search.borrow().left.saturating_sub(1);
        self.search.borrow_mut().left = left;
        if left == 0 || self.is_impossible || self.invoke(op) != *ret {
            return false;
        }
        let reached = (self.calls, self.digest());
        self.search.borrow_mut().tried.insert(reached)
    }
}
