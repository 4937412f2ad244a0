//! Check digits and rules of issue.

/// The Luhn check of cards (ISO/IEC 7812-1).
pub(super) fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, byte)| {
            let digit = u32::from(byte.wrapping_sub(b'0'));
            match (place % 2, digit) {
                (0, digit) => digit,
                (_, digit) if digit > 4 => digit * 2 - 9,
                (_, digit) => digit * 2,
            }
        })
        .sum();
    !digits.is_empty() && sum.is_multiple_of(10)
}

/// A provider's number: Luhn over it with the prefix 80840.
pub(super) fn npi(digits: &str) -> bool {
    digits.len() == 10 && digits.starts_with(['1', '2']) && luhn(&format!("80840{digits}"))
}

/// The areas, groups and serials that were ever given out, and those of taxpayers.
pub(super) fn social_security(digits: &str) -> bool {
    let (Some(area), Some(group), Some(serial)) =
        (digits.get(..3), digits.get(3..5), digits.get(5..))
    else {
        return false;
    };
    digits.len() == 9 && area != "000" && area != "666" && group != "00" && serial != "0000"
}

/// A vehicle's number: seventeen characters, the ninth of which checks the others (49 CFR 565).
pub(super) fn vehicle(word: &str) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    if word.len() != 17 {
        return false;
    }
    let mut sum = 0;
    for (byte, weight) in word.bytes().zip(WEIGHTS) {
        let value = match byte.to_ascii_uppercase() {
            digit @ b'0'..=b'9' => u32::from(digit - b'0'),
            letter @ b'A'..=b'H' => u32::from(letter - b'A') + 1,
            letter @ b'J'..=b'N' => u32::from(letter - b'J') + 1,
            b'P' => 7,
            b'R' => 9,
            letter @ b'S'..=b'Z' => u32::from(letter - b'S') + 2,
            _ => return false,
        };
        sum += value * weight;
    }
    let check = word.as_bytes()[8].to_ascii_uppercase();
    match sum % 11 {
        10 => check == b'X',
        rest => u32::from(check.wrapping_sub(b'0')) == rest,
    }
}

/// An international account number (ISO 13616): the remainder by 97 is 1.
pub(super) fn iban(word: &str) -> bool {
    if !(15..=34).contains(&word.len()) || !word.is_ascii() {
        return false;
    }
    let bytes = word.as_bytes();
    if !bytes[..2].iter().all(u8::is_ascii_alphabetic)
        || !bytes[2..4].iter().all(u8::is_ascii_digit)
    {
        return false;
    }
    let (head, tail) = bytes.split_at(4);
    let remainder = tail.iter().chain(head).try_fold(0_u32, |sum, byte| {
        let value = char::from(*byte).to_digit(36)?;
        let shift = if value > 9 { 100 } else { 10 };
        Some((sum * shift + value) % 97)
    });
    remainder == Some(1)
}

/// `19840312`, `12031984`.
pub(super) fn compact_date(digits: &str) -> bool {
    let part = |range: std::ops::Range<usize>| {
        digits
            .get(range)
            .and_then(|part| part.parse::<u32>().ok())
            .unwrap_or(0)
    };
    let year = |year: u32| (1900..2100).contains(&year);
    let day = |one: u32, two: u32| {
        (1..=12).contains(&one) && (1..=31).contains(&two)
            || (1..=31).contains(&one) && (1..=12).contains(&two)
    };
    (year(part(0..4)) && day(part(4..6), part(6..8)))
        || (year(part(4..8)) && day(part(0..2), part(2..4)))
}
