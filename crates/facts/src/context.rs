//! Where a call stands, and what its facts depend on.

use interlock_shell::Dialect;

use crate::{canonical::control_digest, disk::Disk};

/// Where a call stands: its directory, its shell and the process that makes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSite {
    /// The directory that relative paths count from.
    pub cwd: String,
    /// The shell that runs the lines of a tool that does not say which it is.
    pub shell: Dialect,
    /// The client's process, where the agent has one of its own.
    pub pid: Option<u32>,
}

impl CallSite {
    /// Takes a directory; the shell is bash, and no process is known.
    #[must_use]
    pub fn at(cwd: impl Into<String>) -> Self {
        Self {
            cwd: cwd.into(),
            ..Self::default()
        }
    }
}

/// Where a call would run, and what of this machine matters to its facts.
///
/// Paths are absolute; [`CallContext::resolved`] follows their links once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallContext {
    /// The project's root, fixed when its run began.
    pub project_root: String,
    /// Where the call stands.
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
    /// Where a program's bare name is looked for.
    pub search_path: Vec<String>,
    /// Entries of the person's configuration for commands of class privilege and system.
    pub allowed_by_person: Vec<String>,
    /// Programs that the person names as wrappers of the command in their words.
    pub transparent: Vec<String>,
    /// Names of the variables that a shell line is given.
    pub variables: Vec<String>,
    /// Protected places that lie elsewhere: the path below home, and the path that a variable names.
    pub moved: Vec<(String, String)>,
    /// What the person's `[protect] allow` opens, as written.
    pub opened: Vec<String>,
    /// Ports of this machine on which a person's console listens.
    pub consoles: Vec<u16>,
    /// Whether a shell line will run where blocked variables do not exist.
    pub environment_held: bool,
    /// Whether it will run where the kernel refuses every write that its state does not allow.
    pub kernel_holds: bool,
}

impl CallContext {
    /// Makes the context of a call at the root of a project, with nothing else known.
    #[must_use]
    pub fn of_project(root: impl Into<String>) -> Self {
        let root = root.into();
        Self {
            site: CallSite::at(root.clone()),
            project_root: root,
            ..Self::default()
        }
    }

    /// Names which places are protected here; the same wherever the same ones are.
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

    /// Follows the links of every path, so that paths can be compared as text.
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
