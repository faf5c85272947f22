//! One line of execution as nodes and edges; branches of its forks lie inside its nodes.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    machine::{Activity, Machine, Outcome, State, Target, Transition},
    names::{EventName, MachineId, StateName},
};

use crate::{
    describe,
    lanes::{self, Lane, lanes},
    marks::{Marks, Standing, Step},
};

/// Nodes and edges of one line of execution.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Plot {
    pub(crate) nodes: Vec<Node>,
    /// Between nodes of the same plot, as indices.
    pub(crate) edges: Vec<Edge>,
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The name of the state, or words.
    pub(crate) title: String,
    /// What happens there.
    pub(crate) activity: Option<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) limits: Vec<String>,
    /// What the agent is told there.
    pub(crate) instructions: Option<String>,
    pub(crate) standing: Standing,
    /// The branches of a fork.
    pub(crate) branches: Vec<Branch>,
}

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Where the line of execution begins.
    Start,
    /// A state.
    State,
    /// A state whose entry is the success of its branch.
    Terminal,
    /// A state that only chooses.
    Choice,
    /// A state whose branches lie inside.
    Fork,
    /// The end of the machine.
    Final(Outcome),
    /// Whatever state an interrupt leaves and returns to.
    Anywhere,
    /// A state drawn elsewhere, and how it ends what reaches it.
    Reference(Option<Outcome>),
}

/// One branch of a fork.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Branch {
    pub(crate) name: String,
    pub(crate) plot: Plot,
}

/// One edge, for every transition between the same two nodes in the same line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) line: Line,
    pub(crate) labels: Vec<Label>,
    /// How often the run took it.
    pub(crate) taken: u32,
}

/// How an edge is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    /// An ordinary transition.
    Plain,
    /// A person must say yes.
    Approval,
    /// An interrupt, or the way back from it.
    Interrupt,
    /// Taken on any event that is not written.
    Fallback,
}

/// What stands beside an edge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) event: String,
    pub(crate) conditions: Vec<String>,
    /// What a person is asked.
    pub(crate) approval: Option<String>,
    /// The guards it names, written out.
    pub(crate) definitions: Vec<String>,
}

/// Makes the plot of `machine`, known to the run by `key`.
pub(crate) fn plot(machine: &Machine, key: Option<&MachineId>, marks: &Marks) -> Plot {
    let lanes = lanes(machine);
    let mut opened: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, lane) in lanes.iter().enumerate() {
        if let Some(fork) = lane.fork {
            opened.entry(fork).or_default().push(index);
        }
    }
    let mut plots: BTreeMap<usize, Plot> = BTreeMap::new();
    // Branches follow their forks, so from the end every branch comes before its fork.
    for (index, lane) in lanes.iter().enumerate().rev() {
        let mut drawing = Drawing::new(machine, key, marks, lane);
        drawing.draw(index == 0);
        for &state in &lane.states {
            let branches = opened.get(&state).map(Vec::as_slice).unwrap_or_default();
            let Some(node) = drawing.node_of(state) else {
                continue;
            };
            node.branches.extend(branches.iter().map(|branch| {
                Branch {
                    name: lanes
                        .get(*branch)
                        .map(|branch| describe::one_line(&branch.name))
                        .unwrap_or_default(),
                    plot: plots.remove(branch).unwrap_or_default(),
                }
            }));
        }
        plots.insert(index, drawing.plot);
    }
    plots.remove(&0).unwrap_or_default()
}

/// What a node of a plot is found by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'m> {
    Start,
    State(&'m StateName),
    End(bool),
    Anywhere,
}

/// A plot as it is made.
struct Drawing<'m> {
    machine: &'m Machine,
    key: Option<&'m MachineId>,
    marks: &'m Marks,
    lane: &'m Lane,
    plot: Plot,
    places: BTreeMap<Place<'m>, usize>,
    edges: BTreeMap<(usize, usize, Line), usize>,
    /// Moves of the run that stand at an edge already.
    counted: BTreeSet<Step>,
}

impl<'m> Drawing<'m> {
    const fn new(
        machine: &'m Machine,
        key: Option<&'m MachineId>,
        marks: &'m Marks,
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
    fn node_of(&mut self, state: usize) -> Option<&mut Node> {
        let (name, _) = self.machine.states.get_index(state)?;
        let node = *self.places.get(&Place::State(name))?;
        self.plot.nodes.get_mut(node)
    }

    fn draw(&mut self, outermost: bool) {
        let start = self.place(Place::Start);
        if outermost && !self.machine.interrupts.is_empty() {
            // Before the handlers, so that it is drawn above them.
            self.place(Place::Anywhere);
        }
        let own: Vec<(&StateName, &State)> = self
            .lane
            .states
            .iter()
            .filter_map(|&index| self.machine.states.get_index(index))
            .collect();
        for (name, state) in &own {
            let node = self.state(name, state);
            self.add(Place::State(name), node);
        }
        let initial = self.place(Place::State(&self.lane.initial));
        let begun = self.taken(Step::Start(self.lane.initial.clone()));
        self.edge(start, initial, Line::Plain, None, begun);
        if outermost {
            self.interrupts();
        }
        for (name, state) in own {
            self.transitions(name, state);
        }
    }

    /// Returns how often the run took `step`, once; it stands at one edge only.
    fn taken(&mut self, step: Step) -> u32 {
        let taken = self.marks.taken(self.key, &step);
        if self.counted.insert(step) { taken } else { 0 }
    }

    fn add(&mut self, place: Place<'m>, node: Node) -> usize {
        let index = self.plot.nodes.len();
        self.plot.nodes.push(node);
        self.places.insert(place, index);
        index
    }

    /// Returns the node at `place`, made first if need be.
    fn place(&mut self, place: Place<'m>) -> usize {
        if let Some(&index) = self.places.get(&place) {
            return index;
        }
        let node = match &place {
            Place::Start => Node::bare(Kind::Start, String::new()),
            Place::State(name) => {
                let state = self.machine.states.get(*name);
                let outcome = state.and_then(|state| match state.activity {
                    Activity::Final { outcome } => Some(outcome),
                    _ => None,
                });
                Node::bare(Kind::Reference(outcome), describe::one_line(name.as_str()))
            }
            Place::End(true) => Node::bare(Kind::Final(Outcome::Success), "end".to_owned()),
            Place::End(false) => Node::bare(Kind::Final(Outcome::Failure), "fail".to_owned()),
            Place::Anywhere => Node::bare(Kind::Anywhere, "any state".to_owned()),
        };
        self.add(place, node)
    }

    fn state(&self, name: &StateName, state: &State) -> Node {
        let kind = match &state.activity {
            Activity::Final { outcome } => Kind::Final(*outcome),
            _ if self.lane.terminal.as_ref() == Some(name) => Kind::Terminal,
            Activity::Choice => Kind::Choice,
            _ if self.lane.boxes_forks() && !lanes::branches(state).is_empty() => Kind::Fork,
            _ => Kind::State,
        };
        let activity = describe::activity(self.machine, state);
        // A state made for a fork or a call has no name of its own.
        let generated = state.shown_as.is_some();
        let (title, activity) = match activity {
            Some(activity) if generated => (activity, None),
            activity => (describe::one_line(name.as_str()), activity),
        };
        Node {
            activity,
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
            let from = self.place(Place::Anywhere);
            let to = self.place(Place::State(&interrupt.target));
            let label = Label {
                event: describe::one_line(name.as_str()),
                conditions: vec![describe::one_line(&format!(
                    "writes {}",
                    interrupt.file_pattern
                ))],
                ..Label::default()
            };
            let taken = self.taken(Step::Interrupted(name.clone()));
            self.edge(from, to, Line::Interrupt, Some(label), taken);
        }
    }

    fn transitions(&mut self, name: &'m StateName, state: &'m State) {
        let from = self.place(Place::State(name));
        for (event, rule) in &state.on {
            for (index, transition) in rule.transitions.iter().enumerate() {
                let label = self.label(event, transition, rule.branched, index);
                self.transition(from, (name, event), transition, label);
            }
        }
        if let Some(next) = &state.safe_next {
            let to = self.place(Place::State(next));
            let label = Label {
                event: "any other event".to_owned(),
                ..Label::default()
            };
            let taken = self.taken(Step::SafeNext(name.clone()));
            self.edge(from, to, Line::Fallback, Some(label), taken);
        }
        if !self.lane.boxes_forks() {
            for (branch, bounds) in lanes::branches(state) {
                let to = self.place(Place::State(&bounds.initial));
                let label = Label {
                    event: describe::one_line(branch),
                    conditions: vec!["branch".to_owned()],
                    ..Label::default()
                };
                let taken = self.taken(Step::Start(bounds.initial.clone()));
                self.edge(from, to, Line::Plain, Some(label), taken);
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
                self.place(Place::State(to)),
                Step::Written(name.clone(), event.clone(), to.clone()),
            ),
            Target::Return => (
                self.place(Place::Anywhere),
                Step::Returned(name.clone(), event.clone()),
            ),
            Target::End(outcome) => (
                self.place(Place::End(*outcome == Outcome::Success)),
                Step::Written(name.clone(), event.clone(), StateName::new("")),
            ),
        };
        let line = match (&transition.approval, &transition.target) {
            (Some(_), _) => Line::Approval,
            (None, Target::Return) => Line::Interrupt,
            (None, _) => Line::Plain,
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

    /// Adds a line between two nodes, or a label to the one that is there.
    fn edge(&mut self, from: usize, to: usize, line: Line, label: Option<Label>, taken: u32) {
        let next = self.plot.edges.len();
        let index = *self.edges.entry((from, to, line)).or_insert(next);
        if index == next {
            self.plot.edges.push(Edge {
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

impl Kind {
    /// Returns how it ends the line of execution that reaches it.
    pub(crate) const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Terminal => Some(Outcome::Success),
            Self::Final(outcome) => Some(outcome),
            Self::Reference(outcome) => outcome,
            _ => None,
        }
    }
}

impl Node {
    /// Returns its title with a mark for how it ends.
    pub(crate) fn marked_title(&self) -> String {
        match self.kind.outcome() {
            Some(Outcome::Success) => format!("✓ {}", self.title),
            Some(Outcome::Failure) => format!("✗ {}", self.title),
            None => self.title.clone(),
        }
    }

    /// Makes a node of which nothing but its title is known.
    pub(crate) fn bare(kind: Kind, title: String) -> Self {
        Self {
            kind,
            title,
            activity: None,
            tools: Vec::new(),
            limits: Vec::new(),
            instructions: None,
            standing: Standing::default(),
            branches: Vec::new(),
        }
    }
}

impl Label {
    /// Returns its lines, the event first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.event.clone()];
        lines.extend(self.conditions.iter().cloned());
        lines.extend(self.approval.iter().cloned());
        lines
    }
}
