//! Files into [`Governance`].

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::json::{self, Refused};
use super::problem::{Place, Problem, Severity};
use super::{
    Broken, DeskDefaults, Enterprise, EnterprisePolicy, FileText, Governance, Loaded, Note, Roster,
    Sources, checks, file,
};

/// A tool that exists or existed, as far as governance files care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolName<'a> {
    /// Its server.
    pub server: &'a str,
    /// Its own name.
    pub tool: &'a str,
    /// Whether it is the hub's own and changes something: such a tool must
    /// stand in a category of the ladder.
    pub native_change: bool,
}

/// Collects problems while files are read.
pub(super) struct Reader<'s> {
    pub(super) sources: &'s Sources,
    pub(super) problems: Vec<Problem>,
    notes: BTreeMap<&'static str, Vec<Note>>,
}

// === impl Governance ===

impl Governance {
    /// Reads every file. Never fails: what cannot be understood is
    /// [`Loaded::Broken`], and the problems say why.
    pub fn load(sources: &Sources, tools: &[ToolName<'_>]) -> (Self, Vec<Problem>) {
        let mut reader = Reader {
            sources,
            problems: Vec::new(),
            notes: BTreeMap::new(),
        };
        let profile = reader.file(file::OPERATOR_PROFILE, &sources.operator_profile);
        let desk = DeskDefaults::holding(sources, profile.good());
        let of_desk = |found: &FileText, default: Option<&str>| match default {
            Some(text) => FileText::Text(text.to_owned()),
            None => found.clone(),
        };
        let brief = of_desk(&sources.brief, desk.as_ref().map(|desk| &*desk.brief));
        let urgency = of_desk(&sources.urgency, desk.as_ref().map(|desk| desk.urgency));
        let style = of_desk(
            &sources.draft_style,
            desk.as_ref().map(|desk| desk.draft_style),
        );
        let para = of_desk(&sources.para, desk.as_ref().map(|desk| desk.para));
        if desk.is_some() {
            reader.problems.push(DeskDefaults::problem());
        }
        let mut governance = Self {
            profile,
            roles: reader.file(file::ROLE_CARDS, &sources.role_cards),
            bans: reader.file(file::HARD_BANS, &sources.hard_bans),
            ladder: reader.file(file::AUTONOMY_LADDER, &sources.autonomy_ladder),
            providers: reader.file(file::LLM_PROVIDER, &sources.llm_provider),
            contracts: reader.file(file::OUTPUT_CONTRACTS, &sources.output_contracts),
            brief: reader.file(file::BRIEF, &brief),
            urgency: reader.file(file::URGENCY, &urgency),
            draft_style: reader.file(file::DRAFT_STYLE, &style),
            para: reader.file(file::PARA, &para),
            is_desk_by_default: desk.is_some(),
            enterprise: reader.enterprise(),
            rosters: reader.rosters(),
            notes: BTreeMap::new(),
        };
        governance.notes = std::mem::take(&mut reader.notes);
        checks::run(&mut governance, &mut reader, tools);
        (governance, reader.problems)
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn file<T: DeserializeOwned>(&mut self, name: &'static str, text: &FileText) -> Loaded<T> {
        let text = match text {
            FileText::Text(text) => text,
            FileText::Absent => return self.broken(name, Place::default(), "is missing"),
            FileText::Unusable(why) => return self.broken(name, Place::default(), why),
        };
        match json::read::<T>(text) {
            Ok(read) => {
                self.notes.insert(name, read.notes);
                Loaded::Good(read.value)
            }
            Err(Refused { place, message }) => self.broken(name, place, &message),
        }
    }

    fn rosters(&mut self) -> BTreeMap<Box<str>, Loaded<Roster>> {
        let mut rosters = BTreeMap::new();
        for (name, text) in &self.sources.rosters {
            let text = match text {
                FileText::Text(text) => Ok(text),
                FileText::Absent => Err((Place::default(), "is missing".to_owned())),
                FileText::Unusable(why) => Err((Place::default(), why.clone())),
            };
            let read = text.and_then(|text| {
                json::read::<Roster>(text).map_err(|refused| (refused.place, refused.message))
            });
            let loaded = match read {
                Ok(read) => Loaded::Good(read.value),
                Err((place, message)) => self.broken_as(file::ROSTERS, name, place, &message),
            };
            rosters.insert(name.clone(), loaded);
        }
        rosters
    }

    fn enterprise(&mut self) -> Loaded<Enterprise> {
        let mut parts = Vec::new();
        for source in &self.sources.enterprise {
            let text = match source {
                FileText::Text(text) => text,
                FileText::Absent => continue,
                FileText::Unusable(why) => {
                    return self.broken(file::ENTERPRISE, Place::default(), why);
                }
            };
            match toml::from_str::<EnterprisePolicy>(text) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    let line = error
                        .span()
                        .map(|span| 1 + text[..span.start].matches('\n').count());
                    let place = Place {
                        pointer: None,
                        line,
                    };
                    return self.broken(file::ENTERPRISE, place, error.message());
                }
            }
        }
        Loaded::Good(Enterprise { parts })
    }

    fn broken<T>(&mut self, file: &'static str, place: Place, message: &str) -> Loaded<T> {
        self.broken_as(file, file, place, message)
    }

    fn broken_as<T>(
        &mut self,
        file: &'static str,
        name: &str,
        place: Place,
        message: &str,
    ) -> Loaded<T> {
        let reason = if place == Place::default() {
            message.to_owned()
        } else {
            format!("({place}): {message}")
        };
        self.problems.push(Problem {
            file: name.into(),
            place,
            message: message.to_owned(),
            hint: "Repair the file; until then it denies what it governs.".to_owned(),
            severity: Severity::Error,
        });
        Loaded::Broken(Broken { file, reason })
    }
}
