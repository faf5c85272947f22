//! Texts with templates, and the handling of outputs.

use interlock_core::machine::{Clear as Lowered, DataFlags};
use interlock_expr::{
    template::Template,
    text::{Expr, Piece, Text},
};

use crate::codemie::syntax::{Clear, Flags, State};

/// Returns a text whose templates are filled, or, if `fills` is false, the text as written.
pub(super) fn text(written: &str, fills: bool) -> Text {
    if !fills {
        return Text::plain(written);
    }
    let template = Template::new(written);
    if template.has_blocks() {
        return Text {
            pieces: vec![Piece::Hole(Expr::Template(template))],
        };
    }
    // As in a template: one trailing line break is dropped.
    let bare = written.strip_suffix('\n').unwrap_or(written);
    Text::plain(bare)
}

/// Returns the task of a state for its model.
pub(super) fn task(state: &State) -> Text {
    let written = state.task.as_ref().map_or("", |task| task.text.as_str());
    text(written, state.fills_prompt)
}

/// Returns how the output of a state is handled.
pub(super) fn flags(state: &State, flags: &Flags) -> DataFlags {
    DataFlags {
        store: flags.store,
        output_key: flags.output_key.as_ref().map(|key| key.text.clone()),
        clear: match flags.clear {
            Clear::Nothing => Lowered::Nothing,
            Clear::Everything => Lowered::Everything,
            Clear::KeepCurrent => Lowered::KeepCurrent,
        },
        reset: flags.reset.clone(),
        append: flags.append,
        in_history: flags.in_history,
        clear_messages: flags.clear_messages,
        keep_first: false,
        as_person: state.as_person,
    }
}
