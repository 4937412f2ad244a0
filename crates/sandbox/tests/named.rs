//! Confined commands that reach the hosts that are named, with real processes.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use legation_core::process::GuardPath;
use legation_sandbox::{Confinement, HOME, Job, Named, Network, Sandbox, Task};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Far more than any machine needs; only a failing test waits this long.
const LIMIT: Duration = Duration::from_secs(60);

/// What the scripts have in common.
const COMMON: &str = r#"
import os, signal, socket, sys
def dial(to):
    host, port = to.rsplit(":", 1)
    return socket.create_connection((host, int(port)), 30)
def tunnel(to):
    s = dial(os.environ["HTTPS_PROXY"].removeprefix("http://"))
    s.sendall(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += s.recv(1) or sys.exit(f"{to}: {head}")
    return s, head.split()[1].decode()
def talk(s):
    s.sendall(b"hello")
    return s.recv(5, socket.MSG_WAITALL).decode()
"#;

/// A command that runs a script, and reaches what is named.
async fn start(hosts: &[String], script: &str) -> Job {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(|deps| deps.parent());
    let program: PathBuf = target
        .expect("a test lies in deps/")
        .join("examples/confined");
    let sandbox = Sandbox::new(GuardPath {
        program,
        args: vec![OsString::from("guard")],
    });
    let hosts = hosts.iter().map(|host| host.parse());
    let confinement = Confinement {
        folder: PathBuf::new(),
        hidden: Vec::new(),
        read: Vec::new(),
        write: Vec::new(),
        network: Network::Named(Named {
            hosts: hosts.collect::<Result<_, _>>().expect("hosts"),
            rule: "the rule".to_owned(),
            proxies: Vec::new(),
        }),
        processes: 400,
        scratch_bytes: 4 << 20,
        memory_bytes: None,
    };
    let task = Task {
        program: "/usr/bin/env".into(),
        args: ["python3", "-c", &format!("{COMMON}{script}")]
            .map(OsString::from)
            .into(),
        cwd: HOME.into(),
        input: false,
        merged: false,
    };
    let env = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", HOME),
        ("https_proxy", "http://elsewhere.example:1"),
    ];
    let env = env.map(|(name, value)| (name.into(), value.into()));
    let started = sandbox.start(confinement, task, env.into()).await;
    started.expect("started")
}

/// What a script says, and what is complained of.
async fn says(hosts: &[String], script: &str) -> (String, String) {
    let mut job = start(hosts, script).await;
    let (mut said, mut failed) = (String::new(), String::new());
    let mut stdout = job.take_output().expect("an output");
    let mut stderr = job.take_errors().expect("errors");
    let whole = async {
        tokio::join!(
            async { stdout.read_to_string(&mut said).await.expect("read") },
            async { stderr.read_to_string(&mut failed).await.expect("read") },
        );
        job.wait().await
    };
    tokio::time::timeout(LIMIT, whole).await.expect("it ends");
    (said, failed)
}

/// A host of this machine that says back what it hears.
async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let runtime = tokio::runtime::Handle::current();
    runtime.clone().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            runtime.spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ended = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    port
}

#[tokio::test]
async fn who_is_named_is_reached_and_nobody_else() {
    let (named, other) = (echo().await, echo().await);
    let script = format!(
        r#"
s, status = tunnel("127.0.0.1:{named}")
print("tunnel", status, talk(s))
print("itself", talk(dial("127.0.0.1:{named}")))
for to in ["127.0.0.1:{other}", "localhost:{named}", "api.example.com:443", "169.254.169.254:80"]:
    s, status = tunnel(to)
    print(status, s.makefile().read().replace("{other}", "OTHER").replace("{named}", "NAMED"), end="")
for to in ["127.0.0.1:{other}", "192.0.2.1:80", "api.example.com:443"]:
    try:
        dial(to)
        print("reached", to)
    except OSError:
        print("not reached")
own = socket.create_server(("127.0.0.1", 0))
print("own", bool(socket.create_connection(own.getsockname())))
print(os.environ["https_proxy"] == os.environ["HTTPS_PROXY"], os.environ["NO_PROXY"])
"#
    );
    let (said, failed) = says(&[format!("127.0.0.1:{named}")], &script).await;
    let refused = |to: &str| {
        format!(
            "403 The sandbox of this program refuses {to}, which is not named. Its owner can allow it in the rule.\n"
        )
    };
    let refused = [
        "127.0.0.1:OTHER",
        "localhost:NAMED",
        "api.example.com:443",
        "169.254.169.254:80",
    ]
    .map(refused)
    .concat();
    let expected = format!(
        "tunnel 200 hello\nitself hello\n{refused}not reached\nnot reached\nnot reached\nown True\nTrue localhost,127.0.0.1,::1\n"
    );
    assert_eq!(said, expected, "{failed}");
    let told = format!(
        "legation: the sandbox refuses 127.0.0.1:{other}, which is not named; to allow it, add \"127.0.0.1:{other}\" to the rule"
    );
    assert!(failed.lines().any(|line| line == told), "{failed}");
    assert_eq!(failed.lines().count(), 4, "{failed}");
}

/// A name of this machine, by which it is looked up outside and reached inside.
#[tokio::test]
async fn localhost_and_low_ports_are_names_of_this_machine() {
    let port = echo().await;
    let script = format!(
        r#"
s, status = tunnel("localhost:{port}")
print("tunnel", status, talk(s))
print("itself", talk(dial("127.0.0.1:{port}")))
print("low", bool(dial("127.0.0.1:7")))
"#
    );
    // Nobody listens on the low port, but it is there for the command.
    let hosts = [format!("localhost:{port}"), "127.0.0.1:7".to_owned()];
    let (said, failed) = says(&hosts, &script).await;
    assert_eq!(
        said, "tunnel 200 hello\nitself hello\nlow True\n",
        "{failed}"
    );
}

#[tokio::test]
async fn the_way_out_ends_with_the_command() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let to = listener.local_addr().expect("an address").to_string();
    // What is sent is on its way only once it was answered: the way out ends with the command.
    let script = format!(
        "a, _ = tunnel('{to}')\nb = dial('{to}')\nfor s in a, b:\n    s.send(b'x')\n    s.recv(1)\n"
    );
    // By itself, although something of it would stay; and because nobody wants it any more.
    for (ending, kept) in [("os._exit(0)", true), ("signal.pause()", false)] {
        let stay = "if os.fork() == 0: signal.pause()\n";
        let script = format!("{script}{}{ending}", if kept { stay } else { "" });
        let job = start(std::slice::from_ref(&to), &script).await;
        let mut connections = Vec::new();
        for _ in 0..2 {
            connections.push(reached(&listener).await);
        }
        let job = Some(job).filter(|_| kept);
        for mut connection in connections {
            let mut rest = Vec::new();
            let gone = tokio::time::timeout(LIMIT, connection.read_to_end(&mut rest));
            let _reset = gone.await.expect("it ends with the command");
            assert!(rest.is_empty(), "{rest:?}");
        }
        drop(job);
    }
}

/// The next connection, once something came on it.
async fn reached(listener: &TcpListener) -> TcpStream {
    let reached = async {
        let (mut stream, _) = listener.accept().await.expect("accepted");
        stream.read_u8().await.expect("it says something");
        stream.write_all(b"x").await.expect("written");
        stream
    };
    tokio::time::timeout(LIMIT, reached).await.expect("reached")
}

#[tokio::test]
async fn who_answers_has_no_rights() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let to = listener.local_addr().expect("an address").to_string();
    let script = format!("s, _ = tunnel('{to}')\ns.send(b'a')\nsignal.pause()");
    let job = start(std::slice::from_ref(&to), &script).await;
    let _reached = reached(&listener).await;
    // Who looks names up for it are threads of its own.
    let threads = way_outs(std::process::id());
    assert!(!threads.is_empty());
    for (status, line) in threads.iter().flat_map(|status| {
        [
            "CapEff:\t0000000000000000",
            "CapBnd:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
        ]
        .map(|line| (status, line))
    }) {
        assert!(
            status.lines().any(|found| found == line),
            "{line}: {status}"
        );
    }
    drop(job);
}

/// The status of the threads of a process's descendants that lead out.
fn way_outs(ancestor: u32) -> Vec<String> {
    let status = |of: PathBuf| std::fs::read_to_string(of.join("status")).unwrap_or_default();
    let field = |status: &str, name: &str| -> Option<u32> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    let folders = |of: &str| {
        let entries = std::fs::read_dir(of).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let all: Vec<(u32, u32)> = folders("/proc")
        .into_iter()
        .map(status)
        .filter_map(|status| Some((field(&status, "Pid:")?, field(&status, "PPid:")?)))
        .collect();
    let (mut family, mut next) = (vec![ancestor], 0);
    while let Some(parent) = family.get(next).copied() {
        let children = all.iter().filter(|(_, of)| *of == parent);
        family.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    let threads = family
        .iter()
        .flat_map(|pid| folders(&format!("/proc/{pid}/task")));
    threads
        .map(status)
        .filter(|status| status.starts_with("Name:\tway-out\n"))
        .collect()
}
