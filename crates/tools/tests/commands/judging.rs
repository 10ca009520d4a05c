//! When a person is asked.

use artel_domain::agent::RiskLevel;
use artel_tools::policy::{judge, judge_command, rules};
use artel_tools::{Request, catalog};
use serde_json::{Value, json};

fn risk(name: &str, arguments: Value) -> Option<RiskLevel> {
    let Value::Object(arguments) = arguments else { panic!("no object") };
    let request: Request = catalog::read(name, &arguments, None).unwrap();
    judge(&request).risk
}

/// TL-5.2: what looks like reading and can execute, write, or read elsewhere.
const NEVER_LOW: &[&[&str]] = &[
    &["find", ".", "-exec", "./x", ";"],
    &["find", ".", "-delete"],
    &["find", ".", "-fprintf", "/tmp/x", "y"],
    &["find", ".", "-ok", "./x", ";"],
    &["find", ".", "-execdir", "./x", ";"],
    &["find", ".", "-okdir", "./x", ";"],
    &["find", ".", "-fls", "x"],
    &["find", ".", "-fprint", "x"],
    &["git", "-c", "core.fsmonitor=./x", "status"],
    &["git", "-c", "alias.x=!./x", "x"],
    &["git", "--output=x", "log"],
    &["git", "log", "--output=x"],
    &["git", "log", "--output", "x"],
    &["git", "show", "--output=x"],
    &["git", "diff", "--output=x"],
    &["git", "show", "--ext-diff"],
    &["git", "clone", "-u", "./x", "y"],
    &["git", "clone", "ext::sh -c ./x"],
    &["git", "fetch", "--upload-pack=./x"],
    &["git", "ls-remote", "--upload-pack=./x", "."],
    &["git", "config", "--file", "/tmp/x", "a.b", "c"],
    &["git", "--exec-path=.", "status"],
    &["git", "-p", "log"],
    &["git", "grep", "-O./x", "y"],
    &["git", "branch", "new"],
    &["tar", "--checkpoint-action=exec=./x", "-cf", "a", "b"],
    &["tar", "-I", "./x", "-xf", "a"],
    &["tar", "--to-command=./x", "-xf", "a"],
    &["tar", "-tf", "a"],
    &["sed", "1e ./x", "a"],
    &["sed", "s/a/b/e", "a"],
    &["sed", "w /tmp/x", "a"],
    &["sed", "-n", "1p", "a"],
    &["awk", "BEGIN{system(\"./x\")}"],
    &["awk", "{print}", "a"],
    &["sort", "-o", "x", "a"],
    &["sort", "a", "-ox"],
    &["sort", "--compress-program", "./x", "a"],
    &["uniq", "a", "b"],
    &["xargs", "ls"],
    &["env"],
    &["env", "ls"],
    &["./ls"],
    &["/tmp/x/ls"],
    &["/bin/ls"],
    &["../ls"],
    &["python", "-c", "1"],
    &["python3", "x.py"],
    &["node", "-e", "1"],
    &["perl", "-e", "1"],
    &["ruby", "-e", "1"],
    &["sh", "-c", "ls"],
    &["bash", "x.sh"],
    &["make", "--eval=x:;./x"],
    &["make"],
    &["zip", "-TT", "./x", "a", "b"],
    &["gcc", "-wrapper", "./x", "a.c"],
    &["npm", "exec", "-c", "./x"],
    &["npm", "run", "evil"],
    &["npm", "test"],
    &["patch", "-o", "/tmp/x", "a"],
    &["cat", "/etc/passwd"],
    &["cat", "../x"],
    &["cat", "a/../../x"],
    &["cat", "~/.ssh/id_rsa"],
    &["rg", "--pre", "./x", "y"],
    &["rg", "--pre=./x", "y"],
    &["grep", "-f", "/etc/passwd", "x"],
    &["grep", "-f/etc/passwd", "x"],
    &["grep", "x", "/etc/passwd"],
    &["date", "-s", "2020-01-01"],
    &["tree", "-o", "x"],
    &["tee", "x"],
    &["vi", "x"],
    &["less", "x"],
    &["man", "ls"],
    &["busybox", "ls"],
    &["dd", "if=a"],
    &["cp", "a", "b"],
    &["ln", "-s", "/", "b"],
    &["nohup", "ls"],
    &["time", "ls"],
    &["printenv"],
    &["cargo", "build"],
    &["openssl", "version"],
    &["unknown"],
    &[""],
    &[],
];

/// TL-1.2, TL-5.2: the whole argument vector is judged, not the first word alone.
#[test]
fn what_can_execute_or_write_is_never_low() {
    for argv in NEVER_LOW {
        let verdict = judge_command(argv, false);
        assert_ne!(verdict.risk, Some(RiskLevel::Low), "{argv:?}");
        assert!(!verdict.why.is_empty());
    }
}

/// TL-5.2: destructive and privilege-raising commands are refused, whoever asks, also behind another program.
#[test]
fn what_destroys_or_raises_privileges_is_refused() {
    for line in [
        "sudo ls",
        "su",
        "doas ls",
        "pkexec ls",
        "mount a b",
        "umount a",
        "mkfs.ext4 x",
        "mkfs x",
        "fdisk x",
        "shutdown now",
        "reboot",
        "halt",
        "poweroff",
        "insmod x",
        "modprobe x",
        "rm -rf /",
        "rm -rf ~",
        "rm -rf /*",
        "rm -rf --no-preserve-root /",
        "dd if=x of=/dev/sda",
        "chroot x",
        "nsenter -t 1",
        "unshare -r",
        "setcap x y",
        "useradd x",
        "passwd",
        "visudo",
        "/usr/bin/sudo ls",
        "env sudo x",
        "timeout 5 sudo x",
        "nice -n 5 sudo x",
        "nohup sudo x",
        "xargs sudo",
        "env A=1 timeout 5 su",
        "find . -exec sudo x ;",
        "busybox reboot",
    ] {
        let argv: Vec<&str> = line.split(' ').collect();
        assert_eq!(judge_command(&argv, false).risk, None, "{line}");
    }
}

/// TL-1.2: reading is LOW, writing MEDIUM, and writing what other programs execute HIGH.
#[test]
fn files_have_a_risk() {
    assert_eq!(risk("tool_read_file", json!({"path": ".git/config"})), Some(RiskLevel::Low));
    assert_eq!(risk("tool_list_directory", json!({})), Some(RiskLevel::Low));
    assert_eq!(risk("tool_search_files", json!({"pattern": "x"})), Some(RiskLevel::Low));
    assert_eq!(
        risk("tool_write_file", json!({"path": "Makefile", "content": ""})),
        Some(RiskLevel::Medium)
    );
    assert_eq!(
        risk("tool_edit_file", json!({"path": "src/a.rs", "old": "a", "new": "b"})),
        Some(RiskLevel::Medium)
    );
    for path in [
        ".git/hooks/pre-commit",
        ".claude/settings.json",
        ".mcp.json",
        "a/.vscode/tasks.json",
        ".github/workflows/x.yml",
    ] {
        assert_eq!(
            risk("tool_write_file", json!({"path": path, "content": ""})),
            Some(RiskLevel::High),
            "{path}"
        );
        assert_eq!(
            risk("tool_edit_file", json!({"path": path, "old": "a", "new": "b"})),
            Some(RiskLevel::High),
            "{path}"
        );
    }
    assert_eq!(
        risk("tool_execute_command", json!({"command": "ls", "network": true})),
        Some(RiskLevel::High)
    );
    assert_eq!(
        risk("tool_execute_command", json!({"command": "ls", "args": ["-la"]})),
        Some(RiskLevel::Low)
    );
}

/// Rules can be shown: the refused ones first.
#[test]
fn rules_are_listed_by_strictness() {
    let risks: Vec<_> = rules().iter().map(|rule| rule.risk).collect();
    let refused = risks.iter().take_while(|risk| risk.is_none()).count();
    assert!(refused > 5);
    assert!(risks[refused..].is_sorted_by(|one, next| one >= next && next.is_some()));
}
