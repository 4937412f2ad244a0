//! Whole results through a filter.
//!
//! A result says most things twice, as text for the model and as structure. Both are read by
//! somebody, so both are cleaned, string by string with the same function: a text that was the
//! JSON of the structure still is.

use std::borrow::Cow;
use std::sync::LazyLock;

use legation_wire::json::{Kind, Limits, Object, Place, Raw, Step};
use legation_wire::meta;
use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter};

use crate::hidden;
use crate::hosts::Hosts;
use crate::markdown;
use crate::secret::{Masked, SecretMasker};

/// The key of `_meta` that says what was masked: kinds and counts.
pub const MASKED: &str = "io.legation/masked";
/// The key of `_meta` that says that a rule turned masking off.
pub const MASKING_SKIPPED: &str = "io.legation/maskingSkipped";

/// What both keys begin with.
static OURS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("io.legation/mask"));

/// What a result may carry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Filter {
    /// Everything.
    None,
    /// No character that a person would not see.
    #[default]
    HiddenCharacters,
    /// That, and no image or link to other hosts than these.
    Markdown(Hosts),
}

/// A filter, and a masker unless a rule turned masking off.
#[derive(Debug, Clone, Copy)]
pub struct Cleaner<'a> {
    /// The filter.
    pub filter: &'a Filter,
    /// The masker; `None` where a rule turned masking off, which the result then says.
    pub masker: Option<&'a SecretMasker>,
}

/// A result that was cleaned.
#[derive(Debug, Clone)]
pub struct Cleaned {
    /// The result, `_meta` included; the same text as before where nothing had to change.
    pub result: Raw,
    /// What was masked in it.
    pub masked: Masked,
}

// === impl Filter ===

impl Filter {
    /// The text without what the filter takes out.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self {
            Self::None => Cow::Borrowed(text),
            Self::HiddenCharacters => hidden::strip(text),
            // Hidden characters first: they would keep markup from being seen.
            Self::Markdown(hosts) => match hidden::strip(text) {
                Cow::Borrowed(text) => markdown::clean(text, hosts),
                Cow::Owned(text) => Cow::Owned(markdown::clean(&text, hosts).into_owned()),
            },
        }
    }

    /// Whether a JSON text may hold anything for the filter: wrong only in one direction.
    fn may_change(&self, json: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::HiddenCharacters => {
                !json.is_ascii() || memchr(0x7f, json).is_some() || escapes_control(json)
            }
            Self::Markdown(_) => true,
        }
    }
}

/// Whether a JSON text has an escape that can stand for a control or another hidden character.
fn escapes_control(json: &[u8]) -> bool {
    let mut at = 0;
    while let Some(offset) = memchr(b'\\', &json[at..]) {
        match json.get(at + offset + 1) {
            Some(b'u' | b'b' | b'f' | b'r') => return true,
            _ => at = (at + offset + 2).min(json.len()),
        }
    }
    false
}

// === impl Cleaner ===

impl Cleaner<'_> {
    /// A text, cleaned.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str, masked: &mut Masked) -> Cow<'t, str> {
        self.named(None, text, masked)
    }

    fn named<'t>(&self, name: Option<&str>, text: &'t str, masked: &mut Masked) -> Cow<'t, str> {
        let filtered = self.filter.text(text);
        let Some(masker) = self.masker else {
            return filtered;
        };
        match filtered {
            Cow::Borrowed(text) => masker.mask_named(name, text, masked),
            Cow::Owned(text) => Cow::Owned(masker.mask_named(name, &text, masked).into_owned()),
        }
    }

    /// Every string of a value, cleaned; `None` when nothing changed. For what has no shape of
    /// its own: an error's `data`, a log message.
    #[must_use]
    pub fn value(&self, raw: &Raw, masked: &mut Masked) -> Option<Raw> {
        raw.map_strings(|path, place, text| {
            let name = match (place, path.steps().last()) {
                (Place::Value, Some(Step::Member(name))) => Some(&**name),
                _ => None,
            };
            match self.named(name, text, masked) {
                Cow::Owned(new) if new != text => Some(new),
                _ => None,
            }
        })
    }

    /// The result of a tool, a read, a prompt or a completion, cleaned. Pictures, sounds and
    /// other binary content stay as they are.
    #[must_use]
    pub fn result(&self, result: &Raw) -> Cleaned {
        let mut masked = Masked::default();
        let json = result.as_bytes();
        let forged = OURS.find(json).is_some();
        let look = self.filter.may_change(json)
            || self.masker.is_some_and(|masker| masker.may_hold(json))
            || escapes_by_number(json);
        let untouched = || Cleaned {
            result: result.clone(),
            masked: Masked::default(),
        };
        // Most results are not taken apart at all.
        if !look && !forged && self.masker.is_some() {
            return untouched();
        }
        let Some(mut object) = result.to_object() else {
            return untouched();
        };
        let mut changed = look && self.members(&mut object, &mut masked);
        if forged {
            // Only the hub says what it did.
            meta::retain(&mut object, |key| key != MASKED && key != MASKING_SKIPPED);
            changed = true;
        }
        if !masked.is_empty() {
            let counts = masked.iter();
            let counts: Object = counts
                .map(|(kind, count)| (kind, Raw::int(i64::try_from(count).unwrap_or(i64::MAX))))
                .collect();
            meta::set(&mut object, MASKED, counts.to_raw());
        }
        if self.masker.is_none() {
            meta::set(&mut object, MASKING_SKIPPED, Raw::bool(true));
            changed = true;
        }
        let result = if changed || !masked.is_empty() {
            object.to_raw()
        } else {
            result.clone()
        };
        Cleaned { result, masked }
    }

    fn members(&self, object: &mut Object, masked: &mut Masked) -> bool {
        let mut changed = false;
        let structure = object.get("structuredContent").cloned();
        let members: Vec<(String, Raw)> = object
            .iter()
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
        for (name, value) in members {
            let new = match name.as_str() {
                "content" => self.blocks(&value, structure.as_ref(), masked),
                "contents" => each(&value, |raw| self.without(raw, "blob", masked)),
                "messages" => each(&value, |message| self.message(message, masked)),
                // The words of the protocol, and the mark that a sealed state carries.
                "resultType" | "requestState" | "nextCursor" => None,
                _ => self.value(&value, masked),
            };
            if let Some(new) = new {
                object.set(&name, new);
                changed = true;
            }
        }
        changed
    }

    /// A message of a prompt: its content is one block or several.
    fn message(&self, message: &Raw, masked: &mut Masked) -> Option<Raw> {
        let mut object = message.to_object()?;
        let content = object.get("content")?.clone();
        let new = match content.kind() {
            Kind::Array => self.blocks(&content, None, masked)?,
            _ => self.block(&content, None, masked)?,
        };
        object.set("content", new);
        Some(object.to_raw())
    }

    fn blocks(&self, blocks: &Raw, structure: Option<&Raw>, masked: &mut Masked) -> Option<Raw> {
        if blocks.kind() != Kind::Array {
            return self.value(blocks, masked);
        }
        each(blocks, |block| self.block(block, structure, masked))
    }

    fn block(&self, block: &Raw, structure: Option<&Raw>, masked: &mut Masked) -> Option<Raw> {
        let kind = block.get("type");
        match kind.as_ref().and_then(Raw::to_str).as_deref() {
            Some("image" | "audio") => self.without(block, "data", masked),
            Some("resource") => {
                let mut object = block.to_object()?;
                let resource = object.get("resource")?.clone();
                let new = self.without(&resource, "blob", masked)?;
                object.set("resource", new);
                Some(object.to_raw())
            }
            Some("resource_link") => self.link(block, masked),
            Some("text") => match structure.and_then(|structure| same(block, structure)) {
                Some(json) => {
                    // Counted with the structure.
                    let new = self.value(&json, &mut Masked::default())?;
                    let mut object = block.to_object()?;
                    object.set("text", Raw::str(new.as_text()));
                    Some(object.to_raw())
                }
                None => self.text_block(block, masked),
            },
            _ => self.value(block, masked),
        }
    }

    /// A text. Where it is JSON, a reader shows its strings one by one, so each is Markdown of its own;
    /// the whole is cleaned too, because another reader shows that.
    fn text_block(&self, block: &Raw, masked: &mut Masked) -> Option<Raw> {
        let inner = matches!(self.filter, Filter::Markdown(_))
            .then(|| json_of(block))
            .flatten()
            .and_then(|json| self.value(&json, masked));
        let Some(inner) = inner else {
            return self.value(block, masked);
        };
        let mut object = block.to_object()?;
        object.set("text", Raw::str(inner.as_text()));
        let cleaned = object.to_raw();
        self.value(&cleaned, masked).or(Some(cleaned))
    }

    /// A link to a resource on the web is a link like any other.
    fn link(&self, block: &Raw, masked: &mut Masked) -> Option<Raw> {
        if let Filter::Markdown(hosts) = self.filter {
            let uri = block
                .get("uri")
                .and_then(|uri| uri.to_str().map(Cow::into_owned));
            let uri = uri.unwrap_or_default();
            let lower = uri.trim_start().to_ascii_lowercase();
            let schemes = ["http:", "https:", "javascript:", "data:", "vbscript:", "//"];
            if schemes.iter().any(|scheme| lower.starts_with(scheme)) && !hosts.allow(&uri) {
                let text = Object::new()
                    .with("type", Raw::str("text"))
                    .with("text", Raw::str(markdown::LINK_GONE));
                return Some(text.to_raw());
            }
        }
        self.value(block, masked)
    }

    /// Every member but a binary one.
    fn without(&self, raw: &Raw, binary: &str, masked: &mut Masked) -> Option<Raw> {
        let Some(mut object) = raw.to_object() else {
            return self.value(raw, masked);
        };
        let kept = object.get(binary).cloned();
        if kept.is_some() {
            object.set(binary, Raw::null());
        }
        let new = self.value(&object.to_raw(), masked)?;
        let Some(kept) = kept else { return Some(new) };
        let mut object = new.to_object()?;
        object.set(binary, kept);
        Some(object.to_raw())
    }
}

/// The JSON in a block's text, if it is an object or an array.
fn json_of(block: &Raw) -> Option<Raw> {
    let text = block.get("text")?.to_str()?.into_owned();
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    Raw::parse(text.into(), &Limits::UPSTREAM).ok()
}

/// The JSON in a block's text, if it is what the structure says: both without white space.
fn same(block: &Raw, structure: &Raw) -> Option<Raw> {
    let text = block.get("text")?.to_str()?.into_owned();
    let json = Raw::parse(text.into(), &Limits::UPSTREAM).ok()?;
    let value = |raw: &Raw| raw.deserialize::<serde_json::Value>().ok();
    (value(&json)? == value(structure)?).then_some(json)
}

/// An array with other elements where `change` gives one.
fn each(array: &Raw, mut change: impl FnMut(&Raw) -> Option<Raw>) -> Option<Raw> {
    let mut items = array.to_array()?;
    let mut changed = false;
    for item in &mut items {
        if let Some(new) = change(item) {
            *item = new;
            changed = true;
        }
    }
    changed.then(|| Raw::array(&items))
}

/// Whether a JSON text has a character written as a number, behind which a word may hide.
pub(crate) fn escapes_by_number(json: &[u8]) -> bool {
    let mut slashes = memchr_iter(b'\\', json);
    slashes.any(|at| json.get(at + 1) == Some(&b'u'))
}
