//! Programs that only the image has.

use std::process::Command;

use artel_programs::availability::{Availability, look_in_image};
use artel_programs::kind::{Credentials, Wish};
use artel_programs::kinds;
use artel_programs::sandbox::{Choice, Means, Sandbox};

use super::*;

/// An image of its own; it goes with this.
struct Image {
    docker: PathBuf,
    name: String,
}

impl Image {
    /// The image of the tests with a codex that says its version, and without a gemini.
    fn make(docker: &Path) -> Self {
        let image = Self {
            docker: docker.to_owned(),
            name: format!("artel-test-image-{}", std::process::id()),
        };
        let script = "rm -f /usr/local/bin/codex /usr/local/bin/gemini /usr/bin/gemini
                      printf '#!/bin/sh\\necho codex-cli 7.8.9\\n' > /usr/bin/codex && chmod 755 /usr/bin/codex";
        let container = format!("{}-maker", image.name);
        let run =
            ["run", "--name", &container, "--network", "none", "--user", "0", "--entrypoint", "sh"];
        image.docker(&[&run[..], &[IMAGE, "-c", script]].concat());
        image.docker(&["commit", &container, &image.name]);
        image.docker(&["rm", &container]);
        image
    }

    fn docker(&self, words: &[&str]) -> String {
        let host = format!("unix://{}", self.docker.display());
        let done = Command::new("docker").args(["--host", &host]).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.docker(&["rmi", "--force", &self.name]);
    }
}

/// CA-1.1, CA-3.1: what the image has is there, whatever the machine has, and runs; what it has not is missing, with the
/// remedy; and nothing is left of the search.
#[tokio::test(flavor = "multi_thread")]
async fn programs_of_the_image_are_found() {
    let Some(means) = means(Choice::Docker) else {
        let _ = io::stderr().write_all(UNTESTED);
        return;
    };
    let image = Image::make(&means.docker);
    let means =
        Means { image: image.name.clone(), owner: format!("{}-image", means.owner), ..means };
    let owner = means.owner.clone();
    let sandbox = Sandbox::find(Choice::Docker, means).await.unwrap();
    let Sandbox::Docker(docker) = &sandbox else { panic!("{sandbox:?}") };
    // On the machine there is a git, which a container does not see.
    let folders = ["/usr/bin", "/bin"].map(PathBuf::from);
    let home = TempDir::new().unwrap();
    let stranger = Wish::default();
    let codex = kinds::find("codex").unwrap();
    for _ in 0..2 {
        let looked = look_in_image(codex, &stranger, docker, &folders, home.path()).await.unwrap();
        let Availability::NotLoggedIn { found, .. } = looked else { panic!("{looked:?}") };
        assert_eq!(found.path, Path::new("/usr/bin/codex"));
        assert_eq!(found.version.as_deref(), Some("7.8.9"));
    }
    let credentials =
        Credentials { key: Some(SecretString::from("key")), ..Credentials::default() };
    let guest = Wish { credentials, ..Wish::default() };
    let ready = look_in_image(codex, &guest, docker, &folders, home.path()).await.unwrap();
    assert!(matches!(ready, Availability::Ready { .. }), "{ready:?}");
    let gemini = kinds::find("gemini-cli").unwrap();
    let missing = look_in_image(gemini, &guest, docker, &folders, home.path()).await.unwrap();
    let Availability::NotInstalled { program, install } = missing else { panic!("{missing:?}") };
    assert!(program == "gemini" && install.contains(&image.name), "{install}");
    // A word of the shell is no program, and a name is no script.
    for odd in ["cd", "x; echo /bin/sh", "-h", "/"] {
        let wish = Wish { command: vec![odd.to_owned()], ..guest.clone() };
        let acp = kinds::find("acp").unwrap();
        let looked = look_in_image(acp, &wish, docker, &folders, home.path()).await.unwrap();
        assert!(matches!(looked, Availability::NotInstalled { .. }), "{odd}: {looked:?}");
    }
    let den = Den::new("image");
    let mut agent = den.start(&sandbox, &["codex"]).await;
    assert_eq!(agent.last_words().await, ("codex-cli 7.8.9\n".to_owned(), Exit::Code(0)));
    drop(agent);
    sandbox.close().await;
    let left = image.docker(&[
        "ps",
        "--all",
        "--quiet",
        "--filter",
        &format!("label=artel.owner={owner}"),
    ]);
    assert_eq!(left, "");
}
