//! One line of execution as nodes and edges; branches of its forks lie inside its nodes.

mod drawing;

use std::{collections::BTreeMap, fmt};

use interlock_core::{
    machine::{Machine, Outcome},
    names::{MachineId, StateName},
};

use crate::{
    describe,
    lanes::lanes,
    marks::{Marks, Standing},
};
use drawing::Drawing;

/// Nodes and edges of one line of execution.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Plot {
    pub(crate) nodes: Vec<Node>,
    /// The edges between nodes of the same plot, by index.
    pub(crate) edges: Vec<Edge>,
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Tells it apart from all nodes and edges of the graph; `None` if it stands for another node.
    pub(crate) id: Option<Id>,
    /// The nodes that it also stands for, where a group is folded.
    pub(crate) also: Vec<Id>,
    /// The state that it shows; `None` if it does not show one.
    pub(crate) state: Option<StateName>,
    /// The machine that it calls.
    pub(crate) calls: Option<MachineId>,
    /// The name by which a [`View`](crate::View) refers to it.
    pub(crate) key: Option<String>,
    /// How it can be shown differently.
    pub(crate) fold: Option<Fold>,
    pub(crate) kind: Kind,
    /// The name of the state, or words.
    pub(crate) title: String,
    /// What happens there.
    pub(crate) activity: Option<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) limits: Vec<String>,
    /// The instructions that the agent gets there.
    pub(crate) instructions: Option<String>,
    pub(crate) standing: Standing,
    /// The branches of a fork.
    pub(crate) branches: Vec<Branch>,
}

/// Tells a node or an edge apart: its number, after those of the calls it is opened in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id(Vec<usize>);

impl Id {
    pub(crate) fn of(number: usize) -> Self {
        Self(vec![number])
    }

    /// Returns the id of the same node or edge where its machine is drawn inside a call.
    pub(crate) fn within(&self, call: &Self) -> Self {
        Self(call.0.iter().chain(&self.0).copied().collect())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(">")?;
            }
            write!(f, "{number}")?;
        }
        Ok(())
    }
}

/// How a node can be shown differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) what: Folds,
    /// Whether what lies inside is drawn.
    pub(crate) open: bool,
}

/// What is drawn inside a node, or hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folds {
    /// The machine that is called.
    Call,
    /// The branches of a fork.
    Fork,
    /// States that a person has grouped.
    Group,
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
    /// A state that is drawn elsewhere, and how it ends what reaches it.
    Reference(Option<Outcome>),
}

/// One branch of a fork.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Branch {
    pub(crate) name: String,
    pub(crate) plot: Plot,
}

/// One edge for all transitions between the same two nodes in the same line style.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edge {
    /// Tells it apart from all nodes and edges of the graph.
    pub(crate) id: Option<Id>,
    /// The edges that it also stands for, where a group is folded.
    pub(crate) also: Vec<Id>,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) line: EdgeStyle,
    pub(crate) labels: Vec<Label>,
    /// How often the run took it.
    pub(crate) taken: u32,
}

/// How an edge is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EdgeStyle {
    /// An ordinary transition.
    Plain,
    /// One that a person has to approve.
    Approval,
    /// An interrupt, or the way back from it.
    Interrupt,
    /// One that is taken on any event without a transition.
    Fallback,
}

/// The text next to an edge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) event: String,
    pub(crate) conditions: Vec<String>,
    /// What a person is asked.
    pub(crate) approval: Option<String>,
    /// The guards it names, written out.
    pub(crate) definitions: Vec<String>,
}

/// Makes the plot of `machine`, which the run knows by `key`.
pub(crate) fn plot(machine: &Machine, key: Option<&MachineId>, marks: &Marks<'_>) -> Plot {
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

    /// Makes a node of which only the title is known.
    pub(crate) fn bare(kind: Kind, title: String) -> Self {
        Self {
            id: None,
            also: Vec::new(),
            state: None,
            calls: None,
            key: None,
            fold: None,
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
