//! The case files of the repository, each with the machine of its workflow.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::cases::{CaseFile, WorkflowText, find_case_files};

/// A file of cases.
pub(crate) struct Cased {
    /// Its path relative to the root of the repository.
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) file: CaseFile,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn loaded(name: &str, text: &str) -> Option<Machine> {
    let source = Source::new(name, text);
    Some(load(&source, None, &NoWorkflows).ok()?.machine)
}

/// Reads every case file whose workflow loads.
pub(crate) fn case_files() -> Vec<Cased> {
    let mut all = Vec::new();
    for folder in ["tests/cases", "workflows"] {
        for path in find_case_files(&root().join(folder)).unwrap() {
            let file = CaseFile::parse(&fs::read_to_string(&path).unwrap()).unwrap();
            let (of, text) = match &file.workflow {
                WorkflowText::Inline(text) => (path.clone(), text.clone()),
                WorkflowText::File(relative) => {
                    let path = path.with_file_name(relative);
                    let text = fs::read_to_string(&path).unwrap();
                    (path, text)
                }
            };
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            if let Some(machine) = loaded(&of.display().to_string(), &text) {
                all.push(Cased {
                    name,
                    machine,
                    file,
                });
            }
        }
    }
    all
}
