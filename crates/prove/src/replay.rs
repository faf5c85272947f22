//! A way through the graph as lines of `simulate`, played there before it is believed.

use interlock_core::{
    event::Event,
    guard::GuardRef,
    machine::Object,
    names::FramePath,
    run::{Phase, Run},
};
use interlock_formats::Lines;
use interlock_simulate::{InputLine, Scenario, Simulation, call, takes_passkey};
use serde_json::{Value, json};

use crate::{
    facts::{Facts, Step, bits, leaves},
    graph::Graph,
    hash::at,
    key::seen_word,
    model::Model,
    moves::Act,
    reach::Way,
    substance,
};

/// Lines that a trace may have: what is longer is not replayed.
const LINES_MAX: u64 = 20_000;

/// One step of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceStep {
    /// Its lines for `simulate`, in order; a call that is repeated has them once.
    pub lines: Vec<Value>,
    /// How often they are fed in.
    pub times: u64,
    /// Whether each time names another file.
    pub files: bool,
    /// What is otherwise after it, one sentence each.
    pub changed: Vec<String>,
}

/// Writes out every line of a trace, as `simulate` takes them.
#[must_use]
pub fn written_steps(trace: &[TraceStep]) -> Vec<Value> {
    trace
        .iter()
        .flat_map(|step| (0..step.times).flat_map(move |time| step.at(time)))
        .collect()
}

impl TraceStep {
    /// Returns the lines of one of the times.
    fn at(&self, time: u64) -> Vec<Value> {
        let mut lines = self.lines.clone();
        if self.files
            && let Some(path) = lines
                .first_mut()
                .and_then(|line| line.pointer_mut("/input/file_path"))
        {
            *path = json!(format!("zz-more/{time}"));
        }
        lines
    }
}

/// What a replay shows: for each step what its watcher is told.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) moments: Vec<(Vec<bool>, Facts, Run)>,
    pub(crate) trace: Vec<TraceStep>,
    pub(crate) input: Object,
    pub(crate) run: Run,
    pub(crate) events: Vec<Event>,
}

/// Plays a way in `simulate`.
///
/// # Errors
/// Says where `simulate` answers otherwise than the graph.
pub(crate) fn play(
    model: &Model,
    graph: &Graph,
    way: &Way,
    lines: Option<&Lines>,
) -> Result<Played, String> {
    let input = match graph.labels.get(way.start).map(|label| &label.act) {
        Some(Act::Start(index)) => model.cells.data.get(*index).cloned().unwrap_or_default(),
        _ => Object::new(),
    };
    let mut player = Player::begin(model, input, lines);
    for number in &way.edges {
        player = player.along(graph, *number)?;
    }
    Ok(player.end())
}

/// Returns the same call with each command that counts like its own.
fn alike(model: &Model, run: &Run, act: &Act) -> Vec<Act> {
    let Act::Call { class, end, .. } = act else {
        return Vec::new();
    };
    let frame = run.frame(&acting(run, act));
    let standing = frame.map(|frame| (frame.machine.clone(), frame.at.clone()));
    let usable = standing.and_then(|standing| model.usable.get(&standing));
    let Some(usable) = usable else {
        return Vec::new();
    };
    let Some(own) = usable.iter().find(|one| one.class == *class) else {
        return Vec::new();
    };
    let of_group = |keys: &[String]| {
        let [key] = keys else { return None };
        model.alike.iter().position(|group| group.contains(key))
    };
    let group = of_group(&own.keys);
    let others = usable.iter().filter(|one| {
        group.is_some()
            && one.class != own.class
            && of_group(&one.keys) == group
            && one.signature == own.signature
            && one.ends.contains(end)
    });
    others
        .map(|other| {
            let mut act = act.clone();
            if let Act::Call { class, .. } = &mut act {
                *class = other.class;
            }
            act
        })
        .collect()
}

/// A run in `simulate`, step by step.
#[derive(Debug, Clone)]
pub(crate) struct Player<'a> {
    model: &'a Model,
    lines: Option<&'a Lines>,
    pub(crate) simulation: Simulation,
    moments: Vec<(Vec<bool>, Facts, Run)>,
    trace: Vec<TraceStep>,
    input: Object,
    total: u64,
}

impl<'a> Player<'a> {
    pub(crate) fn begin(model: &'a Model, input: Object, lines: Option<&'a Lines>) -> Self {
        let machine = model.machine.clone();
        let simulation = Simulation::begun_with(machine, Scenario::default(), input.clone());
        let begun = simulation.run().clone();
        let facts = Facts::of(model, None, simulation.events(), &begun);
        let first = bits(
            model,
            Step {
                before: None,
                path: &FramePath::root(),
                facts: &facts,
                call: None,
                after: &begun,
            },
        );
        Self {
            model,
            lines,
            simulation,
            moments: vec![(first, facts, begun)],
            trace: Vec::new(),
            input,
            total: 0,
        }
    }

    pub(crate) fn end(self) -> Played {
        Played {
            moments: self.moments,
            trace: self.trace,
            input: self.input,
            run: self.simulation.run().clone(),
            events: self.simulation.events().to_vec(),
        }
    }

    /// Plays a step of the graph.
    ///
    /// # Errors
    /// Says what `simulate` refuses.
    pub(crate) fn along(mut self, graph: &Graph, edge: usize) -> Result<Self, String> {
        let edge = graph.edge(edge);
        let found = edge.and_then(|edge| Some((edge, graph.label(edge.label)?)));
        let Some((edge, label)) = found else {
            return Err("the graph has lost a step".to_owned());
        };
        let model = self.model;
        if model.alike.is_empty() {
            self.step(&label.act)?;
            return Ok(self);
        }
        // Commands that count alike stand for one another: the one is taken that leads where the step does.
        let mut all = vec![label.act.clone()];
        all.extend(alike(model, self.simulation.run(), &label.act));
        let tried = all.iter().find_map(|act| {
            let mut next = self.clone();
            let played = next.step(act);
            let run = next.simulation.run();
            (played.is_ok() && graph.find(model, run) == Some(at(edge.to))).then_some(next)
        });
        match tried {
            Some(next) => Ok(next),
            None => {
                self.step(&label.act)?;
                Ok(self)
            }
        }
    }

    /// Plays what is done.
    ///
    /// # Errors
    /// Says what `simulate` refuses.
    pub(crate) fn step(&mut self, act: &Act) -> Result<(), String> {
        let model = self.model;
        let mut step = TraceStep {
            lines: written(model, act),
            times: 1,
            files: false,
            changed: Vec::new(),
        };
        if let Act::Call { times, files, .. } = act {
            (step.times, step.files) = (*times, *files);
        }
        self.total = self.total.saturating_add(step.times);
        if self.total > LINES_MAX {
            return Err(format!("it is longer than {LINES_MAX} lines"));
        }
        let before = self.simulation.run().clone();
        for time in 0..step.times {
            let earlier = self.simulation.run().clone();
            let from = self.simulation.events().len();
            for (nth, line) in step.at(time).into_iter().enumerate() {
                let line = with_passkey(model, self.simulation.run(), line);
                let kept = step.lines.get_mut(nth);
                if let Some(kept) = kept.filter(|kept| kept.get("approve").is_some()) {
                    kept.clone_from(&line);
                }
                let known = self.simulation.events().len();
                let answer = self
                    .simulation
                    .step(&line.to_string())
                    .map_err(|bad| bad.message)?;
                let since = self.simulation.events().get(known..).unwrap_or_default();
                let asks = since
                    .iter()
                    .any(|event| matches!(event, Event::RequestOpened { .. }));
                if !answer.ok && !asks {
                    return Err(format!("`simulate` refuses {line}: {}", answer.message));
                }
            }
            let after = self.simulation.run().clone();
            let events = self.simulation.events().get(from..).unwrap_or_default();
            let mut facts = Facts::of(model, Some(&earlier), events, &after);
            facts.by_person |= act.is_by_person();
            let path = acting(&earlier, act);
            let line = step.at(time);
            let proposed = match line.first().map(|line| InputLine::from_value(line.clone())) {
                Some(Ok(InputLine::Tool(tool))) => {
                    Some(call(&Scenario::default(), &tool, "prove".to_owned()))
                }
                _ => None,
            };
            let seen = bits(
                model,
                Step {
                    before: Some(&earlier),
                    path: &path,
                    facts: &facts,
                    call: proposed.as_ref(),
                    after: &after,
                },
            );
            self.moments.push((seen, facts, after));
        }
        let facts = self.moments.last().map(|(_, facts, _)| facts.clone());
        let after = self.simulation.run();
        step.changed = changed(
            model,
            &before,
            after,
            &facts.unwrap_or_default(),
            self.lines,
        );
        self.trace.push(step);
        Ok(())
    }
}

/// Returns whether a run is in the state of the graph that a way leads to.
pub(crate) fn arrived(model: &Model, graph: &Graph, way: &Way, run: &Run) -> bool {
    graph.find(model, run) == Some(way.node)
}

/// Has a yes come with the passkey that its request takes.
fn with_passkey(model: &Model, run: &Run, mut line: Value) -> Value {
    let Some(yes) = line.get_mut("approve").and_then(Value::as_object_mut) else {
        return line;
    };
    let path = yes.get("path").and_then(Value::as_str);
    if takes_passkey(&model.machine, run, path) {
        yes.insert("passkey".to_owned(), json!(true));
    }
    line
}

/// Finds the frame that acts.
fn acting(run: &Run, act: &Act) -> FramePath {
    let named = match act {
        Act::Call { branch, .. } | Act::Event { branch, .. } => branch,
        Act::Approve { path, .. } | Act::Reject { path } => path,
        Act::Start(_) => &None,
    };
    let Some(named) = named else {
        return FramePath::root();
    };
    let found = leaves(run)
        .into_iter()
        .find(|path| path.to_string() == *named);
    found.unwrap_or_else(FramePath::root)
}

/// Writes what is done as lines of `simulate`.
pub(crate) fn written(model: &Model, act: &Act) -> Vec<Value> {
    let data =
        |index: usize| Value::Object(model.cells.data.get(index).cloned().unwrap_or_default());
    let with = |line: &mut Value, key: &str, value: Option<Value>| {
        if let (Some(object), Some(value)) = (line.as_object_mut(), value) {
            object.insert(key.to_owned(), value);
        }
    };
    let some_data = |index: usize| {
        Some(data(index)).filter(|data| data.as_object().is_some_and(|data| !data.is_empty()))
    };
    match act {
        Act::Start(_) => Vec::new(),
        Act::Call {
            class,
            end,
            branch,
            asked,
            ..
        } => {
            let Some(class) = model.classes.get(*class) else {
                return Vec::new();
            };
            let mut line = class.line.clone();
            with(&mut line, "branch", branch.clone().map(Value::String));
            let mut result = json!({});
            if end.exit.is_none() || !end.ok {
                with(&mut result, "ok", Some(json!(end.ok)));
            }
            with(
                &mut result,
                "exit",
                end.exit
                    .filter(|_| class.proves.is_some())
                    .map(|code| json!(code)),
            );
            with(
                &mut result,
                "bytes",
                Some(end.bytes)
                    .filter(|bytes| *bytes > 0)
                    .map(|bytes| json!(bytes)),
            );
            with(
                &mut result,
                "wrote",
                (!end.wrote.is_empty()).then(|| json!(end.wrote)),
            );
            let reports = class
                .proves
                .as_ref()
                .and_then(|_| substance::reports(&model.machine));
            with(&mut result, "reports", reports);
            let result = json!({ "result": result });
            if *asked {
                let yes = json!({"approve": {"by": "a person"}});
                vec![line.clone(), yes, line, result]
            } else {
                vec![line, result]
            }
        }
        Act::Event {
            event,
            data,
            branch,
        } => {
            let mut line = json!({ "transition": event });
            with(&mut line, "data", some_data(*data));
            with(&mut line, "branch", branch.clone().map(Value::String));
            vec![line]
        }
        Act::Approve { data, path } => {
            let mut answer = json!({"by": "a person"});
            with(&mut answer, "data", some_data(*data));
            with(&mut answer, "path", path.clone().map(Value::String));
            vec![json!({ "approve": answer })]
        }
        Act::Reject { path } => {
            let mut answer = json!({"by": "a person"});
            with(&mut answer, "path", path.clone().map(Value::String));
            vec![json!({ "reject": answer })]
        }
    }
}

/// Says what is otherwise after a step.
fn changed(
    model: &Model,
    before: &Run,
    after: &Run,
    facts: &Facts,
    lines: Option<&Lines>,
) -> Vec<String> {
    let mut said = Vec::new();
    let place =
        |line: Option<usize>| line.map_or_else(String::new, |line| format!(" (line {line})"));
    for ((machine, state), event, index) in &facts.taken {
        let guards = model.state(machine.as_ref(), state).and_then(|state| {
            let transition = state.on.get(event.as_str())?.transitions.get(*index)?;
            Some(transition.guards.iter().map(guard_text).collect::<Vec<_>>())
        });
        let guards = guards.filter(|guards| !guards.is_empty());
        let guards = guards.map_or_else(
            || "without a guard".to_owned(),
            |guards| format!("with {}", guards.join(", ")),
        );
        let own = machine.is_none();
        let line = lines
            .filter(|_| own)
            .and_then(|lines| lines.event(state.as_str(), event));
        said.push(format!("`{event}` from `{state}`, {guards}{}", place(line)));
    }
    for raised in &facts.raised {
        said.push(format!(
            "interrupt `{raised}`{}",
            place(lines.and_then(|lines| lines.interrupt(raised)))
        ));
    }
    let stands = |run: &Run| -> Vec<String> {
        leaves(run)
            .iter()
            .filter_map(|path| Some(format!("{}{}", prefix(path), run.frame(path)?.at)))
            .collect()
    };
    let (was, now) = (stands(before), stands(after));
    if was != now {
        said.push(format!("state: {} → {}", was.join(", "), now.join(", ")));
    }
    for path in leaves(after) {
        let waits = |run: &Run| {
            run.frame(&path).and_then(|frame| {
                frame
                    .stay
                    .pending_transition()
                    .map(|one| one.event.to_string())
            })
        };
        match (waits(before), waits(after)) {
            (None, Some(event)) => said.push(format!("a person is asked about `{event}`")),
            (Some(event), None) if was == now => said.push(format!("`{event}` waits no more")),
            _ => {}
        }
        if let (Some(old), Some(new)) = (before.frame(&path), after.frame(&path)) {
            for cell in &model.cells.cells {
                let (old, new) = (
                    old.line.context.get(&cell.key),
                    new.line.context.get(&cell.key),
                );
                if old != new {
                    let shown = |value: Option<&Value>| {
                        value.map_or_else(|| "missing".to_owned(), Value::to_string)
                    };
                    said.push(format!(
                        "context `{}`: {} → {}",
                        cell.key,
                        shown(old),
                        shown(new)
                    ));
                }
            }
        }
    }
    for key in model.evidence.keys() {
        let (old, new) = (seen_word(model, before, key), seen_word(model, after, key));
        if old != new {
            let name = key
                .trim_start_matches("command:")
                .trim_start_matches("tool:");
            let said_now = if new.is_empty() {
                "counts no more"
            } else {
                "counts"
            };
            said.push(format!("evidence `{name}` {said_now}"));
        }
    }
    if before.phase != after.phase
        && let Phase::Ended { outcome, .. } = &after.phase
    {
        said.push(format!("the run ends: {outcome:?}").to_lowercase());
    }
    said
}

fn prefix(path: &FramePath) -> String {
    if path.is_root() {
        String::new()
    } else {
        format!("{path}/")
    }
}

fn guard_text(guard: &GuardRef) -> String {
    match guard {
        GuardRef::Named(name) => format!("guard `{name}`"),
        GuardRef::Inline(guard) => {
            format!("guard {}", serde_json::to_string(guard).unwrap_or_default())
        }
    }
}
