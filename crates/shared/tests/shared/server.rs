//! A PostgreSQL server for all tests on this machine: started by the first, stopped after the last.
//!
//! `DATABASE_URL`, a user that may create roles and databases, is used instead if it is set.

use std::{
    collections::hash_map::RandomState,
    env,
    fs::{self, File},
    hash::BuildHasher as _,
    os::unix::{fs::MetadataExt as _, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command},
    str::FromStr as _,
    sync::{Mutex, OnceLock},
};

use interlock_shared::{Address, Database, SharedRuns, Tenant};
use tokio_postgres::{Config, config::Host};

use crate::{
    cluster::{
        admin_of, answer, answers, made_cluster, psql, spawned, start, started, until, wait_for,
    },
    world::World,
};

/// Owns the tables in tests; not a superuser, so that row-level security applies.
pub(crate) const ROLE: &str = "interlock_test";
/// The database that tests share, each as a separate tenant.
const SHARED: &str = "interlock_test";

/// Starts the server `$2…` and stops it when nobody has locked `$1/users` in three checks.
const KEEPER: &str = r#"
dir=$1; shift
"$@" >"$dir/log" 2>&1 </dev/null & pid=$!
idle=0
while kill -0 $pid 2>/dev/null; do
    sleep 1
    if flock -n -x "$dir/users" true; then idle=$((idle + 1)); else idle=0; fi
    if [ $idle -ge 3 ]; then
        exec 8>"$dir/start"
        flock -x 8
        if flock -n -x "$dir/users" true; then
            kill -QUIT $pid
            wait $pid
            rm -rf "$dir/server"
            exit
        fi
        exec 8>&-
        idle=0
    fi
done
"#;

/// A server that tests may use.
pub(crate) struct Server {
    admin: Config,
    /// Locked by every process that uses the server.
    _users: File,
}

/// Returns the server; `None` if there is none on this machine, which is reported.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(Server::find).as_ref();
    if server.is_none() {
        let what = "PostgreSQL is not installed here: `cargo xtask setup` installs it, or set DATABASE_URL";
        assert!(env::var_os("CI").is_none(), "{what}");
        println!("left out: {what}");
    }
    server
}

/// Returns a world whose runs are in the shared log, as a separate tenant.
pub(crate) fn world() -> Option<World> {
    let world = World::new();
    let runs = runs(&world)?;
    Some(world.with_runs(runs))
}

/// Returns the runs of a new tenant, with their folders in `world`.
pub(crate) fn runs(world: &World) -> Option<SharedRuns> {
    let database = server()?.tenant(&new_name("t"));
    Some(SharedRuns::new(database, world.home.path(), None))
}

/// Returns a name that no other test uses.
pub(crate) fn new_name(first: &str) -> String {
    let chance = RandomState::new().hash_one(std::process::id());
    format!("{first}{chance:016x}")
}

impl Server {
    fn find() -> Option<Self> {
        let uid = rustix::process::getuid().as_raw();
        let dir = env::temp_dir().join(format!("interlock-postgres-{uid}"));
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().uid(), uid, "{}", dir.display());
        let lock = |name: &str| {
            let mut options = File::options();
            let opened = options
                .create(true)
                .truncate(false)
                .write(true)
                .open(dir.join(name));
            opened.unwrap()
        };
        // Locked until this process ends, so that nobody stops the server before.
        let users = lock("users");
        users.lock_shared().unwrap();
        let start = lock("start");
        start.lock().unwrap();
        let (admin, ready) = match env::var("DATABASE_URL") {
            Ok(url) => (Config::from_str(&url).unwrap(), dir.join("ready-elsewhere")),
            Err(_) => {
                let place = dir.join("server");
                if UnixStream::connect(place.join(".s.PGSQL.5432")).is_err() {
                    let _ = fs::remove_dir_all(&place);
                    made_cluster(&place)?;
                    let mut keeper = Command::new("sh");
                    keeper.args(["-c", KEEPER, "keeper"]).arg(&dir);
                    keeper.args(started(&place, &["-F"]));
                    // It outlives this process.
                    drop(spawned(keeper));
                    wait_for(&place);
                }
                (admin_of(&place), place.join("ready"))
            }
        };
        let server = Self {
            admin,
            _users: users,
        };
        let url = env::var("DATABASE_URL").unwrap_or_default();
        if fs::read_to_string(&ready).ok() != Some(url.clone()) {
            server.prepare();
            fs::write(&ready, url).unwrap();
        }
        Some(server)
    }

    /// Creates the role and the database that tests share.
    pub(crate) fn prepare(&self) {
        let is_there = |sql: &str| self.sql("postgres", sql).contains('1');
        if !is_there("SELECT 1 FROM pg_roles WHERE rolname = 'interlock_test'") {
            self.sql(
                "postgres",
                "CREATE ROLE interlock_test LOGIN PASSWORD 'interlock_test'",
            );
        }
        if !is_there("SELECT 1 FROM pg_database WHERE datname = 'interlock_test'") {
            self.sql(
                "postgres",
                "CREATE DATABASE interlock_test OWNER interlock_test",
            );
        }
    }

    /// Returns the parameters with which `user` connects to `database`.
    pub(crate) fn words(&self, database: &str, user: &str) -> String {
        let host = match &self.admin.get_hosts()[0] {
            Host::Unix(path) => path.display().to_string(),
            Host::Tcp(name) => name.clone(),
        };
        let port = self.admin.get_ports().first().copied().unwrap_or(5432);
        format!(
            "host={host} port={port} user={user} password={user} dbname={database} sslmode=disable"
        )
    }

    /// Executes statements as an administrator; returns the output.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        let mut words = self.words(database, self.admin.get_user().unwrap());
        if let Some(password) = self.admin.get_password() {
            let password = String::from_utf8_lossy(password);
            words = words.replace(
                &format!("password={}", self.admin.get_user().unwrap()),
                &format!("password={password}"),
            );
        }
        answer(psql(&words, sql)).unwrap_or_else(|said| panic!("{sql}: {said}"))
    }

    /// Executes statements like a program that forgets to set its tenant.
    pub(crate) fn unfiltered(
        &self,
        database: &str,
        tenant: &str,
        sql: &str,
    ) -> Result<String, String> {
        let mut command = psql(&self.words(database, ROLE), sql);
        command.env("PGOPTIONS", format!("-c interlock.tenant={tenant}"));
        answer(command)
    }

    /// Creates an empty database and returns its name.
    pub(crate) fn new_database(&self) -> String {
        let name = new_name("d");
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER {ROLE}"));
        name
    }

    /// Drops a database that a test has created.
    pub(crate) fn drop_database(&self, name: &str) {
        self.sql("postgres", &format!("DROP DATABASE {name} WITH (FORCE)"));
    }

    /// Returns the address of a database.
    pub(crate) fn address(&self, database: &str) -> Address {
        Address::new(&self.words(database, ROLE), None).unwrap()
    }

    /// Creates a tenant and returns its shared log.
    pub(crate) fn tenant(&self, tenant: &str) -> Database {
        self.tenant_in(SHARED, tenant)
    }

    /// Creates a tenant in another database.
    pub(crate) fn tenant_in(&self, database: &str, tenant: &str) -> Database {
        let database = Database::at(self.address(database), Tenant::new(tenant).unwrap()).unwrap();
        database.init().unwrap();
        database
    }
}

/// A server for one test alone, on its own directory; stopped on drop.
pub(crate) struct OwnServer {
    place: PathBuf,
    process: Mutex<Child>,
    pub(crate) server: Server,
}

impl OwnServer {
    /// Creates one in `place`, which must be unused, and starts it.
    pub(crate) fn start(place: &Path, settings: &[&str]) -> Option<Self> {
        made_cluster(place)?;
        let own = Self {
            place: place.to_owned(),
            process: Mutex::new(start(place, settings)),
            server: Server {
                admin: admin_of(place),
                _users: File::open(place).unwrap(),
            },
        };
        wait_for(place);
        own.server.prepare();
        Some(own)
    }

    /// Kills the server at once, with the processes of its connections, which would answer one more command each.
    pub(crate) fn kill(&self) {
        let mut process = self.process.lock().unwrap();
        let of_connections = children(process.id());
        process.kill().unwrap();
        process.wait().unwrap();
        let mut kill = Command::new("kill");
        // Some have ended by themselves.
        let _ = kill.arg("-KILL").args(of_connections).output();
    }

    /// Starts it again, as soon as the last process of the killed one has exited.
    pub(crate) fn start_again(&self) {
        let mut process = self.process.lock().unwrap();
        until("the server answers", || {
            if process.try_wait().unwrap().is_some() {
                *process = start(&self.place, &[]);
            }
            answers(&self.place)
        });
    }
}

/// Returns the ids of the processes that a process has started.
fn children(of: u32) -> Vec<String> {
    let of = of.to_string();
    let ids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let id = entry.ok()?.file_name().into_string().ok()?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name before the closing parenthesis may contain anything; the parent is the second field after it.
        let (_, fields) = stat.rsplit_once(") ")?;
        (fields.split(' ').nth(1) == Some(&of)).then_some(id)
    });
    ids.collect()
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let mut process = self.process.lock().unwrap();
        let pid = process.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = process.wait();
    }
}
