//! The seven shipped workflows, each finished once.

use interlock_testkit::proposal::Proposal;
use serde_json::{Value, json};

use crate::e2e_journeys::journey::{
    Journey, Step, edit, go, park, read, refused, search, shell, write,
};
use crate::e2e_journeys::shop::{self, TEST, TOTAL};

/// Returns one journey per workflow, in the order of their names.
pub(crate) fn all() -> Vec<Journey> {
    vec![
        bugfix(),
        feature(),
        migration(),
        refactor(),
        release(),
        research(),
        review(),
    ]
}

fn bugfix() -> Journey {
    let mut files = shop::with_npm();
    for (path, text) in &mut files {
        if *path == TOTAL {
            *text = text.replace("let i = 0", "let i = 1");
        }
    }
    Journey {
        workflow: "bugfix",
        files,
        change: Vec::new(),
        suite: "npm test",
        fails_before: true,
        steps: vec![
            shell("git log --oneline | head -5", "first"),
            search("total", "src", "total.js"),
            read(TOTAL, "let i = 1"),
            read(TEST, "a cart has a sum"),
            refused(fix(), "tool_not_allowed"),
            go(
                "READY",
                json!({"cause": "the first item is left out", "plan": "begin at 0"}),
                "implementing",
            ),
            Step::Do(fix(), ""),
            edit(
                TEST,
                "test('a cart has a sum', () => {\n",
                "test('an empty cart costs nothing', () => {\n  assert.equal(total([]), 0);\n});\n\ntest('a cart has a sum', () => {\n",
            ),
            shell("git diff --no-ext-diff | head -50", "let i = 0"),
            go("DONE", Value::Null, "testing"),
            shell("npm test 2>&1 | tail -50", "pass 2"),
            park("DONE", json!({"summary": "begins at 0"}), "completed"),
        ],
        left: vec![(TOTAL, "let i = 0"), (TEST, "an empty cart costs nothing")],
    }
}

fn fix() -> Proposal {
    Proposal::edit(
        TOTAL,
        "  for (let i = 1; i < items.length; i += 1) {\n",
        "  for (let i = 0; i < items.length; i += 1) {\n",
    )
}

fn feature() -> Journey {
    const DISCOUNT: &str = "export function discount(sum, percent) {\n  return Math.round(sum * (100 - percent) / 100);\n}\n";
    let mut files = shop::with_make("");
    files.push((
        "test/discount.test.js",
        "import test from 'node:test';\nimport assert from 'node:assert';\nimport { discount } from '../src/discount.js';\n\n\
         test('ten percent off', () => {\n  assert.equal(discount(200, 10), 180);\n});\n"
            .to_owned(),
    ));
    Journey {
        workflow: "feature",
        files,
        change: Vec::new(),
        suite: "make test",
        fails_before: true,
        steps: vec![
            read("README.md", "in cents"),
            shell("ls -la src test", "total.js"),
            read("test/discount.test.js", "ten percent off"),
            refused(
                Proposal::write("src/discount.js", DISCOUNT),
                "tool_not_allowed",
            ),
            park("READY", json!({"plan": "one module"}), "implementing"),
            write("src/discount.js", DISCOUNT),
            edit(
                "README.md",
                "Prices are in cents.\n",
                "Prices are in cents. Discounts are rounded.\n",
            ),
            go("DONE", Value::Null, "testing"),
            shell("make test 2>&1 | tail -30", "pass 2"),
            go("PASS", Value::Null, "reviewing"),
            shell("git status --short", "src/discount.js"),
            shell("git diff --no-ext-diff", "rounded"),
            go("DONE", json!({"summary": "discounts"}), "completed"),
        ],
        left: vec![("src/discount.js", "percent"), ("README.md", "rounded")],
    }
}

fn migration() -> Journey {
    const SECOND: &str = "alter table users add column email text;\n";
    let mut files = shop::with_make(
        "check-migrations:\n\tgrep -c ';$$' migrations/*.sql\nmigrate:\n\tcat migrations/*.sql && echo applied\n",
    );
    files.extend([
        (
            "migrations/0001_users.sql",
            "create table users (id integer);\n".to_owned(),
        ),
        (
            "src/users.js",
            "export const columns = [\n  'id',\n];\n".to_owned(),
        ),
    ]);
    Journey {
        workflow: "migration",
        files,
        change: Vec::new(),
        suite: "make test",
        fails_before: false,
        steps: vec![
            shell("ls migrations; cat Makefile", "0001_users.sql"),
            read("migrations/0001_users.sql", "create table"),
            read("src/users.js", "columns"),
            refused(
                Proposal::write("migrations/0002_email.sql", SECOND),
                "tool_not_allowed",
            ),
            go(
                "READY",
                json!({"plan": "add a column", "rollback": "drop it"}),
                "implementing",
            ),
            Step::Detour(
                Proposal::write("migrations/0002_email.sql", SECOND),
                "validating",
            ),
            shell("make check-migrations", "0002_email.sql:1"),
            go("VALID", Value::Null, "implementing"),
            edit("src/users.js", "  'id',\n", "  'id',\n  'email',\n"),
            go("DONE", Value::Null, "testing"),
            shell("make test 2>&1 | tail -30", "pass 1"),
            park("APPLY", json!({"summary": "a column more"}), "applying"),
            shell("make migrate", "applied"),
            go("DONE", json!({"result": "applied"}), "completed"),
        ],
        left: vec![
            ("migrations/0002_email.sql", SECOND),
            ("src/users.js", "'email'"),
        ],
    }
}

fn refactor() -> Journey {
    let first = Proposal::edit(
        TOTAL,
        "  for (let i = 0; i < items.length; i += 1) {\n    sum += items[i].price;\n",
        "  for (const item of items) {\n    sum += item.price;\n",
    );
    Journey {
        workflow: "refactor",
        files: shop::with_npm(),
        change: Vec::new(),
        suite: "npm test",
        fails_before: false,
        steps: vec![
            read(TOTAL, "let i = 0"),
            shell("npm test 2>&1 | tail -20", "pass 1"),
            refused(first.clone(), "tool_not_allowed"),
            go("GREEN", json!({"plan": "two steps"}), "refactoring"),
            Step::Do(first, ""),
            go("STEP", Value::Null, "verifying"),
            shell("npm test > /dev/null && echo green", "green"),
            go("NEXT", Value::Null, "refactoring"),
            read(TOTAL, "const item of items"),
            edit(
                TOTAL,
                "  let sum = 0;\n  for (const item of items) {\n    sum += item.price;\n  }\n  return sum;\n",
                "  return items.reduce((sum, item) => sum + item.price, 0);\n",
            ),
            go("STEP", Value::Null, "verifying"),
            shell("npm test 2>&1 | tail -20; echo done", "pass 1"),
            go("DONE", json!({"summary": "a fold"}), "completed"),
        ],
        left: vec![(TOTAL, "items.reduce")],
    }
}

fn release() -> Journey {
    let long: String = (1..=201).map(|line| format!("entry {line}\n")).collect();
    let mut files = shop::with_npm();
    files.push((
        "CHANGELOG.md",
        "# Changes\n\n## 1.0.0\n\nThe first.\n".to_owned(),
    ));
    Journey {
        workflow: "release",
        files,
        change: vec![("src/empty.js", "export const empty = [];\n".to_owned())],
        suite: "npm test",
        fails_before: false,
        steps: vec![
            shell("git log --oneline | head -20", "second"),
            read("package.json", "1.0.0"),
            read("CHANGELOG.md", "The first."),
            refused(Proposal::write("HISTORY.md", &long), "edit_too_large"),
            edit(
                "package.json",
                "  \"version\": \"1.0.0\",\n",
                "  \"version\": \"1.1.0\",\n",
            ),
            edit(
                "CHANGELOG.md",
                "## 1.0.0\n",
                "## 1.1.0\n\nAn empty cart.\n\n## 1.0.0\n",
            ),
            shell(
                "git add package.json CHANGELOG.md && git commit -m 'Release 1.1.0'",
                "Release 1.1.0",
            ),
            go(
                "PREPARED",
                json!({"version": "1.1.0", "changelog": "An empty cart."}),
                "verifying",
            ),
            shell("npm test 2>&1 | tail -20", "pass 1"),
            park("RELEASE", Value::Null, "publishing"),
            shell("git tag v1.1.0", ""),
            shell("git push origin main v1.1.0 2>&1 | tail -5", "v1.1.0"),
            go("DONE", Value::Null, "published"),
        ],
        left: vec![("CHANGELOG.md", "1.1.0")],
    }
}

fn research() -> Journey {
    const ANSWER: &str =
        "# Prices\n\nPrices are in cents (README.md); `total` adds them (src/total.js).\n";
    let mut files = shop::with_npm();
    // Copilot CLI does not create a folder for a file.
    files.push(("docs/README.md", "# Notes\n".to_owned()));
    Journey {
        workflow: "research",
        files,
        change: Vec::new(),
        suite: "npm test",
        fails_before: false,
        steps: vec![
            search("price", "src", "total.js"),
            read("README.md", "in cents"),
            read(TOTAL, "price"),
            refused(
                Proposal::write("docs/research.md", ANSWER),
                "tool_not_allowed",
            ),
            go(
                "ENOUGH",
                json!({"sources": [
                    {"title": "README", "where": "README.md", "says": "cents"},
                    {"title": "total", "where": TOTAL, "says": "a sum"},
                ]}),
                "weighing",
            ),
            go("WRITE", json!({"outline": "one sentence"}), "writing"),
            write("docs/research.md", ANSWER),
            go("DONE", Value::Null, "checking"),
            read("docs/research.md", "Prices are in cents"),
            go("DONE", Value::Null, "completed"),
        ],
        left: vec![("docs/research.md", ANSWER)],
    }
}

fn review() -> Journey {
    const REPORT: &str = "# Approved\n\nNothing must be fixed.\n";
    Journey {
        workflow: "review",
        files: shop::with_npm(),
        change: vec![("src/empty.js", "export const empty = [];\n".to_owned())],
        suite: "npm test",
        fails_before: false,
        steps: vec![
            shell(
                "git log --oneline -3; git diff --no-ext-diff HEAD~1 | head -100",
                "empty",
            ),
            read("src/empty.js", "empty"),
            refused(Proposal::write("REVIEW.md", REPORT), "tool_not_allowed"),
            go(
                "INSPECTED",
                json!({"blocking": 0, "findings": []}),
                "checking",
            ),
            shell("npm test 2>&1 | tail -20", "pass 1"),
            go("CHECKED", json!({"checks": "pass"}), "reporting"),
            write("REVIEW.md", REPORT),
            go("SUBMIT", Value::Null, "approved"),
        ],
        left: vec![("REVIEW.md", REPORT)],
    }
}
