//! Mermaid: a flowchart, for Markdown.

use std::fmt::Write as _;

use interlock_core::machine::Outcome;

use crate::{
    graph::Graph,
    names::Names,
    plot::{Edge, EdgeStyle, Kind, Node, Plot},
};

/// The styles of the classes after `:::`; readable on light and on dark backgrounds.
const CLASSES: [&str; 7] = [
    "classDef start fill:#6b7280,stroke:#6b7280",
    "classDef reference stroke-dasharray:3 3",
    "classDef anywhere stroke:#8b5cf6,stroke-dasharray:5 3",
    "classDef success stroke:#2f9e44,stroke-width:2px",
    "classDef failure stroke:#e03131,stroke-width:2px",
    "classDef visited stroke:#4c6ef5,stroke-width:2px",
    "classDef here stroke:#4c6ef5,stroke-width:5px",
];

/// Writes `graph` as a flowchart.
impl Graph {
    /// Writes a Mermaid flowchart.
    #[must_use]
    pub fn mermaid(&self) -> String {
        write(self)
    }
}

fn write(graph: &Graph) -> String {
    let mut writer = Writer {
        text: String::new(),
        names: Names::default(),
        edges: 0,
        taken: Vec::new(),
        classes: Vec::new(),
    };
    // A JSON text is a YAML text as well.
    let title = serde_json::Value::from(graph.title.as_str());
    writer.line(0, &format!("---\ntitle: {title}\n---\nflowchart TD"));
    for panel in &graph.panels {
        match &panel.called {
            None => writer.plot(&panel.plot, 1),
            Some(id) => {
                let group = writer.names.give("m", id);
                let heading = escaped(&format!("machine {id}"));
                writer.line(1, &format!("subgraph {group}[\"{heading}\"]"));
                writer.plot(&panel.plot, 2);
                writer.line(1, "end");
            }
        }
    }
    for class in CLASSES {
        writer.line(1, class);
    }
    for (id, class) in std::mem::take(&mut writer.classes) {
        writer.line(1, &format!("class {id} {class}"));
    }
    if !writer.taken.is_empty() {
        let taken: Vec<String> = writer.taken.iter().map(usize::to_string).collect();
        let taken = taken.join(",");
        writer.line(
            1,
            &format!("linkStyle {taken} stroke:#4c6ef5,stroke-width:3px"),
        );
    }
    writer.text
}

struct Writer {
    text: String,
    names: Names,
    /// The number of edges written so far.
    edges: usize,
    /// The indices of those that the run took.
    taken: Vec<usize>,
    classes: Vec<(String, &'static str)>,
}

impl Writer {
    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn plot(&mut self, plot: &Plot, depth: usize) {
        let ids: Vec<String> = plot
            .nodes
            .iter()
            .map(|node| self.node(node, depth))
            .collect();
        for edge in &plot.edges {
            if let (Some(from), Some(to)) = (ids.get(edge.from), ids.get(edge.to)) {
                self.edge(from, edge, to, depth);
            }
        }
    }

    fn node(&mut self, node: &Node, depth: usize) -> String {
        let id = self.names.give(prefix(node.kind), &node.title);
        let text = label(node);
        let class = class(node);
        if node.kind == Kind::Fork {
            self.line(depth, &format!("subgraph {id}[\"{text}\"]"));
            for branch in &node.branches {
                let group = self.names.give("b", &branch.name);
                let name = escaped(&branch.name);
                self.line(depth + 1, &format!("subgraph {group}[\"{name}\"]"));
                self.plot(&branch.plot, depth + 2);
                self.line(depth + 1, "end");
            }
            self.line(depth, "end");
            self.classes.extend(class.map(|class| (id.clone(), class)));
            return id;
        }
        let (open, close) = brackets(node.kind);
        let class = class.map_or_else(String::new, |class| format!(":::{class}"));
        self.line(depth, &format!("{id}{open}\"{text}\"{close}{class}"));
        id
    }

    fn edge(&mut self, from: &str, edge: &Edge, to: &str, depth: usize) {
        let arrow = match edge.line {
            EdgeStyle::Plain => "-->",
            EdgeStyle::Approval | EdgeStyle::Interrupt | EdgeStyle::Fallback => "-.->",
        };
        let lines: Vec<String> = edge
            .labels
            .iter()
            .flat_map(|label| label.lines())
            .map(|line| escaped(&line))
            .collect();
        let label = if lines.is_empty() {
            String::new()
        } else {
            format!("|\"{}\"|", lines.join("<br/>"))
        };
        self.line(depth, &format!("{from} {arrow}{label} {to}"));
        if edge.taken > 0 {
            self.taken.push(self.edges);
        }
        self.edges += 1;
    }
}

const fn prefix(kind: Kind) -> &'static str {
    match kind {
        Kind::Start => "start",
        Kind::Reference(_) => "r",
        Kind::Anywhere => "any",
        _ => "s",
    }
}

const fn brackets(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Start => ("((", "))"),
        Kind::Choice => ("{", "}"),
        Kind::Anywhere | Kind::Reference(_) => ("([", "])"),
        Kind::Terminal | Kind::Final(_) => ("[[", "]]"),
        Kind::State | Kind::Fork => ("[", "]"),
    }
}

const fn class(node: &Node) -> Option<&'static str> {
    match node.kind {
        _ if node.standing.here > 0 => Some("here"),
        Kind::Start => Some("start"),
        Kind::Reference(_) => Some("reference"),
        Kind::Anywhere => Some("anywhere"),
        Kind::Terminal | Kind::Final(Outcome::Success) => Some("success"),
        Kind::Final(Outcome::Failure) => Some("failure"),
        _ if node.standing.visited => Some("visited"),
        _ => None,
    }
}

fn label(node: &Node) -> String {
    let mut lines = Vec::new();
    lines.extend(node.standing.words().map(|words| format!("▶ {words}")));
    lines.push(match node.kind {
        Kind::Start => " ".to_owned(),
        _ => node.marked_title(),
    });
    lines.extend(node.activity.clone());
    if !node.tools.is_empty() {
        lines.push(node.tools.join(" · "));
    }
    lines.extend(node.limits.iter().cloned());
    let lines: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
    lines.join("<br/>")
}

/// Escapes `text` so that neither Mermaid nor the Markdown that it reads in labels changes its meaning.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let letters: Vec<char> = text.chars().collect();
    let at = |index: Option<usize>| index.and_then(|index| letters.get(index)).copied();
    for (index, &letter) in letters.iter().enumerate() {
        let before = at(index.checked_sub(1));
        let after = at(Some(index + 1));
        let in_word = |near: Option<char>| near.is_some_and(char::is_alphanumeric);
        let plain = match letter {
            '_' => in_word(before) && in_word(after),
            ':' => after.is_none_or(|after| after == ' '),
            // At the start of a line, these would make a list.
            '-' | '+' => index > 0,
            '.' | ')' => !letters.iter().take(index).all(char::is_ascii_digit),
            ' ' => index > 0 || letters.len() == 1,
            ',' | '/' | '(' | '=' | '?' | '!' | '\'' => true,
            _ => !letter.is_ascii() || letter.is_ascii_alphanumeric(),
        };
        if plain {
            out.push(letter);
        } else {
            // Writing into a String cannot fail.
            let _ = write!(out, "#{};", u32::from(letter));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_means_something_to_mermaid_is_written_as_a_number() {
        for (text, written) in [
            ("plain words, a/b (c) x_y", "plain words, a/b (c) x_y"),
            ("\"]--> end", "#34;#93;--#62; end"),
            ("<img src=x>", "#60;img src=x#62;"),
            ("#35; & $$x$$", "#35;35#59; #38; #36;#36;x#36;#36;"),
            ("1. one", "1#46; one"),
            ("- one", "#45; one"),
            (
                "_em_ **bold** `code`",
                "#95;em#95; #42;#42;bold#42;#42; #96;code#96;",
            ),
            ("fa:fa-car note: x", "fa#58;fa-car note: x"),
            ("größe 状態", "größe 状態"),
        ] {
            assert_eq!(escaped(text), written);
        }
    }
}
