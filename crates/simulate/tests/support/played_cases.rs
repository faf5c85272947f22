//! Every case of the corpus, played.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_core::{event::Event, machine::Machine};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{
    Scenario,
    cases::{CaseFile, WorkflowText, find_case_files},
};

/// A case, and what is recorded where it is played.
pub(crate) struct PlayedCase {
    /// Its file from the root of the repository, then what it is called.
    pub(crate) name: String,
    pub(crate) events: Vec<Event>,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn loaded(name: &str, text: &str) -> Option<Machine> {
    let source = Source::new(name, text);
    Some(load(&source, None, &NoWorkflows).ok()?.machine)
}

/// Plays every case with a machine that `prepare` has been given first.
pub(crate) fn played_cases(prepare: impl Fn(Machine) -> Machine) -> Vec<PlayedCase> {
    let mut all = Vec::new();
    for folder in ["tests/cases", "workflows"] {
        for path in find_case_files(&root().join(folder)).unwrap() {
            let file = CaseFile::parse(&fs::read_to_string(&path).unwrap()).unwrap();
            let (name, text) = match &file.workflow {
                WorkflowText::Inline(text) => (path.clone(), text.clone()),
                WorkflowText::File(relative) => {
                    let path = path.with_file_name(relative);
                    let text = fs::read_to_string(&path).unwrap();
                    (path, text)
                }
            };
            let Some(machine) = loaded(&name.display().to_string(), &text) else {
                continue;
            };
            let machine = prepare(machine);
            let shown = path.strip_prefix(root()).unwrap().display();
            for case in &file.cases {
                all.push(PlayedCase {
                    name: format!("{shown}: {}", case.name),
                    events: case.recorded(&machine, &Scenario::default()),
                });
            }
        }
    }
    all
}
