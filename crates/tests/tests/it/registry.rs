//! Servers from a registry and from bundles: found, shown, installed, called, and taken away again.

use std::collections::BTreeSet;
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use legation_tests::fixture::{Era, lock};
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::process::program;
use legation_tests::harness::served::{Served, json_answer};
use legation_tests::harness::servers::HttpFixture;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A registry: servers by name, and files by path.
#[derive(Default)]
struct Listing {
    servers: Vec<Value>,
    files: Vec<(&'static str, Vec<u8>)>,
}

async fn registry(listing: &Arc<Mutex<Listing>>) -> anyhow::Result<Served> {
    let listing = Arc::clone(listing);
    Served::start(None, move |parts, _| {
        let listing = lock(&listing);
        let path = parts.uri.path();
        if let Some((_, bytes)) = listing.files.iter().find(|(name, _)| *name == path) {
            return Response::new(Full::new(Bytes::from(bytes.clone())));
        }
        let all = || {
            listing
                .servers
                .iter()
                .map(|server| json!({"server": server}))
        };
        if path == "/v0.1/servers" {
            return json_answer(200, &json!({"servers": all().collect::<Vec<_>>()}));
        }
        let name = path
            .strip_prefix("/v0.1/servers/")
            .and_then(|rest| rest.split('/').next());
        let name = name.unwrap_or_default().replace("%2F", "/");
        match all().find(|answer| answer["server"]["name"] == *name) {
            Some(answer) => json_answer(200, &answer),
            None => json_answer(404, &json!({"error": "Server not found"})),
        }
    })
    .await
}

async fn hub_of(served: &Served, options: HubOptions) -> anyhow::Result<Hub> {
    let settings = format!(
        "[registry]\nurl = \"{}\"\n[secrets]\nkeep_in = \"file\"\n",
        served.base
    );
    Hub::start(HubOptions {
        servers: json!({}),
        settings,
        ..options
    })
    .await
}

/// A command that must end with a code: what it printed as JSON, and what it complained.
async fn said(hub: &Hub, arguments: &[&str], code: i32) -> anyhow::Result<(Value, String)> {
    let (found, output, complaint) = hub.run(arguments).await?;
    anyhow::ensure!(
        found == code,
        "{arguments:?} ended with {found}: {output}{complaint}"
    );
    Ok((serde_json::from_str(&output).unwrap_or_default(), complaint))
}

/// The entries of mcp.json.
fn written(hub: &Hub) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(hub.home().join("mcp.json"))?;
    let file: Value = serde_json::from_str(&text)?;
    Ok(file["mcpServers"].clone())
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// A bundle whose program is the fixture.
fn bundle() -> anyhow::Result<(Vec<u8>, String)> {
    let manifest = json!({
        "manifest_version": "0.3", "name": "Echo Bundle", "version": "1.0.0", "description": "Echoes.",
        "author": {"name": "Somebody"},
        "server": {"type": "binary", "entry_point": "bin/echo", "mcp_config": {
            "command": "bin/echo",
            "args": ["--era", "${user_config.era}"],
            "env": {"NOTE": "${user_config.note}"},
        }},
        "user_config": {
            "era": {"type": "string", "title": "Which era", "required": true},
            "note": {"type": "string", "title": "A note", "sensitive": true},
        },
    });
    let script = format!(
        "#!/bin/sh\nexec {} \"$@\"\n",
        program("fixture-server")?.display()
    );
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let manifest = manifest.to_string();
    for (name, content) in [("manifest.json", manifest.as_str()), ("bin/echo", &script)] {
        archive.start_file(name, SimpleFileOptions::default())?;
        archive.write_all(content.as_bytes())?;
    }
    let bytes = archive.finish()?.into_inner();
    let digest = Sha256::digest(&bytes);
    let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((bytes, sha256))
}

/// A hub whose registry lists a server with an address, which is the fixture's, and one that
/// cannot be pinned.
async fn echoing() -> anyhow::Result<(Hub, HttpFixture, Served)> {
    let folder = tempfile::tempdir()?;
    let fixture = HttpFixture::start(Era::Both, folder.path()).await?;
    let listing = Arc::new(Mutex::new(Listing::default()));
    let url = format!("http://127.0.0.1:{}/{{path}}", fixture.port);
    lock(&listing).servers = vec![
        json!({"name": "io.example/echo", "version": "1.2.0", "title": "Echo",
        "description": "Echoes.\u{1b}[2J\u{202e}", "remotes": [{
            "type": "streamable-http", "url": url,
            "variables": {"path": {"isRequired": true, "choices": ["mcp", "other"]}},
            "headers": [{"name": "X-Key", "isRequired": true, "isSecret": true}],
        }]}),
        json!({"name": "io.example/echo-two", "version": "0.1.0", "description": "Another.",
            "packages": [{"registryType": "npm", "identifier": "x", "version": "latest"}]}),
    ];
    let served = registry(&listing).await?;
    let hub = hub_of(&served, HubOptions::default()).await?;
    Ok((hub, fixture, served))
}

#[tokio::test]
async fn what_a_server_wants_to_be_told_is_said_or_refused() -> anyhow::Result<()> {
    let (hub, _fixture, _served) = echoing().await?;
    let install = ["mcp", "install", "io.example/echo", "--json"];
    let (_, complaint) = said(&hub, &[&install[..], &["--yes"]].concat(), 2).await?;
    assert!(complaint.contains("it has to be told: path"), "{complaint}");
    for (set, wanted) in [
        ("path=elsewhere", "path is one of mcp, other"),
        ("none=x", "it knows path, X-Key"),
        (
            "X-Key=in-the-clear",
            "is a secret, which command lines are no place for",
        ),
    ] {
        let given = [&install[..], &["--yes", "--set", set]].concat();
        let (_, complaint) = said(&hub, &given, 2).await?;
        assert!(complaint.contains(wanted), "{set}: {complaint}");
    }
    assert_eq!(written(&hub)?, json!({}));
    Ok(())
}

#[tokio::test]
async fn a_server_is_found_shown_installed_called_and_taken_back() -> anyhow::Result<()> {
    let (hub, fixture, _served) = echoing().await?;
    let (_, out, _) = hub.run(&["mcp", "search", "echo"]).await?;
    assert!(
        out.contains("io.example/echo-two") && !out.contains('\u{1b}'),
        "{out}"
    );
    assert!(out.contains("\\u{1b}[2J\\u{202e}"), "{out}");
    let (found, _) = said(&hub, &["mcp", "search", "echo", "another", "--json"], 0).await?;
    assert_eq!(
        found["servers"][0]["name"], "io.example/echo-two",
        "{found}"
    );

    let install = ["mcp", "install", "io.example/echo", "--json"];
    let path = ["--set", "path=mcp"];
    for more in [&["--dry-run"][..], &[]] {
        let (plan, _) = said(&hub, &[&install[..], &path, more].concat(), 0).await?;
        assert_eq!(
            plan["target"],
            json!([format!("http://127.0.0.1:{}/mcp", fixture.port)])
        );
        assert_eq!(plan["missing_secrets"], json!(["echo.X-Key"]), "{plan}");
        assert_eq!(
            (&plan["changed"], written(&hub)?),
            (&json!(false), json!({}))
        );
    }
    let (plan, _) = said(&hub, &[&install[..], &path, &["--yes"]].concat(), 0).await?;
    assert_eq!(plan["changed"], true, "{plan}");
    assert_eq!(
        written(&hub)?["echo"]["headers"],
        json!({"X-Key": "${keyring:echo.X-Key}"})
    );
    let mut keep = hub.command(&["secret", "set", "echo.X-Key"])?;
    let mut keep = keep.stdin(std::process::Stdio::piped()).spawn()?;
    let mut input = keep.stdin.take().expect("a pipe");
    tokio::io::AsyncWriteExt::write_all(&mut input, b"hush\n").await?;
    drop(input);
    assert!(keep.wait().await?.success());
    said(&hub, &["mcp", "reload", "echo", "--json"], 0).await?;
    let (called, _) = said(
        &hub,
        &["mcp", "call", "echo/echo", r#"{"a": 1}"#, "--json"],
        0,
    )
    .await?;
    assert!(called.to_string().contains(r#"{\"a\":1}"#), "{called}");

    let again = [&install[..], &path, &["--yes"]].concat();
    let (_, complaint) = said(&hub, &again, 1).await?;
    assert!(
        complaint.contains("there is a server echo already"),
        "{complaint}"
    );
    said(&hub, &["mcp", "install", "--undo", "--json"], 0).await?;
    assert_eq!(written(&hub)?, json!({}));
    said(&hub, &["mcp", "install", "--undo"], 1).await?;
    let (_, complaint) = said(&hub, &["mcp", "install", "io.example/echo-two", "--yes"], 3).await?;
    assert!(
        complaint.contains("it does not say one exact version"),
        "{complaint}"
    );
    Ok(())
}

#[tokio::test]
async fn a_bundle_is_installed_called_and_gone_with_its_entry() -> anyhow::Result<()> {
    let (bytes, sha256) = bundle()?;
    let listing = Arc::new(Mutex::new(Listing::default()));
    let served = registry(&listing).await?;
    let at = format!("{}/echo.mcpb", served.base);
    let package = |hash: &str| {
        json!({"name": "io.example/bundled", "version": "1.0.0", "description": "d", "packages": [
            {"registryType": "mcpb", "identifier": at, "fileSha256": hash}]})
    };
    {
        let mut listing = lock(&listing);
        listing.files = vec![("/echo.mcpb", bytes.clone())];
        listing.servers = vec![package(&"0".repeat(64))];
    }
    let hub = hub_of(&served, HubOptions::default()).await?;
    let bundles = hub.home().join("bundles");
    let era = ["--set", "era=both", "--yes", "--json"];
    // A registry that lies, an owner who was told something else, and nobody who says anything.
    for (what, code, wanted) in [
        (vec!["io.example/bundled"], 3, "the bundle's SHA-256 is"),
        (
            vec![at.as_str(), "--sha256", &"1".repeat(64)],
            3,
            "the bundle's SHA-256 is",
        ),
        (vec![at.as_str()], 2, "could be any"),
    ] {
        let given = [&["mcp", "install"], &what[..], &era].concat();
        let (_, complaint) = said(&hub, &given, code).await?;
        assert!(complaint.contains(wanted), "{what:?}: {complaint}");
        assert!(names_in(&bundles).is_empty() && written(&hub)? == json!({}));
    }
    lock(&listing).servers = vec![package(&sha256)];
    let given = [
        &["mcp", "install", "io.example/bundled", "--as", "kept"],
        &era[..],
    ]
    .concat();
    said(&hub, &given, 0).await?;
    let file = hub.folder().join("echo.mcpb");
    std::fs::write(&file, &bytes)?;
    let file = file.display().to_string();
    let given = [&["mcp", "install", &file], &era[..]].concat();
    let (plan, _) = said(&hub, &given, 0).await?;
    assert_eq!(
        (&plan["name"], &plan["sha256"]),
        (&json!("echo-bundle"), &json!(sha256))
    );
    let run = bundles.join(&sha256).join("bin/echo");
    assert_eq!(plan["target"], json!([run, "--era", "both"]), "{plan}");
    assert_eq!(plan["server"]["status"], "connected", "{plan}");
    let call = ["mcp", "call", "echo-bundle/echo", r#"{"a": 1}"#, "--json"];
    let (called, _) = said(&hub, &call, 0).await?;
    assert!(called.to_string().contains(r#"{\"a\":1}"#), "{called}");

    let archive = format!("{sha256}.mcpb");
    let both = BTreeSet::from([sha256.clone(), archive.clone()]);
    said(&hub, &["mcp", "remove", "kept", "--json"], 0).await?;
    assert_eq!(names_in(&bundles), both);
    said(&hub, &["mcp", "remove", "echo-bundle", "--json"], 0).await?;
    assert_eq!(names_in(&bundles), BTreeSet::from([archive]));
    said(&hub, &["mcp", "remove", "--undo", "--json"], 0).await?;
    assert_eq!(names_in(&bundles), both);
    said(&hub, &["mcp", "reload", "echo-bundle", "--json"], 0).await?;
    said(&hub, &call, 0).await?;
    said(&hub, &["mcp", "install", "--undo", "--json"], 0).await?;
    said(&hub, &["mcp", "add", "other", "--json", "--", "true"], 4).await?;
    said(&hub, &["mcp", "remove", "other", "--json"], 0).await?;
    assert_eq!(names_in(&bundles), BTreeSet::new());
    Ok(())
}

#[tokio::test]
async fn what_the_organisation_forbids_is_not_installed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("policy.toml");
    std::fs::write(
        &file,
        "version = 1\n[[allow]]\ncommand = [\"npx\", \"-y\", \"good@1.0.0\"]\n",
    )?;
    let listing = Arc::new(Mutex::new(Listing::default()));
    let package = |name: &str| {
        json!({"name": format!("io.example/{name}"), "version": "1.0.0", "packages": [
            {"registryType": "npm", "identifier": name, "version": "1.0.0"}]})
    };
    lock(&listing).servers = vec![package("good"), package("bad")];
    let served = registry(&listing).await?;
    let variable = "LEGATION_ENTERPRISE_POLICY".to_owned();
    let options = HubOptions {
        environment: [(variable, file.display().to_string())].into(),
        ..HubOptions::default()
    };
    let hub = hub_of(&served, options).await?;
    let (plan, _) = said(
        &hub,
        &["mcp", "install", "io.example/good", "--dry-run", "--json"],
        0,
    )
    .await?;
    assert_eq!(plan["target"], json!(["npx", "-y", "good@1.0.0"]), "{plan}");
    let (_, complaint) = said(
        &hub,
        &["mcp", "install", "io.example/bad", "--yes", "--json"],
        3,
    )
    .await?;
    assert!(
        complaint.contains("would not start") && complaint.contains("enterprise"),
        "{complaint}"
    );
    assert_eq!(written(&hub)?, json!({}));
    Ok(())
}
