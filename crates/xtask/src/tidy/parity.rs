//! Pages that promise something row by row: what the host does beside its predecessor, and what it
//! makes of hostile input. Each of their rows names a test that runs, or says what is absent.

use super::Finding;
use super::workspace::Workspace;

const PAGES: [&str; 2] = ["docs/host-parity.md", "docs/hostile-input.md"];
const RULE: &str = "parity";
/// How many lines before a function its attributes may stand.
const ATTRIBUTES: usize = 8;

/// Every row of the pages is shown by a test that is there and runs, or is counted as absent.
pub(super) fn parity(workspace: &Workspace) -> Vec<Finding> {
    PAGES
        .into_iter()
        .flat_map(|page| of_page(workspace, page))
        .collect()
}

fn of_page(workspace: &Workspace, path: &str) -> Vec<Finding> {
    let Some(page) = workspace.file(path) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let (mut rows, mut absent) = (0, 0);
    for (number, line) in page.text.lines().enumerate() {
        let Some(shown) = shown(line) else {
            continue;
        };
        rows += 1;
        if shown.starts_with("absent") {
            absent += 1;
            continue;
        }
        let tests = tests(shown);
        let place = format!("{path}:{}", number + 1);
        if tests.is_empty() {
            findings.push(Finding::error(RULE, &place, "the row names no test"));
        }
        for (name, file) in tests {
            if let Some(fault) = fault(workspace, name, file) {
                findings.push(Finding::error(RULE, &place, fault));
            }
        }
    }
    let counted = format!("{rows} rows: {} there, {absent} absent", rows - absent);
    if !page.text.contains(&counted) {
        let message = format!("the page does not say `{counted}`");
        findings.push(Finding::error(RULE, path, message));
    }
    findings
}

/// The last cell of a row, unless the line is none or heads a table.
fn shown(line: &str) -> Option<&str> {
    let cells = line.strip_prefix('|')?.strip_suffix('|')?;
    let last = cells.rsplit('|').next()?.trim();
    let head = last == "Shown by" || last.chars().all(|character| "-: ".contains(character));
    (!head).then_some(last)
}

/// The tests of a cell: name, and the file as linked from the page.
fn tests(cell: &str) -> Vec<(&str, &str)> {
    let links = cell.split("[`").skip(1);
    links
        .filter_map(|link| {
            let (name, rest) = link.split_once("`](../")?;
            Some((name, rest.split_once(')')?.0))
        })
        .collect()
}

/// What is wrong with a test that a row names.
fn fault(workspace: &Workspace, name: &str, path: &str) -> Option<String> {
    let Some(file) = workspace.file(path) else {
        return Some(format!("there is no {path}"));
    };
    let head = format!("fn {name}(");
    let lines: Vec<&str> = file.text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.contains(&head)) else {
        return Some(format!("{path} has no test {name}"));
    };
    let before = &lines[at.saturating_sub(ATTRIBUTES)..at];
    let attributes: Vec<&str> = before
        .iter()
        .rev()
        .copied()
        .take_while(|line| !line.trim().is_empty() && line.trim_end() != "}")
        .collect();
    let has = |word: &str| attributes.iter().any(|line| line.contains(word));
    // That no test is skipped is a rule of its own.
    let is_test = has("test]") || has("test(");
    (!is_test).then(|| format!("{name} of {path} is no test"))
}
