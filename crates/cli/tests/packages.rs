//! The published packages, made from the built program and installed as a stranger would, without a network.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
    time::UNIX_EPOCH,
};

use interlock_testkit::{
    programs,
    room::{Room, expect_success},
};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Runs a program, which must succeed, and returns its output.
fn ran(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    expect_success(&format!("{command:?}"), &output).unwrap();
    text(&output)
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

/// Returns the folder of all packages, whose program has no debug information, as in a release.
///
/// They are made once for a built program, by whichever test comes first: each test may be a process of its own.
fn packages() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
        fs::create_dir_all(&all).unwrap();
        let lock = fs::File::create(all.join("lock")).unwrap();
        lock.lock().unwrap();
        let about = fs::metadata(INTERLOCK).unwrap();
        let built = about.modified().unwrap().duration_since(UNIX_EPOCH);
        let made = all.join(format!("{}-{}", about.len(), built.unwrap().as_nanos()));
        if made.is_dir() {
            return made;
        }
        for old in fs::read_dir(&all).unwrap().map(|old| old.unwrap().path()) {
            if old.is_dir() {
                fs::remove_dir_all(old).unwrap();
            }
        }
        let folder = tempfile::tempdir_in(&all).unwrap();
        let binary = folder.path().join("interlock");
        ran(Command::new("strip").arg("-o").arg(&binary).arg(INTERLOCK));
        let packed = folder.path().join("package");
        let stripped = |name: &str| {
            let built = programs::built(name, name, INTERLOCK).unwrap();
            let to = folder.path().join(name);
            ran(Command::new("strip").arg("-o").arg(&to).arg(built));
            to
        };
        let (shared, worker) = (stripped("interlock-shared"), stripped("interlock-worker"));
        let xtask = programs::built("xtask", "xtask", INTERLOCK).unwrap();
        let mut pack = Command::new(xtask);
        pack.args([
            "package", "npm", "archive", "deb", "shared", "worker", "homebrew",
        ]);
        pack.arg("--shared-binary").arg(shared);
        pack.arg("--worker-binary").arg(worker);
        // A release is compressed as much as possible. For a test build that takes a minute, and no test looks at the
        // size.
        pack.env("DPKG_DEB_COMPRESSOR_TYPE", "gzip");
        pack.env("DPKG_DEB_COMPRESSOR_LEVEL", "1");
        ran(pack.arg("--binary").arg(binary).arg("--to").arg(&packed));
        fs::rename(packed, &made).unwrap();
        made
    })
}

/// Returns the one file in the folder of archives whose name begins with `start` and a digit or a line, and ends with
/// `ending`.
fn packed(start: &str, ending: &str) -> PathBuf {
    let entries = fs::read_dir(packages().join("archive")).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_it = |name: &String| {
        let rest = name.strip_prefix(start).unwrap_or_default();
        rest.starts_with(['-', '_'])
            && rest
                .get(1..)
                .is_some_and(|rest| rest.starts_with(char::is_numeric))
            && rest.ends_with(ending)
    };
    let name = names.find(is_it);
    let name = name.unwrap_or_else(|| panic!("no `{start}` with `{ending}`"));
    packages().join("archive").join(name)
}

/// Returns a room with a home into which the two npm packages are installed.
fn with_npm() -> Room {
    let room = Room::new().unwrap();
    let platform = fs::read_dir(packages().join("npm")).unwrap();
    let mut tarballs: Vec<PathBuf> = platform.map(|entry| entry.unwrap().path()).collect();
    tarballs.sort();
    assert_eq!(tarballs.len(), 2, "{tarballs:?}");
    let mut npm = room.command("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund"])
        .args(tarballs);
    ran(&mut npm);
    room
}

#[test]
fn npx_runs_the_demo_from_the_packages_of_npm() {
    let room = with_npm();
    let mut demo = room.command("npx");
    let said = ran(demo.args(["--offline", "interlock", "demo"]));
    assert!(said.contains("interlock"), "{said}");
    for name in [
        "node_modules/@interlock-cli/interlock",
        "node_modules/@interlock-cli/linux-x64",
    ] {
        for file in ["LICENSE", "README.md"] {
            assert!(
                room.project().join(name).join(file).is_file(),
                "{name}/{file}"
            );
        }
    }
    let mut wrong = room.command("npx");
    let wrong = wrong.args(["--offline", "interlock", "no-such-command"]);
    assert_eq!(wrong.output().unwrap().status.code(), Some(2));
}

#[test]
fn hooks_start_the_program_and_not_node() {
    let room = with_npm();
    let mut init = room.command("npx");
    let shown = ran(init.args(["--offline", "interlock", "init", "--yes", "claude-code"]));
    // `interlock` is on the PATH, and starts Node: no advice to put it there is printed.
    assert!(
        shown.contains("which others do not have: use `--local`"),
        "{shown}"
    );
    let settings = room.read(".claude/settings.json").unwrap();
    let program = room
        .project()
        .join("node_modules/@interlock-cli/linux-x64/bin/interlock");
    assert!(settings.contains(&*program.to_string_lossy()), "{settings}");
    assert!(!settings.contains("interlock.js"), "{settings}");
}

#[test]
fn the_launcher_says_what_is_missing_and_passes_signals_on() {
    let room = with_npm();
    let launcher = room.project().join("node_modules/.bin/interlock");
    let mut waits = room.command(&launcher);
    waits
        .args(["gateway"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = waits.spawn().unwrap();
    // It answers before the signal is sent, so the signal finds it running.
    let mut stdin = child.stdin.take().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    std::io::Write::write_all(&mut stdin, format!("{hello}\n").as_bytes()).unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert!(line.contains("serverInfo"), "{line}");
    ran(Command::new("kill").arg(child.id().to_string()));
    assert!(child.wait().unwrap().code().is_some());

    fs::remove_dir_all(room.project().join("node_modules/@interlock-cli/linux-x64")).unwrap();
    let output = room.command(&launcher).arg("status").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("optional dependency"), "{output:?}");
}

/// Runs the install script in a room, with the release in `folder`.
fn install(room: &Room, folder: &Path, arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../install.sh");
    let mut shell = room.command("/bin/sh");
    shell
        .arg(script)
        .args(arguments)
        .env("INTERLOCK_BASE_URL", format!("file://{}", folder.display()));
    shell.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_script_installs_what_has_the_right_checksum() {
    let room = Room::new().unwrap();
    let release = packages().join("archive");
    let output = install(&room, &release, &[]);
    expect_success("install.sh", &output).unwrap();
    let program = room.home().join(".local/bin/interlock");
    assert!(ran(room.command(&program).arg("--version")).contains(env!("CARGO_PKG_VERSION")));
    ran(room.command(&program).arg("demo"));

    let elsewhere = room.path("else where");
    let elsewhere = elsewhere.to_str().unwrap();
    let output = install(&room, &release, &["--dir", elsewhere]);
    expect_success("install.sh", &output).unwrap();
    assert!(Path::new(elsewhere).join("interlock").is_file());
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 1);
}

#[test]
fn the_programs_for_a_team_are_installed_next_to_the_other_one() {
    let room = Room::new().unwrap();
    let words = ["--shared", "--worker"];
    let output = install(&room, &packages().join("archive"), &words);
    expect_success("install.sh", &output).unwrap();
    let to = room.path("root");
    let besides = ["shared", "worker"];
    for name in ["interlock", "interlock-shared", "interlock-worker"] {
        let deb = packed(name, ".deb");
        ran(Command::new("dpkg-deb").arg("--extract").arg(&deb).arg(&to));
    }
    for program in [
        room.home().join(".local/bin/interlock"),
        to.join("usr/bin/interlock"),
    ] {
        for beside in besides {
            let said = ran(room.command(&program).args([beside, "--version"]));
            assert!(said.contains(env!("CARGO_PKG_VERSION")), "{said}");
        }
    }
    for beside in besides {
        let deb = packed(&format!("interlock-{beside}"), ".deb");
        let needs = ran(Command::new("dpkg-deb")
            .arg("--field")
            .arg(&deb)
            .arg("Depends"));
        let wanted = format!("interlock (= {})", env!("CARGO_PKG_VERSION"));
        assert!(needs.contains(&wanted), "{needs}");
    }
}

#[test]
fn the_script_installs_nothing_that_is_not_what_was_published() {
    let room = Room::new().unwrap();
    let program = room.home().join(".local/bin/interlock");
    let release = room.path("release");
    fs::create_dir_all(&release).unwrap();
    let archive = packed("interlock", ".tar.gz");
    let copy = release.join(archive.file_name().unwrap());
    let sums = packages().join("archive/SHA256SUMS");
    let mut bytes = fs::read(&archive).unwrap();
    bytes.push(0);
    fs::write(&copy, bytes).unwrap();
    fs::copy(&sums, release.join("SHA256SUMS")).unwrap();
    let refused = |words: &[&str], why: &str| {
        let output = install(&room, &release, words);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output).contains(why), "{output:?}");
        assert!(!program.exists());
    };
    refused(&[], "nothing was installed");
    refused(&["--dirr", "x"], "is not an option");
    // The checksum is right, but the program is one of another system.
    let stem = archive.file_name().unwrap().to_str().unwrap();
    let stem = stem.strip_suffix(".tar.gz").unwrap();
    fs::create_dir_all(release.join(stem)).unwrap();
    fs::write(release.join(stem).join("interlock"), "#!/no/such/loader\n").unwrap();
    let pack = format!("tar -czf {stem}.tar.gz {stem} && sha256sum -- *.tar.gz >SHA256SUMS");
    ran(Command::new("sh").args(["-c", &pack]).current_dir(&release));
    refused(&[], "does not start on this system");
    let left = fs::read_dir(program.parent().unwrap()).unwrap();
    assert_eq!(left.count(), 0);
    fs::write(release.join("SHA256SUMS"), "0  interlock-1-none.tar.gz\n").unwrap();
    refused(&[], "no archive for");
    fs::remove_file(release.join("SHA256SUMS")).unwrap();
    refused(&[], "no list of checksums");
}

#[test]
fn the_archive_and_the_package_of_debian_hold_what_belongs_to_a_program() {
    let listed = ran(Command::new("tar")
        .arg("-tzf")
        .arg(packed("interlock", ".tar.gz")));
    for file in [
        "/interlock\n",
        "/LICENSE\n",
        "/README.md\n",
        "/completions/_interlock\n",
        "/completions/interlock.bash\n",
        "/completions/interlock.fish\n",
        "/man/interlock.1\n",
    ] {
        assert!(listed.contains(file), "{file} {listed}");
    }
    let check = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(packages().join("archive"))
        .output()
        .unwrap();
    expect_success("sha256sum", &check).unwrap();

    let deb = packed("interlock", ".deb");
    let root = Room::new().unwrap();
    let to = root.path("root");
    ran(Command::new("dpkg-deb").arg("--extract").arg(&deb).arg(&to));
    let said = ran(root.command(to.join("usr/bin/interlock")).arg("--version"));
    assert!(said.contains(env!("CARGO_PKG_VERSION")), "{said}");
    assert!(to.join("usr/share/man/man1/interlock.1.gz").is_file());
    let fields = ran(Command::new("dpkg-deb").arg("--field").arg(&deb));
    assert!(fields.contains("Package: interlock\n"), "{fields}");
    assert!(fields.contains("Depends: libc6 (>= 2.35)\n"), "{fields}");

    let formula = fs::read_to_string(packages().join("interlock.rb")).unwrap();
    assert!(!formula.contains("@SHA256_LINUX_X64@"), "{formula}");
}
