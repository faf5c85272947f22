#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::path::{Component, Path, PathBuf};

use proptest::prelude::*;

use super::*;

#[test]
fn spellings_of_one_path_are_one() {
    let rows = [
        ("a.py", "/p/a.py"),
        ("./a.py", "/p/a.py"),
        ("src/../a.py", "/p/a.py"),
        ("/p//a.py", "/p/a.py"),
        ("//p/a.py/", "/p/a.py"),
        ("../p/a.py", "/p/a.py"),
        ("../../../p/./a.py/.", "/p/a.py"),
        ("~/x", "/home/you/x"),
        ("~", "/home/you"),
        ("~you/x", "/p/~you/x"),
        ("file:///p/a%20b", "/p/a b"),
        ("FILE://localhost/p/%C3%A4", "/p/\u{e4}"),
        ("file:a", "/p/file:a"),
        ("/", "/"),
        ("/..", "/"),
        (".", "/p"),
    ];
    for (path, expected) in rows {
        assert_eq!(
            normalise(path, "/p", Some("/home/you")).unwrap(),
            expected,
            "{path}"
        );
    }
}

#[test]
fn what_is_no_path_is_refused() {
    let rows = [
        ("", PathError::Empty),
        ("a\0b", PathError::Nul),
        ("file:///a%00b", PathError::Nul),
        ("~/x", PathError::NoHome),
        (
            "file://host/x",
            PathError::Address("file://host/x".to_owned()),
        ),
        ("file:///%zz", PathError::Address("file:///%zz".to_owned())),
        ("file:///%ff", PathError::Address("file:///%ff".to_owned())),
    ];
    for (path, expected) in rows {
        assert_eq!(
            normalise(path, "/p", None).unwrap_err(),
            expected,
            "{path:?}"
        );
    }
    assert_eq!(
        normalise(&"a".repeat(20_000), "/p", None).unwrap_err(),
        PathError::TooLong
    );
}

/// The same by the standard library's reading of paths.
fn reference(path: &str, base: &str) -> String {
    let mut plain = PathBuf::new();
    for part in Path::new(base).join(path).components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain.to_str().unwrap().to_owned()
}

proptest! {
    #[test]
    fn agrees_with_a_plain_reference(parts in proptest::collection::vec("(/|\\.|\\.\\.|a|bc|/\\./|/\\.\\./|d\\.e)", 1..14)) {
        let path: String = parts.concat();
        prop_assert_eq!(normalise(&path, "/base/dir", None).unwrap(), reference(&path, "/base/dir"), "{}", path);
    }

    #[test]
    fn any_text_is_answered(path in any::<String>()) {
        if let Ok(plain) = normalise(&path, "/p", Some("/h")) {
            prop_assert!(plain.starts_with('/'));
            prop_assert_eq!(normalise(&plain, "/p", None), Ok(plain.clone()));
        }
    }
}

#[test]
fn short_paths_are_taken_apart_as_the_reference_does() {
    // Every path of up to seven of these letters.
    let mut paths = vec![String::new()];
    for _ in 0..7 {
        let longer: Vec<String> = paths
            .iter()
            .flat_map(|path| ['/', '.', 'a'].map(|letter| format!("{path}{letter}")))
            .collect();
        for path in &longer {
            assert_eq!(plain(path), reference(path, "/"), "{path}");
        }
        paths = longer;
    }
}
