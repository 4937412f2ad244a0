//! Definitions that were made to harm, and such as were not. Both are written
//! for this test; what they have in common with published attacks is their kind.

use legation_wire::json::Raw;

use crate::inspect::inspect;

const POISONED: &str = include_str!("poisoned.txt");
const BENIGN: &str = include_str!("benign.txt");

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(unescaped).collect()
}

/// `\u{…}` stands for a character nobody could see in the file.
fn unescaped(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("\\u{") {
        out.push_str(&rest[..at]);
        let (code, after) = rest[at + 3..].split_once('}').unwrap();
        out.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        rest = after;
    }
    out.push_str(rest);
    out
}

fn definition(description: &str) -> Raw {
    Raw::from_serialize(&serde_json::json!({
        "name": "tool",
        "description": description,
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    }))
}

#[test]
fn poison_is_found_and_plain_speech_is_not_taken_for_it() {
    let (poisoned, benign) = (lines(POISONED), lines(BENIGN));
    assert!(poisoned.len() >= 60 && benign.len() >= 100);
    let hard = |text: &&String| {
        inspect(&definition(text))
            .iter()
            .any(|finding| finding.hard)
    };
    let missed: Vec<_> = poisoned.iter().filter(|text| !hard(text)).collect();
    let wrong: Vec<_> = benign.iter().filter(hard).collect();
    let found = poisoned.len() - missed.len();
    let told = format!(
        "found {found} of {}, missed: {missed:#?}; took {} of {} for it: {wrong:#?}",
        poisoned.len(),
        wrong.len(),
        benign.len()
    );
    assert!(found * 10 >= poisoned.len() * 9, "{told}");
    assert!(wrong.len() * 20 <= benign.len(), "{told}");
}
