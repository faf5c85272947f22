//! Any text as a test file: its workflow loaded, its cases played. Guards, conditions,
//! templates and the judging of calls are all within the bounds of one input.

#![cfg_attr(fuzzing, no_main)]

use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{
    Scenario,
    cases::{CaseFile, WorkflowText},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(file) = CaseFile::parse(text) else {
        return;
    };
    let WorkflowText::Inline(workflow) = &file.workflow else {
        return;
    };
    let Ok(loaded) = load(&Source::new("w.yaml", workflow), None, &NoWorkflows) else {
        return;
    };
    for case in &file.cases {
        let _ = case.play(&loaded.machine, &Scenario::default());
    }
});
