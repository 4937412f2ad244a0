//! Where the server is, what it is sent, and when it is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::{Expect, expect};
use legation_core::Secret;
use tempfile::TempDir;

use super::repository::{Site, config_file, site};
use super::{Around, Endpoint, Gh, add, entry, gh_host, is_token};
use crate::environment::{Environment, Keyring};
use crate::servers::{Loaded, ServerSpec, Source, Transport, additional, read_entry};
use crate::settings::{GithubAdded, GithubChoice, GithubSettings};

#[derive(Debug)]
struct Kept(&'static str);

impl Keyring for Kept {
    fn secret(&self, name: &str) -> Option<Secret> {
        (name == "github" && !self.0.is_empty()).then(|| Secret::new(self.0))
    }
}

fn settings() -> GithubSettings {
    GithubSettings {
        builtin: GithubChoice::Auto,
        api_url: "https://api.github.com".into(),
        ..GithubSettings::default()
    }
}

fn environment(kept: &'static str) -> Environment {
    Environment::from_pairs([("WORK_TOKEN", "ghp_variable"), ("EMPTY", "")])
        .with_keyring(Arc::new(Kept(kept)))
}

fn loaded(entries: &str) -> Loaded {
    let mut loaded = Loaded::default();
    let source = Source::User {
        file: PathBuf::from("mcp.json"),
    };
    let entries: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(entries).expect("JSON");
    for (name, entry) in entries {
        loaded.add(read_entry(&name, &entry, &source, true));
    }
    loaded
}

fn added(
    entries: &str,
    settings: &GithubSettings,
    kept: &'static str,
    folders: &[PathBuf],
) -> Loaded {
    let mut loaded = loaded(entries);
    add(
        &mut loaded,
        &Around {
            settings,
            environment: &environment(kept),
            folders,
            gh: &Gh::NotAsked,
        },
    );
    loaded
}

fn one<'a>(loaded: &'a Loaded, name: &str) -> &'a ServerSpec {
    let found = loaded.servers.iter().find(|one| one.name.as_str() == name);
    found.expect("it is there")
}

/// The lines that are sent, sorted; literal texts of the owner's are not printed.
fn headers(spec: &ServerSpec) -> String {
    let Transport::Http { headers, .. } = &spec.transport else {
        return String::new();
    };
    let mut lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| match &**name {
            "Authorization" => format!("{name}: {value}\n"),
            _ => format!("{name}: {}\n", value.reveal()),
        })
        .collect();
    lines.sort();
    lines.concat()
}

fn check(settings: &GithubSettings, kept: &'static str, expected: &Expect) {
    let loaded = added("{}", settings, kept, &[]);
    let spec = one(&loaded, "github");
    let waits = spec.waits_for_token().map(|why| format!("waits: {why}\n"));
    let text = format!(
        "{} {}\n{}{}",
        spec.source,
        spec.transport.shown(),
        headers(spec),
        waits.unwrap_or_default()
    );
    expected.assert_eq(&text);
}

/// A folder of a repository with this remote.
fn clone(remote: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let git = folder.path().join(".git");
    fs::create_dir(&git).expect("made");
    let config = format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {remote}\n");
    fs::write(git.join("config"), config).expect("written");
    let path = folder.path().to_path_buf();
    (folder, path)
}

#[test]
fn only_what_reads_is_asked_for_unless_all_is_wanted() {
    check(
        &settings(),
        "ghp_kept",
        &expect![[r#"
            built in https://api.githubcopilot.com/mcp/readonly
            Authorization: Bearer ${keyring:github}
            X-MCP-Host: legation
            X-MCP-Readonly: true
        "#]],
    );
    check(
        &GithubSettings {
            all_tools: true,
            insiders: true,
            toolsets: vec!["actions".into()],
            ..settings()
        },
        "ghp_kept",
        &expect![[r#"
            built in https://api.githubcopilot.com/mcp/
            Authorization: Bearer ${keyring:github}
            X-MCP-Host: legation
            X-MCP-Insiders: true
            X-MCP-Toolsets: all
        "#]],
    );
}

#[test]
fn what_is_added_comes_beside_the_usual_toolsets() {
    let added = GithubAdded {
        toolsets: vec!["gists".into(), "actions".into()],
        tools: vec!["get_me".into()],
        all_tools: false,
    };
    let own = GithubSettings {
        toolsets: vec!["actions".into()],
        ..settings()
    };
    check(
        &own.with(&added),
        "ghp_kept",
        &expect![[r#"
            built in https://api.githubcopilot.com/mcp/readonly
            Authorization: Bearer ${keyring:github}
            X-MCP-Host: legation
            X-MCP-Readonly: true
            X-MCP-Tools: get_me
            X-MCP-Toolsets: default,actions,gists
        "#]],
    );
    let one = GithubSettings {
        tools: vec!["web_search".into()],
        ..settings()
    };
    let written = entry(&one, &Endpoint::of(&one.api_url).expect("an address"));
    assert_eq!(written["headers"]["X-MCP-Toolsets"], "default");
    let everything = GithubSettings {
        toolsets: vec!["all".into(), "gists".into()],
        ..settings()
    };
    let written = entry(
        &everything,
        &Endpoint::of(&one.api_url).expect("an address"),
    );
    assert_eq!(written["headers"]["X-MCP-Toolsets"], "all");
    assert_eq!(written["headers"]["X-MCP-Readonly"], "true");
}

#[test]
fn without_a_token_it_waits_and_nobody_looks_for_one() {
    check(
        &settings(),
        "",
        &expect![[r#"
            built in https://api.githubcopilot.com/mcp/readonly
            X-MCP-Host: legation
            X-MCP-Readonly: true
            waits: it was given no token of github.com
        "#]],
    );
    // A variable counts only when the settings name it.
    let named = GithubSettings {
        token_variables: vec!["EMPTY".into(), "WORK_TOKEN".into()],
        ..settings()
    };
    check(
        &named,
        "",
        &expect![[r#"
            built in https://api.githubcopilot.com/mcp/readonly
            Authorization: Bearer ${WORK_TOKEN}
            X-MCP-Host: legation
            X-MCP-Readonly: true
        "#]],
    );
    check(
        &named,
        "ghr_only_renews",
        &expect![[r#"
            built in https://api.githubcopilot.com/mcp/readonly
            X-MCP-Host: legation
            X-MCP-Readonly: true
            waits: the secret github holds no token of GitHub's that opens anything
        "#]],
    );
}

#[test]
fn some_texts_are_no_tokens() {
    for token in [
        "ghp_x",
        "github_pat_x",
        "gho_x",
        "ghu_x",
        "ghs_x",
        "0123abcd",
    ] {
        assert!(is_token(token), "{token}");
    }
    for text in ["", "ghr_x", "two words", "a\nb", "tök"] {
        assert!(!is_token(text), "{text}");
    }
}

#[test]
fn gh_is_asked_only_where_the_settings_say_so_and_nothing_else_is_there() {
    assert_eq!(gh_host(&settings(), &environment("")), None);
    let asking = GithubSettings {
        gh: true,
        ..settings()
    };
    assert_eq!(
        gh_host(&asking, &environment("")).as_deref(),
        Some("github.com")
    );
    assert_eq!(gh_host(&asking, &environment("ghp_kept")), None);
    let off = GithubSettings {
        builtin: GithubChoice::Off,
        ..asking.clone()
    };
    assert_eq!(gh_host(&off, &environment("")), None);

    let said = |gh: &Gh| {
        let mut loaded = Loaded::default();
        let around = Around {
            settings: &asking,
            environment: &environment(""),
            folders: &[],
            gh,
        };
        assert!(!format!("{around:?}").contains("gho_"), "{around:?}");
        add(&mut loaded, &around);
        let spec = one(&loaded, "github").clone();
        assert!(!format!("{spec:?}").contains("gho_"), "{spec:?}");
        format!("{}{:?}", headers(&spec), spec.waits_for_token())
    };
    assert_eq!(
        said(&Gh::Token(Secret::new("gho_of$gh"))),
        "Authorization: ****\nX-MCP-Host: legation\nX-MCP-Readonly: true\nNone"
    );
    assert!(said(&Gh::Without("`gh` is not there".into())).contains("`gh` is not there"));
}

#[test]
fn each_github_has_a_host_for_it() {
    let at = |api_url: &str| match Endpoint::of(api_url) {
        Ok(endpoint) => format!("{} of {}", endpoint.origin, endpoint.site),
        Err(why) => why.to_owned(),
    };
    let lines: Vec<String> = [
        "https://api.github.com",
        "https://github.com/",
        "https://api.business.githubcopilot.com",
        "https://api.octo.ghe.com/",
        "https://octo.ghe.com",
        "https://copilot-api.octo.ghe.com",
        "https://GIT.example.com:8443/api/v3",
        "https://api.git.example.com",
        "http://127.0.0.1:7070",
        "http://git.example.com",
        "https://evilgithubcopilot.com",
        "https://",
    ]
    .iter()
    .map(|url| format!("{url}: {}\n", at(url)))
    .collect();
    expect![[r#"
        https://api.github.com: https://api.githubcopilot.com of github.com
        https://github.com/: https://api.githubcopilot.com of github.com
        https://api.business.githubcopilot.com: https://api.business.githubcopilot.com of github.com
        https://api.octo.ghe.com/: https://copilot-api.octo.ghe.com of octo.ghe.com
        https://octo.ghe.com: https://copilot-api.octo.ghe.com of octo.ghe.com
        https://copilot-api.octo.ghe.com: https://copilot-api.octo.ghe.com of octo.ghe.com
        https://GIT.example.com:8443/api/v3: https://git.example.com:8443 of git.example.com
        https://api.git.example.com: https://api.git.example.com of git.example.com
        http://127.0.0.1:7070: http://127.0.0.1:7070 of 127.0.0.1
        http://git.example.com: is not encrypted: it has to begin with https://
        https://evilgithubcopilot.com: https://evilgithubcopilot.com of evilgithubcopilot.com
        https://: is no address
    "#]]
    .assert_eq(&lines.concat());
}

#[test]
fn an_address_that_cannot_be_used_is_a_problem_and_no_server() {
    let wrong = GithubSettings {
        api_url: "http://git.example.com".into(),
        ..settings()
    };
    let loaded = added("{}", &wrong, "ghp_kept", &[]);
    assert_eq!(loaded.servers, []);
    assert_eq!(loaded.problems.len(), 1, "{:?}", loaded.problems);
}

#[test]
fn the_owners_entries_without_a_credential_wait_for_the_token_and_get_it() {
    let entries = r#"{
        "gh": {"type": "http", "url": "https://api.githubcopilot.com/mcp/x/issues"},
        "plan": {"type": "http", "url": "https://api.business.githubcopilot.com/mcp"},
        "own": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "headers": {"authorization": "Bearer x"}},
        "signs-in": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "oauthClientId": "abc"},
        "variable": {"type": "http", "url": "${WHERE}/mcp/"},
        "other": {"type": "http", "url": "https://api.githubcopilot.com/mcpx"},
        "false-friend": {"type": "http", "url": "https://api.githubcopilot.com@example.com/mcp/"},
        "plain": {"type": "http", "url": "http://api.githubcopilot.com/mcp/"},
        "elsewhere": {"type": "http", "url": "https://example.com/mcp/"}
    }"#;
    let waiting = added(entries, &settings(), "", &[]);
    let waits: Vec<&str> = waiting
        .servers
        .iter()
        .filter(|one| one.waits_for_token().is_some())
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(waits, ["gh", "plan", "github"]);
    let given = added(entries, &settings(), "ghp_kept", &[]);
    let with: Vec<&str> = given
        .servers
        .iter()
        .filter(|one| headers(one).contains("${keyring:github}"))
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(with, ["gh", "plan", "github"]);
    assert!(headers(one(&given, "gh")).contains("X-MCP-Host: legation"));

    // What a folder brings along gets nothing of the owner's.
    let mut brought = Loaded::default();
    let source = Source::Workspace {
        folder: PathBuf::from("/project"),
        file: PathBuf::from("/project/.mcp.json"),
    };
    let url = serde_json::json!({"type": "http", "url": "https://api.githubcopilot.com/mcp/"});
    brought.add(read_entry("brought", &url, &source, true));
    let around = Around {
        settings: &settings(),
        environment: &environment("ghp_kept"),
        folders: &[],
        gh: &Gh::NotAsked,
    };
    add(&mut brought, &around);
    assert_eq!(headers(one(&brought, "brought")), "");
    assert_eq!(one(&brought, "brought").github, None);
}

#[test]
fn an_entry_of_the_owners_takes_its_place() {
    let same = added(
        r#"{"github": {"command": "own"}}"#,
        &settings(),
        "ghp_kept",
        &[],
    );
    assert_eq!(same.servers.len(), 1);
    assert_eq!(one(&same, "github").source.as_str(), "user");
    assert_eq!(same.hidden[0].source, Source::Builtin);
    let other = added(
        r#"{"github-mcp-server": {"command": "own"}}"#,
        &settings(),
        "ghp_kept",
        &[],
    );
    let builtin = one(&other, "github");
    assert!(builtin.disabled);
    assert_eq!(
        builtin.off_because.as_deref(),
        Some("github-mcp-server of mcp.json takes its place")
    );
}

#[test]
fn it_is_off_where_repositories_are_of_somewhere_else() {
    let (_there, there) = clone("git@github.com:octo/cat.git");
    let (_azure, azure) = clone("https://dev.azure.com/octo/cat/_git/cat");
    let none = tempfile::tempdir().expect("a folder");
    let none = none.path().to_path_buf();
    let because = |settings: &GithubSettings, folders: &[&PathBuf]| {
        let folders: Vec<PathBuf> = folders.iter().map(|one| (*one).clone()).collect();
        let loaded = added("{}", settings, "ghp_kept", &folders);
        let spec = one(&loaded, "github");
        assert_eq!(spec.disabled, spec.off_because.is_some());
        spec.off_because.clone()
    };
    let why = because(&settings(), &[&none, &azure]).expect("off");
    assert!(why.ends_with(" is at dev.azure.com"), "{why}");
    assert_eq!(because(&settings(), &[&azure, &there]), None);
    assert_eq!(because(&settings(), &[&none]), None);
    assert_eq!(because(&settings(), &[]), None);
    let always = GithubSettings {
        builtin: GithubChoice::On,
        ..settings()
    };
    assert_eq!(because(&always, &[&azure]), None);
    let off = GithubSettings {
        builtin: GithubChoice::Off,
        ..settings()
    };
    assert_eq!(added("{}", &off, "ghp_kept", &[]).servers, []);
}

#[test]
fn remotes_are_read_in_every_form() {
    let judge = |remote: &str| {
        let (_folder, path) = clone(remote);
        site(&path, "github.com")
    };
    for there in [
        "https://github.com/octo/cat",
        "https://octo:x@GitHub.com/octo/cat.git",
        "ssh://git@ssh.github.com:443/octo/cat.git",
        "git@github.com:octo/cat.git",
        "git@github.com-work:octo/cat.git",
        "\"git://github.com/octo/cat\"",
    ] {
        assert_eq!(judge(there), Site::There, "{there}");
    }
    for elsewhere in [
        "https://gitlab.com/octo/cat",
        "git@ssh.dev.azure.com:v3/octo/cat/cat",
        "https://notgithub.com/octo/cat",
        "https://github.com.example.net/octo/cat",
        "git@bitbucket.org:github.com/cat",
    ] {
        assert!(
            matches!(judge(elsewhere), Site::Elsewhere(_)),
            "{elsewhere}"
        );
    }
    for unknown in [
        "work:octo/cat.git",
        "../cat",
        "/srv/git/cat",
        "file:///srv/cat",
    ] {
        assert_eq!(judge(unknown), Site::Unknown, "{unknown}");
    }
    assert_eq!(site(Path::new("/"), "github.com"), Site::Unknown);
}

#[test]
fn a_worktree_leads_to_the_repository() {
    let (folder, path) = clone("git@github.com:octo/cat.git");
    let own = path.join(".git/worktrees/two");
    fs::create_dir_all(&own).expect("made");
    fs::write(own.join("commondir"), "../..\n").expect("written");
    let tree = folder.path().join("two/deep");
    fs::create_dir_all(&tree).expect("made");
    fs::write(
        folder.path().join("two/.git"),
        format!("gitdir: {}\n", own.display()),
    )
    .expect("written");
    assert_eq!(site(&tree, "github.com"), Site::There);
    let found = config_file(&tree).expect("a repository");
    assert!(found.ends_with("config"), "{}", found.display());
}

#[test]
fn what_strangers_wrote_passes_the_markdown_filter() {
    let endpoint = Endpoint::of("https://api.octo.ghe.com").expect("an address");
    let written = entry(&settings(), &endpoint);
    let filter = &written["filterMapping"]["issue_read"];
    assert_eq!(filter["mode"], "markdown");
    assert_eq!(filter["allowedHosts"][1], "*.octo.ghe.com");
    assert_eq!(written["filterMapping"]["pull_request_read"], *filter);
    assert!(written["filterMapping"].get("get_file_contents").is_none());
    // The command line is no place for it, but its entries count as the owner's.
    let text = r#"{"gh": {"type": "http", "url": "https://copilot-api.octo.ghe.com/mcp"}}"#;
    let mut loaded = additional(&[text], Path::new("/nowhere"));
    let regional = GithubSettings {
        api_url: "https://octo.ghe.com".into(),
        ..settings()
    };
    add(
        &mut loaded,
        &Around {
            settings: &regional,
            environment: &environment("ghp_kept"),
            folders: &[],
            gh: &Gh::NotAsked,
        },
    );
    assert!(headers(one(&loaded, "gh")).contains("${keyring:github}"));
}
