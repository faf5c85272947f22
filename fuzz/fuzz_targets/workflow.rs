//! Any text as a workflow file, in JSON and in YAML: loaded, or refused with places.

#![cfg_attr(fuzzing, no_main)]

use interlock_formats::{NoWorkflows, Source, check, load, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for name in ["w.json", "w.yaml"] {
        let source = Source::new(name, text);
        match load(&source, None, &NoWorkflows) {
            Ok(_) => {}
            Err(diagnostics) => {
                assert!(!diagnostics.is_empty(), "refused without a reason");
                let _ = render(&diagnostics, false);
            }
        }
        let _ = check(&source, &NoWorkflows);
    }
});
