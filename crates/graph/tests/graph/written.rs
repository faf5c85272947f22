//! Mermaid, Graphviz and the geometry of the console's picture, compared with reviewed texts.
//!
//! `INTERLOCK_BLESS=1` rewrites them; review the changes.

use std::fs;

use interlock_graph::Graph;

use crate::{OWN, file, own};

fn check(ending: &str, write: fn(&Graph) -> String) {
    for name in OWN {
        let path = file(&format!("tests/machines/{name}.{ending}"));
        let written = write(&Graph::of(&own(name), None, &[]));
        if std::env::var_os("INTERLOCK_BLESS").is_some() {
            fs::write(&path, &written).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap();
        assert_eq!(written, expected, "{} differs", path.display());
    }
}

#[test]
fn mermaid_is_as_it_was_read() {
    check("mmd", Graph::mermaid);
}

#[test]
fn graphviz_is_as_it_was_read() {
    check("dot", Graph::dot);
}

#[test]
fn the_geometry_is_as_it_was_read() {
    check("scene.json", |graph| {
        serde_json::to_string_pretty(&graph.scene()).unwrap() + "\n"
    });
}
