//! One row as it stands in the file.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `LgR1` |
//! | 4 | CRC-32 (IEEE 802.3) of everything after it |
//! | 4 | how many bytes the record has |
//! | 4 | the entity's number |
//! | 8 | the position |
//! | 8 | the place in the chain |
//! | 8 | milliseconds since 1970 |
//! | 32, 32 | hash of the row before it in the chain, and of this one |
//! | | the record |
//!
//! Numbers are little-endian. The sum tells a torn write and a failing disk from a row; it proves nothing, for whoever
//! changes a row can make a new one.

use crc32fast::Hasher;

use crate::NewLedgerRow;

/// What every frame begins with.
pub(crate) const MAGIC: [u8; 4] = *b"LgR1";
/// The bytes before the record.
pub(crate) const HEAD: usize = 104;
/// No record is longer; what says so is no frame.
pub(crate) const RECORD_MAX: usize = 16 << 20;
/// What the sum is of begins here.
const SUMMED: usize = 8;

/// A row in the bytes it was read in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    bytes: &'a [u8],
    record: usize,
}

/// Writes a row behind what is there. `Err` says that a number or the record is too large for a frame.
pub(crate) fn write(out: &mut Vec<u8>, row: &NewLedgerRow<'_>) -> Result<(), TooLarge> {
    let size = u32::try_from(row.bytes.len()).map_err(|_| TooLarge)?;
    let entity = u32::try_from(row.entity).map_err(|_| TooLarge)?;
    if row.bytes.len() > RECORD_MAX {
        return Err(TooLarge);
    }
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&size.to_le_bytes());
    head[12..16].copy_from_slice(&entity.to_le_bytes());
    head[16..24].copy_from_slice(&row.position.to_le_bytes());
    head[24..32].copy_from_slice(&row.seq.to_le_bytes());
    head[32..40].copy_from_slice(&row.at_ms.to_le_bytes());
    head[40..72].copy_from_slice(row.prev);
    head[72..].copy_from_slice(row.hash);
    let sum = sum(&[&head[SUMMED..], row.bytes]);
    head[4..8].copy_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(row.bytes);
    Ok(())
}

/// A row that no frame can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

fn sum(parts: &[&[u8]]) -> u32 {
    let mut hasher = Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

// === impl Frame ===

impl<'a> Frame<'a> {
    /// The length of the frame that begins here, if the bytes look like one.
    pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
        let size = bytes.get(8..12)?.try_into().ok()?;
        let size = usize::try_from(u32::from_le_bytes(size)).ok()?;
        (bytes.starts_with(&MAGIC) && size <= RECORD_MAX).then_some(HEAD + size)
    }

    /// A frame in exactly its bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        (Self::length(bytes)? == bytes.len()).then(|| Self {
            bytes,
            record: bytes.len() - HEAD,
        })
    }

    /// Whether it reads as it was written.
    pub(crate) fn is_sound(&self) -> bool {
        self.bytes[4..SUMMED] == sum(&[&self.bytes[SUMMED..]]).to_le_bytes()
    }

    pub(crate) fn entity(&self) -> i64 {
        let number = self.bytes[12..16].try_into().unwrap_or_default();
        i64::from(u32::from_le_bytes(number))
    }

    /// Its place in the order of commits, as it says.
    pub(crate) fn position(&self) -> i64 {
        self.number(16)
    }

    pub(crate) fn seq(&self) -> i64 {
        self.number(24)
    }

    pub(crate) fn at_ms(&self) -> i64 {
        self.number(32)
    }

    pub(crate) fn prev(&self) -> &'a [u8] {
        &self.bytes[40..72]
    }

    pub(crate) fn hash(&self) -> &'a [u8] {
        &self.bytes[72..HEAD]
    }

    pub(crate) fn record(&self) -> &'a [u8] {
        &self.bytes[HEAD..HEAD + self.record]
    }

    fn number(&self, at: usize) -> i64 {
        let bytes = self.bytes[at..at + 8].try_into().unwrap_or_default();
        i64::from_le_bytes(bytes)
    }
}
