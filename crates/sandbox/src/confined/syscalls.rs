//! Calls that a command has no use for and that break walls.
//!
//! The list names what is forbidden. One that names what is allowed would stop
//! ordinary build tools whenever a library begins to use a new call; what the
//! namespaces and Landlock hold does not hang on it.

use std::collections::BTreeMap;

use libc as c;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::NoWall;

/// Never, whatever their arguments.
const FORBIDDEN: &[i64] = &[
    // Into other processes.
    c::SYS_ptrace,
    c::SYS_process_vm_readv,
    c::SYS_process_vm_writev,
    c::SYS_process_madvise,
    c::SYS_pidfd_getfd,
    c::SYS_kcmp,
    // File systems and namespaces.
    c::SYS_mount,
    c::SYS_umount2,
    c::SYS_pivot_root,
    c::SYS_chroot,
    c::SYS_move_mount,
    c::SYS_open_tree,
    c::SYS_fsopen,
    c::SYS_fsconfig,
    c::SYS_fsmount,
    c::SYS_fspick,
    c::SYS_mount_setattr,
    c::SYS_unshare,
    c::SYS_setns,
    c::SYS_open_by_handle_at,
    c::SYS_name_to_handle_at,
    c::SYS_fanotify_init,
    c::SYS_quotactl,
    c::SYS_quotactl_fd,
    // Keys of the user.
    c::SYS_keyctl,
    c::SYS_add_key,
    c::SYS_request_key,
    // Wide doors into the kernel.
    c::SYS_bpf,
    c::SYS_userfaultfd,
    c::SYS_io_uring_setup,
    c::SYS_io_uring_enter,
    c::SYS_io_uring_register,
    c::SYS_perf_event_open,
    c::SYS_vmsplice,
    // The machine.
    c::SYS_init_module,
    c::SYS_finit_module,
    c::SYS_delete_module,
    c::SYS_kexec_load,
    c::SYS_reboot,
    c::SYS_swapon,
    c::SYS_swapoff,
    c::SYS_acct,
    c::SYS_syslog,
    c::SYS_settimeofday,
    c::SYS_clock_settime,
    c::SYS_adjtimex,
    c::SYS_clock_adjtime,
    c::SYS_personality,
    c::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    c::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    c::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    c::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    c::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    c::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    c::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    c::SYS_sysfs,
    #[cfg(target_arch = "x86_64")]
    c::SYS__sysctl,
];

/// New namespaces, by which a process gets capabilities over new ground.
const NAMESPACES: u64 = (c::CLONE_NEWUSER
    | c::CLONE_NEWNS
    | c::CLONE_NEWPID
    | c::CLONE_NEWNET
    | c::CLONE_NEWIPC
    | c::CLONE_NEWUTS
    | c::CLONE_NEWCGROUP) as u64;

/// Typing into a terminal in somebody else's place (`TIOCSTI`, `TIOCLINUX`).
const TYPING: [u64; 2] = [c::TIOCSTI, 0x541C];

/// What sockets are for: this machine's, the internet's, and the list of
/// interfaces. Others reach the kernel, or a host beyond any network namespace
/// (`AF_VSOCK`).
const SOCKETS: [u64; 4] = [
    c::AF_UNIX as u64,
    c::AF_INET as u64,
    c::AF_INET6 as u64,
    c::AF_NETLINK as u64,
];

/// The second set of numbers that a 64-bit x86 kernel may have (x32).
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERS: Option<i64> = None;

/// What has a number of its own there: ptrace, kexec_load, vmsplice,
/// process_vm_readv and process_vm_writev; then ioctl.
const OTHER_FORBIDDEN: [i64; 5] = [521, 528, 532, 539, 540];
const OTHER_IOCTL: i64 = 514;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Forbids them to this process and all that it starts.
pub(super) fn forbid() -> Result<(), NoWall> {
    let denied = SeccompAction::Errno(c::EPERM as u32);
    install(denied_calls()?, denied)?;
    // Its arguments lie in memory, which a filter does not see. Libraries do
    // without it where a kernel does not have it.
    let unknown = Rules::from([(c::SYS_clone3, Vec::new())]);
    install(unknown, SeccompAction::Errno(c::ENOSYS as u32))
}

fn denied_calls() -> Result<Rules, NoWall> {
    let mut rules: Rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let flags = condition(0, SeccompCmpArgLen::Qword, |bit| {
        SeccompCmpOp::MaskedEq(bit)
    });
    let bits = (0..64)
        .map(|bit| 1_u64 << bit)
        .filter(|bit| NAMESPACES & bit != 0);
    let with_namespace = bits.map(|bit| flags(bit).and_then(|one| rule(vec![one])));
    rules.insert(c::SYS_clone, with_namespace.collect::<Result<_, _>>()?);
    let request = condition(1, SeccompCmpArgLen::Dword, |_| SeccompCmpOp::Eq);
    let typing = TYPING
        .iter()
        .map(|number| request(*number).and_then(|one| rule(vec![one])));
    rules.insert(c::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    let family = condition(0, SeccompCmpArgLen::Dword, |_| SeccompCmpOp::Ne);
    let other = SOCKETS.iter().map(|number| family(*number));
    let other = rule(other.collect::<Result<_, _>>()?)?;
    rules.insert(c::SYS_socket, vec![other]);
    if let Some(offset) = OTHER_NUMBERS {
        let again: Vec<_> = rules
            .iter()
            .map(|(call, rules)| (call + offset, rules.clone()))
            .collect();
        rules.extend(again);
        if let Some(typing) = rules.get(&c::SYS_ioctl).cloned() {
            rules.insert(OTHER_IOCTL + offset, typing);
        }
        rules.extend(OTHER_FORBIDDEN.map(|call| (call + offset, Vec::new())));
        rules.insert(c::SYS_clone3 + offset, Vec::new());
    }
    Ok(rules)
}

fn install(rules: Rules, action: SeccompAction) -> Result<(), NoWall> {
    let what = "filtering system calls";
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(NoWall::new(what))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
    let filter = filter.map_err(NoWall::new(what))?;
    let program = BpfProgram::try_from(filter).map_err(NoWall::new(what))?;
    seccompiler::apply_filter(&program).map_err(NoWall::new(what))
}

/// A condition on one argument, still without its value.
fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    compare: impl Fn(u64) -> SeccompCmpOp,
) -> impl Fn(u64) -> Result<SeccompCondition, NoWall> {
    move |value| {
        SeccompCondition::new(argument, length.clone(), compare(value), value)
            .map_err(NoWall::new("filtering system calls"))
    }
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, NoWall> {
    SeccompRule::new(conditions).map_err(NoWall::new("filtering system calls"))
}
