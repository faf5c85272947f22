//! Lists: tools as far as the state allows, everything else as the servers list it.

use std::sync::Arc;

use serde_json::{Value, json, value::RawValue};

use super::{
    Asking, Session,
    names::qualified,
    serve::{Read, invalid, not_found, text},
};
use crate::{
    fields::Fields,
    govern::ListedTool,
    message::{Outcome, Request},
    session::{
        kept::Upstream,
        list_cache::{Kind, no_entries},
    },
    tools::control_tool,
};

/// Prefix of the gateway's own cursors, which represent those of several servers.
const CURSOR_PREFIX: &str = "interlock-page-";

/// A tool that may be listed.
#[derive(Debug)]
struct Entry {
    server: Arc<Upstream>,
    name: String,
    shown: String,
    definition: Arc<Value>,
}

impl Session {
    /// Lists what has names: of one server page by page, of several all at once.
    pub(super) async fn list_named(
        self: &Arc<Self>,
        kind: Kind,
        asking: &Asking,
        request: Request,
    ) -> Outcome {
        let outcome = match asking.side.only() {
            Some(only) => {
                self.list_of_one(kind, asking, &Arc::clone(only), request)
                    .await
            }
            None => self.list_of_all(kind, asking, &request).await,
        };
        self.in_words_of(&asking.origin, kind.method(), outcome)
    }

    async fn list_of_one(
        self: &Arc<Self>,
        kind: Kind,
        asking: &Asking,
        only: &Arc<Upstream>,
        request: Request,
    ) -> Outcome {
        let first = text(request.params.as_ref(), "cursor").is_none();
        let live = only.live().await;
        let known = match &live {
            // It offers none: there are only own tools.
            Ok(live) if !live.can(kind.field()) => Some(no_entries(kind)),
            Ok(_) => None,
            // An outdated list is better than none.
            Err(_) => {
                let known = only.list_cache(kind).known().0;
                let entries: Vec<Value> = known.values().map(|entry| (**entry).clone()).collect();
                Some(json!({ kind.field(): entries }))
            }
        };
        let page = match known {
            Some(page) => page,
            None => {
                let method = kind.method();
                let outcome = self.forward(asking, only, method, request.params).await;
                let Outcome::Result(result) = outcome else {
                    return outcome;
                };
                match page_of(kind, &result) {
                    Some(page) => page,
                    None => return Outcome::Result(result),
                }
            }
        };
        self.filtered(only, page, first).await
    }

    /// Lists the visible tools of the only server, with the own tools on the first page.
    async fn filtered(
        self: &Arc<Self>,
        only: &Arc<Upstream>,
        mut page: Value,
        first: bool,
    ) -> Outcome {
        let definitions = match page.get_mut("tools").map(Value::take) {
            Some(Value::Array(definitions)) => definitions,
            _ => Vec::new(),
        };
        only.list_cache(Kind::Tools).see(&definitions);
        let entries = definitions.into_iter().map(|definition| {
            let name = definition
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            let ours = control_tool(&name).is_some();
            Entry {
                server: Arc::clone(only),
                shown: if ours {
                    qualified(only, &name)
                } else {
                    name.clone()
                },
                name,
                definition: Arc::new(definition),
            }
        });
        let tools = self.visible(entries.collect(), first).await;
        if let Value::Object(page) = &mut page {
            page.insert("tools".to_owned(), Value::Array(tools));
            // Visibility depends on the run, and changes with it.
            if page.contains_key("ttlMs") || page.contains_key("cacheScope") {
                page.insert("ttlMs".to_owned(), json!(0));
                page.insert("cacheScope".to_owned(), json!("private"));
            }
        }
        Outcome::result(&page)
    }

    async fn list_of_all(
        self: &Arc<Self>,
        kind: Kind,
        asking: &Asking,
        request: &Request,
    ) -> Outcome {
        if text(request.params.as_ref(), "cursor").is_some() {
            return invalid("`cursor` is not one of this list: the list has one page");
        }
        let names = self.names(kind, asking).await;
        let entries = names.all.iter().map(|named| Entry {
            server: Arc::clone(&named.upstream),
            name: named.name.clone(),
            shown: named.shown.clone(),
            definition: Arc::clone(&named.definition),
        });
        let entries: Vec<Entry> = entries.collect();
        let listed = match kind {
            Kind::Tools => self.visible(entries, true).await,
            Kind::Prompts => entries.into_iter().map(renamed).collect(),
        };
        Outcome::result(&json!({ kind.field(): listed }))
    }

    /// Removes what the state hides, and adds the own tools at the beginning.
    async fn visible(self: &Arc<Self>, entries: Vec<Entry>, with_own: bool) -> Vec<Value> {
        let mut tools = if with_own {
            self.own().await.tools.clone()
        } else {
            Vec::new()
        };
        if entries.is_empty() {
            return tools;
        }
        let asked = self.governor.ask(move |govern| {
            let listed: Vec<ListedTool<'_>> = entries
                .iter()
                .map(|entry| ListedTool {
                    server: &entry.server.server.name,
                    name: &entry.name,
                    shown: &entry.shown,
                    definition: &entry.definition,
                })
                .collect();
            let shown = govern.shown(&listed);
            (entries, shown)
        });
        // No answer is not a permission.
        if let Some((entries, shown)) = asked.await {
            let seen = entries.into_iter().zip(shown).filter(|(_, shown)| *shown);
            tools.extend(seen.map(|(entry, _)| renamed(entry)));
        }
        tools
    }

    /// Lists prompts, which no state hides.
    pub(super) async fn list_prompts(
        self: &Arc<Self>,
        asking: Asking,
        request: Request,
    ) -> Outcome {
        match asking.side.only() {
            Some(only) => {
                let only = Arc::clone(only);
                self.forward(&asking, &only, &request.method, request.params)
                    .await
            }
            None if !self.any_can(&asking, "prompts").await => not_found(&request.method),
            None => self.list_named(Kind::Prompts, &asking, request).await,
        }
    }

    /// Gets a prompt from its server.
    pub(super) async fn get_prompt(
        self: &Arc<Self>,
        asking: &Asking,
        mut request: Request,
    ) -> Outcome {
        let Some(name) = request.text("name") else {
            return invalid("`name` must be given");
        };
        let arguments = request.params.as_ref();
        let arguments = arguments.and_then(|params| params.get("arguments"));
        let arguments = arguments.cloned().unwrap_or_default();
        if let Some(only) = asking.side.only() {
            let reading = Read::Prompt(name.to_owned(), arguments);
            if let Some(outcome) = self.unread(only, &reading).await {
                return outcome;
            }
            return self.pass_on(asking, request).await;
        }
        let Some(named) = self.named(Kind::Prompts, asking, name).await else {
            return invalid(&format!("no prompt is called `{name}`"));
        };
        let reading = Read::Prompt(named.name.clone(), arguments);
        if let Some(outcome) = self.unread(&named.upstream, &reading).await {
            return outcome;
        }
        if let Some(params) = &mut request.params {
            params.insert("name".to_owned(), json!(named.name));
        }
        self.forward(asking, &named.upstream, &request.method, request.params)
            .await
    }

    /// Returns whether any server declared a capability.
    pub(super) async fn any_can(&self, asking: &Asking, capability: &str) -> bool {
        for upstream in &asking.side.upstreams {
            if upstream.live().await.is_ok_and(|live| live.can(capability)) {
                return true;
            }
        }
        false
    }

    /// Lists what has pages: with several servers, a page combines one page of each.
    pub(super) async fn list_pages(
        self: &Arc<Self>,
        asking: &Asking,
        request: Request,
        what: (&'static str, &'static str),
    ) -> Outcome {
        if asking.side.only().is_some() {
            return self.pass_on(asking, request).await;
        }
        let (field, capability) = what;
        if !self.any_can(asking, capability).await {
            return not_found(&request.method);
        }
        let Some(wanted) = self.pages_wanted(asking, &request, capability).await else {
            return invalid("`cursor` is not one of this list");
        };
        let (mut entries, mut next, mut failed) = (Vec::new(), Vec::new(), None);
        for (at, upstream, cursor) in wanted {
            let mut params = request.params.clone();
            match (cursor, &mut params) {
                (Some(cursor), params) => {
                    let params = params.get_or_insert_default();
                    params.insert("cursor".to_owned(), json!(cursor));
                }
                (None, Some(params)) => drop(params.shift_remove("cursor")),
                (None, None) => {}
            }
            let reply = self
                .forward(asking, &upstream, &request.method, params)
                .await;
            let Outcome::Result(result) = &reply else {
                failed.get_or_insert(reply);
                continue;
            };
            let Some(fields) = Fields::of(result) else {
                continue;
            };
            if let Some(Value::Array(page)) = fields.value(field) {
                self.state().routes.see(at, field, &page);
                entries.extend(page);
            }
            if let Some(cursor) = fields.text("nextCursor") {
                next.push(json!([at, cursor]));
            }
        }
        if let Some(failed) = failed.filter(|_| entries.is_empty() && next.is_empty()) {
            return failed;
        }
        let mut page = json!({ field: entries });
        if let (Value::Object(page), false) = (&mut page, next.is_empty()) {
            page.insert("nextCursor".to_owned(), json!(cursor_of(&next)));
        }
        self.in_words_of(&asking.origin, &request.method, Outcome::result(&page))
    }

    /// Returns which page of which server is wanted; `None` if the cursor is not the gateway's.
    async fn pages_wanted(
        &self,
        asking: &Asking,
        request: &Request,
        capability: &str,
    ) -> Option<Vec<(usize, Arc<Upstream>, Option<String>)>> {
        let upstreams = &asking.side.upstreams;
        let Some(cursor) = text(request.params.as_ref(), "cursor") else {
            let mut wanted = Vec::new();
            for (at, upstream) in upstreams.iter().enumerate() {
                if upstream.live().await.is_ok_and(|live| live.can(capability)) {
                    wanted.push((at, Arc::clone(upstream), None));
                }
            }
            return Some(wanted);
        };
        let pages: Vec<(usize, String)> =
            serde_json::from_str(cursor.strip_prefix(CURSOR_PREFIX)?).ok()?;
        pages
            .into_iter()
            .map(|(at, cursor)| Some((at, Arc::clone(upstreams.get(at)?), Some(cursor))))
            .collect()
    }
}

fn cursor_of(next: &[Value]) -> String {
    format!("{CURSOR_PREFIX}{}", json!(next))
}

/// Parses a page of tools; returns `None` if it is malformed.
fn page_of(kind: Kind, result: &RawValue) -> Option<Value> {
    let page: Value = serde_json::from_str(result.get()).ok()?;
    page.get(kind.field())?.as_array()?;
    Some(page)
}

/// Returns a definition under the shown name.
fn renamed(entry: Entry) -> Value {
    let mut definition = Arc::unwrap_or_clone(entry.definition);
    if let (false, Value::Object(fields)) = (entry.shown == entry.name, &mut definition) {
        fields.insert("name".to_owned(), json!(entry.shown));
    }
    definition
}
