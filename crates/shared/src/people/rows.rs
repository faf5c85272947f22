//! The policies of a tenant in the database, of which the newest revision holds.

use super::People;
use crate::{
    database::{Database, End, Leased, Value},
    error::SharedError,
    rows::Found,
};

/// Reads the newest revision; `$1` is the tenant.
pub(crate) const NEWEST: &str =
    "SELECT revision, body FROM interlock.people WHERE tenant = $1 ORDER BY revision DESC LIMIT 1";

/// A policy as it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedPeople {
    /// The number of the revision, from 1.
    pub revision: u64,
    /// The text of the file.
    pub text: String,
    /// Who has loaded it.
    pub by: String,
    /// When it was loaded, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Database {
    /// Loads a policy as the next revision, which holds from now on; the same text again changes nothing.
    ///
    /// `after` is the revision that the text was written for; `None`: any.
    ///
    /// # Errors
    /// The text is not a policy, another revision was loaded meanwhile, the tenant does not exist, or the database
    /// cannot be written.
    pub fn load_people(
        &self,
        text: &str,
        by: &str,
        after: Option<u64>,
    ) -> Result<u64, SharedError> {
        People::parse(text, 1).map_err(|error| SharedError::BadPeople {
            what: error.to_string(),
        })?;
        let (text, by, of) = (text.to_owned(), by.to_owned(), self.clone());
        self.write(move |leased| async move {
            let tenant: Value = of.tenant().as_str().into();
            // One after the other, so that each revision is the next one.
            let locked = leased
                .query(
                    "SELECT 1 FROM interlock.tenants WHERE tenant = $1 FOR NO KEY UPDATE",
                    std::slice::from_ref(&tenant),
                )
                .await?;
            if locked.is_empty() {
                return Err(SharedError::NoTenant {
                    place: of.place().to_owned(),
                    tenant: of.tenant().clone(),
                });
            }
            let newest = newest(&of, &leased).await?;
            let (revision, known) = newest.unwrap_or_default();
            if after.is_some_and(|after| after != revision) {
                return Err(SharedError::OtherPeople { revision });
            }
            if revision > 0 && known == text {
                return Ok(End::Rollback(revision));
            }
            let next = revision + 1;
            let values = [
                tenant,
                next.into(),
                text.as_str().into(),
                by.as_str().into(),
            ];
            leased
                .query(
                    "INSERT INTO interlock.people (tenant, revision, body, loaded_by) \
                     VALUES ($1, $2, $3, $4)",
                    &values,
                )
                .await?;
            Ok(End::Commit(next))
        })
    }

    /// Returns the policy that holds; `None` if none was loaded.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn loaded_people(&self) -> Result<Option<LoadedPeople>, SharedError> {
        let found = self.select(
            "SELECT revision, body, loaded_by, (extract(epoch FROM loaded_at) * 1000)::bigint \
             FROM interlock.people WHERE tenant = $1 ORDER BY revision DESC LIMIT 1",
            vec![self.tenant().as_str().into()],
        )?;
        let loaded = |row| {
            let found = Found::new(self, row);
            Ok(LoadedPeople {
                revision: found.number(0)?,
                text: found.get(1)?,
                by: found.get(2)?,
                at_ms: found.number(3)?,
            })
        };
        found.into_iter().next().map(loaded).transpose()
    }

    /// Returns the policy that holds, parsed.
    pub(crate) fn people(&self) -> Result<Option<People>, SharedError> {
        let rows = self.select(NEWEST, vec![self.tenant().as_str().into()])?;
        self.parsed_people(rows)
    }

    /// Parses the policy of a row of [`NEWEST`].
    ///
    /// One that cannot be parsed is an error, never none: nothing it has ruled out is done.
    pub(crate) fn parsed_people(
        &self,
        rows: Vec<tokio_postgres::Row>,
    ) -> Result<Option<People>, SharedError> {
        let Some(row) = rows.into_iter().next() else {
            return Ok(None);
        };
        let found = Found::new(self, row);
        let text: String = found.get(1)?;
        let people = People::parse(&text, found.number(0)?);
        people
            .map(Some)
            .map_err(|error| found.wrong(&format!("a policy that is none ({error})")))
    }
}

async fn newest(
    database: &Database,
    leased: &Leased,
) -> Result<Option<(u64, String)>, SharedError> {
    let rows = leased
        .query(NEWEST, &[database.tenant().as_str().into()])
        .await?;
    let newest = |row| {
        let found = Found::new(database, row);
        Ok((found.number(0)?, found.get(1)?))
    };
    rows.into_iter().next().map(newest).transpose()
}
