//! Going through the file from one row to the next.
//!
//! What stands between rows and is none — half a row, a row whose length somebody changed — is passed over up to the
//! next row whose sum is right, and told of as a stretch that is broken. Zeros after the last row are room that was
//! taken in advance.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::frame::{Frame, HEAD, MAGIC};
use super::places::Place;

/// Bytes read first, and then at a time: one row is often all that is wanted.
const FIRST: usize = 16 << 10;
const MORE: usize = 256 << 10;
/// Of a stretch that is broken no more than this is shown.
const SHOWN_MAX: usize = 4 << 10;

/// A way through the file, or a part of it.
#[derive(Debug)]
pub(crate) struct Walk<'f> {
    file: &'f File,
    /// What has been read: of the file from `base` on.
    buffer: Vec<u8>,
    base: u64,
    /// Where in it the next row begins.
    at: usize,
    /// Nothing is read from here on.
    limit: u64,
    /// The last row's place in the order of commits.
    position: i64,
    chunk: usize,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Step<'w> {
    /// A row.
    Row(Found<'w>),
    /// Bytes that are none: where they begin, the position of the last row that they may have been, and the first of them.
    Broken {
        offset: u64,
        position: i64,
        bytes: &'w [u8],
    },
}

/// A row on the way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'w> {
    pub(crate) frame: Frame<'w>,
    /// Its place in the order of commits: after that of the row before it, whatever it says itself.
    pub(crate) position: i64,
    /// Where it begins, and where the next one does.
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// It is as it was written.
    pub(crate) is_sound: bool,
}

// === impl Walk ===

impl<'f> Walk<'f> {
    /// Begins behind a row, and ends at `limit` at the latest.
    pub(crate) fn new(file: &'f File, from: Place, limit: u64) -> Self {
        Self {
            file,
            buffer: Vec::new(),
            base: from.end,
            at: 0,
            limit,
            position: from.position,
            chunk: FIRST,
        }
    }

    /// The next row, or stretch that is none; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Step<'_>>> {
        self.need(HEAD)?;
        let Some(length) = Frame::length(&self.buffer[self.at..]) else {
            return self.broken();
        };
        self.need(length + MAGIC.len())?;
        let bytes = &self.buffer[self.at..];
        let Some(frame) = bytes.get(..length).and_then(Frame::new) else {
            return self.broken();
        };
        // What does not read as it was written is a row all the same where another follows it, or nothing.
        let after = &bytes[length..bytes.len().min(length + MAGIC.len())];
        let is_sound = frame.is_sound();
        if !is_sound && *after != MAGIC && after.iter().any(|byte| *byte != 0) {
            return self.broken();
        }
        let (start, offset) = (self.at, self.base + self.at as u64);
        self.at += length;
        self.position += 1;
        let frame = Frame::new(&self.buffer[start..self.at]);
        Ok(frame.map(|frame| {
            Step::Row(Found {
                frame,
                position: self.position,
                offset,
                end: offset + length as u64,
                is_sound,
            })
        }))
    }

    /// Passes over what is no row.
    fn broken(&mut self) -> io::Result<Option<Step<'_>>> {
        let offset = self.base + self.at as u64;
        let next = next_sound(self.file, offset + 1, self.limit)?;
        let end = next.map_or(self.limit, |(offset, _)| offset);
        let is_room = next.is_none() && is_zero(self.file, offset, end)?;
        self.buffer.clear();
        (self.base, self.at) = (end, 0);
        if is_room {
            return Ok(None);
        }
        // How many rows are lost only the next one knows.
        self.position = match next {
            Some((_, position)) => self.position.max(position.saturating_sub(1)),
            None => self.position + 1,
        };
        let shown = usize::try_from(end - offset).unwrap_or(SHOWN_MAX);
        // Kept in front of what is read next.
        self.buffer.resize(shown.min(SHOWN_MAX), 0);
        let read = read_at(self.file, &mut self.buffer, offset)?;
        self.buffer.truncate(read);
        self.at = self.buffer.len();
        self.base = end - self.at as u64;
        Ok(Some(Step::Broken {
            offset,
            position: self.position,
            bytes: &self.buffer,
        }))
    }

    /// Sees to it that so many bytes from where it stands have been read, if there are so many.
    fn need(&mut self, count: usize) -> io::Result<()> {
        let have = self.buffer.len() - self.at;
        if have >= count {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.base += self.at as u64;
        self.at = 0;
        let from = self.base + have as u64;
        let left = usize::try_from(self.limit.saturating_sub(from)).unwrap_or(usize::MAX);
        let more = self.chunk.max(count - have).min(left);
        self.chunk = MORE;
        self.buffer.resize(have + more, 0);
        let read = read_at(self.file, &mut self.buffer[have..], from)?;
        self.buffer.truncate(have + read);
        Ok(())
    }
}

/// Where the next sound row begins, and which it is.
fn next_sound(file: &File, mut from: u64, limit: u64) -> io::Result<Option<(u64, i64)>> {
    let mut window = vec![0; MORE];
    while from < limit {
        let size = usize::try_from(limit - from).unwrap_or(MORE).min(MORE);
        let read = read_at(file, &mut window[..size], from)?;
        let mut places = window[..read].windows(MAGIC.len()).enumerate();
        while let Some((at, _)) = places.find(|(_, bytes)| *bytes == MAGIC) {
            let offset = from + at as u64;
            if let Some(position) = sound_at(file, offset, limit)? {
                return Ok(Some((offset, position)));
            }
        }
        if read < MAGIC.len() {
            break;
        }
        from += (read - (MAGIC.len() - 1)) as u64;
    }
    Ok(None)
}

fn sound_at(file: &File, offset: u64, limit: u64) -> io::Result<Option<i64>> {
    let mut bytes = vec![0; HEAD];
    let head = read_at(file, &mut bytes, offset)?;
    let Some(length) = Frame::length(&bytes[..head]) else {
        return Ok(None);
    };
    if offset + length as u64 > limit {
        return Ok(None);
    }
    bytes.resize(length, 0);
    if read_at(file, &mut bytes, offset)? < length {
        return Ok(None);
    }
    let frame = Frame::new(&bytes).filter(Frame::is_sound);
    Ok(frame.map(|frame| frame.position()))
}

fn is_zero(file: &File, mut from: u64, end: u64) -> io::Result<bool> {
    let mut window = vec![0; MORE];
    while from < end {
        let size = usize::try_from(end - from).unwrap_or(MORE).min(MORE);
        let read = read_at(file, &mut window[..size], from)?;
        if window[..read].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        if read == 0 {
            break;
        }
        from += read as u64;
    }
    Ok(true)
}

/// Reads until the buffer or the file is at its end; how much.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
