//! Reading a day file from one place on, record by record.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::day::Day;
use crate::index::Place;
use crate::line::{self, Line};

/// No line is longer: a body and a `meta` of the largest size in their longest
/// spelling (6 bytes for one), sealed (4 bytes for 3).
const LINE_MAX: u64 = 12 * (crate::BODY_MAX as u64);

/// A day file on its way through a reader.
#[derive(Debug)]
pub(crate) struct Scan {
    day: Day,
    reader: BufReader<File>,
    offset: u64,
}

/// What stands at a place of a day file.
#[derive(Debug)]
pub(crate) enum Step {
    Record(Box<Line>, Place),
    /// No record; so many bytes up to the end of the line or file.
    Bad {
        offset: u64,
        len: u64,
        what: String,
    },
    End,
}

// === impl Scan ===

impl Scan {
    pub(crate) fn open(folder: &Path, day: Day, offset: u64) -> io::Result<Self> {
        let mut file = File::open(day.path(folder))?;
        file.seek(SeekFrom::Start(offset))?;
        let reader = BufReader::with_capacity(256 * 1024, file);
        Ok(Self {
            day,
            reader,
            offset,
        })
    }

    pub(crate) fn step(&mut self) -> io::Result<Step> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.reader).take(LINE_MAX);
        let len = limited.read_until(b'\n', &mut bytes)? as u64;
        let offset = self.offset;
        self.offset += len;
        if len == 0 {
            return Ok(Step::End);
        }
        let bad = |what: String| Step::Bad { offset, len, what };
        let Some(b'\n') = bytes.pop() else {
            return Ok(bad("the line does not end".to_owned()));
        };
        let Ok(size) = u32::try_from(bytes.len()) else {
            return Ok(bad("the line is too long".to_owned()));
        };
        Ok(match line::decode(&bytes) {
            Ok(line) => {
                let place = Place {
                    day: self.day,
                    offset,
                    len: size,
                };
                Step::Record(Box::new(line), place)
            }
            Err(error) => bad(error.to_string()),
        })
    }

    /// Whether what follows can be the rest of a write that never ended, in which
    /// record `seq` would have stood: nothing of a later write follows.
    pub(crate) fn rest_is_torn(mut self, seq: u64) -> io::Result<bool> {
        loop {
            match self.step()? {
                Step::End => return Ok(true),
                Step::Record(line, _) if line.batch > seq => return Ok(false),
                Step::Record(..) | Step::Bad { .. } => {}
            }
        }
    }
}
