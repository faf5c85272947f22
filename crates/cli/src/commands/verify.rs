//! `verify`: whether an attestation is signed by a trusted key and proves what is required of a commit.

use std::{
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use interlock_attest::{
    BYTES_MAX, Expected, ExpectedWorkflow, GuardFacts, PublicKey, Refusal, Verified, public_keys,
    repository_name, verify,
};
use interlock_clients::repository::Repository;
use interlock_core::{text_digest, visible::visible_lines};
use interlock_formats::Source;
use interlock_project::Library;
use interlock_store::{Revision, git_directory};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::attest::keys;
use crate::{
    app::App,
    args::VerifyArgs,
    failure::{Done, Exit, Failure},
    live::{self, now_ms, put},
};

/// The trusted keys of a repository, relative to its project.
const KEYS: &str = ".interlock/attest.pub";
/// The folders of a commit in which workflows are looked for.
const FOLDERS: [&str; 2] = [".interlock", ".flowstate"];

pub(crate) fn run(app: &App, args: &VerifyArgs) -> Done {
    let bytes = read(app, &args.file)?;
    let here = Here::of(app)?;
    let commit = here.commit("--commit", &args.commit)?;
    let base = match &args.base {
        Some(base) => Some(here.base(base, &commit)?),
        None => None,
    };
    let trusted = trusted(app, args, base.as_ref())?;
    let workflow = match &args.workflow {
        Some(wanted) => Some(workflow(app, wanted, base.as_ref())?),
        None => None,
    };
    let repository = match &args.repository {
        Some(address) => Some(repository_name(address).ok_or_else(|| {
            usage(format!("`--repository {address}` is not of the form HOST/PATH, such as `github.com/acme/shop`"))
        })?),
        None => None,
    };
    let tree = here.tree(&commit);
    let expected = Expected {
        commit: &commit,
        tree: tree.as_deref(),
        repository: repository.as_deref(),
        workflow: workflow.as_ref().map(|(machine, text)| ExpectedWorkflow {
            name: args.workflow.as_deref().unwrap_or_default(),
            machine,
            text: text.as_deref(),
        }),
        require: &args.require,
        now_ms: now_ms(),
    };
    match verify(&bytes, &trusted, &expected) {
        Ok(verified) => accept(app, args, &verified),
        Err(refusal) => refuse(app, &refusal, &commit, args.json),
    }
}

fn usage(why: String) -> Failure {
    Failure::usage(anyhow::anyhow!(why))
}

fn read(app: &App, file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // One byte more than is read: the rest is refused.
    let max = u64::try_from(BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let read = match file.to_str() {
        Some("-") => std::io::stdin().take(max).read_to_end(&mut bytes),
        _ => std::fs::File::open(app.directory.join(file))
            .and_then(|file| file.take(max).read_to_end(&mut bytes)),
    };
    read.map_err(|error| usage(format!("`{}` cannot be read: {error}", file.display())))?;
    Ok(bytes)
}

/// The repository in which the command was called, if it was in one.
struct Here {
    open: Option<(Repository, PathBuf, Revision)>,
    project: PathBuf,
    // Removed when the command ends.
    room: TempDir,
}

/// A commit that is trusted.
struct Base<'a> {
    here: &'a Here,
    repository: &'a Repository,
    commit: String,
    name: String,
    /// The project, relative to the top of the working tree.
    below: String,
}

impl Here {
    fn of(app: &App) -> Result<Self, Failure> {
        let room = tempfile::Builder::new()
            .prefix("interlock-verify-")
            .tempdir()?;
        let project = app.project();
        let open = match (Revision::of_project(&project), git_directory(&project)) {
            (Some(revision), Some(git)) => Repository::open(room.path(), &revision, &project)
                .ok()
                .map(|repository| (repository, git, revision)),
            _ => None,
        };
        Ok(Self {
            open,
            project,
            room,
        })
    }

    /// Returns the id of a commit: as given, or what its name stands for.
    fn commit(&self, option: &str, name: &str) -> Result<String, Failure> {
        let is_hex = name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex && matches!(name.len(), 40 | 64) {
            return Ok(name.to_ascii_lowercase());
        }
        let (repository, git, _) = self.open.as_ref().ok_or_else(|| {
            usage(format!("`{option} {name}`: there is no git repository here, so give the commit's id in full"))
        })?;
        repository.resolve(git, name).map_err(|_| {
            usage(format!(
                "`{option} {name}`: there is no such commit here; fetch it first"
            ))
        })
    }

    fn tree(&self, commit: &str) -> Option<String> {
        self.open.as_ref()?.0.tree(commit).ok()
    }

    fn base(&self, name: &str, commit: &str) -> Result<Base<'_>, Failure> {
        let id = self.commit("--base", name)?;
        if id == commit {
            return Err(usage(format!(
                "`--base {name}` is the commit that is checked, which may bring its own keys: name the commit that it is to be merged into"
            )));
        }
        let (repository, _, revision) = self
            .open
            .as_ref()
            .ok_or_else(|| usage("`--base` needs the git repository: call it there".to_owned()))?;
        let below = self
            .project
            .strip_prefix(&revision.top)
            .unwrap_or(Path::new(""));
        Ok(Base {
            here: self,
            repository,
            commit: id,
            name: name.to_owned(),
            below: below.to_string_lossy().into_owned(),
        })
    }
}

impl Base<'_> {
    /// Returns a path of the project, relative to the top of the working tree.
    fn path(&self, name: &str) -> String {
        match self.below.as_str() {
            "" => name.to_owned(),
            below => format!("{below}/{name}"),
        }
    }

    fn file(&self, name: &str) -> Result<Option<String>, Failure> {
        let found = self.repository.file(&self.commit, name);
        let found = found.map_err(|why| anyhow::anyhow!("commit `{}`: {why}", self.name))?;
        let text = found.map(String::from_utf8).transpose();
        text.map_err(|_| anyhow::anyhow!("`{name}` of commit `{}` is not UTF-8", self.name).into())
    }

    /// Writes the project's workflows as they are in the commit, and returns the folder.
    fn checkout(&self, also: Option<&str>) -> Result<PathBuf, Failure> {
        let cannot = |why: String| anyhow::anyhow!("commit `{}`: {why}", self.name);
        let all = self.repository.files(&self.commit).map_err(cannot)?;
        let folders = FOLDERS.map(|folder| self.path(folder));
        let wanted: Vec<PathBuf> = all
            .into_iter()
            .filter(|file| {
                let is_below = folders.iter().any(|folder| file.starts_with(folder));
                is_below || also.is_some_and(|also| file == Path::new(also))
            })
            .collect();
        let to = self.here.room.path().join("base");
        std::fs::create_dir_all(&to)?;
        let written =
            self.repository
                .write_files(&self.commit, &wanted, &format!("{}/", to.display()));
        written.map_err(cannot)?;
        let project = to.join(&self.below);
        std::fs::create_dir_all(project.join(".interlock"))?;
        Ok(project)
    }
}

/// Reads the keys that are trusted.
fn trusted(
    app: &App,
    args: &VerifyArgs,
    base: Option<&Base<'_>>,
) -> Result<Vec<PublicKey>, Failure> {
    let mut trusted = Vec::new();
    for path in &args.key {
        let text = keys::read(&app.directory.join(path)).map_err(|failure| match failure {
            Failure::Error(_, error) => Failure::usage(error),
            said @ Failure::Said(_) => said,
        })?;
        let found = public_keys(&text);
        trusted.extend(found.map_err(|error| usage(format!("`{}`: {error}", path.display())))?);
    }
    if let Some(base) = base.filter(|_| args.key.is_empty()) {
        let name = base.path(KEYS);
        let text = base.file(&name)?.ok_or_else(|| {
            usage(format!(
                "commit `{}` has no `{name}`: add the trusted public keys there, or name them with `--key`",
                base.name
            ))
        })?;
        let found = public_keys(&text);
        trusted.extend(
            found.map_err(|error| usage(format!("`{name}` of commit `{}`: {error}", base.name)))?,
        );
    }
    if trusted.is_empty() {
        return Err(usage(
            "no key is trusted: name a public key with `--key FILE`, or a commit that has `.interlock/attest.pub` with `--base`"
                .to_owned(),
        ));
    }
    Ok(trusted)
}

/// Returns the hash of the machine that is wanted, and that of its file's text.
fn workflow(
    app: &App,
    wanted: &str,
    base: Option<&Base<'_>>,
) -> Result<(String, Option<String>), Failure> {
    if let Some(hash) = wanted.strip_prefix("sha256:") {
        return Ok((hash.to_ascii_lowercase(), None));
    }
    let Some(base) = base else {
        let library = app.library_to_read();
        let source = library.open(wanted).map_err(Failure::usage)?;
        return load(app, &library, &source);
    };
    let is_path = wanted.contains('/')
        || [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| wanted.ends_with(end));
    let path = Path::new(wanted);
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if is_path && !is_plain {
        return Err(usage(format!(
            "with `--base`, `--workflow {wanted}` must be a path below the project, or a name"
        )));
    }
    let name = base.path(wanted);
    if is_path && base.file(&name)?.is_none() {
        return Err(usage(format!("`{name}` is not in commit `{}`", base.name)));
    }
    let project = base.checkout(is_path.then_some(name.as_str()))?;
    let library = App::at(app.output, project.clone()).library_to_read();
    // No file that is checked out here may stand for one of the commit.
    let source = match is_path {
        true => library.open(&project.join(path).to_string_lossy()),
        false => library.open_named(wanted),
    };
    load(app, &library, &source.map_err(Failure::usage)?)
}

fn load(
    app: &App,
    library: &Library,
    source: &Source,
) -> Result<(String, Option<String>), Failure> {
    let loaded = live::load_source(app, library, source)?;
    let text = text_digest(&source.text).to_string();
    Ok((loaded.machine.hash, Some(text)))
}

fn accept(app: &App, args: &VerifyArgs, verified: &Verified) -> Done {
    let statement = &verified.statement;
    let predicate = &statement.predicate;
    if args.json {
        let mut line = report(true, statement.commit());
        let keys: Vec<String> = verified.keys.iter().map(PublicKey::id).collect();
        for (key, value) in [
            ("keys", json!(keys)),
            ("required", json!(args.require)),
            ("statement", serde_json::to_value(statement)?),
        ] {
            put(&mut line, key, value);
        }
        return app.output.json(&line);
    }
    let key = verified.keys.first().map(PublicKey::id).unwrap_or_default();
    app.output.line(&format!(
        "verified: commit {} by run `{}` of `{}` ({}), signed at {} with key {key}",
        statement.commit().unwrap_or_default(),
        predicate.run.id,
        predicate.workflow.id,
        predicate.run.status,
        predicate.issued_at,
    ))?;
    for name in &args.require {
        let guard = predicate.guards.iter().find(|guard| guard.name == *name);
        let rests = guard.map_or("", rests_on);
        app.output.line(&format!("`{name}` is met{rests}"))?;
    }
    if args.require.is_empty() {
        app.output
            .line("nothing was required: `--require` names what it must prove")?;
    }
    Ok(())
}

/// Says what a guard that holds does not rest on.
const fn rests_on(guard: &GuardFacts) -> &'static str {
    match (guard.reads_context, guard.on_commit) {
        (true, _) => ", in part by values that the agent or the run's input set",
        (false, None) => ", which says nothing of the files",
        (false, Some(_)) => "",
    }
}

fn refuse(app: &App, refusal: &Refusal, commit: &str, as_json: bool) -> Done {
    let exit = match refusal {
        Refusal::UnknownRequirement { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    let message = refusal.to_string();
    if as_json {
        let mut line = report(false, Some(commit));
        put(&mut line, "code", json!(refusal.code()));
        put(&mut line, "message", json!(message));
        app.output.json(&line)?;
    } else {
        let text = visible_lines(&message);
        app.output
            .error(&format!("interlock: {}\n", crate::app::indented(&text)))?;
    }
    Err(Failure::Said(exit))
}

fn report(ok: bool, commit: Option<&str>) -> Value {
    json!({ "ok": ok, "commit": commit })
}
