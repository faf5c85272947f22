#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        net::UnixListener,
    },
    path::Path,
    process::Command,
};

use tempfile::TempDir;

use super::{
    archive::{Entry, Writer},
    name::check_target,
    pack::pack,
    repository::plain_config,
    restore::restore,
};

const LIMIT: u64 = 1 << 20;

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns everything below a folder: what it is, whether it may be executed, and its content.
fn listed(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            let what = if kind.is_dir() {
                left.push(path.clone());
                "folder".to_owned()
            } else if kind.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else {
                let mode = entry.metadata().unwrap().permissions().mode();
                let bytes = fs::read(&path).unwrap();
                format!("{} {}", mode & 0o100 != 0, String::from_utf8_lossy(&bytes))
            };
            let path = path.strip_prefix(root).unwrap();
            found.push((path.to_str().unwrap().to_owned(), what));
        }
    }
    found.sort();
    found
}

#[test]
fn what_git_does_not_ignore_is_restored_as_it_was() {
    let room = TempDir::new().unwrap();
    let from = room.path().join("from");
    put(&from, "a file with an ö.txt", "text");
    put(&from, "bin/run.sh", "#!/bin/sh\n");
    fs::set_permissions(from.join("bin/run.sh"), fs::Permissions::from_mode(0o4755)).unwrap();
    let long = format!("{}/{}", "d".repeat(90), "f".repeat(90));
    put(&from, &long, "long");
    fs::create_dir_all(from.join("empty")).unwrap();
    symlink("../bin/run.sh", from.join("empty/link")).unwrap();
    symlink(&long, from.join("link of a long name")).unwrap();
    let kept = listed(&from);
    put(&from, ".gitignore", "build\n*.tmp\n");
    put(&from, "build/out", "large");
    put(&from, "bin/x.tmp", "");
    // Ignore files above the project belong to another machine's folders.
    put(room.path(), ".gitignore", "*.txt\n");

    let tar = pack(&from, LIMIT).unwrap();
    assert_eq!(pack(&from, LIMIT).unwrap(), tar);
    let to = room.path().join("to");
    restore(&tar, &to).unwrap();
    let mut found = listed(&to);
    found.retain(|(path, _)| path != ".gitignore");
    assert_eq!(found, kept);
    let mode = fs::metadata(to.join("bin/run.sh")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o7000, 0);
    // What was restored gives the same bytes, so that it is not stored again.
    assert_eq!(pack(&to, LIMIT).unwrap(), tar);
    // Any `tar` reads it.
    let file = room.path().join("files.tar");
    fs::write(&file, &tar).unwrap();
    let listed = Command::new("tar").arg("-tf").arg(&file).output().unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.status.success() && names.lines().any(|name| name == long),
        "{names}"
    );
}

#[test]
fn a_repository_moves_with_its_history_and_without_its_programs() {
    let room = TempDir::new().unwrap();
    let git = |folder: &Path, line: &str| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        let said = command.args(line.split(' ')).current_dir(folder).output();
        let said = said.unwrap();
        assert!(said.status.success(), "{line}: {said:?}");
        String::from_utf8(said.stdout).unwrap()
    };
    let from = room.path().join("from");
    // Also one that is not at the top.
    let shop = from.join("shop");
    put(&shop, "kept", "1");
    put(&shop, "changed", "1");
    put(&shop, "removed", "1");
    for line in [
        "init -q -b main",
        "add .",
        "commit -q -m first",
        "tag one",
        "gc -q",
        "checkout -q -b fix",
        "remote add origin https://git.example/shop",
        "config core.fsmonitor ./evil",
        "config alias.x !evil",
    ] {
        git(&shop, line);
    }
    put(&shop, "changed", "2");
    put(&shop, ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    git(&shop, "-c core.fsmonitor=false add changed");
    fs::remove_file(shop.join("removed")).unwrap();
    let status = "-c core.fsmonitor=false status --porcelain --branch";
    let before = git(&shop, status);

    let to = room.path().join("to");
    restore(&pack(&from, LIMIT).unwrap(), &to).unwrap();
    let shop = to.join("shop");
    assert_eq!(git(&shop, status), before);
    assert_eq!(git(&shop, "fsck --strict"), "");
    assert_eq!(git(&shop, "describe --tags"), "one\n");
    assert_eq!(
        git(&shop, "remote get-url origin"),
        "https://git.example/shop\n"
    );
    git(&shop, "commit -q -m second");
    let config = fs::read_to_string(shop.join(".git/config")).unwrap();
    assert!(!config.contains("evil"), "{config}");
    assert!(!shop.join(".git/hooks").exists());
}

#[test]
fn what_cannot_move_is_named() {
    let room = TempDir::new().unwrap();
    let refused = |name: &str, make: &dyn Fn(&Path), said: &str| {
        let folder = room.path().join(name);
        fs::create_dir(&folder).unwrap();
        make(&folder);
        let error = pack(&folder, 64 * 1024).unwrap_err().to_string();
        assert_eq!(error, said, "{name}");
    };
    let large = "x".repeat(64 * 1024);
    refused(
        "large",
        &|root| put(root, "a", &large),
        "they are larger than 65536 bytes (`--workspace-limit`)",
    );
    refused(
        "absolute",
        &|root| symlink("/etc/passwd", root.join("a")).unwrap(),
        "`a` is a symbolic link that is an absolute path",
    );
    refused(
        "out",
        &|root| symlink("../x", root.join("a")).unwrap(),
        "`a` is a symbolic link that leads out of its folder",
    );
    refused(
        "socket",
        &|root| drop(UnixListener::bind(root.join("a")).unwrap()),
        "`a` is no file, folder or symbolic link",
    );
    refused(
        "submodule",
        &|root| put(root, "sub/.git", "gitdir: ../.git/modules/sub"),
        "`sub/.git` is not a folder: a submodule or a second working tree does not move without its repository",
    );
    refused(
        "case",
        &|root| put(root, ".GIT/config", ""),
        "`.GIT` could be taken for `.git`",
    );
}

#[test]
fn links_stay_in_the_project_also_through_other_links() {
    for (path, target) in [
        ("a", "b/c"),
        ("a", "./b"),
        ("d/e/a", "../../b"),
        ("d/a", "../d/b"),
    ] {
        assert!(
            check_target(path.as_bytes(), target.as_bytes()).is_ok(),
            "{target}"
        );
    }
    for (path, target) in [
        ("a", "/b"),
        ("a", ""),
        ("a", ".."),
        ("d/a", "../../b"),
        // `b` could be a link to a folder higher up.
        ("d/e/a", "b/.."),
        ("d/e/a", "../b/../c"),
    ] {
        assert!(
            check_target(path.as_bytes(), target.as_bytes()).is_err(),
            "{target}"
        );
    }
}

/// Returns a tar of these entries, which are not checked.
fn tar(entries: &[(&str, Entry<'_>)]) -> Vec<u8> {
    let mut writer = Writer::new(1 << 20);
    for (path, entry) in entries {
        writer.push(path.as_bytes(), entry).unwrap();
    }
    writer.finish()
}

const fn file(bytes: &[u8]) -> Entry<'_> {
    Entry::File {
        is_program: false,
        bytes,
    }
}

/// Changes bytes of the first header, and corrects its checksum.
fn patched(mut tar: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    tar[at..at + bytes.len()].copy_from_slice(bytes);
    tar[148..156].fill(b' ');
    let sum: u32 = tar[..512].iter().map(|byte| u32::from(*byte)).sum();
    tar[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar
}

#[test]
fn a_hostile_tar_is_refused() {
    let dir = || Entry::Directory;
    let link = |target: &'static str| Entry::Link {
        target: target.as_bytes(),
    };
    let one = || tar(&[("a", file(b"x"))]);
    let mut other_sum = one();
    other_sum[0] = b'b';
    let mut trailing = one();
    trailing.push(0);
    let mut hidden = one();
    hidden[1000] = 1;
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            tar(&[("/a", file(b""))]),
            "the recorded path `/a` is an absolute path",
        ),
        (
            tar(&[("../a", file(b""))]),
            "the recorded path `../a` leads out of its folder",
        ),
        (
            tar(&[("d", dir()), ("d/../a", file(b""))]),
            "the recorded path `d/../a` leads out of its folder",
        ),
        (
            tar(&[("d//a", file(b""))]),
            "the recorded path `d//a` is not a path that can be restored",
        ),
        (
            tar(&[("", dir())]),
            "the recorded path `` is not a path that can be restored",
        ),
        (
            tar(&[("a", link("/etc"))]),
            "the recorded symbolic link `a` is an absolute path",
        ),
        (
            tar(&[("a", link("../.."))]),
            "the recorded symbolic link `a` leads out of its folder",
        ),
        (
            tar(&[("a", link("b")), ("a/x", file(b""))]),
            "`a/x` is recorded without its folder",
        ),
        (
            tar(&[("d", dir()), ("a", link("d")), ("a", dir())]),
            "`a` is recorded twice",
        ),
        (
            tar(&[("a", file(b"")), ("a", file(b"x"))]),
            "`a` is recorded twice",
        ),
        (
            tar(&[("d/a", file(b""))]),
            "`d/a` is recorded without its folder",
        ),
        (
            tar(&[(".git", dir()), (".git/hooks", dir())]),
            "`.git/hooks` is no part of a repository that is restored",
        ),
        (
            tar(&[
                (".git", dir()),
                (".git/config", file(b"[core]\n\tfsmonitor = ./a\n")),
            ]),
            "`.git/config` is no part of a repository that is restored",
        ),
        (
            tar(&[
                ("d", dir()),
                ("d/.git", dir()),
                ("d/.git/HEAD", link("../../a")),
            ]),
            "`d/.git/HEAD` is no part of a repository that is restored",
        ),
        (
            tar(&[(".git", file(b"gitdir: /tmp/evil"))]),
            "`.git` is no part of a repository that is restored",
        ),
        (
            tar(&[(".Git", dir())]),
            "the recorded path `.Git` could be taken for `.git`",
        ),
        (
            tar(&[(".g\u{200c}it", dir())]),
            "the recorded path `.g\u{200c}it` could be taken for `.git`",
        ),
        // A mode of setuid, a hard link, a device, a pipe, and a size that is not octal.
        (
            patched(one(), 100, b"0004755"),
            "the recorded tar has an entry with a mode that no worker writes",
        ),
        (
            patched(one(), 156, b"1"),
            "the recorded tar has an entry that is no file, folder or symbolic link",
        ),
        (
            patched(one(), 156, b"3"),
            "the recorded tar has an entry that is no file, folder or symbolic link",
        ),
        (
            patched(one(), 156, b"6"),
            "the recorded tar has an entry that is no file, folder or symbolic link",
        ),
        (
            patched(one(), 156, b"x"),
            "the recorded tar has an entry that is no file, folder or symbolic link",
        ),
        (
            patched(one(), 124, b"\xff\xff\xff\xff"),
            "the recorded tar has a header that no worker writes",
        ),
        (
            patched(one(), 124, b"77777777777"),
            "the recorded tar is cut off",
        ),
        (
            patched(one(), 345, b"/etc"),
            "the recorded tar has a header that no worker writes",
        ),
        (
            other_sum,
            "the recorded tar has a header with a wrong checksum",
        ),
        (
            hidden,
            "the recorded tar has a header that no worker writes",
        ),
        (trailing, "the recorded tar goes on after its end"),
        (one()[..700].to_vec(), "the recorded tar is cut off"),
        (Vec::new(), "the recorded tar is cut off"),
    ];
    let room = TempDir::new().unwrap();
    for (at, (tar, said)) in cases.iter().enumerate() {
        let to = room.path().join(at.to_string());
        let error = restore(tar, &to).unwrap_err().to_string();
        assert_eq!(error, *said, "case {at}");
    }
    // Nothing was written elsewhere.
    let outside = fs::read_dir(room.path()).unwrap().map(Result::unwrap);
    assert!(
        outside.into_iter().all(|entry| entry
            .file_name()
            .to_str()
            .unwrap()
            .parse::<usize>()
            .is_ok())
    );
}

#[test]
fn settings_of_a_repository_that_name_programs_or_passwords_do_not_move() {
    let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = git@git.example:a/b\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
    assert_eq!(plain_config(plain.as_bytes()), plain.as_bytes());
    for line in [
        "[core]\nfsmonitor = x",
        "[core]\nhooksPath = x",
        "[core] fsmonitor = x",
        "[include]\npath = x",
        "[filter \"a\"]\nclean = x",
        "[core]\nbare = false\\\n[alias]\nx = !x",
        "[remote \"a\"]\nurl = ext::sh -c x",
        "[remote \"a\"]\nurl = https://ana:secret@git.example/x",
        "[remote \"a\"]\nurl = https://token@git.example/x",
        "[remote \"a\"]\nurl = --upload-pack=x",
        "[remote \"a\"]\nuploadpack = x",
        "[remote \"a\"]\nproxy = x",
        "[remote \"a\\\"]\n[alias \"b\"]\nurl = /x",
        "[branch \"a\"]\nremote = ext::x",
        "[user]\nname = a\"\\",
    ] {
        assert_eq!(
            String::from_utf8_lossy(&plain_config(line.as_bytes())),
            "",
            "{line}"
        );
    }
}
