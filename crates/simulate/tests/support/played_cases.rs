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

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn loaded(name: &str, text: &str) -> Option<Machine> {
    let source = Source::new(name, text);
    Some(load(&source, None, &NoWorkflows).ok()?.machine)
}

/// Plays every case with a machine that `prepare` has been given first, and returns what `of` makes of each.
///
/// A case is named by its file from the root of the repository, then by what it is called.
pub(crate) fn played_cases<C>(
    prepare: impl Fn(Machine) -> Machine,
    of: impl Fn(String, &Machine, Vec<Event>) -> C,
) -> Vec<C> {
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
                let events = case.recorded(&machine, &Scenario::default());
                all.push(of(format!("{shown}: {}", case.name), &machine, events));
            }
        }
    }
    all
}
