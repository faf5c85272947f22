//! Where states lead: transitions, forks whose lines meet, lines of items.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use interlock_core::{
    guard::{ExpressionGuard, Guard, GuardRef},
    machine::{
        Activity, Branch, Fork, Join, OnItemError as Lowered, Rule, Spread, State as Made, Target,
        Transition,
    },
    names::{EventName, StateName},
};

use crate::codemie::{
    state::END,
    syntax::{Condition, Flags, Named, Next, OnItemError, State, Way, Workflow},
};

/// Makes the states in which several lines begin.
pub(in crate::codemie) struct Routes<'w> {
    workflow: &'w Workflow,
    /// What the file's `end` stands for.
    end: &'static str,
    strict: bool,
    /// The states made, in the order of those that lead to them.
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

    /// Returns what follows a state that is done.
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
            // A line that ends at once is summed up with the others.
            (target.text.clone(), StateName::new(target.text.as_str()))
        });
        let name = after(state);
        self.made.insert(name.clone(), lines(name, branches));
    }

    fn spread(&mut self, state: &State, target: &Named, key: &Named, flags: &Flags) {
        let name = after(state);
        let exits = self.exits(&target.text);
        let several = (exits.len() > 1).then(|| {
            let several = StateName::new(format!("exits:{}", state.id.text));
            let branches = exits.iter().map(|exit| (exit.to_string(), exit.clone()));
            let made = lines(name.clone(), branches);
            self.made.insert(several.clone(), made);
            several
        });
        let spread = Spread {
            items: key.text.clone(),
            initial: StateName::new(target.text.as_str()),
            keys: flags.item_keys.clone(),
            replaces_item: flags.override_task,
            nested: state.finish_iteration,
            on_item_error: match flags.on_item_error {
                OnItemError::Fail => Lowered::Fail,
                OnItemError::Skip => Lowered::Skip,
                OnItemError::Collect => Lowered::Collect,
            },
            exits: several,
            wants_items: self.strict,
            without_items: self.join_of(&target.text),
        };
        let made = Made {
            activity: Activity::Spread(spread),
            shown_as: Some(name.clone()),
            ..Made::default()
        };
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

    /// Returns every state that lines of items which begin at `first` may end towards, as the walk finds them.
    pub(in crate::codemie) fn exits(&self, first: &str) -> Vec<StateName> {
        let mut exits: Vec<StateName> = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = vec![first];
        while let Some(id) = open.pop() {
            let Some(state) = self.state(id).filter(|state| seen.insert(&state.id.text)) else {
                continue;
            };
            open.extend(state.on_error.iter().map(|target| target.text.as_str()));
            let Some(next) = &state.next else { continue };
            let stays = matches!(next.way, Way::Items { .. }) || next.flags.per_item;
            if stays {
                open.extend(next.way.targets().into_iter().map(|one| one.text.as_str()));
                continue;
            }
            let ends = match &next.way {
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

    /// Returns the state that is entered where there are no items: the one their lines would come to if no condition held.
    fn join_of(&self, first: &str) -> StateName {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut id = first;
        while let Some(state) = self.state(id).filter(|state| seen.insert(&state.id.text)) {
            let Some(next) = &state.next else { break };
            let stays = matches!(next.way, Way::Items { .. }) || next.flags.per_item;
            let follows = match &next.way {
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

/// Makes a state in which lines begin that may meet.
fn lines(shown: StateName, branches: impl Iterator<Item = (String, StateName)>) -> Made {
    let branches = branches.map(|(name, initial)| {
        let terminal = StateName::new(END);
        (name, Branch { initial, terminal })
    });
    let fork = Fork {
        branches: branches.collect(),
        join: Join::Meet,
        at_once: None,
        fails_as: None,
    };
    let mut on = IndexMap::new();
    on.insert(EventName::new("done"), only(to(END)));
    Made {
        activity: Activity::Fork(fork),
        on,
        shown_as: Some(shown),
        ..Made::default()
    }
}

/// Names the state in which the lines behind a state begin.
fn after(state: &State) -> StateName {
    StateName::new(format!("after:{}", state.id.text))
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
