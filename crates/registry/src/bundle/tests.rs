//! Bundles as they should be, and as somebody would make them who means harm.

mod forged;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bytes::Bytes;
use legation_core::Home;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{BadBundle, Bundle};
use crate::input::Answers;
use crate::shelf::Shelf;
use crate::way::Recipe;

use forged::{File, Forged};

fn manifest() -> Value {
    json!({
        "manifest_version": "0.3", "name": "Weather", "version": "1.0.0", "description": "d",
        "author": {"name": "a"},
        "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {
            "command": "node",
            "args": ["${__dirname}/server/index.js", "${user_config.folders}", "$HOME"],
            "env": {"KEY": "${user_config.key}", "AT": "${HOME}/x${/}y", "LEVEL": "${user_config.level}"},
            "platform_overrides": {"linux": {"env": {"ON": "linux"}}, "win32": {"command": "node.exe"}},
        }},
        "user_config": {
            "folders": {"type": "directory", "title": "t", "multiple": true, "required": true,
                "default": ["${HOME}/Desktop", "/$x"]},
            "key": {"type": "string", "title": "t", "sensitive": true},
            "level": {"type": "number", "title": "t", "default": 3, "min": 1, "max": 9},
        },
    })
}

/// A bundle with this manifest and these files, packed by a library.
fn packed(manifest: &Value, files: &[(&str, &[u8], u32)]) -> Bytes {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let text = manifest.to_string();
    let all = [("manifest.json", text.as_bytes(), 0o644)];
    for (name, content, mode) in all.iter().chain(files) {
        let options = SimpleFileOptions::default().unix_permissions(*mode);
        archive.start_file(*name, options).unwrap();
        archive.write_all(content).unwrap();
    }
    Bytes::from(archive.finish().unwrap().into_inner())
}

const SERVER: (&str, &[u8], u32) = ("server/index.js", b"// server", 0o644);

/// Every path below a folder.
fn below(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            found.insert(path.strip_prefix(folder).unwrap().display().to_string());
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

/// Looks at a bundle and unpacks it as an install does; nothing of one that is refused may stay.
fn refused(bytes: Bytes) -> BadBundle {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("legation"));
    home.create().unwrap();
    let read = Bundle::read(bytes, "linux");
    let why = match read.and_then(|bundle| Shelf::of(&home).put(&bundle)) {
        Ok(place) => panic!("it was unpacked in {}", place.display()),
        Err(why) => why,
    };
    assert_eq!(
        below(&home.root().join("bundles")),
        BTreeSet::new(),
        "{why}"
    );
    assert_eq!(
        below(folder.path())
            .iter()
            .filter(|name| !name.starts_with("legation"))
            .count(),
        0
    );
    why
}

#[test]
fn a_bundle_is_unpacked_by_its_digest_and_taken_away_with_its_last_reference() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path());
    home.create().unwrap();
    let shelf = Shelf::of(&home);
    let bytes = packed(&manifest(), &[SERVER, ("bin/tool", b"x", 0o755)]);
    let bundle = Bundle::read(bytes, "linux").unwrap();
    assert_eq!(
        (bundle.name(), bundle.version(), bundle.size().0),
        ("Weather", "1.0.0", 3)
    );
    let place = shelf.put(&bundle).unwrap();
    assert_eq!(place, shelf.folder(bundle.sha256()));
    assert_eq!(shelf.put(&bundle).unwrap(), place);
    let mode = |name: &str| fs::metadata(place.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode("server"), mode("server/index.js"), mode("bin/tool")),
        (0o700, 0o600, 0o700)
    );
    let is_it = |sha256: &str| sha256 == bundle.sha256();
    assert!(shelf.sweep(is_it, |_| false).unwrap().is_empty());
    fs::create_dir(home.root().join("bundles/.new-left")).unwrap();
    assert_eq!(
        shelf.sweep(|_| false, is_it).unwrap(),
        std::slice::from_ref(&place)
    );
    let archive = format!("{}.mcpb", bundle.sha256());
    assert_eq!(
        below(&home.root().join("bundles")),
        BTreeSet::from([archive])
    );
    shelf.restore(is_it, "linux").unwrap();
    assert!(place.join("server/index.js").is_file());
    shelf.sweep(|_| false, |_| false).unwrap();
    assert_eq!(below(&home.root().join("bundles")), BTreeSet::new());
}

#[test]
fn a_manifest_says_how_the_server_runs() {
    let bytes = packed(&manifest(), &[SERVER]);
    let way = Bundle::read(bytes, "linux")
        .unwrap()
        .way(Path::new("/b"))
        .unwrap();
    let mut answers = Answers::default();
    for input in &way.inputs {
        if let Some(default) = input.default.clone() {
            input.check(&default).unwrap();
            answers.put(&input.key, default);
        }
    }
    let level = way
        .inputs
        .iter()
        .find(|input| input.key == "level")
        .unwrap();
    assert!(level.check(&["10".to_owned()]).is_err() && level.check(&["x".to_owned()]).is_err());
    let Recipe::Program {
        command,
        args,
        cwd,
        env,
    } = way.recipe(&answers).unwrap()
    else {
        panic!("it is a program");
    };
    assert_eq!((command.as_str(), cwd.as_deref()), ("node", Some("/b")));
    assert_eq!(
        args,
        ["/b/server/index.js", "${HOME}/Desktop", "/$$x", "$$HOME"]
    );
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        env,
        [
            pair("AT", "${HOME}/x/y"),
            pair("LEVEL", "3"),
            pair("ON", "linux")
        ]
    );
    answers.put("key", vec!["${keyring:w.key}".to_owned()]);
    let Recipe::Program { env, .. } = way.recipe(&answers).unwrap() else {
        panic!("it is a program");
    };
    assert!(env.contains(&pair("KEY", "${keyring:w.key}")));
    assert!(!way.is_exposed("key") && way.is_exposed("folders"));
}

#[test]
fn each_type_of_server_has_its_program() {
    for (server, files, wanted) in [
        (
            json!({"type": "binary", "entry_point": "bin/tool"}),
            ("bin/tool", 0o644),
            "/b/bin/tool",
        ),
        (
            json!({"type": "binary", "entry_point": "bin/tool", "mcp_config": {"command": "bin/tool"}}),
            ("bin/tool", 0o644),
            "/b/bin/tool",
        ),
        (
            json!({"type": "python", "entry_point": "main.py"}),
            ("main.py", 0o644),
            "python3 /b/main.py",
        ),
        (
            json!({"type": "uv", "entry_point": "src/s.py"}),
            ("src/s.py", 0o644),
            "uv run --directory /b /b/src/s.py",
        ),
    ] {
        let own = json!({"manifest_version": "0.4", "name": "x", "version": "1", "server": server});
        let bundle = Bundle::read(packed(&own, &[(files.0, b"x", files.1)]), "linux").unwrap();
        let recipe = bundle
            .way(Path::new("/b"))
            .unwrap()
            .recipe(&Answers::default())
            .unwrap();
        let Recipe::Program { command, args, .. } = recipe else {
            panic!("it is a program");
        };
        let words: Vec<String> = std::iter::once(command).chain(args).collect();
        assert_eq!(words.join(" "), wanted);
    }
}

#[test]
fn a_manifest_that_says_too_little_is_refused() {
    let change = |path: &str, value: Value| {
        let mut changed = manifest();
        *changed.pointer_mut(path).expect("a member") = value;
        changed
    };
    let mut other_system = manifest();
    other_system["compatibility"] = json!({"platforms": ["darwin"]});
    for (manifest, wanted) in [
        (change("/manifest_version", json!("9.0")), "version"),
        (change("/server/type", json!("perl")), "type"),
        (
            change("/server/entry_point", json!("../../bin/sh")),
            "entry_point",
        ),
        (
            change("/server/entry_point", json!("server")),
            "entry_point",
        ),
        (
            change("/server/mcp_config/args", json!(["${user_config.none}"])),
            "user_config",
        ),
        (
            change("/server/mcp_config/env", json!({"A=B": "x"})),
            "variables",
        ),
        (change("/user_config/key/type", json!("colour")), "type"),
        (other_system, "darwin"),
        (json!({"manifest_version": "0.3"}), "missing field"),
        (json!([]), "manifest.json"),
    ] {
        let why = refused(packed(&manifest, &[SERVER])).to_string();
        assert!(why.contains(wanted), "{manifest}: {why}");
    }
}

#[test]
fn entries_that_lead_elsewhere_are_refused_by_name() {
    for (name, wanted) in [
        ("../evil", "leads out of its folder"),
        ("a/../../evil", "leads out of its folder"),
        ("./evil", "leads out of its folder"),
        ("/etc/evil", "is an absolute path"),
        ("C:/evil", "is an absolute path"),
        ("..\\evil", "has a backslash in its name"),
        ("a//evil", "has an empty or too long name"),
        ("evil\u{0}.js", "has a character in its name"),
        ("evil\u{1b}[2J", "has a character in its name"),
        ("evil:stream", "has a character in its name"),
        (
            "SERVER/index.js",
            "has the name of another but for how it is written",
        ),
        (
            "server/INDEX.js",
            "has the name of another but for how it is written",
        ),
        ("server/index.js/x", "is a file and a folder"),
        ("server/index.js", "is there twice"),
    ] {
        let evil = Forged::of(&manifest()).with(File::new(name)).bytes();
        let why = refused(evil).to_string();
        assert!(
            why.contains(wanted) && why.contains(&format!("{name:?}")),
            "{name:?}: {why}"
        );
    }
    let long = "x".repeat(300);
    let why = refused(Forged::of(&manifest()).with(File::new(&long)).bytes()).to_string();
    assert!(why.contains("too long"), "{why}");
}

#[test]
fn links_devices_and_what_is_not_what_it_says_are_refused_by_name() {
    let file = || File::new("evil");
    for (file, wanted) in [
        (
            File {
                mode: 0o120_777,
                ..file()
            },
            "is a link",
        ),
        (
            File {
                mode: 0o020_666,
                ..file()
            },
            "is neither a file nor a folder",
        ),
        (
            File {
                mode: 0o010_644,
                ..file()
            },
            "is neither a file nor a folder",
        ),
        (
            File {
                mode: 0o040_755,
                ..file()
            },
            "is neither a file nor a folder",
        ),
        (File { flags: 1, ..file() }, "is encrypted"),
        (
            File {
                method: 93,
                ..file()
            },
            "is packed in a way",
        ),
        (
            File {
                crc: Some(7),
                ..file()
            },
            "is damaged",
        ),
    ] {
        let shown = format!("{file:?}");
        let why = refused(Forged::of(&manifest()).with(file).bytes()).to_string();
        assert!(
            why.contains(wanted) && why.contains("\"evil\""),
            "{shown}: {why}"
        );
    }
}

#[test]
fn bombs_and_damaged_archives_are_refused() {
    let zeros = vec![0_u8; 17 << 20];
    let bomb = packed(&manifest(), &[SERVER, ("zeros", &zeros, 0o644)]);
    assert!(matches!(refused(bomb), BadBundle::Large { .. }));
    let mut many = Forged::of(&manifest());
    for number in 0..50_001 {
        many = many.with(File::new(&number.to_string()));
    }
    assert!(matches!(refused(many.bytes()), BadBundle::Large { .. }));
    let declared = File {
        size: Some(u32::MAX - 1),
        ..File::new("evil")
    };
    assert!(matches!(
        refused(Forged::of(&manifest()).with(declared).bytes()),
        BadBundle::Large { .. }
    ));
    let longer = File {
        size: Some(2),
        ..File::new("evil")
    };
    drop(refused(Forged::of(&manifest()).with(longer).bytes()));
    let whole = packed(&manifest(), &[SERVER]);
    for length in [0, 1, 21, whole.len() / 2, whole.len() - 1] {
        drop(refused(whole.slice(..length)));
    }
    drop(refused(Bytes::from_static(b"no archive at all")));
    drop(refused(packed(&json!({}), &[])));
}
