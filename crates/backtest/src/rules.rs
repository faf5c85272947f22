//! The rules of a workflow that had an effect in the placed sessions.

use std::collections::BTreeSet;

use interlock_core::{
    machine::{Activity, Machine, State},
    refusal::Code,
};

/// The rules of a workflow that had an effect.
#[derive(Debug, Default)]
pub struct Rules {
    states: Vec<String>,
    transitions: Vec<(String, String, usize, bool)>,
    interrupts: Vec<String>,
    /// Restrictions of each state: the field, and the codes of its refusals.
    restricts: Vec<(String, &'static str, &'static [Code])>,
    entered: BTreeSet<String>,
    taken: BTreeSet<(String, String, usize)>,
    raised: BTreeSet<String>,
    refused: BTreeSet<(String, &'static str)>,
}

impl Rules {
    /// Collects the rules of a machine, none of which has had an effect yet.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let mut rules = Self::default();
        let machines = std::iter::once(machine).chain(machine.machines.values());
        for machine in machines {
            for (name, state) in &machine.states {
                let name = name.to_string();
                for (event, rule) in &state.on {
                    for index in 0..rule.transitions.len() {
                        let event = event.to_string();
                        let several = rule.transitions.len() > 1;
                        rules
                            .transitions
                            .push((name.clone(), event, index, several));
                    }
                }
                for (field, codes) in restricts(state) {
                    rules.restricts.push((name.clone(), field, codes));
                }
                rules.states.push(name);
            }
            rules
                .interrupts
                .extend(machine.interrupts.keys().map(ToString::to_string));
        }
        rules
    }

    /// Adds the effects of another collection.
    pub fn add(&mut self, other: Self) {
        self.entered.extend(other.entered);
        self.taken.extend(other.taken);
        self.raised.extend(other.raised);
        self.refused.extend(other.refused);
    }

    pub(crate) fn refused(&mut self, states: &[String], code: Code) {
        for state in states {
            self.refused.insert((state.clone(), code.as_str()));
        }
    }

    pub(crate) fn entered(&mut self, state: &str) {
        if !self.entered.contains(state) {
            self.entered.insert(state.to_owned());
        }
    }

    pub(crate) fn taken(&mut self, taken: &[(String, String, usize)]) {
        self.taken.extend(taken.iter().cloned());
    }

    pub(crate) fn raised(&mut self, interrupt: &str) {
        self.raised.insert(interrupt.to_owned());
    }

    /// Lists the rules that made no difference: states that no session reached, and restrictions that refused no call in any
    /// possible placement.
    #[must_use]
    pub fn idle(&self) -> Vec<String> {
        let mut idle = Vec::new();
        for state in self
            .states
            .iter()
            .filter(|state| !self.entered.contains(*state))
        {
            idle.push(format!("state `{state}` was not needed"));
        }
        for (state, event, index, several) in &self.transitions {
            let is_idle = !self.taken.contains(&(state.clone(), event.clone(), *index));
            if is_idle && self.entered.contains(state) {
                let which = match several {
                    true => format!(", branch {}", index + 1),
                    false => String::new(),
                };
                idle.push(format!(
                    "transition `{event}` of `{state}`{which} was not needed"
                ));
            }
        }
        for interrupt in self
            .interrupts
            .iter()
            .filter(|one| !self.raised.contains(*one))
        {
            idle.push(format!("interrupt `{interrupt}` was not raised"));
        }
        for (state, field, codes) in &self.restricts {
            let refuses = |code: &Code| self.refused.contains(&(state.clone(), code.as_str()));
            if !codes.iter().any(refuses) {
                idle.push(format!("`{field}` of `{state}` refused nothing"));
            }
        }
        idle
    }
}

/// Lists the restrictions of a state.
fn restricts(state: &State) -> Vec<(&'static str, &'static [Code])> {
    let policy = &state.policy;
    if !matches!(state.activity, Activity::Await) {
        return Vec::new();
    }
    let all: [(bool, &'static str, &'static [Code]); 8] = [
        (
            policy.allowed_tools.is_some(),
            "allowed_tools",
            &[Code::ToolNotAllowed, Code::ShellWrite],
        ),
        (
            !policy.disallowed_tools.is_empty(),
            "disallowed_tools",
            &[Code::ToolDisallowed],
        ),
        (
            policy.allowed_commands.is_some(),
            "allowed_commands",
            &[Code::CommandNotAllowed, Code::ShellUnreadable],
        ),
        (
            policy.iterations_max.is_some(),
            "max_iterations",
            &[Code::IterationLimit],
        ),
        (
            policy.edit_lines_max.is_some(),
            "max_edit_lines",
            &[Code::EditTooLarge],
        ),
        (
            policy.files_max.is_some(),
            "max_files_per_state",
            &[Code::TooManyFiles],
        ),
        (
            policy.result_bytes_max.is_some(),
            "context_budget_bytes",
            &[Code::ContextBudget],
        ),
        (
            !policy.blocked_env.is_empty(),
            "blocked_env",
            &[Code::EnvBlocked],
        ),
    ];
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    there.map(|(_, field, codes)| (field, codes)).collect()
}
