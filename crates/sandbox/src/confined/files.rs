//! The file system that a command sees.
//!
//! A new root in memory, into which is bound what the command may see, each at
//! the path that it has outside, so that messages with paths are true on both
//! sides. What is not bound is not there: no home folders, no sockets of
//! services, none of the hub's data.

use std::ffi::{CString, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};

use super::NoWall;
use crate::spec::{Confinement, HOME, SYSTEM};

/// What a hub that runs as root could read there, and a command must not.
const MASKED: [&str; 19] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/ipsec.secrets",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/credstore",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/ssh",
];
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Where the new root is put together.
const NEW: &str = "/new";
/// What was the root until then.
const OLD: &str = "/old";

/// What is where, by what may be done there.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) devices: Vec<PathBuf>,
}

// === impl Places ===

impl Places {
    /// Whether what is mounted below one of them may be written to; `None` for the places
    /// themselves and for what is below none.
    fn is_writable_below(&self, path: &Path) -> Option<bool> {
        let all = self.write.iter().map(|place| (place, true));
        let all = all.chain(self.read.iter().map(|place| (place, false)));
        let nearest = all
            .filter(|(place, _)| path.starts_with(place))
            .max_by_key(|(place, _)| place.components().count());
        nearest
            .filter(|(place, _)| *place != path)
            .map(|(_, writable)| writable)
    }
}

/// Builds it and makes it this process's root.
pub(super) fn build(confinement: &Confinement) -> Result<Places, NoWall> {
    stand_aside()?;
    let mut places = Places::default();
    for path in SYSTEM {
        bind_system(Path::new(path), &mut places)?;
    }
    mask()?;
    devices(&mut places)?;
    scratch(confinement, &mut places)?;
    let proc = inside(Path::new("/proc"));
    make_folder(&proc)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", &proc, "proc", flags, None).map_err(NoWall::new("mounting /proc"))?;
    places.read.push("/proc".into());
    for path in &confinement.read {
        bind(path, false)?;
        places.read.push(path.clone());
    }
    let folder = Some(&confinement.folder).filter(|path| !path.as_os_str().is_empty());
    for path in confinement.write.iter().chain(folder) {
        bind(path, true)?;
        places.write.push(path.clone());
    }
    close_below(&places)?;
    for path in &confinement.hidden {
        hide(path)?;
    }
    enter()?;
    Ok(places)
}

/// Puts the system's root below a new one, next to a place for the command's.
fn stand_aside() -> Result<(), NoWall> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", private).map_err(NoWall::new("separating mounts"))?;
    let base = "/tmp";
    tmpfs(
        Path::new(base),
        "size=1m,nr_inodes=64,mode=0755",
        MountFlags::empty(),
    )?;
    std::env::set_current_dir(base).map_err(NoWall::new("entering a new root"))?;
    make_folder(Path::new("old"))?;
    make_folder(Path::new("new"))?;
    rustix::process::pivot_root(".", "old").map_err(NoWall::new("changing the root"))?;
    std::env::set_current_dir("/").map_err(NoWall::new("entering a new root"))?;
    tmpfs(
        Path::new(NEW),
        "size=4m,nr_inodes=4096,mode=0755",
        MountFlags::empty(),
    )
}

/// Makes what was put together the root, and lets go of everything else.
fn enter() -> Result<(), NoWall> {
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    mount_remount(NEW, MountFlags::BIND | flags, c"").map_err(NoWall::new("closing the root"))?;
    unmount(OLD, UnmountFlags::DETACH).map_err(NoWall::new("leaving the old root"))?;
    std::env::set_current_dir(NEW).map_err(NoWall::new("entering the root"))?;
    rustix::process::pivot_root(".", ".").map_err(NoWall::new("changing the root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(NoWall::new("leaving the base"))?;
    std::env::set_current_dir("/").map_err(NoWall::new("entering the root"))
}

/// A folder of the system: bound, or the link that it is on many systems.
fn bind_system(path: &Path, places: &mut Places) -> Result<(), NoWall> {
    let Ok(found) = fs::symlink_metadata(outside(path)) else {
        return Ok(());
    };
    if found.is_symlink() {
        let what = || format!("linking {}", path.display());
        let target = fs::read_link(outside(path)).map_err(NoWall::new(what()))?;
        if let Some(parent) = inside(path).parent() {
            make_folder(parent)?;
        }
        return symlink(target, inside(path)).map_err(NoWall::new(what()));
    }
    if !found.is_dir() {
        return Ok(());
    }
    bind(path, false)?;
    places.read.push(path.to_owned());
    Ok(())
}

/// Lets a folder or a file be seen at its own path.
fn bind(path: &Path, writable: bool) -> Result<(), NoWall> {
    let what = |verb: &str| format!("{verb} {}", path.display());
    let target = inside(path);
    if outside(path).is_file() {
        if let Some(folder) = target.parent() {
            make_folder(folder)?;
        }
        // It may be there already, in a folder that was bound before.
        if !target.exists() {
            fs::write(&target, "").map_err(NoWall::new(what("making")))?;
        }
    } else {
        make_folder(&target)?;
    }
    mount_bind_recursive(outside(path), &target).map_err(NoWall::new(what("binding")))?;
    close(&target, taken(writable)).map_err(NoWall::new(what("closing")))
}

/// What is taken from a mount that is bound.
fn taken(writable: bool) -> MountFlags {
    let taken = MountFlags::NOSUID | MountFlags::NODEV;
    match writable {
        true => taken,
        false => taken | MountFlags::RDONLY,
    }
}

/// Closes what is mounted below what was bound: it came along with what it could do before.
fn close_below(places: &Places) -> Result<(), NoWall> {
    let list = inside(Path::new("/proc/self/mountinfo"));
    let list = fs::read(list).map_err(NoWall::new("reading what is mounted"))?;
    for target in list.split(|byte| *byte == b'\n').filter_map(mount_point) {
        let Ok(path) = target.strip_prefix(NEW) else {
            continue;
        };
        let path = Path::new("/").join(path);
        let is_closed = MASKED.map(Path::new).contains(&path.as_path());
        let Some(writable) = places.is_writable_below(&path).filter(|_| !is_closed) else {
            continue;
        };
        match close(&target, taken(writable)) {
            // Something else is mounted over it, or nobody may go there: the command neither.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
            Err(error) => {
                return Err(NoWall::new(format!("closing {}", path.display()))(error));
            }
        }
    }
    Ok(())
}

/// Where a line of `mountinfo` says that something is mounted, as proc_pid_mountinfo(5) has it.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.get(..3).filter(|_| byte == b'\\');
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &after[3..];
            }
            None => {
                path.push(byte);
                rest = after;
            }
        }
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// Takes the right to change modes in `/proc`: some count outside as well.
pub(super) fn close_proc() -> Result<(), NoWall> {
    let taken = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    close(Path::new("/proc"), taken).map_err(NoWall::new("closing /proc"))
}

/// Takes from a mount what it need not have. What it has not got already must
/// stay so, or the kernel refuses.
fn close(target: &Path, taken: MountFlags) -> rustix::io::Result<()> {
    let mut flags = MountFlags::BIND | taken;
    let has = statvfs(target)?.f_flag;
    for (is, flag) in [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if has.contains(is) {
            flags |= flag;
        }
    }
    mount_remount(target, flags, c"")
}

fn mask() -> Result<(), NoWall> {
    for path in MASKED.map(Path::new) {
        let target = inside(path);
        // A link is bound where it leads, which may be out of here.
        let Ok(found) = fs::symlink_metadata(&target) else {
            continue;
        };
        if found.is_dir() {
            tmpfs(&target, "size=4k,nr_inodes=2,mode=0555", MountFlags::RDONLY)?;
        } else if found.is_file() {
            let what = || format!("masking {}", path.display());
            mount_bind_recursive(outside(Path::new("/dev/null")), &target)
                .map_err(NoWall::new(what()))?;
            close(&target, MountFlags::RDONLY | MountFlags::NOSUID).map_err(NoWall::new(what()))?;
        }
    }
    Ok(())
}

fn devices(places: &mut Places) -> Result<(), NoWall> {
    let folder = Path::new("/dev");
    make_folder(&inside(folder))?;
    for name in DEVICES {
        let path = folder.join(name);
        let what = || format!("binding {}", path.display());
        fs::write(inside(&path), "").map_err(NoWall::new(what()))?;
        mount_bind_recursive(outside(&path), inside(&path)).map_err(NoWall::new(what()))?;
        // A device can be written to all the same; its mode cannot be changed.
        close(&inside(&path), MountFlags::RDONLY | MountFlags::NOSUID)
            .map_err(NoWall::new(what()))?;
        places.devices.push(path);
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, inside(&folder.join(name))).map_err(NoWall::new("linking /dev"))?;
    }
    Ok(())
}

/// What the command may fill: it is in memory and ends with it.
fn scratch(confinement: &Confinement, places: &mut Places) -> Result<(), NoWall> {
    let bytes = confinement.scratch_bytes;
    for path in ["/tmp", "/dev/shm"].map(Path::new) {
        make_folder(&inside(path))?;
        let options = format!("size={bytes},nr_inodes=65536,mode=1777");
        tmpfs(
            &inside(path),
            &options,
            MountFlags::NOSUID | MountFlags::NODEV,
        )?;
        places.write.push(path.to_owned());
    }
    make_folder(&inside(Path::new("/var")))?;
    symlink("/tmp", inside(Path::new("/var/tmp"))).map_err(NoWall::new("linking /var/tmp"))?;
    make_folder(&inside(Path::new("/run")))?;
    make_folder(&inside(Path::new(HOME)))
}

/// Puts an empty folder over what lies in something that is seen.
fn hide(path: &Path) -> Result<(), NoWall> {
    let target = inside(path);
    if !target.exists() {
        return Ok(());
    }
    tmpfs(&target, "size=4k,nr_inodes=2,mode=0000", MountFlags::RDONLY)
}

fn tmpfs(target: &Path, options: &str, flags: MountFlags) -> Result<(), NoWall> {
    let what = format!("mounting {}", target.display());
    let options = CString::new(options).map_err(NoWall::new(what.clone()))?;
    mount("tmpfs", target, "tmpfs", flags, options.as_c_str()).map_err(NoWall::new(what))
}

fn make_folder(path: &Path) -> Result<(), NoWall> {
    fs::create_dir_all(path).map_err(NoWall::new(format!("making {}", path.display())))
}

/// A path in the root that is put together.
fn inside(path: &Path) -> PathBuf {
    below(NEW, path)
}

/// A path in what was the root.
fn outside(path: &Path) -> PathBuf {
    below(OLD, path)
}

fn below(root: &str, path: &Path) -> PathBuf {
    let steps = path.components();
    let normal = steps.filter(|step| matches!(step, Component::Normal(_)));
    std::iter::once(Component::Normal(root.trim_start_matches('/').as_ref()))
        .chain(normal)
        .fold(PathBuf::from("/"), |path, step| path.join(step))
}
