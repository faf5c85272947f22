//! Evidence that can never be there, because no state lets the command run.

use std::collections::BTreeSet;

use interlock_core::{
    guard::{EvidenceGuard, EvidenceOf, Guard, GuardRef, Since},
    machine::{Activity, Machine, State},
    names::StateName,
    policy::{OnDenied, Policy, Stance},
};

use crate::{Check, FindingCode, GuardRoot, Place, guards::transition_guards};

/// Guards that one guard is made of, at most; what nests deeper is taken to hold.
const DEPTH_MAX: usize = 32;

/// Guards that are looked at in one machine; the rest is taken to hold.
const LOOKS_MAX: usize = 2_000;

/// Programs that only start another one, so that their entry may list it too.
const WRAPPERS: [&str; 12] = [
    "env", "sudo", "doas", "timeout", "nice", "ionice", "nohup", "time", "xargs", "command",
    "stdbuf", "setsid",
];

/// Programs that run code of the project, and what they do so for; any of their commands where that is empty.
const RUNNERS: [(&str, &[&str]); 21] = [
    ("npm", &["test", "t", "run", "run-script", "ci"]),
    ("pnpm", &["test", "t", "run"]),
    ("yarn", &["test", "run"]),
    ("bun", &["test", "run"]),
    (
        "cargo",
        &[
            "test", "nextest", "build", "check", "clippy", "run", "bench",
        ],
    ),
    ("go", &["test", "build", "run", "vet", "generate"]),
    ("dotnet", &["test", "build", "run"]),
    ("bundle", &["exec"]),
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pytest", &[]),
    ("tox", &[]),
    ("nox", &[]),
    ("jest", &[]),
    ("vitest", &[]),
    ("make", &[]),
    ("mvn", &[]),
    ("gradle", &[]),
    ("gradlew", &[]),
    ("mix", &["test", "compile"]),
    ("rake", &[]),
];

impl Check<'_, '_> {
    /// Warns of transitions whose evidence no state before them can produce.
    ///
    /// Where anything else may bring it (a branch, a handler, another machine), nothing is said.
    pub(super) fn proofs(&mut self) {
        let machine = self.machine;
        let before = self.leads_back();
        let mut missing: Vec<(Place, String, String)> = Vec::new();
        let asking = transition_guards(machine);
        let mut looks = LOOKS_MAX;
        for (at, guard) in &asking {
            let GuardRoot::Transition { state, event, .. } = &at.site.root else {
                continue;
            };
            let ends = |evidence: &EvidenceGuard| self.can_end(state, evidence, &before);
            let mut search = Search {
                machine,
                ends: &ends,
                looks: &mut looks,
            };
            let commands = search.impossible(guard, DEPTH_MAX).unwrap_or_default();
            let commands: BTreeSet<&str> = commands.into_iter().collect();
            let Some(example) = commands.first() else {
                continue;
            };
            let named: Vec<String> = commands.iter().map(|text| format!("`{text}`")).collect();
            let message = format!(
                "`{event}` in `{state}` can never be taken: it requires evidence of {}, but no state on the way there allows it to run",
                named.join(", ")
            );
            let help = format!(
                "in `{state}` or a state before it, put `Bash` into `allowed_tools` and `{example}` into `allowed_commands`"
            );
            missing.push((Place::Guard(at.site.clone()), message, help));
        }
        for (place, message, help) in missing {
            self.warning(FindingCode::NoEvidence, place, message, &help);
        }
    }

    /// Returns whether some state up to `state` may run the command that `evidence` names.
    fn can_end(&self, state: &StateName, evidence: &EvidenceGuard, before: &[Vec<usize>]) -> bool {
        let EvidenceOf::Command { words, .. } = &evidence.of else {
            return true;
        };
        let states = &self.machine.states;
        let elsewhere = self.leads_elsewhere();
        let counted: Vec<bool> = match (evidence.since, states.get_index_of(state)) {
            (Since::StateEntry, Some(at)) if !elsewhere => {
                (0..states.len()).map(|other| other == at).collect()
            }
            (_, Some(at)) if !elsewhere => up_to(at, before),
            _ => vec![true; states.len()],
        };
        let mut here = states.values().zip(counted);
        here.any(|(state, counts)| counts && may_run(state, words)) || self.others_may_run(words)
    }

    /// Returns whether the run may have been elsewhere than the arrows to a state show.
    fn leads_elsewhere(&self) -> bool {
        let spreads = |state: &State| state.activity.forks();
        !self.machine.interrupts.is_empty() || self.machine.states.values().any(spreads)
    }

    fn others_may_run(&self, words: &[String]) -> bool {
        let machines = std::iter::once(self.root).chain(self.root.machines.values());
        machines
            .filter(|other| !std::ptr::eq(*other, self.machine))
            .flat_map(|other| other.states.values())
            .any(|state| may_run(state, words))
    }

    /// Returns for each state those that lead to it.
    fn leads_back(&self) -> Vec<Vec<usize>> {
        let nodes = self.graph.nodes();
        let mut before = vec![Vec::new(); nodes.len()];
        for (from, node) in nodes.iter().enumerate() {
            for edge in &node.edges {
                if let Some(list) = before.get_mut(edge.to) {
                    list.push(from);
                }
            }
        }
        before
    }
}

/// Returns which states lead to the one at `at`, itself included.
fn up_to(at: usize, before: &[Vec<usize>]) -> Vec<bool> {
    let mut counted = vec![false; before.len()];
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        if let Some(seen) = counted.get_mut(at).filter(|seen| !**seen) {
            *seen = true;
            open.extend(before.get(at).into_iter().flatten());
        }
    }
    counted
}

/// Looks for evidence that cannot be there.
struct Search<'m, 'e> {
    machine: &'m Machine,
    ends: &'e dyn Fn(&EvidenceGuard) -> bool,
    /// How many guards may still be looked at.
    looks: &'e mut usize,
}

impl<'m> Search<'m, '_> {
    /// Returns the commands for want of which `guard` can never hold; `None`: it may hold.
    fn impossible(&mut self, guard: &'m GuardRef, depth: usize) -> Option<Vec<&'m str>> {
        let depth = depth.checked_sub(1)?;
        *self.looks = self.looks.checked_sub(1)?;
        let guard = match guard {
            GuardRef::Inline(guard) => guard.as_ref(),
            GuardRef::Named(name) => self.machine.guards.get(name)?,
        };
        match guard {
            Guard::Evidence(evidence) if !(self.ends)(evidence) => match &evidence.of {
                EvidenceOf::Command { text, .. } => Some(vec![text]),
                EvidenceOf::Tool { .. } => None,
            },
            Guard::All(items) => {
                let missing: Vec<&str> = items
                    .iter()
                    .filter_map(|item| self.impossible(item, depth))
                    .flatten()
                    .collect();
                (!missing.is_empty()).then_some(missing)
            }
            Guard::Any(items) if !items.is_empty() => {
                let mut missing = Vec::new();
                for item in items {
                    missing.extend(self.impossible(item, depth)?);
                }
                Some(missing)
            }
            _ => None,
        }
    }
}

/// Returns whether a command that begins with `words` may run in a state.
fn may_run(state: &State, words: &[String]) -> bool {
    match &state.activity {
        Activity::Await | Activity::Stage(_) => policy_lets(&state.policy, words),
        Activity::Task(_) => true,
        _ => false,
    }
}

fn policy_lets(policy: &Policy, words: &[String]) -> bool {
    if policy.on_denied == OnDenied::Ask {
        return true;
    }
    if !policy.lets_pass(&["Bash"]) {
        return false;
    }
    let Some(entries) = &policy.allowed_commands else {
        return policy.stance() != Stance::NoWrite || !runs_the_project(words);
    };
    // A list that is there and empty is the only one that lets nothing run.
    entries.iter().any(|entry| go_together(&entry.words, words))
}

/// Returns whether a command runs code of the project, so that a state without a writing tool has to list it.
fn runs_the_project(words: &[String]) -> bool {
    let words = plain(words);
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    let program = name(program);
    let found = RUNNERS.iter().find(|(runner, _)| *runner == program);
    found.is_some_and(|(_, does)| {
        does.is_empty() || rest.first().is_some_and(|word| does.contains(word))
    })
}

/// Returns whether one command may begin with both lists of words.
///
/// Options may stand between the words, so they are left out.
fn go_together(entry: &[String], wanted: &[String]) -> bool {
    let (entry, wanted) = (plain(entry), plain(wanted));
    let Some((program, entry)) = entry.split_first() else {
        return false;
    };
    let Some((other, wanted)) = wanted.split_first() else {
        return true;
    };
    let same = name(program) == name(other) && entry.iter().zip(wanted).all(|(a, b)| a == b);
    same || WRAPPERS.contains(&name(program)) || WRAPPERS.contains(&name(other))
}

/// Leaves options and assignments before the program out.
fn plain(words: &[String]) -> Vec<&str> {
    let words = words.iter().map(String::as_str);
    let words = words.skip_while(|word| word.contains('=') && !word.starts_with(['-', '/']));
    words.filter(|word| !word.starts_with('-')).collect()
}

/// Returns the last part of a program's path.
fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl Check<'_, '_> {
    /// Warns of a list of commands in a state that lets no shell pass.
    pub(super) fn commands_without_a_shell(&mut self) {
        let machine = self.machine;
        for (name, state) in &machine.states {
            let policy = &state.policy;
            let lists_some = policy.allowed_commands.iter().flatten().next().is_some();
            let asks = policy.on_denied == OnDenied::Ask;
            if !lists_some || asks || policy.stance() == Stance::Free || policy.lets_pass(&["Bash"])
            {
                continue;
            }
            let message = if policy.disallows(&["Bash"]) {
                format!("`{name}` disallows the shell, so its `allowed_commands` allow nothing")
            } else {
                format!("`{name}` allows no shell, so its `allowed_commands` allow nothing")
            };
            self.warning(
                FindingCode::UselessCommand,
                Place::AllowedCommand(name.clone(), 0),
                message,
                "add `Bash` to `allowed_tools`, or remove `allowed_commands`",
            );
        }
    }
}
