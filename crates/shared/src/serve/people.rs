//! Shows and loads the policy of a tenant.

use std::sync::Arc;

use interlock_fleet::{Me, PeopleBody, PeopleView};

use super::{
    handle::{Handled, reading},
    problem::{Problem, json},
    state::ServerState,
};
use crate::{
    error::SharedError,
    people::{LoadedPeople, Right},
    tokens::{Identity, Role},
};

/// Shows the policy to a person.
pub(crate) async fn show(state: &Arc<ServerState>, identity: Identity) -> Handled {
    if identity.role != Role::Person {
        return Err(Problem::role("only the token of a person reads the policy"));
    }
    let loaded = reading(state, move |state| {
        let database = state.database.for_tenant(identity.tenant);
        Ok(database.loaded_people()?)
    });
    json(&view(loaded.await?))
}

/// Describes the holder of a token.
pub(crate) fn me(state: &ServerState, identity: &Identity) -> Result<Me, Problem> {
    let database = state.database.for_tenant(identity.tenant.clone());
    let people = database.people()?;
    let rights = [
        ("start", Right::Start, identity.role != Role::Agent),
        ("approve", Right::Approve, identity.role == Role::Person),
        (
            "administer",
            Right::Administer,
            identity.role == Role::Person,
        ),
    ];
    let has = |right| match &people {
        Some(people) => people.has(right, &identity.member()),
        // Until there is a policy, nobody administers.
        None => right != Right::Administer,
    };
    let may = rights
        .into_iter()
        .filter(|(_, right, by_role)| *by_role && has(*right));
    Ok(Me {
        tenant: identity.tenant.as_str().to_owned(),
        role: identity.role.as_str().to_owned(),
        subject: identity.subject.clone(),
        groups: identity.groups.clone(),
        expires_ms: identity.expires_ms,
        may: may.map(|(word, _, _)| word.to_owned()).collect(),
    })
}

/// Loads a policy for a person who may administer.
///
/// The first one is loaded by whoever has the database: until then, nobody administers.
pub(crate) fn load(
    state: &ServerState,
    identity: &Identity,
    body: &PeopleBody,
) -> Result<PeopleView, Problem> {
    let database = state.database.for_tenant(identity.tenant.clone());
    let people = database.people()?.filter(|people| {
        identity.role == Role::Person && people.has(Right::Administer, &identity.member())
    });
    let Some(people) = people else {
        return Err(Problem::role(
            "the policy does not let you load another one: `administer` of its `[roles]` says who may, and `interlock shared people load` loads the first",
        ));
    };
    // Whoever administers by one revision replaces that one.
    if people.revision != body.after {
        let revision = people.revision;
        return Err(SharedError::OtherPeople { revision }.into());
    }
    database.load_people(&body.text, &identity.subject, Some(body.after))?;
    Ok(view(database.loaded_people()?))
}

fn view(loaded: Option<LoadedPeople>) -> PeopleView {
    match loaded {
        Some(loaded) => PeopleView {
            revision: loaded.revision,
            text: loaded.text,
            by: Some(loaded.by),
            at_ms: Some(loaded.at_ms),
        },
        None => PeopleView {
            revision: 0,
            text: String::new(),
            by: None,
            at_ms: None,
        },
    }
}
