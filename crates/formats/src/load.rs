//! Loads a text as a sealed machine, or reports everything that is wrong with it.

use crate::{
    bundle::{Bundle, Recorder},
    codemie,
    detect::{self, detect},
    diagnostic::{Diagnostic, Report},
    flowstate,
    loaded::Loaded,
    node::Pointers,
    opened::{Format, NO_CHOICE, Opened, start_of},
    pipeline,
    source::{Source, Workflows},
};

/// Loads a workflow, and the workflows that it invokes, as a machine.
///
/// `which` names one workflow of a gateway configuration; by default, the configuration's default is taken.
///
/// # Errors
/// Everything that is wrong with the file, sorted by position, including warnings.
pub fn load(
    source: &Source,
    which: Option<&str>,
    others: &dyn Workflows,
) -> Result<Loaded, Vec<Diagnostic>> {
    Opened::new(source).load(which, others, false)
}

/// Loads a workflow like [`load`], with ambiguities as errors, also during a run.
///
/// # Errors
/// Fails like [`load`].
pub fn load_strictly(
    source: &Source,
    which: Option<&str>,
    others: &dyn Workflows,
) -> Result<Loaded, Vec<Diagnostic>> {
    Opened::new(source).load(which, others, true)
}

/// Returns all errors, warnings and notes about a file and its workflows.
#[must_use]
pub fn check(source: &Source, others: &dyn Workflows) -> Vec<Diagnostic> {
    check_as(source, others, false)
}

/// Returns the same as [`check`], with ambiguities as errors.
#[must_use]
pub fn check_strictly(source: &Source, others: &dyn Workflows) -> Vec<Diagnostic> {
    check_as(source, others, true)
}

fn check_as(source: &Source, others: &dyn Workflows, strict: bool) -> Vec<Diagnostic> {
    let opened = Opened::new(source);
    let mut all = all_of(&opened, source, others, strict);
    if all.is_empty() {
        return all;
    }
    let pointers = opened.tree.as_ref().map(Pointers::of);
    for found in all.iter_mut().filter(|found| found.file == source.name) {
        let pointers = pointers.as_ref();
        found.path = pointers.and_then(|pointers| pointers.at(&found.span));
    }
    all
}

fn all_of(
    opened: &Opened,
    source: &Source,
    others: &dyn Workflows,
    strict: bool,
) -> Vec<Diagnostic> {
    if opened.format == Format::CodeMie {
        return opened.check_codemie(others, strict);
    }
    let names = opened.names();
    let mut all = match opened.load(None, others, false) {
        Err(found) if names.is_empty() => return found,
        Ok(loaded) if names.is_empty() => return loaded.warnings,
        // It does not matter which workflow would be taken: all are checked.
        Err(found) => found
            .into_iter()
            .filter(|found| found.code != NO_CHOICE)
            .collect(),
        Ok(_) => Vec::new(),
    };
    for name in names {
        all.extend(said(opened.load(Some(&name), others, false)));
    }
    let rank = |found: &Diagnostic| {
        let elsewhere = found.file != source.name;
        (
            elsewhere,
            found.file.clone(),
            found.span.start,
            found.severity,
            found.message.clone(),
        )
    };
    all.sort_by_cached_key(rank);
    all.dedup();
    all
}

fn said(loaded: Result<Loaded, Vec<Diagnostic>>) -> Vec<Diagnostic> {
    loaded.map_or_else(|diagnostics| diagnostics, |loaded| loaded.warnings)
}

/// Returns whether a file contains a workflow of steps, valid or not.
#[must_use]
pub fn is_of_steps(source: &Source) -> bool {
    Opened::new(source).format.is_of_steps()
}

/// Returns the name of a file's format; `None` if it has no format's marks, or those of two.
#[must_use]
pub fn format_of(source: &Source) -> Option<&'static str> {
    let opened = Opened::new(source);
    match opened.format {
        Format::FlowState => Some("flowstate"),
        Format::CodeMie => Some("codemie"),
        Format::Pipeline => Some("pipeline"),
        Format::Native => {
            detect(opened.tree.as_ref()?, &mut Report::default())?;
            Some("native")
        }
    }
}

/// Returns whether a file has the mark of a format, or cannot be parsed far enough.
#[must_use]
pub fn may_be_workflow(source: &Source) -> bool {
    let opened = Opened::new(source);
    let tree = opened.tree.as_ref();
    tree.is_none_or(|tree| opened.format != Format::Native || detect::has_marks(tree))
}

/// Returns the first words of a comment at the beginning of a file, ignoring lines for editors.
#[must_use]
pub fn first_comment(source: &Source) -> Option<&str> {
    let lines = source.text.lines().map(str::trim);
    let comments = lines
        .take_while(|line| line.is_empty() || line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim());
    let mut said = comments.filter(|line| {
        let for_editors = ["yaml-language-server:", "vim:", "-*-", "!"];
        !line.is_empty() && !for_editors.iter().any(|begin| line.starts_with(begin))
    });
    said.next()
}

/// Returns the parent that a workflow of steps names; `None` if it has none.
#[must_use]
pub fn parent_of(source: &Source) -> Option<String> {
    written(source, "extends")
}

/// Returns the description of a workflow of steps, which need not be valid.
#[must_use]
pub fn description_of(source: &Source) -> Option<String> {
    written(source, "description").filter(|text| !text.trim().is_empty())
}

/// Returns the id in a native file; `None` for another format, or if there is none.
#[must_use]
pub fn id_of(source: &Source) -> Option<String> {
    let opened = Opened::new(source);
    let native = opened.format == Format::Native;
    let tree = opened.tree.as_ref().filter(|_| native)?;
    let definition = tree.get("definition").map_or(tree, |entry| &entry.value);
    definition.get("id")?.value.text().map(str::to_owned)
}

/// Returns a text at the top level of a workflow of steps.
fn written(source: &Source, key: &str) -> Option<String> {
    let opened = Opened::new(source);
    let tree = opened
        .tree
        .as_ref()
        .filter(|_| opened.format.is_of_steps())?;
    let text = tree.get(key)?.value.text()?;
    Some(text.to_owned())
}

/// Returns the names of the workflows in a gateway configuration; empty for any other file.
#[must_use]
pub fn workflow_names(source: &Source) -> Vec<String> {
    Opened::new(source).names()
}

impl Opened {
    pub(crate) fn load(
        &self,
        which: Option<&str>,
        others: &dyn Workflows,
        strict: bool,
    ) -> Result<Loaded, Vec<Diagnostic>> {
        let empty = Source::new("", "");
        let own = self.files.source(0).unwrap_or(&empty);
        let recorder = Recorder::new(own, others);
        let mut loaded = match self.format {
            Format::FlowState => self.load_flowstate(which, &recorder),
            Format::CodeMie => self.load_codemie(which, &recorder, strict),
            Format::Pipeline => self.load_pipeline(which, &recorder),
            Format::Native => self.load_native(which, &recorder),
        }?;
        loaded.bundle = recorder.into_bundle();
        Ok(loaded)
    }

    fn check_codemie(&self, others: &dyn Workflows, strict: bool) -> Vec<Diagnostic> {
        let mut report = self.report.clone();
        if let Some(tree) = &self.tree {
            codemie::read(tree, &self.files, &mut report, others, strict);
        }
        report.into_diagnostics(&self.files)
    }

    fn load_codemie(
        &self,
        which: Option<&str>,
        others: &dyn Workflows,
        strict: bool,
    ) -> Result<Loaded, Vec<Diagnostic>> {
        let mut report = self.report.clone();
        let Some(tree) = &self.tree else {
            return Err(report.into_diagnostics(&self.files));
        };
        let reading = codemie::read(tree, &self.files, &mut report, others, strict);
        if let Some(which) = which.filter(|which| *which != reading.id) {
            let message = format!(
                "there is no workflow `{which}` in this file: it contains `{}`",
                reading.id
            );
            report.error(start_of(tree), NO_CHOICE, message);
        }
        let failed = report.has_errors();
        let diagnostics = report.into_diagnostics(&self.files);
        match reading.machine.filter(|_| !failed) {
            Some(machine) => Ok(Loaded {
                machine: machine.seal(),
                warnings: diagnostics,
                name: None,
                upstream_servers: None,
                variables: Vec::new(),
                inputs: Vec::new(),
                bundle: Bundle::default(),
            }),
            None => Err(diagnostics),
        }
    }

    fn load_pipeline(
        &self,
        which: Option<&str>,
        others: &dyn Workflows,
    ) -> Result<Loaded, Vec<Diagnostic>> {
        let Some(tree) = &self.tree else {
            return Err(self.report.clone().into_diagnostics(&self.files));
        };
        let mut reading = pipeline::read(tree, self.files.clone(), self.report.clone(), others);
        if let Some(which) = which.filter(|which| *which != reading.id) {
            let message = format!(
                "there is no workflow `{which}` in this file: it contains `{}`",
                reading.id
            );
            reading.report.error(start_of(tree), NO_CHOICE, message);
        }
        let failed = reading.report.has_errors();
        let diagnostics = reading.report.into_diagnostics(&reading.files);
        let names = reading.inputs.iter().map(|input| input.name.clone());
        match reading.machine.filter(|_| !failed) {
            Some(machine) => Ok(Loaded {
                machine: machine.seal(),
                warnings: diagnostics,
                name: None,
                upstream_servers: None,
                variables: names.collect(),
                inputs: reading.inputs,
                bundle: Bundle::default(),
            }),
            None => Err(diagnostics),
        }
    }

    fn load_flowstate(
        &self,
        which: Option<&str>,
        others: &dyn Workflows,
    ) -> Result<Loaded, Vec<Diagnostic>> {
        let Some(tree) = &self.tree else {
            return Err(self.report.clone().into_diagnostics(&self.files));
        };
        let mut reading = flowstate::read(tree, self.files.clone(), self.report.clone(), others);
        if let Some(which) = which.filter(|which| *which != reading.name) {
            let message = format!(
                "there is no workflow `{which}` in this file: it contains `{}`",
                reading.name
            );
            reading.report.error(start_of(tree), NO_CHOICE, message);
        }
        let failed = reading.report.has_errors();
        let diagnostics = reading.report.into_diagnostics(&reading.files);
        match reading.machine.filter(|_| !failed) {
            Some(machine) => Ok(Loaded {
                machine: machine.seal(),
                warnings: diagnostics,
                name: None,
                upstream_servers: None,
                variables: reading.variables,
                inputs: Vec::new(),
                bundle: Bundle::default(),
            }),
            None => Err(diagnostics),
        }
    }
}
