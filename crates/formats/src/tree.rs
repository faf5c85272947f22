//! A file as far as its syntax goes: every value with its place. For those who edit files.

use crate::{
    detect::{Found, detect},
    diagnostic::{Diagnostic, Report},
    node::{Kind, Node},
    opened::{Format, Opened},
    parse,
    source::Source,
};

/// The key of a gateway configuration below which its workflows stand.
const WORKFLOWS: &str = "workflows";

/// A file that was read as far as its syntax goes.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Everything in the file.
    pub root: Node,
    /// The name of the format.
    pub format: &'static str,
    /// Whether the file is JSON rather than YAML.
    pub is_json: bool,
    /// Whether scalars without quotes are kept as the text that is written.
    pub as_written: bool,
}

impl Tree {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with its syntax; a file may be read and be no workflow.
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

    /// Returns where the definitions of native workflows lie, each with its name in a gateway configuration.
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

/// Returns what a scalar without quotes would be in a file of the core schema.
#[must_use]
pub fn plain_kind(text: &str) -> Kind {
    parse::typed(text).kind
}
