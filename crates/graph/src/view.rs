//! The same graph shown differently: called machines inside their calls, forks and groups of states folded.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::names::MachineId;

use crate::{
    graph::{Graph, Panel},
    marks::Standing,
    plot::{Branch, Edge, Fold, Folds, Id, Kind, Node, Plot},
};

/// The separator between a state and the call that its machine is opened in, or its machine.
const WITHIN: char = '>';

/// What is opened and folded in a graph.
///
/// States have the names that they have in their machine; those of a called machine are `MACHINE>STATE`, and where the
/// machine is drawn inside a call, `CALL>STATE`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Calls in which the machine is drawn.
    pub opened: BTreeSet<String>,
    /// Forks whose branches are hidden.
    pub folded: BTreeSet<String>,
    /// States that are drawn as one.
    pub groups: Vec<BTreeSet<String>>,
}

impl Graph {
    /// Shows the graph as `view` says, and says for each node how it can be shown differently.
    ///
    /// Nodes and edges keep their ids.
    #[must_use]
    pub fn viewed(mut self, view: &View) -> Self {
        let machines: BTreeMap<MachineId, Panel> = self
            .panels
            .iter()
            .filter_map(|panel| Some((panel.key.clone()?, panel.clone())))
            .collect();
        let mut shown = Shown {
            view,
            machines: &machines,
            opened: BTreeSet::new(),
            closed: BTreeSet::new(),
        };
        let mut panels = std::mem::take(&mut self.panels).into_iter();
        if let Some(mut outermost) = panels.next() {
            shown.plot(&mut outermost.plot, "");
            self.panels.push(outermost);
        }
        let mut rest: Vec<Panel> = panels.collect();
        // A machine that is called only where it is drawn inside needs no place of its own.
        while let Some(index) = rest.iter().position(|panel| shown.stands_alone(panel)) {
            let mut panel = rest.remove(index);
            let prefix = panel.key.as_ref().map(|key| format!("{key}{WITHIN}"));
            shown.plot(&mut panel.plot, prefix.as_deref().unwrap_or_default());
            self.panels.push(panel);
        }
        self
    }
}

struct Shown<'v> {
    view: &'v View,
    machines: &'v BTreeMap<MachineId, Panel>,
    /// Machines that are drawn inside some call, and those that some call does not show.
    opened: BTreeSet<MachineId>,
    closed: BTreeSet<MachineId>,
}

impl Shown<'_> {
    fn stands_alone(&self, panel: &Panel) -> bool {
        panel
            .key
            .as_ref()
            .is_none_or(|key| self.closed.contains(key) || !self.opened.contains(key))
    }

    /// Shows the nodes of a plot, whose states have names that begin with `prefix`.
    fn plot(&mut self, plot: &mut Plot, prefix: &str) {
        for node in &mut plot.nodes {
            self.node(node, prefix);
        }
        for group in &self.view.groups {
            put_together(plot, group, prefix);
        }
    }

    fn node(&mut self, node: &mut Node, prefix: &str) {
        let Some(state) = &node.state else { return };
        let key = format!("{prefix}{state}");
        if let Some(machine) = node.calls.clone() {
            self.call(node, key, &machine);
        } else if !node.branches.is_empty() {
            let open = !self.view.folded.contains(&key);
            let what = Folds::Fork;
            node.key = Some(key);
            node.fold = Some(Fold { what, open });
            if open {
                for branch in &mut node.branches {
                    self.plot(&mut branch.plot, prefix);
                }
            } else {
                node.also = inside(&node.branches);
                node.branches.clear();
                node.kind = Kind::State;
            }
        } else {
            node.key = Some(key);
        }
    }

    fn call(&mut self, node: &mut Node, key: String, machine: &MachineId) {
        let Some(panel) = self.machines.get(machine) else {
            return;
        };
        let open = self.view.opened.contains(&key);
        if let (true, Some(call)) = (open, &node.id) {
            self.opened.insert(machine.clone());
            let mut plot = panel.plot.clone();
            move_within(&mut plot, call);
            self.plot(&mut plot, &format!("{key}{WITHIN}"));
            node.kind = Kind::Fork;
            let name = panel.called.clone().unwrap_or_default();
            node.branches.push(Branch { name, plot });
        } else {
            self.closed.insert(machine.clone());
        }
        let what = Folds::Call;
        node.key = Some(key);
        node.fold = Some(Fold { what, open });
    }
}

/// Gives a plot ids of its own where its machine is drawn inside `call`.
fn move_within(plot: &mut Plot, call: &Id) {
    let nodes = plot.nodes.iter_mut().map(|node| &mut node.id);
    let edges = plot.edges.iter_mut().map(|edge| &mut edge.id);
    for id in nodes.chain(edges).flatten() {
        *id = id.within(call);
    }
    for node in &mut plot.nodes {
        for branch in &mut node.branches {
            move_within(&mut branch.plot, call);
        }
    }
}

/// Returns the ids of all nodes inside of branches.
fn inside(branches: &[Branch]) -> Vec<Id> {
    let nodes = branches.iter().flat_map(|branch| &branch.plot.nodes);
    nodes
        .flat_map(|node| {
            let own = node.id.iter().cloned().chain(node.also.iter().cloned());
            own.chain(inside(&node.branches)).collect::<Vec<_>>()
        })
        .collect()
}

/// Draws the states of a group that are in a plot as one node, in the place of the first.
fn put_together(plot: &mut Plot, group: &BTreeSet<String>, prefix: &str) {
    let is_member = |node: &Node| {
        let state = node.state.as_ref();
        state.is_some_and(|state| group.contains(&format!("{prefix}{state}")))
    };
    let members: Vec<usize> = (0..plot.nodes.len())
        .filter(|&index| plot.nodes.get(index).is_some_and(is_member))
        .collect();
    let (Some(&first), 2..) = (members.first(), members.len()) else {
        return;
    };
    // The new index of each node.
    let mut places = Vec::with_capacity(plot.nodes.len());
    let mut nodes = Vec::new();
    let mut together: Vec<Node> = Vec::new();
    for (index, node) in std::mem::take(&mut plot.nodes).into_iter().enumerate() {
        if members.contains(&index) {
            if index == first {
                nodes.push(Node::bare(Kind::State, String::new()));
            }
            places.push(None);
            together.push(node);
        } else {
            places.push(Some(nodes.len()));
            nodes.push(node);
        }
    }
    let place = |index: usize| places.get(index).copied().flatten().unwrap_or(first);
    if let Some(node) = nodes.get_mut(first) {
        *node = as_one(&together, group);
    }
    plot.nodes = nodes;
    let mut edges: Vec<Edge> = Vec::new();
    for mut edge in std::mem::take(&mut plot.edges) {
        let within = members.contains(&edge.from) && members.contains(&edge.to);
        (edge.from, edge.to) = (place(edge.from), place(edge.to));
        let same = edges
            .iter_mut()
            .find(|known| (known.from, known.to, known.line) == (edge.from, edge.to, edge.line));
        match same {
            _ if within => {}
            Some(known) => {
                known.also.extend(edge.id);
                known.also.extend(edge.also);
                known.labels.extend(edge.labels);
                known.taken = known.taken.saturating_add(edge.taken);
            }
            None => edges.push(edge),
        }
    }
    plot.edges = edges;
}

/// Merges several nodes into one.
fn as_one(members: &[Node], group: &BTreeSet<String>) -> Node {
    let titles: Vec<&str> = members.iter().map(|node| node.title.as_str()).collect();
    let standing = members.iter().fold(Standing::default(), |all, node| {
        let one = node.standing;
        Standing {
            here: all.here + one.here,
            parked: all.parked + one.parked,
            inside: all.inside || one.inside,
            interrupted: all.interrupted || one.interrupted,
            visited: all.visited || one.visited,
            over: all.over || one.over,
        }
    });
    let mut ids = members.iter().flat_map(|node| {
        let own = node.id.iter().cloned().chain(node.also.iter().cloned());
        own.chain(inside(&node.branches)).collect::<Vec<_>>()
    });
    let key: Vec<&str> = group.iter().map(String::as_str).collect();
    Node {
        id: ids.next(),
        also: ids.collect(),
        activity: Some(titles.join(", ")),
        key: Some(key.join("\n")),
        fold: Some(Fold {
            what: Folds::Group,
            open: false,
        }),
        standing,
        ..Node::bare(Kind::State, format!("{} states", members.len()))
    }
}
