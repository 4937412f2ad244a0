//! Whose repository a folder is of, as its Git configuration says.
//!
//! The file is read here and no Git is started: a folder is somebody else's, and Git does what a
//! folder's configuration tells it to.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Largest file that is read, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// How many folders up are looked at.
const LEVELS_MAX: usize = 64;

/// Where a repository is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// A remote is there.
    There,
    /// All remotes are at other hosts; the first of them.
    Elsewhere(String),
    /// It is no repository, has no remote, or has one whose host is a name that only this machine knows.
    Unknown,
}

/// The Git configuration of the repository that `folder` is in; it need not exist.
pub fn config_file(folder: &Path) -> Option<PathBuf> {
    let levels = folder.ancestors().take(LEVELS_MAX);
    let git = levels
        .map(|level| level.join(".git"))
        .find(|git| git.exists())?;
    if git.is_dir() {
        return Some(git.join("config"));
    }
    // A worktree or submodule: a file that says where the rest is.
    let own = pointed_at(&git, "gitdir: ")?;
    let common = pointed_at(&own.join("commondir"), "").unwrap_or(own);
    Some(common.join("config"))
}

/// Where the repository of `folder` is from.
pub(super) fn site(folder: &Path, site: &str) -> Site {
    let text = config_file(folder).and_then(|file| text_of(&file));
    judge(&text.unwrap_or_default(), site)
}

fn judge(config: &str, site: &str) -> Site {
    let mut elsewhere = None;
    let mut is_unknown = false;
    for url in remotes(config) {
        match host(url) {
            Some(host) if is_of(&host, site) => return Site::There,
            // A name of ~/.ssh/config.
            Some(host) if !host.contains(['.', ':']) => is_unknown = true,
            Some(host) => {
                elsewhere.get_or_insert(host);
            }
            None => is_unknown = true,
        }
    }
    match elsewhere {
        Some(host) if !is_unknown => Site::Elsewhere(host),
        _ => Site::Unknown,
    }
}

/// `ssh.github.com` and such are hosts of the site, and `github.com-work` is how people with two
/// accounts call it.
fn is_of(host: &str, site: &str) -> bool {
    let below = host.strip_suffix(site);
    below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        || host
            .strip_prefix(site)
            .is_some_and(|rest| rest.starts_with('-'))
}

/// The addresses of all remotes (git-config, "CONFIGURATION FILE").
fn remotes(config: &str) -> impl Iterator<Item = &str> {
    let mut in_remote = false;
    config.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_start().to_ascii_lowercase();
            let name = section.strip_prefix("remote");
            in_remote = name.is_some_and(|rest| rest.starts_with([' ', '\t', '"', '.']));
            return None;
        }
        let (key, value) = line.split_once('=')?;
        let is_url = in_remote && key.trim().eq_ignore_ascii_case("url");
        is_url.then(|| value.trim().trim_matches('"'))
    })
}

/// The host of a remote, in small letters; `None` for a folder of this machine.
fn host(url: &str) -> Option<String> {
    let authority = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split('/').next()?,
        // `git@host:path`, unless a slash before the colon makes it a path.
        None => url
            .split_once(':')
            .map(|(host, _)| host)
            .filter(|host| !host.contains('/'))?,
    };
    let authority = authority.rsplit('@').next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// The folder that a file names, from the file's own.
fn pointed_at(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = text_of(file)?;
    let path = text.lines().next()?.strip_prefix(prefix)?.trim();
    Some(file.parent()?.join(path))
}

fn text_of(file: &Path) -> Option<String> {
    let metadata = fs::metadata(file).ok()?;
    if !metadata.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let opened = fs::File::open(file).ok()?;
    opened.take(FILE_MAX).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
