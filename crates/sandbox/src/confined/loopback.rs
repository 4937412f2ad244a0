//! A loopback interface that works: tests of many projects listen on one.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// `RTM_NEWLINK` (rtnetlink(7)).
const NEW_LINK: u16 = 16;
/// `NLM_F_REQUEST | NLM_F_ACK` (netlink(7)).
const REQUEST: u16 = 0x5;
/// `NLMSG_ERROR`, which also says that all is well.
const ANSWER: u16 = 2;
/// `IFF_UP`.
const UP: u32 = 1;
/// The first interface of a network namespace is its loopback.
const LOOPBACK: i32 = 1;

pub(super) fn up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // nlmsghdr, then ifinfomsg.
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &message, SendFlags::empty(), &kernel)?;
    let mut answer = [0_u8; 512];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    let field = |from: usize| answer.get(from..from + 4)?.try_into().ok();
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    let error = field(16).map(i32::from_ne_bytes);
    match (kind, error) {
        (ANSWER, Some(0)) if length >= 20 => Ok(()),
        (ANSWER, Some(error)) => Err(io::Error::from_raw_os_error(-error)),
        _ => Err(io::Error::other("the kernel gave no answer")),
    }
}
