use crate::words;
use crate::{Document, Index};

fn stems(text: &str) -> Vec<String> {
    let mut stems = Vec::new();
    words::each(text, &mut |_, word| stems.push(word.to_owned()));
    stems
}

/// The names of what is found, best first.
fn found<'a>(documents: &[Document<'a>], question: &str) -> Vec<&'a str> {
    let index = Index::new(documents.iter().copied());
    let hits = index.search(question);
    assert!(
        hits.is_sorted_by(|a, b| a.score >= b.score),
        "{question}: {hits:?}"
    );
    hits.iter().map(|hit| documents[hit.at].name).collect()
}

fn tool<'a>(name: &'a str, description: &'a str) -> Document<'a> {
    Document {
        name,
        description,
        ..Document::default()
    }
}

#[test]
fn names_are_taken_apart_and_words_lose_their_endings() {
    for (text, wanted) in [
        ("readFile", &["read", "fil", "readfil"][..]),
        ("read_file", &["read", "fil"]),
        ("HTTPHeader", &["http", "header", "httpheader"]),
        ("the PRs of Anna's", &["pr", "anna"]),
        ("Deleting, deletes; DELETED deletion", &["delet"; 4]),
        ("planned plans", &["plan"; 2]),
        ("called calls", &["call"; 2]),
        ("repositories repository", &["repositori"; 2]),
        ("Größen größe", &["größen", "größe"]),
        ("日本", &["日本"]),
        ("", &[]),
        ("the of and", &[]),
        ("---", &[]),
    ] {
        assert_eq!(stems(text), wanted, "{text}");
    }
    assert_eq!(stems(&"x".repeat(65)), [""; 0], "that is no word");
}

#[test]
fn what_says_more_comes_first() {
    let tools = [
        tool("list_files", "Lists the files of a folder"),
        tool("read_file", "Reads a file as text"),
        tool("send_mail", "Sends a message, with a file attached"),
        tool("resize", "Makes an image smaller"),
    ];
    for (question, best) in [
        ("read a file", "read_file"),
        ("send", "send_mail"),
        ("files in a folder", "list_files"),
        // In other words.
        ("shrink a picture", "resize"),
        ("what does a directory hold", "list_files"),
        ("write somebody an email", "send_mail"),
        // A beginning, and one of a word nobody knows.
        ("attac", "send_mail"),
    ] {
        assert_eq!(found(&tools, question).first(), Some(&best), "{question}");
    }
    for nothing in ["", "   ", "zebra", "of the", "?!"] {
        assert_eq!(found(&tools, nothing), [""; 0], "{nothing}");
    }
}

#[test]
fn two_words_mean_together_what_neither_means_alone() {
    let tools = [
        tool("pull_image", "Pulls an image"),
        tool("list_requests", "Lists network requests"),
        tool("get_pull_request", "Shows a pull request"),
    ];
    for question in [
        "pull request",
        "pull requests",
        "PR",
        "merge request",
        "PRs",
    ] {
        let first = found(&tools, question)[0];
        assert_eq!(first, "get_pull_request", "{question}");
    }
}

#[test]
fn what_fits_alike_stays_in_its_order() {
    let tools = ["a", "b", "c"].map(|name| tool(name, "Waters the plants"));
    assert_eq!(found(&tools, "plants"), ["a", "b", "c"]);
}

#[test]
fn server_and_arguments_lead_to_a_tool() {
    let post = Document {
        name: "post",
        description: "Posts a message",
        ..Document::default()
    };
    let tools = [
        Document {
            name: "first",
            server: "slack",
            ..post
        },
        Document {
            name: "second",
            server: "GitHub",
            arguments: "milestone",
            ..post
        },
    ];
    assert_eq!(found(&tools, "post to github")[0], "second");
    assert_eq!(found(&tools, "post to slack")[0], "first");
    assert_eq!(found(&tools, "milestone"), ["second"]);
}

#[test]
fn the_table_of_synonyms_is_what_it_says() {
    for line in include_str!("synonyms.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_comment = line.starts_with("# ");
        let is_group = matches!(words.first(), Some(&"=" | &"~")) && words.len() > 2;
        assert!(is_comment || is_group, "{line:?}");
        let kept = |word: &&str| word.split('-').all(|part| stems(part).len() == 1);
        assert!(is_comment || words[1..].iter().all(kept), "{line:?}");
    }
}
