//! `operator_profile.json`: whose data there is, and who may see it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use legation_core::{COPILOT, ClientId, EntityId, EntityLabels};
use schemars::JsonSchema;
use serde::Deserialize;

use super::contracts::TextPattern;
use super::name::{self, ALL, EntityName, EntitySet, Meant};
use super::pattern::NamePattern;

/// The owner, the entities, and the clearances of people and clients.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorProfile {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The owner of this hub.
    pub operator: Operator,
    /// The entities, by id.
    #[serde(deserialize_with = "name::map")]
    #[schemars(with = "BTreeMap<EntityName, Entity>")]
    pub entities: BTreeMap<EntityId, Entity>,
    /// How a person sorts what names no entity; told to models, enforced by nothing.
    #[serde(default)]
    pub default_classification_rule: Option<String>,
    /// Whose data a recipient may get, by address or by `@domain`.
    #[serde(default, deserialize_with = "name::lists")]
    #[schemars(with = "BTreeMap<String, Vec<EntityName>>")]
    pub recipient_clearances: BTreeMap<String, Vec<EntityId>>,
    /// Named lists of addresses and `@domain`s that may get privileged text.
    #[serde(default)]
    pub privilege_approved_lists: BTreeMap<String, Vec<String>>,
    /// Whose data a client may see, by the client's name, `*` and `?` allowed.
    /// A client is a model: what it reads, its provider reads.
    #[serde(default)]
    pub client_clearances: BTreeMap<NamePattern, ClientClearance>,
    /// What holds for a client that is not named.
    #[serde(default)]
    pub default_client_clearance: ClientClearance,
    /// Whose data a GitHub login may ask for through the Copilot webhook.
    #[serde(default)]
    pub github_logins: BTreeMap<String, EntitySet>,
}

/// The owner of this hub.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// The owner's name.
    pub name: String,
    /// What the owner works for.
    #[serde(default)]
    pub organization: Option<String>,
    /// An IANA time zone, such as `Europe/Berlin`.
    #[serde(default)]
    pub timezone: Option<String>,
    /// Whom to tell when everything had to stop.
    #[serde(default)]
    pub emergency_pause_contact: Option<String>,
}

/// One entity.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// What people call it.
    pub name: String,
    /// Its mail domains, without `@`.
    #[serde(default)]
    pub email_domains: Vec<String>,
    /// Its mailboxes.
    #[serde(default)]
    pub mailboxes: Vec<String>,
    /// Words that add its label to what holds them. Words only ever add.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Entities whose data never meets this one's. Holds both ways.
    #[serde(default, deserialize_with = "name::list")]
    #[schemars(with = "Vec<EntityName>")]
    pub never_mix_with: Vec<EntityId>,
    /// Whether its data holds health information: redacted before it reaches
    /// any model, and given to cleared models and clients only.
    #[serde(default)]
    pub phi_auto_redact: bool,
    /// Names of fields and columns whose values are always redacted.
    #[serde(default)]
    pub redaction_fields: Vec<String>,
    /// Regular expressions of its own numbers: contracts, residents, wards.
    #[serde(default)]
    pub redaction_patterns: Vec<TextPattern>,
    /// Words of its own that point at nobody: products, wards, brands. They
    /// stay where redaction takes out every word that it does not know.
    #[serde(default)]
    pub safe_words: Vec<String>,
    /// Files below `governance/` with the people whose names are redacted.
    #[serde(default)]
    pub roster_files: Vec<String>,
    /// Accounts that belong to it; a `profile_id` argument may name one.
    #[serde(default)]
    pub profile_ids: Vec<String>,
}

/// What a client may see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientClearance {
    /// Whose data.
    pub entities: EntitySet,
    /// Whether health information too. Without it such data is redacted.
    #[serde(default)]
    pub phi: bool,
}

// === impl OperatorProfile ===

impl OperatorProfile {
    /// Every entity.
    pub fn everyone(&self) -> EntityLabels {
        self.entities.keys().cloned().collect()
    }

    /// The entity a text means: an id, one of its accounts, or `all`. Case,
    /// width and compatibility forms do not matter; look-alike letters do.
    pub fn meant(&self, text: &str) -> Meant {
        let wanted = name::normalise(text);
        if wanted == ALL {
            return Meant::All;
        }
        let names = || self.names();
        if let Some((_, id)) = names().find(|(name, _)| name::normalise(name) == wanted) {
            return Meant::Entity(id.clone());
        }
        let look = name::look(text);
        names()
            .find(|(name, _)| name::look(name) == look)
            .map_or(Meant::Unknown, |(_, id)| Meant::LooksLike(id.clone()))
    }

    /// Every name that means an entity.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &EntityId)> {
        self.entities.iter().flat_map(|(id, entity)| {
            let accounts = entity.profile_ids.iter().map(String::as_str);
            std::iter::once(id.as_str())
                .chain(accounts)
                .map(move |name| (name, id))
        })
    }

    /// Whether the data of these two may never meet, whoever of them says so.
    pub fn never_mix(&self, one: &EntityId, other: &EntityId) -> bool {
        let says = |from: &EntityId, to: &EntityId| {
            self.entities
                .get(from)
                .is_some_and(|entity| entity.never_mix_with.contains(to))
        };
        says(one, other) || says(other, one)
    }

    /// The first two of `labels` that may never meet.
    pub fn mixed<'l>(&self, labels: &'l EntityLabels) -> Option<(&'l EntityId, &'l EntityId)> {
        let all = labels.as_slice();
        all.iter().enumerate().find_map(|(index, one)| {
            all[index + 1..]
                .iter()
                .find(|other| self.never_mix(one, other))
                .map(|other| (one, other))
        })
    }

    /// What a client may see. A client named literally beats a pattern, and
    /// of patterns the one that says more of the name wins; so it is for each of
    /// the people of a client of several. Whoever comes by the Copilot webhook sees
    /// of what `copilot` may see only what their login may ask for, and health
    /// information never.
    pub fn clearance_of(&self, client: &ClientId) -> Cow<'_, ClientClearance> {
        let clearance = self
            .client_clearances
            .iter()
            .filter(|(pattern, _)| pattern.matches(client.family()))
            .max_by_key(|(pattern, _)| pattern.weight())
            .map_or(&self.default_client_clearance, |(_, clearance)| clearance);
        let login = client.acts_for().filter(|_| client.family() == COPILOT);
        let Some(login) = login else {
            return Cow::Borrowed(clearance);
        };
        let asked = self.github_login(login);
        Cow::Owned(ClientClearance {
            entities: asked.map_or_else(EntitySet::none, |asked| clearance.entities.meet(asked)),
            phi: false,
        })
    }

    /// Whose data may go to an address: what its clearance says, else that of
    /// its domain, else the entities whose mailbox or domain it is of.
    pub fn recipient(&self, address: &str) -> BTreeSet<EntityId> {
        let address = name::normalise(address);
        let Some((_, domain)) = address.rsplit_once('@') else {
            return BTreeSet::new();
        };
        let at_domain = format!("@{domain}");
        for key in [&address, &at_domain] {
            let cleared = self
                .recipient_clearances
                .iter()
                .find(|(named, _)| name::normalise(named) == *key);
            if let Some((_, entities)) = cleared {
                return entities.iter().cloned().collect();
            }
        }
        self.entities
            .iter()
            .filter(|(_, entity)| entity.owns(&address, domain))
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Whether an address stands on a list of `privilege_approved_lists`.
    pub fn is_on_list(&self, list: &str, address: &str) -> bool {
        let address = name::normalise(address);
        let domain = address.rsplit_once('@').map(|(_, domain)| domain);
        self.privilege_approved_lists.get(list).is_some_and(|list| {
            list.iter()
                .map(|entry| name::normalise(entry))
                .any(|entry| {
                    entry == address
                        || (entry.strip_prefix('@').is_some() && entry.strip_prefix('@') == domain)
                })
        })
    }

    /// Whose data a GitHub login may ask for. Logins have no case.
    pub fn github_login(&self, login: &str) -> Option<&EntitySet> {
        self.github_logins
            .iter()
            .find(|(named, _)| named.eq_ignore_ascii_case(login))
            .map(|(_, entities)| entities)
    }
}

// === impl Entity ===

impl Entity {
    fn owns(&self, address: &str, domain: &str) -> bool {
        let is = |written: &String, text: &str| name::normalise(written) == text;
        self.mailboxes.iter().any(|mailbox| is(mailbox, address))
            || self.email_domains.iter().any(|own| is(own, domain))
    }
}
