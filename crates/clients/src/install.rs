//! What `init` writes into the clients' settings, and removes again.
//!
//! Changes are planned from the text of the files, shown as a diff, then written, all or nothing. Everything that others wrote
//! there stays, with its order, blanks and comments.

mod baseline_rules;
mod edit;
pub(crate) mod folders;
mod ignored;
mod record;
mod settings_edit;
mod start_options;
pub(crate) mod trust;
mod write;

use std::path::{Path, PathBuf};

pub use baseline_rules::BaselineRules;
use edit::{Edit, What};
use folders::Trust;
use settings_edit::{File, SettingsEdit};
pub use start_options::{Start, StartOptions, start_options};
pub use write::apply;

pub use crate::settings::{HookState, InstallError, Scope, Site};
use crate::{client::ClientId, plugins, registry::definition, settings::read};

/// What a plan is requested for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The clients.
    pub clients: &'a [ClientId],
    /// Whose settings are changed.
    pub scope: Scope,
    /// Whether to remove instead of install.
    pub remove: bool,
    /// Baseline rules for the clients' own rule files.
    pub floor: Option<&'a BaselineRules>,
    /// Whether to have Codex trust the hooks.
    pub trust: bool,
}

/// One file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// Present text; `None` if the file does not exist.
    pub before: Option<String>,
    /// New text; `None` if the file is removed.
    pub after: Option<String>,
}

/// Summary of the change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Name of the client.
    pub client: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What is added to it or removed from it.
    pub about: Vec<String>,
}

/// The planned changes, which are written all or nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The files.
    pub changes: Vec<FileChange>,
    /// Sentences for the person.
    pub notes: Vec<String>,
    /// Number of hooks that Codex is to trust.
    pub trusts: usize,
    /// Whether Codex is to trust the folder as well.
    pub trusts_folder: bool,
    /// Summary of the changes, one line per client and file.
    pub summary: Vec<Summary>,
    /// Change of the record of the files' previous contents; not shown.
    record: Option<FileChange>,
    /// Directories that stay even if they become empty.
    roots: Vec<PathBuf>,
}

/// Finds the installed clients: by a program on the `PATH`, or by a directory of their settings.
#[must_use]
pub fn detect(site: &Site) -> Vec<ClientId> {
    let all = ClientId::ALL.iter().map(|(_, client)| *client);
    all.filter(|client| definition(*client).is_here(site))
        .collect()
}

/// Returns the clients whose settings contain something of Interlock, for this project or this person.
///
/// This is what `init --remove` would remove; a file that merely mentions Interlock does not count.
#[must_use]
pub fn set_up(site: &Site) -> Vec<ClientId> {
    let holds = |edit: &Edit| match read(&edit.path) {
        Ok(Some(text)) => match edit.take(&text, site, &[]) {
            Ok(left) => left.as_ref() != Some(&text),
            // If a file cannot be read, its owner is unknown, and the name decides.
            Err(_) => text.contains("interlock"),
        },
        Ok(None) | Err(_) => false,
    };
    let named = |client: &ClientId| {
        [Scope::Project, Scope::Local, Scope::User]
            .into_iter()
            .any(|scope| {
                // Hooks and server come first; the other files have no effect without them.
                let edits = Edit::of(definition(*client), site, scope);
                edits.iter().take(2).any(holds)
            })
            || plugins::installed(*client, site)
                .iter()
                .any(|plugin| plugin.enabled)
    };
    let clients = ClientId::ALL.iter().map(|(_, client)| *client);
    clients.filter(named).collect()
}

/// Returns the file that contains the hooks of a client.
#[must_use]
pub fn hook_file(client: ClientId, site: &Site, scope: Scope) -> PathBuf {
    (definition(client).hook_file)(site, scope)
}

/// Returns the file that contains the MCP servers of a client.
#[must_use]
pub fn server_file(client: ClientId, site: &Site, scope: Scope) -> PathBuf {
    (definition(client).server_file)(site, scope)
}

/// Returns the hooks that are written for a client; empty if it has a plugin instead.
#[must_use]
pub fn events(client: ClientId) -> &'static [&'static str] {
    definition(client).form().map_or(&[], |form| form.events)
}

/// Looks up an event in the parsed file of a client's hooks.
#[must_use]
pub fn hook_state(
    client: ClientId,
    settings: &serde_json::Value,
    event: &str,
    site: &Site,
) -> HookState {
    let form = definition(client).form();
    form.map_or(HookState::Missing, |form| form.state(settings, event, site))
}

/// Plans what `init` changes, or what `init --remove` removes; the plan is empty if nothing has to change.
///
/// # Errors
/// A file exists but cannot be read, is malformed, or is a link to a forbidden place.
pub fn plan(site: &Site, request: &Request<'_>) -> Result<Plan, InstallError> {
    let site = &site.in_scope(request.scope);
    let mut settings_edit = SettingsEdit::new(site, request.remove);
    // A person's own files for one project are in the project, too.
    let scopes: &[Scope] = match request.scope {
        Scope::Project | Scope::Local if request.remove => &[Scope::Project, Scope::Local],
        Scope::Project => &[Scope::Project],
        Scope::Local => &[Scope::Local],
        Scope::User => &[Scope::User],
    };
    for client in request.clients {
        settings_edit.client = definition(*client).title;
        for scope in scopes {
            for edit in Edit::of(definition(*client), site, *scope) {
                if !request.remove || !is_needed_by_others(&edit, site, request) {
                    settings_edit.work(&edit)?;
                }
            }
            if request.remove || request.floor.is_some() {
                for edit in baseline_rules::edits(*client, site, *scope, request.floor) {
                    settings_edit.work(&edit)?;
                }
            }
        }
        if *client == ClientId::Codex {
            trust_codex(&mut settings_edit, request)?;
        }
    }
    keep_out_of_git(&mut settings_edit, request)?;
    let mut plan = settings_edit.finish();
    let notes = request.clients.iter();
    plan.notes
        .extend(notes.filter_map(|client| about_plugin(*client, site, request.remove)));
    if !request.remove {
        let clients = request.clients.iter();
        if request.scope != Scope::User {
            let unheard: Vec<&ClientId> = clients
                .clone()
                .filter(|client| folders::trust(**client, site, None) == Trust::Missing)
                .filter(|client| **client != ClientId::Codex || !plan.trusts_folder)
                .collect();
            let unheard = unheard.into_iter();
            plan.notes
                .extend(unheard.map(|client| untrusted(*client, site)));
        }
        if request.scope == Scope::Project && !site.by_name && !plan.changes.is_empty() {
            // A program that npm puts on the PATH starts Node first, at every call.
            let remedy = if lies_in(&site.program, "node_modules") {
                "use `--local`"
            } else {
                "put `interlock` on your PATH first, or use `--local`"
            };
            plan.notes.push(format!(
                "these files name {} by its path, which others do not have: {remedy}",
                site.program.display()
            ));
        }
        if !plan.changes.is_empty() && lies_in(&site.program, "_npx") {
            plan.notes.push(format!(
                "{} lies in the cache of `npx`, which npm empties: `npm install --global @interlock-cli/interlock` first",
                site.program.display()
            ));
        }
        let floor = request.floor.into_iter();
        plan.notes.extend(floor.flat_map(|floor| {
            clients
                .clone()
                .filter_map(|client| baseline_rules::note(*client, floor))
        }));
    }
    Ok(plan)
}

/// Returns whether a directory of this name is an ancestor of a file.
fn lies_in(file: &Path, name: &str) -> bool {
    file.components().any(|part| part.as_os_str() == name)
}

/// Lists the files that a person keeps private in git's own exclude file.
fn keep_out_of_git(
    settings_edit: &mut SettingsEdit<'_>,
    request: &Request<'_>,
) -> Result<(), InstallError> {
    let root = settings_edit.site.project_root.clone();
    let is_all = request.clients.len() == ClientId::ALL.len();
    if !(request.scope == Scope::Local || request.remove && is_all) {
        return Ok(());
    }
    let below = |file: &&File| file.path.starts_with(&root);
    let changed = settings_edit.files.iter().filter(below);
    let (known, new): (Vec<&File>, Vec<&File>) = changed
        .filter(|file| file.after.is_some())
        .partition(|file| file.before.is_some());
    let named = |file: &&File| {
        let path = file.path.strip_prefix(&root).ok()?;
        Some(path.display().to_string())
    };
    let mut names: Vec<String> = new.iter().filter_map(named).collect();
    if request.remove {
        names.clear();
    } else {
        let shared = known.iter().filter(|file| file.before != file.after);
        let shared: Vec<String> = shared.filter_map(named).collect();
        settings_edit.notes.extend(shared.iter().map(|name| {
            format!("`{name}` was there before: leave the change to it out of what you commit")
        }));
    }
    let Some(path) = ignored::file(&root) else {
        if !names.is_empty() {
            let names = names.join("`, `");
            settings_edit.notes.push(format!(
                "keep these files out of what you commit: `{names}`"
            ));
        }
        return Ok(());
    };
    if let (false, Some(listed)) = (request.remove, read(&path)?) {
        // Files of an earlier call stay listed.
        let listed = listed.lines().filter_map(|line| line.strip_prefix('/'));
        let ours = known.iter().filter_map(named);
        let ours: Vec<String> = ours
            .filter(|name| listed.clone().any(|it| it == name))
            .collect();
        names.extend(ours);
        names.sort();
    }
    settings_edit.client = "git";
    settings_edit.work(&Edit {
        path,
        scope: Scope::Local,
        what: What::Ignored(names),
    })
}

/// Reports that Interlock's plugin is also installed in a client.
fn about_plugin(client: ClientId, site: &Site, removes: bool) -> Option<String> {
    let plugin = plugins::installed(client, site).into_iter().next()?;
    let (title, place) = (client.title(), plugin.folder.display());
    let uninstall = plugins::uninstall(client);
    Some(if removes {
        format!("Interlock's plugin stays in {title} ({place}): `{uninstall}`")
    } else if plugin.enabled {
        format!(
            "Interlock's plugin is installed in {title} already ({place}), and has the same hooks for every project: one of \
             both is enough, and with both each call is judged once"
        )
    } else {
        format!("Interlock's plugin is installed in {title} ({place}), and switched off")
    })
}

fn untrusted(client: ClientId, site: &Site) -> String {
    format!(
        "{} silently ignores the hooks of a folder that it does not trust: start it in {} and trust the folder, or use `--user`",
        definition(client).title,
        site.project_root.display()
    )
}

/// Returns whether a remaining client reads the same file for the control server.
fn is_needed_by_others(edit: &Edit, site: &Site, request: &Request<'_>) -> bool {
    let What::Server(..) = edit.what else {
        return false;
    };
    let others = ClientId::ALL.iter().map(|(_, client)| *client);
    let mut others = others.filter(|client| !request.clients.contains(client));
    others.any(|client| {
        let other = definition(client);
        (other.server_file)(site, request.scope) == edit.path
            && read(&(other.hook_file)(site, request.scope))
                .is_ok_and(|text| text.is_some_and(|text| text.contains(client.word())))
    })
}

/// Plans the hashes under which Codex runs the hooks, to which the person agrees with the rest of the plan.
fn trust_codex(
    settings_edit: &mut SettingsEdit<'_>,
    request: &Request<'_>,
) -> Result<(), InstallError> {
    let codex = definition(ClientId::Codex);
    let site = settings_edit.site;
    let hooks = (codex.hook_file)(site, request.scope);
    let edit = |trusted| Edit {
        path: site.codex_home.join("config.toml"),
        scope: Scope::User,
        what: What::Trust(hooks.clone(), trusted),
    };
    let root = site.project_root.canonicalize();
    let root = root.unwrap_or_else(|_| site.project_root.clone());
    let folder = Edit {
        path: site.codex_home.join("config.toml"),
        scope: Scope::User,
        what: What::Folder(root.display().to_string()),
    };
    if request.remove {
        let Some(before) = settings_edit.before(&hooks) else {
            return settings_edit.work(&folder);
        };
        let keys = trust::keys(&before, &hooks, site).into_iter();
        let trusted = keys.map(|key| trust::Trusted {
            key,
            hash: String::new(),
        });
        settings_edit.work(&folder)?;
        return settings_edit.work(&edit(trusted.collect()));
    }
    let later = "start Codex and agree to the hooks with `/hooks`, else it skips them silently";
    if !request.trust {
        settings_edit
            .notes
            .push(format!("Codex trusts no hook yet: {later}"));
        return Ok(());
    }
    let Some(program) = codex.program(site) else {
        settings_edit.notes.push(format!(
            "`codex` is not on the PATH and cannot be asked for its hashes: {later}"
        ));
        return Ok(());
    };
    let planned = settings_edit.after(&hooks).unwrap_or_default();
    match trust::ask(&program, &planned, &hooks, site) {
        Ok(trusted) => {
            let count = trusted.len();
            let changes = settings_edit.changes();
            settings_edit.work(&edit(trusted))?;
            if settings_edit.changes() != changes {
                settings_edit.trusts = count;
            }
            if request.scope != Scope::User
                && folders::trust(ClientId::Codex, site, None) == Trust::Missing
            {
                settings_edit.work(&folder)?;
                settings_edit.trusts_folder = true;
            }
        }
        Err(why) => settings_edit.notes.push(format!(
            "Codex did not say by which hashes it trusts hooks ({why}): {later}"
        )),
    }
    Ok(())
}

/// Writes a planned change as a diff for people.
#[must_use]
pub fn diff(change: &FileChange) -> String {
    let path = change.path.display().to_string();
    let name = |text: &Option<String>| {
        text.as_ref()
            .map_or_else(|| "/dev/null".to_owned(), |_| path.clone())
    };
    let (before, after) = (
        change.before.as_deref().unwrap_or_default(),
        change.after.as_deref().unwrap_or_default(),
    );
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .header(&name(&change.before), &name(&change.after))
        .to_string()
}
