//! The picture as JSON, for a page that draws it itself and marks the current states of a run.

use serde_json::{Map, Value, json};

use super::{
    described,
    sheet::{Area, Group, GroupKind, Item, Shape},
    sheet_of,
};
use crate::{
    graph::Graph,
    plot::{Fold, Folds, Id, Node, Plot},
};

impl Graph {
    /// Draws the same picture as [`Graph::svg`], as JSON.
    ///
    /// `{width, height, title, described, items}`, in the units of the SVG. An item is a shape (`rect`,
    /// `circle`, `text` or `path`, with its `class`) or a `group` of items: a `node`, an `edge`, the
    /// `label` of one, or a `machine`. Nodes and edges have an `id`, by which [`Graph::marks`] names them: where a
    /// machine is drawn inside of a call, the part behind the last `>`. `also` has the ids of what is drawn as
    /// the same node or edge, `key` is by what a [`View`](crate::View) names a state, and `fold` says what of it can be
    /// opened or folded.
    #[must_use]
    pub fn scene(&self) -> Value {
        let (sheet, size) = sheet_of(self);
        // The open groups, the outermost first, each with its content so far.
        let mut open: Vec<(Map<String, Value>, Vec<Value>)> = vec![(Map::new(), Vec::new())];
        for item in sheet.items() {
            let done = match item {
                Item::Open(group) => {
                    open.push((of_group(group), Vec::new()));
                    continue;
                }
                Item::Close => open.pop().map(|(mut group, items)| {
                    group.insert("items".to_owned(), Value::Array(items));
                    Value::Object(group)
                }),
                Item::Shape { class, shape } => Some(of_shape(class, shape)),
            };
            if let Some((_, items)) = open.last_mut() {
                items.extend(done);
            }
        }
        let items = open.into_iter().next().map(|(_, items)| items);
        json!({
            "width": size.width.ceil(),
            "height": size.height.ceil(),
            "title": self.title,
            "described": described(self),
            "items": items.unwrap_or_default(),
        })
    }

    /// Returns the current states of the run and the path it took, by the ids of [`Graph::scene`].
    ///
    /// `{nodes: {ID: {here, parked, inside, interrupted, visited, over, words}}, edges: {ID: times taken}}`;
    /// what the run has not touched is left out.
    #[must_use]
    pub fn marks(&self) -> Value {
        let (mut nodes, mut edges) = (Map::new(), Map::new());
        let mut open: Vec<&Plot> = self.panels.iter().map(|panel| &panel.plot).collect();
        while let Some(plot) = open.pop() {
            for node in &plot.nodes {
                if let (Some(id), Some(mark)) = (&node.id, mark(node)) {
                    nodes.insert(id.to_string(), mark);
                }
            }
            for edge in plot.edges.iter().filter(|edge| edge.taken > 0) {
                if let Some(id) = &edge.id {
                    edges.insert(id.to_string(), json!(edge.taken));
                }
            }
            let branches = plot.nodes.iter().flat_map(|node| &node.branches);
            open.extend(branches.map(|branch| &branch.plot));
        }
        json!({ "nodes": nodes, "edges": edges })
    }
}

fn mark(node: &Node) -> Option<Value> {
    let standing = node.standing;
    let marked = standing.visited || standing.here > 0 || standing.inside || standing.interrupted;
    marked.then(|| {
        json!({
            "here": standing.here,
            "parked": standing.parked,
            "inside": standing.inside,
            "interrupted": standing.interrupted,
            "visited": standing.visited,
            "over": standing.over,
            "words": standing.words(),
        })
    })
}

fn of_group(group: &Group) -> Map<String, Value> {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            map.insert(key.to_owned(), value);
        }
    };
    match &group.what {
        GroupKind::Sample => put("group", json!("sample")),
        GroupKind::Machine => put("group", json!("machine")),
        GroupKind::Node {
            id,
            name,
            area,
            also,
            key,
            fold,
        } => {
            put("group", json!("node"));
            put("id", of_id(id.as_ref()));
            put("name", json!(name));
            put("area", of_area(*area));
            put("also", of_ids(also));
            put("key", json!(key));
            put("fold", fold.map_or(Value::Null, of_fold));
        }
        GroupKind::Edge { id, from, to, also } => {
            put("group", json!("edge"));
            put("id", of_id(id.as_ref()));
            put("from", of_id(from.as_ref()));
            put("to", of_id(to.as_ref()));
            put("also", of_ids(also));
        }
        GroupKind::Label { id } => {
            put("group", json!("label"));
            put("id", of_id(id.as_ref()));
        }
    }
    put("class", json!(group.class));
    if !group.title.is_empty() {
        put("title", json!(group.title));
    }
    map
}

fn of_id(id: Option<&Id>) -> Value {
    id.map_or(Value::Null, |id| Value::String(id.to_string()))
}

/// Returns the ids of what is drawn as one; `null` if there are none.
fn of_ids(ids: &[Id]) -> Value {
    if ids.is_empty() {
        return Value::Null;
    }
    ids.iter().map(|id| Value::String(id.to_string())).collect()
}

fn of_fold(fold: Fold) -> Value {
    let what = match fold.what {
        Folds::Call => "call",
        Folds::Fork => "fork",
        Folds::Group => "group",
    };
    json!({ "what": what, "open": fold.open })
}

fn of_area(area: Area) -> Value {
    json!([area.x, area.y, area.width, area.height].map(rounded))
}

fn of_shape(class: &str, shape: &Shape) -> Value {
    match shape {
        Shape::Rect(area, radius) => {
            let sides = [area.x, area.y, area.width, area.height, *radius];
            json!({ "rect": sides.map(rounded), "class": class })
        }
        Shape::Circle(middle, radius) => {
            let sides = [middle.x, middle.y, *radius].map(rounded);
            json!({ "circle": sides, "class": class })
        }
        Shape::Text(at, text) => {
            let at = [at.x, at.y].map(rounded);
            json!({ "text": at, "value": text, "class": class })
        }
        Shape::Path(way) => json!({ "path": way, "class": class }),
    }
}

/// Rounds to one decimal.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
