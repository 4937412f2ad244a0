//! The socket between the outer process and the inner one.
//!
//! It is the inner one's standard input at first: so it inherits nothing beyond the
//! three standard descriptors, and what the command reads comes over it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// Most descriptors of one message; the kernel takes 253.
pub(super) const DESCRIPTORS_MAX: usize = 200;

/// Hands descriptors over in one message.
pub(super) fn send(to: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors"));
    }
    let flags = SendFlags::NOSIGNAL;
    rustix::net::sendmsg(to, &[IoSlice::new(b"D")], &mut ancillary, flags)?;
    Ok(())
}

/// Takes the descriptors of one message, in the order in which they were sent; none
/// where the other side is gone.
pub(super) fn receive(from: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let mut into = [IoSliceMut::new(&mut byte)];
    rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(&from, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let messages = ancillary.drain();
    let descriptors = messages.filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(descriptors.flatten().collect())
}

/// In the inner process: puts what the command reads in its place, and gives back the
/// socket that was there.
pub(super) fn take() -> io::Result<OwnedFd> {
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let input = receive(&control)?.pop();
    let input = input.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    rustix::stdio::dup2_stdin(&input)?;
    Ok(control)
}
