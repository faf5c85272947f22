//! Any text as a template: rendered or refused, and no longer than is promised.

#![cfg_attr(fuzzing, no_main)]

use interlock_expr::template::{BYTES_MAX, Missing, Template, Values};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

fuzz_target!(|text: &str| {
    let Value::Object(context) = json!({
        "name": "a b", "n": 12, "no": null, "yes": true, "list": [1, "two", {"three": 3}],
        "deep": {"er": {"and": ["deeper"]}}, "item": "x",
    }) else {
        return;
    };
    let beside = Map::new();
    let values = Values {
        context: &context,
        beside: &beside,
    };
    let template = Template::new(text);
    for fault in template.faults() {
        let at = text.get(fault.at..fault.at + fault.length);
        assert!(at.is_some(), "a fault outside the text: {fault:?}");
    }
    let _ = template.names();
    for missing in [Missing::Stays, Missing::Fails] {
        if let Ok(rendered) = template.render(values, missing) {
            assert!(rendered.result.len() <= BYTES_MAX, "longer than promised");
            assert!(
                missing == Missing::Stays || rendered.left.is_empty(),
                "a block stays that should have failed"
            );
        }
        let _ = template.value(values, missing);
    }
});
