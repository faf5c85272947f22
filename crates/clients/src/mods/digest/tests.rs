#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::os::unix::fs::symlink;

use super::*;

/// Changes a plugin that lies at a path, whatever the test knows of it.
type Plain = fn(&Path);
/// The same of one that takes something of the test with it.
type Change = Box<dyn FnOnce(&Path)>;

/// Digests a plugin of two files, once `change` has changed it.
fn changed(change: impl FnOnce(&Path)) -> String {
    let room = tempfile::tempdir().unwrap();
    let plugin = room.path().join("plugin");
    fs::create_dir_all(plugin.join("hooks")).unwrap();
    fs::write(room.path().join("outside.js"), "1").unwrap();
    fs::write(plugin.join("index.js"), "allow()").unwrap();
    fs::write(plugin.join("hooks/hooks.json"), "{}").unwrap();
    change(&plugin);
    digest(&plugin)
}

fn is_whole(digest: &str) -> bool {
    !digest.starts_with(&unread(""))
}

#[test]
fn every_change_of_a_plugin_shows_in_its_digest() {
    let as_it_was = changed(|_| {});
    assert!(is_whole(&as_it_was), "{as_it_was}");
    assert_eq!(
        changed(|_| {}),
        as_it_was,
        "where it lies is not part of it"
    );
    let index = "index.js";
    let changes: [(&str, Plain); 6] = [
        ("another text", |plugin| {
            fs::write(plugin.join("index.js"), "allow(1)").unwrap();
        }),
        ("another text as long", |plugin| {
            fs::write(plugin.join("index.js"), "ALLOW()").unwrap();
        }),
        ("another name", |plugin| {
            fs::rename(plugin.join("index.js"), plugin.join("main.js")).unwrap();
        }),
        ("one more", |plugin| {
            fs::write(plugin.join("more.js"), "").unwrap();
        }),
        ("one less", |plugin| {
            fs::remove_file(plugin.join("hooks/hooks.json")).unwrap();
        }),
        ("a link to the same", |plugin| {
            fs::rename(plugin.join("index.js"), plugin.join("hooks/index.js")).unwrap();
            symlink("hooks/index.js", plugin.join("index.js")).unwrap();
        }),
    ];
    let mut seen = vec![as_it_was];
    for (what, change) in changes {
        let digest = changed(change);
        assert!(is_whole(&digest), "{what}: {digest}");
        assert!(!seen.contains(&digest), "{what} of `{index}` does not show");
        seen.push(digest);
    }
    // Of two links to equal texts it counts which one is followed.
    let linked = |to: &'static str| {
        changed(move |plugin| {
            fs::write(plugin.join("hooks/a.js"), "same").unwrap();
            fs::write(plugin.join("hooks/b.js"), "same").unwrap();
            symlink(to, plugin.join("link.js")).unwrap();
        })
    };
    assert_ne!(linked("hooks/a.js"), linked("hooks/b.js"));
}

#[test]
fn what_is_not_read_whole_is_never_what_was_accepted() {
    let large = |bytes: u64, plugin: &Path, name: &str| {
        let file = fs::File::create(plugin.join(name)).unwrap();
        file.set_len(bytes).unwrap();
    };
    let half = BYTES_MAX / 2 + 1;
    assert!(is_whole(&changed(|plugin| large(half, plugin, "one"))));
    let parts: [(&str, Change); 6] = [
        (
            "a link that leads out",
            Box::new(|plugin| symlink("../outside.js", plugin.join("link.js")).unwrap()),
        ),
        (
            "a link that leads nowhere",
            Box::new(|plugin| symlink("nowhere", plugin.join("link.js")).unwrap()),
        ),
        (
            "a socket",
            Box::new(|plugin| {
                std::os::unix::net::UnixListener::bind(plugin.join("s")).unwrap();
            }),
        ),
        (
            "too much in two files",
            Box::new(move |plugin| {
                large(half, plugin, "one");
                large(half, plugin, "two");
            }),
        ),
        (
            "too many files",
            Box::new(|plugin| {
                for number in 0..ENTRIES_MAX {
                    fs::write(plugin.join(number.to_string()), "").unwrap();
                }
            }),
        ),
        (
            "a plugin that is a link",
            Box::new(|plugin| {
                let real = plugin.with_file_name("real");
                fs::rename(plugin, &real).unwrap();
                symlink(&real, plugin).unwrap();
            }),
        ),
    ];
    for (what, change) in parts {
        let digest = changed(change);
        assert!(!is_whole(&digest), "{what}: {digest}");
    }
    let room = tempfile::tempdir().unwrap();
    assert!(!is_whole(&digest(&room.path().join("gone"))));
    let manifest_file = room.path().join("plugin.json");
    fs::write(&manifest_file, "{}").unwrap();
    assert!(manifest(&manifest_file).is_some());
    let long = format!(
        "{{}}{}",
        " ".repeat(usize::try_from(MANIFEST_MAX).unwrap_or_default())
    );
    fs::write(&manifest_file, long).unwrap();
    assert_eq!(manifest(&manifest_file), None, "too large");
    assert_eq!(manifest(room.path()), None, "no file");
}
