//! `package`: builds the published packages from the built programs, in `target/package`.

mod archive;
mod beside;
mod deb;
mod homebrew;
mod npm;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, bail};

use crate::{steps::Steps, tools};

/// The input and output of packaging.
struct Packing {
    /// The built program.
    binary: PathBuf,
    /// The built program of `interlock shared`.
    shared_binary: PathBuf,
    /// The built program of `interlock worker`.
    worker_binary: PathBuf,
    /// The target that it was built for.
    target: String,
    /// The output folder.
    to: PathBuf,
}

/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let mut kinds = Vec::new();
    let (mut binary, mut shared_binary, mut worker_binary) = (None, None, None);
    let (mut target, mut to) = (None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let place = match *word {
            "--binary" => &mut binary,
            "--shared-binary" => &mut shared_binary,
            "--worker-binary" => &mut worker_binary,
            "--target" => &mut target,
            "--to" => &mut to,
            kind if KINDS.iter().any(|(known, _)| *known == kind) => {
                kinds.push(kind);
                continue;
            }
            other => bail!("`{other}` means nothing here: there are {}", known()),
        };
        *place = Some(
            *words
                .next()
                .with_context(|| format!("`{word}` needs a value"))?,
        );
    }
    let target = match target {
        Some(target) => target.to_owned(),
        None => host()?,
    };
    let program = |given: Option<&str>, name: &str| match given {
        Some(path) => fs::canonicalize(path).with_context(|| format!("`{path}` is not there")),
        None => Ok(tools::root().join("target/release").join(name)),
    };
    let packing = Packing {
        binary: program(binary, "interlock")?,
        shared_binary: program(shared_binary, beside::SHARED.program)?,
        worker_binary: program(worker_binary, beside::WORKER.program)?,
        target,
        to: to.map_or_else(|| tools::root().join("target/package"), PathBuf::from),
    };
    let mut steps = Steps::default();
    let packs = |kind: &str| kinds.is_empty() || kinds.contains(&kind);
    // The formula depends on the archives' checksums only, not on the program.
    let packs_program = ["npm", "archive", "deb"].into_iter().any(packs);
    for (is_packed, given, name) in [
        (packs_program, binary, "interlock"),
        (packs("shared"), shared_binary, beside::SHARED.program),
        (packs("worker"), worker_binary, beside::WORKER.program),
    ] {
        if is_packed && given.is_none() {
            let build = ["build", "--locked", "--release", "--package", name];
            steps.command("build", tools::cargo(&build));
        }
    }
    for (kind, make) in KINDS {
        if packs(kind) {
            steps.own(kind, "packed", || make(&packing));
        }
    }
    Ok(steps.finish())
}

type Make = fn(&Packing) -> Result<()>;

const KINDS: &[(&str, Make)] = &[
    ("npm", npm::make),
    ("archive", archive::make),
    ("deb", deb::make),
    ("shared", |packing| {
        beside::make(&beside::SHARED, &packing.shared_binary, packing)
    }),
    ("worker", |packing| {
        beside::make(&beside::WORKER, &packing.worker_binary, packing)
    }),
    ("homebrew", homebrew::make),
];

fn known() -> String {
    let kinds: Vec<String> = KINDS.iter().map(|(kind, _)| format!("`{kind}`")).collect();
    let options = "`--binary`, `--shared-binary`, `--worker-binary`, `--target` and `--to`";
    format!("{}, {options}", kinds.join(", "))
}

/// Returns the default target of builds.
fn host() -> Result<String> {
    let said = tools::answer(&mut tools::program("rustc", &["-vV"]));
    let said = said.context("`rustc` does not say what it builds for")?;
    let line = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("`rustc -vV` names no host")?.to_owned())
}

/// Creates an empty folder, replacing an existing one.
fn emptied(folder: &Path) -> Result<PathBuf> {
    let failed = || format!("`{}` cannot be made empty", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(failed)?;
    }
    fs::create_dir_all(folder).with_context(failed)?;
    Ok(folder.to_owned())
}

/// Copies a file, and creates its parent folders.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = || {
        format!(
            "`{}` cannot be copied to `{}`",
            from.display(),
            to.display()
        )
    };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    fs::copy(from, to).map(drop).with_context(failed)
}

/// Writes a file, and creates its parent folders.
fn write(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("`{}` cannot be written", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    fs::write(path, text).with_context(failed)
}

/// Copies the program and makes it executable for everyone.
fn copy_program(from: &Path, to: &Path) -> Result<()> {
    copy(from, to)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Copies files of the project.
fn copy_own(names: &[&str], to: &Path) -> Result<()> {
    names
        .iter()
        .try_for_each(|name| copy(&tools::root().join(name), &to.join(name)))
}

/// Runs a program to its end; returns its standard output.
fn ran(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command
        .output()
        .with_context(|| format!("{shown} cannot be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} ended with {}: {said}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The pages that the program generates: completions by shell, and the manual.
const PAGES: &[(&str, &[&str])] = &[
    ("completions/interlock.bash", &["completions", "bash"]),
    ("completions/_interlock", &["completions", "zsh"]),
    ("completions/interlock.fish", &["completions", "fish"]),
    ("man/interlock.1", &["man"]),
];

/// Writes these pages below a folder, with their names in the archive.
fn write_pages(binary: &Path, folder: &Path) -> Result<()> {
    for (name, words) in PAGES {
        write(&folder.join(name), &ran(Command::new(binary).args(*words))?)?;
    }
    Ok(())
}

/// Returns the modification time of files in archives, so that the archives are reproducible.
fn epoch() -> String {
    env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| "0".to_owned())
}
