//! Generic netlink, as far as the nbd driver needs it (include/uapi/linux/netlink.h, genetlink.h and nbd-netlink.h of
//! the kernel).
//!
//! The older interface, an ioctl that lasts as long as the device, keeps the device open. A file system's last close
//! would then not be the last one, and the kernel's cache of the device would outlive the unmount.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use anyhow::{Context, Result, bail};

const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLA_F_NESTED: u16 = 1 << 15;

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

const NBD_CMD_CONNECT: u8 = 1;
const NBD_ATTR_INDEX: u16 = 1;
const NBD_ATTR_SIZE_BYTES: u16 = 2;
const NBD_ATTR_BLOCK_SIZE_BYTES: u16 = 3;
const NBD_ATTR_SERVER_FLAGS: u16 = 5;
const NBD_ATTR_SOCKETS: u16 = 7;
const NBD_SOCK_ITEM: u16 = 1;
const NBD_SOCK_FD: u16 = 1;

/// Parameters of a new network block device.
pub(super) struct Connection<'a> {
    /// The N of /dev/nbdN, which must exist.
    pub index: u32,
    pub size: u64,
    /// Size of a logical block in bytes.
    pub block_size: u64,
    /// Server features: NBD_FLAG_*.
    pub flags: u64,
    /// The driver's end of the connection; the kernel keeps it open.
    pub socket: BorrowedFd<'a>,
}

/// Connects an nbd device without a process holding it open.
pub(super) fn connect(connection: &Connection) -> Result<()> {
    let netlink = open().context("cannot open a netlink socket")?;
    let family = family(&netlink, c"nbd".to_bytes_with_nul())
        .context("cannot ask for the netlink family of the kernel's nbd driver")?;
    let item = attribute(NBD_SOCK_FD, &connection.socket.as_raw_fd().to_ne_bytes());
    let sockets = attribute(NBD_SOCK_ITEM | NLA_F_NESTED, &item);
    let attributes = [
        attribute(NBD_ATTR_INDEX, &connection.index.to_ne_bytes()),
        attribute(NBD_ATTR_SIZE_BYTES, &connection.size.to_ne_bytes()),
        attribute(NBD_ATTR_BLOCK_SIZE_BYTES, &connection.block_size.to_ne_bytes()),
        attribute(NBD_ATTR_SERVER_FLAGS, &connection.flags.to_ne_bytes()),
        attribute(NBD_ATTR_SOCKETS | NLA_F_NESTED, &sockets),
    ];
    request(&netlink, family, NBD_CMD_CONNECT, &attributes.concat())
        .context("the nbd driver refused the connection")?;
    Ok(())
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: takes three numbers.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_GENERIC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor just made, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The number of a family; the kernel loads its module if it can.
fn family(netlink: &OwnedFd, name: &[u8]) -> Result<u16> {
    let answer = request(netlink, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, &attribute(CTRL_ATTR_FAMILY_NAME, name))?;
    let mut rest = answer.get(GENERIC_HEADER..).context("the answer is cut short")?;
    while let (Some(length), Some(kind)) = (word(rest, 0), word(rest, 2)) {
        if kind == CTRL_ATTR_FAMILY_ID {
            return word(rest, 4).context("the answer is cut short");
        }
        rest = rest.get(usize::from(length.max(4)).next_multiple_of(4)..).unwrap_or_default();
    }
    bail!("the answer has no number")
}

/// Sends a request and reads until it is acknowledged. Returns the reply that came before, without its netlink header.
fn request(netlink: &OwnedFd, kind: u16, command: u8, attributes: &[u8]) -> Result<Vec<u8>> {
    let length = HEADER + GENERIC_HEADER + attributes.len();
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    // Sequence number and port: only one request is under way, and the kernel fills in the port.
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend(attributes);
    // SAFETY: the buffer is valid for its length; a socket that is not connected sends to the kernel.
    let sent = unsafe { libc::send(netlink.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error().into());
    }
    let mut answer = Vec::new();
    loop {
        let mut buffer = [0; 8192];
        // SAFETY: the buffer is valid for its length.
        let read = unsafe { libc::recv(netlink.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
        let mut rest = &buffer[..read];
        while let Some((kind, body, after)) = message_of(rest) {
            if kind == NLMSG_ERROR {
                let code = body.get(..4).context("an acknowledgement is cut short")?;
                return match i32::from_ne_bytes(code.try_into().expect("four bytes")) {
                    0 => Ok(answer),
                    code => Err(io::Error::from_raw_os_error(-code).into()),
                };
            }
            answer = body.to_owned();
            rest = after;
        }
    }
}

/// Splits off the first message: its kind, its payload, and the remaining bytes.
fn message_of(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().expect("four bytes")) as usize;
    let body = bytes.get(HEADER..length)?;
    Some((word(bytes, 4)?, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().expect("two bytes")))
}

/// An attribute, padded to the next one's alignment.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = Vec::with_capacity(length.next_multiple_of(4));
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_end_on_a_boundary() {
        assert_eq!(attribute(2, b"nbd\0"), [8, 0, 2, 0, b'n', b'b', b'd', 0]);
        assert_eq!(attribute(7, &[1]), [5, 0, 7, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn the_kernel_knows_its_own_families() {
        let netlink = match open() {
            Ok(netlink) => netlink,
            Err(error) => return eprintln!("skipped: no netlink here: {error}"),
        };
        assert_eq!(family(&netlink, b"nlctrl\0").unwrap(), GENL_ID_CTRL);
        let error = family(&netlink, b"no-such\0").unwrap_err();
        assert_eq!(error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error), Some(libc::ENOENT));
    }
}
