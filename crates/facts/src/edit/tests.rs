use super::*;

fn lines(before: &str, old: &str, new: &str, all: bool) -> u64 {
    let replacement = Replacement { old, new, all };
    replacement.apply(OldText::Known(before.to_owned())).0
}

#[test]
fn an_edit_is_measured_on_the_text_it_changes() {
    let file = "fn a() {\n    one();\n    two();\n}\n";
    let rows = [
        ("one", "three", false, 1),
        ("one();\n    two();", "one();\n    TWO();", false, 1),
        ("    two();\n", "", false, 1),
        ("two();", "two();\n    three();\n    four();", false, 2),
        ("    one();\n    two();\n", "    x();\n", false, 2),
        ("();", "()?;", true, 2),
        ("();", "()?;", false, 1),
        (" {\n    one", " { one", false, 2),
    ];
    for (old, new, all, expected) in rows {
        assert_eq!(lines(file, old, new, all), expected, "{old:?} -> {new:?}");
    }
}

#[test]
fn a_place_that_is_not_found_counts_all_its_lines() {
    assert_eq!(lines("x\n", "a\nb\nc", "a\nB\nc", false), 3);
    assert_eq!(lines("x\n", "a", "1\n2\n3\n4", false), 4);
    assert_eq!(lines("", "", "1\n2\n", false), 2);
    assert_eq!(lines("full\n", "", "1\n2\n", false), 2);
}

#[test]
fn quotes_that_clients_take_for_alike_count_each_place() {
    let curly = "\u{201c}a\u{201d}\n".repeat(5);
    assert_eq!(lines(&curly, "\"a\"", "b", true), 5);
}

#[test]
fn line_ends_of_windows_do_not_hide_the_place() {
    assert_eq!(lines("a\r\nb\r\nc\r\n", "a\nb", "a\nB", false), 1);
}

#[test]
fn a_text_that_cannot_be_read_is_bounded_from_above() {
    let unknown = OldText::Unknown { lines_max: 100 };
    let one = Replacement {
        old: "a",
        new: "b\nc",
        all: false,
    };
    assert_eq!(one.apply(unknown.clone()).0, 2);
    assert_eq!(
        Replacement { all: true, ..one }.apply(unknown.clone()).0,
        200
    );
    assert_eq!(unknown.touched_by_write("a\n"), 100);
    assert_eq!(unknown.touched_by_removal(), 100);
}

#[test]
fn a_replacement_does_not_grow_without_end() {
    let text = "a".repeat(1_000_000);
    let new = "b\n".repeat(1_000);
    assert_eq!(lines(&text, "a", &new, true), 1_000_000_000);
}
