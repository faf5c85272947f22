//! The project of one test, with a home directory beside it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use interlock_clients::{
    ClientId,
    install::{
        FileChange, HookState, InstallError, Plan, Request, Scope, Site, apply, hook_file,
        hook_state, plan, server_file,
    },
};
use serde_json::Value;

/// The project of one test, with a home directory beside it.
pub(super) struct Project {
    pub(super) directory: tempfile::TempDir,
    pub(super) client: ClientId,
    pub(super) scope: Scope,
}

impl Project {
    pub(super) fn of(client: ClientId) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for part in ["project", "home"] {
            fs::create_dir_all(directory.path().join(part)).unwrap();
        }
        Self {
            directory,
            client,
            scope: Scope::Project,
        }
    }

    pub(super) fn new() -> Self {
        let project = Self::of(ClientId::ClaudeCode);
        for part in ["project/.claude", "home/.claude"] {
            fs::create_dir_all(project.directory.path().join(part)).unwrap();
        }
        project
    }

    pub(super) fn with(settings: &str) -> Self {
        let project = Self::new();
        fs::write(project.settings(), settings).unwrap();
        project
    }

    pub(super) fn site(&self) -> Site {
        let below = |part: &str| self.directory.path().join(part);
        Site {
            state: Some(below("state")),
            ..Site::new(
                &below("project"),
                &below("home"),
                Path::new("/opt/my tools/interlock"),
            )
        }
    }

    pub(super) fn settings(&self) -> PathBuf {
        hook_file(self.client, &self.site(), self.scope)
    }

    pub(super) fn servers(&self) -> PathBuf {
        server_file(self.client, &self.site(), self.scope)
    }

    pub(super) fn ask(&self, remove: bool) -> Result<Plan, InstallError> {
        let request = Request {
            clients: &[self.client],
            scope: self.scope,
            remove,
            floor: None,
            trust: false,
        };
        plan(&self.site(), &request)
    }

    pub(super) fn plan(&self, remove: bool) -> Vec<FileChange> {
        self.ask(remove).unwrap().changes
    }

    pub(super) fn refusal(&self) -> InstallError {
        self.ask(false).unwrap_err()
    }

    pub(super) fn install(&self) {
        apply(&self.ask(false).unwrap()).unwrap();
    }

    pub(super) fn remove(&self) {
        apply(&self.ask(true).unwrap()).unwrap();
    }

    /// Returns every file of the project and the home directory.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for part in ["project", "home"] {
            read_all(self.directory.path(), Path::new(part), &mut files);
        }
        files
    }
}

impl Project {
    /// Returns every directory below the project and the home directory.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.site().project_root, self.site().home];
        while let Some(directory) = open.pop() {
            let entries = fs::read_dir(&directory).unwrap();
            let below: Vec<PathBuf> = entries
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_dir())
                .collect();
            found.extend(below.clone());
            open.extend(below);
        }
        found
    }
}

pub(super) fn read_all(base: &Path, below: &Path, files: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(base.join(below)) else {
        return;
    };
    for entry in entries {
        let path = below.join(entry.unwrap().file_name());
        if base.join(&path).is_dir() {
            read_all(base, &path, files);
        } else {
            let text = fs::read_to_string(base.join(&path)).unwrap();
            files.insert(path.display().to_string(), text);
        }
    }
}

pub(super) fn write_all(base: &Path, files: &BTreeMap<String, String>) {
    for (path, text) in files {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

pub(super) fn state(settings: &Value, event: &str, project: &Project) -> HookState {
    hook_state(project.client, settings, event, &project.site())
}

pub(super) fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}
