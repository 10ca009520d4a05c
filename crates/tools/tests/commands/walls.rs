//! What the sandbox holds back: attacks that do run, and get nowhere.

use std::fmt::Write as _;

use super::*;

/// Tries all that it can, and says that it ran.
fn payload(den: &Den, also_the_system: bool) -> String {
    let outside = den.outside.path().display();
    let port = den.port();
    let mut script = format!(
        "#!/bin/sh
        echo ran >> ran
        cat {outside}/canary {outside}/home/.ssh/id_ed25519 {outside}/home/.cargo/credentials.toml >> leak
        cp -r {outside} leaks
        echo hit > {outside}/touched
        echo hit > {outside}/home/.bashrc
        ln -s {outside}/canary link; cat link >> leak; echo hit > link
        ln {outside}/canary hard; cat hard >> leak
        cat /proc/*/root{outside}/canary /proc/*/cwd/../*/canary >> leak
        env >> leak; cat /proc/*/environ >> leak
        bash -c 'echo hit > /dev/tcp/127.0.0.1/{port}'
        "
    );
    if also_the_system {
        for target in [
            "/usr/bin/artel-was-here",
            "/etc/artel-was-here",
            "/artel-was-here",
            "/bin/artel-was-here",
            "/dev/artel-was-here",
        ] {
            writeln!(script, "echo hit > {target}; mkdir -p {target}").unwrap();
        }
        script.push_str("mount -t tmpfs none /usr; mount -o remount,rw /; umount /usr; unshare -Ur true && echo namespaces >> leak\n");
    }
    script + "true\n"
}

fn spilled(den: &Den) -> bool {
    walk(den.workspace.path())
        .iter()
        .filter_map(|(path, content)| Some((path, content.as_ref()?)))
        .any(|(path, content)| {
            let text = String::from_utf8_lossy(content);
            !path.ends_with("x")
                && (text.contains(CANARY) || text.contains(SECRET) || text.contains("namespaces"))
        })
}

/// The payload has teeth: without the walls it reads, writes and calls.
#[tokio::test]
async fn without_walls_the_payload_bites() {
    let den = Den::bare();
    den.write("x", &payload(&den, false));
    runnable(&den.path("x"));
    den.run(Reach::Write, &["./x"]).await;
    assert!(spilled(&den));
    assert!(den.outside.path().join("touched").exists());
    assert!(den.was_called());
}

/// TL-5.2, TL-7.1: each way to run something else from a harmless-looking command, tried in the sandbox. Canaries
/// outside are neither read nor touched, no connection is made, and the user's variables are not seen.
#[tokio::test]
async fn attacks_stay_inside() {
    let den = Den::new().await;
    den.write("x", &payload(&den, true));
    runnable(&den.path("x"));
    den.write("a", "one\ntwo\n");
    den.write("a.c", "int main(void) { return 0; }\n");
    den.write("package.json", r#"{"scripts": {"evil": "./x"}}"#);
    fs::create_dir(den.path("tree")).unwrap();
    assert!(den.run(Reach::Write, &["tar", "-cf", "a.tar", "a"]).await.success);
    assert!(den.run(Reach::Write, &["git", "init", "-q", "."]).await.success);
    let before = walk(den.outside.path());
    let outside = den.outside.path().display().to_string();
    let touched = format!("{outside}/touched");
    let canary = format!("{outside}/canary");
    // Whether the program is on every machine that runs this, so that the payload must have run.
    let attacks: &[(bool, &[&str])] = &[
        (true, &["./x"]),
        (true, &["find", ".", "-maxdepth", "0", "-exec", "./x", ";"]),
        (true, &["find", ".", "-maxdepth", "0", "-execdir", "./x", ";"]),
        (false, &["find", ".", "-maxdepth", "0", "-fprintf", &touched, "hit"]),
        (false, &["find", ".", "-maxdepth", "0", "-fls", &touched]),
        (false, &["find", &outside, "-delete"]),
        (true, &["git", "-c", "alias.x=!./x", "x"]),
        (true, &["git", "-c", "core.fsmonitor=./x", "status"]),
        (false, &["git", "log", &format!("--output={touched}")]),
        (false, &["git", "show", "--ext-diff"]),
        (true, &["git", "clone", "-q", "-u", "./x", ".", "cloned"]),
        (true, &["git", "fetch", "--upload-pack=./x", "."]),
        (false, &["git", "config", "--file", &touched, "a.b", "c"]),
        (false, &["git", "-c", "protocol.ext.allow=always", "clone", "ext::sh -c ./x", "cloned"]),
        (true, &["tar", "-cf", "b.tar", "--checkpoint=1", "--checkpoint-action=exec=./x", "a"]),
        (true, &["tar", "-I", "./x", "-cf", "b.tar", "a"]),
        (true, &["tar", "-xf", "a.tar", "--to-command=./x"]),
        (true, &["sed", "1e ./x", "a"]),
        (false, &["sed", &format!("w {touched}"), "a"]),
        (true, &["awk", "BEGIN { system(\"./x\") }"]),
        (false, &["sort", "-o", &touched, "a"]),
        (false, &["sort", "-S", "1b", "--compress-program=./x", "a", "a", "a"]),
        (false, &["uniq", "a", &touched]),
        (false, &["xargs", "-a", "a", "./x"]),
        (true, &["env", "./x"]),
        (true, &["env", "-S", "./x"]),
        (true, &["perl", "-e", "system './x'"]),
        (true, &["sh", "-c", "./x"]),
        (true, &["bash", "-c", "./x"]),
        (false, &["python3", "-c", "import os; os.system('./x')"]),
        (false, &["node", "-e", "require('child_process').execSync('./x')"]),
        (false, &["ruby", "-e", "system './x'"]),
        (false, &["make", "--eval=all:;./x"]),
        (false, &["zip", "-T", "-TT", "./x", "a.zip", "a"]),
        (false, &["gcc", "-wrapper", "./x", "a.c"]),
        (false, &["npm", "exec", "-c", "./x"]),
        (false, &["npm", "run", "evil"]),
        (false, &["patch", "-o", &touched, "a", "a"]),
        (false, &["cat", "/etc/shadow", &canary]),
        (false, &["cp", &canary, "leak"]),
        (false, &["ln", &canary, "leak"]),
        (false, &["rg", "--pre", "./x", "one"]),
        (false, &["grep", "-f", &canary, "a"]),
        (false, &["tree", "-o", &touched]),
        (false, &["tee", &touched]),
        (false, &["busybox", "sh", "-c", "./x"]),
        (false, &["dd", &format!("of={touched}"), "if=a"]),
        (true, &["timeout", "9", "./x"]),
        (true, &["nohup", "./x"]),
        (true, &["setsid", "-w", "./x"]),
        (false, &["curl", "-s", &format!("http://127.0.0.1:{}", den.port())]),
    ];
    for (must_run, attack) in attacks {
        let ran = den.path("ran");
        let _ = fs::remove_file(&ran);
        let outcome = den.run(Reach::Write, attack).await;
        assert!(!must_run || ran.exists(), "{attack:?} did not run: {outcome:?}");
        assert!(!den.was_called(), "{attack:?} reached the network");
        assert_eq!(walk(den.outside.path()), before, "{attack:?} wrote outside");
        assert!(!spilled(&den), "{attack:?} read outside");
        let said = outcome
            .fields
            .values()
            .any(|value| value.to_string().contains(CANARY) || value.to_string().contains(SECRET));
        assert!(!said, "{attack:?}: {outcome:?}");
    }
    for target in
        ["/usr/bin/artel-was-here", "/etc/artel-was-here", "/artel-was-here", "/dev/artel-was-here"]
    {
        assert!(!Path::new(target).exists(), "{target}");
    }
}

/// S20: of the machine there is the system's software, and nothing of its state.
#[tokio::test]
async fn the_machine_is_not_seen() {
    let den = Den::new().await;
    let outcome = den
        .script(
            Reach::Write,
            "ls -d /run /var /home /root /sys /srv /mnt /boot /opt /var/run/docker.sock",
        )
        .await;
    assert_eq!(stdout(&outcome), "", "{outcome:?}");
    let outcome =
        den.script(Reach::Write, "ls /etc; ls -A /tmp; ls /proc | grep -c '^[0-9]'").await;
    let seen: Vec<&str> = stdout(&outcome).lines().collect();
    assert!(
        !seen.contains(&"shadow") && !seen.contains(&"hosts") && seen.contains(&"passwd"),
        "{seen:?}"
    );
    // Bubblewrap, sh, ls and grep at most.
    assert!(seen.last().unwrap().parse::<u32>().unwrap() <= 4, "{seen:?}");
    let outcome = den.script(Reach::Write, "grep -E 'CapEff|NoNewPrivs' /proc/self/status").await;
    assert_eq!(stdout(&outcome), "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n");
}

/// The network is there when it was allowed, and only then.
#[tokio::test]
async fn the_network_is_asked_for() {
    let den = Den::new().await;
    let call = format!("echo hello > /dev/tcp/127.0.0.1/{}", den.port());
    let outcome = den.run(Reach::Read, &["bash", "-c", &call]).await;
    assert!(!outcome.success && !den.was_called());
    let outcome = den
        .shell
        .run(&ExecuteCommand { network: true, ..command(&["bash", "-c", &call]) }, Reach::Read)
        .await;
    assert!(outcome.success && den.was_called(), "{outcome:?}");
}

/// A command that may only read changes nothing; it has a place of its own for what it must write.
#[tokio::test]
async fn reading_cannot_write() {
    let den = Den::new().await;
    den.write("a", "one\n");
    let script = "echo two > a; touch b; mkdir c; rm a; mv a d; ln a e; chmod 0 a; touch .; echo fine > /tmp/x; cat /tmp/x $HOME/../x";
    let before = walk(den.workspace.path());
    let outcome = den.script(Reach::Read, script).await;
    assert_eq!(stdout(&outcome), "fine\nfine\n", "{outcome:?}");
    assert_eq!(walk(den.workspace.path()), before);
    assert_eq!(fs::metadata(den.path("a")).unwrap().permissions().mode() & 0o777, 0o644);
    let outcome = den.script(Reach::Write, script).await;
    assert!(
        den.path("b").exists() && den.path("c").is_dir() && !den.path("a").exists(),
        "{outcome:?}"
    );
}

/// A hostile repository names programs that git would run for a look at its state; none runs.
#[tokio::test]
async fn git_does_not_obey_a_hostile_repository() {
    let den = Den::new().await;
    den.write("x", "#!/bin/sh\necho the-program-ran >&2\n");
    runnable(&den.path("x"));
    assert!(den.run(Reach::Write, &["git", "init", "-q", "."]).await.success);
    let settings = fs::read_to_string(den.path(".git/config")).unwrap();
    den.write(".git/config", &format!("{settings}[core]\n\tfsmonitor = ./x\n\thooksPath = .\n\tpager = ./x\n[log]\n\tshowSignature = true\n"));
    for argv in [&["git", "status"][..], &["git", "--no-pager", "log"], &["git", "diff"]] {
        let outcome = den.run(Reach::Read, argv).await;
        assert!(!stderr(&outcome).contains("the-program-ran"), "{outcome:?}");
    }
}
