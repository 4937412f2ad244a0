//! Rows as they are shown.

use super::{Row, Table, Target};

fn table() -> Table {
    let mut table = Table::default();
    table.push(Row::new(
        "share".to_owned(),
        41.0,
        "%",
        Target::AtLeast(40.0),
    ));
    table.push(Row::new(
        "added p50".to_owned(),
        61.5,
        "µs",
        Target::AtMost(60.0),
    ));
    table.push(Row::new("direct".to_owned(), 80.0, "k/s", Target::None));
    table.push(Row::new(
        "records".to_owned(),
        2.0,
        "",
        Target::Exactly(2.0),
    ));
    table.skip("fastmcp: no network");
    table
}

#[test]
fn the_text_marks_what_is_met_and_what_is_not() {
    let text = table().text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "✓ share          41.00 %    ≥ 40");
    assert_eq!(lines[1], "✗ added p50      61.50 µs   ≤ 60");
    assert_eq!(lines[2], "  direct         80.00 k/s");
    assert_eq!(lines[3], "✓ records         2.00      = 2");
    assert_eq!(lines[4], "- fastmcp: no network");
}

#[test]
fn the_markdown_is_a_table() {
    let text = table().markdown();
    assert!(text.contains("| added p50 | 61.50 µs | ≤ 60 | ✗ |\n"));
}

#[test]
fn a_missed_target_is_noticed() {
    assert!(!table().all_met());
    assert!(Table::default().all_met());
}
