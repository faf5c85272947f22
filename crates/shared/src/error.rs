//! The errors of a shared log, and what to do about them.

use interlock_core::names::RunId;
use interlock_store::StoreError;

use crate::tenant::Tenant;

/// Why a shared log could not answer. `place` is the database's address without user and password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SharedError {
    /// It is not an address. The reason is not given: it might quote a piece of the password.
    #[error(
        "the address of the database cannot be read: write `postgres://USER@HOST:PORT/DATABASE`, with `%40` and the like for special characters in the password, or put the password into `PGPASSWORD`"
    )]
    BadAddress,
    /// The connection would not be encrypted.
    #[error(
        "`{place}` is another machine, and this program was built without TLS: build it with `--features tls`, or write `?sslmode=disable` if the network between is yours"
    )]
    NoTls {
        /// The database.
        place: String,
    },
    /// The certificate of this machine cannot be used.
    #[error("the certificate for the database cannot be used: `{file}`: {what}")]
    BadCertificate {
        /// The file, or the variable that names it.
        file: String,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// Nobody answers there.
    #[error(
        "`{place}` cannot be reached ({what}): check that PostgreSQL runs there and accepts connections"
    )]
    Away {
        /// The database.
        place: String,
        /// What the system said.
        what: String,
    },
    /// The connection was lost while a transaction was being committed.
    #[error(
        "the connection to `{place}` was lost before it answered: what was asked may have been recorded; load the run, or repeat the command with the same id"
    )]
    Unanswered {
        /// The database.
        place: String,
    },
    /// The user or the password is refused.
    #[error("`{place}` refuses the user ({what}): check the user, its password and `pg_hba.conf`")]
    Refused {
        /// The database.
        place: String,
        /// What the database said.
        what: String,
    },
    /// The user lacks a right.
    #[error(
        "the user may not do that in `{place}` ({what}): nothing was recorded; ask who administers the database for the right"
    )]
    Forbidden {
        /// The database.
        place: String,
        /// What the database said.
        what: String,
    },
    /// The user is not subject to row-level security.
    #[error(
        "user `{user}` of `{place}` is a superuser or may bypass row-level security, so tenants would not be kept apart: connect as another user"
    )]
    NotHeld {
        /// The database.
        place: String,
        /// The user.
        user: String,
    },
    /// The disk or the quota of the database is full.
    #[error(
        "`{place}` has no room left ({what}): nothing was recorded; free some space there, then try again"
    )]
    Full {
        /// The database.
        place: String,
        /// What the database said.
        what: String,
    },
    /// The database does not accept writes.
    #[error(
        "`{place}` is read-only: nothing was recorded; connect to the primary server, or set `default_transaction_read_only` off"
    )]
    ReadOnly {
        /// The database.
        place: String,
    },
    /// It takes too long, or has no connection left.
    #[error("`{place}` is busy ({what}): nothing was recorded; try again")]
    Busy {
        /// The database.
        place: String,
        /// What the database said.
        what: String,
    },
    /// There is no such database.
    #[error("`{place}` does not exist: make it with `createdb`")]
    NoDatabase {
        /// The database.
        place: String,
    },
    /// There is no log in it yet.
    #[error("`{place}` has no log of Interlock: make it with `interlock shared init`")]
    NotMade {
        /// The database.
        place: String,
    },
    /// Its schema belongs to another program, or was changed.
    #[error(
        "schema `interlock` of `{place}` is not as Interlock made it ({what}): restore it, or use another database"
    )]
    Foreign {
        /// The database.
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// The log was made by an older version.
    #[error(
        "the log in `{place}` has format {found} and this Interlock needs {known}: run `interlock shared migrate`"
    )]
    Older {
        /// The database.
        place: String,
        /// The format it has.
        found: i32,
        /// The format that is needed.
        known: i32,
    },
    /// The log was made by a newer version.
    #[error(
        "the log in `{place}` has format {found} and this Interlock knows up to {known}: update Interlock"
    )]
    Newer {
        /// The database.
        place: String,
        /// The format it has.
        found: i32,
        /// The newest format known.
        known: i32,
    },
    /// It does not have the tenant.
    #[error(
        "`{place}` has no tenant `{tenant}`: check the name, or make it with `interlock shared init --tenant {tenant}`"
    )]
    NoTenant {
        /// The database.
        place: String,
        /// The tenant.
        tenant: Tenant,
    },
    /// The tenant does not have the run.
    #[error("tenant `{tenant}` has no run `{run}`: `interlock shared runs` shows its runs")]
    NoRun {
        /// The tenant.
        tenant: Tenant,
        /// The run.
        run: RunId,
    },
    /// The run exists already.
    #[error(
        "tenant `{tenant}` has run `{run}` already, and its {events} events are not those of the file: nothing was imported"
    )]
    RunThere {
        /// The tenant.
        tenant: Tenant,
        /// The run.
        run: RunId,
        /// How many events it has there.
        events: u64,
    },
    /// Another carrier has taken the run over.
    #[error(
        "run `{run}` was taken over (epoch {current}, this process has {held}): nothing was recorded; end what this process is running"
    )]
    StaleEpoch {
        /// The run.
        run: RunId,
        /// The given epoch.
        held: u64,
        /// The epoch of the run.
        current: u64,
    },
    /// A command's id was used for another command.
    #[error(
        "command `{id}` was recorded with another body: nothing was recorded; give each command its own id"
    )]
    OtherCommand {
        /// The id.
        id: String,
    },
    /// The clocks differ.
    #[error(
        "the clock of `{place}` is {apart_s} s from this machine's: set the clock of this machine or of the database"
    )]
    ClockOff {
        /// The database.
        place: String,
        /// The difference in seconds.
        apart_s: u64,
    },
    /// A token is not made like this.
    #[error("no token was made: {what}")]
    BadToken {
        /// What is wrong.
        what: &'static str,
    },
    /// A text is not a policy of people.
    #[error("the policy was not loaded: {what}")]
    BadPeople {
        /// What is wrong.
        what: String,
    },
    /// A policy was written for another revision than the one that holds.
    #[error(
        "the policy was not loaded: revision {revision} holds now; read it, and change that one"
    )]
    OtherPeople {
        /// The revision that holds; 0: none was loaded.
        revision: u64,
    },
    /// A token that is for one run is used for another one.
    #[error("the token is for one run, which is another one: exchange another token of the job")]
    OneRun,
    /// Anything else.
    #[error("`{place}` failed ({what}): nothing was recorded")]
    Failed {
        /// The database.
        place: String,
        /// What the database said.
        what: String,
    },
}

impl From<SharedError> for StoreError {
    fn from(error: SharedError) -> Self {
        Self::Elsewhere(Box::new(error))
    }
}

/// Turns an error of the database into ours.
pub(crate) fn failed(place: &str, error: &tokio_postgres::Error) -> SharedError {
    let place = place.to_owned();
    let Some(said) = error.as_db_error() else {
        // The system's text is the last of the chain.
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let what = cause.to_string();
        return SharedError::Away { place, what };
    };
    let what = said.message().to_owned();
    match said.code().code() {
        "25006" => SharedError::ReadOnly { place },
        "53100" => SharedError::Full { place, what },
        "3D000" => SharedError::NoDatabase { place },
        "42501" => SharedError::Forbidden { place, what },
        // A table, column, function or schema that should be there.
        "42P01" | "42703" | "42883" | "3F000" => SharedError::Foreign { place, what },
        // Cancelled for its time, no lock in time, a deadlock, a conflict of transactions.
        "57014" | "55P03" | "40P01" | "40001" => SharedError::Busy { place, what },
        code if code.starts_with("28") => SharedError::Refused { place, what },
        code if code.starts_with("53") => SharedError::Busy { place, what },
        // It shuts down, crashed, or starts.
        code if code.starts_with("57P") || code.starts_with("08") => {
            SharedError::Away { place, what }
        }
        _ => SharedError::Failed { place, what },
    }
}
