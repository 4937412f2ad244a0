//! Confined commands, with real processes: what they must not reach they do
//! not reach.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use legation_core::process::{GuardPath, OnceSpec, run_to_end};
use legation_sandbox::{Availability, Confinement, HOME, Network, Sandbox, Task};
use tokio::io::AsyncReadExt as _;

/// Far more than any machine needs; only a failing test waits this long.
const LIMIT: Duration = Duration::from_secs(60);

fn helper() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(|deps| deps.parent());
    target
        .expect("a test lies in deps/")
        .join("examples/confined")
}

fn sandbox() -> Sandbox {
    Sandbox::new(GuardPath {
        program: helper(),
        args: vec![OsString::from("guard")],
    })
}

/// A folder to work in, the hub's data in it, and a file beside it.
struct Stand {
    top: PathBuf,
    confinement: Confinement,
    _folder: tempfile::TempDir,
}

impl Stand {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("a path");
        let work = top.join("work");
        let home = work.join(".legation");
        fs::create_dir_all(&home).expect("made");
        fs::write(home.join("token"), "the owner's token").expect("written");
        fs::write(top.join("outside"), "outside").expect("written");
        let confinement = Confinement {
            folder: work,
            hidden: vec![home],
            read: Vec::new(),
            write: Vec::new(),
            network: Network::None,
            processes: 400,
            scratch_bytes: 4 << 20,
            memory_bytes: None,
        };
        Self {
            top,
            confinement,
            _folder: folder,
        }
    }

    fn work(&self) -> &Path {
        &self.confinement.folder
    }

    fn task(&self, command: &str) -> Task {
        Task {
            program: "/bin/bash".into(),
            args: vec!["-c".into(), command.into()],
            cwd: self.work().to_owned(),
            input: false,
            merged: true,
        }
    }

    /// What a command says, and its exit code.
    async fn run(&self, command: &str) -> (String, Option<i32>) {
        let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", HOME)];
        let env = env.map(|(name, value)| (name.into(), value.into()));
        let sandbox = sandbox();
        let started = sandbox.start(self.confinement.clone(), self.task(command), env.into());
        let mut job = started.await.expect("started");
        let (mut said, mut failed) = (Vec::new(), String::new());
        let mut stdout = job.take_output().expect("an output");
        let mut stderr = job.take_errors().expect("errors");
        let whole = async {
            stdout.read_to_end(&mut said).await.expect("read");
            stderr.read_to_string(&mut failed).await.expect("read");
            job.wait().await
        };
        let exit = tokio::time::timeout(LIMIT, whole).await.expect("it ends");
        assert_eq!(failed, "", "{command}");
        let said = String::from_utf8_lossy(&said).into_owned();
        (said, exit.code.or(exit.signal.map(|signal| 128 + signal)))
    }

    /// A file that describes a command to the program that confines it.
    fn described(&self, command: &str) -> PathBuf {
        let confinement = &self.confinement;
        let description = serde_json::json!({
            "confinement": confinement,
            "task": {
                "program": "/bin/bash",
                "args": [{"Unix": b"-c".to_vec()}, {"Unix": command.as_bytes()}],
                "cwd": self.work(), "input": false, "merged": true,
            },
        });
        let text = description.to_string().into_bytes();
        let length = u32::try_from(text.len()).expect("short").to_le_bytes();
        let file = self.top.join("description");
        fs::write(&file, [&length[..], &text, &length, &text].concat()).expect("written");
        file
    }

    async fn says(&self, command: &str) -> String {
        self.run(command).await.0
    }

    /// No command of these does what it wants.
    async fn none_succeeds(&self, commands: &[String]) {
        for command in commands {
            let (said, code) = self.run(command).await;
            assert_ne!(code, Some(0), "{command}: {said}");
            assert!(!said.contains("owner's token"), "{command}: {said}");
        }
    }
}

#[tokio::test]
async fn it_can_be_tried_out() {
    let stand = Stand::new();
    let found = sandbox().try_out(stand.work(), Vec::new()).await;
    assert_eq!(found, Availability::Yes);
    let sandbox = sandbox();
    let nowhere = sandbox.try_out(Path::new("/nowhere/at/all"), Vec::new());
    let Availability::No { why } = nowhere.await else {
        panic!("a folder that is not there cannot be bound");
    };
    assert!(why.contains("binding /nowhere/at/all"), "{why}");
}

#[tokio::test]
async fn a_command_works_in_its_folder() {
    let stand = Stand::new();
    fs::write(stand.work().join("in.txt"), "hello\n").expect("written");
    let said = stand
        .run("cat in.txt; echo made > out.txt; pwd; echo oops >&2; exit 7")
        .await;
    let wanted = format!("hello\n{}\noops\n", stand.work().display());
    assert_eq!(said, (wanted, Some(7)));
    let made = fs::read_to_string(stand.work().join("out.txt")).expect("there");
    assert_eq!(made, "made\n");
    assert_eq!(stand.run("kill -TERM $$").await.1, Some(143));
    let user = rustix::process::getuid().as_raw();
    let command = "ls -A ~ | wc -l; echo a > ~/x && cat ~/x; id -u; cat /proc/sys/kernel/hostname";
    assert_eq!(
        stand.says(command).await,
        format!("0\na\n{user}\nsandbox\n")
    );
    // Nothing of it is there at the next one, and nobody types.
    let command = "ls ~/x 2>/dev/null; cat; echo end";
    assert_eq!(stand.says(command).await, "end\n");
    // Substitutions are pipes behind /dev/fd.
    let command = "cat <(echo one) <(echo two) > /dev/stdout";
    assert_eq!(stand.says(command).await, "one\ntwo\n");
}

#[tokio::test]
async fn nothing_but_the_folder_can_be_read_or_changed() {
    let stand = Stand::new();
    symlink("../outside", stand.work().join("link")).expect("linked");
    symlink("/", stand.work().join("root")).expect("linked");
    let outside = stand.top.join("outside");
    let outside = outside.display();
    let commands = [
        "cat ../outside".to_owned(),
        format!("cat {outside}"),
        "cat link".to_owned(),
        format!("cat root{outside}"),
        format!("cat /proc/self/root{outside}"),
        format!("cat /proc/1/root{outside}"),
        format!("cat /proc/1/cwd/../{outside}"),
        "cat .legation/token".to_owned(),
        "touch .legation/x".to_owned(),
        "mv .legation elsewhere".to_owned(),
        "touch /usr/bin/x".to_owned(),
        "touch /x".to_owned(),
        "touch /etc/x".to_owned(),
        "cat /etc/shadow | grep .".to_owned(),
        "echo 1 > /proc/sys/kernel/hostname".to_owned(),
        // The modes that they have.
        "chmod 666 /dev/null".to_owned(),
        "chmod 444 /proc/version".to_owned(),
        "ls -A /root /home /var/lib /run 2>/dev/null | grep -v '^/\\|^$'".to_owned(),
        "ls /sys | grep .".to_owned(),
        "cat /dev/mem".to_owned(),
        "mknod x b 8 0 && cat x".to_owned(),
        "mknod y c 1 1 && cat y".to_owned(),
        "chroot / true".to_owned(),
        "mount -t tmpfs x /tmp".to_owned(),
        "umount .legation".to_owned(),
        "unshare -Ur true".to_owned(),
        "unshare -m true".to_owned(),
        "nsenter -t 1 -m true".to_owned(),
    ];
    stand.none_succeeds(&commands).await;
    let now = fs::read_to_string(stand.top.join("outside")).expect("there");
    assert_eq!(now, "outside");
    let token = fs::read_to_string(stand.work().join(".legation/token")).expect("there");
    assert_eq!(token, "the owner's token");
}

#[tokio::test]
async fn what_is_given_is_seen_and_changed_as_it_is_given() {
    let mut stand = Stand::new();
    let top = stand.top.clone();
    for name in ["tools", "cache"] {
        fs::create_dir(top.join(name)).expect("made");
        fs::write(top.join(name).join("f"), name).expect("written");
    }
    stand.confinement.read = vec![top.join("tools")];
    stand.confinement.write = vec![top.join("cache")];
    let said = stand
        .run("cat ../tools/f ../cache/f && echo x > ../cache/f")
        .await;
    assert_eq!(said, ("toolscache".to_owned(), Some(0)));
    stand
        .none_succeeds(&["echo x > ../tools/f".to_owned()])
        .await;
    let cached = fs::read_to_string(top.join("cache/f")).expect("there");
    assert_eq!(cached, "x\n");
}

#[tokio::test]
async fn what_is_mounted_below_is_closed_too() {
    let mut stand = Stand::new();
    let tools = stand.top.join("tools");
    let (read, written) = (tools.join("a b"), stand.work().join("sub"));
    for folder in [&read, &written] {
        fs::create_dir_all(folder).expect("made");
    }
    stand.confinement.read = vec![tools];
    let file = stand.described("cut -d' ' -f5,6 /proc/self/mountinfo; echo x > sub/x && cat sub/x");
    let mount = format!(
        "for at in '{}' '{}'; do mount -t tmpfs none \"$at\" || exit 9; done; exec {} __confined < {}",
        read.display(),
        written.display(),
        helper().display(),
        file.display()
    );
    let (said, errors) = shell(format!(
        "exec unshare --user --map-root-user --mount sh -c '{}'",
        mount.replace('\'', "'\\''")
    ));
    let flags = |end: &str| -> Vec<&str> {
        let line = said.lines().find(|line| {
            let point = line.split(' ').next().unwrap_or_default();
            point.ends_with(end)
        });
        let flags = line.and_then(|line| line.split(' ').nth(1));
        let flags = flags.unwrap_or_else(|| panic!("{end}: {said}{errors}"));
        flags.split(',').collect()
    };
    for (end, access) in [("/tools/a\\040b", "ro"), ("/work/sub", "rw")] {
        for flag in [access, "nosuid", "nodev"] {
            assert!(flags(end).contains(&flag), "{end}: {flag}: {said}");
        }
    }
    assert!(said.ends_with("x\n"), "{said}{errors}");
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let stand = Stand::new();
    let own = std::process::id();
    let said = stand.says("ls /proc | grep -c '^[0-9]'").await;
    let seen: u32 = said.trim().parse().expect("a number");
    assert!(seen <= 8, "{said}");
    let trace =
        "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, 1, 0, 0) != 0)'";
    let commands = [
        format!("kill -0 {own}"),
        "cat /proc/1/mem".to_owned(),
        "chmod u+x /proc/1/exe".to_owned(),
        "echo x > /proc/1/fd/2".to_owned(),
        trace.to_owned(),
    ];
    stand.none_succeeds(&commands).await;
    let said = stand
        .says("cat /proc/*/environ | tr '\\0' '\\n' | sort -u")
        .await;
    assert!(said.contains("HOME=") && !said.contains("CARGO"), "{said}");
}

#[tokio::test]
async fn the_network_is_its_own() {
    let stand = Stand::new();
    let listens = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listens.local_addr().expect("an address").port();
    let beside = stand.top.join("hub.sock");
    let _beside = UnixListener::bind(&beside).expect("bound");
    let hidden = stand.work().join(".legation/mcp.sock");
    let _hidden = UnixListener::bind(&hidden).expect("bound");
    let name = format!("legation-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let _nameless = UnixListener::bind_addr(&address).expect("bound");
    let unix = |address: &str| {
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{address}\")'")
    };
    let commands = [
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}"),
        "exec 3<>/dev/tcp/192.0.2.1/80".to_owned(),
        unix(&beside.display().to_string()),
        unix(&hidden.display().to_string()),
        unix(&format!("\\0{name}")),
        // Around every namespace of the network.
        "python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'".to_owned(),
        "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'".to_owned(),
    ];
    stand.none_succeeds(&commands).await;
    // Its own loopback works, for tests that listen.
    let talk = "python3 -c 'import socket\na = socket.create_server((\"127.0.0.1\", 0))\nsocket.create_connection(a.getsockname())\nprint(\"talked\")'";
    assert_eq!(stand.says(talk).await, "talked\n");
    let mut open = stand;
    open.confinement.network = Network::Host;
    let said = open
        .run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo $?"))
        .await;
    assert_eq!(said, ("0\n".to_owned(), Some(0)));
    open.none_succeeds(&commands[2..5]).await;
}

#[tokio::test]
async fn calls_that_break_walls_are_refused() {
    let stand = Stand::new();
    // keyctl, bpf, userfaultfd, io_uring_setup, perf_event_open; then clone3, which libraries do without.
    let calls = if cfg!(target_arch = "x86_64") {
        [250, 321, 323, 425, 298, 435]
    } else {
        [219, 280, 282, 425, 241, 435]
    };
    for call in calls {
        let script = format!(
            "python3 -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall({call}, 0, 0, 0, 0, 0), ctypes.get_errno())'"
        );
        let wanted = if call == 435 { "-1 38\n" } else { "-1 1\n" };
        assert_eq!(stand.says(&script).await, wanted, "call {call}");
    }
    let typing = "python3 -c 'import fcntl, termios, os\nfcntl.ioctl(1, termios.TIOCSTI, b\"x\")'";
    let said = stand.says(typing).await;
    assert!(said.contains("Operation not permitted"), "{said}");
    let status =
        "grep -E '^(NoNewPrivs|CapEff|CapBnd|Seccomp):' /proc/self/status | tr -s '\\t\\n' ' '";
    assert_eq!(
        stand.says(status).await,
        "CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 "
    );
}

#[tokio::test]
async fn nothing_is_left_of_a_command() {
    let stand = Stand::new();
    let mark = format!("legation-left-{}", std::process::id());
    let script = format!(
        "(setsid bash -c 'exec -a {mark} sleep 300' &); nohup bash -c 'exec -a {mark} sleep 300' >/dev/null 2>&1 & echo end"
    );
    assert_eq!(stand.says(&script).await, "end\n");
    assert_eq!(named(&mark), 0);
    // Nor of one that nobody waits for.
    let task = stand.task(&format!("echo on; exec -a {mark} sleep 300"));
    let env = vec![(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))];
    let sandbox = sandbox();
    let started = sandbox.start(stand.confinement.clone(), task, env);
    let mut job = started.await.expect("started");
    let mut first = [0; 3];
    let mut stdout = job.take_output().expect("an output");
    stdout
        .read_exact(&mut first)
        .await
        .expect("it says something");
    drop(job);
    let mut rest = Vec::new();
    let gone = tokio::time::timeout(LIMIT, stdout.read_to_end(&mut rest));
    gone.await
        .expect("it ends with its job")
        .expect("the pipe ends");
}

/// Living processes of that name.
fn named(mark: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("Linux has /proc").flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| line.starts_with(mark.as_bytes()))
        .count()
}

#[tokio::test]
async fn neither_processes_nor_memory_are_used_up() {
    let stand = Stand::new();
    let many = "python3 -c 'import os, signal\nfor n in range(5000):\n  try:\n    if os.fork() == 0:\n      signal.pause(); os._exit(0)\n  except OSError:\n    print(\"refused\", flush=True); os._exit(0)\nprint(\"all\")'";
    let (said, code) = stand.run(many).await;
    // Refused, or ended where the kernel bounds nothing.
    assert!(said == "refused\n" || code == Some(137), "{said} {code:?}");
    let fill = "head -c 64M /dev/zero > /tmp/full; stat -c %s /tmp/full";
    let said = stand.says(fill).await;
    let bytes = said
        .lines()
        .last()
        .and_then(|line| line.parse::<u64>().ok());
    assert!(bytes.is_some_and(|bytes| bytes <= 4 << 20), "{said}");
}

#[tokio::test]
async fn an_ordinary_user_has_the_same_walls() {
    if !rustix::process::getuid().is_root() {
        // Every other test ran as one.
        return;
    }
    let stand = Stand::new();
    // The program must be one that the user can read.
    let program = stand.top.join("confined");
    fs::copy(helper(), &program).expect("copied");
    for path in [&stand.top, stand.work(), &program] {
        let all = fs::Permissions::from_mode(0o777);
        fs::set_permissions(path, all).expect("opened");
    }
    let script = "id -u; cat ../outside; touch /etc/x; cat .legation/token; echo made > made; unshare -Ur true; grep -q . /etc/passwd && echo read";
    let file = stand.described(script);
    let command = format!(
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups {} __confined < {}",
        program.display(),
        file.display()
    );
    let (said, errors) = shell(command);
    let first_and_last = said.starts_with("65534\n") && said.ends_with("read\n");
    assert!(first_and_last, "{said}\n{errors}");
    assert!(!said.contains("owner's token"), "{said}");
    assert_eq!(
        said.matches("No such file or directory").count(),
        1,
        "{said}"
    );
    let made = fs::read_to_string(stand.work().join("made")).expect("there");
    assert_eq!(made, "made\n");
    assert!(!Path::new("/etc/x").exists());
}

/// What a command of the shell's says, and what it complains about.
fn shell(command: String) -> (String, String) {
    let ran = run_to_end(&OnceSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: Some("/".into()),
        timeout: LIMIT,
        keep: 64 << 10,
    })
    .expect("it ran");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&ran.stdout), text(&ran.stderr))
}
