//! The files that a workflow was read from, so that it can be loaded again from them alone.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use crate::source::{Source, Workflows};

/// Every file that a workflow was read from, the workflow's own first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// The files, without duplicates.
    pub files: Vec<Source>,
    /// Links between the files.
    pub links: Vec<FileLink>,
}

/// A name with which one file of a bundle refers to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLink {
    /// Name of the referring file; `None` if the name has the same meaning everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The name or path.
    pub wanted: String,
    /// Index of the file that it refers to.
    pub file: usize,
}

impl Bundle {
    fn linked(&self, from: Option<&str>, wanted: &str) -> Option<Result<Source, String>> {
        let link = self
            .links
            .iter()
            .find(|link| link.from.as_deref() == from && link.wanted == wanted)?;
        self.files.get(link.file).cloned().map(Ok)
    }

    fn add(&mut self, from: Option<&str>, wanted: &str, source: &Source) {
        let known = self.files.iter().position(|file| file == source);
        let file = known.unwrap_or_else(|| {
            self.files.push(source.clone());
            self.files.len() - 1
        });
        if self.linked(from, wanted).is_none() {
            self.links.push(FileLink {
                from: from.map(str::to_owned),
                wanted: wanted.to_owned(),
                file,
            });
        }
    }
}

impl Workflows for Bundle {
    fn find(&self, id: &str) -> Option<Result<Source, String>> {
        self.linked(None, id)
    }

    fn resolve(&self, from: &Source, wanted: &str) -> Option<Result<Source, String>> {
        self.linked(Some(&from.name), wanted)
    }

    fn configured(&self, table: &str, id: &str) -> Option<Result<Source, String>> {
        self.linked(None, &in_table(table, id))
    }
}

/// Returns the link name of an entry of the configuration; no workflow can have it.
fn in_table(table: &str, id: &str) -> String {
    format!("[{table}.{id}]")
}

/// Finds workflows and records those that were found.
pub(crate) struct Recorder<'w> {
    others: &'w dyn Workflows,
    bundle: RefCell<Bundle>,
}

impl<'w> Recorder<'w> {
    /// Begins with the workflow's own file.
    pub(crate) fn new(source: &Source, others: &'w dyn Workflows) -> Self {
        let bundle = Bundle {
            files: vec![source.clone()],
            links: Vec::new(),
        };
        Self {
            others,
            bundle: RefCell::new(bundle),
        }
    }

    /// Returns what was recorded.
    pub(crate) fn into_bundle(self) -> Bundle {
        self.bundle.into_inner()
    }

    fn keep(
        &self,
        from: Option<&str>,
        wanted: &str,
        found: Option<Result<Source, String>>,
    ) -> Option<Result<Source, String>> {
        if let Some(Ok(source)) = &found {
            self.bundle.borrow_mut().add(from, wanted, source);
        }
        found
    }
}

impl Workflows for Recorder<'_> {
    fn find(&self, id: &str) -> Option<Result<Source, String>> {
        self.keep(None, id, self.others.find(id))
    }

    fn resolve(&self, from: &Source, wanted: &str) -> Option<Result<Source, String>> {
        let found = self.others.resolve(from, wanted);
        self.keep(Some(&from.name), wanted, found)
    }

    fn has_program(&self, name: &str) -> Option<bool> {
        self.others.has_program(name)
    }

    fn entries(&self, table: &str) -> Option<Vec<String>> {
        self.others.entries(table)
    }

    fn configured(&self, table: &str, id: &str) -> Option<Result<Source, String>> {
        let found = self.others.configured(table, id);
        self.keep(None, &in_table(table, id), found)
    }
}
