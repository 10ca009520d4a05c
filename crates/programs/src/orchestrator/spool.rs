//! A call as a file, for where no connection is allowed; see the other side in `toolbox::spool`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::Failure;
use super::channel::Recall;
use crate::toolbox::wire::{Letter, Reply};

/// How long until it is taken; after that nobody is there.
const TAKING: Duration = Duration::from_secs(15);
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(200);

/// The files of one call, which are removed with this.
struct Files {
    draft: PathBuf,
    call: PathBuf,
    taken: PathBuf,
    result: PathBuf,
}

/// Sends the call and waits for its answer.
pub(super) fn send(
    folder: &Path,
    letter: &Letter,
    patience: Duration,
    recall: &Recall,
) -> Result<Reply, Failure> {
    let away = |error: io::Error| Failure::Away(error.to_string());
    let files = Files::new(folder).map_err(away)?;
    // Held until the answer is there: when this process ends, the call is given up.
    let _held = files.write(letter).map_err(away)?;
    let (begun, mut pause) = (Instant::now(), SHORTEST);
    loop {
        match fs::read(&files.result) {
            Ok(bytes) => {
                return serde_json::from_slice(&bytes)
                    .map_err(|error| Failure::Away(error.to_string()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(away(error)),
        }
        // In this order, in which one follows the other: between two of them nothing can be missed.
        if !files.call.exists() && !files.taken.exists() && !files.result.exists() {
            return Err(Failure::Away(
                "the server went away; whether the call was carried out is not known".to_owned(),
            ));
        }
        if recall.is_withdrawn() {
            return Err(Failure::No("the call was withdrawn".to_owned()));
        }
        if begun.elapsed() > TAKING && files.call.exists() {
            return Err(Failure::Away("nobody takes the call".to_owned()));
        }
        if begun.elapsed() > patience {
            return Err(Failure::Late(format!("no answer within {} s", patience.as_secs())));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST);
    }
}

impl Files {
    fn new(folder: &Path) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("{:032x}", u128::from_ne_bytes(random));
        let file = |ending: &str| folder.join(format!("{name}.{ending}"));
        Ok(Self {
            draft: file("tmp"),
            call: file("call"),
            taken: file("taken"),
            result: file("result"),
        })
    }

    fn write(&self, letter: &Letter) -> io::Result<File> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.draft)?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(letter)?)?;
        fs::rename(&self.draft, &self.call)?;
        Ok(file)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for file in [&self.draft, &self.call, &self.taken, &self.result] {
            // Most of them are gone already.
            let _ = fs::remove_file(file);
        }
    }
}
