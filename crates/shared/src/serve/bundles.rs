//! The current bundle of a tenant, and the workflow that a run may start with.

use std::sync::{Arc, Mutex, TryLockError};

use axum::http::StatusCode;
use interlock_attest::PublicKey;
use interlock_fleet::{BundleRef, BundleView, RefusedBundle, StartBody, WorkflowFile};
use serde_json::value::RawValue;

use super::{
    problem::Problem,
    state::{ServerState, lock},
};
use crate::{
    bundle::{BundleRefusal, CheckedBundle, Looser, check_stricter},
    database::Database,
    doctor::now_ms,
    tenant::Tenant,
};

/// Maximum number of published bundles that are looked at for a good one.
const LOOKED_MAX: usize = 8;

/// The bundles of one tenant, as this server knows them.
pub(crate) struct TenantBundles {
    tenant: Tenant,
    /// The keys that bundles must be signed with.
    keys: Vec<PublicKey>,
    /// The newest bundle that was good.
    last: Mutex<Option<Arc<CheckedBundle>>>,
    /// Held while two workflows are compared, which takes a processor for itself.
    comparing: Mutex<()>,
}

/// A bundle that is used, and those that were refused before it.
struct Current {
    bundle: Arc<CheckedBundle>,
    refused: Vec<(u64, BundleRefusal)>,
}

impl TenantBundles {
    pub(crate) fn new(tenant: Tenant, keys: Vec<PublicKey>) -> Self {
        Self {
            tenant,
            keys,
            last: Mutex::default(),
            comparing: Mutex::default(),
        }
    }

    /// Returns the newest good bundle, which is at least as new as any that was good before.
    fn current(&self, database: &Database) -> Result<Current, Problem> {
        let mut refused = Vec::new();
        let found = self.newest(database, &mut refused)?;
        let mut last = lock(&self.last);
        let bundle = match (found, last.clone()) {
            (None, last) => last,
            (Some(found), None) => Some(Arc::new(found)),
            (Some(found), Some(last)) => match found.check_follows(&last) {
                Ok(()) => Some(Arc::new(found)),
                Err(refusal) => {
                    refused.push((found.manifest.revision, refusal));
                    Some(last)
                }
            },
        };
        last.clone_from(&bundle);
        drop(last);
        let first = refused.first().map(|(_, refusal)| refusal.clone());
        let Some(bundle) = bundle else {
            return Err(refusal(&first.unwrap_or(BundleRefusal::Missing)));
        };
        // Also the last good one is only good for its time.
        bundle.check_time(now_ms()).map_err(|one| refusal(&one))?;
        Ok(Current { bundle, refused })
    }

    /// Reads the newest bundle that is signed and whole, with those after it that are not.
    fn newest(
        &self,
        database: &Database,
        refused: &mut Vec<(u64, BundleRefusal)>,
    ) -> Result<Option<CheckedBundle>, Problem> {
        let mut below = u64::MAX;
        while let Some((revision, bytes)) = database.bundle_below(below)? {
            let checked = CheckedBundle::check(&bytes, &self.keys, &self.tenant);
            let checked = checked.and_then(|bundle| match bundle.manifest.revision {
                own if own == revision => Ok(bundle),
                own => Err(BundleRefusal::Older {
                    found: own,
                    seen: revision,
                }),
            });
            match checked {
                Ok(bundle) => return Ok(Some(bundle)),
                Err(refusal) => refused.push((revision, refusal)),
            }
            below = revision;
            if refused.len() >= LOOKED_MAX {
                break;
            }
        }
        Ok(None)
    }

    /// Compares a project's workflow with the bundle's, one comparison at a time; others are told to try again, so that
    /// no tenant takes all the threads that read.
    fn check_stricter(&self, new: &WorkflowFile, old: (&str, &str)) -> Result<(), Problem> {
        if new.text == old.1 {
            return Ok(());
        }
        let _comparing = match self.comparing.try_lock() {
            Ok(comparing) => comparing,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let what = "another workflow of the tenant is being compared with its bundle";
                return Err(Problem::busy(what));
            }
        };
        check_stricter((&new.name, &new.text), old).map_err(|looser| {
            let code = match looser {
                Looser::Invalid(_) => "workflow_invalid",
                Looser::Permits(_) => "workflow_looser",
                Looser::Unknown(_) => "workflow_not_comparable",
            };
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, looser.to_string())
        })
    }
}

/// Answers for a bundle that is not used.
fn refusal(refusal: &BundleRefusal) -> Problem {
    let status = match refusal {
        BundleRefusal::Missing => StatusCode::NOT_FOUND,
        _ => StatusCode::CONFLICT,
    };
    Problem::new(status, refusal.code(), refusal.to_string())
}

/// Answers where this server has no key of a tenant.
fn no_key(status: StatusCode) -> Problem {
    Problem::new(
        status,
        "no_bundle_key",
        "this server has no key to check bundles of the tenant with: start it with `--bundle-key TENANT=FILE`",
    )
}

/// Returns the current bundle of a tenant, for its machines to check.
pub(crate) fn view(state: &ServerState, tenant: &Tenant) -> Result<BundleView, Problem> {
    let bundles = state.bundles(tenant);
    let bundles = bundles.ok_or_else(|| no_key(StatusCode::NOT_FOUND))?;
    let database = state.database.for_tenant(tenant.clone());
    let Current { bundle, refused } = bundles.current(&database)?;
    let text = String::from_utf8(bundle.bytes.clone()).map_err(|_| Problem::internal())?;
    let refused = refused
        .into_iter()
        .map(|(revision, refusal)| RefusedBundle {
            revision,
            code: refusal.code().to_owned(),
            message: refusal.to_string(),
        });
    Ok(BundleView {
        name: bundle.manifest.name.clone(),
        revision: bundle.manifest.revision,
        expires_ms: bundle.manifest.expires_ms,
        key: bundle.key.clone(),
        refused: refused.collect(),
        bundle: RawValue::from_string(text).map_err(|_| Problem::internal())?,
    })
}

/// Returns the workflow that a run starts with, and the bundle that it is from.
///
/// A tenant with a bundle starts runs from it only, also on a server that cannot check it.
pub(crate) fn workflow(
    state: &ServerState,
    database: &Database,
    body: &StartBody,
) -> Result<(WorkflowFile, Option<BundleRef>), Problem> {
    let input =
        |code, message: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, message);
    let Some(bundles) = state.bundles(database.tenant()) else {
        if body.bundle.is_some() || database.has_bundle()? {
            return Err(no_key(StatusCode::CONFLICT));
        }
        let missing = || Problem::input("send the `workflow` that the run follows");
        return Ok((body.workflow.clone().ok_or_else(missing)?, None));
    };
    let Current { bundle, .. } = bundles.current(database)?;
    let files = || {
        let names: Vec<String> = bundle
            .files
            .keys()
            .map(|path| format!("`{path}`"))
            .collect();
        names.join(", ")
    };
    let path = body.bundle.as_deref().ok_or_else(|| {
        input(
            "bundle_required",
            format!("runs of this tenant start from its bundle: name one of its files with `bundle`: {}", files()),
        )
    })?;
    let text = bundle.files.get(path).ok_or_else(|| {
        input(
            "bundle_no_such_file",
            format!("the bundle has no such file: it has {}", files()),
        )
    })?;
    let used = BundleRef {
        name: bundle.manifest.name.clone(),
        revision: bundle.manifest.revision,
        file: path.to_owned(),
        tightened: body.workflow.is_some(),
    };
    let workflow = match &body.workflow {
        Some(own) => {
            if body.select.is_some() {
                return Err(Problem::input(
                    "a workflow that tightens the bundle's is the only one of its file",
                ));
            }
            bundles.check_stricter(own, (path, text.as_str()))?;
            own.clone()
        }
        None => WorkflowFile {
            name: path.to_owned(),
            text: text.clone(),
        },
    };
    Ok((workflow, Some(used)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn one_comparison_of_a_tenant_runs_at_a_time() {
        let bundles = TenantBundles::new(Tenant::new("acme").unwrap(), Vec::new());
        let text = "id: x\ninitial: a\nstates: {a: {on: {DONE: b}}, b: {type: final}}\n";
        let own = WorkflowFile {
            name: "own.yaml".to_owned(),
            text: text.replace("DONE: b", "DONE: {target: b, requires_approval: true}"),
        };
        let running = lock(&bundles.comparing);
        let second = bundles.check_stricter(&own, ("x.yaml", text)).unwrap_err();
        assert_eq!(second.code, "busy");
        drop(running);
        assert_eq!(bundles.check_stricter(&own, ("x.yaml", text)), Ok(()));
    }
}
