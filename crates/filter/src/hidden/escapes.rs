//! Escape sequences of terminals (ECMA-48), and carriage returns that overwrite.

use super::{Fate, HiddenKind};

/// Marks the sequences and carriage returns of one line. `ended` says that a line feed follows.
///
/// A string sequence without an end would swallow all that follows on a terminal; here it ends
/// with the line, so that a stray introducer cannot make a whole result disappear.
pub(super) fn mark(line: &[char], fates: &mut [Fate], ended: bool) {
    let mut at = 0;
    while at < line.len() {
        let end = match line[at] {
            '\r' => {
                if !(ended && at + 1 == line.len()) {
                    fates[at] = Fate::Become('\n', HiddenKind::Overwrite);
                }
                at += 1;
                continue;
            }
            '\u{85}' => {
                fates[at] = Fate::Become('\n', HiddenKind::Control);
                at += 1;
                continue;
            }
            '\u{1b}' => escape(line, at + 1),
            '\u{9b}' => control(line, at + 1),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => string(line, at + 1),
            _ => {
                at += 1;
                continue;
            }
        };
        fates[at..end].fill(Fate::Drop(HiddenKind::Escape));
        at = end;
    }
}

/// Where the sequence ends whose escape character stands before `at`.
fn escape(line: &[char], at: usize) -> usize {
    match line.get(at) {
        Some('[') => control(line, at + 1),
        Some(']' | 'P' | 'X' | '^' | '_') => string(line, at + 1),
        _ => {
            let middle = count(&line[at..], |c| matches!(c, ' '..='/'));
            let end = at + middle;
            end + usize::from(matches!(line.get(end), Some('0'..='~')))
        }
    }
}

/// Where a control sequence ends: parameters, intermediates, one final character.
fn control(line: &[char], at: usize) -> usize {
    let end = at + count(&line[at..], |c| matches!(c, ' '..='?'));
    end + usize::from(matches!(line.get(end), Some('@'..='~')))
}

/// Where a string sequence ends: behind a bell or a string terminator.
fn string(line: &[char], at: usize) -> usize {
    for (index, character) in line.iter().enumerate().skip(at) {
        match character {
            '\u{7}' | '\u{9c}' => return index + 1,
            '\u{1b}' if line.get(index + 1) == Some(&'\\') => return index + 2,
            _ => {}
        }
    }
    line.len()
}

fn count(line: &[char], wanted: impl Fn(char) -> bool) -> usize {
    line.iter().take_while(|c| wanted(**c)).count()
}
