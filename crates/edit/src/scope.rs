//! The machine of a file that an operation concerns, and its parts.

use interlock_formats::{Kind, Node, Tree};

use crate::{
    path::Path,
    refusal::{Refusal, Why},
};

/// The machine of a file that is meant.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// The path of its definition.
    pub(crate) base: Path,
    /// The key of its states.
    states: &'static str,
    /// Whether states and guards are found wherever they are named.
    pub(crate) is_native: bool,
    /// Its name in a gateway configuration.
    pub(crate) workflow: Option<String>,
    /// Its id below `machines`.
    pub(crate) inner: Option<String>,
}

impl Scope {
    pub(crate) fn find(tree: &Tree, machine: Option<&str>) -> Result<Self, Refusal> {
        let is_native = tree.format == "native";
        let states = if tree.format == "pipeline" {
            "stages"
        } else {
            "states"
        };
        if !is_native {
            return match machine {
                None => Ok(Self {
                    base: package(tree),
                    states,
                    is_native,
                    workflow: None,
                    inner: None,
                }),
                Some(_) => Err(Refusal::misplaced("the file holds one workflow: name none")),
            };
        }
        let definitions = tree.definitions();
        let (wanted, inner) = match machine {
            None => (None, None),
            Some(name)
                if definitions
                    .iter()
                    .any(|(known, _)| known.as_deref() == Some(name)) =>
            {
                (Some(name), None)
            }
            Some(name) if definitions.iter().all(|(known, _)| known.is_none()) => {
                (None, Some(name))
            }
            Some(name) => name
                .split_once('/')
                .map_or((Some(name), None), |(name, inner)| {
                    (Some(name), Some(inner))
                }),
        };
        let mut found = definitions
            .iter()
            .filter(|(name, _)| wanted.is_none() || name.as_deref() == wanted);
        let (Some((workflow, base)), None) = (found.next(), found.next()) else {
            let names: Vec<&str> = definitions
                .iter()
                .filter_map(|(name, _)| name.as_deref())
                .collect();
            return Err(Refusal::unknown(format!(
                "name a workflow of the file: {}",
                names.join(", ")
            )));
        };
        let mut base = Path::of(base.iter().cloned());
        if let Some(inner) = inner {
            base = base.then("machines").then(inner);
            if base.find(&tree.root).is_none() {
                return Err(Refusal::unknown(format!(
                    "the file has no machine `{inner}`"
                )));
            }
        }
        Ok(Self {
            base,
            states,
            is_native,
            workflow: workflow.clone(),
            inner: inner.map(str::to_owned),
        })
    }

    pub(crate) fn definition<'n>(&self, tree: &'n Tree) -> Result<&'n Node, Refusal> {
        self.base.get(&tree.root)
    }

    /// Returns the path of the states.
    pub(crate) fn states(&self) -> Path {
        self.base.then(self.states)
    }

    pub(crate) fn state(&self, tree: &Tree, name: &str) -> Result<Path, Refusal> {
        let states = self.states();
        let node = states.get(&tree.root)?;
        // The states of CodeMie are a list.
        let index = match &node.kind {
            Kind::List(items) => items
                .iter()
                .position(|item| id_of(item) == Some(name))
                .map(|at| at.to_string()),
            _ => node.get(name).map(|entry| entry.key.clone()),
        };
        let known: Vec<&str> = names_of(node);
        index.map(|word| states.then(word)).ok_or_else(|| {
            Refusal::unknown(format!("there is no state `{name}`: {}", known.join(", ")))
                .at(node.span)
        })
    }
}

/// Returns the path of the workflow of a CodeMie package.
fn package(tree: &Tree) -> Path {
    let key = "execution_config";
    let inner = tree.root.get(key);
    match inner.filter(|entry| matches!(entry.value.kind, Kind::Map(_))) {
        Some(_) if tree.format == "codemie" => Path::of([key]),
        _ => Path::default(),
    }
}

fn id_of(item: &Node) -> Option<&str> {
    item.get("id").and_then(|entry| entry.value.text())
}

pub(crate) fn names_of(states: &Node) -> Vec<&str> {
    let listed = states.items().iter().filter_map(id_of);
    states
        .entries()
        .iter()
        .map(|entry| entry.key.as_str())
        .chain(listed)
        .collect()
}

impl Scope {
    /// Refuses an operation by name where the file is not a native workflow; `what` describes the operation.
    pub(crate) fn native(&self, what: &str) -> Result<(), Refusal> {
        if self.is_native {
            Ok(())
        } else {
            Err(Refusal::misplaced(format!(
                "{what} in native workflows only: set the fields themselves, by their place"
            )))
        }
    }
}

impl Scope {
    /// Parses a path, which is in the named machine.
    pub(crate) fn place(&self, at: &str) -> Result<Path, Refusal> {
        let unknown = |message: String| Refusal::new(Why::Unknown, message);
        let path: Path = at.parse().map_err(unknown)?;
        let named = self.workflow.is_some() || self.inner.is_some();
        if named && !path.is_below(&self.base) {
            let base = &self.base;
            return Err(Refusal::misplaced(format!(
                "`{at}` is not in the machine that was named, which stands at `{base}`"
            )));
        }
        Ok(path)
    }
}
