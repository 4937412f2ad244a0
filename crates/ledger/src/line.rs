//! Writes one record as compact JSON, member by member, in a fixed order.
//!
//! The order and the escaping are the record's canonical form, so they are
//! written out here instead of being left to a map or a derive. Names, numbers
//! and times are written without the formatting machinery of the standard
//! library, which would cost more than the hash.
//!
//! A record has twenty members, so what writes one is not copied to each place
//! that does: a call would find none of the copies in the processor's caches.

use legation_core::{EntityId, Wall};

use crate::record::CallId;

/// An object under construction, without its opening brace.
#[derive(Debug, Default)]
pub(crate) struct Line(Vec<u8>);

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// 9999-12-30T21:59:59.999Z, about the last time the clock can print as a date.
const LAST_MS: i64 = 253_402_207_199_999;

// === impl Line ===

impl Line {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    #[inline(never)]
    fn name(&mut self, name: &'static str) {
        self.0.reserve(name.len() + 4);
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    /// A string of at most `limit` bytes; a longer one is cut and ends in `…`.
    #[inline(never)]
    pub(crate) fn text(&mut self, name: &'static str, text: &str, limit: usize) -> &mut Self {
        self.name(name);
        cut(&mut self.0, text, limit);
        self
    }

    /// A list of such strings.
    pub(crate) fn texts<'a>(
        &mut self,
        name: &'static str,
        texts: impl Iterator<Item = &'a str>,
        limit: usize,
    ) -> &mut Self {
        self.name(name);
        self.0.push(b'[');
        for (index, text) in texts.enumerate() {
            if index > 0 {
                self.0.push(b',');
            }
            cut(&mut self.0, text, limit);
        }
        self.0.push(b']');
        self
    }

    /// One of the ledger's own words, which need no escaping.
    #[inline(never)]
    pub(crate) fn word(&mut self, name: &'static str, word: &'static str) -> &mut Self {
        self.name(name);
        self.0.push(b'"');
        self.0.extend_from_slice(word.as_bytes());
        self.0.push(b'"');
        self
    }

    #[inline(never)]
    pub(crate) fn int(&mut self, name: &'static str, value: i64) -> &mut Self {
        self.name(name);
        int(&mut self.0, value);
        self
    }

    /// Microseconds, as milliseconds with three decimal places.
    #[inline(never)]
    pub(crate) fn millis(&mut self, name: &'static str, micros: u64) -> &mut Self {
        self.name(name);
        unsigned(&mut self.0, micros / 1_000);
        let mut places = *b".000";
        decimal(&mut places[1..], micros % 1_000);
        self.0.extend_from_slice(&places);
        self
    }

    /// A digest, as hexadecimal digits.
    #[inline(never)]
    pub(crate) fn digest(&mut self, name: &'static str, digest: &[u8; 32]) -> &mut Self {
        self.name(name);
        self.0.push(b'"');
        hex::<32, 64>(&mut self.0, digest);
        self.0.push(b'"');
        self
    }

    /// A version, as 16 hexadecimal digits: a reader of JSON would round it.
    #[inline(never)]
    pub(crate) fn version(&mut self, name: &'static str, version: u64) -> &mut Self {
        self.name(name);
        self.0.push(b'"');
        hex::<8, 16>(&mut self.0, &version.to_be_bytes());
        self.0.push(b'"');
        self
    }

    /// A call's id; the same text as its `Display`.
    #[inline(never)]
    pub(crate) fn call(&mut self, name: &'static str, call: CallId) -> &mut Self {
        self.name(name);
        self.0.push(b'"');
        hex::<8, 16>(&mut self.0, &call.start.to_be_bytes());
        self.0.push(b'-');
        unsigned(&mut self.0, call.count);
        self.0.push(b'"');
        self
    }

    /// Members written before.
    pub(crate) fn members(&mut self, members: &[u8]) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        self.0.extend_from_slice(members);
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What was written from an offset on.
    pub(crate) fn since(&self, start: usize) -> &[u8] {
        &self.0[start..]
    }

    pub(crate) fn into_members(self) -> Vec<u8> {
        self.0
    }
}

/// What every record begins with.
pub(crate) const VERSION: &[u8] = b"{\"v\":1,\"entity\":";

/// Appends the whole record to `out`: what is known only at the commit, then
/// `members`.
pub(crate) fn complete(out: &mut Vec<u8>, entity: &EntityId, seq: i64, at_ms: i64, members: &[u8]) {
    out.reserve(entity.as_str().len() + members.len() + 96);
    start(out, entity, seq, at_ms);
    out.extend_from_slice(members);
    out.push(b'}');
}

/// Replaces `out` by what a record of that place and time begins with.
pub(crate) fn stamp(out: &mut Vec<u8>, entity: &EntityId, seq: i64, at_ms: i64) {
    out.clear();
    start(out, entity, seq, at_ms);
}

/// Appends what a record of that place begins with, whatever its time.
pub(crate) fn place(out: &mut Vec<u8>, entity: &EntityId, seq: i64) {
    out.extend_from_slice(VERSION);
    string(out, entity.as_str());
    out.extend_from_slice(b",\"seq\":");
    int(out, seq);
    out.extend_from_slice(b",\"at\":\"");
}

fn start(out: &mut Vec<u8>, entity: &EntityId, seq: i64, at_ms: i64) {
    place(out, entity, seq);
    time(out, at_ms);
    out.extend_from_slice(b"\",");
}

/// The year and the month, from 1, of a time; 1970-01 for earlier ones.
pub(crate) fn year_and_month(at_ms: i64) -> (u32, u32) {
    let (year, month, _) = date((at_ms.clamp(0, LAST_MS) / DAY_MS).unsigned_abs());
    (
        u32::try_from(year).unwrap_or_default(),
        u32::try_from(month).unwrap_or_default(),
    )
}

#[inline(never)]
fn cut(out: &mut Vec<u8>, text: &str, limit: usize) {
    if text.len() <= limit {
        return string(out, text);
    }
    let start = &text[..text.floor_char_boundary(limit)];
    string(out, &format!("{start}…"));
}

#[inline(never)]
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    if !is_plain(text.as_bytes()) {
        serde_json::to_writer(out, text).expect("a string is JSON, and a Vec takes it");
        return;
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Whether nothing in a text has to be escaped. Most are a word or two, so it is looked at eight bytes at
/// a time, the last of which may have been looked at before.
fn is_plain(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<8>() else {
        let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        return !text.iter().any(special);
    };
    let (eights, _) = text.as_chunks::<8>();
    let each = eights.iter().map(|eight| special_of(*eight));
    // No early return: without one the compiler tests more of them at once.
    each.fold(special_of(*last), |all, one| all | one) == 0
}

/// Zero if none of eight bytes is a quote, a backslash or a control character.
fn special_of(eight: [u8; 8]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(eight);
    // The upper bit of each byte that is less than `least`, which is at most 0x80, and of some above it.
    let less = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word & (ONES << 7);
    let is = |byte: u8| less(word ^ (ONES * u64::from(byte)), 1);
    less(word, 0x20) | is(b'"') | is(b'\\')
}

/// `TEXT` is twice `BYTES`, of which there are whole fours.
#[inline(never)]
fn hex<const BYTES: usize, const TEXT: usize>(out: &mut Vec<u8>, bytes: &[u8; BYTES]) {
    const { assert!(TEXT == BYTES * 2 && BYTES.is_multiple_of(4)) };
    let mut text = [0u8; TEXT];
    let (eights, _) = text.as_chunks_mut::<8>();
    for (digits, four) in eights.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *digits = hex_of(*four);
    }
    out.extend_from_slice(&text);
}

/// Eight digits at once: each byte of a number holds one.
fn hex_of(four: [u8; 4]) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Each byte to the lower half of two, and from there its upper digit before its lower one.
    let apart = u64::from(u32::from_le_bytes(four));
    let apart = (apart | apart << 16) & 0x0000_ffff_0000_ffff;
    let apart = (apart | apart << 8) & 0x00ff_00ff_00ff_00ff;
    let digits = (apart >> 4 | apart << 8) & (ONES * 0x0f);
    let letters = (digits + ONES * 6) >> 4 & ONES;
    (digits + ONES * u64::from(b'0') + letters * u64::from(b'a' - b'0' - 10)).to_le_bytes()
}

fn int(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

#[inline(never)]
fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = digit(value % 10);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// The same text as [`Wall`]'s `Display`.
#[inline(never)]
fn time(out: &mut Vec<u8>, at_ms: i64) {
    if !(0..=LAST_MS).contains(&at_ms) {
        out.extend_from_slice(Wall(at_ms).to_string().as_bytes());
        return;
    }
    let (days, ms) = (
        (at_ms / DAY_MS).unsigned_abs(),
        (at_ms % DAY_MS).unsigned_abs(),
    );
    let (year, month, day) = date(days);
    let mut text = *b"0000-00-00T00:00:00.000Z";
    decimal(&mut text[0..4], year);
    decimal(&mut text[5..7], month);
    decimal(&mut text[8..10], day);
    decimal(&mut text[11..13], ms / 3_600_000);
    decimal(&mut text[14..16], ms / 60_000 % 60);
    decimal(&mut text[17..19], ms / 1_000 % 60);
    decimal(&mut text[20..23], ms % 1_000);
    out.extend_from_slice(&text);
}

/// Year, month and day of a number of days since 1970. Years are counted from
/// March, so that the day that is sometimes missing is the last.
fn date(days: u64) -> (u64, u64, u64) {
    /// Days of four hundred years, after which the calendar repeats itself.
    const ERA: u64 = 146_097;
    /// Days from 0000-03-01 to 1970-01-01.
    const TO_1970: u64 = 719_468;
    let (era, day) = ((days + TO_1970) / ERA, (days + TO_1970) % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * in_year + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let in_month = in_year - (153 * from_march + 2) / 5 + 1;
    (era * 400 + year + u64::from(month <= 2), month, in_month)
}

fn decimal(text: &mut [u8], mut value: u64) {
    for place in text.iter_mut().rev() {
        *place = digit(value % 10);
        value /= 10;
    }
}

/// `value` is below ten.
fn digit(value: u64) -> u8 {
    b'0' + u8::try_from(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
