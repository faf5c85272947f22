//! The tables of the database, made by migrations that only go forward.

use std::sync::Arc;

use crate::{
    address::Address,
    database::{Database, End, Leased},
    error::{SharedError, failed},
    tenant::Tenant,
};

/// The migrations, each from one format to the next.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/1.sql"),
    include_str!("../migrations/2.sql"),
    include_str!("../migrations/3.sql"),
    include_str!("../migrations/4.sql"),
    include_str!("../migrations/5.sql"),
    include_str!("../migrations/6.sql"),
    include_str!("../migrations/7.sql"),
    include_str!("../migrations/8.sql"),
];
/// The format that this code writes and reads.
pub const FORMAT: i32 = 8;
/// The lock that is taken while the tables change: `ILCK`.
const LOCK: u64 = 0x494c_434b;

const BEGIN_SCHEMA: &str = "
CREATE SCHEMA interlock;
CREATE TABLE interlock.migrations (
    format integer PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);
";

/// The content of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing that belongs to Interlock.
    Empty,
    /// A log of this format.
    Made {
        /// Whether it has the tenant.
        has_tenant: bool,
    },
    /// A log of an older format.
    Older(i32),
    /// A log of a newer format.
    Newer(i32),
}

impl Standing {
    /// Returns why the log cannot be used as it is.
    pub(crate) fn refusal(self, place: &str) -> SharedError {
        let place = place.to_owned();
        let known = FORMAT;
        match self {
            Self::Empty | Self::Made { .. } => SharedError::NotMade { place },
            Self::Older(found) => SharedError::Older {
                place,
                found,
                known,
            },
            Self::Newer(found) => SharedError::Newer {
                place,
                found,
                known,
            },
        }
    }
}

/// Reads the format of the log; `None` if there is no log.
async fn format(leased: &Leased) -> Result<Option<i32>, SharedError> {
    let found = leased
        .query(
            "SELECT to_regnamespace('interlock') IS NOT NULL, \
             to_regclass('interlock.migrations') IS NOT NULL",
            &[],
        )
        .await?;
    let is = |at: usize| {
        found
            .first()
            .is_some_and(|row| row.try_get(at).unwrap_or(false))
    };
    let foreign = |what: &str| SharedError::Foreign {
        place: leased.place().to_owned(),
        what: what.to_owned(),
    };
    match (is(0), is(1)) {
        (false, _) => return Ok(None),
        (true, false) => return Err(foreign("it has no table `migrations`")),
        (true, true) => {}
    }
    let newest = leased
        .query("SELECT max(format) FROM interlock.migrations", &[])
        .await?;
    let newest = newest.first().and_then(|row| row.try_get(0).ok());
    newest
        .map(Some)
        .ok_or_else(|| foreign("its table `migrations` is empty"))
}

/// Returns the content of the database.
pub(crate) async fn standing(leased: Arc<Leased>) -> Result<Standing, SharedError> {
    match format(&leased).await? {
        None => Ok(Standing::Empty),
        Some(found) if found < FORMAT => Ok(Standing::Older(found)),
        Some(found) if found > FORMAT => Ok(Standing::Newer(found)),
        Some(_) => {
            let tenant = leased
                .query(
                    "SELECT 1 FROM interlock.tenants \
                     WHERE tenant = current_setting('interlock.tenant')",
                    &[],
                )
                .await?;
            let has_tenant = !tenant.is_empty();
            Ok(Standing::Made { has_tenant })
        }
    }
}

/// Takes the lock on the tables until the transaction ends.
async fn lock(leased: &Leased) -> Result<(), SharedError> {
    let key = [LOCK.into()];
    let locked = leased.query("SELECT pg_advisory_xact_lock($1)", &key).await;
    locked.map(drop)
}

/// Applies every migration after format `from`.
async fn apply(leased: &Leased, from: i32, to: i32) -> Result<(), SharedError> {
    for (format, statements) in (1..).zip(MIGRATIONS) {
        if format <= from || format > to {
            continue;
        }
        let statements =
            format!("{statements}\nINSERT INTO interlock.migrations (format) VALUES ({format});");
        leased
            .client
            .batch_execute(&statements)
            .await
            .map_err(|error| failed(leased.place(), &error))?;
    }
    Ok(())
}

/// What `init` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitDone {
    /// Whether the tables were made.
    pub made_tables: bool,
    /// Whether the tenant was made.
    pub made_tenant: bool,
}

impl Database {
    /// Connects to an existing log as `tenant`.
    ///
    /// # Errors
    /// The database cannot be reached or refuses the user, the user is not subject to row-level security, the log
    /// does not exist or has another version, or it does not have the tenant.
    pub fn open(address: Address, tenant: Tenant) -> Result<Self, SharedError> {
        let database = Self::at(address, tenant)?;
        match database.standing()? {
            Standing::Made { has_tenant: true } => Ok(database),
            Standing::Made { has_tenant: false } => Err(SharedError::NoTenant {
                place: database.place().to_owned(),
                tenant: database.tenant().clone(),
            }),
            other => Err(other.refusal(database.place())),
        }
    }

    /// Returns the content of the database.
    ///
    /// # Errors
    /// It cannot be reached, refuses the user, or contains something that does not belong to Interlock.
    pub fn standing(&self) -> Result<Standing, SharedError> {
        self.read(|leased| async move { standing(leased).await })
    }

    /// Makes the tables and the tenant if they do not exist.
    ///
    /// # Errors
    /// The user lacks the right, or the log has another format.
    pub fn init(&self) -> Result<InitDone, SharedError> {
        self.init_as(FORMAT)
    }

    /// Makes the tables of format `to`.
    pub(crate) fn init_as(&self, to: i32) -> Result<InitDone, SharedError> {
        let tenant = self.tenant().clone();
        self.write(move |leased| async move {
            lock(&leased).await?;
            let made_tables = match format(&leased).await? {
                None => {
                    let begun = leased.client.batch_execute(BEGIN_SCHEMA).await;
                    begun.map_err(|error| failed(leased.place(), &error))?;
                    apply(&leased, 0, to).await?;
                    true
                }
                Some(found) if found == to => false,
                Some(found) if found < to => {
                    return Err(Standing::Older(found).refusal(leased.place()));
                }
                Some(found) => return Err(Standing::Newer(found).refusal(leased.place())),
            };
            let made = leased
                .query(
                    "INSERT INTO interlock.tenants (tenant) VALUES ($1) \
                     ON CONFLICT DO NOTHING RETURNING tenant",
                    &[tenant.as_str().into()],
                )
                .await?;
            Ok(End::Commit(InitDone {
                made_tables,
                made_tenant: !made.is_empty(),
            }))
        })
    }

    /// Migrates the tables to the format of this program; returns the format they had.
    ///
    /// # Errors
    /// There is no log, it is newer, or the user lacks the right.
    pub fn migrate(&self) -> Result<i32, SharedError> {
        self.write(|leased| async move {
            lock(&leased).await?;
            let found = format(&leased).await?;
            let found = found.ok_or_else(|| Standing::Empty.refusal(leased.place()))?;
            if found > FORMAT {
                return Err(Standing::Newer(found).refusal(leased.place()));
            }
            apply(&leased, found, FORMAT).await?;
            Ok(End::Commit(found))
        })
    }
}
