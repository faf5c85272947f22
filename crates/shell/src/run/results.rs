//! Output files of programs with unknown effects, if an option names them.

use crate::tables::results::RESULTS;
use crate::value::Arg;
use crate::walk::Walker;

/// Programs whose long options have one dash, so that no value is joined to a letter.
const ONE_DASH: [&str; 1] = ["go"];

impl Walker<'_> {
    /// Records the output files that options name.
    pub(super) fn named_results(&mut self, name: &str, operands: &[Arg]) {
        let options = RESULTS
            .iter()
            .find(|(names, _)| names.contains(&name))
            .map(|(_, options)| *options);
        let Some(options) = options else { return };
        let directory = self.directory();
        let mut words = operands.iter();
        while let Some(word) = words.next() {
            let value = options.iter().find_map(|option| {
                let rest = word.start().strip_prefix(option)?;
                let joins = option.len() == 2 && !rest.is_empty() && !ONE_DASH.contains(&name);
                match rest.strip_prefix('=') {
                    Some(value) if option.len() > 2 => Some(Arg::text(value)),
                    _ if joins && word.literal().is_some() => Some(Arg::text(rest)),
                    _ if rest.is_empty() => words.clone().next().cloned(),
                    _ => None,
                }
            });
            if let Some(value) = value.filter(|value| !value.is("-")) {
                self.facts.write(&value, directory.as_deref(), name);
            }
        }
    }
}
