//! The names in an archive's directory, each as often as it stands there.
//!
//! The library that reads the archive keeps one entry of a name, whichever comes last. What others see
//! of such an archive depends on which they keep, so it is refused, and for that the directory is
//! walked here (APPNOTE 6.3.10, sections 4.3.12 and 4.3.16).

use super::BadBundle;

const END: &[u8] = b"PK\x05\x06";
const END_LEN: usize = 22;
const HEADER: &[u8] = b"PK\x01\x02";
const HEADER_LEN: usize = 46;
/// Longest comment behind the end: a signature stands there.
const COMMENT_MAX: usize = 0xffff;
/// Entries of a bundle: one with all its modules has some ten thousand.
const ENTRIES_MAX: usize = 50_000;

pub(super) fn names(bytes: &[u8]) -> Result<Vec<&[u8]>, BadBundle> {
    let names = walk(bytes).ok_or_else(|| BadBundle::Archive {
        why: "its directory is damaged, or of an archive larger than a bundle may be".to_owned(),
    })?;
    if names.len() > ENTRIES_MAX {
        return Err(BadBundle::Large {
            what: format!("more than {ENTRIES_MAX} entries"),
        });
    }
    Ok(names)
}

fn walk(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let first = bytes.len().saturating_sub(END_LEN + COMMENT_MAX);
    let at = first
        + bytes[first..]
            .windows(END.len())
            .rposition(|four| four == END)?;
    let end = bytes.get(at..at + END_LEN)?;
    let (count, size) = (short(end, 10)?, long(end, 12)?);
    // These stand for an archive of the 64-bit kind.
    if count == 0xffff || size == u32::MAX {
        return None;
    }
    let start = at.checked_sub(usize::try_from(size).ok()?)?;
    let mut rest = &bytes[start..at];
    let mut names = Vec::new();
    while !rest.is_empty() {
        let header = rest
            .get(..HEADER_LEN)
            .filter(|header| header.starts_with(HEADER))?;
        let [name, extra, comment] = [short(header, 28)?, short(header, 30)?, short(header, 32)?];
        let whole = HEADER_LEN + name + extra + comment;
        names.push(rest.get(HEADER_LEN..HEADER_LEN + name)?);
        rest = rest.get(whole..)?;
    }
    (names.len() == count).then_some(names)
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let two = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(usize::from(u16::from_le_bytes(two)))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(four))
}
