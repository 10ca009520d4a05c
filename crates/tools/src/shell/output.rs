//! What a command says: kept to a limit, read to its end.

use tokio::io::{AsyncRead, AsyncReadExt};

/// One stream of a command.
#[derive(Debug)]
pub(super) struct Capture {
    kept: Vec<u8>,
    most: usize,
    cut: bool,
}

impl Capture {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, cut: false }
    }

    /// Reads all there is, so that the command never waits for a reader; what is over the limit is dropped.
    pub(super) async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut piece = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut piece).await {
            let keep = read.min(self.most - self.kept.len());
            self.kept.extend_from_slice(&piece[..keep]);
            self.cut |= keep < read;
        }
    }

    /// What is not UTF-8 is replaced; a letter that the cut went through is dropped.
    pub(super) fn text(&self) -> String {
        let whole = match str::from_utf8(&self.kept) {
            Err(error) if self.cut && error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.kept.len(),
        };
        String::from_utf8_lossy(&self.kept[..whole]).into_owned()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }
}
