//! The published bundles of a tenant.

use interlock_attest::PublicKey;
use serde::Serialize;

use super::{check::CheckedBundle, refusal::BundleRefusal};
use crate::{
    database::{Database, End, Leased},
    doctor::now_ms,
    error::SharedError,
    rows::Found,
};

/// A published bundle as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleCard {
    /// The name.
    pub name: String,
    /// The revision.
    pub revision: u64,
    /// The id of the key that it was checked with.
    pub key: String,
    /// When it was published, in milliseconds since 1970.
    pub published_ms: u64,
}

/// Why a bundle was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// It is not good.
    #[error("nothing was published: {0}")]
    Refused(#[from] BundleRefusal),
    /// The database cannot be used.
    #[error(transparent)]
    Log(#[from] SharedError),
}

impl Database {
    /// Publishes a bundle that `trusted` has signed, for the tenant that it names.
    ///
    /// # Errors
    /// The bundle is not good, is no newer than the last one, or the database cannot be written.
    pub fn publish_bundle(
        &self,
        bytes: &[u8],
        trusted: &[PublicKey],
    ) -> Result<CheckedBundle, PublishError> {
        let bundle = CheckedBundle::check(bytes, trusted, self.tenant())?;
        bundle.check_time(now_ms())?;
        bundle.check_workflows()?;
        let (of, new) = (self.clone(), bundle.clone());
        let refused = self.write(move |leased| async move {
            match insert(&of, &leased, &new).await? {
                None => Ok(End::Commit(None)),
                refused => Ok(End::Rollback(refused)),
            }
        })?;
        match refused {
            Some(refusal) => Err(refusal.into()),
            None => Ok(bundle),
        }
    }

    /// Lists the published bundles of the tenant, the newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn bundles(&self) -> Result<Vec<BundleCard>, SharedError> {
        let found = self.select(
            "SELECT name, revision, key, (extract(epoch FROM published_at) * 1000)::bigint \
             FROM interlock.bundles WHERE tenant = $1 ORDER BY revision DESC",
            vec![self.tenant().as_str().into()],
        )?;
        let card = |row| {
            let found = Found::new(self, row);
            Ok(BundleCard {
                name: found.get(0)?,
                revision: found.number(1)?,
                key: found.get(2)?,
                published_ms: found.number(3)?,
            })
        };
        found.into_iter().map(card).collect()
    }

    /// Returns the newest bundle with a lower revision than `below`, with its revision, as it is stored.
    pub(crate) fn bundle_below(&self, below: u64) -> Result<Option<(u64, Vec<u8>)>, SharedError> {
        let found = self.select(
            "SELECT revision, body FROM interlock.bundles WHERE tenant = $1 AND revision < $2 \
             ORDER BY revision DESC LIMIT 1",
            vec![self.tenant().as_str().into(), below.into()],
        )?;
        let stored = |row| {
            let found = Found::new(self, row);
            Ok((found.number(0)?, found.get(1)?))
        };
        found.into_iter().next().map(stored).transpose()
    }

    /// Returns whether a bundle was published for the tenant.
    pub(crate) fn has_bundle(&self) -> Result<bool, SharedError> {
        let found = self.select(
            "SELECT 1 FROM interlock.bundles WHERE tenant = $1 LIMIT 1",
            vec![self.tenant().as_str().into()],
        )?;
        Ok(!found.is_empty())
    }
}

/// Inserts a bundle if it is newer than all others; otherwise, says why it is not.
async fn insert(
    of: &Database,
    leased: &Leased,
    bundle: &CheckedBundle,
) -> Result<Option<BundleRefusal>, SharedError> {
    let tenant = of.tenant().as_str();
    let lock = [format!("bundle {tenant}").as_str().into()];
    let locked = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    leased.query(locked, &lock).await?;
    let last = "SELECT revision, name FROM interlock.bundles WHERE tenant = $1 \
         ORDER BY revision DESC LIMIT 1";
    let last = leased.query(last, &[tenant.into()]).await?;
    let manifest = &bundle.manifest;
    if let Some(row) = last.into_iter().next() {
        let found = Found::new(of, row);
        let (seen, wanted): (u64, String) = (found.number(0)?, found.get(1)?);
        if wanted != manifest.name {
            let found = manifest.name.clone();
            return Ok(Some(BundleRefusal::OtherName { found, wanted }));
        }
        if manifest.revision <= seen {
            let found = manifest.revision;
            return Ok(Some(match found == seen {
                true => BundleRefusal::OtherOfRevision(found),
                false => BundleRefusal::Older { found, seen },
            }));
        }
    }
    let values = [
        tenant.into(),
        manifest.revision.into(),
        manifest.name.as_str().into(),
        bundle.key.as_str().into(),
        bundle.digest().as_bytes().to_vec().into(),
        bundle.bytes.clone().into(),
    ];
    let statement = "INSERT INTO interlock.bundles (tenant, revision, name, key, digest, body) \
         VALUES ($1, $2, $3, $4, $5, $6)";
    leased.query(statement, &values).await.map(|_| None)
}
