//! Hard bans: typed rules that become Cedar `forbid`s over facts.
//!
//! What a ban says of tools and facts stands in its policy; what Cedar cannot
//! compute (pointers, amounts, lists, texts) is found out here first and
//! handed over as the set `context.holds`.

use aho_corasick::AhoCorasick;
use legation_core::{EntityId, EntityLabels};
use serde_json::Value;

use crate::boundary::Boundary;
use crate::condition::{Condition, Owners, Pointer, Reading};
use crate::facts::{self, Facts};
use crate::governance::{BanKind, BanWhen, Fact, HardBan};
use crate::replay::Supposed;

/// The bans on calls, or those on results.
#[derive(Debug)]
pub(crate) struct Bans {
    bans: Vec<Ban>,
}

/// One ban, ready to be tried.
#[derive(Debug)]
pub(crate) struct Ban {
    pub(crate) id: Box<str>,
    pub(crate) kind: BanKind,
    pub(crate) because: Box<str>,
    when: BanWhen,
    conditions: Vec<Condition>,
    facts: Vec<Known>,
    texts: Option<AhoCorasick>,
}

#[derive(Debug, PartialEq)]
enum Known {
    ForeignRecipient,
    ExternalRecipient,
    MixedEntities,
    UnredactedPhi,
    MoneyOver(f64, Vec<Pointer>),
    RecipientNotOn(Box<str>),
}

/// What bans read.
pub(crate) struct Matter<'a> {
    pub(crate) name: &'a str,
    /// The arguments, or a result; `None` when they cannot be read.
    pub(crate) value: Option<&'a Value>,
    /// A result's text.
    pub(crate) text: Option<&'a str>,
    pub(crate) entities: &'a EntityLabels,
    pub(crate) labels: &'a EntityLabels,
    /// A recipient that the arguments do not name.
    pub(crate) sent_to: Option<&'a str>,
    pub(crate) unredacted_phi: Option<bool>,
}

// === impl Bans ===

impl Bans {
    /// The bans on calls (`output` false) or on results.
    ///
    /// # Errors
    /// What is wrong with one of them: its id and a sentence.
    pub(crate) fn compile(bans: &[HardBan], output: bool) -> Result<Self, (String, String)> {
        let of_kind = bans.iter().filter(|ban| ban.when.output == output);
        let bans = of_kind
            .map(|ban| Ban::compile(ban).map_err(|message| (ban.id.clone(), message)))
            .collect::<Result<_, _>>()?;
        Ok(Self { bans })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bans.is_empty()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Ban> {
        self.bans.iter().find(|ban| *ban.id == *id)
    }

    /// Whether an argument can change what the bans say of a tool.
    pub(crate) fn read_arguments(&self, name: &str) -> bool {
        self.bans
            .iter()
            .any(|ban| ban.is_about(name) && ban.reads_arguments())
    }

    /// Whether a ban that nobody can lift strikes a tool whatever it is called
    /// with.
    pub(crate) fn strike_always(&self, name: &str) -> bool {
        self.bans.iter().any(|ban| {
            ban.kind == BanKind::NeverDo
                && ban.is_about(name)
                && !ban.reads_arguments()
                && ban.facts.is_empty()
        })
    }

    /// The bans that strike a recorded call, those that read its arguments by
    /// supposition.
    pub(crate) fn supposed_to_strike(
        &self,
        name: &str,
        mixed: bool,
        approved: bool,
        supposed: &Supposed<'_>,
    ) -> Vec<&Ban> {
        let about = self.bans.iter().filter(|ban| ban.is_about(name));
        about
            .filter(|ban| {
                let excused = approved && ban.kind == BanKind::NeverWithoutApproval;
                let unmixed = !mixed && ban.facts.contains(&Known::MixedEntities);
                !excused
                    && !unmixed
                    && (!ban.reads_arguments() || supposed.strikes(&ban.id, ban.kind, ban.reads()))
            })
            .collect()
    }

    /// The policies, as text.
    pub(crate) fn policies(&self) -> String {
        let mut text = String::from("@id(\"default\")\npermit(principal, action, resource);\n");
        for ban in &self.bans {
            text.push_str(&ban.policy());
        }
        text
    }

    /// What the bans' policies need to know.
    pub(crate) fn facts(&self, matter: &Matter<'_>, boundary: &Boundary) -> Facts {
        let mut found = Facts::default();
        for ban in self.bans.iter().filter(|ban| ban.is_about(matter.name)) {
            ban.add_facts(matter, boundary, &mut found);
        }
        found
    }
}

// === impl Ban ===

impl Ban {
    fn compile(ban: &HardBan) -> Result<Self, String> {
        let conditions = ban
            .when
            .arguments
            .iter()
            .map(|test| Condition::new(&test.pointer, test.op, test.value.clone()))
            .collect::<Result<_, _>>()?;
        let facts = ban
            .when
            .facts
            .iter()
            .map(Known::compile)
            .collect::<Result<_, _>>()?;
        let texts: Vec<String> = ban
            .when
            .text
            .iter()
            .map(|text| facts::folded(text))
            .collect();
        if texts.iter().any(String::is_empty) {
            return Err("a text has no letter that could be found".to_owned());
        }
        let texts = (!texts.is_empty())
            .then(|| AhoCorasick::new(&texts))
            .transpose()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            id: ban.id.as_str().into(),
            kind: ban.kind,
            because: ban.because.as_str().into(),
            when: ban.when.clone(),
            conditions,
            facts,
            texts,
        })
    }

    fn is_about(&self, name: &str) -> bool {
        self.when
            .tools
            .as_ref()
            .is_none_or(|tools| tools.iter().any(|pattern| pattern.matches(name)))
    }

    fn reads_arguments(&self) -> bool {
        self.texts.is_some()
            || !self.conditions.is_empty()
            || self
                .facts
                .iter()
                .any(|fact| !matches!(fact, Known::MixedEntities))
    }

    /// What of the arguments it reads: pointers, and words for what is found
    /// wherever it stands.
    fn reads(&self) -> Vec<String> {
        let pointers = self.conditions.iter().map(|one| one.pointer().to_owned());
        let mut reads: Vec<String> = pointers.collect();
        if self.texts.is_some() {
            reads.push("every text".to_owned());
        }
        for fact in &self.facts {
            match fact {
                Known::ForeignRecipient | Known::ExternalRecipient | Known::RecipientNotOn(_) => {
                    reads.push("recipients".to_owned());
                }
                Known::UnredactedPhi => reads.push("health information".to_owned()),
                Known::MoneyOver(_, pointers) if pointers.is_empty() => {
                    reads.push("amounts of money".to_owned());
                }
                Known::MoneyOver(_, pointers) => {
                    reads.extend(pointers.iter().map(|one| one.as_str().to_owned()));
                }
                Known::MixedEntities => {}
            }
        }
        reads
    }

    fn held(&self, what: &str) -> String {
        format!("{}/{what}", self.id)
    }

    fn policy(&self) -> String {
        let held = |what: &str| {
            format!(
                "context.holds.contains({})",
                crate::cedar::quote(&self.held(what))
            )
        };
        let mut all = Vec::new();
        if self.when.tools.is_some() {
            all.push(held("tool"));
        }
        all.extend((0..self.conditions.len()).map(|index| held(&format!("argument/{index}"))));
        for (index, fact) in self.facts.iter().enumerate() {
            all.push(match fact {
                Known::ForeignRecipient => "context.foreign_recipient".to_owned(),
                Known::ExternalRecipient => "context.external_recipient".to_owned(),
                Known::MixedEntities => "context.mixed_entities".to_owned(),
                Known::UnredactedPhi => "context.unredacted_phi".to_owned(),
                Known::MoneyOver(..) | Known::RecipientNotOn(_) => held(&format!("fact/{index}")),
            });
        }
        if self.texts.is_some() {
            all.push(held("text"));
        }
        if self.kind == BanKind::NeverWithoutApproval {
            all.push("!context.approved".to_owned());
        }
        let when = if all.is_empty() {
            String::new()
        } else {
            format!(" when {{ {} }}", all.join(" && "))
        };
        format!(
            "@id({})\nforbid(principal, action, resource){when};\n",
            crate::cedar::quote(&self.id)
        )
    }

    fn add_facts(&self, matter: &Matter<'_>, boundary: &Boundary, found: &mut Facts) {
        if self.when.tools.is_some() {
            found.holds.push(self.held("tool"));
        }
        let owners = Owners {
            profile: Some(boundary.profile()),
            call: matter.entities,
        };
        for (index, condition) in self.conditions.iter().enumerate() {
            if condition.holds(matter.value, Reading::Wary, owners) {
                found.holds.push(self.held(&format!("argument/{index}")));
            }
        }
        if let Some(texts) = &self.texts {
            let in_value = matter
                .value
                .is_none_or(|value| facts::holds_text(value, texts));
            let in_text = matter.text.map(|text| texts.is_match(&facts::folded(text)));
            if in_text.unwrap_or(in_value) {
                found.holds.push(self.held("text"));
            }
        }
        for (index, fact) in self.facts.iter().enumerate() {
            match fact {
                Known::ForeignRecipient => found.foreign_recipient |= matter.foreign(boundary),
                Known::ExternalRecipient => found.external_recipient |= matter.external(boundary),
                Known::MixedEntities => {
                    found.mixed_entities |= boundary.profile().mixed(matter.labels).is_some();
                }
                Known::UnredactedPhi => found.unredacted_phi |= matter.shows_health(),
                Known::MoneyOver(limit, pointers) => {
                    if matter.money_over(*limit, pointers) {
                        found.holds.push(self.held(&format!("fact/{index}")));
                    }
                }
                Known::RecipientNotOn(list) => {
                    if matter.not_on(boundary, list) {
                        found.holds.push(self.held(&format!("fact/{index}")));
                    }
                }
            }
        }
    }
}

// === impl Known ===

impl Known {
    fn compile(fact: &Fact) -> Result<Self, String> {
        Ok(match fact {
            Fact::ForeignRecipient => Self::ForeignRecipient,
            Fact::ExternalRecipient => Self::ExternalRecipient,
            Fact::MixedEntities => Self::MixedEntities,
            Fact::UnredactedPhi => Self::UnredactedPhi,
            Fact::MoneyOver(limit) => {
                let pointers = limit.pointers.iter().map(|text| Pointer::parse(text));
                Self::MoneyOver(limit.amount, pointers.collect::<Result<_, _>>()?)
            }
            Fact::RecipientNotOn(list) => Self::RecipientNotOn(list.list.as_str().into()),
        })
    }
}

// === impl Matter ===

impl Matter<'_> {
    /// Takes into account that health information may go to a server of the one
    /// entity it is of, where it does not go on to anybody.
    #[must_use]
    pub(crate) fn at(mut self, server: Option<&EntityId>, boundary: &Boundary) -> Self {
        let home = match (server, self.entities.as_slice()) {
            (Some(server), [one]) if server == one => boundary.profile().entities.get(one),
            _ => None,
        };
        if self.unredacted_phi.is_none()
            && home.is_some_and(|home| home.phi_auto_redact)
            && !self.any_recipient(|_| true)
        {
            self.unredacted_phi = Some(false);
        }
        self
    }

    /// Every fact that is not a ban's own, for policies that read them.
    pub(crate) fn all_facts(&self, boundary: &Boundary, found: &mut Facts) {
        found.foreign_recipient = self.foreign(boundary);
        found.external_recipient = self.external(boundary);
        found.mixed_entities = boundary.profile().mixed(self.labels).is_some();
        found.unredacted_phi = self.shows_health();
    }

    fn any_recipient(&self, strikes: impl Fn(&str) -> bool) -> bool {
        if self.sent_to.is_some_and(&strikes) {
            return true;
        }
        self.value.is_none_or(|value| {
            facts::recipients(value)
                .iter()
                .any(|address| address.is_empty() || strikes(address))
        })
    }

    /// A recipient may get data of the call only where it may get the data of
    /// each of its entities.
    fn foreign(&self, boundary: &Boundary) -> bool {
        self.any_recipient(|address| {
            boundary
                .recipient(address)
                .is_none_or(|cleared| self.entities.iter().any(|entity| !cleared.contains(entity)))
        })
    }

    fn external(&self, boundary: &Boundary) -> bool {
        self.any_recipient(|address| {
            let profile = boundary.profile();
            let address = crate::governance::normalise(address);
            let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain);
            let is = |written: &String, text: &str| crate::governance::normalise(written) == text;
            !profile.entities.values().any(|entity| {
                entity.mailboxes.iter().any(|one| is(one, &address))
                    || entity.email_domains.iter().any(|one| is(one, domain))
            })
        })
    }

    fn not_on(&self, boundary: &Boundary, list: &str) -> bool {
        self.any_recipient(|address| !boundary.profile().is_on_list(list, address))
    }

    fn shows_health(&self) -> bool {
        self.unredacted_phi.unwrap_or_else(|| match self.text {
            Some(text) => facts::shows_health(text),
            None => self.value.is_none_or(facts::arguments_show_health),
        })
    }

    fn money_over(&self, limit: f64, pointers: &[Pointer]) -> bool {
        let Some(value) = self.value else {
            return true;
        };
        if pointers.is_empty() {
            return facts::money_over(facts::money(value).into_iter(), limit);
        }
        pointers.iter().any(|pointer| {
            pointer
                .select(value)
                .is_none_or(|found| facts::money_over(found.into_iter(), limit))
        })
    }
}
