use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Cursor, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use legation_config::environment::Environment;
use legation_core::{Home, SystemClock};
use legation_registry::Bundle;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::Output;
use crate::accounts::HomeKeyring;
use crate::commands::mcp::bundles::platform;

type Answering = dyn Fn(&str, &str) -> Option<Vec<u8>> + Send + Sync;

/// An owner whose registry is a test's.
struct Owner {
    _folder: tempfile::TempDir,
    context: Context,
    base: String,
}

// === impl Owner ===

impl Owner {
    /// `answering` gets its own address and the path, and answers with 404 to nothing.
    fn new(
        policy: Option<&str>,
        answering: impl Fn(&str, &str) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let (own, answering): (_, Arc<Answering>) = (base.clone(), Arc::new(answering));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(&stream, &own, &*answering);
            }
        });
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("legation"));
        home.create().expect("made");
        let settings = format!("secrets.keep_in = \"file\"\nregistry.url = \"{base}\"\n");
        fs::write(home.settings(), settings).expect("written");
        fs::write(home.servers(), r#"{"mcpServers": {}}"#).expect("written");
        let organisation = folder.path().join("policy.toml");
        fs::write(&organisation, policy.unwrap_or("version = 1\n")).expect("written");
        let environment = Environment::from_pairs([
            ("HOME", folder.path()),
            ("LEGATION_ENTERPRISE_POLICY", &organisation),
        ]);
        let keyring = Arc::new(HomeKeyring::of(&home));
        Self {
            context: Context {
                home,
                environment: environment.with_keyring(keyring),
                clock: SystemClock::shared(),
                version: "0",
                output: Output::new(true),
            },
            _folder: folder,
            base,
        }
    }

    /// `legation mcp install WHAT --yes`, changed.
    fn install(&self, what: &str, change: impl FnOnce(&mut InstallArgs)) -> Result<(), CliError> {
        let mut args = InstallArgs {
            what: Some(what.to_owned()),
            registry: None,
            name: None,
            from: None,
            set: Vec::new(),
            sha256: None,
            replace: false,
            dry_run: false,
            yes: true,
            undo: false,
        };
        change(&mut args);
        cmd_install(&self.context, &args)
    }

    fn undo(&self) -> Result<(), CliError> {
        self.install("", |args| {
            args.what = None;
            args.undo = true;
        })
    }

    /// The entries of mcp.json.
    fn written(&self) -> Value {
        let entries = edit::written(&self.context.home).expect("entries");
        Value::Object(entries.into_iter().collect())
    }

    fn bundles(&self) -> BTreeSet<String> {
        let folder = self.context.home.root().join("bundles");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    fn remove(&self, name: Option<&str>) {
        let args = crate::commands::mcp::remove::RemoveArgs::of(name);
        crate::commands::mcp::remove::cmd_remove(&self.context, &args).expect("removed");
    }
}

fn serve(stream: &TcpStream, base: &str, answering: &Answering) {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let target = first.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let answer = answering(base, path);
    let status = if answer.is_some() { 200 } else { 404 };
    let body = answer.unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    // Who reads no further has closed it.
    drop(
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body)),
    );
}

fn version(name: &str, member: &str, value: &Value) -> Option<Vec<u8>> {
    let mut server = json!({"name": name, "version": "1.2.0", "title": "A \u{1b}[2J title"});
    server[member] = json!([value]);
    Some(json!({"server": server}).to_string().into_bytes())
}

#[test]
fn a_server_is_shown_installed_with_its_secret_and_taken_back() {
    let owner = Owner::new(None, |_, path| {
        let path = path.strip_prefix("/v0.1/servers/io.example%2Fecho")?;
        assert!(
            ["/versions/latest", "/versions/1.2.0"].contains(&path),
            "{path}"
        );
        let package = json!({
            "registryType": "npm", "identifier": "@scope/echo", "version": "1.2.0",
            "packageArguments": [{"type": "named", "name": "--level", "isRequired": true,
                "choices": ["low", "high"]}],
            "environmentVariables": [
                {"name": "API_KEY", "isRequired": true, "isSecret": true},
                {"name": "STOLEN", "value": "${keyring:other}"},
            ],
        });
        version("io.example/echo", "packages", &package)
    });
    let refused = |wanted: &str, set: &[&str]| {
        let told = owner.install("io.example/echo", |args| {
            args.set = set.iter().map(|&text| text.to_owned()).collect();
        });
        let error = told.expect_err("it lacks something");
        assert!(error.message.contains(wanted), "{set:?}: {}", error.message);
        assert_eq!(owner.written(), json!({}));
    };
    refused("it has to be told: level", &[]);
    refused("level is one of low, high", &["level=middle"]);
    refused("it knows API_KEY, level", &["none=x", "level=low"]);
    refused(
        "command lines are no place for",
        &["API_KEY=clear", "level=low"],
    );
    refused(
        "command lines are no place for",
        &["API_KEY=${A:-clear}", "level=low"],
    );
    let with_level = |args: &mut InstallArgs| args.set = vec!["level=high".to_owned()];
    for is_dry in [true, false] {
        let shown = owner.install("io.example/echo", |args| {
            with_level(args);
            (args.dry_run, args.yes) = (is_dry, false);
        });
        shown.expect("shown");
        assert_eq!(owner.written(), json!({}));
    }
    let store = secret::open(&owner.context).expect("a keystore");
    secret::keep(&store, "echo.API_KEY", &Secret::new("hush")).expect("kept");
    owner
        .install("io.example/echo@1.2.0", with_level)
        .expect("installed");
    assert_eq!(
        owner.written(),
        json!({"echo": {
            "type": "stdio", "command": "npx",
            "args": ["-y", "@scope/echo@1.2.0", "--level", "high"],
            "env": {"API_KEY": "${keyring:echo.API_KEY}", "STOLEN": "$${keyring:other}"},
            "tools": ["*"], "displayName": "A \u{1b}[2J title",
        }})
    );
    let again = owner
        .install("io.example/echo", with_level)
        .expect_err("it is there");
    assert!(
        again.message.contains("there is a server echo already"),
        "{}",
        again.message
    );
    owner.undo().expect("taken back");
    assert_eq!(owner.written(), json!({}));
    assert!(secret::get(&store, "echo.API_KEY").expect("read").is_some());
    assert!(owner.undo().is_err());
}

/// A bundle with a program, and its SHA-256.
fn bundle() -> (Vec<u8>, String) {
    let manifest = json!({
        "manifest_version": "0.3", "name": "Echo Bundle", "version": "1.0.0",
        "server": {"type": "binary", "entry_point": "bin/echo"},
    });
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [
        ("manifest.json", manifest.to_string()),
        ("bin/echo", "#!/bin/sh\n".to_owned()),
    ] {
        archive
            .start_file(name, SimpleFileOptions::default())
            .expect("begun");
        archive.write_all(text.as_bytes()).expect("written");
    }
    let bytes = archive.finish().expect("packed").into_inner();
    let read = Bundle::read(Bytes::from(bytes.clone()), platform()).expect("a bundle");
    (bytes, read.sha256().to_owned())
}

#[test]
fn a_bundle_is_installed_by_its_hash_and_goes_with_its_entry() {
    let (bytes, sha256) = bundle();
    let (served, said) = (bytes.clone(), sha256.clone());
    let owner = Owner::new(None, move |base, path| {
        let hash = match path {
            "/echo.mcpb" => return Some(served.clone()),
            "/v0.1/servers/io.example%2Fliar/versions/latest" => "0".repeat(64),
            "/v0.1/servers/io.example%2Fbundled/versions/latest" => said.clone(),
            _ => return None,
        };
        let name = path
            .trim_start_matches("/v0.1/servers/")
            .replace("%2F", "/");
        let name = name.trim_end_matches("/versions/latest");
        let at = format!("{base}/echo.mcpb");
        let package = json!({"registryType": "mcpb", "identifier": at, "fileSha256": hash});
        version(name, "packages", &package)
    });
    let at = format!("{}/echo.mcpb", owner.base);
    for (what, hash, wanted) in [
        ("io.example/liar", None, "the bundle's SHA-256 is"),
        (at.as_str(), Some("1".repeat(64)), "the bundle's SHA-256 is"),
        (at.as_str(), None, "a bundle that is fetched could be any"),
        ("io.example/unknown", None, "the registry knows no"),
    ] {
        let refused = owner
            .install(what, |args| args.sha256 = hash)
            .expect_err("refused");
        assert!(
            refused.message.contains(wanted),
            "{what}: {}",
            refused.message
        );
        assert_eq!((owner.written(), owner.bundles().len()), (json!({}), 0));
    }
    owner
        .install("io.example/bundled", |_| {})
        .expect("installed");
    let file: PathBuf = owner.context.home.root().join("../echo.mcpb");
    fs::write(&file, &bytes).expect("written");
    owner
        .install(&file.display().to_string(), |_| {})
        .expect("installed");
    let program = owner
        .context
        .home
        .root()
        .join("bundles")
        .join(&sha256)
        .join("bin/echo");
    assert_eq!(owner.written()["echo-bundle"]["command"], json!(program));
    assert!(program.is_file());
    let archive = format!("{sha256}.mcpb");
    let both = BTreeSet::from([sha256.clone(), archive.clone()]);
    owner.remove(Some("bundled"));
    assert_eq!(owner.bundles(), both);
    owner.remove(Some("echo-bundle"));
    assert_eq!(owner.bundles(), BTreeSet::from([archive]));
    owner.remove(None);
    assert_eq!(owner.bundles(), both);
    owner.undo().expect("taken back");
    assert_eq!(owner.written(), json!({}));
    assert!(!program.exists());
}

#[test]
fn what_the_organisation_forbids_is_not_installed() {
    let policy = "version = 1\n[[allow]]\ncommand = [\"npx\", \"-y\", \"good@1.0.0\"]\n";
    let owner = Owner::new(Some(policy), |_, path| {
        let name = if path.contains("good") { "good" } else { "bad" };
        let package = json!({"registryType": "npm", "identifier": name, "version": "1.0.0"});
        version(&format!("io.example/{name}"), "packages", &package)
    });
    let refused = owner
        .install("io.example/bad", |_| {})
        .expect_err("refused");
    assert_eq!(
        (refused.exit, refused.rule.as_deref()),
        (Exit::Refused, Some("enterprise"))
    );
    assert_eq!(owner.written(), json!({}));
    owner.install("io.example/good", |_| {}).expect("installed");
    assert_eq!(owner.written()["good"]["args"], json!(["-y", "good@1.0.0"]));
}
