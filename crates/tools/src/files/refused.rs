//! Why a file tool did not do what was asked.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::show::visible;

/// In words for the agent and the person. No file was changed, but for [`Refused::Io`] when the disk itself fails at the
/// very end of a write.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("Path is outside workspace bounds")]
    OutsideBounds,
    #[error("Path {} does not exist", visible(path))]
    Missing { path: String },
    #[error("Permission denied to read {}", visible(path))]
    ReadDenied { path: String },
    #[error("Permission denied to write to {}", visible(path))]
    WriteDenied { path: String },
    #[error("The path is not one that a file can have: {why}")]
    BadPath { why: &'static str },
    #[error(
        "{} has {size} bytes; files of more than 100 MB are neither read nor written",
        visible(path)
    )]
    TooLarge { path: String, size: u64 },
    #[error("{} is not a regular file", visible(path))]
    NotRegular { path: String },
    #[error("{} is a folder", visible(path))]
    IsFolder { path: String },
    #[error("{} is not a folder", visible(path))]
    NotFolder { path: String },
    #[error("{} is a symbolic link; name the file that it leads to", visible(path))]
    IsLink { path: String },
    #[error(
        "{} has other names (hard links), perhaps outside the workspace; it is not written to",
        visible(path)
    )]
    HardLinked { path: String },
    #[error("The folder of {} does not exist; create_dirs makes it", visible(path))]
    NoFolder { path: String },
    #[error("{} has changed since it was shown; look again", visible(path))]
    Changed { path: String },
    #[error("{} is not UTF-8 text; it can only be written as a whole", visible(path))]
    NotText { path: String },
    #[error("The text to replace is empty")]
    NothingToReplace,
    #[error("The text to replace does not stand in {}", visible(path))]
    NotFound { path: String },
    #[error(
        "The text to replace stands {times} times in {}; give more of what is around it",
        visible(path)
    )]
    Ambiguous { path: String, times: usize },
    #[error("The glob cannot be read: {0}")]
    BadGlob(String),
    #[error("The regular expression cannot be read: {0}")]
    BadPattern(String),
    #[error("The workspace folder {} was moved or replaced; start the client again", workspace.display())]
    Gone { workspace: PathBuf },
    #[error("It was stopped before it was done")]
    Stopped,
    #[error("A command is not for the file tools")]
    NotAFileTool,
    #[error("Only a write or an edit is shown before it is done")]
    NothingToShow,
    #[error("{}: {error}", visible(path))]
    Io { path: String, error: io::Error },
}

/// What was being done when the operating system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Reading,
    Writing,
}

impl Doing {
    /// The operating system's word, as the path's caller reads it.
    pub(super) fn refused(self, error: io::Error, path: &str) -> Refused {
        let path = path.to_owned();
        match Errno::from_io_error(&error) {
            // cap-std tells of an escape in words of its own; a magic link (as of /proc) is a loop.
            None if error.kind() == io::ErrorKind::PermissionDenied => Refused::OutsideBounds,
            Some(Errno::XDEV | Errno::LOOP) => Refused::OutsideBounds,
            Some(Errno::NOENT | Errno::NOTDIR) => Refused::Missing { path },
            Some(Errno::ISDIR) => Refused::IsFolder { path },
            // A socket, or a device without a driver.
            Some(Errno::NXIO | Errno::NODEV) => Refused::NotRegular { path },
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => match self {
                Self::Reading => Refused::ReadDenied { path },
                Self::Writing => Refused::WriteDenied { path },
            },
            _ => Refused::Io { path, error },
        }
    }
}
