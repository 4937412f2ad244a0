//! `brief_config.json`, `urgency_rules.json`, `draft_style.json` and `para_rules.json`.

use std::collections::BTreeSet;

use super::{Around, Findings, check, is_rule_id};
use crate::governance::{
    Brief, BriefConfig, DraftStyle, Loaded, ParaRules, Problem, Sources, UrgencyRules, file,
};

/// The longest a brief's part may be, in lines.
const LINES_MAX: u32 = 100;
/// The farthest ahead that deadlines are looked for, in days.
const DAYS_MAX: u32 = 366;
/// What a path may be made of.
const PATH_PARTS: [&str; 4] = ["{entity}", "{para_category}", "{topic}", "{document_type}"];

/// The files that govern the desk.
pub(super) struct Files<'g> {
    pub(super) brief: &'g mut Loaded<BriefConfig>,
    pub(super) urgency: &'g mut Loaded<UrgencyRules>,
    pub(super) style: &'g mut Loaded<DraftStyle>,
    pub(super) para: &'g mut Loaded<ParaRules>,
}

pub(super) fn run(
    files: Files<'_>,
    sources: &Sources,
    around: &Around<'_>,
    problems: &mut Vec<Problem>,
) {
    let (name, text) = (file::BRIEF, &sources.brief);
    check(files.brief, name, text, problems, |all, found| {
        brief(all, around, found);
    });
    let (name, text) = (file::URGENCY, &sources.urgency);
    check(files.urgency, name, text, problems, |all, found| {
        urgency(all, around, found);
    });
    let (name, text) = (file::DRAFT_STYLE, &sources.draft_style);
    check(files.style, name, text, problems, |all, found| {
        style(all, around, found);
    });
    let (name, text) = (file::PARA, &sources.para);
    check(files.para, name, text, problems, |all, found| {
        para(all, around, found);
    });
}

fn brief(all: &BriefConfig, around: &Around<'_>, found: &mut Findings<'_>) {
    around.entities(all.entities.keys(), &["entities"], found);
    around.entities(&all.personal_entities, &["personal_entities"], found);
    for (name, one) in [("morning", &all.morning), ("evening", &all.evening)] {
        one_brief(one, name, found);
    }
}

fn one_brief(one: &Brief, name: &str, found: &mut Findings<'_>) {
    if one.must_include.is_empty() {
        found.refuse(
            &[name, "must_include"],
            "a brief of nothing says nothing",
            "Name the parts that stand in it.",
        );
    }
    let parts: BTreeSet<_> = one.must_include.iter().collect();
    if parts.len() != one.must_include.len() {
        found.refuse(
            &[name, "must_include"],
            "a part stands in it twice",
            "Name each part once.",
        );
    }
    if !(1..=LINES_MAX).contains(&one.lines_per_part) {
        found.refuse(
            &[name, "lines_per_part"],
            format!("a part has from 1 to {LINES_MAX} lines"),
            "Write a number of that range.",
        );
    }
    if one.deadline_days > DAYS_MAX {
        found.refuse(
            &[name, "deadline_days"],
            format!("deadlines are looked for at most {DAYS_MAX} days ahead"),
            "Write a smaller number.",
        );
    }
    if one
        .delivery_time
        .as_deref()
        .is_some_and(|time| !is_time(time))
    {
        found.refuse(
            &[name, "delivery_time"],
            "this is no time of day",
            "Write it as 07:30.",
        );
    }
}

fn is_time(text: &str) -> bool {
    let number = |text: &str, below: u32| {
        text.len() == 2
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && text.parse::<u32>().is_ok_and(|number| number < below)
    };
    text.split_once(':')
        .is_some_and(|(hour, minute)| number(hour, 24) && number(minute, 60))
}

fn urgency(all: &UrgencyRules, around: &Around<'_>, found: &mut Findings<'_>) {
    share(all.confidence_threshold, &["confidence_threshold"], found);
    for name in all.categories.keys().filter(|name| !is_word(name)) {
        found.refuse(
            &["categories", name],
            format!("{name:?} is no name for a category"),
            "Use lower-case letters, digits, `-` and `_`.",
        );
    }
    let mut ids = BTreeSet::new();
    for (index, signal) in all.signals.iter().enumerate() {
        let index = index.to_string();
        let at = ["signals", index.as_str()];
        name_of_its_own(&signal.id, &mut ids, at, found);
        share(signal.confidence, &[at[0], at[1], "confidence"], found);
        around.entities(&signal.entities, &[at[0], at[1], "entities"], found);
        let category = signal.category.as_ref();
        if category.is_some_and(|category| !all.categories.contains_key(category)) {
            found.refuse(
                &[at[0], at[1], "category"],
                "there is no such category",
                "Correct the name, or add it to `categories`.",
            );
        }
        let names_nothing = signal.keywords.iter().all(|word| word.trim().is_empty())
            && signal.patterns.is_empty()
            && signal.senders.is_empty()
            && signal.threshold_usd.is_none();
        if names_nothing {
            found.refuse(
                &at,
                "the signal names nothing and would find everything",
                "Name words, patterns, senders or a sum.",
            );
        }
    }
}

fn style(all: &DraftStyle, around: &Around<'_>, found: &mut Findings<'_>) {
    around.entities(all.signatures.keys(), &["signatures"], found);
    for (place, text) in [
        ("reply_template", &all.reply_template),
        ("greeting", &all.greeting),
        ("signature", &all.signature),
    ] {
        if let Some(word) = all.avoided(text) {
            found.refuse(
                &[place],
                format!("it holds {word:?}, which no draft may hold"),
                "Write it otherwise, or take the word off the list.",
            );
        }
    }
    if all.max_length == 0 {
        found.refuse(
            &["max_length"],
            "a draft without a letter is none",
            "Write a number of characters.",
        );
    }
}

fn para(all: &ParaRules, around: &Around<'_>, found: &mut Findings<'_>) {
    let mut rest = all.folder_template.clone();
    for part in PATH_PARTS {
        rest = rest.replace(part, "");
    }
    if !all.folder_template.starts_with('/') || rest.contains(['{', '}']) {
        found.refuse(
            &["folder_template"],
            "this is no path of the parts there are",
            "Begin it with `/` and use {entity}, {para_category}, {topic} and {document_type}.",
        );
    }
    let mut ids = BTreeSet::new();
    for (index, rule) in all.rules.iter().enumerate() {
        let index = index.to_string();
        let at = ["rules", index.as_str()];
        name_of_its_own(&rule.id, &mut ids, at, found);
        around.entities(&rule.entities, &[at[0], at[1], "entities"], found);
        let names_nothing = rule.keywords.iter().all(|word| word.trim().is_empty())
            && rule.senders.is_empty()
            && rule.categories.is_empty()
            && !rule.with_deal;
        if names_nothing {
            found.refuse(
                &at,
                "the rule names nothing and would file everything",
                "Name words, senders, categories, or `with_deal`.",
            );
        }
    }
}

fn name_of_its_own<'i>(
    id: &'i str,
    ids: &mut BTreeSet<&'i str>,
    at: [&str; 2],
    found: &mut Findings<'_>,
) {
    if !is_rule_id(id) || !ids.insert(id) {
        found.refuse(
            &[at[0], at[1], "id"],
            format!("{id:?} is no name of its own"),
            "Use letters, digits, `.`, `-` and `_`, and each name once.",
        );
    }
}

fn share(number: f64, place: &[&str], found: &mut Findings<'_>) {
    if !(0.0..=1.0).contains(&number) {
        found.refuse(
            place,
            "this is not between 0 and 1",
            "Write a number from 0 to 1.",
        );
    }
}

fn is_word(text: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}
