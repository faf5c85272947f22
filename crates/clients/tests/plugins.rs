//! The folder `plugins/` and the marketplaces match the definitions that `init` uses.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use interlock_clients::plugins::repository;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `INTERLOCK_BLESS=1` writes them; `cargo xtask plugins` sets it.
#[test]
fn the_plugins_are_what_init_writes() {
    let files = repository();
    if env::var_os("INTERLOCK_BLESS").is_some() {
        let _ = fs::remove_dir_all(root().join("plugins"));
        for (name, text) in &files {
            let path = root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    for (name, text) in &files {
        let found = fs::read_to_string(root().join(name)).unwrap_or_default();
        assert!(
            found == *text,
            "`{name}` is not what is made for it: run `cargo xtask plugins`, and change what it is made from"
        );
    }
    let wanted: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let mut folders = vec![PathBuf::from("plugins")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let name = folder.join(entry.unwrap().file_name());
            if root().join(&name).is_dir() {
                folders.push(name);
            } else {
                let name = name.to_str().unwrap();
                assert!(wanted.contains(name), "`{name}` belongs to no plugin");
            }
        }
    }
}
