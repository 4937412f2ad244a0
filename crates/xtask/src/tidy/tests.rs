//! Each rule passes on a clean tree and fails on a planted fault.

use super::workspace::{Crate, Dependency, File, Foreign, Workspace};
use super::{RULES, Severity, check};

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn krate(folder: &str, name: &str, dependencies: &[&str]) -> Crate {
    Crate {
        name: name.to_owned(),
        folder: format!("crates/{folder}"),
        description: Some("What it is".to_owned()),
        licence: Some("Apache-2.0".to_owned()),
        dependencies: dependencies
            .iter()
            .map(|name| Dependency {
                name: (*name).to_owned(),
                normal: true,
            })
            .collect(),
        targets: vec![format!("crates/{folder}/src/lib.rs")],
    }
}

/// Two crates, every document, nothing wrong.
fn clean() -> Workspace {
    let architecture = "### `crates/core`\n**Architecture invariant:** none.\n\
                        ### `crates/wire`\n**Architecture invariant:** none.\n";
    Workspace {
        files: vec![
            file("README.md", "# Legation\n"),
            file("CHANGELOG.md", "# Changes\n"),
            file("LICENSE", "Apache\n"),
            file("ARCHITECTURE.md", architecture),
            file(
                "deny.toml",
                "[licenses]\nallow = [\"Apache-2.0\", \"MIT\", \"ISC\"]\n",
            ),
            file("Cargo.toml", "[workspace.dependencies]\nserde = \"1\"\n"),
            file(
                "crates/core/Cargo.toml",
                "[dependencies]\nserde.workspace = true\n",
            ),
            file(
                "crates/core/src/lib.rs",
                "//! Core.\npub mod id;\n#[cfg(test)]\nmod tests;\n",
            ),
            file("crates/core/src/id.rs", "//! Ids.\n"),
            file("crates/core/src/tests.rs", "use super::id;\n"),
            file("crates/wire/src/lib.rs", "//! Wire.\n"),
        ],
        crates: vec![
            krate("core", "legation-core", &["serde"]),
            krate("wire", "legation-wire", &["legation-core"]),
        ],
        foreign: vec![Foreign {
            name: "serde".to_owned(),
            version: "1.0.0".to_owned(),
            licence: Some("MIT OR Apache-2.0".to_owned()),
            source: "registry+index".to_owned(),
        }],
    }
}

/// The rules that a tree breaks, and how badly.
fn broken(workspace: &Workspace) -> Vec<(&'static str, Severity, String)> {
    check(workspace)
        .into_iter()
        .map(|f| (f.rule, f.severity, f.place))
        .collect()
}

/// A clean tree after `plant` has had its way with it breaks exactly `rule`, at `place`.
#[track_caller]
fn fails(rule: &'static str, place: &str, plant: impl FnOnce(&mut Workspace)) {
    let mut workspace = clean();
    plant(&mut workspace);
    assert_eq!(
        broken(&workspace),
        [(rule, Severity::Error, place.to_owned())]
    );
}

fn append(workspace: &mut Workspace, path: &str, text: &str) {
    let file = workspace
        .files
        .iter_mut()
        .find(|f| f.path == path)
        .expect("a file of `clean`");
    file.text.push_str(text);
}

#[test]
fn a_clean_tree_breaks_nothing() {
    assert_eq!(broken(&clean()), []);
    assert_eq!(
        RULES.len(),
        12,
        "a new rule needs its own planted fault below"
    );
}

#[test]
fn an_edge_outside_the_table_is_found() {
    fails("crate-walls", "crates/core/Cargo.toml", |w| {
        w.crates[0] = krate("core", "legation-core", &["legation-wire"]);
    });
}

#[test]
fn an_edge_of_tests_alone_is_no_edge() {
    let mut workspace = clean();
    workspace.crates[0].dependencies = vec![Dependency {
        name: "legation-wire".to_owned(),
        normal: false,
    }];
    assert_eq!(broken(&workspace), []);
}

#[test]
fn a_crate_that_is_not_in_the_table_is_found() {
    let mut workspace = clean();
    workspace.crates[1] = krate("blob", "legation-blob", &[]);
    let broken = broken(&workspace);
    assert!(
        broken
            .iter()
            .any(|b| b.0 == "crate-walls" && b.2 == "crates/blob/Cargo.toml")
    );
}

#[test]
fn a_package_in_the_wrong_folder_is_found() {
    let mut workspace = clean();
    workspace.crates[1].name = "legation-policy".to_owned();
    assert_eq!(broken(&workspace)[0].0, "crate-walls");
}

#[test]
fn a_version_stated_twice_or_not_at_all_is_found() {
    fails(
        "one-version",
        "crates/core/Cargo.toml [dependencies] toml",
        |w| {
            append(w, "crates/core/Cargo.toml", "toml = \"1\"\n");
        },
    );
    fails(
        "one-version",
        "Cargo.toml [workspace.dependencies] toml",
        |w| {
            append(w, "Cargo.toml", "toml = \"*\"\n");
        },
    );
    fails(
        "one-version",
        "crates/core/Cargo.toml [target.cfg(unix).dependencies] nix",
        |w| {
            append(
                w,
                "crates/core/Cargo.toml",
                "[target.'cfg(unix)'.dependencies]\nnix = \"1\"\n",
            );
        },
    );
}

#[test]
fn a_package_from_elsewhere_is_found() {
    fails("sources", "serde 1.0.0", |w| {
        w.foreign[0].source = "git+https://example.test/serde".to_owned();
    });
}

#[test]
fn rmcp_is_kept_out() {
    fails("rmcp", "crates/core/Cargo.toml", |w| {
        w.crates[0] = krate("core", "legation-core", &["rmcp"]);
    });
    let mut workspace = clean();
    workspace.crates[1] = krate("wire", "legation-wire", &["rmcp"]);
    assert_eq!(broken(&workspace), []);
}

#[test]
fn licences_are_read_as_expressions() {
    for (expression, allowed) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("GPL-3.0/MIT", true),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("GPL-3.0 OR MIT AND ISC", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("GPL-3.0 WITH MIT", false),
        ("MIT OR", false),
        ("(MIT", false),
        ("", false),
    ] {
        let mut workspace = clean();
        workspace.foreign[0].licence = Some(expression.to_owned());
        assert_eq!(broken(&workspace).is_empty(), allowed, "{expression}");
    }
    fails("licences", "serde 1.0.0", |w| w.foreign[0].licence = None);
    fails("licences", "deny.toml", |w| {
        w.files
            .iter_mut()
            .find(|f| f.path == "deny.toml")
            .expect("it is there")
            .text = "[licenses]\n".to_owned();
    });
}

#[test]
fn a_long_file_is_found_before_it_is_too_long() {
    fails("file-length", "crates/core/src/id.rs", |w| {
        append(w, "crates/core/src/id.rs", &"\n".repeat(600));
    });
    let mut workspace = clean();
    append(&mut workspace, "crates/core/src/id.rs", &"\n".repeat(400));
    append(
        &mut workspace,
        "crates/core/src/tests.rs",
        &"\n".repeat(4000),
    );
    let expected = (
        "file-length",
        Severity::Warning,
        "crates/core/src/id.rs".to_owned(),
    );
    assert_eq!(broken(&workspace), [expected]);
}

#[test]
fn a_file_that_nothing_names_is_found() {
    fails("forgotten-file", "crates/core/src/id/lost.rs", |w| {
        w.files
            .push(file("crates/core/src/id/lost.rs", "//! Lost.\n"));
    });
    fails("forgotten-file", "crates/core/src/data/old.json", |w| {
        w.files.push(file("crates/core/src/data/old.json", "{}"));
    });
    let mut workspace = clean();
    append(
        &mut workspace,
        "crates/core/src/id.rs",
        "pub(crate) mod found;\n#[path = \"b.rs\"]\nmod a;\n",
    );
    append(
        &mut workspace,
        "crates/core/src/id.rs",
        "const A: &str = include_str!(\"x.txt\");\n",
    );
    workspace
        .files
        .push(file("crates/core/src/id/found.rs", "//! Found.\n"));
    workspace
        .files
        .push(file("crates/core/src/b.rs", "//! Found.\n"));
    workspace.files.push(file("crates/core/src/x.txt", "x"));
    assert_eq!(broken(&workspace), []);
}

#[test]
fn a_crate_or_file_that_does_not_say_what_it_is_is_found() {
    fails("crate-doc", "crates/core/Cargo.toml", |w| {
        w.crates[0].description = None
    });
    fails("crate-doc", "crates/core/src/id.rs", |w| {
        w.files
            .iter_mut()
            .find(|f| f.path.ends_with("id.rs"))
            .expect("it is there")
            .text = "pub struct Id;\n".to_owned();
    });
}

#[test]
fn each_word_is_found() {
    for word in [
        concat!("// TO", "DO later"),
        concat!("// FIX", "ME"),
        concat!("todo", "!()"),
        concat!("unimplemented", "!()"),
        concat!("#[", "ignore]"),
        concat!("unsafe", " { }"),
        concat!("unsafe", " impl Send for X {}"),
        concat!("\"/wo", "rk/main\""),
        concat!("\"/ro", "ot/.cargo\""),
        concat!("\"/tm", "p/x\""),
        concat!("https://static.crates", ".io/"),
        concat!("https://registry", ".npmjs.org/"),
        concat!("#[", "allow(dead_code)]"),
        concat!("#![", "expect(\n    dead_code,\n)]"),
    ] {
        fails("words", "crates/core/src/id.rs:2", |w| {
            append(w, "crates/core/src/id.rs", word)
        });
    }
}

#[test]
fn words_that_only_look_alike_are_not_found() {
    for word in [
        concat!("\"/home/ann/wo", "rk/notes\""),
        concat!("// MASTO", "DON"),
        "#[expect(\n    dead_code,\n    reason = \"shown below\"\n)]",
        concat!("std::thread::sleep", "(pause);"),
    ] {
        let mut workspace = clean();
        append(&mut workspace, "crates/core/src/id.rs", word);
        assert_eq!(broken(&workspace), [], "{word}");
    }
}

#[test]
fn only_the_allocator_is_unsafe() {
    let mut workspace = clean();
    let text = concat!("//! It.\nunsafe", " impl GlobalAlloc for It {}\n");
    workspace.files.push(file("crates/alloc/src/lib.rs", text));
    assert_eq!(broken(&workspace), []);
}

#[test]
fn a_sleeping_test_is_found_unless_it_says_why() {
    let sleep = concat!("std::thread::sleep", "(pause);\n");
    fails("words", "crates/core/src/tests.rs:2", |w| {
        append(w, "crates/core/src/tests.rs", sleep)
    });
    let mut workspace = clean();
    let path = "crates/core/src/tests.rs";
    append(
        &mut workspace,
        path,
        "// tidy: the kernel offers no event\n",
    );
    append(&mut workspace, path, sleep);
    append(&mut workspace, path, "}\n\n\nwhile !there() {\n");
    append(&mut workspace, path, sleep);
    assert_eq!(broken(&workspace), []);
}

#[test]
fn a_missing_document_is_found() {
    for name in ["README.md", "CHANGELOG.md", "LICENSE", "ARCHITECTURE.md"] {
        fails("documents", name, |w| w.files.retain(|f| f.path != name));
    }
}

#[test]
fn a_crate_without_an_invariant_is_found() {
    fails("invariants", "ARCHITECTURE.md", |w| {
        let file = w
            .files
            .iter_mut()
            .find(|f| f.path == "ARCHITECTURE.md")
            .expect("it is there");
        file.text = file.text.replacen("**Architecture invariant:**", "", 1);
    });
    fails("invariants", "ARCHITECTURE.md", |w| {
        let file = w
            .files
            .iter_mut()
            .find(|f| f.path == "ARCHITECTURE.md")
            .expect("it is there");
        file.text = file.text.replace("crates/wire", "crates/other");
    });
}

/// A page with these rows, and the file of the test that the first names.
fn compared(workspace: &mut Workspace, counted: &str, rows: &str, test: &str) {
    let page = format!("{counted}\n\n| Field | Here | Shown by |\n|---|---|---|\n{rows}");
    workspace.files.push(file("docs/host-parity.md", &page));
    append(workspace, "crates/core/src/tests.rs", test);
}

#[test]
fn a_row_without_a_test_that_runs_is_found() {
    const ROW: &str = "| url | the same | [`it_does`](../crates/core/src/tests.rs) |\n";
    const TEST: &str = "#[test]\nfn it_does() {}\n";
    const ONE: &str = "1 rows: 1 there, 0 absent";
    let mut workspace = clean();
    let rows = format!("{ROW}| sse | no | absent: nobody has it |\n");
    compared(&mut workspace, "2 rows: 1 there, 1 absent", &rows, TEST);
    assert_eq!(broken(&workspace), []);
    let row = "docs/host-parity.md:5";
    fails("parity", row, |w| {
        compared(w, ONE, ROW, "fn it_does() {}\n")
    });
    fails("parity", row, |w| compared(w, ONE, ROW, ""));
    fails("parity", row, |w| {
        compared(w, ONE, "| url | the same | it does |\n", "");
    });
    fails("parity", "docs/host-parity.md", |w| {
        compared(w, "2 rows: 2 there, 0 absent", ROW, TEST);
    });
}
