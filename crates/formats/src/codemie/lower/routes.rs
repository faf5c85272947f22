//! Transitions of states, forks with joins, and regions for items.

use std::collections::{BTreeSet, VecDeque};

use indexmap::IndexMap;
use interlock_core::{
    guard::{ExpressionGuard, Guard, GuardRef},
    machine::{
        Activity, Branch, Join, Merge, OnItemError as Lowered, Over, OverItems, Parallel, Rule,
        State as Made, Target, Transition,
    },
    names::{EventName, StateName},
};

use crate::codemie::{
    state::END,
    syntax::{Condition, Flags, Named, Next, OnItemError, State, Way, Workflow},
};

/// Creates the states in which several regions begin.
pub(in crate::codemie) struct Routes<'w> {
    workflow: &'w Workflow,
    /// State for the file's `end`.
    end: &'static str,
    strict: bool,
    /// Created states, in the order of those that lead to them.
    pub(super) made: IndexMap<StateName, Made>,
}

impl<'w> Routes<'w> {
    pub(in crate::codemie) fn new(workflow: &'w Workflow, end: &'static str, strict: bool) -> Self {
        Self {
            workflow,
            end,
            strict,
            made: IndexMap::new(),
        }
    }

    /// Returns what follows a state that has ended.
    pub(super) fn after(&mut self, state: &State, next: &Next) -> Rule {
        match &next.way {
            Way::One(target) => only(self.target(&target.text)),
            Way::Condition {
                expression,
                then,
                otherwise,
            } => self.choice([(expression, then)].into_iter(), otherwise),
            Way::Switch { cases, default } => {
                let cases = cases.iter().map(|(condition, target)| (condition, target));
                self.choice(cases, default)
            }
            Way::All(targets) => {
                self.fork(state, targets);
                only(Target::State(after(state)))
            }
            Way::Items { target, key } => {
                self.spread(state, target, key, &next.flags);
                only(Target::State(after(state)))
            }
            Way::Broken => Rule {
                branched: true,
                transitions: Vec::new(),
            },
        }
    }

    pub(super) fn target(&self, name: &str) -> Target {
        to(if name == END { self.end } else { name })
    }

    fn choice<'c>(
        &self,
        cases: impl Iterator<Item = (&'c Condition, &'c Named)>,
        default: &Named,
    ) -> Rule {
        let guarded = cases.map(|(condition, target)| Transition {
            guards: vec![guard(condition)],
            target: self.target(&target.text),
            approval: None,
        });
        let last = Transition {
            guards: Vec::new(),
            target: self.target(&default.text),
            approval: None,
        };
        Rule {
            branched: true,
            transitions: guarded.chain([last]).collect(),
        }
    }

    fn fork(&mut self, state: &State, targets: &[Named]) {
        let branches = targets.iter().map(|target| {
            // A region that ends at once is summarized with the others.
            (target.text.clone(), StateName::new(target.text.as_str()))
        });
        let name = after(state);
        self.made
            .insert(name.clone(), lines(name, self.end, branches));
    }

    fn spread(&mut self, state: &State, target: &Named, key: &Named, flags: &Flags) {
        let name = after(state);
        let exits = self.exits(&target.text);
        let inside = state.finish_iteration && is_several(&exits);
        let several = (exits.len() > 1).then(|| {
            let several = StateName::new(format!("exits:{}", state.id.text));
            let branches = exits.iter().map(|exit| (exit.to_string(), exit.clone()));
            let made = lines(name.clone(), self.end, branches);
            self.made.insert(several.clone(), made);
            several
        });
        let items = OverItems {
            items: key.text.clone(),
            initial: StateName::new(target.text.as_str()),
            keys: flags.item_keys.clone(),
            replaces_item: flags.override_task,
            nested: state.finish_iteration,
            exits: several,
            inside,
            wants_items: self.strict,
            without_items: self.join_of(&target.text),
        };
        let mut made = Made {
            activity: Activity::Parallel(Parallel {
                over: Over::Items(items),
                join: Join::Converge,
                merge: Merge::Conversation,
                concurrency: None,
                on_error: match flags.on_item_error {
                    OnItemError::Fail => Lowered::Fail,
                    OnItemError::Skip => Lowered::Skip,
                    OnItemError::Collect => Lowered::Collect,
                },
                fails_as: None,
            }),
            shown_as: Some(name.clone()),
            ..Made::default()
        };
        if let Some(target) = &state.on_error {
            // An error about the items belongs to the state that outputs them.
            let target = self.target(&target.text);
            made.on.insert(EventName::new("error"), only(target));
        }
        self.made.insert(name, made);
    }

    fn state(&self, id: &str) -> Option<&'w State> {
        self.workflow
            .states
            .iter()
            .find(|state| state.id.text == id)
    }

    fn end_or(&self, id: &str) -> StateName {
        StateName::new(if id == END { self.end } else { id })
    }

    /// Returns every state at which item regions that begin at `first` may end, in order of discovery.
    pub(in crate::codemie) fn exits(&self, first: &str) -> Vec<StateName> {
        self.exits_within(first, &mut BTreeSet::new())
    }

    /// Returns the same, without the item lists in `around` that are already being examined.
    fn exits_within<'s>(
        &'s self,
        first: &'s str,
        around: &mut BTreeSet<&'s str>,
    ) -> Vec<StateName> {
        let mut exits: Vec<StateName> = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: VecDeque<&str> = VecDeque::from([first]);
        while let Some(id) = open.pop_front() {
            let Some(state) = self.state(id).filter(|state| seen.insert(&state.id.text)) else {
                continue;
            };
            open.extend(state.on_error.iter().map(|target| target.text.as_str()));
            let Some(next) = &state.next else { continue };
            let ends = match &next.way {
                Way::Items { target, .. } if state.finish_iteration => {
                    if !around.insert(&state.id.text) {
                        continue;
                    }
                    let inner = self.exits_within(&target.text, around);
                    around.remove(state.id.text.as_str());
                    if is_several(&inner) {
                        // Those are entered within this region.
                        open.extend(inner.iter().flat_map(|exit| self.begun_by(exit)));
                        continue;
                    }
                    inner
                }
                way @ (Way::Items { .. }
                | Way::One(_)
                | Way::Condition { .. }
                | Way::Switch { .. })
                    if next.flags.per_item || matches!(way, Way::Items { .. }) =>
                {
                    open.extend(way.targets().into_iter().map(|one| one.text.as_str()));
                    continue;
                }
                Way::All(targets) if next.flags.per_item => {
                    open.extend(targets.iter().map(|one| one.text.as_str()));
                    continue;
                }
                Way::All(_) => vec![after(state)],
                way => {
                    let targets = way.targets().into_iter();
                    targets.map(|target| self.end_or(&target.text)).collect()
                }
            };
            for exit in ends {
                if !exits.contains(&exit) {
                    exits.push(exit);
                }
            }
        }
        exits
    }

    /// Returns the states of the file that begin when `exit` is entered.
    fn begun_by(&self, exit: &StateName) -> Vec<&'w str> {
        let opener = exit.as_str().strip_prefix(AFTER);
        let state = self.state(opener.unwrap_or(exit.as_str()));
        match state.map(|state| (state, &state.next)) {
            Some((_, Some(next))) if opener.is_some() => {
                let targets = next.way.targets().into_iter();
                targets.map(|target| target.text.as_str()).collect()
            }
            Some((state, _)) => vec![state.id.text.as_str()],
            None => Vec::new(),
        }
    }

    /// Returns the state that is entered without items: the one where their regions would end if no condition held.
    fn join_of(&self, first: &str) -> StateName {
        self.join_within(first, &mut BTreeSet::new())
    }

    /// Returns the same, ignoring states already `seen` in enclosing lists.
    fn join_within<'s>(&'s self, first: &'s str, seen: &mut BTreeSet<&'s str>) -> StateName {
        let mut id = first;
        while let Some(state) = self.state(id).filter(|state| seen.insert(&state.id.text)) {
            let Some(next) = &state.next else { break };
            let stays = matches!(next.way, Way::Items { .. }) || next.flags.per_item;
            let follows = match &next.way {
                Way::Items { target, .. } if state.finish_iteration => {
                    let inner = self.join_within(&target.text, seen);
                    let several = is_several(&self.exits(&target.text));
                    match self.begun_by(&inner).first().filter(|_| several) {
                        Some(first) => id = first,
                        None => return inner,
                    }
                    continue;
                }
                Way::All(_) => return after(state),
                Way::One(target)
                | Way::Items { target, .. }
                | Way::Condition {
                    otherwise: target, ..
                }
                | Way::Switch {
                    default: target, ..
                } => target,
                Way::Broken => break,
            };
            if !stays {
                return self.end_or(&follows.text);
            }
            id = &follows.text;
        }
        StateName::new(self.end)
    }
}

/// Creates a state in which regions begin that may join.
fn lines(shown: StateName, end: &str, branches: impl Iterator<Item = (String, StateName)>) -> Made {
    let branches = branches.map(|(name, initial)| {
        let terminal = StateName::new(END);
        (name, Branch { initial, terminal })
    });
    let fork = Parallel {
        join: Join::Converge,
        merge: Merge::Conversation,
        ..Parallel::branches(branches.collect())
    };
    let mut on = IndexMap::new();
    on.insert(EventName::new("done"), only(to(end)));
    Made {
        activity: Activity::Parallel(fork),
        on,
        shown_as: Some(shown),
        ..Made::default()
    }
}

/// Prefix of states in which the regions after another state begin.
const AFTER: &str = "after:";

/// Returns the name of the state in which the regions after a state begin.
fn after(state: &State) -> StateName {
    StateName::new(format!("{AFTER}{}", state.id.text))
}

/// Returns whether regions that end at these states were split by more than a plain `state_id`.
fn is_several(exits: &[StateName]) -> bool {
    exits.len() > 1 || exits.iter().any(|exit| exit.as_str().starts_with(AFTER))
}

pub(super) fn to(state: &str) -> Target {
    Target::State(StateName::new(state))
}

pub(super) fn only(target: Target) -> Rule {
    Rule {
        branched: false,
        transitions: vec![Transition {
            guards: Vec::new(),
            target,
            approval: None,
        }],
    }
}

fn guard(condition: &Condition) -> GuardRef {
    GuardRef::Inline(Box::new(Guard::Expression(ExpressionGuard {
        text: condition.text.text.clone(),
        expression: condition.read.clone().unwrap_or_default(),
    })))
}
