//! Makes the nodes and edges of one line of execution.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    machine::{Activity, Machine, Outcome, State, Target, Transition},
    names::{EventName, MachineId, StateName},
};

use super::{Edge, EdgeStyle, Kind, Label, Node, Plot};
use crate::{
    describe,
    lanes::{self, Lane},
    marks::{Marks, Step},
};

/// The key by which a node of a plot is found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum NodeKey<'m> {
    Start,
    State(&'m StateName),
    End(bool),
    Anywhere,
}

/// A plot in the making.
pub(super) struct Drawing<'m> {
    machine: &'m Machine,
    key: Option<&'m MachineId>,
    marks: &'m Marks<'m>,
    lane: &'m Lane,
    pub(super) plot: Plot,
    places: BTreeMap<NodeKey<'m>, usize>,
    edges: BTreeMap<(usize, usize, EdgeStyle), usize>,
    /// The moves of the run that are counted at an edge already.
    counted: BTreeSet<Step>,
}

impl<'m> Drawing<'m> {
    pub(super) const fn new(
        machine: &'m Machine,
        key: Option<&'m MachineId>,
        marks: &'m Marks<'m>,
        lane: &'m Lane,
    ) -> Self {
        Self {
            machine,
            key,
            marks,
            lane,
            plot: Plot {
                nodes: Vec::new(),
                edges: Vec::new(),
            },
            places: BTreeMap::new(),
            edges: BTreeMap::new(),
            counted: BTreeSet::new(),
        }
    }

    /// Returns the node of the state with this index.
    pub(super) fn node_of(&mut self, state: usize) -> Option<&mut Node> {
        let (name, _) = self.machine.states.get_index(state)?;
        let node = *self.places.get(&NodeKey::State(name))?;
        self.plot.nodes.get_mut(node)
    }

    /// Draws the states of the lane; the outermost also has the interrupts.
    pub(super) fn draw(&mut self, outermost: bool) {
        let start = self.place(NodeKey::Start);
        if outermost && !self.machine.interrupts.is_empty() {
            // Before the handlers, so that it is drawn above them.
            self.place(NodeKey::Anywhere);
        }
        let own: Vec<(&StateName, &State)> = self
            .lane
            .states
            .iter()
            .filter_map(|&index| self.machine.states.get_index(index))
            .collect();
        for (name, state) in &own {
            let node = self.state(name, state);
            self.add(NodeKey::State(name), node);
        }
        let initial = self.place(NodeKey::State(&self.lane.initial));
        let begun = self.taken(Step::Start(self.lane.initial.clone()));
        self.edge(start, initial, EdgeStyle::Plain, None, begun);
        if outermost {
            self.interrupts();
        }
        for (name, state) in own {
            self.transitions(name, state);
        }
    }

    /// Returns how often the run took `step`, but only once: it is counted at one edge only.
    fn taken(&mut self, step: Step) -> u32 {
        let taken = self.marks.taken(self.key, &step);
        if self.counted.insert(step) { taken } else { 0 }
    }

    fn add(&mut self, place: NodeKey<'m>, node: Node) -> usize {
        let index = self.plot.nodes.len();
        self.plot.nodes.push(node);
        self.places.insert(place, index);
        index
    }

    /// Returns the node at `place`, which is made first if necessary.
    fn place(&mut self, place: NodeKey<'m>) -> usize {
        if let Some(&index) = self.places.get(&place) {
            return index;
        }
        let node = match &place {
            NodeKey::Start => Node::bare(Kind::Start, String::new()),
            NodeKey::State(name) => {
                let state = self.machine.states.get(*name);
                let outcome = state.and_then(|state| match state.activity {
                    Activity::Final { outcome } => Some(outcome),
                    _ => None,
                });
                Node::bare(Kind::Reference(outcome), describe::one_line(name.as_str()))
            }
            NodeKey::End(true) => Node::bare(Kind::Final(Outcome::Success), "end".to_owned()),
            NodeKey::End(false) => Node::bare(Kind::Final(Outcome::Failure), "fail".to_owned()),
            NodeKey::Anywhere => Node::bare(Kind::Anywhere, "any state".to_owned()),
        };
        self.add(place, node)
    }

    fn state(&self, name: &StateName, state: &State) -> Node {
        let kind = match &state.activity {
            Activity::Final { outcome } => Kind::Final(*outcome),
            Activity::Choice => Kind::Choice,
            _ if self.lane.boxes_forks() && !lanes::branches(state).is_empty() => Kind::Fork,
            _ if self.lane.terminal.as_ref() == Some(name) => Kind::Terminal,
            _ => Kind::State,
        };
        let activity = describe::activity(self.machine, state);
        // A state made for a fork or a call has no name of its own.
        let generated = state.shown_as.is_some();
        let (title, activity) = match activity {
            Some(activity) if generated => (activity, None),
            activity => (describe::one_line(name.as_str()), activity),
        };
        let calls = match &state.activity {
            Activity::Call(call) => Some(call.machine.clone()),
            _ => None,
        };
        Node {
            activity,
            state: Some(name.clone()),
            calls,
            tools: describe::tools(state),
            limits: describe::limits(state),
            instructions: state.instructions.as_deref().map(describe::one_line),
            standing: self.marks.standing(self.key, name),
            ..Node::bare(kind, title)
        }
    }

    fn interrupts(&mut self) {
        let machine = self.machine;
        for (name, interrupt) in &machine.interrupts {
            let from = self.place(NodeKey::Anywhere);
            let to = self.place(NodeKey::State(&interrupt.target));
            let label = Label {
                event: describe::one_line(name.as_str()),
                conditions: vec![describe::one_line(&format!(
                    "writes {}",
                    interrupt.file_pattern
                ))],
                ..Label::default()
            };
            let taken = self.taken(Step::Interrupted(name.clone()));
            self.edge(from, to, EdgeStyle::Interrupt, Some(label), taken);
        }
    }

    fn transitions(&mut self, name: &'m StateName, state: &'m State) {
        let from = self.place(NodeKey::State(name));
        for (word, opened) in lanes::openings(state) {
            let to = self.place(NodeKey::State(opened));
            let label = word.map(|word| Label {
                event: word.to_owned(),
                ..Label::default()
            });
            let taken = self.taken(Step::Start(opened.clone()));
            self.edge(from, to, EdgeStyle::Plain, label, taken);
        }
        // Lines that may meet lead on by themselves.
        let own = state.on.iter().filter(|_| !lanes::opens_lines(state));
        for (event, rule) in own {
            for (index, transition) in rule.transitions.iter().enumerate() {
                let label = self.label(event, transition, rule.branched, index);
                self.transition(from, (name, event), transition, label);
            }
        }
        if let Some(next) = &state.safe_next {
            let to = self.place(NodeKey::State(next));
            let label = Label {
                event: "any other event".to_owned(),
                ..Label::default()
            };
            let taken = self.taken(Step::SafeNext(name.clone()));
            self.edge(from, to, EdgeStyle::Fallback, Some(label), taken);
        }
        if !self.lane.boxes_forks() {
            for (branch, bounds) in lanes::branches(state) {
                let to = self.place(NodeKey::State(&bounds.initial));
                let label = Label {
                    event: describe::one_line(branch),
                    conditions: vec!["branch".to_owned()],
                    ..Label::default()
                };
                let taken = self.taken(Step::Start(bounds.initial.clone()));
                self.edge(from, to, EdgeStyle::Plain, Some(label), taken);
            }
        }
    }

    fn transition(
        &mut self,
        from: usize,
        (name, event): (&StateName, &EventName),
        transition: &'m Transition,
        label: Label,
    ) {
        let (to, step) = match &transition.target {
            Target::State(to) => (
                self.place(NodeKey::State(to)),
                Step::Written(name.clone(), event.clone(), to.clone()),
            ),
            Target::Return => (
                self.place(NodeKey::Anywhere),
                Step::Returned(name.clone(), event.clone()),
            ),
            Target::End(outcome) => (
                self.place(NodeKey::End(*outcome == Outcome::Success)),
                Step::Written(name.clone(), event.clone(), StateName::new("")),
            ),
        };
        let line = match (&transition.approval, &transition.target) {
            (Some(_), _) => EdgeStyle::Approval,
            (None, Target::Return) => EdgeStyle::Interrupt,
            (None, _) => EdgeStyle::Plain,
        };
        let taken = self.taken(step);
        self.edge(from, to, line, Some(label), taken);
    }

    fn label(
        &self,
        event: &EventName,
        transition: &Transition,
        branched: bool,
        index: usize,
    ) -> Label {
        Label {
            event: describe::one_line(event.as_str()),
            conditions: describe::conditions(transition, branched.then_some(index + 1)),
            approval: describe::approval(transition),
            definitions: describe::definitions(self.machine, transition),
        }
    }

    /// Adds a line between two nodes, or a label to the existing one.
    fn edge(&mut self, from: usize, to: usize, line: EdgeStyle, label: Option<Label>, taken: u32) {
        let next = self.plot.edges.len();
        let index = *self.edges.entry((from, to, line)).or_insert(next);
        if index == next {
            self.plot.edges.push(Edge {
                id: None,
                also: Vec::new(),
                from,
                to,
                line,
                labels: Vec::new(),
                taken: 0,
            });
        }
        if let Some(edge) = self.plot.edges.get_mut(index) {
            edge.labels.extend(label);
            edge.taken = edge.taken.saturating_add(taken);
        }
    }
}
