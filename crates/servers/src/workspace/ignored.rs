//! What `.gitignore` files leave out (gitignore(5)).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Longest ignore file that is read, and most of its lines.
pub(super) const IGNORE_MAX: u64 = 256 << 10;
const LINES_MAX: usize = 2_000;

/// The lines of the ignore files of one folder.
#[derive(Debug)]
pub(super) struct Rules {
    /// Relative to the folder that is worked in; empty for that itself.
    base: PathBuf,
    globs: GlobSet,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    keeps: bool,
    folders_only: bool,
}

// === impl Rules ===

impl Rules {
    /// Reads an ignore file's text; `None` where it leaves nothing out.
    pub(super) fn read(base: &Path, text: &str) -> Option<Self> {
        let mut globs = GlobSetBuilder::new();
        let mut lines = Vec::new();
        for line in text.lines().take(LINES_MAX) {
            if let Some((glob, line)) = read_line(line) {
                globs.add(glob);
                lines.push(line);
            }
        }
        if lines.is_empty() {
            return None;
        }
        Some(Self {
            base: base.to_owned(),
            globs: globs.build().ok()?,
            lines,
        })
    }

    /// Whether it is left out, where a line speaks of it.
    fn says(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let below = path.strip_prefix(&self.base).ok()?;
        let matched = self.globs.matches(below);
        let mut lines = matched.iter().rev().map(|at| self.lines[*at]);
        let line = lines.find(|line| is_folder || !line.folders_only)?;
        Some(!line.keeps)
    }
}

/// Whether something is left out: the deepest ignore file that speaks of it
/// decides.
pub(super) fn is_ignored(chain: &[Arc<Rules>], path: &Path, is_folder: bool) -> bool {
    let mut rules = chain.iter().rev();
    rules
        .find_map(|rules| rules.says(path, is_folder))
        .unwrap_or(false)
}

fn read_line(line: &str) -> Option<(globset::Glob, Line)> {
    let line = line.trim_start_matches('\u{feff}');
    let mut text = line.trim_end();
    // A space that is escaped belongs to the name.
    if line.len() > text.len() && text.ends_with('\\') {
        text = &line[..=text.len()];
    }
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let (keeps, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (folders_only, text) = match text.strip_suffix('/') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let glob = match text.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if text.contains('/') => text.to_owned(),
        None => format!("**/{text}"),
    };
    let glob = GlobBuilder::new(&glob)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .ok()?;
    let line = Line {
        keeps,
        folders_only,
    };
    Some((glob, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_mean_what_git_says_they_mean() {
        let text = "# note\n*.log\n!keep.log\nbuild/\n/only-here\nsrc/*.tmp\ndocs/**/x.md\n\\#odd\ntail\\ \n";
        let rules = [Arc::new(Rules::read(Path::new(""), text).unwrap())];
        for (path, is_folder, ignored) in [
            ("a.log", false, true),
            ("deep/er/a.log", false, true),
            ("keep.log", false, false),
            ("build", true, true),
            ("build", false, false),
            ("x/build", true, true),
            ("only-here", false, true),
            ("x/only-here", false, false),
            ("src/a.tmp", false, true),
            ("src/x/a.tmp", false, false),
            ("docs/x.md", false, true),
            ("docs/a/b/x.md", false, true),
            ("#odd", false, true),
            ("tail ", false, true),
            ("other", false, false),
        ] {
            let found = is_ignored(&rules, Path::new(path), is_folder);
            assert_eq!(found, ignored, "{path} folder={is_folder}");
        }
    }

    #[test]
    fn the_deepest_file_that_speaks_decides() {
        let rules = [
            Arc::new(Rules::read(Path::new(""), "*.txt\n/sub/one\n").unwrap()),
            Arc::new(Rules::read(Path::new("sub"), "!a.txt\n/two\n").unwrap()),
        ];
        let ignored = |path: &str| is_ignored(&rules, Path::new(path), false);
        assert!(ignored("a.txt") && ignored("sub/b.txt") && ignored("sub/one"));
        assert!(ignored("sub/two") && !ignored("sub/x/two") && !ignored("sub/a.txt"));
    }
}
