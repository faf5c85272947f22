//! Records what clients call and are answered, and checks it against the specification.

use std::{cell::RefCell, collections::BTreeMap, fmt::Write as _, rc::Rc, sync::Mutex, thread};

use stateright::semantics::{ConsistencyTester, LinearizabilityTester};

use super::spec::{Effects, Key, Log, Op, Ret, Search};

/// Steps after which a check is given up. Most histories need a few hundred.
const STEPS_MAX: u64 = 200_000;
/// The check calls itself once for each call of a history.
const STACK_BYTES: usize = 512 << 20;
/// The first thread of calls that have no answer: they are tried last.
const UNANSWERED: usize = 1_000_000;

/// The history of one run.
#[derive(Debug, Default)]
pub(super) struct History {
    entries: Mutex<Vec<Entry>>,
}

/// A call or an answer, in the order in which they happened.
#[derive(Debug, Clone)]
struct Entry {
    client: usize,
    call: usize,
    happened: Happened,
}

#[derive(Debug, Clone)]
enum Happened {
    Called(Op),
    Answered(Ret),
    /// The server says that nothing was done.
    Nothing,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Checked {
    /// There is an order of the calls that explains all answers.
    Explained,
    /// There is none.
    Impossible,
    /// It was given up.
    GivenUp,
}

impl History {
    /// Records a call; returns its number.
    pub(super) fn called(&self, client: usize, op: Op) -> usize {
        let mut entries = self.entries.lock().unwrap();
        let call = entries.len();
        entries.push(Entry {
            client,
            call,
            happened: Happened::Called(op),
        });
        call
    }

    /// Records an answer.
    pub(super) fn answered(&self, client: usize, call: usize, ret: Ret) {
        self.push(client, call, Happened::Answered(ret));
    }

    /// Records that a call has done nothing, as the server says.
    pub(super) fn did_nothing(&self, client: usize, call: usize) {
        self.push(client, call, Happened::Nothing);
    }

    fn push(&self, client: usize, call: usize, happened: Happened) {
        self.entries.lock().unwrap().push(Entry {
            client,
            call,
            happened,
        });
    }

    /// Returns the number of calls, and of those without an answer.
    pub(super) fn counts(&self) -> (usize, usize) {
        let entries = self.entries.lock().unwrap();
        let is_call = |entry: &&Entry| matches!(entry.happened, Happened::Called(_));
        let calls = entries.iter().filter(is_call).count();
        (calls, calls - (entries.len() - calls))
    }

    /// Returns where each command stands that was answered.
    pub(super) fn acknowledged(&self) -> BTreeMap<Key, (usize, usize)> {
        let entries = self.entries.lock().unwrap();
        placed(&entries)
    }

    /// Looks for an order of the calls that explains all answers.
    pub(super) fn check(&self, effects: Effects) -> Checked {
        let entries = self.entries.lock().unwrap().clone();
        let checking = thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || check(&entries, effects));
        checking.unwrap().join().unwrap()
    }

    /// Returns the history as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for entry in self.entries.lock().unwrap().iter() {
            let (client, call) = (entry.client, entry.call);
            let _ = writeln!(text, "client {client} call {call}: {:?}", entry.happened);
        }
        text
    }
}

/// Returns where each command stands that was answered, and how many events it has.
fn placed(entries: &[Entry]) -> BTreeMap<Key, (usize, usize)> {
    let mut keys = BTreeMap::new();
    let mut places = BTreeMap::new();
    for entry in entries {
        match &entry.happened {
            Happened::Called(Op::Append { key, .. }) => {
                keys.insert(entry.call, *key);
            }
            Happened::Answered(Ret::Recorded { from, events, .. }) => {
                places.insert(keys[&entry.call], (*from, *events));
            }
            _ => {}
        }
    }
    places
}

fn check(entries: &[Entry], effects: Effects) -> Checked {
    let places = placed(entries);
    let mut ends: BTreeMap<usize, bool> = BTreeMap::new();
    for entry in entries {
        match entry.happened {
            Happened::Answered(_) => ends.insert(entry.call, true),
            Happened::Nothing => ends.insert(entry.call, false),
            Happened::Called(_) => None,
        };
    }
    let search = Rc::new(RefCell::new(Search::new(STEPS_MAX)));
    let mut tester = LinearizabilityTester::new(Log::new(effects, &search));
    for entry in entries {
        let end = ends.get(&entry.call);
        match &entry.happened {
            // What has done nothing is no part of any order.
            _ if end == Some(&false) => {}
            Happened::Called(op) => {
                let thread = end.map_or(UNANSWERED + entry.call, |_| entry.client);
                let mut op = op.clone();
                if let Op::Append { key, placed, .. } = &mut op {
                    *placed = places.get(key).map(|(from, _)| *from);
                }
                tester.on_invoke(thread, (entry.call, op)).unwrap();
            }
            Happened::Answered(ret) => {
                tester.on_return(entry.client, ret.clone()).unwrap();
            }
            Happened::Nothing => {}
        }
    }
    if tester.is_consistent() {
        Checked::Explained
    } else if search.borrow().is_over() {
        Checked::GivenUp
    } else {
        Checked::Impossible
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nemesis::spec::What;

    const EFFECTS: Effects = Effects {
        started: 1,
        proposed: (1, true),
        proposed_while_waiting: (1, false),
        proposed_after_end: (0, true),
        asked: (2, true),
        approved: (3, true),
        approved_late: (0, false),
    };

    fn append(key: Key, what: What, epoch: Option<u64>) -> Op {
        Op::Append {
            key,
            what,
            epoch,
            placed: None,
        }
    }

    fn recorded(from: usize, events: usize, accepted: bool) -> Ret {
        Ret::Recorded {
            from,
            events,
            accepted,
            repeated: false,
        }
    }

    /// Checks a history in which calls come one after the other.
    fn check(calls: &[(Op, Option<Ret>)]) -> Checked {
        let history = History::default();
        for (op, ret) in calls {
            let call = history.called(0, op.clone());
            if let Some(ret) = ret {
                history.answered(0, call, ret.clone());
            }
        }
        history.check(EFFECTS)
    }

    #[test]
    fn a_run_from_start_to_approval_is_explained() {
        let calls = [
            (append(7, What::Propose, None), Some(recorded(1, 1, true))),
            (Op::Take, Some(Ret::Epoch(1))),
            (
                append(8, What::Propose, Some(1)),
                Some(recorded(2, 1, true)),
            ),
            (append(9, What::AskForEnd, None), Some(recorded(3, 2, true))),
            (append(10, What::Propose, None), Some(recorded(5, 1, false))),
            (append(11, What::Approve, None), Some(recorded(6, 3, true))),
            (
                Op::Read { from: 1 },
                Some(Ret::Keys(vec![7, 8, 0, 0, 10, 0, 0, 0])),
            ),
        ];
        assert_eq!(check(&calls), Checked::Explained);
    }

    #[test]
    fn an_answer_that_never_came_may_have_been_recorded_or_not() {
        let first = (append(7, What::Propose, None), None);
        for (read, checked) in [
            (vec![0], Checked::Explained),
            (vec![0, 7], Checked::Explained),
            (vec![0, 7, 7], Checked::Impossible),
            (vec![0, 8], Checked::Impossible),
        ] {
            let calls = [
                first.clone(),
                (Op::Read { from: 0 }, Some(Ret::Keys(read.clone()))),
            ];
            assert_eq!(check(&calls), checked, "{read:?}");
        }
    }

    #[test]
    fn a_command_that_is_recorded_twice_is_noticed() {
        let again = append(7, What::Propose, None);
        let calls = [
            (again.clone(), Some(recorded(1, 1, true))),
            (again, Some(recorded(2, 1, true))),
        ];
        assert_eq!(check(&calls), Checked::Impossible);
    }

    #[test]
    fn an_append_of_a_carrier_that_has_lost_the_run_is_noticed() {
        let calls = [
            (Op::Take, Some(Ret::Epoch(1))),
            (Op::Take, Some(Ret::Epoch(2))),
            (
                append(7, What::Propose, Some(1)),
                Some(recorded(1, 1, true)),
            ),
        ];
        assert_eq!(check(&calls), Checked::Impossible);
    }

    #[test]
    fn an_event_that_is_gone_is_noticed() {
        let calls = [
            (append(7, What::Propose, None), Some(recorded(1, 1, true))),
            (append(8, What::Propose, None), Some(recorded(1, 1, true))),
        ];
        assert_eq!(check(&calls), Checked::Impossible);
    }

    #[test]
    fn a_read_of_the_past_is_noticed() {
        let calls = [
            (append(7, What::Propose, None), Some(recorded(1, 1, true))),
            (Op::Read { from: 0 }, Some(Ret::Keys(vec![0]))),
        ];
        assert_eq!(check(&calls), Checked::Impossible);
    }

    #[test]
    fn two_approvals_of_one_request_are_noticed() {
        let calls = [
            (append(7, What::AskForEnd, None), Some(recorded(1, 2, true))),
            (append(8, What::Approve, None), Some(recorded(3, 3, true))),
            (append(9, What::Approve, None), Some(recorded(6, 3, true))),
        ];
        assert_eq!(check(&calls), Checked::Impossible);
    }

    #[test]
    fn what_was_recorded_although_the_server_said_nothing_was_is_noticed() {
        let history = History::default();
        let call = history.called(0, append(7, What::Propose, None));
        history.did_nothing(0, call);
        let call = history.called(0, Op::Read { from: 0 });
        history.answered(0, call, Ret::Keys(vec![0, 7]));
        assert_eq!(history.check(EFFECTS), Checked::Impossible);
    }
}
