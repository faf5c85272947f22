//! The properties of a workflow, which are parsed but not proved here.

use interlock_formats::{
    Diagnostic, Property, Source, has_own_properties, own_properties, properties_file, render,
};
use interlock_project::Library;
use interlock_store::LastProof;
use serde_json::{Value, json};

use crate::{
    app::App,
    failure::Done,
    live,
    proved::{Subject, properties_beside},
};

/// The properties of a workflow, which `prove` checks.
#[derive(Debug)]
pub(super) struct Promises {
    names: Vec<String>,
    /// Argument for `prove`.
    workflow: String,
    last: Option<LastProof>,
}

impl Promises {
    pub(super) fn as_json(&self, file: &str) -> Value {
        let last = self.last.as_ref().map(|last| {
            let verdicts = last.verdicts.iter();
            let verdicts: Vec<Value> = verdicts
                .map(|(name, verdict)| json!({ "name": name, "verdict": verdict }))
                .collect();
            json!({ "at_ms": last.at_ms, "changed_since": last.is_changed, "verdicts": verdicts })
        });
        json!({ "file": file, "names": self.names, "last_proof": last })
    }

    /// Describes how many there are, and what is known of them.
    fn sentence(&self) -> String {
        let workflow = &self.workflow;
        let count = match self.names.len() {
            1 => "1 property".to_owned(),
            many => format!("{many} properties"),
        };
        let Some(last) = &self.last else {
            return format!("{workflow} has {count}: `interlock prove {workflow}` checks them");
        };
        let held = last
            .verdicts
            .iter()
            .filter(|(_, verdict)| verdict == "holds");
        let (held, all) = (held.count(), last.verdicts.len());
        let ago = live::since(last.at_ms);
        let since = if last.is_changed {
            format!("and the workflow has changed since: `interlock prove {workflow}` checks it")
        } else {
            "and nothing has changed since".to_owned()
        };
        format!("{workflow} has {count}: {held} of {all} held {ago} ago, {since}")
    }
}

/// Parses the properties in a workflow and next to it, with their errors; proves none.
pub(super) fn promised(
    app: &App,
    name: &str,
    source: &Source,
    library: &Library,
) -> (Option<Promises>, Vec<Diagnostic>) {
    let beside = properties_beside(source);
    // Most workflows have none, and loading a machine again takes as long as the check.
    if beside.is_none() && !has_own_properties(source) {
        return (None, Vec::new());
    }
    let Ok(loaded) = interlock_formats::load(source, None, library) else {
        return (None, Vec::new());
    };
    let mut wrong = Vec::new();
    let mut names = Vec::new();
    let mut add = |read: Result<Vec<Property>, Vec<Diagnostic>>| match read {
        Ok(properties) => names.extend(properties.into_iter().map(|one| one.name)),
        Err(found) => wrong.extend(found),
    };
    add(own_properties(source, &loaded.machine));
    if let Some(file) = &beside {
        add(properties_file(file, &loaded.machine));
    }
    let subject = Subject {
        source,
        machine: &loaded.machine,
        beside: beside.as_ref(),
    };
    let promises = (!names.is_empty()).then(|| Promises {
        names,
        workflow: name.to_owned(),
        last: subject.last(app),
    });
    (promises, wrong)
}

/// Prints the errors of properties, and how old their proof is.
pub(super) fn show(app: &App, promises: Option<&Promises>, wrong: &[Diagnostic]) -> Done {
    app.output
        .painted_error(&render(wrong, app.output.colours_errors()))?;
    if let Some(promises) = promises {
        app.output.remark(&format!("{}\n", promises.sentence()));
    }
    Ok(())
}
