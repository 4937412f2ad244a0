//! A brief as callers read it.

use legation_desk::brief::Section;
use serde::Serialize;

use crate::desk::ALL;

/// A brief as callers read it.
#[derive(Serialize)]
pub(super) struct Shown {
    pub(super) generated_at: String,
    pub(super) timezone: String,
    pub(super) date: String,
    /// Whether any line is in a model's words.
    pub(super) composed_by: &'static str,
    /// Why no model put it into words, where one might have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model_note: Option<String>,
    pub(super) sections: Vec<ShownSection>,
}

#[derive(Serialize)]
pub(super) struct ShownSection {
    pub(super) entity: Option<String>,
    pub(super) name: String,
    pub(super) parts: Vec<ShownPart>,
}

#[derive(Serialize)]
pub(super) struct ShownPart {
    pub(super) part: &'static str,
    pub(super) title: &'static str,
    pub(super) lines: Vec<ShownLine>,
    pub(super) left_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<String>,
}

#[derive(Serialize)]
pub(super) struct ShownLine {
    pub(super) text: String,
    pub(super) entity: Option<String>,
    pub(super) source: String,
}

/// A section as callers read it.
pub(super) fn section(section: Section) -> ShownSection {
    let entity = (section.entity.as_str() != ALL).then(|| section.entity.to_string());
    let parts = section.parts.into_iter().map(|part| ShownPart {
        part: part.part.as_str(),
        title: part.part.title(),
        lines: part
            .lines
            .into_iter()
            .map(|line| ShownLine {
                text: line.text,
                entity: entity.clone(),
                source: line.source.to_string(),
            })
            .collect(),
        left_out: part.left_out,
        missing: part.missing,
    });
    ShownSection {
        parts: parts.collect(),
        name: section.name,
        entity,
    }
}
