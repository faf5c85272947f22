//! Names of states and machines that do not exist.

use interlock_core::{
    glob::compile,
    machine::{Activity, Target},
    names::StateName,
};

use crate::{
    Check, FindingCode, Place,
    graph::{Found, branches},
};

impl Check<'_, '_> {
    /// Reports every name of a state or machine that does not exist.
    pub(super) fn targets(&mut self) {
        let machine = self.machine;
        if !machine.initial.as_str().is_empty() {
            self.target(&machine.initial, Place::Initial);
        }
        for (name, interrupt) in &machine.interrupts {
            self.target(&interrupt.target, Place::Handler(name.clone()));
            if let Err(reason) = compile(&interrupt.file_pattern) {
                self.error(
                    FindingCode::InvalidPattern,
                    Place::Pattern(name.clone()),
                    format!(
                        "`{}` is not a valid pattern: {reason}",
                        interrupt.file_pattern
                    ),
                    "use `*` within a segment, `**` for any depth, `?`, `[...]` and `{a,b}`",
                );
            } else if let Some(meant) = outside(&interrupt.file_pattern) {
                self.warning(
                    FindingCode::NeverHolds,
                    Place::Pattern(name.clone()),
                    format!(
                        "`{}` can never match: paths are relative to the project's root, without a `/` in front",
                        interrupt.file_pattern
                    ),
                    &format!("write `{meant}`, or `**/{meant}` for any depth"),
                );
            }
        }
        for (name, state) in &machine.states {
            for (event, rule) in &state.on {
                for (index, transition) in rule.transitions.iter().enumerate() {
                    if let Target::State(to) = &transition.target {
                        self.target(to, Place::Target(name.clone(), event.clone(), index));
                    }
                }
            }
            if let Some(to) = &state.safe_next {
                self.target(to, Place::SafeNext(name.clone()));
            }
            for (branch, ends) in branches(state) {
                let branch = branch.to_owned();
                self.target(
                    &ends.initial,
                    Place::BranchInitial(name.clone(), branch.clone()),
                );
                self.target(&ends.terminal, Place::BranchTerminal(name.clone(), branch));
            }
            if let Activity::Call(call) = &state.activity
                && !self.root.machines.contains_key(&call.machine)
            {
                self.error(
                    FindingCode::UndefinedMachine,
                    Place::CalledMachine(name.clone()),
                    format!("no workflow `{}` is known", call.machine),
                    "define it under `machines`",
                );
            }
        }
    }

    fn target(&mut self, name: &StateName, place: Place) {
        let near = match self.graph.find(name) {
            Found::Here(_) => return,
            Found::Near(_, near) => format!(": did you mean `{near}`?"),
            Found::Nowhere => String::new(),
        };
        let help = match (name.as_str(), &place) {
            ("$return", _) => "`$return` can only be the target of a transition",
            (_, Place::Initial) => "`initial` names the state a run starts in",
            _ => "add the state, or name one that exists",
        };
        self.error(
            FindingCode::UndefinedState,
            place,
            format!("there is no state `{name}`{near}"),
            help,
        );
    }
}

/// Returns what follows the beginning of a pattern that no path of the project has.
fn outside(pattern: &str) -> Option<&str> {
    let begins = ["/", "~/", "../"];
    let rest = begins
        .iter()
        .find_map(|begin| pattern.strip_prefix(begin))?;
    Some(rest.trim_start_matches('/').trim_start_matches("**/"))
}
