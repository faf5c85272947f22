//! A small project with a test suite that runs offline.

pub(crate) const TOTAL: &str = "src/total.js";
pub(crate) const TEST: &str = "test/total.test.js";

/// Returns a shop with a correct sum, tested by `npm test`.
pub(crate) fn with_npm() -> Vec<(&'static str, String)> {
    let mut files = sources();
    files.push((
        "package.json",
        "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"type\": \"module\",\n  \"private\": true,\n  \
         \"scripts\": {\n    \"test\": \"node --test\"\n  }\n}\n"
            .to_owned(),
    ));
    files
}

/// Returns the same, tested by `make test`.
pub(crate) fn with_make(more: &str) -> Vec<(&'static str, String)> {
    let mut files = sources();
    files.extend([
        ("package.json", "{\"type\": \"module\"}\n".to_owned()),
        (
            "Makefile",
            format!(".PHONY: test\ntest:\n\tnode --test\n{more}"),
        ),
    ]);
    files
}

fn sources() -> Vec<(&'static str, String)> {
    vec![
        (
            "README.md",
            "# Shop\n\nPrices are in cents.\n".to_owned(),
        ),
        (
            TOTAL,
            "export function total(items) {\n  let sum = 0;\n  for (let i = 0; i < items.length; i += 1) {\n    \
             sum += items[i].price;\n  }\n  return sum;\n}\n"
                .to_owned(),
        ),
        (
            TEST,
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { total } from '../src/total.js';\n\n\
             test('a cart has a sum', () => {\n  assert.equal(total([{ price: 2 }, { price: 3 }]), 5);\n});\n"
                .to_owned(),
        ),
    ]
}
