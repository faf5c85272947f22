//! Converts flows to machines.

mod work;

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use interlock_core::{
    guard::{Guard, GuardRef},
    machine::{
        Activity, Branch, Call, Capture, Join, Limits, Machine, Merge, OnCrash, OnItemError,
        Outcome, Over, OverLines, Parallel as Regions, Rule, State as Lowered, Target, Test,
        Transition,
    },
    names::{EventName, MachineId, StateName},
};
use serde_json::{Map, Value};

use super::{
    check::{has_output, target},
    reader::Flow,
    syntax::{Action, Doing, ForEach, Handler, Output, Parallel, State, SubFlow},
};

/// Default number of concurrent tasks of one `parallel`.
const AT_ONCE: usize = 64;

/// Maximum size of all variables together, in bytes.
const CONTEXT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Creates machines from flows, the first one outermost.
pub(super) fn lower(flows: &[Flow], guards: &HashMap<(usize, String), String>) -> Machine {
    let mut lowering = Lowering {
        flows,
        guards,
        machines: IndexMap::new(),
        taken: HashSet::new(),
        keys: HashMap::new(),
    };
    lowering.all()
}

pub(super) struct Lowering<'f> {
    flows: &'f [Flow],
    /// Names of guards that are given by path.
    guards: &'f HashMap<(usize, String), String>,
    machines: IndexMap<MachineId, Machine>,
    taken: HashSet<String>,
    /// Key of each called flow.
    keys: HashMap<usize, MachineId>,
}

/// The machine under construction.
struct Building<'f> {
    flow: &'f Flow,
    states: IndexMap<StateName, Lowered>,
    generated: IndexMap<StateName, Lowered>,
    /// Names of the states around a body, for the keys of bodies.
    path: String,
}

/// Targets of a state when its activity ends.
#[derive(Clone)]
struct Exits {
    done: Rule,
    error: Option<Rule>,
}

/// What the states created from one state of the file have in common.
#[derive(Clone)]
struct Making {
    name: StateName,
    shown_as: Option<StateName>,
    on_crash: Option<OnCrash>,
}

impl<'f> Lowering<'f> {
    fn all(&mut self) -> Machine {
        let mut called: Vec<usize> = self
            .flows
            .iter()
            .flat_map(|flow| flow.calls.values().copied())
            .collect();
        called.sort_unstable();
        called.dedup();
        for at in called {
            let name = self.flows.get(at).map(|flow| flow.name.clone());
            let key = self.free_key(&name.unwrap_or_default());
            self.keys.insert(at, key);
        }
        let flows = self.flows;
        let mut root = None;
        for (at, flow) in flows.iter().enumerate() {
            let key = self.keys.get(&at).cloned();
            if at == 0 {
                let machine = self.flow(flow);
                if let Some(key) = key {
                    self.machines.insert(key, machine.clone());
                }
                root = Some(machine);
            } else if let Some(key) = key {
                let machine = self.flow(flow);
                self.machines.insert(key, machine);
            }
        }
        let mut root = root.unwrap_or_else(|| crate::native::empty(""));
        root.machines = std::mem::take(&mut self.machines);
        root.durable = true;
        root
    }

    fn free_key(&mut self, name: &str) -> MachineId {
        let mut key = name.to_owned();
        let mut number = 1;
        while !self.taken.insert(key.clone()) {
            number += 1;
            key = format!("{name}#{number}");
        }
        MachineId::new(key)
    }

    fn flow(&mut self, flow: &'f Flow) -> Machine {
        let context = flow
            .variables
            .iter()
            .map(|(name, variable)| (name.clone(), Value::String(variable.value.clone())))
            .collect();
        let mut meta = Map::new();
        if let Some(text) = flow.description.as_ref().filter(|text| !text.is_empty()) {
            meta.insert("description".to_owned(), Value::String(text.clone()));
        }
        let mut building = Building {
            flow,
            states: IndexMap::new(),
            generated: IndexMap::new(),
            path: flow.name.clone(),
        };
        self.states(&mut building, &flow.states);
        let start = flow.start.as_ref().map(|start| start.text.clone());
        Machine {
            initial: StateName::new(start.unwrap_or_default()),
            context,
            meta,
            limits: Limits {
                context_bytes_max: CONTEXT_BYTES_MAX,
                states_max: flow.transitions_max,
                ..Limits::default()
            },
            ..finished(&flow.name, building)
        }
    }

    fn states(&mut self, building: &mut Building<'f>, states: &'f IndexMap<String, State>) {
        for (name, state) in states {
            let making = Making {
                name: StateName::new(name.clone()),
                shown_as: None,
                on_crash: state.on_crash,
            };
            let exits = exits(state);
            let lowered = self.state(
                building,
                &making,
                &state.action,
                state.output.as_ref(),
                &exits,
            );
            building.states.insert(making.name, lowered);
        }
    }

    /// Creates the state of an action, and the additional ones that it needs.
    fn state(
        &mut self,
        building: &mut Building<'f>,
        making: &Making,
        action: &'f Action,
        output: Option<&'f Output>,
        exits: &Exits,
    ) -> Lowered {
        let output = output.filter(|_| has_output(action));
        let mut state = Lowered {
            on: rules(&exits.done, exits.error.as_ref()),
            shown_as: making.shown_as.clone(),
            capture: output.map(capture),
            retry: action.retry.clone(),
            on_crash: making.on_crash.unwrap_or_default(),
            ..Lowered::default()
        };
        match &action.doing {
            Doing::Work(_) | Doing::Custom(_) => {
                let made = self.work(building.flow, action);
                state.activity = made.activity;
                state.on_crash = making.on_crash.unwrap_or(made.on_crash);
            }
            Doing::Test { op, left, right } => {
                state.activity = Activity::Test(Test {
                    left: left.text(),
                    op: *op,
                    right: right
                        .as_ref()
                        .map(super::syntax::Written::text)
                        .unwrap_or_default(),
                });
            }
            Doing::SubFlow(call) => state.activity = self.call(building.flow, call),
            Doing::Parallel(parallel) => {
                state.activity = self.fork(building, making, parallel);
            }
            Doing::ForEach(each) => return self.each(building, making, each, exits),
            Doing::Broken => {}
        }
        state
    }

    fn call(&self, flow: &Flow, call: &SubFlow) -> Activity {
        let called = target(flow, call).map(|(_, at)| at);
        let key = called.and_then(|at| self.keys.get(&at)).cloned();
        let named = called.and_then(|at| self.flows.get(at));
        let alias = call.alias.as_ref().map(|name| name.text.clone());
        Activity::Call(Call {
            machine: key.unwrap_or_default(),
            passed: call
                .passed
                .iter()
                .map(|(name, text)| (name.clone(), text.text()))
                .collect(),
            namespace: alias.or_else(|| named.map(|flow| flow.name.clone())),
            ..Call::default()
        })
    }

    fn fork(
        &mut self,
        building: &mut Building<'f>,
        making: &Making,
        parallel: &'f Parallel,
    ) -> Activity {
        let mut branches = IndexMap::new();
        for task in &parallel.tasks {
            let name = StateName::new(format!("{}/{}", making.name, task.name));
            let task_making = Making {
                name: name.clone(),
                shown_as: Some(StateName::new("")),
                on_crash: making.on_crash,
            };
            let exits = Exits {
                done: rule(vec![plain(Target::End(Outcome::Success))]),
                error: None,
            };
            let state = self.state(
                building,
                &task_making,
                &task.action,
                task.output.as_ref(),
                &exits,
            );
            building.generated.insert(name.clone(), state);
            let branch = Branch {
                initial: name,
                terminal: StateName::new(""),
            };
            branches.insert(task.name.clone(), branch);
        }
        Activity::Parallel(Regions {
            join: if parallel.fail_fast {
                Join::FailFast
            } else {
                Join::Settled
            },
            merge: Merge::Captured,
            concurrency: Some(parallel.at_once.unwrap_or(AT_ONCE)),
            ..Regions::branches(branches)
        })
    }

    /// Creates the state that produces the items, and the one that runs them.
    fn each(
        &mut self,
        building: &mut Building<'f>,
        making: &Making,
        each: &'f ForEach,
        exits: &Exits,
    ) -> Lowered {
        let path = format!("{}/{}", building.path, making.name);
        let key = self.free_key(&path);
        let body = self.body(building.flow, making, each, path);
        self.machines.insert(key.clone(), body);
        let name = StateName::new(format!("{}/each", making.name));
        let loop_state = Lowered {
            activity: Activity::Parallel(Regions {
                over: Over::Lines(OverLines {
                    machine: key,
                    item: "item".to_owned(),
                    index: "index".to_owned(),
                    wants_items: each.wants_items,
                }),
                join: Join::Settled,
                merge: Merge::Shared,
                concurrency: Some(1),
                on_error: if each.goes_on {
                    OnItemError::Skip
                } else {
                    OnItemError::Fail
                },
                fails_as: None,
            }),
            on: rules(&exits.done, exits.error.as_ref()),
            shown_as: Some(
                making
                    .shown_as
                    .clone()
                    .unwrap_or_else(|| making.name.clone()),
            ),
            ..Lowered::default()
        };
        building.generated.insert(name.clone(), loop_state);
        let items = Exits {
            done: rule(vec![plain(Target::State(name))]),
            error: exits.error.clone(),
        };
        let list = self.state(building, making, &each.items, None, &items);
        Lowered {
            fails_with: Some(1),
            ..list
        }
    }

    fn body(
        &mut self,
        flow: &'f Flow,
        making: &Making,
        each: &'f ForEach,
        path: String,
    ) -> Machine {
        let mut building = Building {
            flow,
            states: IndexMap::new(),
            generated: IndexMap::new(),
            path,
        };
        self.states(&mut building, &each.states);
        let start = each.start.as_ref().map(|start| start.text.clone());
        Machine {
            initial: StateName::new(start.unwrap_or_default()),
            limits: Limits {
                context_bytes_max: CONTEXT_BYTES_MAX,
                states_max: flow.transitions_max,
                ..Limits::default()
            },
            ..finished(making.name.as_str(), building)
        }
    }
}

fn finished(id: &str, building: Building<'_>) -> Machine {
    let mut machine = crate::native::empty(id);
    machine.states = building.states;
    machine.states.extend(building.generated);
    machine
}

fn capture(output: &Output) -> Capture {
    match output {
        Output::Variable(name) => Capture::Key(name.text.clone()),
        Output::File(path) => Capture::File(path.text()),
    }
}

fn rules(done: &Rule, error: Option<&Rule>) -> IndexMap<EventName, Rule> {
    let mut on = IndexMap::new();
    on.insert(EventName::new("done"), done.clone());
    if let Some(error) = error {
        on.insert(EventName::new("error"), error.clone());
    }
    on
}

fn rule(transitions: Vec<Transition>) -> Rule {
    Rule {
        branched: transitions.len() > 1,
        transitions,
    }
}

fn plain(target: Target) -> Transition {
    Transition {
        guards: Vec::new(),
        target,
        approval: None,
    }
}

fn guarded(guard: Guard, target: &str) -> Transition {
    Transition {
        guards: vec![GuardRef::Inline(Box::new(guard))],
        ..plain(Target::State(StateName::new(target)))
    }
}

/// Returns the targets of a state as written.
fn exits(state: &State) -> Exits {
    let next = state
        .next
        .as_ref()
        .map(|next| plain(Target::State(StateName::new(next.text.clone()))));
    let done = match &state.goto {
        None => vec![next.unwrap_or_else(|| plain(Target::End(Outcome::Success)))],
        Some(goto) => {
            let mut all: Vec<Transition> = goto
                .cases
                .iter()
                .map(|(key, target)| {
                    guarded(Guard::Output(key.text.trim().to_owned()), &target.text)
                })
                .collect();
            let rest = goto
                .rest
                .as_ref()
                .map(|rest| plain(Target::State(StateName::new(rest.text.clone()))));
            all.extend(rest.or(next));
            all
        }
    };
    let (one, rest): (Vec<&Handler>, Vec<&Handler>) = state
        .on_error
        .iter()
        .partition(|handler| handler.code.is_some());
    let codes = one.iter().filter_map(|handler| {
        let code = handler.code?;
        Some(guarded(Guard::Code(code), &handler.target.text))
    });
    let others = rest
        .iter()
        .map(|handler| guarded(Guard::Uncancelled, &handler.target.text));
    let error: Vec<Transition> = codes.chain(others).collect();
    Exits {
        done: Rule {
            branched: state.goto.is_some(),
            ..rule(done)
        },
        error: (!error.is_empty()).then(|| rule(error)),
    }
}
