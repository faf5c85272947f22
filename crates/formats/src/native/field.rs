//! Fields of tables, made in one line each.

use crate::table::{Field, Shape};

/// A field that may be left out.
pub(super) const fn field(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field {
        name,
        aliases: &[],
        required: false,
        shape,
        doc,
    }
}

/// A field that must be there.
pub(super) const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field {
        name,
        aliases: &[],
        required: true,
        shape,
        doc,
    }
}

/// A field with a second spelling.
pub(super) const fn aliased(
    name: &'static str,
    aliases: &'static [&'static str],
    shape: Shape,
    doc: &'static str,
) -> Field {
    Field {
        name,
        aliases,
        required: false,
        shape,
        doc,
    }
}

/// Puts two lists of fields together.
pub(crate) const fn joined<const A: usize, const B: usize, const ALL: usize>(
    first: [Field; A],
    second: [Field; B],
) -> [Field; ALL] {
    assert!(A + B == ALL, "as many fields as both have");
    let mut all = [PLACEHOLDER; ALL];
    let mut at = 0;
    #[expect(clippy::indexing_slicing, reason = "computed when it is compiled")]
    while at < ALL {
        all[at] = if at < A { first[at] } else { second[at - A] };
        at += 1;
    }
    all
}

const PLACEHOLDER: Field = field("", Shape::Any, "");
