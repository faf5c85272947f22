//! Resources: read, subscribed to and completed at their server.

use std::{collections::HashMap, sync::Arc};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::{
    Asking, Session,
    serve::{Read, invalid},
};
use crate::{
    era::Era,
    message::{INVALID_PARAMS, METHOD_NOT_FOUND, Outcome, Request},
    session::origin::Origin,
    session::peer::Tag,
    session::{kept::Upstream, list_cache::Kind},
};

/// Maximum number of resources whose server is remembered.
const KNOWN_MAX: usize = 100_000;
/// Error code for a missing resource in the legacy protocol.
const NO_RESOURCE: i64 = -32_002;

/// The server of each resource, as far as lists showed it.
#[derive(Debug, Default)]
pub(super) struct Routes {
    resources: HashMap<String, usize>,
    /// Text before the first hole of a template, with its server.
    templates: Vec<(String, usize)>,
    /// Subscriptions of a client of the legacy protocol at servers of the modern one.
    listened: HashMap<String, AbortHandle>,
}

impl Routes {
    /// Adds the entries of one page of a server.
    pub(super) fn see(&mut self, at: usize, field: &str, page: &[Value]) {
        for entry in page {
            let text = |name: &str| entry.get(name).and_then(Value::as_str);
            match field {
                "resources" if self.resources.len() < KNOWN_MAX => {
                    if let Some(uri) = text("uri") {
                        self.resources.entry(uri.to_owned()).or_insert(at);
                    }
                }
                "resourceTemplates" if self.templates.len() < KNOWN_MAX => {
                    let start = text("uriTemplate").and_then(|uri| uri.split('{').next());
                    let known = start.map(|start| (start.to_owned(), at));
                    if let Some(known) = known.filter(|known| !self.templates.contains(known)) {
                        self.templates.push(known);
                    }
                }
                _ => {}
            }
        }
    }

    /// Ends the subscriptions that no client needs any more.
    pub(super) fn close(&mut self) {
        let listened = std::mem::take(&mut self.listened);
        listened
            .into_values()
            .for_each(|listening| listening.abort());
    }

    /// Returns the known or likely server of a resource.
    fn server(&self, uri: &str) -> Option<usize> {
        if let Some(at) = self.resources.get(uri) {
            return Some(*at);
        }
        let fits = self
            .templates
            .iter()
            .filter(|(start, _)| uri.starts_with(start.as_str()));
        fits.max_by_key(|(start, _)| start.len()).map(|(_, at)| *at)
    }
}

impl Session {
    /// Answers a request that names a resource by the resource's server.
    pub(super) async fn with_resource(
        self: &Arc<Self>,
        asking: &Asking,
        request: Request,
    ) -> Outcome {
        let Some(uri) = request.text("uri").map(str::to_owned) else {
            return invalid("`uri` must be given");
        };
        let servers = self.servers_for(asking, &uri).await;
        let reading = Read::Resource(uri);
        if servers.is_empty()
            && let Some(outcome) = self.unread_by_any(asking, &reading).await
        {
            return outcome;
        }
        self.first_of(asking, &servers, request, Some(&reading), not_there)
            .await
    }

    /// Asks the policy about a reading that no server answers, so that a refusal comes first.
    async fn unread_by_any(&self, asking: &Asking, reading: &Read) -> Option<Outcome> {
        self.unread(asking.side.upstreams.first()?, reading).await
    }

    /// Returns the servers that may have a resource, the likeliest first.
    async fn servers_of(&self, asking: &Asking, uri: &str) -> Vec<Arc<Upstream>> {
        let likely = self.state().routes.server(uri);
        let mut servers = Vec::new();
        for (at, upstream) in asking.side.upstreams.iter().enumerate() {
            if upstream
                .live()
                .await
                .is_ok_and(|live| live.can("resources"))
            {
                let first = Some(at) == likely;
                servers.insert(if first { 0 } else { servers.len() }, Arc::clone(upstream));
            }
        }
        servers
    }

    /// Subscribes a client of the legacy protocol to a resource.
    pub(super) async fn subscribe(self: &Arc<Self>, asking: &Asking, request: Request) -> Outcome {
        let Some(uri) = request.text("uri").map(str::to_owned) else {
            return self.pass_on(asking, request).await;
        };
        let mut last = super::serve::not_found(&request.method);
        let servers = self.servers_for(asking, &uri).await;
        if servers.is_empty()
            && let Some(outcome) = self
                .unread_by_any(asking, &Read::Resource(uri.clone()))
                .await
        {
            return outcome;
        }
        for server in servers {
            if let Some(outcome) = self.unread(&server, &Read::Resource(uri.clone())).await {
                return outcome;
            }
            let live = match server.live().await {
                Ok(live) => live,
                Err(outcome) => return outcome,
            };
            if live.era == Era::Modern {
                self.listen_to(asking, &server, &uri);
                return Outcome::result(&json!({}));
            }
            let first = server.subscribe(&uri);
            if server.shared && !first {
                return Outcome::result(&json!({}));
            }
            last = self.forward_copy(asking, &server, &request).await;
            if matches!(last, Outcome::Result(_)) {
                return last;
            }
            server.unsubscribe(&uri);
        }
        last
    }

    async fn servers_for(&self, asking: &Asking, uri: &str) -> Vec<Arc<Upstream>> {
        match asking.side.only() {
            Some(only) => vec![Arc::clone(only)],
            None => self.servers_of(asking, uri).await,
        }
    }

    /// Ends a subscription of a client of the legacy protocol.
    pub(super) async fn unsubscribe(
        self: &Arc<Self>,
        asking: &Asking,
        request: Request,
    ) -> Outcome {
        let Some(uri) = request.text("uri").map(str::to_owned) else {
            return self.pass_on(asking, request).await;
        };
        if let Some(listening) = self.state().routes.listened.remove(&uri) {
            listening.abort();
            return Outcome::result(&json!({}));
        }
        let servers = self.servers_for(asking, &uri).await;
        let mut last = super::serve::not_found(&request.method);
        for server in servers {
            if !server.unsubscribe(&uri) && server.shared {
                return Outcome::result(&json!({}));
            }
            last = self.forward_copy(asking, &server, &request).await;
            if matches!(last, Outcome::Result(_)) {
                return last;
            }
        }
        last
    }

    /// Keeps a subscription at a server of the modern protocol.
    fn listen_to(self: &Arc<Self>, asking: &Asking, server: &Arc<Upstream>, uri: &str) {
        let introduced = Arc::clone(&asking.side.introduced);
        let (origin, _) = Origin::new(
            Arc::downgrade(self),
            asking.origin.id(),
            None,
            Arc::clone(&introduced),
            true,
        );
        let (server, wanted) = (Arc::clone(server), json!({"resourceSubscriptions": [uri]}));
        let listening = tokio::spawn(async move {
            // Until it is ended, over all successive connections.
            while let Some(live) = server.up().await {
                let params = Object::from_iter([("notifications".to_owned(), wanted.clone())]);
                let params = live.addressed(Some(params), &introduced);
                let tag = Tag::Origin(Arc::clone(&origin));
                let asked = live.peer.request(tag, "subscriptions/listen", params);
                if asked
                    .await
                    .is_ok_and(|outcome| matches!(outcome, Outcome::Error(_)))
                {
                    return;
                }
                server.over(&live).await;
            }
        });
        let mut state = self.state();
        if let Some(old) = state
            .routes
            .listened
            .insert(uri.to_owned(), listening.abort_handle())
        {
            old.abort();
        }
    }

    /// Completes an argument of a prompt or a resource at its server.
    pub(super) async fn complete(
        self: &Arc<Self>,
        asking: &Asking,
        mut request: Request,
    ) -> Outcome {
        let reading = completed(request.params.as_ref()).map(Read::Resource);
        if let Some(only) = asking.side.only() {
            // Completions of an address reveal what is there.
            if let Some(outcome) = self.unread_of(only, reading.as_ref()).await {
                return outcome;
            }
            return self.pass_on(asking, request).await;
        }
        let reference = request.params.as_ref().and_then(|params| params.get("ref"));
        let part = |name: &str| reference.and_then(|reference| reference.get(name)?.as_str());
        if let Some(uri) = part("uri").map(str::to_owned) {
            let servers = self.servers_of(asking, &uri).await;
            return self
                .first_of(asking, &servers, request, reading.as_ref(), not_there)
                .await;
        }
        let Some(name) = part("name").map(str::to_owned) else {
            return invalid("`ref` must name a prompt or a resource");
        };
        let Some(named) = self.named(Kind::Prompts, asking, &name).await else {
            return invalid(&format!("no prompt is called `{name}`"));
        };
        let params = request.params.as_mut();
        if let Some(Value::Object(reference)) = params.and_then(|params| params.get_mut("ref")) {
            reference.insert("name".to_owned(), json!(named.name));
        }
        self.forward(asking, &named.upstream, &request.method, request.params)
            .await
    }
}

/// Returns the address that an argument of a resource completes, as far as it is known.
fn completed(params: Option<&Object>) -> Option<String> {
    let params = params?;
    let mut rest = params.get("ref")?.get("uri")?.as_str()?;
    let argument = params.get("argument");
    let others = params.get("context").and_then(|all| all.get("arguments"));
    let mut address = String::new();
    while let Some((before, behind)) = rest.split_once('{') {
        address.push_str(before);
        let (hole, after) = behind.split_once('}').unwrap_or((behind, ""));
        rest = after;
        // Besides its name, a hole contains how its value is written: `{+path}`, `{path*}`, `{path:3}`.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '%');
        let name = hole.trim_start_matches(|c: char| !plain(c));
        let name = name.split(|c: char| !plain(c)).next().unwrap_or_default();
        let own = argument.filter(|argument| argument.get("name") == Some(&json!(name)));
        let own = own.and_then(|argument| argument.get("value"));
        let value = own.or_else(|| others?.get(name)).and_then(Value::as_str);
        if let Some(slash) = hole.strip_prefix('/').map(|_| "/") {
            address.push_str(slash);
        }
        // The text after a hole without a value is not known to be there.
        let Some(value) = value else {
            return Some(address);
        };
        address.push_str(value);
    }
    address.push_str(rest);
    Some(address)
}

/// Returns whether a server reports that it does not have a resource.
fn not_there(outcome: &Outcome) -> bool {
    let code = outcome.error_code();
    code.is_some_and(|code| [METHOD_NOT_FOUND, INVALID_PARAMS, NO_RESOURCE].contains(&code))
}

#[cfg(test)]
mod tests {
    use super::Routes;

    #[tokio::test]
    async fn what_a_client_of_the_legacy_protocol_subscribed_to_ends_with_its_session() {
        let listening = tokio::spawn(std::future::pending::<()>());
        let mut routes = Routes::default();
        let handle = listening.abort_handle();
        routes.listened.insert("file:///a".to_owned(), handle);
        routes.close();
        // The only other task of this runtime.
        tokio::task::yield_now().await;
        assert!(listening.is_finished());
    }
}
