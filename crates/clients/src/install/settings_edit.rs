//! The files that a plan changes: old text, new text, and a summary of the change.

use std::path::{Path, PathBuf};

use super::{
    FileChange, Plan, Summary, baseline_rules,
    edit::{Edit, What},
    record::{Added, Record},
    write,
};
use crate::settings::{EditError, InstallError, Site, read};

/// The files that are being changed.
pub(super) struct SettingsEdit<'a> {
    pub(super) site: &'a Site,
    remove: bool,
    record: Record,
    pub(super) files: Vec<File>,
    pub(super) notes: Vec<String>,
    pub(super) trusts: usize,
    pub(super) trusts_folder: bool,
    /// Whose settings are being changed.
    pub(super) client: &'static str,
}

/// One of them.
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    linked: bool,
    added: Vec<Added>,
    /// The clients concerned, with a description of the change.
    about: Vec<(&'static str, String)>,
}

impl File {
    /// Summarizes the changes, one line per client.
    fn summary(&self) -> Vec<Summary> {
        let mut lines: Vec<Summary> = Vec::new();
        for (client, about) in &self.about {
            match lines.iter_mut().find(|line| line.client == *client) {
                Some(line) => line.about.push(about.clone()),
                None => lines.push(Summary {
                    client,
                    path: self.path.clone(),
                    about: vec![about.clone()],
                }),
            }
        }
        lines
    }
}

impl<'a> SettingsEdit<'a> {
    pub(super) fn new(site: &'a Site, remove: bool) -> Self {
        Self {
            site,
            remove,
            record: Record::read(site.record().as_deref()),
            files: Vec::new(),
            notes: Vec::new(),
            trusts: 0,
            trusts_folder: false,
            client: "",
        }
    }

    /// Applies one change, and records its description.
    pub(super) fn work(&mut self, edit: &Edit) -> Result<(), InstallError> {
        let client = self.client;
        let remove = self.remove;
        let before = self.file(edit)?.after.clone();
        self.change(edit)?;
        let file = self.file(edit)?;
        // The record of the file removes everything at once.
        let whole = remove && file.about.is_empty() && file.after != file.before;
        if file.after != before || whole {
            file.about.push((client, edit.about()));
        }
        Ok(())
    }

    fn change(&mut self, edit: &Edit) -> Result<(), InstallError> {
        let (site, remove) = (self.site, self.remove);
        let file = self.file(edit)?;
        let faulty = |fault: EditError| fault.of_file(&edit.path);
        if remove {
            if let Some(text) = &file.after {
                file.after = edit.take(text, site, &file.added).map_err(faulty)?;
            }
            return Ok(());
        }
        if let (What::BaselineRules(rules), Some(text)) = (&edit.what, &file.after) {
            // The baseline rules of another workflow are removed first.
            file.after = baseline_rules::take(text, rules.language, &file.added).map_err(faulty)?;
            file.added.clear();
        }
        let after = file.after.as_deref();
        file.after = edit.put(after, site, &mut file.added).map_err(faulty)?;
        Ok(())
    }

    fn file(&mut self, edit: &Edit) -> Result<&mut File, InstallError> {
        let known = self.files.iter().position(|file| file.path == edit.path);
        let index = match known {
            Some(index) => index,
            None => {
                let linked = write::leads(&edit.path, self.site, edit.scope)?;
                let before = read(&edit.path)?;
                let mut after = before.clone();
                let mut added = self.record.added(&edit.path).to_vec();
                if self.remove
                    && let Some(now) = &before
                    && let Some(earlier) = self.record.before(&edit.path, now)
                {
                    // The previous text may contain hooks of Interlock that are older still.
                    after = earlier;
                    added.clear();
                }
                self.files.push(File {
                    path: edit.path.clone(),
                    before,
                    after,
                    linked,
                    added,
                    about: Vec::new(),
                });
                self.files.len() - 1
            }
        };
        self.files
            .get_mut(index)
            .ok_or_else(|| InstallError::Changed {
                path: edit.path.clone(),
            })
    }

    pub(super) fn before(&self, path: &Path) -> Option<String> {
        let file = self.files.iter().find(|file| file.path == path)?;
        file.before.clone()
    }

    pub(super) fn after(&self, path: &Path) -> Option<String> {
        let file = self.files.iter().find(|file| file.path == path)?;
        file.after.clone()
    }

    pub(super) fn changes(&self) -> usize {
        let files = self.files.iter();
        files.filter(|file| file.before != file.after).count()
    }

    pub(super) fn finish(mut self) -> Plan {
        let mut changes = Vec::new();
        let mut summary = Vec::new();
        for file in self.files {
            let lines = file.summary();
            let after = match file.after {
                // A link stays; its target is emptied.
                None if file.before.is_some() && file.linked => Some("{}\n".to_owned()),
                after => after,
            };
            if self.remove {
                self.record.forget(&file.path);
            } else if file.before != after {
                // The text of the file before `init` first changed it.
                let first = file.before.as_ref().and_then(|now| {
                    let earlier = self.record.before(&file.path, now);
                    earlier.map(|earlier| earlier.as_deref().map(str::to_owned))
                });
                let first = first.unwrap_or_else(|| file.before.clone());
                self.record
                    .keep(&file.path, first.as_deref(), after.as_deref(), file.added);
            }
            if file.before != after {
                summary.extend(lines);
                changes.push(FileChange {
                    path: file.path,
                    before: file.before,
                    after,
                });
            }
        }
        let record = self.site.record().and_then(|path| {
            let before = read(&path).ok().flatten();
            let after = self.record.text();
            (before != after).then_some(FileChange {
                path,
                before,
                after,
            })
        });
        Plan {
            changes,
            notes: self.notes,
            trusts: self.trusts,
            trusts_folder: self.trusts_folder,
            summary,
            record,
            roots: vec![self.site.project_root.clone(), self.site.home.clone()],
        }
    }
}
