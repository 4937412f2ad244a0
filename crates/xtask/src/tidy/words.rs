//! Words that must not be in the tree.
//!
//! The needles are put together with `concat!` so that this file does not find itself.

use super::Finding;
use super::workspace::{File, Workspace};

/// Where a needle is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everywhere,
    Rust,
    /// Rust, but for the one crate that is made of it.
    Safe,
    /// Files that hold tests. Fixtures and hostile servers may be slow on purpose, and the harness holds the one
    /// loop that waits, with its deadline.
    Tests,
}

struct Needle {
    text: &'static str,
    scope: Scope,
    /// The character before the needle must not be one of a longer word or path.
    whole: bool,
    message: &'static str,
}

const fn needle(text: &'static str, scope: Scope, whole: bool, message: &'static str) -> Needle {
    Needle {
        text,
        scope,
        whole,
        message,
    }
}

const UNFINISHED: &str = "unfinished work belongs into an issue, not into the tree";
const MACHINE: &str = "a path of one machine; take a temporary or configured folder";
const REGISTRY: &str = "name the package, not the host it came from";
const UNSAFE: &str = "no crate of the workspace but `alloc` contains unsafe code";
/// Where it does.
const MAY_BE_UNSAFE: &str = "crates/alloc/src/";
const SLEEP: &str = "a test waits for an event or holds the clock, it does not sleep; where it must, \
                     say so with `tidy: REASON` on the line or the one above";

const NEEDLES: &[Needle] = &[
    needle(concat!("TO", "DO"), Scope::Everywhere, true, UNFINISHED),
    needle(concat!("FIX", "ME"), Scope::Everywhere, true, UNFINISHED),
    needle(concat!("XX", "X:"), Scope::Everywhere, true, UNFINISHED),
    needle(concat!("todo", "!("), Scope::Rust, true, UNFINISHED),
    needle(
        concat!("unimplemented", "!("),
        Scope::Rust,
        true,
        UNFINISHED,
    ),
    needle(
        concat!("#[", "ignore"),
        Scope::Rust,
        false,
        "a test runs or does not exist",
    ),
    needle(concat!("unsafe", " {"), Scope::Safe, true, UNSAFE),
    needle(concat!("unsafe", " fn"), Scope::Safe, true, UNSAFE),
    needle(concat!("unsafe", " impl"), Scope::Safe, true, UNSAFE),
    needle(concat!("unsafe", " extern"), Scope::Safe, true, UNSAFE),
    needle(concat!("sleep", "("), Scope::Tests, false, SLEEP),
    needle(concat!("/wo", "rk/main"), Scope::Everywhere, true, MACHINE),
    needle(
        concat!("/wo", "rk/shared"),
        Scope::Everywhere,
        true,
        MACHINE,
    ),
    needle(concat!("/wo", "rk/.lib"), Scope::Everywhere, true, MACHINE),
    needle(concat!("/ro", "ot/"), Scope::Everywhere, true, MACHINE),
    needle(concat!("/tm", "p/x"), Scope::Everywhere, true, MACHINE),
    needle(concat!("/tm", "p/t/"), Scope::Everywhere, true, MACHINE),
    needle(concat!("/tm", "p/spec"), Scope::Everywhere, true, MACHINE),
    needle(concat!("crates", ".io"), Scope::Everywhere, false, REGISTRY),
    needle(
        concat!("registry", ".npmjs"),
        Scope::Everywhere,
        false,
        REGISTRY,
    ),
    needle(concat!("pypi", ".org"), Scope::Everywhere, false, REGISTRY),
    needle(
        concat!("pythonhosted", ".org"),
        Scope::Everywhere,
        false,
        REGISTRY,
    ),
    needle(
        concat!("deb.debian", ".org"),
        Scope::Everywhere,
        false,
        REGISTRY,
    ),
];

/// What a comment that excuses a sleep begins with.
const REASON: &str = "// tidy: ";
/// How many lines above a sleep its loop may begin.
const LOOK_BACK: usize = 4;

/// Files whose words are cargo's, or the law's.
const EXEMPT: &[&str] = &["Cargo.lock", "LICENSE"];

/// No unfinished work, no skipped test, no path of one machine, no silenced lint.
pub(super) fn words(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace
        .files
        .iter()
        .filter(|f| !EXEMPT.contains(&f.path.as_str()))
    {
        let needles: Vec<&Needle> = NEEDLES.iter().filter(|n| n.applies(file)).collect();
        let lines: Vec<&str> = file.text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let before = &lines[index.saturating_sub(LOOK_BACK)..index];
            for needle in needles.iter().filter(|n| n.found(before, line)) {
                let place = format!("{}:{}", file.path, index + 1);
                let message = format!("`{}`: {}", needle.text, needle.message);
                findings.push(Finding::error("words", place, message));
            }
        }
        if file.path.ends_with(".rs") {
            silenced(file, &mut findings);
        }
    }
    findings
}

/// Attributes that silence a lint without saying why.
fn silenced(file: &File, findings: &mut Vec<Finding>) {
    for (open, hint) in [
        (
            concat!("#[", "allow("),
            "use `expect` with a reason, which fails once it is not needed",
        ),
        (
            concat!("#![", "allow("),
            "use `expect` with a reason, which fails once it is not needed",
        ),
        (concat!("#[", "expect("), "say the reason"),
        (concat!("#![", "expect("), "say the reason"),
    ] {
        for (at, _) in file.text.match_indices(open) {
            let attribute = file.text[at..].split(")]").next().unwrap_or_default();
            if !attribute.contains("reason = ") {
                let number = file.text[..at].matches('\n').count() + 1;
                let place = format!("{}:{number}", file.path);
                findings.push(Finding::error("words", place, format!("`{open}…`: {hint}")));
            }
        }
    }
}

// === impl Needle ===

impl Needle {
    fn applies(&self, file: &File) -> bool {
        match self.scope {
            Scope::Everywhere => true,
            Scope::Rust => file.path.ends_with(".rs"),
            Scope::Safe => file.path.ends_with(".rs") && !file.path.starts_with(MAY_BE_UNSAFE),
            Scope::Tests => {
                let slow = ["/fixture", "/harness/", "/hostile/"]
                    .iter()
                    .any(|part| file.path.contains(part));
                file.path.ends_with(".rs") && file.is_test() && !slow
            }
        }
    }

    fn found(&self, before: &[&str], line: &str) -> bool {
        if self.scope == Scope::Tests && excused(before, line) {
            return false;
        }
        line.match_indices(self.text).any(|(at, _)| {
            let previous = line[..at].chars().next_back();
            !self.whole || previous.is_none_or(|c| !c.is_alphanumeric() && !"_.-}/".contains(c))
        })
    }
}

/// Whether a sleep decides nothing: it is the pause of a loop that waits for something, or the line
/// or the one above says why it must be.
fn excused(before: &[&str], line: &str) -> bool {
    let said = before.last().is_some_and(|above| above.contains(REASON)) || line.contains(REASON);
    said || before
        .iter()
        .any(|above| above.contains("while ") || above.contains("loop {"))
}
