//! Where an answer that was broken off goes on.
//!
//! Templates cut blanks off the end of a turn, so a turn is given back without them; the model then
//! says them again. Some servers say all of what they were given again. Neither may show.

/// The shortest begun turn that is taken for said again when it is; a shorter one may well be the
/// beginning of what follows.
const ECHO_MIN: usize = 12;

/// Takes off the beginning of what follows what was there already.
#[derive(Debug, Clone)]
pub(crate) struct Seam {
    /// What was given back to the model.
    given: String,
    /// The blanks behind it that were not, and that the model may say again.
    blank: String,
    /// What came and is not decided yet; no longer than both together.
    held: String,
    is_over: bool,
}

// === impl Seam ===

impl Seam {
    /// The end of a turn that stays as it is: `said` is everything that was said so far.
    pub(crate) fn behind(said: &str) -> Self {
        let given = said.trim_end();
        Self {
            given: given.to_owned(),
            blank: said[given.len()..].to_owned(),
            held: String::new(),
            is_over: given.is_empty(),
        }
    }

    /// What the model is given to go on from; nothing where it has to begin anew.
    pub(crate) fn given(&self) -> &str {
        &self.given
    }

    /// Takes what came; what of it is new.
    pub(crate) fn push(&mut self, text: &str) -> String {
        if self.is_over {
            return text.to_owned();
        }
        self.held.push_str(text);
        let whole = format!("{}{}", self.given, self.blank);
        let may_echo = self.given.len() >= ECHO_MIN;
        let is_open = |known: &str| known.len() > self.held.len() && known.starts_with(&self.held);
        if is_open(&self.blank) || (may_echo && is_open(&whole)) {
            return String::new();
        }
        self.is_over = true;
        let held = std::mem::take(&mut self.held);
        let known = [
            may_echo.then_some(whole.as_str()),
            may_echo.then_some(self.given.as_str()),
            Some(self.blank.as_str()),
        ];
        let known = known
            .into_iter()
            .flatten()
            .find(|known| held.starts_with(*known));
        match known {
            Some(known) => held[known.len()..].to_owned(),
            // It goes on with other blanks, which are as good as those that were said.
            None if !self.blank.is_empty() => held.trim_start().to_owned(),
            None => held,
        }
    }

    /// Nothing follows; what was held back is new, or only blank.
    pub(crate) fn finish(&mut self) -> String {
        if self.is_over {
            return String::new();
        }
        self.is_over = true;
        let held = std::mem::take(&mut self.held);
        if self.blank.starts_with(&held) {
            return String::new();
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::Seam;

    fn joined(said: &str, follows: &str, size: usize) -> String {
        let mut seam = Seam::behind(said);
        let letters: Vec<char> = follows.chars().collect();
        let mut all = said.to_owned();
        for piece in letters.chunks(size) {
            all.push_str(&seam.push(&piece.iter().collect::<String>()));
        }
        all.push_str(&seam.finish());
        all
    }

    #[test]
    fn what_was_said_is_not_said_again() {
        let begun = "One, two, three, ";
        for (said, follows, whole) in [
            ("One, two, thr", "ee, four.", "One, two, three, four."),
            // The blank was not given back.
            (begun, " four.", "One, two, three, four."),
            (begun, "four.", "One, two, three, four."),
            ("line\n", "\nnext", "line\nnext"),
            // All of it is said again.
            (begun, "One, two, three, four.", "One, two, three, four."),
            ("One, two, thr", "One, two, three.", "One, two, three."),
            // What is short may be said twice.
            ("ha", "ha", "haha"),
            ("One, two, three.", "", "One, two, three."),
            (begun, "", begun),
            ("", "new", "new"),
            (
                "One, two, three. ",
                "One more.",
                "One, two, three. One more.",
            ),
        ] {
            for size in 1..=follows.chars().count().max(1) {
                assert_eq!(
                    joined(said, follows, size),
                    whole,
                    "{said:?} + {follows:?} by {size}"
                );
            }
        }
    }
}
