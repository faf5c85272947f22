//! A property as a watcher that goes along with a run, with a number for what it remembers.

use interlock_formats::{Form, Predicate, SinceWhat};

use crate::facts::Facts;

/// A property whose predicates are numbers of what the model asks for.
#[derive(Debug, Clone)]
pub(crate) enum Watch {
    Never(usize),
    Before {
        at: usize,
        require: Vec<usize>,
        since: Since,
    },
    After {
        from: usize,
        never: usize,
        until: Option<usize>,
    },
    Possible(usize),
    AlwaysPossible {
        what: usize,
        by_agent: bool,
    },
    OnlyWithPerson(usize),
    AtMost {
        times: u32,
        of: usize,
        per_state: bool,
    },
    NeverTogether(usize, usize),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Since {
    Start,
    LastEdit,
    Last(usize),
}

/// Pieces of what must have happened that one number has room for.
const REQUIRED_MAX: usize = 30;

impl Watch {
    /// Compiles a property; its predicates are added to `slots`.
    pub(crate) fn of(form: &Form, slots: &mut Vec<Predicate>) -> Option<Self> {
        let mut slot = |what: &Predicate| {
            slots.push(what.clone());
            slots.len() - 1
        };
        Some(match form {
            Form::Never(what) => Self::Never(slot(what)),
            Form::OnlyIn { states, what } => {
                let states = states.iter().cloned().map(Predicate::State).collect();
                let elsewhere = Predicate::Not(Box::new(Predicate::Any(states)));
                Self::Never(slot(&Predicate::All(vec![what.clone(), elsewhere])))
            }
            Form::Before { at, require, since } => {
                if require.len() > REQUIRED_MAX {
                    return None;
                }
                Self::Before {
                    at: slot(at),
                    require: require.iter().map(&mut slot).collect(),
                    since: match since {
                        SinceWhat::Start => Since::Start,
                        SinceWhat::LastEdit => Since::LastEdit,
                        SinceWhat::Last(what) => Since::Last(slot(what)),
                    },
                }
            }
            Form::After { from, never, until } => Self::After {
                from: slot(from),
                never: slot(never),
                until: until.as_ref().map(slot),
            },
            Form::Possible(what) => Self::Possible(slot(what)),
            Form::AlwaysPossible { what, by_agent } => Self::AlwaysPossible {
                what: slot(what),
                by_agent: *by_agent,
            },
            Form::OnlyWithPerson(what) => Self::OnlyWithPerson(slot(what)),
            Form::AtMost {
                times,
                of,
                per_state,
            } => Self::AtMost {
                times: *times,
                of: slot(of),
                per_state: *per_state,
            },
            Form::NeverTogether(one, other) => {
                let one = slot(one);
                Self::NeverTogether(one, slot(other))
            }
        })
    }

    /// Goes along with a step; `None`: the property is broken.
    ///
    /// In one step what is required, and what ends an `after`, counts before what needs it; what makes it old counts last.
    pub(crate) fn step(
        &self,
        memory: u32,
        bits: &[bool],
        facts: &Facts,
        together: &[(usize, usize)],
    ) -> Option<u32> {
        let is = |slot: &usize| bits.get(*slot).copied().unwrap_or_default();
        match self {
            Self::Never(what) => (!is(what)).then_some(0),
            Self::Before { at, require, since } => {
                let now = require.iter().enumerate().filter(|(_, one)| is(one));
                let memory = now.fold(memory, |memory, (index, _)| memory | 1 << index);
                let all = (1_u32 << require.len()) - 1;
                if is(at) && memory != all {
                    return None;
                }
                let old = match since {
                    Since::Start => false,
                    Since::LastEdit => facts.wrote,
                    Since::Last(what) => is(what),
                };
                Some(if old { 0 } else { memory })
            }
            Self::After { from, never, until } => {
                let on = memory == 1 && !until.as_ref().is_some_and(is);
                if on && is(never) {
                    return None;
                }
                Some(u32::from(on || is(from)))
            }
            Self::OnlyWithPerson(what) => {
                let asked = memory == 1 || !facts.approved.is_empty();
                (asked || !is(what)).then_some(u32::from(asked))
            }
            Self::AtMost {
                times,
                of,
                per_state,
            } => {
                let count = memory + u32::from(is(of));
                if count > *times {
                    return None;
                }
                let starts_again = *per_state && !facts.entered.is_empty();
                Some(if starts_again { 0 } else { count })
            }
            Self::NeverTogether(one, other) => (!together.contains(&(*one, *other))).then_some(0),
            Self::Possible(_) | Self::AlwaysPossible { .. } => Some(0),
        }
    }

    /// Returns the predicates without which it says nothing.
    pub(crate) fn premise(form: &Form) -> Vec<Predicate> {
        match form {
            Form::OnlyIn { what, .. }
            | Form::AtMost { of: what, .. }
            | Form::OnlyWithPerson(what) => {
                vec![what.clone()]
            }
            Form::Before { at, .. } => vec![at.clone()],
            Form::After { from, never, .. } => vec![from.clone(), never.clone()],
            Form::NeverTogether(one, other) => vec![one.clone(), other.clone()],
            Form::Never(_) | Form::Possible(_) | Form::AlwaysPossible { .. } => Vec::new(),
        }
    }
}
