//! The programs of PostgreSQL: creating a server's files, starting it, and querying it.

use std::{
    env, fs,
    os::unix::{net::UnixStream, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    str::FromStr as _,
    thread,
    time::{Duration, Instant},
};

use tokio_postgres::Config;

pub(crate) fn start(place: &Path, settings: &[&str]) -> Child {
    let mut words = started(place, settings).into_iter();
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    spawned(command)
}

/// Starts a process that outlives its caller.
pub(crate) fn spawned(mut command: Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command.spawn().unwrap()
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "not yet: {what}");
        thread::yield_now();
        thread::park_timeout(Duration::from_millis(10));
    }
}

pub(crate) fn wait_for(place: &Path) {
    until("the server answers", || answers(place));
}

pub(crate) fn answers(place: &Path) -> bool {
    let words = format!("host={} user=postgres dbname=postgres", place.display());
    UnixStream::connect(place.join(".s.PGSQL.5432")).is_ok()
        && answer(psql(&words, "SELECT 1")).is_ok()
}

pub(crate) fn admin_of(place: &Path) -> Config {
    let words = format!("host={} user=postgres dbname=postgres", place.display());
    Config::from_str(&words).unwrap()
}

/// Creates the files of a server; returns `None` if its programs are not installed.
pub(crate) fn made_cluster(place: &Path) -> Option<()> {
    let bin = programs()?;
    fs::create_dir_all(place).unwrap();
    if is_root() {
        let own = Command::new("chown").arg("nobody").arg(place).status();
        assert!(own.unwrap().success());
    }
    let mut words = as_user(vec![
        bin.join("initdb").display().to_string(),
        "--no-sync".to_owned(),
        "--auth=trust".to_owned(),
        "--encoding=UTF8".to_owned(),
        "--locale=C".to_owned(),
        "--username=postgres".to_owned(),
        format!("--pgdata={}", place.join("data").display()),
    ])
    .into_iter();
    let made = Command::new(words.next().unwrap())
        .args(words)
        .current_dir("/")
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let rules = "local all with_password scram-sha-256\nlocal all all trust\n";
    fs::write(place.join("data/pg_hba.conf"), rules).unwrap();
    Some(())
}

/// Returns the command line of a server on a socket in `place`.
pub(crate) fn started(place: &Path, settings: &[&str]) -> Vec<String> {
    let postgres = programs().unwrap().join("postgres").display().to_string();
    let data = place.join("data").display().to_string();
    let socket = place.display().to_string();
    let mut words = vec![postgres, "-D".to_owned(), data, "-k".to_owned(), socket];
    let common = [
        "-h",
        "",
        "-c",
        "shared_buffers=16MB",
        "-c",
        "max_connections=60",
    ];
    words.extend(
        common
            .into_iter()
            .chain(settings.iter().copied())
            .map(str::to_owned),
    );
    as_user(words)
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Runs as another user if necessary, because PostgreSQL refuses to run as root.
fn as_user(words: Vec<String>) -> Vec<String> {
    if !is_root() {
        return words;
    }
    let user = [
        "setpriv",
        "--reuid=nobody",
        "--regid=nogroup",
        "--clear-groups",
    ];
    user.into_iter().map(str::to_owned).chain(words).collect()
}

/// Finds the programs of the newest installed version.
fn programs() -> Option<PathBuf> {
    let version = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse::<u32>().ok()?;
        Some((number, entry.path().join("bin")))
    };
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let newest = debian.flatten().filter_map(version).max();
    let path = env::var_os("PATH").unwrap_or_default();
    let all = newest
        .map(|(_, bin)| bin)
        .into_iter()
        .chain(env::split_paths(&path));
    let mut whole =
        all.filter(|bin| bin.join("initdb").is_file() && bin.join("postgres").is_file());
    whole.next()
}

pub(crate) fn psql(words: &str, sql: &str) -> Command {
    let psql = programs().map_or_else(|| PathBuf::from("psql"), |bin| bin.join("psql"));
    let mut command = Command::new(psql);
    command
        .args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            words,
            "-c",
            sql,
        ])
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

pub(crate) fn answer(mut command: Command) -> Result<String, String> {
    let output = command.output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
