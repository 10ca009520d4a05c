//! Files that must stand before a program starts.

use std::os::unix::fs::{PermissionsExt, symlink};

use artel_programs::kind::{Existing, File, OURS};

use super::*;

fn file(path: PathBuf, content: &str, existing: Existing, secret: bool) -> File {
    File { path, content: content.to_owned(), existing, secret }
}

/// CA-1.5, CA-3.2: files are written where the place is, secrets for the owner alone; a user's own file stays.
#[tokio::test(flavor = "multi_thread")]
async fn files_are_written_and_the_users_are_kept() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("scribe");
        let place = den.place(&sandbox);
        let keep = Existing::KeepIfForeign;
        fs::write(den.room.workspace.join("AGENTS.md"), "the user's").unwrap();
        fs::write(den.room.workspace.join("CLAUDE.md"), format!("{OURS}\nold")).unwrap();
        let mut wanted = launch(&["cat", "AGENTS.md", "CLAUDE.md", "GEMINI.md"]);
        wanted.files = vec![
            file(place.home.join(".tool/deep/settings.json"), "{}", Existing::Replace, true),
            file(place.workspace.join("AGENTS.md"), "ours", keep, false),
            file(place.workspace.join("CLAUDE.md"), "new", keep, false),
            file(place.workspace.join("GEMINI.md"), "fresh", keep, false),
        ];
        let (said, _) = den.launch(&sandbox, &wanted).await.last_words().await;
        assert_eq!(said, "the user'snewfresh");
        let secret = den.room.home.join(".tool/deep/settings.json");
        assert_eq!(fs::metadata(secret).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// CA-3.2: what an agent puts in the way cannot lead the server out of the folder.
#[tokio::test(flavor = "multi_thread")]
async fn links_lead_nowhere() {
    let sandbox = sandboxes(&[Choice::Plain]).await.remove(0);
    let den = Den::new("trickster");
    let place = den.place(&sandbox);
    let precious = den.data.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "precious").unwrap();
    symlink(&precious, den.room.home.join("folder")).unwrap();
    symlink(precious.join("file"), den.room.home.join("file")).unwrap();
    let mut wanted = launch(&["true"]);
    wanted.files = vec![file(place.home.join("file"), "ours", Existing::Replace, false)];
    den.launch(&sandbox, &wanted).await.last_words().await;
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "precious");
    assert_eq!(fs::read_to_string(den.room.home.join("file")).unwrap(), "ours");
    for path in ["folder/file", "../escaped", "folder/../../escaped"] {
        wanted.files = vec![file(place.home.join(path), "ours", Existing::Replace, false)];
        assert!(sandbox.start(&den.room, &place, &wanted).await.is_err(), "{path}");
    }
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "precious");
    wanted.files = vec![file("/etc/planted".into(), "ours", Existing::Replace, false)];
    assert!(sandbox.start(&den.room, &place, &wanted).await.is_err());
}
