//! The last look over what was found: what is left over between, before and behind the parts of an
//! identifier is of it too.
//!
//! A token of a name or an address that a dictionary has as well says nothing by itself. What it
//! stands beside does, and when this stage runs nearly everything it can stand beside is known.

use super::Finder;
use super::reach::CLAUSE;
use crate::class::{Certainty, Class};
use crate::lex::{Case, Kind};
use crate::words::{
    ABBREVIATION, CLINICAL, CREDENTIAL, DRUG, FUNCTION, INSTITUTION, MONTH, NEVER, PARTICLE,
    PERSON, PERSON_VERB, RELATION, ROOM, SAFE, STREET, STREET_FIRST, TITLE, TOWN_FIRST, UNIT,
};

/// More words than this, on one side, are no part of the same address.
const FARTHEST: usize = 10;
/// More words than this between two parts are a text of their own.
const BETWEEN: usize = 4;

impl Finder<'_> {
    pub(super) fn sweep(&mut self) {
        for at in 0..self.len() {
            match self.class(at) {
                Some(Class::Name) => self.beside_name(at),
                Some(Class::Place) => {
                    self.between_places(at);
                    self.no_number(at);
                }
                _ => {}
            }
            self.item(at);
            self.port_of(at);
            self.numbered_way(at);
            if self.lexemes[at].case == Case::Lower {
                self.small_label(at);
                self.small_address(at);
                self.small_relative(at);
                self.small_town(at);
                self.small_initial(at);
            }
            if self.lexemes[at].is_word() && self.gap(at) == "-" {
                self.hyphen(at);
            }
        }
        self.signature();
        let mut at = 0;
        while at < self.len() {
            at = if self.class(at) == Some(Class::Place) {
                self.cluster(at)
            } else {
                at + 1
            };
        }
    }

    fn beside_name(&mut self, at: usize) {
        self.initial_before(at);
        self.led_words(at);
        self.small_surname(at);
        self.initial_behind(at);
        self.broken(at);
        self.in_list(at);
        self.small_sentence_word(at);
        self.surname_first(at);
        self.alone(at);
    }

    /// `Kind, Antonia`: a word of the language before a comma and a name that ends there.
    fn surname_first(&mut self, at: usize) {
        let Some(last) = at.checked_sub(1) else {
            return;
        };
        let lexeme = &self.lexemes[last];
        let fits = !self.marked(last)
            && lexeme.case == Case::Title
            && lexeme.is_word()
            && lexeme.len() > 2
            && self.gap(last) == ", "
            && self.opens(last)
            && !lexeme.word.is(CLAUSE | INSTITUTION)
            && self.lexemes[at].case == Case::Title
            && !self.is(at, SAFE)
            && self.name_ends(at)
            && self.gap(at) != ", ";
        if fits
            && !["ed", "ing", "ly"]
                .iter()
                .any(|end| self.word(last).ends_with(end))
        {
            self.mark(last, at, Class::Name, Certainty::Guessed);
        }
    }

    /// `- Hung` under a message: who wrote it.
    fn signature(&mut self) {
        let Some(last) = self.len().checked_sub(1) else {
            return;
        };
        let title = |at: usize| {
            let lexeme = &self.lexemes[at];
            lexeme.is_word()
                && lexeme.case == Case::Title
                && lexeme.len() > 1
                && !lexeme.word.is(NEVER | CLINICAL)
        };
        let first = if last > 0 && self.gap(last - 1) == " " && title(last - 1) {
            last - 1
        } else {
            last
        };
        if title(last) && self.before(first).ends_with("- ") && !self.marked(last) {
            self.mark(first, last, Class::Name, Certainty::Guessed);
        }
    }

    /// `Rruga Hoti, p.n.`: two letters that say that a house has no number.
    fn no_number(&mut self, at: usize) {
        let (one, other) = (at + 1, at + 2);
        let letter = |at: usize| self.small(at) && self.lexemes[at].len() == 1 && !self.marked(at);
        if matches!(self.gap(at), ", " | " ")
            && letter(one)
            && letter(other)
            && matches!(self.gap(one), "." | "/")
            && self.closes(other)
        {
            self.mark(one, other, Class::Place, Certainty::Guessed);
        }
    }

    /// `Yong He`: a capital directly behind a name begins no sentence.
    fn small_sentence_word(&mut self, at: usize) {
        let next = at + 1;
        let title = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|word| word.is_word() && word.case == Case::Title && word.len() > 1)
        };
        let first = at == 0 || !self.marked(at - 1) || self.before(at) != " ";
        if title(at)
            && title(next)
            && self.gap(at) == " "
            && !self.marked(next)
            && first
            && self.is(next, FUNCTION)
            && self.lexemes[next].len() <= 3
        {
            self.mark(next, next, Class::Name, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// `TAN` above or below `WEI`: a line of one shouted word beside a line that is a name.
    fn alone(&mut self, at: usize) {
        let line = |finder: &Self, at: usize| {
            finder
                .lexemes
                .get(at)
                .is_some_and(|word| word.is_word() && word.case == Case::Upper)
                && finder.before(at).ends_with('\n') | (at == 0)
                && (finder.gap(at).starts_with('\n') || at + 1 == finder.len())
        };
        if !line(self, at) {
            return;
        }
        for other in [at.wrapping_sub(1), at + 1] {
            if other < self.len()
                && line(self, other)
                && !self.marked(other)
                && !self.is(other, PERSON | INSTITUTION | CLINICAL)
            {
                self.mark(other, other, Class::Name, Certainty::Guessed);
            }
        }
    }

    /// `* 548: in isolation`: the number of a room or bed that opens an item.
    fn item(&mut self, at: usize) {
        let lexeme = &self.lexemes[at];
        if !lexeme.has_digit()
            || lexeme.len() > 4
            || self.marked(at)
            || !self.gap(at).starts_with(": ")
        {
            return;
        }
        let first = self.chain(at);
        let before = self.before(first);
        let opens = first == 0 || before.contains('\n');
        let long = self.lexemes[at].end - self.lexemes[first].start > 1;
        if opens
            && long
            && !self
                .lexemes
                .get(at + 1)
                .is_some_and(crate::lex::Lexeme::has_digit)
        {
            self.mark(first, at, Class::Place, Certainty::Guessed);
        }
    }

    /// `Port of Spain`, over the end of a line too.
    fn port_of(&mut self, at: usize) {
        let (of, name) = (at + 1, at + 2);
        let fits = self.is(at, TOWN_FIRST | STREET)
            && matches!(self.gap(at), " " | "\n")
            && matches!(self.word(of), "of" | "OF")
            && matches!(self.gap(of), " " | "\n")
            && self.lexemes.get(name).is_some_and(|word| {
                word.is_word() && word.len() > 2 && word.case == self.lexemes[at].case
            })
            && !self.is(name, CLAUSE | CLINICAL);
        let led = self.marked(at)
            || self.is(at, TOWN_FIRST)
            || self.lexemes[at].capital() && !self.opens(at)
            || at > 0 && self.is(at - 1, FUNCTION);
        if fits
            && led
            && (self.marked(name) || self.closes(name))
            && (self.lexemes[at].capital() || self.marked(name))
        {
            self.mark(at, name, Class::Place, Certainty::Guessed);
        }
    }

    /// `Diagonal 6 15-22`, `LP 92, Southern Main Road`: a way that has a number for its name, or
    /// letters that say what a number counts.
    fn numbered_way(&mut self, at: usize) {
        let number = at + 1;
        let digits = |at: usize| {
            self.lexemes
                .get(at)
                .is_some_and(|part| part.has_digit() && part.len() <= 5)
        };
        if !self.lexemes[at].capital()
            || !matches!(self.gap(at), " " | "\n")
            || !digits(number)
            || self.measures(number)
        {
            return;
        }
        let goes_on = matches!(self.gap(number), " " | ", " | " # ")
            && (digits(number + 1) && !self.measures(number + 1)
                || self.class(number + 1) == Some(Class::Place));
        let way = self.is(at, STREET_FIRST) && !self.is(at, FUNCTION | RELATION) && goes_on;
        let letters = self.lexemes[at].case == Case::Upper
            && self.lexemes[at].len() <= 3
            && !self.is(at, UNIT | CREDENTIAL)
            && self.gap(number) == ", "
            && self.class(number + 1) == Some(Class::Place);
        if way || letters {
            let last = number + usize::from(way && digits(number + 1));
            let last = last + usize::from(way && self.gap(last) == "-" && digits(last + 1));
            self.mark(at, last, Class::Place, Certainty::Guessed);
        }
    }

    /// `first name lei`, `copy to pan in`: what stands behind a spoken label, in small letters.
    fn small_label(&mut self, at: usize) {
        let name = at + 1;
        if self.gap(at) != " "
            || !self.small(name)
            || self.marked(name)
            || self.is(name, CLAUSE & !UNIT)
        {
            return;
        }
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let says = match self.word(at) {
            "name" => matches!(before, "first" | "last" | "family" | "given" | "maiden"),
            "surname" | "forename" | "named" => true,
            "to" => {
                matches!(before, "copy" | "letter" | "cc") || before == "visit" && self.listed(name)
            }
            "is" => {
                matches!(before, "patient" | "name")
                    && self.listed(name)
                    && !self.is(name, CLINICAL)
            }
            "for" => {
                matches!(
                    before,
                    "visit" | "letter" | "bloods" | "report" | "appointment"
                ) && self.listed(name)
                    && !self.is(name, CLINICAL)
            }
            _ => false,
        };
        if says {
            self.mark(name, name, Class::Name, Certainty::Guessed);
        }
    }

    /// `690 Gu, Na: awaits surgery`: the number of a room or bed before a name that opens a line.
    fn in_list(&mut self, at: usize) {
        let mut first = at;
        while first > 0
            && at - first < 3
            && self.lexemes[first - 1].has_digit()
            && matches!(self.before(first), " " | "-" | "  ")
        {
            first -= 1;
        }
        let line = first < at && (first == 0 || self.before(first).contains('\n'));
        if line
            && self.lexemes[at].capital()
            && matches!(self.before(at), " " | "  ")
            && self.lexemes[first].len() <= 4
        {
            self.mark(first, at - 1, Class::Place, Certainty::Guessed);
        }
    }

    /// `ona h. beckius`: one letter before a name, behind a name or a word that leads to one.
    fn initial_before(&mut self, at: usize) {
        let Some(letter) = at.checked_sub(1) else {
            return;
        };
        let single = self.lexemes[letter].len() == 1
            && self.lexemes[letter].is_word()
            && !self.marked(letter);
        if !single || !matches!(self.gap(letter), ". " | "." | " " | ".\n") {
            return;
        }
        let dotted = self.gap(letter) != " ";
        let led = letter > 0
            && matches!(self.before(letter), " " | ". " | ", ")
            && (self.class(letter - 1) == Some(Class::Name)
                || dotted && (self.is(letter - 1, TITLE | PERSON | RELATION | FUNCTION)));
        let alone = dotted && (letter == 0 || self.opens(letter));
        if led && (dotted || !matches!(self.word(letter), "a" | "i" | "I")) || alone {
            self.mark(letter, at, Class::Name, Certainty::Guessed);
        }
    }

    /// `mei-yu h. ting`: an initial and a word behind a name in small letters.
    fn initial_behind(&mut self, at: usize) {
        let (letter, name) = (at + 1, at + 2);
        let single = self.small(letter) && self.lexemes[letter].len() == 1;
        let fits = single
            && self.lexemes[at].case == Case::Lower
            && self.gap(at) == " "
            && matches!(self.gap(letter), ". " | ".")
            && self.small(name)
            && !self.is(name, CLAUSE);
        if fits {
            self.mark(at, name, Class::Name, Certainty::Guessed);
        }
    }

    /// `doctor lei wang`: words between one that leads to a name and the name.
    fn led_words(&mut self, at: usize) {
        let stop = FUNCTION
            | PERSON_VERB
            | RELATION
            | PERSON
            | TITLE
            | INSTITUTION
            | UNIT
            | CREDENTIAL
            | DRUG;
        let mut first = at;
        while first > 0
            && at - first < 2
            && matches!(self.before(first), " " | "-")
            && !self.marked(first - 1)
            && self.lexemes[first - 1].is_word()
            && !self.is(first - 1, stop & !UNIT)
            && (self.lexemes[first - 1].case == self.lexemes[at].case)
        {
            first -= 1;
        }
        if first == at || first == 0 || !matches!(self.before(first), " " | ": " | ". ") {
            return;
        }
        let lead = first - 1;
        let cue = self.is(lead, TITLE)
            || self.is(lead, RELATION | PERSON)
                && (self.lexemes[at].case != Case::Lower || self.before(first) == " ");
        let by = self.lexemes[at].capital()
            && matches!(
                self.word(lead),
                "by" | "with"
                    | "for"
                    | "and"
                    | "to"
                    | "from"
                    | "tell"
                    | "told"
                    | "ask"
                    | "asked"
                    | "called"
            );
        if cue || by && self.before(first) == " " {
            self.mark(first, at, Class::Name, Certainty::Guessed);
        }
    }

    /// `visit for qiang wan`: a short word behind a name in small letters.
    fn small_surname(&mut self, at: usize) {
        let next = at + 1;
        if self.lexemes[at].case != Case::Lower
            || self.gap(at) != " "
            || self.marked(next)
            || next >= self.len()
        {
            return;
        }
        let lexeme = &self.lexemes[next];
        let word = self.word(next);
        let stop = CLAUSE | CLINICAL | INSTITUTION | PARTICLE;
        let fits = lexeme.is_word()
            && lexeme.case == Case::Lower
            && lexeme.len() <= 5
            && lexeme.len() > 1
            && (!lexeme.word.is(stop) || self.listed(next) && !lexeme.word.is(CLAUSE & !UNIT))
            && !["ed", "ing", "ly"].iter().any(|end| word.ends_with(end));
        let led = at > 0
            && matches!(self.before(at), " " | ": ")
            && (self.is(at - 1, TITLE | RELATION | PERSON)
                || matches!(self.word(at - 1), "for" | "named" | "called"))
            && !self.is(at, SAFE);
        let ends = self.name_ends(next)
            || self.gap(next) == " "
                && self.is(next + 1, FUNCTION | PERSON_VERB | RELATION | PERSON | TITLE);
        if led && fits && ends {
            self.mark(next, next, Class::Name, Certainty::Guessed);
            self.joined[at] = true;
        }
    }

    /// A name that goes on behind a broken line.
    fn broken(&mut self, at: usize) {
        let next = at + 1;
        if !matches!(self.gap(at), "\n" | "-\n" | " \n")
            || self.marked(next)
            || !self.lexemes[at].capital()
        {
            return;
        }
        let alone = at == 0 || !self.marked(at - 1) || self.before(at) != " ";
        let led = at > 0
            && (self.before(at).contains(':')
                || self.before(at) == " " && self.is(at - 1, FUNCTION | TITLE | PERSON | RELATION))
            || at > 0 && self.before(at) == " " && self.is(at - 1, PERSON_VERB);
        let stop = CLAUSE | CLINICAL | INSTITUTION | ABBREVIATION;
        let name = self.lexemes.get(next).is_some_and(|word| {
            word.is_word() && word.case == self.lexemes[at].case && word.len() > 1
        }) && (!self.is(next, stop)
            || self.listed(next) && !self.is(next, FUNCTION | TITLE | PERSON | RELATION));
        let ends = self.closes(next)
            || self.gap(next) == " "
                && self
                    .lexemes
                    .get(next + 1)
                    .is_some_and(|word| word.case == Case::Lower);
        if alone && led && name && ends && !self.labels_value(next) {
            self.mark(at, next, Class::Name, Certainty::Guessed);
        }
    }

    /// `shu-fen`, `Chin-Lung Tsai`: of a name with a hyphen one part is as much a name as the other.
    fn hyphen(&mut self, at: usize) {
        let next = at + 1;
        let Some(second) = self.lexemes.get(next) else {
            return;
        };
        let first = &self.lexemes[at];
        let stop = FUNCTION | CREDENTIAL | DRUG | TITLE | PERSON | RELATION;
        if !second.is_word()
            || first.case != second.case
            || first.word.is(stop)
            || second.word.is(stop)
        {
            return;
        }
        let name = |at: usize| {
            matches!(self.class(at), Some(Class::Name | Class::Place)) && !self.is(at, SAFE)
        };
        let beside = |at: usize, gap: &str| {
            matches!(gap, " " | ", ")
                && self.class(at) == Some(Class::Name)
                && self.lexemes[at].case == first.case
        };
        let capital = first.capital() && first.len() > 1 && second.len() > 1;
        let known = name(at) || name(next);
        let near = at > 0 && beside(at - 1, self.before(at)) || beside(next + 1, self.gap(next));
        let fits = known && (capital || first.len().min(second.len()) <= 5)
            || capital
                && near
                && !(self.is(at, CLINICAL) && self.is(next, CLINICAL) && first.case == Case::Upper);
        if fits && !(self.marked(at) && self.marked(next)) {
            self.mark(at, next, Class::Name, Certainty::Guessed);
        }
    }

    /// Whether a gap may lie inside an address.
    fn soft(&self, at: usize) -> bool {
        let gap = self.gap(at);
        if matches!(
            gap,
            " " | ", "
                | ","
                | "-"
                | "/"
                | "'"
                | " - "
                | " / "
                | ""
                | "\u{b0} "
                | " #"
                | "  "
                | ", #"
        ) {
            return true;
        }
        if matches!(gap, ". " | "." | "., ") {
            return self.lexemes[at].len() <= 4
                || !self.is(at, SAFE) && self.lexemes[at].is_word() && gap != ". ";
        }
        matches!(gap, "\n" | ",\n" | " \n") && !self.labels_value(at)
            || gap == ".\n" && self.lexemes[at].len() <= 3
    }

    /// Marks up to four words between two parts of one address.
    fn between_places(&mut self, at: usize) {
        let mut next = at + 1;
        let mut lines = 0;
        while next < self.len() && next - at <= BETWEEN && !self.marked(next) {
            lines += usize::from(self.gap(next - 1).contains('\n'));
            let lexeme = &self.lexemes[next];
            let stop = PERSON_VERB | PERSON | RELATION | TITLE | DRUG | CREDENTIAL;
            let small = lexeme.case == Case::Lower
                && lexeme.word.is(FUNCTION)
                && !lexeme.word.is(PARTICLE)
                && !matches!(self.word(next), "of" | "the" | "off" | "and" | "on");
            if !self.soft(next - 1)
                || lexeme.word.is(stop) && lexeme.case == Case::Lower
                || small
                || self.labels_value(next)
            {
                return;
            }
            next += 1;
        }
        if next == at + 1
            || next >= self.len()
            || next - at > BETWEEN
            || !self.soft(next - 1)
            || !self.of_address(next)
        {
            return;
        }
        let digits = (at..=next).any(|part| self.lexemes[part].has_digit());
        let streets = (at..=next).any(|part| self.is(part, STREET | STREET_FIRST));
        if (digits || streets) && lines <= 1 {
            self.mark(at, next, Class::Place, Certainty::Guessed);
        }
    }

    /// `of lot 46 great house circle in may pen`: an address in small letters, of ordinary words.
    fn small_address(&mut self, cue: usize) {
        const LEADS: &[&str] = &["of", "at", "from", "to", "in", "near", "is", "address"];
        if self.gap(cue) != " " || !self.small(cue) || !LEADS.contains(&self.word(cue)) {
            return;
        }
        let mut at = cue + 1;
        while at < cue + 3
            && (self.is(at, ROOM) || self.is(at, STREET_FIRST) && !self.is(at, FUNCTION))
            && self.small(at)
        {
            at += 1;
        }
        let numbered = self
            .lexemes
            .get(at)
            .is_some_and(|number| number.has_digit() && number.len() <= 5)
            && !self.measures(at);
        let ways = at > cue + 1;
        if !numbered && !ways {
            return;
        }
        let mut last = at - usize::from(!numbered);
        let (mut words, mut end) = (0, if ways && numbered { last } else { cue });
        while last + 1 < self.len() && words < 6 && matches!(self.gap(last), " " | ", " | "-" | "/")
        {
            let next = last + 1;
            let stop =
                FUNCTION | PERSON | RELATION | TITLE | PERSON_VERB | UNIT | CREDENTIAL | DRUG;
            let number = self.lexemes[next].has_digit() && !self.measures(next);
            if !number && (self.is(next, stop) && !self.is(next, PARTICLE) || !self.small(next)) {
                break;
            }
            let near = next < end + 2 && self.lexemes[next].len() <= 4 && self.of_address(last);
            if number
                || self.is(next, STREET | STREET_FIRST | ROOM)
                || self.of_address(next)
                || near
            {
                end = next;
            }
            words += 1;
            last = next;
        }
        if end == cue || words == 0 {
            return;
        }
        self.mark(cue + 1, end, Class::Place, Certainty::Guessed);
        // The town behind it.
        let mut town = end + 2;
        while town < end + 4
            && self.word(end + 1) == "in"
            && self.small(town)
            && !self.is(town, CLAUSE & !MONTH)
            && matches!(self.before(town), " " | "-")
        {
            self.mark(town, town, Class::Place, Certainty::Guessed);
            town += 1;
        }
    }

    /// Whether it is a word in small letters.
    fn small(&self, at: usize) -> bool {
        self.lexemes
            .get(at)
            .is_some_and(|word| word.is_word() && word.case == Case::Lower)
    }

    /// `back to bar in spring`, `san jose`: a town in small letters, where nothing has a capital.
    fn small_town(&mut self, at: usize) {
        const CUES: &[(&str, &[&str])] = &[
            (
                "to",
                &[
                    "back",
                    "move",
                    "moved",
                    "moving",
                    "return",
                    "returned",
                    "returns",
                    "relocated",
                    "flew",
                    "travelled",
                    "traveled",
                    "went",
                    "drove",
                ],
            ),
            (
                "in",
                &[
                    "live", "lives", "lived", "living", "settled", "born", "resides", "stays",
                    "raised",
                ],
            ),
            (
                "from",
                &[
                    "came",
                    "comes",
                    "originally",
                    "is",
                    "family",
                    "farmer",
                    "moved",
                    "travelled",
                    "back",
                ],
            ),
        ];
        const ELSEWHERE: &[&str] = &[
            "home", "bed", "work", "hospital", "theatre", "school", "surgery", "baseline",
            "normal", "sleep", "town", "clinic", "rehab", "care", "church", "college", "prison",
            "sinus", "pain", "hand", "case", "review", "us", "ward",
        ];
        let next = at + 1;
        let led = at > 0
            && self.is(at, STREET)
            && matches!(
                self.word(at - 1),
                "in" | "from" | "to" | "of" | "near" | "at"
            );
        if (self.is(at, TOWN_FIRST | STREET_FIRST) || led)
            && !self.is(at, FUNCTION | PARTICLE & !TOWN_FIRST)
            && self.gap(at) == " "
            && self.of_address(next)
            && self.small(next)
        {
            self.mark(at, next, Class::Place, Certainty::Guessed);
        }
        let Some(before) = at.checked_sub(1) else {
            return;
        };
        let cued = CUES
            .iter()
            .any(|(word, cues)| self.word(at) == *word && cues.contains(&self.word(before)));
        let plain = cued
            && self.gap(at) == " "
            && self.gap(before) == " "
            && (at.saturating_sub(12)..at + 4).all(|near| {
                self.lexemes
                    .get(near)
                    .is_none_or(|word| !word.is_word() || !word.capital() || word.len() == 1)
            });
        if !plain {
            return;
        }
        let mut last = at;
        while last < at + 3
            && self.small(last + 1)
            && (last == at || matches!(self.gap(last), " " | "-"))
            && !self.is(last + 1, CLAUSE & !MONTH)
            && !ELSEWHERE.contains(&self.word(last + 1))
        {
            last += 1;
        }
        if last > at && (self.closes(last) || self.gap(last) == " " && self.is(last + 1, CLAUSE)) {
            self.mark(next, last, Class::Place, Certainty::Guessed);
        }
    }

    /// `doctor a. feller`: behind a title, an initial and a word in small letters.
    fn small_initial(&mut self, at: usize) {
        let (letter, name) = (at + 1, at + 2);
        let fits = self.is(at, TITLE)
            && self.gap(at).trim() == ""
            && self.small(letter)
            && self.lexemes[letter].len() == 1
            && self.gap(letter) == ". "
            && self.small(name)
            && !self.is(name, CLAUSE);
        if fits {
            self.mark(letter, name, Class::Name, Certainty::Guessed);
        }
    }

    /// `her husband min is`: a listed name in small letters behind a word for a relative.
    fn small_relative(&mut self, at: usize) {
        let name = at + 1;
        let fits = self.is(at, RELATION)
            && self.gap(at) == " "
            && self.small(name)
            && !self.marked(name)
            && self.listed(name)
            && !self.is(name, CLAUSE & !UNIT | CLINICAL);
        let ends =
            self.closes(name) || self.gap(name) == " " && self.is(name + 1, FUNCTION | PERSON_VERB);
        if fits && ends {
            self.mark(name, name, Class::Name, Certainty::Guessed);
        }
    }

    /// Lets an address take in what stands before and behind it; where to go on.
    fn cluster(&mut self, from: usize) -> usize {
        let mut last = from;
        while last + 1 < self.len() && self.of_address(last + 1) && self.soft(last) {
            last += 1;
        }
        let numbered = (from..=last).any(|at| self.lexemes[at].has_digit());
        let street = (from..=last).any(|at| self.is(at, STREET | STREET_FIRST));
        let small = self.lexemes[from].case == Case::Lower;
        let room = from == last && from > 0 && self.is(from - 1, ROOM) && !self.marked(from - 1);
        if room || !(numbered || street || last > from || small) {
            return last + 1;
        }
        let mut end = last;
        while end + 1 < self.len()
            && end - last < FARTHEST
            && self.soft(end)
            && (self.of_address(end + 1) || self.follows(end + 1))
        {
            end += 1;
        }
        let mut first = from;
        while first > 0
            && from - first < FARTHEST
            && self.soft(first - 1)
            && (self.of_address(first - 1) || self.leads(first - 1))
        {
            first -= 1;
        }
        if first < from || end > last {
            self.mark(first, end, Class::Place, Certainty::Guessed);
        }
        end + 1
    }

    /// Whether an unmarked word goes on with the address before it.
    fn follows(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let gap = self.before(at);
        let near = matches!(gap, " " | "-" | "/" | "'" | "" | ". ");
        if self.marked(at) || self.labels_value(at) {
            return false;
        }
        if lexeme.has_digit() {
            return lexeme.len() <= 8
                && !self.measures(at)
                && (near || self.closes(at))
                && !(gap.contains('\n') && self.gap(at).starts_with(['.', ')']));
        }
        let way = STREET | STREET_FIRST | ROOM;
        match lexeme.case {
            Case::Lower | Case::Other => {
                let end = gap == " "
                    && self.is(at, STREET)
                    && self.lexemes[at - 1].case == Case::Lower
                    && !lexeme.word.is(UNIT);
                let short = gap == " "
                    && lexeme.len() <= 3
                    && !lexeme.word.is(FUNCTION | UNIT | PERSON_VERB)
                    && self.closes(at);
                let numbered = near
                    && lexeme.len() <= 4
                    && !lexeme.word.is(FUNCTION | UNIT | PERSON_VERB)
                    && self
                        .lexemes
                        .get(at + 1)
                        .is_some_and(|next| next.has_digit() && next.len() <= 5)
                    && !self.measures(at + 1);
                end || short || numbered
            }
            Case::Title | Case::Upper => {
                let town = MONTH | STREET | ROOM | TOWN_FIRST;
                let stop = CLAUSE & !MONTH | INSTITUTION | CLINICAL;
                let month = lexeme.word.is(MONTH) && !(gap == " " || gap == ", ");
                let plain = !month && !lexeme.word.is(stop)
                    || lexeme.word.is(town)
                        && !lexeme.word.is(PERSON | RELATION | TITLE | PERSON_VERB);
                let shouted =
                    lexeme.case == Case::Upper && lexeme.word.is(ABBREVIATION) && lexeme.len() > 2;
                let near = near && gap != ". ";
                let line = !near && self.closes_soon(at);
                plain && !shouted && (near && (lexeme.word.is(way) || self.closes_soon(at)) || line)
            }
        }
    }

    /// Whether capitalised words only stand between a word and the end of its clause.
    fn closes_soon(&self, from: usize) -> bool {
        let mut at = from;
        for _ in 0..4 {
            if self.closes(at) {
                return !self.gap(at).starts_with(':');
            }
            let next = self.lexemes.get(at + 1);
            if !matches!(self.gap(at), " " | "-" | "'" | ". ")
                || !next.is_some_and(|next| {
                    next.capital() || next.has_digit() || next.word.is(PARTICLE)
                })
            {
                return false;
            }
            at += 1;
        }
        false
    }

    /// Whether an unmarked word begins the address behind it.
    fn leads(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let gap = self.gap(at);
        let near = matches!(gap, " " | "-" | "/" | "'" | "" | ". " | ".");
        let cut = matches!(gap, ".\n" | "\n")
            && (lexeme.len() <= 3 || lexeme.word.is(STREET_FIRST | ROOM))
            && lexeme.is_word()
            && at > 0
            && !lexeme.word.is(UNIT | FUNCTION);
        if cut
            && !self.marked(at)
            && self.lexemes[at + 1].capital()
            && (lexeme.word.is(STREET_FIRST | ROOM) || gap == ".\n")
        {
            return true;
        }
        if self.marked(at) || gap.contains('\n') && !lexeme.has_digit() {
            return false;
        }
        if lexeme.has_digit() {
            let begins = at == 0
                || matches!(self.class(at - 1), Some(Class::Place))
                || self.is(at - 1, FUNCTION)
                || self.before(at).contains(['\n', ':', '(', ','])
                || self.is(at - 1, ROOM | STREET_FIRST | TOWN_FIRST);
            return lexeme.len() <= 6
                && lexeme.kind != Kind::Word
                && begins
                && !self.measures(at)
                && !gap.starts_with(". ")
                && !(gap.contains('\n') && !self.before(at).contains('\n'));
        }
        let small = lexeme.case == Case::Lower && self.lexemes[at + 1].case != Case::Title;
        let ways = near
            && lexeme.word.is(STREET_FIRST | TOWN_FIRST | ROOM)
            && !lexeme.word.is(FUNCTION | TITLE)
            && (lexeme.capital() || small && !lexeme.word.is(RELATION));
        let particle = gap == " "
            && lexeme.case == Case::Lower
            && lexeme.word.is(PARTICLE)
            && at > 0
            && (self.of_address(at - 1) || self.is(at - 1, STREET_FIRST | TOWN_FIRST))
            && self.before(at) == " ";
        let box_letters = lexeme.case == Case::Upper
            && lexeme.len() <= 2
            && near
            && self.is(at + 1, ROOM)
            && !lexeme.word.is(UNIT);
        ways || particle || box_letters
    }
}
