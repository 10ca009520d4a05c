//! Sockets whose path is longer than an address can hold, as beneath a data folder deep in somebody's home: they are
//! reached by way of their folder, which the kernel shows under a short name.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};

/// What `sun_path` holds, without the zero at its end.
const LONGEST: usize = 107;

/// Does something with a path that an address can hold and that leads to this socket.
pub(crate) fn at<T>(socket: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if socket.as_os_str().as_bytes().len() <= LONGEST {
        return act(socket);
    }
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no path of a socket"));
    };
    let folder = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    // The folder stays open as long as its short name is used.
    act(&short(folder.as_raw_fd(), name))
}

fn short(folder: i32, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.to_string()).join(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use tempfile::TempDir;

    use super::*;

    /// CA-4.2: however deep the folder lies, both sides meet at the same socket.
    #[test]
    fn a_socket_deep_down_is_reached() {
        let folder = TempDir::new().unwrap();
        for depth in [1, 40] {
            let deep = folder.path().join("a-folder/".repeat(depth));
            std::fs::create_dir_all(&deep).unwrap();
            let socket = deep.join("socket");
            let listener = at(&socket, |short| UnixListener::bind(short)).unwrap();
            assert!(socket.exists(), "{depth}");
            let _here = at(&socket, |short| UnixStream::connect(short)).unwrap();
            listener.accept().unwrap();
        }
        let nowhere = folder.path().join("nowhere/".repeat(40)).join("socket");
        assert!(at(&nowhere, |short| UnixStream::connect(short)).is_err());
    }
}
