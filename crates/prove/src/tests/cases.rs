//! The cases of the repository: each of their steps is a step in the graph of the workflow.

use std::path::Path;

use interlock_core::run::{Phase, Run};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{
    Scenario, Simulation,
    cases::{CaseFile, WorkflowText, find_case_files},
};
use interlock_testkit::sample;

use super::runs::Explored;
use crate::{doubts, machine::unsupported};

/// One in this many files is played, others each day.
const SAMPLE: usize = 24;

/// Returns whether the run did something that proofs do not cover, as the book says: it overlaps, a sub-agent has a
/// branch, or the run is paused.
fn is_left_out(run: &Run) -> bool {
    let cancelled = run.phase == Phase::Cancelled;
    cancelled || run.calls.len() > 1 || !run.agents.is_empty() || run.paused.is_some()
}

#[test]
fn what_cases_do_is_in_the_graphs_of_their_workflows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let (mut played, mut moved) = (0, 0);
    let mut otherwise = Vec::new();
    let mut files = find_case_files(&folder).unwrap();
    files.sort();
    let files = files.iter().enumerate();
    for (_, path) in files.filter(|(index, _)| sample::has(*index, SAMPLE)) {
        let text = std::fs::read_to_string(path).unwrap();
        let Ok(file) = CaseFile::parse(&text) else {
            continue;
        };
        let WorkflowText::Inline(text) = &file.workflow else {
            continue;
        };
        let name = path.display().to_string();
        let Ok(loaded) = load(&Source::new(&name, text.clone()), None, &NoWorkflows) else {
            continue;
        };
        if unsupported(&loaded.machine).is_some() {
            continue;
        }
        let Some(explored) = Explored::new(&name, &loaded.machine, 300) else {
            continue;
        };
        // If something may be missed, that is reported, and nothing is proved.
        if !doubts::all(&explored.model, &[]).is_empty() || !explored.model.missed.is_empty() {
            continue;
        }
        for case in file.cases.iter().filter(|case| case.input.is_empty()) {
            let mut simulation = Simulation::new(loaded.machine.clone(), Scenario::default());
            let mut at = explored
                .graph
                .find(&explored.model, simulation.run())
                .unwrap();
            for step in &case.steps {
                let Ok(line) = simulation.check(step.line.clone()) else {
                    break;
                };
                simulation.take(line);
                let run = simulation.run();
                if is_left_out(run) {
                    break;
                }
                // A call that has not ended is between two states.
                if !run.calls.is_empty() {
                    continue;
                }
                match explored.step(at, run) {
                    Ok(to) => at = to,
                    Err(why) => {
                        otherwise.push(format!("{name}, {}, {}: {why}", case.name, step.shown));
                        break;
                    }
                }
                moved += 1;
            }
            played += 1;
        }
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
    assert!(played >= 20 && moved >= 40, "{played} cases, {moved} steps");
}
