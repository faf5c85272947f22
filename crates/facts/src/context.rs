//! The place of a call, and what its facts depend on.

use interlock_shell::Dialect;

use crate::{canonical::control_digest, disk::Disk};

/// The place of a call: its directory, its shell and the process that makes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSite {
    /// Directory that relative paths are resolved against.
    pub cwd: String,
    /// Shell for the lines of a tool that does not name one.
    pub shell: Dialect,
    /// The client's process, if the agent has one of its own.
    pub pid: Option<u32>,
}

impl CallSite {
    /// Creates a site in a directory; the shell is bash, and no process is known.
    #[must_use]
    pub fn at(cwd: impl Into<String>) -> Self {
        Self {
            cwd: cwd.into(),
            ..Self::default()
        }
    }
}

/// Where a call would run, and the parts of this machine that its facts depend on.
///
/// Paths are absolute; [`CallContext::resolved`] resolves their links once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallContext {
    /// The project's root, fixed when its run began.
    pub project_root: String,
    /// Place of the call.
    pub site: CallSite,
    /// The person's home directory.
    pub home: Option<String>,
    /// The person's name on this machine.
    pub user: Option<String>,
    /// Directories outside the project that the person lets agents write.
    pub writable: Vec<String>,
    /// The directory for temporary files.
    pub temporary: Option<String>,
    /// Cache directories.
    pub caches: Vec<String>,
    /// Interlock's state directory.
    pub state_directory: Option<String>,
    /// The person's Interlock configuration.
    pub config_directory: Option<String>,
    /// Interlock's programs.
    pub programs: Vec<String>,
    /// Directories that are searched for a program's bare name.
    pub search_path: Vec<String>,
    /// Entries of the person's configuration for commands of class privilege and system.
    pub allowed_by_person: Vec<String>,
    /// Programs that the person declares as wrappers of the command in their arguments.
    pub transparent: Vec<String>,
    /// Names of the variables that a shell line receives.
    pub variables: Vec<String>,
    /// Protected paths in other locations: the path below home, and the path in a variable.
    pub moved: Vec<(String, String)>,
    /// Entries of the person's `[protect] allow`, as written.
    pub opened: Vec<String>,
    /// Ports of this machine on which a person's console listens.
    pub consoles: Vec<u16>,
    /// Whether a shell line will run without the blocked variables.
    pub environment_held: bool,
    /// Whether it will run where the kernel refuses every write that its state does not allow.
    pub kernel_holds: bool,
}

impl CallContext {
    /// Creates the context of a call at the root of a project, with nothing else known.
    #[must_use]
    pub fn of_project(root: impl Into<String>) -> Self {
        let root = root.into();
        Self {
            site: CallSite::at(root.clone()),
            project_root: root,
            ..Self::default()
        }
    }

    /// Returns a key that is equal wherever the same paths are protected.
    #[must_use]
    pub fn places_key(&self) -> String {
        let places = serde_json::json!([
            self.project_root,
            self.home,
            self.state_directory,
            self.config_directory,
            self.programs,
            self.moved,
        ]);
        let digest = control_digest(&places);
        digest
            .as_str()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(24)
            .collect()
    }

    /// Resolves the links of every path, so that paths can be compared as text.
    #[must_use]
    pub fn resolved(mut self, disk: &dyn Disk) -> Self {
        let mut paths = vec![&mut self.project_root, &mut self.site.cwd];
        let some = [
            &mut self.home,
            &mut self.temporary,
            &mut self.state_directory,
            &mut self.config_directory,
        ];
        paths.extend(some.into_iter().flatten());
        paths.extend(&mut self.caches);
        paths.extend(&mut self.writable);
        paths.extend(&mut self.programs);
        paths.extend(self.moved.iter_mut().map(|(_, path)| path));
        disk.follow_each(&mut paths);
        self
    }
}
