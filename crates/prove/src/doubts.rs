//! Behaviour that is not examined yet and may be missed: with any of these reasons, nothing is said to hold.

use std::collections::BTreeMap;

use interlock_core::{
    guard::{FieldGuard, Guard, Op, Since, Source},
    machine::{Activity, Machine, State},
    policy::wildcard_matches,
};
use interlock_formats::{Form, Predicate, Property, SinceWhat};

use crate::{
    calls::Usable,
    classes::writes_unseen,
    machine::{all_guards, machines},
    model::Model,
};

/// Two numbers closer than this may have numbers between them that are not tried.
const NEAR: f64 = 0.001;
/// The value beyond which not every integer can be told from the next.
const EXACT_MAX: f64 = 4_503_599_627_370_496.0;
/// Sub-agents, by the names that clients give the tool.
const SUB_AGENTS: [&str; 2] = ["Task", "Agent"];

/// Returns all reasons for these properties of a machine.
pub(crate) fn all<'a>(model: &'a Model, properties: &'a [Property]) -> Vec<String> {
    let asked = Questions::of(model, properties);
    let rules: [fn(&Questions<'a>) -> Option<String>; 11] = [
        Questions::reports,
        Questions::wildcards,
        Questions::served_writes,
        Questions::sub_agents,
        Questions::files_together,
        Questions::parts,
        Questions::numbers,
        Questions::other_events,
        Questions::merged_values,
        Questions::longer_commands,
        Questions::stays_beside_each_other,
    ];
    rules.into_iter().filter_map(|rule| rule(&asked)).collect()
}

/// What is asked, as far as it matters for the reasons.
struct Questions<'a> {
    model: &'a Model,
    forms: Vec<&'a Form>,
    atoms: Vec<&'a Predicate>,
    fields: BTreeMap<String, Vec<&'a FieldGuard>>,
    has_regions: bool,
    forks: bool,
}

impl<'a> Questions<'a> {
    fn of(model: &'a Model, properties: &'a [Property]) -> Self {
        let mut fields: BTreeMap<String, Vec<&FieldGuard>> = BTreeMap::new();
        for guard in all_guards(&model.machine) {
            if let Guard::Field(field) = guard
                && field.from == Source::Context
            {
                fields.entry(field.field.clone()).or_default().push(field);
            }
        }
        let does =
            |is: fn(&Activity) -> bool| states(&model.machine).any(|state| is(&state.activity));
        let forks = does(|activity| matches!(activity, Activity::Parallel(_)));
        Self {
            model,
            forms: properties.iter().map(|property| &property.form).collect(),
            atoms: model.slots.iter().flat_map(Predicate::parts).collect(),
            fields,
            has_regions: forks || does(|activity| matches!(activity, Activity::Call(_))),
            forks,
        }
    }

    fn tools(&self) -> impl Iterator<Item = &str> {
        let of_states = states(&self.model.machine).flat_map(|state| {
            let policy = &state.policy;
            let allowed = policy.allowed_tools.iter().flatten();
            allowed.chain(&policy.disallowed_tools).map(AsRef::as_ref)
        });
        let of_atoms = self.atoms.iter().filter_map(|atom| match atom {
            Predicate::Tool(tool) => Some(tool.as_str()),
            _ => None,
        });
        of_states.chain(of_atoms)
    }

    fn is_about_writes(&self) -> bool {
        let since_edit = |form: &&Form| {
            matches!(
                form,
                Form::Before {
                    since: SinceWhat::LastEdit,
                    ..
                }
            )
        };
        let evidence = self.model.evidence.values().flatten();
        self.atoms
            .iter()
            .any(|atom| matches!(atom, Predicate::Writes(_)))
            || self.forms.iter().any(since_edit)
            || evidence
                .into_iter()
                .any(|(_, since)| *since == Since::LastEdit)
            || self.interrupts().next().is_some()
    }

    fn interrupts(&self) -> impl Iterator<Item = &str> {
        let all =
            machines(&self.model.machine).flat_map(|(_, machine)| machine.interrupts.values());
        all.map(|interrupt| interrupt.file_pattern.as_str())
    }

    /// A report that has all its tests is tried, and frozen files stay as they are.
    fn reports(&self) -> Option<String> {
        let mut asked = self.model.machine.evidence_guards();
        let shown = asked.find_map(|one| one.substance_shown())?;
        Some(format!("what may be wrong with the {shown} is not tried"))
    }

    fn wildcards(&self) -> Option<String> {
        let pattern = self.tools().find(|tool| tool.contains('*'))?;
        Some(format!(
            "of the tools that `{pattern}` matches only one is tried"
        ))
    }

    fn served_writes(&self) -> Option<String> {
        let tool = self.tools().find(|tool| tool.starts_with("mcp__"))?;
        let matters = self.is_about_writes();
        matters.then(|| format!("what `{tool}` may write is not tried"))
    }

    fn sub_agents(&self) -> Option<String> {
        let asked = self.atoms.iter().any(|atom| match atom {
            Predicate::Tool(tool) => SUB_AGENTS.iter().any(|name| wildcard_matches(tool, name)),
            _ => false,
        });
        (self.forks && asked).then(|| "sub-agents are not started in a fork".to_owned())
    }

    /// Where files are counted, it matters which were written together, and not only what they match.
    fn files_together(&self) -> Option<String> {
        let model = self.model;
        let several = model.written.len() > 1;
        let unseen = |call: &Usable| {
            let class = model.classes.get(call.class);
            class.is_some_and(|class| writes_unseen(&class.call))
        };
        let counted = model.usable.iter().find(|((machine, name), calls)| {
            let state = model.state(machine.as_ref(), name);
            state.is_some_and(|state| state.policy.files_max.is_some()) && calls.iter().any(unseen)
        });
        counted.filter(|_| several).map(|((_, name), _)| {
            format!(
                "in `{name}`, which counts files, programs that write several at once are not tried"
            )
        })
    }

    fn parts(&self) -> Option<String> {
        let several = self.fields.iter().find(|(_, guards)| {
            let guards: Vec<&&FieldGuard> = guards.iter().collect();
            guards.len() > 1 && guards.iter().any(|guard| guard.op == Op::Contains)
        });
        several
            .map(|(field, _)| format!("longer values of `{field}` than guards name are not tried"))
    }

    fn numbers(&self) -> Option<String> {
        let near = self.fields.iter().find(|(_, guards)| {
            let mut all: Vec<f64> = guards
                .iter()
                .filter_map(|guard| guard.value.as_ref()?.as_f64())
                .collect();
            all.sort_by(f64::total_cmp);
            let apart = |pair: &[f64]| match pair {
                [one, other] => one.total_cmp(other).is_eq() || other - one >= NEAR,
                _ => true,
            };
            !all.windows(2).all(apart) || all.iter().any(|number| number.abs() > EXACT_MAX)
        });
        near.map(|(field, _)| {
            format!("numbers between those that guards name for `{field}` are not all tried")
        })
    }

    fn other_events(&self) -> Option<String> {
        let any = states(&self.model.machine).any(|state| state.safe_next.is_some());
        let asked = self.atoms.iter().any(|atom| {
            matches!(
                atom,
                Predicate::Event(_) | Predicate::Approved(_) | Predicate::Rejected(_)
            )
        });
        (any && asked).then(|| "of the events that `safe_next` takes only one is tried".to_owned())
    }

    fn merged_values(&self) -> Option<String> {
        let ordered = |guard: &&FieldGuard| matches!(guard.op, Op::Gt | Op::Gte | Op::Lt | Op::Lte);
        let field = self
            .fields
            .iter()
            .find(|(_, guards)| guards.iter().any(&ordered));
        field.filter(|_| self.has_regions).map(|(field, _)| {
            format!(
                "branches that change `{field}` to another value of the same kind are not all tried"
            )
        })
    }

    /// A command that is refused on its own may pass with more words, where no list names what passes.
    fn longer_commands(&self) -> Option<String> {
        let model = self.model;
        let texts = self.atoms.iter().filter_map(|atom| match atom {
            Predicate::Command { text, .. } => Some(text),
            _ => None,
        });
        let passes = |calls: &[Usable], text: &str| {
            calls.iter().any(|call| {
                let class = model.classes.get(call.class);
                class.and_then(|class| class.proves.as_deref()) == Some(text)
            })
        };
        for text in texts {
            for ((machine, name), calls) in &model.usable {
                let state = model.state(machine.as_ref(), name);
                let unlisted = state.is_some_and(|state| {
                    may_run_programs(state) && state.policy.allowed_commands.is_none()
                });
                if unlisted && !passes(calls, text) {
                    return Some(format!(
                        "longer forms of `{text}` are not tried in `{name}`"
                    ));
                }
            }
        }
        None
    }

    fn stays_beside_each_other(&self) -> Option<String> {
        let counted = self.forms.iter().any(|form| {
            matches!(
                form,
                Form::AtMost {
                    per_state: true,
                    ..
                }
            )
        });
        (self.forks && counted).then(|| "stays in branches are counted together".to_owned())
    }
}

fn states(machine: &Machine) -> impl Iterator<Item = &State> {
    machines(machine).flat_map(|(_, machine)| machine.states.values())
}

fn may_run_programs(state: &State) -> bool {
    let policy = &state.policy;
    let named = |tool: &String| tool == "Bash" || tool.contains('*');
    policy
        .allowed_tools
        .as_ref()
        .is_none_or(|tools| tools.iter().any(named))
}
