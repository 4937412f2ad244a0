//! What a skill's entry must be for anybody to use it (SEP-2640, skill entries).
//!
//! An entry says which files belong to a skill, and programs give what is in them to models. One that
//! names files elsewhere, or another skill than its address, is therefore left out, and with it nothing
//! else. Digests are not compared with contents here: who loads a skill has to, because anybody on the
//! way could have changed both.

use legation_wire::json::{Object, Raw};

/// What every skill's address ends with.
const FILE: &str = "/SKILL.md";
/// Stands for the files of a skill that is made when it is read.
const DYNAMIC: &str = "dynamic";

/// An entry that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadSkill {
    #[error("its address is another than was asked for, or does not end in a name and /SKILL.md")]
    Address,
    #[error("its frontmatter has no name and description, or another name than its address")]
    Frontmatter,
    #[error("its resources are neither a list of files nor \"dynamic\"")]
    Resources,
    #[error("its own SKILL.md is not among its files")]
    NotWhole,
    #[error("a file of it is outside of its folder")]
    Outside,
}

/// Looks at an entry that should be of the skill at `uri`.
pub(crate) fn check(uri: &str, entry: &Object) -> Result<(), BadSkill> {
    let is_there = entry.get("uri").and_then(Raw::to_str).as_deref() == Some(uri);
    let root = root(uri).filter(|_| is_there).ok_or(BadSkill::Address)?;
    let name = root.rsplit('/').next().filter(|name| !name.is_empty());
    let name = name.ok_or(BadSkill::Address)?;
    let frontmatter = entry.get("frontmatter");
    let member = |key: &str| frontmatter.and_then(|raw| raw.get(key));
    let is_named = member("name").as_ref().and_then(Raw::to_str).as_deref() == Some(name);
    let is_described = member("description").is_some_and(|text| text.to_str().is_some());
    if !is_named || !is_described {
        return Err(BadSkill::Frontmatter);
    }
    let files = entry.get("resources").ok_or(BadSkill::Resources)?;
    let Some(listed) = files.to_array() else {
        let dynamic = files.to_str().as_deref() == Some(DYNAMIC);
        return dynamic.then_some(()).ok_or(BadSkill::Resources);
    };
    let mut has_itself = false;
    for file in &listed {
        let file = file.get("uri");
        let file = file.as_ref().and_then(Raw::to_str);
        let file = file.ok_or(BadSkill::Resources)?;
        if !contains(uri, &file) || *file == *root {
            return Err(BadSkill::Outside);
        }
        has_itself |= *file == *uri;
    }
    has_itself.then_some(()).ok_or(BadSkill::NotWhole)
}

/// Whether an address is that of a skill's folder, or leads into it and not out again.
pub(crate) fn contains(skill: &str, uri: &str) -> bool {
    let Some(rest) = root(skill).and_then(|root| uri.strip_prefix(root)) else {
        return false;
    };
    if rest.is_empty() {
        return true;
    }
    let Some(path) = rest.strip_prefix('/') else {
        return false;
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    !path.split('/').any(is_dots)
}

/// Whether two entries say the same of a skill. What else is around it may differ from answer to answer.
pub(crate) fn same(listed: &Raw, got: &Raw) -> bool {
    let value = |raw: &Raw, key: &str| {
        let member = raw.get(key)?;
        serde_json::from_str::<serde_json::Value>(member.as_text()).ok()
    };
    ["uri", "frontmatter", "resources"]
        .into_iter()
        .all(|key| value(listed, key) == value(got, key))
}

/// The folder of a skill.
fn root(uri: &str) -> Option<&str> {
    uri.strip_suffix(FILE)
        .filter(|root| !root.contains(['?', '#']))
}

/// A segment that stands for the folder itself or the one above, in any spelling.
fn is_dots(segment: &str) -> bool {
    let plain = segment.replace("%2e", ".").replace("%2E", ".");
    // A divider in disguise could hide such a segment.
    let hidden = plain.contains("%2f") || plain.contains("%2F") || plain.contains('\\');
    hidden || plain == "." || plain == ".."
}

#[cfg(test)]
mod tests {
    use legation_wire::json::Limits;

    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse(text.to_owned().into(), &Limits::UPSTREAM).expect("JSON")
    }

    fn judged(uri: &str, name: &str, resources: &str) -> Result<(), BadSkill> {
        let text = format!(
            r#"{{"uri":"{uri}","frontmatter":{{"name":"{name}","description":"d"}},"resources":{resources}}}"#
        );
        check(uri, &raw(&text).to_object().expect("an object"))
    }

    #[test]
    fn entries_are_of_their_own_folder_and_name() {
        let uri = "skill://acme/refunds/SKILL.md";
        let files =
            |more: &str| format!(r#"[{{"uri":"{uri}","digest":"d","size":1}},{{"uri":"{more}"}}]"#);
        let inside = "skill://acme/refunds/a/b.md";
        assert_eq!(judged(uri, "refunds", &files(inside)), Ok(()));
        assert_eq!(judged(uri, "refunds", r#""dynamic""#), Ok(()));
        for outside in [
            "skill://acme/other/a.md",
            "skill://acme/refunds-more/a.md",
            "skill://acme/refunds/../other/a.md",
            "skill://acme/refunds/%2E./other/a.md",
            "skill://acme/refunds/..%2fother/a.md",
            "file:///etc/passwd",
            "skill://acme/refunds",
        ] {
            let found = judged(uri, "refunds", &files(outside));
            assert_eq!(found, Err(BadSkill::Outside), "{outside}");
        }
        assert_eq!(judged(uri, "refunds", "[]"), Err(BadSkill::NotWhole));
        for resources in ["null", r#""none""#, "{}", "[1]"] {
            let found = judged(uri, "refunds", resources);
            assert_eq!(found, Err(BadSkill::Resources), "{resources}");
        }
        assert_eq!(
            judged(uri, "repayments", r#""dynamic""#),
            Err(BadSkill::Frontmatter)
        );
        for uri in [
            "skill://x",
            "SKILL.md",
            "skill://a/b.md",
            "skill://a/SKILL.md?x=/SKILL.md",
        ] {
            assert_eq!(
                judged(uri, "a", r#""dynamic""#),
                Err(BadSkill::Address),
                "{uri}"
            );
        }
    }

    #[test]
    fn what_is_around_an_entry_does_not_make_it_another() {
        let listed = raw(r#"{"uri":"u","frontmatter":{"name":"n","x":1},"resources":"dynamic"}"#);
        let again = raw(
            r#"{"resources":"dynamic","_meta":{"a":1},"frontmatter":{"x":1,"name":"n"},"uri":"u"}"#,
        );
        let other = raw(r#"{"uri":"u","frontmatter":{"name":"n","x":2},"resources":"dynamic"}"#);
        assert!(same(&listed, &again));
        assert!(!same(&listed, &other));
    }
}
