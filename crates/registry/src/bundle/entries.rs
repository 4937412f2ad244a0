//! What may be in a bundle: files and folders below its own, few enough and small enough, each with a
//! name that every system takes for the same.

use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Seek};

use unicode_normalization::UnicodeNormalization as _;
use zip::{CompressionMethod, ZipArchive};

use super::{BadBundle, unreadable};

/// Bytes of all files.
const UNPACKED_MAX: u64 = 1 << 30;
/// How much larger than the archive all files may be, once they are many bytes.
const RATIO_MAX: u64 = 100;
const RATIO_FROM: u64 = 16 << 20;
/// Longest name, in bytes, and longest part of one.
const NAME_MAX: usize = 1024;
const PART_MAX: usize = 255;
/// Largest text that is read into memory.
const TEXT_MAX: u64 = 1 << 20;

/// The kind of file in a mode of Unix.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// One entry that may be unpacked.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The path, its parts separated by `/`.
    pub(super) name: String,
    /// Where the archive has it.
    pub(super) index: usize,
    /// Whether it is a folder.
    pub(super) is_folder: bool,
    /// Whether it may be run.
    pub(super) is_executable: bool,
    /// Its length in bytes, as the archive says.
    pub(super) size: u64,
}

/// Every entry of an archive whose directory has these names.
pub(super) fn checked<R: std::io::Read + Seek>(
    archive: &mut ZipArchive<R>,
    named: &[&[u8]],
) -> Result<Vec<Entry>, BadBundle> {
    let mut seen = HashSet::new();
    for name in named {
        if !seen.insert(*name) {
            let entry = String::from_utf8_lossy(name).into_owned();
            let why = "is there twice";
            return Err(BadBundle::Entry { entry, why });
        }
    }
    if archive.len() != named.len() {
        return Err(BadBundle::Archive {
            why: "it has two directories".to_owned(),
        });
    }
    let mut entries = Vec::with_capacity(named.len());
    let mut packed = 0;
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(unreadable)?;
        let raw = file.name_raw();
        if !seen.contains(raw) {
            return Err(BadBundle::Archive {
                why: "it has two directories".to_owned(),
            });
        }
        let refused = |why| BadBundle::Entry {
            entry: String::from_utf8_lossy(raw).into_owned(),
            why,
        };
        let name = std::str::from_utf8(raw).map_err(|_| refused("has a name that is no text"))?;
        let is_folder = name.ends_with('/');
        let name = name.strip_suffix('/').unwrap_or(name);
        check_name(name).map_err(refused)?;
        let mode = file.unix_mode().unwrap_or(0);
        match (mode & KIND, is_folder) {
            (0, _) | (REGULAR, false) | (FOLDER, true) => {}
            (LINK, _) => return Err(refused("is a link")),
            _ => return Err(refused("is neither a file nor a folder")),
        }
        if file.encrypted() {
            return Err(refused("is encrypted"));
        }
        let method = file.compression();
        if !matches!(
            method,
            CompressionMethod::Stored | CompressionMethod::Deflated
        ) {
            return Err(refused("is packed in a way that bundles do not use"));
        }
        packed += file.compressed_size();
        entries.push(Entry {
            name: name.to_owned(),
            index,
            is_folder,
            is_executable: mode & 0o111 != 0,
            size: if is_folder { 0 } else { file.size() },
        });
    }
    check_sizes(&entries, packed)?;
    check_spellings(&entries)?;
    if archive.has_overlapping_files().map_err(unreadable)? {
        return Err(BadBundle::Archive {
            why: "some of its files are the same bytes".to_owned(),
        });
    }
    Ok(entries)
}

fn check_name(name: &str) -> Result<(), &'static str> {
    if name.starts_with('/') || name.get(1..2) == Some(":") {
        return Err("is an absolute path");
    }
    if name.contains('\\') {
        return Err("has a backslash in its name");
    }
    if name.contains(|letter: char| letter.is_control() || letter == ':') {
        return Err("has a character in its name that not every system allows");
    }
    if name.split('/').any(|part| matches!(part, "." | "..")) {
        return Err("leads out of its folder");
    }
    let is_part = |part: &str| (1..=PART_MAX).contains(&part.len());
    if name.len() > NAME_MAX || !name.split('/').all(is_part) {
        return Err("has an empty or too long name");
    }
    Ok(())
}

fn check_sizes(entries: &[Entry], packed: u64) -> Result<(), BadBundle> {
    let sum = entries
        .iter()
        .try_fold(0_u64, |sum, entry| sum.checked_add(entry.size));
    let sum = sum.filter(|sum| *sum <= UNPACKED_MAX);
    let sum = sum.ok_or_else(|| BadBundle::Large {
        what: format!("more than {UNPACKED_MAX} bytes once it is unpacked"),
    })?;
    if sum > RATIO_FROM && sum / RATIO_MAX > packed {
        return Err(BadBundle::Large {
            what: format!("more than {RATIO_MAX} times its size once it is unpacked"),
        });
    }
    Ok(())
}

/// Two names that differ only in how they are written are one on some systems, and then it matters
/// which of them is unpacked last.
fn check_spellings(entries: &[Entry]) -> Result<(), BadBundle> {
    let mut spelled: HashMap<String, (String, bool)> = HashMap::new();
    for entry in entries {
        let parts: Vec<&str> = entry.name.split('/').collect();
        for depth in 1..=parts.len() {
            let path = parts[..depth].join("/");
            let is_folder = depth < parts.len() || entry.is_folder;
            let folded: String = path.nfc().flat_map(char::to_lowercase).nfc().collect();
            let refused = |why| BadBundle::Entry {
                entry: entry.name.clone(),
                why,
            };
            match spelled.get(&folded) {
                Some((other, _)) if *other != path => {
                    return Err(refused("has the name of another but for how it is written"));
                }
                Some((_, was_folder)) if *was_folder != is_folder => {
                    return Err(refused("is a file and a folder"));
                }
                Some(_) => {}
                None => {
                    spelled.insert(folded, (path, is_folder));
                }
            }
        }
    }
    Ok(())
}

/// A file of the bundle, as text.
pub(super) fn text<R: std::io::Read + Seek>(
    archive: &mut ZipArchive<R>,
    entries: &[Entry],
    name: &str,
) -> Result<String, BadBundle> {
    let missing = |why: &str| BadBundle::Manifest {
        why: why.to_owned(),
    };
    let entry = entries
        .iter()
        .find(|entry| entry.name == name && !entry.is_folder);
    let entry = entry.ok_or_else(|| missing("it is not there"))?;
    if entry.size > TEXT_MAX {
        return Err(missing("it is larger than a mebibyte"));
    }
    let file = archive.by_index(entry.index).map_err(unreadable)?;
    let mut text = String::new();
    let read = file.take(TEXT_MAX + 1).read_to_string(&mut text);
    match read {
        Ok(length) if length as u64 <= TEXT_MAX => Ok(text),
        Ok(_) => Err(missing("it is larger than it says")),
        Err(error) => Err(missing(&error.to_string())),
    }
}
