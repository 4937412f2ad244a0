//! Addresses of the net: e-mail, web, network, hardware; and names of images.

use super::Finder;
use crate::class::{Certainty, Class};

/// Endings of host names that are no words of the language.
const TOP_LEVEL: &[&str] = &[
    "com", "org", "net", "edu", "gov", "mil", "info", "biz", "io", "co", "uk", "de", "fr", "es",
    "it", "nl", "pl", "se", "mx", "in", "ph", "tr", "br", "pt", "ca", "au", "ch", "ua", "ru", "gr",
    "health", "care", "clinic", "app", "dev", "cz", "dk", "fi", "no", "hu", "ro", "jp", "cn",
    "example", "test",
];

/// Endings of image files.
const IMAGES: &[&str] = &[
    "jpg", "jpeg", "png", "gif", "heic", "bmp", "tif", "tiff", "webp",
];

impl Finder<'_> {
    pub(super) fn contacts(&mut self) {
        let bytes = self.text.as_bytes();
        // What begins an address stands between words, never in one.
        for at in 0..=self.len() {
            if !self.gaps.signs(at) {
                continue;
            }
            let gap = self.before(at);
            let start = gap.as_ptr() as usize - self.text.as_ptr() as usize;
            for at in start..start + gap.len() {
                match bytes[at] {
                    // A run of colons is read once, from its first.
                    b':' if at > 0 && bytes[at - 1] == b':' => {}
                    b'@' => self.email(at),
                    b':' if bytes[at..].starts_with(b"://") || bytes[at..].starts_with(b"::") => {
                        self.colon(at);
                    }
                    _ => {}
                }
            }
        }
        let mut at = 0;
        while at < self.len() {
            let joined = matches!(self.gap(at), "." | ":" | "-");
            let last = if joined { self.host(at) } else { None };
            at = last.unwrap_or(at) + 1;
        }
    }

    fn email(&mut self, sign: usize) {
        let bytes = self.text.as_bytes();
        let local =
            |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || b"._%+'-".contains(&byte);
        let mut start = sign;
        while start > 0 && local(bytes[start - 1]) {
            start -= 1;
        }
        let end = self.run(sign + 1, |byte| {
            byte.is_ascii_alphanumeric() || byte >= 0x80 || b".-".contains(&byte)
        });
        if start < sign && end > sign + 1 {
            self.range(start, end, Class::Email, Certainty::Certain);
        } else if start < sign || end > sign + 1 {
            // A handle such as @name, or an address that was cut.
            let class = Class::Other;
            self.range(start, end, class, Certainty::Likely);
        }
    }

    /// A web address, or a network address with groups left out.
    fn colon(&mut self, at: usize) {
        let bytes = self.text.as_bytes();
        let mut start = at;
        if bytes[at..].starts_with(b"://") {
            while start > 0
                && (bytes[start - 1].is_ascii_alphanumeric() || b"+-.".contains(&bytes[start - 1]))
            {
                start -= 1;
            }
            let end = self.run(at + 3, |byte| {
                !byte.is_ascii_whitespace() && !b"<>\"'`|{}".contains(&byte)
            });
            self.range(start, end, Class::Url, Certainty::Certain);
            return;
        }
        let part = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
        while start > 0 && at - start < 40 && part(bytes[start - 1]) {
            start -= 1;
        }
        let end = self.run(at, part);
        if end - start >= 4 && bytes[start..end].iter().any(u8::is_ascii_digit) {
            self.range(start, end, Class::Ip, Certainty::Certain);
        }
    }

    fn run(&self, from: usize, member: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        from + bytes[from..]
            .iter()
            .take_while(|byte| member(**byte))
            .count()
    }

    fn range(&mut self, start: usize, end: usize, class: Class, certainty: Certainty) {
        let from = self.lexemes.partition_point(|lexeme| lexeme.end() <= start);
        let behind = self.lexemes.partition_point(|lexeme| lexeme.start() < end);
        if from < behind {
            self.mark(from, behind - 1, class, certainty);
        }
    }

    /// A host's name, a network or hardware address, or a file's name; the last word of it.
    fn host(&mut self, first: usize) -> Option<usize> {
        let separator = self.gap(first);
        let mut last = first;
        while last - first < 24
            && matches!(separator, "." | ":" | "-")
            && self.gap(last) == separator
            && last + 1 < self.len()
        {
            last += 1;
        }
        let groups = last - first + 1;
        if separator == "." && groups == 4 && (first..=last).all(|at| self.octet(at)) {
            self.mark(first, last, Class::Ip, Certainty::Certain);
            return Some(last);
        }
        let hexadecimal = |at: usize, most: usize| {
            let word = self.word(at);
            word.len() <= most && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if separator == ":" && groups == 8 && (first..=last).all(|at| hexadecimal(at, 4)) {
            self.mark(first, last, Class::Ip, Certainty::Certain);
            return Some(last);
        }
        let pairs = (first..=last).all(|at| self.word(at).len() == 2 && hexadecimal(at, 2));
        if matches!(separator, ":" | "-") && groups == 6 && pairs {
            self.mark(first, last, Class::Device, Certainty::Certain);
            return Some(last);
        }
        self.named_host(first, last, separator)
    }

    fn named_host(&mut self, first: usize, last: usize, separator: &str) -> Option<usize> {
        if separator != "." {
            return None;
        }
        let last = (first..=last)
            .rev()
            .find(|&at| !self.lexemes[at].has_digit())?;
        let ending = self.word(last);
        if last == first {
            return None;
        }
        let image = IMAGES
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known));
        let path = self.gap(last).starts_with('/');
        let web = self.word(first).eq_ignore_ascii_case("www");
        let known = TOP_LEVEL.contains(&ending) && (ending.len() > 2 || last - first > 1 || path);
        let mut last = last;
        if image {
            self.mark(first, last, Class::Photo, Certainty::Likely);
        } else if web || known {
            while last + 1 < self.len()
                && matches!(
                    self.gap(last),
                    "/" | "-" | "_" | "." | "?" | "=" | "&" | "#" | "/~"
                )
            {
                last += 1;
            }
            self.mark(first, last, Class::Url, Certainty::Likely);
        } else {
            return None;
        }
        Some(last)
    }

    fn octet(&self, at: usize) -> bool {
        self.word(at).len() <= 3 && self.word(at).parse::<u8>().is_ok()
    }
}
