//! Proves the properties of a workflow, one after the other.

use interlock_core::machine::{Machine, Object};
use interlock_formats::{Form, Lines, Property};

use crate::{
    doubts,
    graph::Graph,
    hash::{at, short},
    machine::{machines, unsupported, without_unread_guards},
    model::Model,
    monitor::Watch,
    reach::{Way, backwards, search},
    replay::{Played, arrived, play},
    sound::{Unsound, never, no_end, no_refusal},
    verdict::{Finding, PlayedRun, Verdict},
};

/// The extent and the inputs of a proof.
#[derive(Debug)]
pub struct ProofOptions<'a> {
    /// The maximum number of states of the graph.
    pub states_max: usize,
    /// Where the parts of the workflow are written.
    pub lines: Option<&'a Lines>,
}

/// The results of a proof.
#[derive(Debug)]
pub struct Proof {
    /// The default properties, then the requested ones, in order.
    pub findings: Vec<Finding>,
    /// The number of states of the graph.
    pub states: usize,
    /// The number of steps of the graph.
    pub steps: usize,
    /// The assumptions of the verdicts, one sentence each.
    pub assumptions: Vec<String>,
}

/// The value up to which limits are counted call by call.
const COUNTED_TO: u64 = 4;
/// The same if a property counts.
const COUNTED_FOR_PROPERTY: u64 = 64;

/// Names of the default properties.
const END: &str = "sound: the end stays possible";
const ALL: &str = "sound: all of it can happen";
const REFUSAL: &str = "sound: every approval can be refused";
const LIMITS: &str = "sound: used-up limits are not a dead end";

/// Proves `properties`, and the default properties of every workflow, for all runs of `machine`.
#[must_use]
pub fn prove(machine: &Machine, properties: &[Property], options: &ProofOptions<'_>) -> Proof {
    let mut slots = Vec::new();
    let watches: Vec<Option<Watch>> = properties
        .iter()
        .map(|property| Watch::of(&property.form, &mut slots))
        .collect();
    let premises: Vec<Vec<usize>> = properties
        .iter()
        .map(|property| {
            let premise = Watch::premise(&property.form).into_iter();
            premise
                .map(|what| {
                    slots.push(what);
                    slots.len() - 1
                })
                .collect()
        })
        .collect();
    let machine = &without_unread_guards(machine, &slots);
    if let Some(why) = unsupported(machine) {
        return unread(properties, &why);
    }
    let counts = properties
        .iter()
        .any(|property| matches!(property.form, Form::AtMost { .. }));
    let counted_to = if counts {
        COUNTED_FOR_PROPERTY
    } else {
        COUNTED_TO
    };
    let model = Model::new(machine, slots, counted_to);
    let pairs: Vec<(usize, usize)> = watches
        .iter()
        .filter_map(|watch| match watch {
            Some(Watch::NeverTogether(one, other)) => Some((*one, *other)),
            _ => None,
        })
        .collect();
    let graph = Graph::explore(&model, &pairs, options.states_max);
    let prover = Prover {
        doubts: doubts::all(&model, properties),
        model: &model,
        graph: &graph,
        lines: options.lines,
        bound: options.states_max,
    };
    let mut findings = prover.sound();
    for ((property, watch), premise) in properties.iter().zip(&watches).zip(&premises) {
        let at = Some((property.file.clone(), property.line));
        let found = match watch {
            Some(watch) => prover.property(&property.form, watch, premise),
            None => Shown::of(Verdict::Unknown(
                "it requires more than 30 things".to_owned(),
            )),
        };
        findings.push(found.named(&property.name, at));
    }
    Proof {
        findings,
        states: graph.nodes.len(),
        steps: graph.steps(),
        assumptions: assumptions(&model),
    }
}

/// Returns the proof for a workflow about which nothing can be said.
fn unread(properties: &[Property], why: &str) -> Proof {
    let unknown = || Shown::of(Verdict::Unknown(why.to_owned()));
    let mut findings = vec![unknown().named("sound", None)];
    findings.extend(properties.iter().map(|property| {
        unknown().named(&property.name, Some((property.file.clone(), property.line)))
    }));
    Proof {
        findings,
        states: 0,
        steps: 0,
        assumptions: Vec::new(),
    }
}

/// A verdict with what shows it.
struct Shown {
    verdict: Verdict,
    message: Option<String>,
    played: Option<Played>,
}

impl Shown {
    fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            message: None,
            played: None,
        }
    }

    fn named(self, name: &str, at: Option<(String, usize)>) -> Finding {
        let (input, trace, played) = match self.played {
            None => (Object::new(), Vec::new(), None),
            Some(played) => {
                let (run, events) = (played.run, played.events);
                let whole = Box::new(PlayedRun { run, events });
                (played.input, played.trace, Some(whole))
            }
        };
        Finding {
            name: name.to_owned(),
            at,
            verdict: self.verdict,
            message: self.message,
            input,
            trace,
            played,
        }
    }
}

struct Prover<'a> {
    /// Why more may happen than is examined.
    doubts: Vec<String>,
    model: &'a Model,
    graph: &'a Graph,
    lines: Option<&'a Lines>,
    bound: usize,
}

impl Prover<'_> {
    /// Returns that something holds, or why that is not certain.
    fn holds(&self, wide: Option<String>) -> Shown {
        Shown::of(match (self.doubt(), wide) {
            (Some(why), _) => Verdict::Unknown(why),
            (None, Some(why)) => Verdict::HoldsWidely(why),
            (None, None) => Verdict::Holds,
        })
    }

    /// Says why a behaviour may have been missed.
    fn doubt(&self) -> Option<String> {
        if !self.graph.whole {
            return Some(format!("bound: more than {} states", self.bound));
        }
        self.model.missed.first().or(self.doubts.first()).cloned()
    }

    /// Says what was approximated from above, which matters where something must stay possible.
    fn wide(&self) -> Option<String> {
        let states = machines(&self.model.machine).flat_map(|(_, machine)| machine.states.values());
        let mut limits = states.filter_map(|state| state.policy.iterations_max);
        limits.any(|limit| limit > self.model.counted_to).then(|| {
            format!(
                "of more than {} calls in a state it is told apart only whether they are used up",
                self.model.counted_to
            )
        })
    }

    fn fails(&self, message: &str, way: &Way, shows: &dyn Fn(&Played) -> bool) -> Shown {
        let played = play(self.model, self.graph, way, self.lines);
        match played {
            Ok(played) if shows(&played) => Shown {
                verdict: Verdict::Fails,
                message: Some(message.to_owned()),
                played: Some(played),
            },
            Ok(_) => Shown::of(Verdict::Unknown(
                "the run that would break it ends otherwise in `simulate`".to_owned(),
            )),
            Err(why) => Shown::of(Verdict::Unknown(format!(
                "the run that would break it does not replay: {why}"
            ))),
        }
    }

    fn property(&self, form: &Form, watch: &Watch, premise: &[usize]) -> Shown {
        if matches!(
            form,
            Form::AtMost {
                per_state: true,
                ..
            }
        ) && let Some(why) = self.doubt()
        {
            return Shown::of(Verdict::Unknown(why));
        }
        if let Form::AtMost { times, .. } = form
            && u64::from(*times) > COUNTED_FOR_PROPERTY
        {
            return Shown::of(Verdict::Unknown(format!(
                "more than {COUNTED_FOR_PROPERTY} times are not counted"
            )));
        }
        let happens = |slot: usize| {
            move |label: u32, _: usize| {
                let label = self.graph.label(label);
                label.is_some_and(|label| label.bits.get(slot) == Some(&true))
            }
        };
        match watch {
            Watch::Possible(what) => match search(self.graph, None, &happens(*what)) {
                Some(way) => self.possible(&way, *what),
                None => match self.doubt() {
                    Some(why) => Shown::of(Verdict::Unknown(why)),
                    None => Shown {
                        message: Some("no run gets there".to_owned()),
                        ..Shown::of(Verdict::Fails)
                    },
                },
            },
            Watch::AlwaysPossible { what, by_agent } => self.always(*what, *by_agent),
            _ => {
                if let Some(way) = search(self.graph, Some(watch), &|_, _| false) {
                    let message = broken(form);
                    return self.fails(message, &way, &|played| breaks(self.model, watch, played));
                }
                for slot in premise {
                    if search(self.graph, None, &happens(*slot)).is_none() {
                        return Shown::of(match self.doubt() {
                            Some(why) => Verdict::Unknown(why),
                            None => Verdict::Vacuous("what it is about never happens".to_owned()),
                        });
                    }
                }
                self.holds(None)
            }
        }
    }

    fn possible(&self, way: &Way, what: usize) -> Shown {
        match play(self.model, self.graph, way, self.lines) {
            Ok(played)
                if played
                    .moments
                    .iter()
                    .any(|(bits, _, _)| bits.get(what) == Some(&true)) =>
            {
                Shown {
                    verdict: Verdict::Holds,
                    message: None,
                    played: Some(played),
                }
            }
            Ok(_) => Shown::of(Verdict::Unknown(
                "the run that would get there ends otherwise in `simulate`".to_owned(),
            )),
            Err(why) => Shown::of(Verdict::Unknown(format!(
                "the run that would get there does not replay: {why}"
            ))),
        }
    }

    fn always(&self, what: usize, by_agent: bool) -> Shown {
        let graph = self.graph;
        let is = |label: u32| {
            graph
                .label(label)
                .is_some_and(|label| label.bits.get(what) == Some(&true))
        };
        let may = |label: u32| {
            !by_agent
                || graph
                    .label(label)
                    .is_none_or(|label| !label.act.is_by_person())
        };
        let standing = self
            .model
            .slots
            .get(what)
            .is_some_and(interlock_formats::Predicate::stands);
        let mut goals = vec![false; graph.nodes.len()];
        let mut mark = |node: usize| {
            let goal = goals.get_mut(node);
            goal.into_iter().for_each(|goal| *goal = true);
        };
        for node in 0..graph.nodes.len() {
            for (_, edge) in graph.out(node).filter(|(_, edge)| is(edge.label)) {
                if may(edge.label) {
                    mark(node);
                }
                if standing {
                    mark(at(edge.to));
                }
            }
        }
        for (node, label) in &graph.starts {
            if standing && is(short(*label)) {
                mark(*node);
            }
        }
        let can = backwards(graph, goals, &may);
        let lost = |node: usize| {
            can.get(node) == Some(&false)
                && graph
                    .nodes
                    .get(node)
                    .is_some_and(|node| node.ended.is_none())
        };
        match search(graph, None, &|_, node| lost(node)) {
            Some(_) if self.doubt().is_some() => self.holds(None),
            Some(way) => self.fails("from here it is possible no more", &way, &|played| {
                arrived(self.model, graph, &way, &played.run)
            }),
            None => self.holds(self.wide()),
        }
    }

    fn sound(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.push(
            self.unsound(no_end(self.model, self.graph, false), self.wide())
                .named(END, None),
        );
        let unreached = never(self.model, self.graph);
        let reached = match self.doubt() {
            Some(why) if !unreached.is_empty() => Shown::of(Verdict::Unknown(why)),
            _ if !unreached.is_empty() => Shown {
                message: Some(
                    unreached
                        .iter()
                        .map(|one| one.message.as_str())
                        .collect::<Vec<_>>()
                        .join("; "),
                ),
                ..Shown::of(Verdict::Fails)
            },
            // Each was reached by the engine itself.
            _ => Shown::of(Verdict::Holds),
        };
        findings.push(reached.named(ALL, None));
        if let Some((_, found)) = no_refusal(self.graph) {
            findings.push(self.unsound(found, self.wide()).named(REFUSAL, None));
        }
        if self.graph.nodes.iter().any(|node| node.exhausted) {
            findings.push(
                self.unsound(no_end(self.model, self.graph, true), None)
                    .named(LIMITS, None),
            );
        }
        findings
    }

    fn unsound(&self, found: Option<Unsound>, wide: Option<String>) -> Shown {
        match found {
            None => self.holds(wide),
            Some(_) if self.doubt().is_some() => self.holds(None),
            Some(Unsound { message, way: None }) => Shown {
                message: Some(message),
                ..Shown::of(Verdict::Fails)
            },
            Some(Unsound {
                message,
                way: Some(way),
            }) => self.fails(&message, &way, &|played| {
                arrived(self.model, self.graph, &way, &played.run)
            }),
        }
    }
}

/// Lets a watcher see what was played.
fn breaks(model: &Model, watch: &Watch, played: &Played) -> bool {
    let mut memory = 0;
    for (bits, facts, run) in &played.moments {
        let together = match watch {
            Watch::NeverTogether(one, other) => {
                crate::views::together(model, &[(*one, *other)], run)
            }
            _ => Vec::new(),
        };
        match watch.step(memory, bits, facts, &together) {
            Some(next) => memory = next,
            None => return true,
        }
    }
    false
}

const fn broken(form: &Form) -> &'static str {
    match form {
        Form::Never(_) => "it happens",
        Form::OnlyIn { .. } => "it happens elsewhere",
        Form::Before { .. } => "it happens without what it requires",
        Form::After { .. } => "it happens in between",
        Form::OnlyWithPerson(_) => "it happens without a person's yes",
        Form::AtMost { .. } => "it happens once too often",
        Form::NeverTogether(..) => "both are so at once",
        Form::Possible(_) | Form::AlwaysPossible { .. } => "it is not possible",
    }
}

/// Lists the assumptions of the verdicts.
fn assumptions(model: &Model) -> Vec<String> {
    let mut said = vec![
        "a call has ended before anything else is done".to_owned(),
        "a shell line runs one of the commands named in the workflow, or one that stands for all others".to_owned(),
        "a command does what its words say: what a program that may run does by itself is not seen".to_owned(),
        "after the end of a run nothing is judged any more".to_owned(),
    ];
    for group in &model.alike {
        let names: Vec<&str> = group
            .iter()
            .map(|key| key.trim_start_matches("command:"))
            .collect();
        said.push(format!(
            "{} count alike in every rule, so that one stands for another",
            names.join(", ")
        ));
    }
    said
}
