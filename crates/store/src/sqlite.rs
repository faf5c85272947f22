//! One SQLite file per run: opening, layout and errors. No other module knows the settings.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig, ffi};

use crate::{durability::Durability, error::StoreError};

/// Identifies a database as a run of Interlock: `ILCK`.
const APPLICATION_ID: i64 = 0x494c_434b;
/// Layout that this code writes and reads.
const LAYOUT: i64 = 2;
/// Waits briefly for another process's transaction, given the number of earlier waits; `false` gives up.
pub(crate) type Rest = fn(i32) -> bool;
/// Maximum wait for another process's transaction.
const BUSY_WAIT: Duration = Duration::from_millis(1_500);
/// Size in bytes of the write-ahead log above which an append checkpoints it.
///
/// A process that opens the run alone first reads the whole log. Every call pays for that, but only every fortieth call pays
/// for a checkpoint.
pub(crate) const LOG_BYTES_MAX: u64 = 160 * 1024;
/// The same for a process that keeps the run open, so that others need not read the log meanwhile.
pub(crate) const KEPT_LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Page cache of a connection in KiB: enough for the pages of an append, and some more.
///
/// A gateway has one connection for each session; SQLite's default of 2 MiB each would fill up with their logs.
const CACHE_KIB: i64 = 48;
/// Minimum page size of a database.
const PAGE_BYTES_MIN: u64 = 512;

// The small columns stand before the large ones, so that reading them reads one page.
const TABLES: &str = "
CREATE TABLE pin (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    run TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    project_root TEXT NOT NULL,
    person_home TEXT NOT NULL,
    name TEXT,
    workflow TEXT NOT NULL,
    durability TEXT NOT NULL,
    digest BLOB NOT NULL,
    source_name TEXT NOT NULL,
    machine BLOB NOT NULL,
    source TEXT NOT NULL
) STRICT;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE TABLE snapshots (
    seq INTEGER PRIMARY KEY,
    engine TEXT NOT NULL,
    head BLOB NOT NULL,
    body BLOB NOT NULL,
    digest BLOB NOT NULL
) STRICT;
";

/// Creates an empty database at `path`, which must not exist yet.
pub(crate) fn create(path: &Path) -> Result<Connection, StoreError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| StoreError::io("write", path, error))?;
    let connection = connect(path)?;
    let failed = failed(path);
    // Once; the file remembers it.
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .and_then(|()| connection.execute_batch(TABLES))
        .and_then(|()| connection.pragma_update(None, "user_version", LAYOUT))
        .and_then(|()| connection.pragma_update(None, "application_id", APPLICATION_ID))
        .map_err(&failed)?;
    // The new file is carried over whole when it is closed; nobody else has it yet.
    configure(&connection, path, Durability::Power)?;
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        .map_err(failed)?;
    Ok(connection)
}

/// Opens the database of an existing run, not yet configured; never creates one.
pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    let found = fs::symlink_metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::damaged(path, "the file is missing"),
        _ => StoreError::io("read", path, error),
    })?;
    if !found.is_file() {
        return Err(StoreError::Unsafe {
            path: path.to_owned(),
            why: "it is not a plain file; move it away".to_owned(),
        });
    }
    // Less than a page passes for a new database, which nobody writes here.
    if found.len() < PAGE_BYTES_MIN {
        let what = format!("the file ends after {} bytes", found.len());
        return Err(StoreError::damaged(path, what));
    }
    let connection = connect(path)?;
    check_layout(&connection, path)?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags).map_err(failed(path))?;
    let settings = [
        // The last to close would carry the write-ahead log over, at a disk's time for each
        // call, and into a damaged file as well.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // A tampered file must not act while it is read.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        // Otherwise a statement with a bound limit is planned anew each time it is bound.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
    ];
    connection
        .busy_timeout(BUSY_WAIT)
        .and_then(|()| {
            settings
                .into_iter()
                .try_for_each(|(setting, on)| connection.set_db_config(setting, on).map(|_| ()))
        })
        .map_err(failed(path))?;
    Ok(connection)
}

/// Configures an open connection; nothing of this is stored in the file.
pub(crate) fn configure(
    connection: &Connection,
    path: &Path,
    durability: Durability,
) -> Result<(), StoreError> {
    let synchronous = match durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection
        .pragma_update(None, "synchronous", synchronous)
        .map_err(failed(path))
}

/// Configures a connection that stays open; without this, it would be slower or larger.
///
/// A connection that ends with its call neither reaches SQLite's own checkpoint nor reads enough pages to cache them.
pub(crate) fn configure_kept(connection: &Connection) {
    let _ = connection.pragma_update(None, "wal_autocheckpoint", 0);
    // A negative number counts KiB.
    let _ = connection.pragma_update(None, "cache_size", -CACHE_KIB);
}

/// Checkpoints the write-ahead log into the database once it is longer than `bytes_max`, and truncates it.
///
/// SQLite's own checkpoint does not shorten the log. The next process that opens it alone would treat all of it as new, append
/// to it, and checkpoint all of it again, each time. Nothing happens while another process reads; a later append will do it.
pub(crate) fn carry_over(
    connection: &mut Connection,
    path: &Path,
    bytes_max: u64,
    rest: Option<Rest>,
) -> Result<(), StoreError> {
    let log = path.with_extension("db-wal");
    let grown = fs::metadata(&log).is_ok_and(|found| found.len() > bytes_max);
    if !grown {
        return Ok(());
    }
    let carried = connection
        .busy_timeout(Duration::ZERO)
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    let patient = match rest {
        Some(rest) => connection.busy_handler(Some(rest)),
        None => connection.busy_timeout(BUSY_WAIT),
    };
    patient.and(carried).map_err(failed(path))
}

/// How a transaction begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// For reading.
    Deferred,
    /// For writing; it excludes other writers.
    Immediate,
}

/// A transaction, which is rolled back if it is dropped before it is committed.
///
/// Its statements are cached, because preparing them takes a tenth of the time of an append.
#[derive(Debug)]
pub(crate) struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    /// Begins a transaction; none may be open.
    pub(crate) fn begin(connection: &'a Connection, begin: Begin) -> rusqlite::Result<Self> {
        let statement = match begin {
            Begin::Deferred => "BEGIN DEFERRED",
            Begin::Immediate => "BEGIN IMMEDIATE",
        };
        connection.prepare_cached(statement)?.execute([])?;
        Ok(Self(connection))
    }

    /// Commits the transaction.
    pub(crate) fn commit(self) -> rusqlite::Result<()> {
        self.0.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // Nobody could be told; the next to begin one would fail.
        if !self.0.is_autocommit() {
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

// Asked of the database: to open the file beside it, and to close that, would take the locks of
// every other connection of this process.
fn check_layout(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let number = |pragma: &str| -> Result<i64, StoreError> {
        connection
            .pragma_query_value(None, pragma, |row| row.get(0))
            .map_err(failed(path))
    };
    if number("application_id")? != APPLICATION_ID {
        return Err(StoreError::Foreign {
            path: path.to_owned(),
        });
    }
    match number("user_version")? {
        LAYOUT => Ok(()),
        found if found > LAYOUT => Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: LAYOUT,
        }),
        found => Err(StoreError::damaged(
            path,
            format!("no Interlock writes format {found}"),
        )),
    }
}

/// Converts a database error about `path`.
pub(crate) fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    move |error| {
        let path = path.clone();
        let Some(code) = error.sqlite_error_code() else {
            return StoreError::damaged(&path, error.to_string());
        };
        match code {
            ErrorCode::DiskFull => StoreError::Full { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy { path },
            ErrorCode::PermissionDenied | ErrorCode::ReadOnly => {
                StoreError::Forbidden { path, source: None }
            }
            ErrorCode::NotADatabase => {
                StoreError::damaged(&path, "it is not a database, or its first page is lost")
            }
            ErrorCode::DatabaseCorrupt => StoreError::damaged(&path, error.to_string()),
            ErrorCode::CannotOpen => cannot_open(path, error),
            // A table or column that should be there is not.
            ErrorCode::Unknown if is_plain_error(&error) => {
                StoreError::damaged(&path, error.to_string())
            }
            _ => StoreError::Database {
                path,
                source: Box::new(error),
            },
        }
    }
}

fn is_plain_error(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == ffi::SQLITE_ERROR)
}

fn cannot_open(path: std::path::PathBuf, error: rusqlite::Error) -> StoreError {
    if error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == ffi::SQLITE_CANTOPEN_SYMLINK)
    {
        return StoreError::Unsafe {
            path,
            why: "a link leads there; move it away".to_owned(),
        };
    }
    match OpenOptions::new().read(true).write(true).open(&path) {
        Err(source) => StoreError::io("open", &path, source),
        Ok(_) => StoreError::Database {
            path,
            source: Box::new(error),
        },
    }
}

/// Converts a number for the database.
pub(crate) fn to_integer(number: u64, path: &Path) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Unwritable {
        path: path.to_owned(),
        what: format!("the number {number}"),
    })
}

/// Converts a number from the database.
pub(crate) fn from_integer(number: i64, path: &Path) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| StoreError::damaged(path, format!("{number} is not a count")))
}
