//! JSON values with one change: permitted in workflow files and from clients, but not used in ours.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use interlock_testkit::dice::Dice;

/// Number of attempts to make a change before the value is left as it is.
const TRIES: usize = 4;

/// Returns the value with up to `changes` changes that its type can still parse.
pub(crate) fn varied<T: Serialize + DeserializeOwned + Clone>(
    dice: &mut Dice,
    value: &T,
    others: &[Value],
    changes: usize,
) -> T {
    let mut kept = value.clone();
    for _ in 0..changes {
        for _ in 0..TRIES {
            let mut json = serde_json::to_value(&kept).unwrap();
            change(dice, &mut json, others);
            if let Ok(read) = serde_json::from_value(json) {
                kept = read;
                break;
            }
        }
    }
    kept
}

/// Changes one place in a value; another value of its kind may provide a key.
fn change(dice: &mut Dice, value: &mut Value, others: &[Value]) {
    if dice.one_in(3)
        && let (Value::Object(own), Some(Value::Object(other))) = (&mut *value, dice.pick(others))
    {
        let keys: Vec<&String> = other.keys().collect();
        if let Some(key) = dice.pick(&keys) {
            own.insert((*key).clone(), other.get(*key).cloned().unwrap_or_default());
        }
        return;
    }
    let places = count(value);
    let mut place = dice.below(places);
    if let Some(found) = nth(value, &mut place) {
        change_here(dice, found);
    }
}

fn change_here(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Null => *value = json!(dice.below(3)),
        Value::Bool(is) => *is = !*is,
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or_default();
            let picked = dice.pick(&[0, 1, 2, number + 1, number - 1]).copied();
            *value = json!(picked.unwrap_or_default());
        }
        Value::String(text) => *text = dice.word(&["x", "", "a1", "src/a.py", "done"]),
        Value::Array(items) => {
            let at = dice.below(items.len());
            match items.get(at).cloned() {
                Some(item) if dice.one_in(2) => items.push(item),
                Some(_) => drop(items.remove(at)),
                None => {}
            }
        }
        Value::Object(keys) => {
            let names: Vec<String> = keys.keys().cloned().collect();
            let (one, other) = (dice.pick(&names).cloned(), dice.pick(&names).cloned());
            if let (Some(one), Some(other)) = (one, other) {
                if one == other {
                    keys.shift_remove(&one);
                } else {
                    let lent = keys.get(&other).cloned().unwrap_or_default();
                    keys.insert(one, lent);
                }
            }
        }
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(keys) => keys.values().map(count).sum(),
        _ => 0,
    }
}

fn nth<'v>(value: &'v mut Value, place: &mut usize) -> Option<&'v mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, place)),
        Value::Object(keys) => keys.values_mut().find_map(|item| nth(item, place)),
        _ => None,
    }
}
