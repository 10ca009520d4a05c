//! What an image has: programs are looked for in it by a container that does nothing else.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{AttachContainerOptionsBuilder, CreateContainerOptions};
use futures_util::StreamExt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::{Exit, PATH};
use super::{Container, Docker, OWNER, TMP, failed};
use crate::availability::{LONGEST_WORDS, PATIENCE};

/// Names of programs that are remembered.
const MOST: usize = 64;
/// Says where the program is and, if it is to be asked, what it says of its version.
const SCRIPT: &str = r#"path=$(command -v -- "$1") && [ -f "$path" ] && [ -x "$path" ] || exit 1
echo "$path"
[ -z "$2" ] || "$path" --version </dev/null 2>/dev/null"#;
const MEMORY: i64 = 1 << 30;
const PROCESSES: i64 = 256;

/// Where a program is in the image, and what it says of its version.
type Found = (PathBuf, Option<String>);

/// Those that were found. What is missing is looked for again: the image may be another by then.
#[derive(Debug, Default)]
pub(super) struct Programs(Mutex<BTreeMap<String, Found>>);

impl Docker {
    pub(crate) fn name(&self) -> &str {
        &self.image
    }

    /// Looks for a program in the image and asks it for its version, if it may be asked.
    pub(crate) async fn find_program(&self, name: &str, ask: bool) -> io::Result<Option<Found>> {
        let known = || self.found.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(name) {
            return Ok(Some(found.clone()));
        }
        let said = self.run(name, ask).await?;
        let (path, words) = said.split_once('\n').unwrap_or((&said, ""));
        // Nothing was said, or a name: what a shell does by itself is no program.
        if !path.starts_with('/') {
            return Ok(None);
        }
        let found = (PathBuf::from(path), Some(words.to_owned()).filter(|_| ask));
        let mut known = known();
        if known.len() < MOST {
            known.insert(name.to_owned(), found.clone());
        }
        Ok(Some(found))
    }

    /// What the script says in a container of its own, which is gone when this returns.
    async fn run(&self, name: &str, ask: bool) -> io::Result<String> {
        let words = ["/bin/sh", "-c", SCRIPT, "sh", name, if ask { "ask" } else { "" }];
        let body = ContainerCreateBody {
            image: Some(self.image.clone()),
            entrypoint: Some(words.map(str::to_owned).to_vec()),
            cmd: Some(Vec::new()),
            env: Some(vec![format!("PATH={}", PATH.join(":")), "HOME=/tmp".to_owned()]),
            attach_stdout: Some(true),
            labels: Some([(OWNER.to_owned(), self.owner.clone())].into()),
            host_config: Some(HostConfig {
                memory: Some(MEMORY),
                pids_limit: Some(PROCESSES),
                cap_drop: Some(vec!["ALL".to_owned()]),
                security_opt: Some(vec!["no-new-privileges".to_owned()]),
                readonly_rootfs: Some(true),
                tmpfs: Some([("/tmp".to_owned(), TMP.to_owned())].into()),
                network_mode: Some("none".to_owned()),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let created = self.client.create_container(None::<CreateContainerOptions>, body).await;
        let container = Container { client: self.client.clone(), id: created.map_err(failed)?.id };
        // Whoever asks may go away in between; the container must go all the same.
        let (began, over) = (CancellationToken::new(), CancellationToken::new());
        let (follower, starts, ends) = (container.clone(), began.clone(), over.clone());
        let followed = self.tasks.spawn(async move { follower.follow(&starts, &ends).await });
        let _over = over.drop_guard_ref();
        let said = timeout(PATIENCE, self.hear(&container, &began)).await;
        let said = said.map_err(|_| io::Error::other(format!("{name} says nothing")))??;
        match followed.await {
            Ok(Exit::Code(_)) => Ok(said),
            Ok(exit) => Err(io::Error::other(format!("the search for {name} ended with {exit:?}"))),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    async fn hear(&self, container: &Container, began: &CancellationToken) -> io::Result<String> {
        let options = AttachContainerOptionsBuilder::default().stream(true).stdout(true).build();
        let attached = self.client.attach_container(&container.id, Some(options));
        let mut output = attached.await.map_err(failed)?.output;
        self.client.start_container(&container.id, None).await.map_err(failed)?;
        began.cancel();
        let mut said = Vec::new();
        while let Some(piece) = output.next().await {
            let piece = piece.map_err(failed)?.into_bytes();
            let room = usize::try_from(LONGEST_WORDS).unwrap_or(usize::MAX) - said.len();
            said.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}
