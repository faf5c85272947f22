//! The programs that the chores call, and paths of the workspace.

use std::{
    env, fs,
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, bail};

/// The oldest version of Node that the real clients support.
const NODE_MAJOR_MIN: u32 = 20;
const SECONDS_A_DAY: u64 = 86_400;

/// Returns the root of the workspace.
pub(crate) fn root() -> PathBuf {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_root.parent().unwrap_or(crate_root).to_owned()
}

/// Returns whether output goes to a person at a terminal.
pub(crate) fn on_terminal() -> bool {
    std::io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none()
}

/// Returns a command for the program, in the workspace and without input.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::null());
    command
}

/// Returns a Cargo command that is independent of the `cargo run` that started this program.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::null());
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        // Build scripts that watch these would be rerun.
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    if on_terminal() {
        // The output is read through a pipe on its way to the terminal.
        command.env("CARGO_TERM_COLOR", "always");
    }
    command
}

/// Returns whether the program is installed.
pub(crate) fn installed(name: &str, arguments: &[&str]) -> bool {
    answer(&mut program(name, arguments)).is_some()
}

/// Returns a command for the tests of a package whose names begin with `module`.
pub(crate) fn tests_of(package: &str, module: &str) -> Command {
    let test = [
        "test",
        "--locked",
        "--package",
        package,
        "--test",
        "integration",
    ];
    let mut command = cargo(&test);
    command.arg(format!("{module}::"));
    command
}

/// Returns the current day, by the system clock, as days since 1970-01-01.
pub(crate) fn days_since_1970() -> Result<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.context("the clock is before 1970")?;
    Ok(since.as_secs() / SECONDS_A_DAY)
}

/// Returns whether Cargo has the subcommand.
pub(crate) fn cargo_has(subcommand: &str) -> bool {
    answer(&mut cargo(&[subcommand, "--version"])).is_some()
}

/// Returns the program's trimmed output, if it succeeds.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Programs that the tests start, with their Debian packages.
const PROGRAMS: &[(&str, &str)] = &[
    ("bc", "bc"),
    ("bzip2", "bzip2"),
    ("chromium", "chromium"),
    ("curl", "curl"),
    ("dash", "dash"),
    ("ed", "ed"),
    ("file", "file"),
    ("gcc", "gcc"),
    ("gdb", "gdb"),
    ("go", "golang-go"),
    ("gotestsum", "gotestsum"),
    ("ip", "iproute2"),
    ("java", "default-jre-headless"),
    ("jq", "jq"),
    ("less", "less"),
    ("lsof", "lsof"),
    ("make", "make"),
    ("man", "man-db"),
    ("mawk", "mawk"),
    ("mona", "mona"),
    ("nm", "binutils"),
    ("patch", "patch"),
    ("perl", "perl"),
    ("ps", "procps"),
    ("python3", "python3"),
    ("rumur", "rumur"),
    ("spin", "spin"),
    ("sqlite3", "sqlite3"),
    ("strace", "strace"),
    ("tclsh", "tcl"),
    ("unzip", "unzip"),
    ("vim", "vim"),
    ("wget", "wget"),
    ("xxd", "xxd"),
    ("xz", "xz-utils"),
    ("yq", "yq"),
    ("zip", "zip"),
    ("zsh", "zsh"),
    ("zstd", "zstd"),
];

/// Directory of PostgreSQL servers on Debian, by version.
const POSTGRES: &str = "/usr/lib/postgresql";

/// Returns the packages to install before the tests can run.
fn missing_programs() -> Vec<&'static str> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| env::split_paths(&path).any(|place| place.join(name).is_file());
    let missing = PROGRAMS.iter().filter(|(name, _)| !is_there(name));
    let mut missing: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if env::var_os("DATABASE_URL").is_none() && !is_there("initdb") && !has_postgres() {
        missing.push("postgresql");
    }
    missing
}

/// Returns whether a PostgreSQL server is installed; Debian does not add it to the `PATH`.
fn has_postgres() -> bool {
    let versions = fs::read_dir(POSTGRES).into_iter().flatten().flatten();
    let mut programs = versions.map(|version| version.path().join("bin/initdb"));
    programs.any(|program| program.is_file())
}

/// Checks that the programs that the tests start are installed.
pub(crate) fn check_programs() -> Result<()> {
    let needed = [
        ("git", "install it from your system's packages"),
        ("bash", "install it from your system's packages"),
        ("npm", "it comes with Node"),
        (
            "python3",
            "install it from your system's packages, with its pip",
        ),
    ];
    for (name, remedy) in needed {
        if !installed(name, &["--version"]) {
            bail!("`{name}` is not installed, and the tests call it: {remedy}");
        }
    }
    install_programs()?;
    check_node()
}

/// Installs the missing packages, if this process may.
fn install_programs() -> Result<()> {
    let missing = missing_programs();
    if missing.is_empty() {
        return Ok(());
    }
    println!("programs of the tests: installing {}", missing.join(" "));
    let apt = |arguments: &[&str]| {
        let mut command = program("apt-get", arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        answer(&mut command).is_some()
    };
    let install = [&["install", "-y", "--no-install-recommends"], &missing[..]].concat();
    // The package lists may be missing or outdated.
    if !apt(&install) {
        apt(&["update"]);
        apt(&install);
    }
    let missing = missing_programs();
    if !missing.is_empty() {
        bail!(
            "the tests start programs that are not installed and could not be: `apt-get install {}` as root",
            missing.join(" ")
        );
    }
    Ok(())
}

/// Checks that Node is installed and new enough.
pub(crate) fn check_node() -> Result<()> {
    let Some(version) = answer(&mut program("node", &["--version"])) else {
        bail!(
            "`node` is not installed, and the real clients need it: install Node {NODE_MAJOR_MIN} or newer"
        );
    };
    let major = version.trim_start_matches('v').split('.').next();
    let major: u32 = major
        .unwrap_or_default()
        .parse()
        .with_context(|| format!("`node --version` says `{version}`, which is not a version"))?;
    if major < NODE_MAJOR_MIN {
        bail!("Node is `{version}`, and the real clients need {NODE_MAJOR_MIN} or newer");
    }
    Ok(())
}

/// Returns the directory of a build profile, beside the one that contains this program.
pub(crate) fn built(profile: &str) -> Result<PathBuf> {
    let own = env::current_exe().context("the place of xtask itself is not known")?;
    let target = own.parent().and_then(Path::parent);
    let target = target.with_context(|| format!("`{}` lies in no target", own.display()))?;
    Ok(target.join(profile))
}

/// Reads a text file; an error contains its path.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("`{}` cannot be read", path.display()))
}
