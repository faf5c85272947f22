//! The graph of all that may happen, breadth first and always in the same order.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use crate::{
    facts::Facts,
    key::{Key, Used, key},
    model::{MORE, Model},
    moves::{Act, Done, call, next, starts},
};
use interlock_core::{
    machine::Outcome,
    names::FramePath,
    run::{Frame, Phase, Run},
};

/// What the steps of a kind have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Label {
    pub(crate) act: Act,
    pub(crate) facts: Facts,
    pub(crate) bits: Vec<bool>,
}

/// A step from one state of the graph to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: usize,
}

/// A state of the graph.
#[derive(Debug)]
pub(crate) struct Node {
    /// How the run has ended; `None`: it goes on.
    pub(crate) ended: Option<Outcome>,
    /// Whether some open stay has used up its calls or its bytes.
    pub(crate) exhausted: bool,
    /// Steps from it, in the order they were found.
    pub(crate) out: Vec<usize>,
    /// Bits that never_together asks for: pairs of slots that hold in two open branches.
    pub(crate) together: Vec<(usize, usize)>,
    used: Vec<Used>,
}

/// All that may happen.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) labels: Vec<Label>,
    /// Where runs begin, with the step that begins them.
    pub(crate) starts: Vec<(usize, usize)>,
    /// Whether it is whole; otherwise the bound was reached.
    pub(crate) whole: bool,
    keys: BTreeMap<Key, usize>,
}

impl Graph {
    /// Explores up to `max` states.
    pub(crate) fn explore(model: &Model, pairs: &[(usize, usize)], max: usize) -> Self {
        let mut graph = Self {
            nodes: Vec::new(),
            edges: Vec::new(),
            labels: Vec::new(),
            starts: Vec::new(),
            whole: true,
            keys: BTreeMap::new(),
        };
        let mut explorer = Explorer {
            model,
            pairs,
            max,
            labels: BTreeMap::new(),
            waiting: VecDeque::new(),
            known: BTreeSet::new(),
        };
        for done in starts(model) {
            let Done {
                act,
                facts,
                bits,
                run,
            } = done;
            if let Some(at) = explorer.enter(&mut graph, key(model, &run), run) {
                let label = explorer.label(&mut graph, Label { act, facts, bits });
                if !graph.starts.contains(&(at, label))
                    && !graph.starts.iter().any(|(node, _)| *node == at)
                {
                    graph.starts.push((at, label));
                }
            }
        }
        while let Some((from, used, run)) = explorer.waiting.pop_front() {
            let node = graph.nodes.get(from);
            // A run that permits more was found meanwhile, and does all that this one can.
            if node.is_some_and(|node| node.used.contains(&used)) {
                explorer.expand(&mut graph, from, &run);
            }
        }
        graph
    }

    /// Returns the state of the graph that a run is in.
    pub(crate) fn find(&self, key: &Key) -> Option<usize> {
        self.keys.get(key).copied()
    }
}

struct Explorer<'a> {
    model: &'a Model,
    pairs: &'a [(usize, usize)],
    max: usize,
    labels: BTreeMap<Label, usize>,
    waiting: VecDeque<(usize, Used, Run)>,
    known: BTreeSet<Edge>,
}

impl Explorer<'_> {
    fn label(&mut self, graph: &mut Graph, label: Label) -> usize {
        if let Some(known) = self.labels.get(&label) {
            return *known;
        }
        let number = graph.labels.len();
        graph.labels.push(label.clone());
        self.labels.insert(label, number);
        number
    }

    /// Finds the state of a run, and keeps the run to be expanded where it permits more than those known.
    fn enter(&mut self, graph: &mut Graph, (key, used): (Key, Used), run: Run) -> Option<usize> {
        let at = match graph.keys.get(&key) {
            Some(at) => *at,
            None if graph.nodes.len() >= self.max => {
                graph.whole = false;
                return None;
            }
            None => {
                let at = graph.nodes.len();
                graph.nodes.push(Node {
                    ended: match &run.phase {
                        Phase::Ended { outcome, .. } => Some(*outcome),
                        _ => None,
                    },
                    exhausted: is_exhausted(self.model, &run),
                    out: Vec::new(),
                    together: together(self.model, self.pairs, &run),
                    used: Vec::new(),
                });
                graph.keys.insert(key, at);
                at
            }
        };
        let node = graph.nodes.get_mut(at)?;
        if !node.used.iter().any(|known| permits_all_of(known, &used)) {
            node.used.retain(|known| !permits_all_of(&used, known));
            node.used.push(used.clone());
            self.waiting.push_back((at, used, run));
        }
        Some(at)
    }

    fn expand(&mut self, graph: &mut Graph, from: usize, run: &Run) {
        let all: Vec<(Done, (Key, Used))> = next(self.model, run)
            .into_iter()
            .map(|done| {
                let key = key(self.model, &done.run);
                (done, key)
            })
            .collect();
        let more = self.used_up(run, &all);
        let more = more.into_iter().map(|done| {
            let key = key(self.model, &done.run);
            (done, key)
        });
        let more: Vec<_> = more.collect();
        for (done, key) in all.into_iter().chain(more) {
            let Done {
                act,
                facts,
                bits,
                run,
            } = done;
            let Some(to) = self.enter(graph, key, run) else {
                continue;
            };
            let label = self.label(graph, Label { act, facts, bits });
            let edge = Edge { from, to, label };
            if self.known.insert(edge) {
                let number = graph.edges.len();
                graph.edges.push(edge);
                if let Some(node) = graph.nodes.get_mut(from) {
                    node.out.push(number);
                }
            }
        }
    }

    /// Uses up limits with calls that change nothing else, in one step.
    ///
    /// A call that leaves the run in the same state does so each time, so that only the count differs.
    fn used_up(&self, run: &Run, done: &[(Done, (Key, Used))]) -> Vec<Done> {
        let (own, _) = key(self.model, run);
        let mut all = Vec::new();
        for path in run.open_leaves() {
            let Some(frame) = run.frame(&path) else {
                continue;
            };
            let Some(state) = self.model.state(frame.machine.as_ref(), &frame.at) else {
                continue;
            };
            let branch = (!path.is_root()).then(|| path.to_string());
            let idle = done.iter().find(|(one, (after_key, _))| {
                matches!(&one.act, Act::Call { branch: own, .. } if *own == branch)
                    && one
                        .run
                        .frame(&path)
                        .is_some_and(|after| after.stay.used.calls > frame.stay.used.calls)
                    && *after_key == own
            });
            if let Some((idle, _)) = idle {
                let limit = state
                    .policy
                    .iterations_max
                    .filter(|limit| *limit > self.model.counted_to);
                all.extend(limit.and_then(|limit| {
                    repeated(idle, &path, limit - frame.stay.used.calls.min(limit))
                }));
            }
            if let Some(limit) = state.policy.result_bytes_max {
                let calls = done.iter().map(|(one, _)| &one.act);
                let own = calls
                    .filter(|act| matches!(act, Act::Call { branch: own, .. } if *own == branch));
                all.extend(own.filter_map(|act| self.with_bytes(run, &path, act, Some(limit))));
            }
            if let Some(limit) = state.policy.files_max {
                let writes = done.iter().map(|(one, _)| one);
                all.extend(writes.filter_map(|one| self.with_files(run, one, &path, limit)));
            }
        }
        all
    }

    /// Does a call whose result takes all the bytes that a state allows.
    fn with_bytes(
        &self,
        run: &Run,
        path: &FramePath,
        act: &Act,
        limit: Option<u64>,
    ) -> Option<Done> {
        let mut act = act.clone();
        let Act::Call { end, .. } = &mut act else {
            return None;
        };
        end.bytes = limit?;
        call(self.model, run, path, act)
    }

    /// Writes as many further files of the same kind as a state allows.
    fn with_files(&self, run: &Run, writes: &Done, path: &FramePath, limit: u64) -> Option<Done> {
        let before = run.frame(path)?;
        let branch = (!path.is_root()).then(|| path.to_string());
        let Act::Call {
            branch: own,
            times: 1,
            ..
        } = &writes.act
        else {
            return None;
        };
        let mut full = writes.run.clone();
        let after = frame_mut(&mut full, path)?;
        let stays = *own == branch
            && after.at == before.at
            && after.stay.entered_seq == before.stay.entered_seq;
        let Act::Call { class, .. } = &writes.act else {
            return None;
        };
        let call = &self.model.classes.get(*class)?.call;
        let written = call
            .facts
            .writes
            .iter()
            .find_map(|write| write.path.as_deref());
        let class = self
            .model
            .file_class(written.filter(|path| stays && after.stay.used.files.contains(*path))?);
        let count = u64::try_from(before.stay.used.files.len()).unwrap_or(limit);
        after.stay.used.files.clone_from(&before.stay.used.files);
        for number in count..limit {
            after
                .stay
                .used
                .files
                .insert(format!("{class}{MORE}{number}"));
        }
        (count < limit).then(|| times(writes, full, limit - count, true))
    }
}

fn repeated(idle: &Done, path: &FramePath, left: u64) -> Option<Done> {
    let mut run = idle.run.clone();
    let frame = frame_mut(&mut run, path)?;
    frame.stay.used.calls = frame.stay.used.calls.saturating_add(left.saturating_sub(1));
    Some(times(idle, run, left, false))
}

fn times(done: &Done, run: Run, count: u64, other_files: bool) -> Done {
    let mut act = done.act.clone();
    if let Act::Call { times, files, .. } = &mut act {
        *times = count;
        *files = other_files;
    }
    Done {
        act,
        facts: done.facts.clone(),
        bits: done.bits.clone(),
        run,
    }
}

fn frame_mut<'r>(run: &'r mut Run, path: &FramePath) -> Option<&'r mut Frame> {
    path.names().iter().try_fold(&mut run.root, |frame, name| {
        let region = frame
            .regions
            .iter_mut()
            .find(|region| region.name == *name)?;
        Some(&mut Arc::make_mut(region).frame)
    })
}

/// Tells whether a run that has used `one` may do all that one with `other` may.
fn permits_all_of(one: &Used, other: &Used) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one <= other)
}

fn is_exhausted(model: &Model, run: &Run) -> bool {
    run.open_leaves().iter().any(|path| {
        run.frame(path).is_some_and(|frame| {
            let state = model.state(frame.machine.as_ref(), &frame.at);
            state.is_some_and(|state| {
                let used = &frame.stay.used;
                let over = |limit: Option<u64>, now: u64| limit.is_some_and(|limit| now >= limit);
                let files = u64::try_from(used.files.len()).unwrap_or(u64::MAX);
                over(state.policy.iterations_max, used.calls)
                    || over(state.policy.result_bytes_max, used.bytes)
                    || over(state.policy.files_max, files)
            })
        })
    })
}

/// Returns which of the pairs hold in two branches that are both open.
pub(crate) fn together(model: &Model, pairs: &[(usize, usize)], run: &Run) -> Vec<(usize, usize)> {
    let leaves = run.open_leaves();
    let holds = |slot: usize, path: &FramePath| {
        model
            .slots
            .get(slot)
            .is_some_and(|what| crate::facts::stands_below(model, what, run, path, &leaves))
    };
    let of = |(one, other): &(usize, usize)| {
        leaves.iter().any(|first| {
            holds(*one, first)
                && leaves
                    .iter()
                    .any(|second| second != first && holds(*other, second))
        })
    };
    pairs.iter().copied().filter(|pair| of(pair)).collect()
}
