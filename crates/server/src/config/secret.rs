//! The data folder, and what is made in it at the first start: for its owner alone.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use artel_engine::access::{Keys, Outside};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;

use super::{Mistake, Resolved, secret_text};

const FILE: &str = "jwt-secret";
const NODE: &str = "node";

pub(super) fn prepare_folder(folder: &Path) -> Result<(), Mistake> {
    let shown = folder.display();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| Mistake(format!("data_dir: cannot make {shown}: {error}")))?;
    let mode = fs::metadata(folder)
        .map_err(|error| Mistake(format!("data_dir: {shown}: {error}")))?
        .permissions();
    if mode.mode() & 0o022 != 0 {
        return Err(Mistake(format!(
            "refused to start: others can write to the data folder {shown}\n  Mend it with: chmod 700 {shown}"
        )));
    }
    Ok(())
}

/// The keys from what was configured; the secret is made at the first start.
pub(super) fn keys(said: &Resolved, folder: &Path) -> Result<Keys, Mistake> {
    let secret = match (said.text("jwt_secret"), said.text("jwt_secret_file")) {
        (Some(_), Some(_)) => {
            return Err(Mistake("set jwt_secret or jwt_secret_file, not both".to_owned()));
        }
        (Some(secret), None) => secret_text(&secret),
        (None, Some(file)) => read_private(Path::new(&file))?,
        (None, None) => own_secret(&folder.join(FILE))?,
    };
    let outside = match said.text("jwt_public_key_file") {
        None => None,
        Some(path) => Some(Outside {
            key: fs::read_to_string(&path)
                .map_err(|error| Mistake(format!("jwt_public_key_file: {path}: {error}")))?,
            issuer: said.text("jwt_issuer"),
            audience: said.text("jwt_audience"),
        }),
    };
    Keys::new(&secret, outside.as_ref())
        .map_err(|error| Mistake(format!("refused to start: {error}")))
}

/// The secret of workers, if there is one.
pub(super) fn worker_secret(said: &Resolved) -> Result<Option<SecretString>, Mistake> {
    match (said.text("worker_secret"), said.text("worker_secret_file")) {
        (Some(_), Some(_)) => {
            Err(Mistake("set worker_secret or worker_secret_file, not both".to_owned()))
        }
        (Some(secret), None) => Ok(Some(secret_text(&secret))),
        (None, Some(file)) => read_private(Path::new(&file)).map(Some),
        (None, None) => Ok(None),
    }
}

fn own_secret(path: &Path) -> Result<SecretString, Mistake> {
    make_once(path, random_text)?;
    read_private(path)
}

/// What this node is called among those that share a database. Made at the first start, kept with the data.
pub(super) fn node_name(folder: &Path) -> Result<String, Mistake> {
    let path = folder.join(NODE);
    make_once(&path, random_text)?;
    fs::read_to_string(&path).map_err(|error| Mistake(format!("{}: {error}", path.display())))
}

fn random_text() -> Result<String, Mistake> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Mistake(format!("no random bytes: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Makes a file unless it exists, for its owner alone.
fn make_once(path: &Path, text: impl Fn() -> Result<String, Mistake>) -> Result<(), Mistake> {
    let failed = |error: std::io::Error| Mistake(format!("{}: {error}", path.display()));
    if path.exists() {
        return Ok(());
    }
    // Written aside and linked into place: a start that is killed, or one beside us, never leaves half of it.
    let aside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&aside)
        .map_err(failed)?;
    file.write_all(text()?.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    let linked = fs::hard_link(&aside, path);
    fs::remove_file(&aside).map_err(failed)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn read_private(path: &Path) -> Result<SecretString, Mistake> {
    let shown = path.display();
    let failed = |error: std::io::Error| Mistake(format!("{shown}: {error}"));
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Mistake(format!(
            "refused to start: others can read the secret in {shown}\n  Mend it with: chmod 600 {shown}\n  \
             and change the secret if they may have read it (every token then has to be made anew)."
        )));
    }
    Ok(secret_text(&fs::read_to_string(path).map_err(failed)?))
}
