//! Paths into values: names separated by dots, indexes and slices.

use serde_json::Value;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<'p> {
    /// The field of an object.
    Name(&'p str),
    /// The item of a list; a negative index counts from the end.
    Index(i64),
    /// Items of a list: start, end and step.
    Slice([Option<i64>; 3]),
}

/// Parses a path; returns `None` if it is not valid.
pub(crate) fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    for (number, part) in path.split('.').enumerate() {
        let (name, mut rest) = match part.find('[') {
            Some(at) => part.split_at_checked(at)?,
            None => (part, ""),
        };
        if !name.is_empty() {
            steps.push(Step::Name(name));
        } else if rest.is_empty() || number > 0 {
            // `a..b`, `a.` and `a.[0]` are not valid; a path into a list itself may begin with `[0]`.
            return None;
        }
        while let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']')?;
            steps.push(bracket(index)?);
            rest = after;
        }
        if !rest.is_empty() {
            return None;
        }
    }
    Some(steps)
}

fn bracket(text: &str) -> Option<Step<'_>> {
    if !text.contains(':') {
        return text.trim().parse().ok().map(Step::Index);
    }
    let mut bounds = [None; 3];
    for (number, part) in text.split(':').enumerate() {
        let place = bounds.get_mut(number)?;
        let part = part.trim();
        if !part.is_empty() {
            *place = Some(part.parse().ok()?);
        }
    }
    // Negative and zero steps are not part of this language.
    let [_, _, step] = bounds;
    step.is_none_or(|step| step > 0)
        .then_some(Step::Slice(bounds))
}

/// Returns the value at a path; `None` if there is none.
pub(crate) fn find(value: &Value, steps: &[Step<'_>]) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value.clone());
    };
    match (step, value) {
        (Step::Name(name), Value::Object(fields)) => find(fields.get(*name)?, rest),
        (Step::Index(index), Value::Array(items)) => {
            find(items.get(place(*index, items.len())?)?, rest)
        }
        // `files.0` means `files[0]`.
        (Step::Name(name), Value::Array(items)) => {
            let index = name.parse().ok()?;
            find(items.get(place(index, items.len())?)?, rest)
        }
        (Step::Slice(bounds), Value::Array(items)) => find(&slice(items, *bounds), rest),
        _ => None,
    }
}

fn place(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index.unsigned_abs()).ok()? {
        back if index < 0 => length.checked_sub(back),
        from => Some(from),
    }
}

fn slice(items: &[Value], [from, to, step]: [Option<i64>; 3]) -> Value {
    let bound = |index: i64| match place(index, items.len()) {
        Some(place) => place.min(items.len()),
        // Before the first item.
        None => 0,
    };
    let from = from.map_or(0, bound);
    let to = to.map_or(items.len(), bound);
    let step = step.and_then(|step| usize::try_from(step).ok());
    let taken = items.get(from..to.max(from)).unwrap_or_default();
    let taken = taken.iter().step_by(step.unwrap_or(1).max(1));
    Value::Array(taken.cloned().collect())
}

/// Returns the last name of a path.
pub(crate) fn last_name<'p>(steps: &[Step<'p>]) -> Option<&'p str> {
    steps.iter().rev().find_map(|step| match step {
        Step::Name(name) => Some(*name),
        _ => None,
    })
}
