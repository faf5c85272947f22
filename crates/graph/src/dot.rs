//! Graphviz: a directed graph, for programs that lay out and draw.

use interlock_core::machine::Outcome;

use crate::{
    graph::Graph,
    names::Names,
    plot::{Edge, EdgeStyle, Kind, Node, Plot},
};

const HEAD: &str = r##"  graph [labelloc=t, fontsize=18, fontname="Helvetica", compound=true, nodesep=0.35, ranksep=0.45];
  node [shape=box, style=rounded, fontname="Helvetica", fontsize=11, color="#868e96", margin="0.16,0.08"];
  edge [fontname="Helvetica", fontsize=10, color="#868e96", arrowsize=0.7];
"##;

/// Writes `graph` in the DOT language.
impl Graph {
    /// Writes a directed graph for Graphviz.
    #[must_use]
    pub fn dot(&self) -> String {
        write(self)
    }
}

fn write(graph: &Graph) -> String {
    let mut writer = Writer {
        text: String::new(),
        names: Names::default(),
    };
    writer.line(0, &format!("digraph {} {{", quoted(&graph.title)));
    writer.text.push_str(HEAD);
    let about = std::iter::once(&graph.title).chain(&graph.about);
    writer.line(1, &format!("label={};", joined(about.map(String::as_str))));
    for panel in &graph.panels {
        match &panel.called {
            None => {
                writer.plot(&panel.plot, 1);
            }
            Some(id) => {
                let group = writer.names.give("cluster_m", id);
                writer.open(
                    1,
                    &group,
                    &format!("machine {id}"),
                    "style=solid, color=\"#adb5bd\"",
                );
                writer.plot(&panel.plot, 2);
                writer.line(1, "}");
            }
        }
    }
    writer.line(0, "}");
    writer.text
}

/// What edges are attached to.
struct Ends {
    /// The node that edges lead to, and the group around it.
    entry: (String, Option<String>),
    /// The node that edges lead away from, and the group around it.
    exit: (String, Option<String>),
}

struct Writer {
    text: String,
    names: Names,
}

impl Writer {
    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn open(&mut self, depth: usize, id: &str, label: &str, looks: &str) {
        self.line(depth, &format!("subgraph {id} {{"));
        let label = quoted(label);
        self.line(
            depth + 1,
            &format!("graph [label={label}, labelloc=t, fontsize=11, {looks}];"),
        );
    }

    /// Writes a plot; returns where its line of execution begins and where it succeeds.
    fn plot(&mut self, plot: &Plot, depth: usize) -> (Vec<String>, Vec<String>) {
        let ends: Vec<Ends> = plot
            .nodes
            .iter()
            .map(|node| self.node(node, depth))
            .collect();
        for edge in &plot.edges {
            if let (Some(from), Some(to)) = (ends.get(edge.from), ends.get(edge.to)) {
                self.edge(from, edge, to, depth);
            }
        }
        let of = |wanted: fn(Kind) -> bool| {
            plot.nodes
                .iter()
                .zip(&ends)
                .filter(|(node, _)| wanted(node.kind))
                .map(|(_, ends)| ends.exit.0.clone())
                .collect()
        };
        let succeeds = |kind| matches!(kind, Kind::Terminal | Kind::Final(Outcome::Success));
        (of(|kind| kind == Kind::Start), of(succeeds))
    }

    fn node(&mut self, node: &Node, depth: usize) -> Ends {
        if node.kind == Kind::Fork {
            return self.fork(node, depth);
        }
        let id = self.names.give("s", &node.title);
        let looks = match node.kind {
            Kind::Start => {
                "shape=circle, style=filled, width=0.16, fixedsize=true, label=\"\"".to_owned()
            }
            _ => format!("label={}{}", label(node), looks(node)),
        };
        self.line(depth, &format!("{id} [{looks}];"));
        Ends {
            entry: (id.clone(), None),
            exit: (id, None),
        }
    }

    fn fork(&mut self, node: &Node, depth: usize) -> Ends {
        let group = self.names.give("cluster_s", &node.title);
        let [fork, join] = ["fork", "join"].map(|bar| self.names.give(bar, &node.title));
        let looks = format!("style=dashed{}", marked(node));
        self.line(depth, &format!("subgraph {group} {{"));
        let label = label(node);
        let bar =
            "shape=box, style=filled, fillcolor=\"#868e96\", width=1.2, height=0.05, label=\"\"";
        self.line(
            depth + 1,
            &format!("graph [label={label}, labelloc=t, fontsize=11, {looks}];"),
        );
        self.line(depth + 1, &format!("{fork} [{bar}];"));
        self.line(depth + 1, &format!("{join} [{bar}];"));
        for branch in &node.branches {
            let lane = self.names.give("cluster_b", &branch.name);
            self.open(
                depth + 1,
                &lane,
                &branch.name,
                "style=rounded, color=\"#adb5bd\"",
            );
            let (starts, ends) = self.plot(&branch.plot, depth + 2);
            self.line(depth + 1, "}");
            for start in starts {
                self.line(depth + 1, &format!("{fork} -> {start} [arrowhead=none];"));
            }
            for end in ends {
                self.line(depth + 1, &format!("{end} -> {join} [style=dotted];"));
            }
        }
        self.line(depth, "}");
        Ends {
            entry: (fork, Some(group.clone())),
            exit: (join, Some(group)),
        }
    }

    fn edge(&mut self, from: &Ends, edge: &Edge, to: &Ends, depth: usize) {
        let lines: Vec<String> = edge.labels.iter().flat_map(|label| label.lines()).collect();
        let mut looks = Vec::new();
        if !lines.is_empty() {
            looks.push(format!(
                "label={}",
                joined(lines.iter().map(String::as_str))
            ));
        }
        match edge.line {
            EdgeStyle::Plain => {}
            EdgeStyle::Approval | EdgeStyle::Interrupt => looks.push("style=dashed".to_owned()),
            EdgeStyle::Fallback => looks.push("style=dotted".to_owned()),
        }
        if edge.taken > 0 {
            looks.push("color=\"#4c6ef5\", penwidth=2.5".to_owned());
        }
        let (tail, left) = &from.exit;
        let (head, entered) = &to.entry;
        looks.extend(left.as_ref().map(|group| format!("ltail={group}")));
        looks.extend(entered.as_ref().map(|group| format!("lhead={group}")));
        let looks = if looks.is_empty() {
            String::new()
        } else {
            format!(" [{}]", looks.join(", "))
        };
        self.line(depth, &format!("{tail} -> {head}{looks};"));
    }
}

fn looks(node: &Node) -> String {
    let shape = match node.kind {
        Kind::Choice => ", shape=diamond, style=solid",
        Kind::Anywhere => ", style=\"rounded,dashed\", color=\"#8b5cf6\"",
        Kind::Reference(_) => ", style=\"rounded,dotted\"",
        Kind::Terminal | Kind::Final(Outcome::Success) => ", peripheries=2, color=\"#2f9e44\"",
        Kind::Final(Outcome::Failure) => ", peripheries=2, color=\"#e03131\"",
        Kind::Start | Kind::State | Kind::Fork => "",
    };
    format!("{shape}{}", marked(node))
}

const fn marked(node: &Node) -> &'static str {
    if node.standing.here > 0 {
        ", color=\"#4c6ef5\", penwidth=4"
    } else if node.standing.visited {
        ", color=\"#4c6ef5\", penwidth=1.5"
    } else {
        ""
    }
}

fn label(node: &Node) -> String {
    let standing = node.standing.words().map(|words| format!("▶ {words}"));
    let title = node.marked_title();
    let tools = (!node.tools.is_empty()).then(|| node.tools.join(" · "));
    let lines = standing
        .iter()
        .chain(std::iter::once(&title))
        .chain(&node.activity)
        .chain(&tools)
        .chain(&node.limits);
    joined(lines.map(String::as_str))
}

/// Writes lines as one quoted text.
fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = lines.map(escaped).collect();
    format!("\"{}\"", lines.join("\\n"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Escapes `text` so that neither quotes nor the escapes of labels change its meaning.
fn escaped(text: &str) -> String {
    // `&` would begin an HTML entity.
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quotes_escapes_and_entities_are_plain_letters() {
        assert_eq!(
            quoted(r#"say "hi" \N &lt;"#),
            r#""say \"hi\" \\N &amp;lt;""#
        );
    }
}
