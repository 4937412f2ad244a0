use legation_core::Secret;
use legation_wire::json::{Limits, Raw};
use serde_json::{Value, json};

use crate::{Cleaner, Filter, FilterMapping, Hosts, SecretMasker, spill};

fn raw(value: &Value) -> Raw {
    Raw::parse(value.to_string().into(), &Limits::CLIENT).unwrap()
}

fn clean(filter: &Filter, masker: Option<&SecretMasker>, value: &Value) -> Value {
    let cleaned = Cleaner { filter, masker }.result(&raw(value));
    serde_json::from_str(cleaned.result.as_text()).unwrap()
}

#[test]
fn a_clean_result_stays_byte_for_byte() {
    let text =
        r#"{ "content" : [ {"type":"text","text":"5 of 6\n"} ],"structuredContent":{"n":1.0} }"#;
    let result = Raw::parse(text.into(), &Limits::CLIENT).unwrap();
    let masker = SecretMasker::default();
    let cleaned = Cleaner {
        filter: &Filter::HiddenCharacters,
        masker: Some(&masker),
    }
    .result(&result);
    assert_eq!(cleaned.result, result);
    assert!(cleaned.masked.is_empty());
}

#[test]
fn structure_and_text_stay_equal() {
    let masker = SecretMasker::new(&[Secret::new("the-hubs-own-token")]);
    let structure = json!({"a\u{200b}": "x\u{e0061}y", "password": "hunter2Hunter3", "t": "the-hubs-own-token", "l": [" \u{202e}"]});
    let value = json!({
        "content": [{"type": "text", "text": serde_json::to_string_pretty(&structure).unwrap()}],
        "structuredContent": structure,
    });
    let out = clean(&Filter::HiddenCharacters, Some(&masker), &value);
    let text: Value = serde_json::from_str(out["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, out["structuredContent"]);
    assert_eq!(
        text,
        json!({"a": "xy", "password": "[masked: named-secret]", "t": "[masked: own-secret]", "l": [" "]})
    );
    assert_eq!(
        out["_meta"]["io.legation/masked"],
        json!({"named-secret": 1, "own-secret": 1})
    );
}

#[test]
fn binary_content_stays_and_everything_else_is_cleaned() {
    let masker = SecretMasker::default();
    let key = "AKIAZ7QX2M5N4PRTUVWY";
    let value = json!({
        "content": [
            {"type": "image", "data": key, "mimeType": "image/png", "_meta": {"k": key}},
            {"type": "resource", "resource": {"uri": "a://b", "blob": key}},
            {"type": "resource", "resource": {"uri": "a://c", "text": key}},
        ],
        "_meta": {"io.legation/masked": {"forged": 9}},
    });
    let out = clean(&Filter::None, Some(&masker), &value);
    assert_eq!(out["content"][0]["data"], key);
    assert_eq!(out["content"][0]["_meta"]["k"], "[masked: aws-access-key]");
    assert_eq!(out["content"][1]["resource"]["blob"], key);
    assert_eq!(
        out["content"][2]["resource"]["text"],
        "[masked: aws-access-key]"
    );
    assert_eq!(
        out["_meta"],
        json!({"io.legation/masked": {"aws-access-key": 2}})
    );
}

#[test]
fn reads_and_prompts_are_cleaned_too() {
    let filter = Filter::Markdown(Hosts::default());
    let evil = "![x](https://evil.example/a)\u{200b}";
    let value = json!({
        "contents": [{"uri": "a://b", "text": evil}],
        "messages": [{"role": "user", "content": {"type": "text", "text": evil}}],
        "completion": {"values": [evil]},
        "content": [{"type": "resource_link", "uri": "https://evil.example/x", "name": "x"}],
    });
    let out = clean(&filter, Some(&SecretMasker::default()), &value);
    assert!(!out.to_string().contains("evil"), "{out}");
    assert!(!out.to_string().contains('\u{200b}'), "{out}");
}

#[test]
fn a_result_says_that_masking_was_skipped() {
    let out = clean(&Filter::None, None, &json!({"content": []}));
    assert_eq!(out["_meta"], json!({"io.legation/maskingSkipped": true}));
}

#[test]
fn mappings_are_read_and_wrong_ones_are_errors() {
    let read = |value: Value| FilterMapping::read(&raw(&value));
    assert_eq!(read(json!("none")).unwrap().of("x"), &Filter::None);
    let mapping =
        read(json!({"*": "none", "web": {"mode": "markdown", "allowedHosts": ["a.example.com"]}}))
            .unwrap();
    assert_eq!(
        mapping.of("web"),
        &Filter::Markdown(Hosts::new(["a.example.com"]))
    );
    assert_eq!(mapping.of("other"), &Filter::None);
    assert_eq!(
        read(json!({"a": "none"})).unwrap().of("b"),
        &Filter::HiddenCharacters
    );
    for bad in [
        json!("off"),
        json!(1),
        json!({"a": "Markdown"}),
        json!({"mode": "markdown", "allowedHosts": [1]}),
        json!(null),
    ] {
        assert!(read(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn pages_of_a_spill_are_the_text() {
    let text = "zwölf Zeilen\n".repeat(100);
    let spilled = spill::spill("k7", &text, 64).unwrap();
    assert_eq!(spilled.pages.concat(), text);
    assert!(
        spilled
            .pages
            .iter()
            .all(|page| page.len() <= 64 && !page.is_empty())
    );
    assert!(spilled.stub.contains("legation://spill/k7"));
    assert_eq!(spill::spill("k7", "short", 64), None);
    for page in [1, 2, 30] {
        assert_eq!(
            spill::parse_uri(&spill::uri("k7", page)),
            Some(("k7", page))
        );
    }
    for bad in [
        "legation://spill/",
        "legation://spill/a/1",
        "legation://spill/../x",
        "legation://inbox/a",
    ] {
        assert_eq!(spill::parse_uri(bad), None);
    }
}

#[test]
fn strings_of_json_in_a_text_are_markdown_of_their_own() {
    let filter = Filter::Markdown(Hosts::new(["github.com"]));
    let issue = json!({
        "title": "`", "body": "a <!-- hidden --> b ![x](https://evil.example/?q=1)", "end": "`",
        "html_url": "https://github.com/octo/cat/issues/1", "n": 1.0
    });
    let value = json!({"content": [{"type": "text", "text": issue.to_string()}]});
    let out = clean(&filter, None, &value);
    let text = out["content"][0]["text"].as_str().unwrap();
    let read: Value = serde_json::from_str(text).unwrap();
    assert!(!text.contains("hidden") && !text.contains("evil"), "{text}");
    assert_eq!(read["html_url"], issue["html_url"]);
    assert_eq!(read["n"], issue["n"]);
    // What is no JSON, and what no filter looks at, is as it was.
    for (filter, text) in [
        (&filter, "{not json} [a](https://github.com/)"),
        (&Filter::HiddenCharacters, "{\"a\": \"<!-- b -->\"}"),
    ] {
        let value = json!({"content": [{"type": "text", "text": text}]});
        let masker = SecretMasker::default();
        assert_eq!(clean(filter, Some(&masker), &value), value);
    }
}
