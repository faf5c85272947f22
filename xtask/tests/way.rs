//! Checks the path of a judged call through the files, as described in `ARCHITECTURE.md`: short enough to follow in a
//! sitting.

use std::{collections::BTreeSet, fs, path::Path};

/// Maximum number of files from a hook's standard input to its standard output.
const FILES_MAX: usize = 20;

#[test]
fn a_judged_call_passes_few_files_and_each_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page is there");
    let (_, way) = text
        .split_once("**A tool call under a client.**")
        .expect("the page tells the way of a call");
    let (way, _) = way.split_once("\n**").expect("another way follows");
    let files: BTreeSet<&str> = way
        .split('`')
        .filter(|word| {
            Path::new(word)
                .extension()
                .is_some_and(|ending| ending == "rs")
        })
        .collect();
    assert!(files.len() > 10, "{files:?}");
    assert!(files.len() <= FILES_MAX, "{} files: {files:?}", files.len());
    for file in files {
        assert!(
            root.join("crates").join(file).is_file(),
            "`{file}` is not there"
        );
    }
}
