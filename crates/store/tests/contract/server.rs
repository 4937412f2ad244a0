//! A PostgreSQL server that lives as long as the test.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// How often, 50 ms apart, the server is asked whether it answers.
const KNOCKS: usize = 600;

/// Ends the server when its own standard input ends, which it does whatever
/// becomes of the test's process, and takes the folder with it.
const WATCH: &str = r#""$1" -D "$2/data" -k "$2" -c listen_addresses=127.0.0.1 -c port="$3" -c ssl=on -c fsync=off \
    -c full_page_writes=off -c shared_buffers=16MB -c max_connections=100 \
    -c log_min_messages=fatal </dev/null >"$2/log" 2>&1 &
server=$!
cat >/dev/null
kill -INT $server
wait $server
rm -rf "$2""#;

pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    watch: Child,
    databases: AtomicUsize,
}

impl Server {
    pub(crate) fn start() -> Self {
        let bin = programs();
        let folder = tempfile::Builder::new()
            .prefix("legation-postgres-")
            .tempdir()
            .expect("a folder");
        let owner = owner(folder.path());
        let (user, group) = owner;
        chown(folder.path(), Some(user), Some(group)).expect("given away");
        let made = command(&bin.join("initdb"), owner)
            .args(["--no-sync", "--auth=trust", "--username=legation"])
            .args(["--encoding=UTF8", "--locale=C", "--pgdata"])
            .arg(folder.path().join("data"))
            .current_dir(folder.path())
            .output()
            .expect("initdb starts");
        let told = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "initdb failed: {told}");
        certify(&folder.path().join("data"), owner);
        let port = free_port();
        let watch = command(Path::new("/bin/sh"), owner)
            .args(["-c", WATCH, "watch"])
            .arg(bin.join("postgres"))
            .arg(folder.path())
            .arg(port.to_string())
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let server = Self {
            folder,
            port,
            watch,
            databases: AtomicUsize::new(0),
        };
        for _ in 0..KNOCKS {
            if server.try_run("postgres", "SELECT 1").is_ok() {
                return server;
            }
            // tidy: a starting server tells nobody when it is ready
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(server.folder.path().join("log")).unwrap_or_default();
        panic!("the server never answered: {log}");
    }

    /// A new, empty database.
    pub(crate) fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// The address of a database, by way of the server's socket.
    pub(crate) fn url(&self, database: &str) -> String {
        let folder = self.folder.path().to_str().expect("Unicode");
        let host = folder.replace('/', "%2F");
        format!("postgres://legation@{host}:{}/{database}", self.port)
    }

    /// The same by way of TCP, encrypted.
    pub(crate) fn url_encrypted(&self, database: &str) -> String {
        let port = self.port;
        format!("postgres://legation@localhost:{port}/{database}?sslmode=require")
    }

    /// Runs a statement as somebody else and returns the columns it answers with.
    pub(crate) fn run(&self, database: &str, sql: &str) -> Vec<String> {
        self.try_run(database, sql).expect("the statement runs")
    }

    fn try_run(&self, database: &str, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.url(database), NoTls).await?;
            let driven = tokio::task::LocalSet::new();
            driven.spawn_local(async move { drop(connection.await) });
            let messages = driven.run_until(client.simple_query(sql)).await?;
            Ok(messages.into_iter().filter_map(columns).flatten().collect())
        })
    }
}

fn columns(message: SimpleQueryMessage) -> Option<Vec<String>> {
    let SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    let columns = (0..row.len()).map(|index| row.get(index).unwrap_or_default().to_owned());
    Some(columns.collect())
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        drop(self.watch.wait());
    }
}

/// Gives the server a certificate that nobody vouches for.
fn certify(data: &Path, owner: (u32, u32)) {
    let made = command(Path::new("/usr/bin/openssl"), owner)
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args(["-subj", "/CN=localhost", "-keyout", "server.key"])
        .args(["-out", "server.crt"])
        .current_dir(data)
        .output()
        .expect("openssl starts");
    let told = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "openssl failed: {told}");
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("bound");
    listener.local_addr().expect("an address").port()
}

/// Where `initdb` and `postgres` are.
fn programs() -> PathBuf {
    let debian = Path::new("/usr/lib/postgresql");
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(debian)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, entry.path().join("bin")))
        })
        .filter(|(_, bin)| bin.join("initdb").exists())
        .collect();
    versions.sort();
    let newest = versions.pop().map(|(_, bin)| bin);
    newest.expect("PostgreSQL is installed in /usr/lib/postgresql; `apt install postgresql`")
}

/// PostgreSQL refuses to run as root; then it runs as its own user, or as nobody.
fn owner(folder: &Path) -> (u32, u32) {
    let found = fs::metadata(folder).expect("there");
    if found.uid() != 0 {
        return (found.uid(), found.gid());
    }
    let users = fs::read_to_string("/etc/passwd").expect("read");
    let ids = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody")).expect("a user")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test's own server, which ends with the test by its standard input"
)]
fn command(program: &Path, (user, group): (u32, u32)) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    // Only root may, and need, change to another user.
    if fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0) {
        command.uid(user).gid(group);
    }
    command
}
