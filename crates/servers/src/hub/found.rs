//! What `find_tools` is asked, and what it answers.

use std::collections::{BTreeMap, HashMap};

use legation_core::ServerName;
use legation_find::{Direction, Hit, fused, nearest};
use legation_gate::Entry;
use legation_wire::json::{Object, Raw};
use serde::Serialize;

use super::finder::{Made, Seen};

/// Most tools that one search returns.
const FOUND_MAX: usize = 50;
const FOUND: usize = 10;
/// Most skills and servers beside them, and most names of tools of one and of those that read like one.
const SKILLS: usize = 5;
const SERVERS: usize = 3;
const NAMES: usize = 30;
/// Longest summary of a tool and of a server's instructions, in bytes.
const SUMMARY_MAX: usize = 200;
const ABOUT_MAX: usize = 600;

/// A search as it was asked for.
#[derive(Debug)]
pub(super) struct Wish {
    query: Option<String>,
    server: Option<String>,
    limit: usize,
    whole: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Found {
    tools: Vec<Raw>,
    /// Under the name of a tool those of other servers that read the same, which are not shown on their own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    also: BTreeMap<String, Vec<String>>,
    /// Instructions of servers for what was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skills: Vec<Skill>,
    /// Servers that say of themselves what was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<About>,
    /// How many more tools match than are named here.
    more: usize,
}

/// A tool in few words.
#[derive(Debug, Serialize)]
struct Short<'a> {
    name: String,
    server: &'a ServerName,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    summary: String,
    /// `path: string, head?: number`.
    #[serde(skip_serializing_if = "String::is_empty")]
    arguments: String,
}

/// A skill in few words.
#[derive(Debug, Serialize)]
struct Skill {
    kind: &'static str,
    name: String,
    server: ServerName,
    uri: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    summary: String,
    /// How to have it.
    read: &'static str,
    /// Its entry, with all of its files.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<Raw>,
}

/// A server in few words.
#[derive(Debug, Serialize)]
struct About {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// Names of its tools, as they are called.
    tools: Vec<String>,
    /// How many more it has.
    more: usize,
}

// === impl Wish ===

impl Wish {
    /// What is looked for.
    pub(super) fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// What the arguments of a call ask for.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn read(arguments: &Object) -> Result<Self, &'static str> {
        let text = |key: &str| match arguments.get(key) {
            None => Ok(None),
            Some(raw) => match raw.to_str().filter(|text| !text.trim().is_empty()) {
                Some(text) => Ok(Some(text.trim().to_owned())),
                None => Err(()),
            },
        };
        let query = text("query")
            .map_err(|()| "`query` must be a text with a word in it; nothing was searched")?;
        let server = text("server")
            .map_err(|()| "`server` must be the name of a server; nothing was searched")?;
        if query.is_none() && server.is_none() {
            return Err("`query` must be a text, or `server` a name; nothing was searched");
        }
        let limit = match arguments.get("limit") {
            None => FOUND,
            Some(raw) => match raw.to_i64().and_then(|limit| usize::try_from(limit).ok()) {
                Some(limit @ 1..=FOUND_MAX) => limit,
                _ => return Err("`limit` must be a number from 1 to 50; nothing was searched"),
            },
        };
        let whole = match arguments.get("detail").map(Raw::to_str) {
            None => false,
            Some(Some(detail)) if detail == "summary" => false,
            Some(Some(detail)) if detail == "whole" => true,
            Some(_) => return Err("`detail` must be `summary` or `whole`; nothing was searched"),
        };
        Ok(Self {
            query,
            server,
            limit,
            whole,
        })
    }
}

// === impl Found ===

impl Found {
    /// Searches an index.
    ///
    /// # Errors
    /// The server that was named is none that the caller sees.
    pub(super) fn search(
        made: &Made,
        wish: &Wish,
        meant: Option<&Direction>,
    ) -> Result<Self, String> {
        let entries = &made.sight.tools.entries;
        let of_server = |entry: &Entry| {
            let mut names = wish.server.iter();
            names.all(|name| entry.server.as_str() == name)
        };
        if let Some(name) = &wish.server
            && !entries.iter().any(of_server)
            && !made.sight.skills.entries.iter().any(of_server)
        {
            return Err(format!(
                "there is no server {name:?} with a tool or skill for you; hub-servers lists the servers there are; nothing was searched"
            ));
        }
        let places: Vec<usize> = match &wish.query {
            Some(query) => {
                let vectors = made.vectors.get().map(|vectors| &*vectors.tools);
                let hits = joined(made.tools.search(query), vectors, meant);
                let places = hits.into_iter().map(|hit| hit.at);
                places.filter(|at| of_server(&entries[*at])).collect()
            }
            None => (0..entries.len())
                .filter(|at| of_server(&entries[*at]))
                .collect(),
        };
        let shown = one_of_each(made, &places);
        let shown = &shown[..shown.len().min(wish.limit)];
        let tools = shown.iter().map(|alike| match wish.whole {
            true => entries[alike[0]].raw.clone(),
            false => short(&entries[alike[0]]),
        });
        let also = shown.iter().filter(|alike| alike.len() > 1).map(|alike| {
            let others = alike[1..].iter().take(NAMES);
            let others = others.map(|at| name(&entries[*at]));
            (name(&entries[alike[0]]), others.collect())
        });
        let named = shown.iter().map(|alike| alike.len().min(1 + NAMES)).sum();
        Ok(Self {
            tools: tools.collect(),
            also: also.collect(),
            skills: skills(made, wish, meant),
            servers: servers(made, wish),
            more: places.len().saturating_sub(named),
        })
    }
}

/// Tools in their order, those that read the same together where the best of them is: several servers of one kind
/// would leave no place for anything else.
fn one_of_each(made: &Made, places: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_first: HashMap<usize, usize> = HashMap::new();
    for at in places {
        let group = *of_first.entry(made.first_alike[*at]).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(*at);
    }
    groups
}

/// What was found by words, with what is near in meaning.
fn joined(
    words: Vec<Hit>,
    vectors: Option<&[Option<Direction>]>,
    meant: Option<&Direction>,
) -> Vec<Hit> {
    match (vectors, meant) {
        (Some(vectors), Some(meant)) => fused(&words, &nearest(vectors, meant)),
        _ => words,
    }
}

/// The skills that fit best, or those of the server that was named.
fn skills(made: &Made, wish: &Wish, meant: Option<&Direction>) -> Vec<Skill> {
    let entries = &made.sight.skills.entries;
    let of_server = |at: &usize| {
        let mut names = wish.server.iter();
        names.all(|name| entries[*at].server.as_str() == name)
    };
    let places: Vec<usize> = match &wish.query {
        Some(query) => {
            let vectors = made.vectors.get().map(|vectors| &*vectors.skills);
            let hits = joined(made.skills.search(query), vectors, meant);
            hits.into_iter().map(|hit| hit.at).collect()
        }
        None => (0..entries.len()).collect(),
    };
    let shown = places.into_iter().filter(of_server).take(SKILLS);
    shown.map(|at| skill(&entries[at], wish.whole)).collect()
}

fn skill(entry: &Entry, whole: bool) -> Skill {
    let frontmatter = entry.raw.get("frontmatter");
    let text = |key: &str| {
        let text = frontmatter.as_ref().and_then(|raw| raw.get(key));
        text.as_ref()
            .and_then(Raw::to_str)
            .map(|text| text.into_owned())
    };
    Skill {
        kind: "skill",
        name: text("name").unwrap_or_default(),
        server: entry.server.clone(),
        uri: entry.item.to_string(),
        summary: text("description").map_or_else(String::new, |text| summary(&text)),
        read: "resources/read of `uri`; skills/get of it lists its files",
        entry: whole.then(|| entry.raw.clone()),
    }
}

/// The servers that were named, or whose own words fit best.
fn servers(made: &Made, wish: &Wish) -> Vec<About> {
    let named = |server: &&Seen| {
        let mut names = wish.server.iter();
        names.all(|name| server.text.name == *name)
    };
    let all: Vec<&Seen> = match &wish.query {
        None => made.servers.iter().collect(),
        Some(query) => {
            let hits = made.about.search(query).into_iter();
            // One that says nothing of itself is found by its tools.
            hits.map(|hit| &made.servers[hit.at])
                .filter(|server| server.text.instructions.is_some())
                .collect()
        }
    };
    let shown = all.into_iter().filter(named).take(SERVERS);
    shown
        .map(|server| {
            let text = server.text.instructions.as_deref();
            let names = server.tools.iter().take(NAMES);
            About {
                name: server.text.name.clone(),
                instructions: text.map(|text| match wish.whole {
                    true => text.to_owned(),
                    false => cut(text, ABOUT_MAX),
                }),
                tools: names
                    .map(|at| name(&made.sight.tools.entries[*at]))
                    .collect(),
                more: server.tools.len().saturating_sub(NAMES),
            }
        })
        .collect()
}

/// The name a tool is called by.
fn name(entry: &Entry) -> String {
    let name = entry.raw.get("name");
    let name = name.as_ref().and_then(Raw::to_str);
    name.map_or_else(|| entry.item.to_string(), |name| name.into_owned())
}

fn short(entry: &Entry) -> Raw {
    let definition = entry.raw.to_object().unwrap_or_default();
    let text = |key: &str| definition.get(key).and_then(Raw::to_str);
    Raw::from_serialize(&Short {
        name: name(entry),
        server: &entry.server,
        title: text("title").map(|title| title.into_owned()),
        summary: text("description").map_or_else(String::new, |text| summary(&text)),
        arguments: signature(&definition),
    })
}

/// The first sentence of a description.
fn summary(description: &str) -> String {
    let text = description.trim();
    let line = text.lines().next().unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |at| at + 1);
    cut(&line[..end], SUMMARY_MAX)
}

/// What a tool takes, in one line; the whole schema is a matter of `detail`.
fn signature(definition: &Object) -> String {
    let Some(schema) = definition.get("inputSchema").and_then(Raw::to_object) else {
        return String::new();
    };
    let required: Vec<String> = schema
        .get("required")
        .and_then(Raw::to_array)
        .unwrap_or_default()
        .iter()
        .filter_map(|name| Some(name.to_str()?.into_owned()))
        .collect();
    let properties = schema.get("properties").and_then(Raw::to_object);
    let properties = properties.unwrap_or_default();
    let arguments: Vec<String> = properties
        .iter()
        .map(|(name, schema)| {
            let mark = match required.iter().any(|required| required == name) {
                true => "",
                false => "?",
            };
            let kind = schema.get("type");
            let kind = kind.as_ref().and_then(Raw::to_str);
            let kind = kind.as_deref().unwrap_or("any");
            format!("{name}{mark}: {kind}")
        })
        .collect();
    arguments.join(", ")
}

fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
