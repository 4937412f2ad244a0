//! Characters that a reader does not see, or that change how others are seen.
//!
//! Whoever shows what somebody else wrote asks here, so that what one screen writes out no other hides.
//! Which of them belong where they stand, as a joiner does between the parts of an emoji, is a question
//! of its own that `filter` answers; a form that asks a person shows none of them as it is.

/// Whether a character shows nothing of its own: zero-width characters and fillers, signs that turn the
/// direction of writing, join, select or annotate others, and tags (Unicode, `Default_Ignorable_Code_Point`,
/// with the interlinear annotations).
#[must_use]
pub fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a character ends a line without being a control character.
#[must_use]
pub fn ends_line(character: char) -> bool {
    matches!(character, '\u{2028}' | '\u{2029}')
}

/// Whether a form that is to be agreed to writes a character out instead of showing it: what is not
/// seen, what ends lines, what controls a terminal, and private characters, which every font draws in
/// its own way.
#[must_use]
pub fn is_written_out(character: char) -> bool {
    let is_private = matches!(
        character,
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}'
    );
    character.is_control() || is_private || is_unseen(character) || ends_line(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_written_out_and_letters_of_all_kinds_are_not() {
        for hidden in [
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{200e}",
            "\u{202e}",
            "\u{2066}",
            "\u{feff}",
            "\u{ad}",
            "\u{34f}",
            "\u{180e}",
            "\u{3164}",
            "\u{fe0f}",
            "\u{fffa}",
            "\u{1d173}",
            "\u{e0041}",
            "\u{e0100}",
        ] {
            let character = hidden.chars().next().expect("one");
            assert!(is_unseen(character), "{}", character.escape_unicode());
            assert!(is_written_out(character), "{}", character.escape_unicode());
        }
        for character in [
            '\u{2028}',
            '\u{2029}',
            '\n',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{e000}',
            '\u{f0000}',
        ] {
            assert!(!is_unseen(character), "{}", character.escape_unicode());
            assert!(is_written_out(character), "{}", character.escape_unicode());
        }
        for character in "aÄß1 .漢字עبहि🎉\u{fffd}\u{a0}\u{301}\u{2800}".chars() {
            assert!(!is_written_out(character), "{}", character.escape_unicode());
        }
    }
}
