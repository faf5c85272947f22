//! The active sessions of the project, and which of them no run guards.

use interlock_store::Home;

use super::{
    Check, Examination, Health, environment, token::clients_with_token, unheard::unheard_clients,
};
use crate::{policy::policy_fault, session::living_sessions};

/// Checks the project's policy and the sessions whose clients are running.
pub(super) fn checks(examination: &Examination) -> Vec<Check> {
    let root = &examination.site.project_root;
    let mut checks = Vec::new();
    if let Some(fault) = policy_fault(&environment(examination), root) {
        checks.push(Check::own(
            "policy",
            Health::Fail,
            fault,
            "repair it: every call of a session here is refused until then",
        ));
    }
    let living = match living_sessions(&Home::at(&examination.state), root) {
        Ok(living) => living,
        Err(error) => {
            checks.push(Check::own("sessions", Health::Warn, error.to_string(), ""));
            return checks;
        }
    };
    for unheard in unheard_clients(&Home::at(&examination.state), root).unwrap_or_default() {
        let (client, pid) = (unheard.client, unheard.pid);
        let (health, seen) = match unheard.without {
            Some(without) => (
                Health::Fail,
                format!(
                    "{client} (process {pid}) runs without hooks: it was started with `{without}`"
                ),
            ),
            None => (
                Health::Warn,
                format!(
                    "{client} (process {pid}) has called no hook yet: nothing it did was judged"
                ),
            ),
        };
        let advice = "restart it in a folder that it trusts, with its hooks on";
        checks.push(Check::own("session", health, seen, advice));
    }
    for found in clients_with_token(&Home::at(&examination.state), root).unwrap_or_default() {
        let advice = "start it without that variable, and make a new token with `interlock token`";
        checks.push(Check::own("token", Health::Warn, found.sentence(), advice));
    }
    let any_held = living.iter().any(|session| session.run.is_some());
    checks.extend(living.iter().map(|session| {
        let client = session.session.client.as_deref().unwrap_or("a client");
        let (id, pid) = (&session.session.session, session.process.pid);
        match &session.run {
            Some(run) => Check::own(
                "session",
                Health::Ok,
                format!("{client} {id} (process {pid}) is guarded by run {run}"),
                "",
            ),
            None => Check::own(
                "session",
                if any_held { Health::Warn } else { Health::Ok },
                format!("{client} {id} (process {pid}) is not guarded by any run"),
                if any_held {
                    "`interlock start --project` guards every session of a project"
                } else {
                    ""
                },
            ),
        }
    }));
    checks
}
