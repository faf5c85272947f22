//! The syntax tree of a file, with positions, for editing.

use crate::{
    detect::{Found, detect},
    diagnostic::{Diagnostic, Report},
    node::{Kind, Node},
    opened::{Format, Opened},
    parse,
    source::Source,
};

/// Key of a gateway configuration that contains its workflows.
const WORKFLOWS: &str = "workflows";

/// The syntax tree of a file.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Everything in the file.
    pub root: Node,
    /// The name of the format.
    pub format: &'static str,
    /// Whether the file is JSON rather than YAML.
    pub is_json: bool,
    /// Whether unquoted scalars are kept as written.
    pub as_written: bool,
}

impl Tree {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with its syntax; a readable file need not be a workflow.
    pub fn read(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        let opened = Opened::new(source);
        let (format, as_written) = match opened.format {
            Format::Native => ("native", false),
            Format::FlowState => ("flowstate", true),
            Format::CodeMie => ("codemie", true),
            Format::Pipeline => ("pipeline", false),
        };
        match opened.tree {
            Some(root) => Ok(Self {
                root,
                format,
                is_json: parse::is_json(&source.name),
                as_written,
            }),
            None => Err(opened.report.into_diagnostics(&opened.files)),
        }
    }

    /// Returns the paths of native workflow definitions, each with its name in a gateway configuration.
    #[must_use]
    pub fn definitions(&self) -> Vec<(Option<String>, Vec<String>)> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match detect(&self.root, &mut Report::default()) {
            Some(Found::Wrapper(_)) => vec![(None, words(&["definition"]))],
            Some(Found::Gateway(_)) => self
                .root
                .get(WORKFLOWS)
                .map(|entry| entry.value.entries())
                .unwrap_or_default()
                .iter()
                .map(|entry| {
                    let path = words(&[WORKFLOWS, &entry.key]);
                    (Some(entry.key.clone()), path)
                })
                .collect(),
            _ => vec![(None, Vec::new())],
        }
    }
}

/// Returns the kind that an unquoted scalar has in the core schema.
#[must_use]
pub fn plain_kind(text: &str) -> Kind {
    parse::typed(text).kind
}
