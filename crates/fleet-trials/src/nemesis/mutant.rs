//! Logs that are broken on purpose, each of which has to be noticed.
//!
//! The programs are the shipped ones: what is broken is the database, the way to a server, or the server that is read.

use crate::site::Site;

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// No epoch reaches a server, so none is compared.
    NoEpoch,
    /// Commands are not stored, so none is known when it is repeated.
    NoCommandId,
    /// A commit is acknowledged before it is on disk, and the database is killed.
    LateCommit,
    /// Some reads are answered by a server of a standby that is two seconds late.
    StaleRead,
}

const ALL: [(&str, Mutant); 4] = [
    ("no-epoch", Mutant::NoEpoch),
    ("no-command-id", Mutant::NoCommandId),
    ("late-commit", Mutant::LateCommit),
    ("stale-read", Mutant::StaleRead),
];

impl Mutant {
    /// Returns the mutant of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Self, String> {
        let found = ALL.iter().find(|(of, _)| *of == name);
        let names = || ALL.map(|(name, _)| name).join(", ");
        found
            .map(|(_, mutant)| *mutant)
            .ok_or_else(|| format!("there is no mutant `{name}`: there is {}", names()))
    }

    /// Returns more settings of the database.
    pub(super) const fn settings(self) -> &'static [&'static str] {
        match self {
            // Nothing but a full buffer writes the log to disk.
            Self::LateCommit => &[
                "-c",
                "wal_writer_delay=10s",
                "-c",
                "wal_writer_flush_after=0",
                "-c",
                "wal_buffers=64MB",
            ],
            Self::NoEpoch | Self::NoCommandId | Self::StaleRead => &[],
        }
    }

    /// Breaks the database.
    pub(super) fn mutate(self, site: &Site) {
        match self {
            Self::NoCommandId => site.sql(
                "CREATE FUNCTION interlock.forgets() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RETURN NULL; END $$; \
                 CREATE TRIGGER forgets BEFORE INSERT ON interlock.commands \
                 FOR EACH ROW EXECUTE FUNCTION interlock.forgets()",
            ),
            // The programs ask for `synchronous_commit` themselves, so a setting of the database does not suffice.
            Self::LateCommit => site.sql(
                "CREATE FUNCTION interlock.commits_late() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN PERFORM set_config('synchronous_commit', 'off', true); RETURN NEW; END $$; \
                 CREATE TRIGGER commits_late BEFORE UPDATE ON interlock.runs \
                 FOR EACH ROW EXECUTE FUNCTION interlock.commits_late()",
            ),
            Self::NoEpoch | Self::StaleRead => String::new(),
        };
    }
}
