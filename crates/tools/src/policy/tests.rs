//! The rules against their own examples, and against whatever else may come.

use artel_domain::agent::RiskLevel;
use proptest::prelude::*;

use super::*;

impl Example {
    fn argv(&self) -> Vec<&str> {
        match self {
            Self::Line(line) => line.split(' ').collect(),
            Self::Argv(argv) => argv.iter().map(String::as_str).collect(),
        }
    }

    fn verdict(&self) -> Verdict {
        judge_command(&self.argv(), false)
    }
}

fn holds(rule: Rule, examples: &[Example], counterexamples: &[Example]) {
    for example in examples {
        let verdict = example.verdict();
        assert_eq!((verdict.rule, verdict.risk), (rule.name, rule.risk), "{:?}", example.argv());
    }
    for example in counterexamples {
        assert_ne!(example.verdict().rule, rule.name, "{:?}", example.argv());
    }
}

/// Every rule says what it is for by examples, and they hold.
#[test]
fn rules_keep_their_examples() {
    for danger in &BOOK.rule {
        assert!(!danger.examples.is_empty(), "{}", danger.name);
        holds(danger.rule(), &danger.examples, &danger.counterexamples);
    }
    for reading in &BOOK.read {
        assert!(
            !reading.examples.is_empty() && !reading.counterexamples.is_empty(),
            "{}",
            reading.name
        );
        holds(reading.rule(), &reading.examples, &reading.counterexamples);
        for example in &reading.counterexamples {
            assert_ne!(example.verdict().risk, Some(RiskLevel::Low), "{:?}", example.argv());
        }
    }
}

/// What a program wraps is judged like what stands alone.
#[test]
fn wrappers_keep_their_examples() {
    for wrapper in &BOOK.wrapper {
        assert!(!wrapper.examples.is_empty(), "{:?}", wrapper.programs);
        for example in &wrapper.examples {
            assert!(
                example.verdict().risk.is_none_or(|risk| risk == RiskLevel::High),
                "{:?}",
                example.argv()
            );
        }
        for example in &wrapper.counterexamples {
            let risk = example.verdict().risk;
            assert!(risk.is_some_and(|risk| risk <= RiskLevel::Medium), "{:?}", example.argv());
        }
    }
}

#[test]
fn names_keep_their_examples() {
    for touch in &BOOK.touch {
        for path in &touch.examples {
            let verdict = judge_path(path);
            assert_eq!(
                (verdict.rule, verdict.risk),
                (touch.name.as_str(), Some(RiskLevel::High)),
                "{path}"
            );
        }
        for path in &touch.counterexamples {
            assert_eq!(judge_path(path).risk, Some(RiskLevel::Medium), "{path}");
        }
        for sealed in &touch.sealed {
            assert!(touch.names.contains(sealed), "{sealed} is sealed, but writing it is not HIGH");
        }
    }
}

#[test]
fn names_of_rules_are_unique() {
    let mut names: Vec<_> = rules().iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

/// S7: more wrappers than anybody follows are no way round a rule.
#[test]
fn deep_nesting_is_high() {
    for depth in [9, 51, 900] {
        let mut argv = vec!["nohup"; depth];
        argv.extend(["sudo", "x"]);
        assert_eq!(judge_command(&argv, false).risk, Some(RiskLevel::High), "{depth}");
    }
    assert_eq!(judge_command(&["nohup", "nice", "env", "A=1", "sudo"], false).risk, None);
    let mut argv = vec!["watch"];
    argv.resize(900, "git");
    assert_eq!(judge_command(&argv, false).risk, Some(RiskLevel::High));
}

#[test]
fn asking_for_the_network_is_high() {
    assert_eq!(judge_command(&["ls"], true).rule, "network");
    assert_eq!(judge_command(&["sudo", "ls"], true).risk, None);
}

/// Options that make some program run another one, write somewhere, or read elsewhere.
const DANGEROUS: &[&str] = &[
    "--output=x",
    "--output",
    "-o",
    "-ox",
    "--out=x",
    "--compress-program=./x",
    "--pre=./x",
    "--pre",
    "-exec",
    "-execdir",
    "-delete",
    "-fprintf",
    "-fprint",
    "-fls",
    "-ok",
    "-okdir",
    "--ext-diff",
    "--textconv",
    "--upload-pack=./x",
    "--exec=./x",
    "--exec-path=.",
    "-c",
    "-e",
    "-f",
    "-F",
    "-i",
    "--in-place",
    "--to-command=./x",
    "--checkpoint-action=exec=./x",
    "-I",
    "--use-compress-program=./x",
    "--eval=x",
    "--files0-from=/etc/passwd",
    "--file=/etc/passwd",
    "-f/etc/passwd",
    "-O./x",
    "--open-files-in-pager=./x",
    "-wrapper",
    "-TT",
    "--set=x",
    "-s",
    "--random-source=/etc/passwd",
    "-T/",
    "--hostname-bin=./x",
    "-z",
    "--search-zip",
    "--ignore-file=/etc/passwd",
    "--contents=/etc/passwd",
    "--no-index",
    "-X/etc/passwd",
    "--follow",
    "/etc/passwd",
    "../x",
    "~/.ssh/id_rsa",
    "a/../../b",
    "--git-dir=/x",
    "--config=x",
    "--show-signature",
    "-L/etc/passwd",
    "--from-file=/etc/passwd",
    "--slurpfile",
    "-C/",
    "--unknown",
];

proptest! {
    /// TL-5.2: no dangerous argument hides behind a harmless command, unless that very program takes it as harmless.
    #[test]
    fn a_dangerous_argument_is_never_low(
        rule in 0..BOOK.read.len(),
        example in any::<prop::sample::Index>(),
        danger in prop::sample::select(DANGEROUS),
    ) {
        let mut argv = example.get(&BOOK.read[rule].examples).argv();
        let only_operands = argv.contains(&"--");
        argv.push(danger);
        if judge_command(&argv, false).risk == Some(RiskLevel::Low) {
            let is_option = danger.starts_with('-');
            let mut same = BOOK.read.iter().filter(|other| other.programs.iter().any(|one| one == argv[0]));
            prop_assert!(
                same.any(|other| if is_option { only_operands || other.lists(danger) } else { other.takes_text() }),
                "{argv:?}"
            );
        }
    }

    /// Whatever comes, there is a verdict.
    #[test]
    fn judging_never_panics(argv in prop::collection::vec(".{0,12}", 0..12), network: bool) {
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        let verdict = judge_command(&argv, network);
        prop_assert!(rules().iter().any(|rule| rule.name == verdict.rule));
    }

    /// Arguments in the manner of programs that are known, in any order.
    #[test]
    fn judging_never_panics_on_likely_words(
        argv in prop::collection::vec(
            prop_oneof![
                prop::sample::select(DANGEROUS).prop_map(str::to_owned),
                prop::sample::select(vec!["env", "git", "find", "xargs", "timeout", "-", "--", "=", "-=", "--=", "ä", "-é", "stash"])
                    .prop_map(str::to_owned),
                "-[a-zé=]{0,4}",
            ],
            1..20,
        ),
    ) {
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        judge_command(&argv, false);
    }

    /// An absolute program is none of those that are known to only read.
    #[test]
    fn a_program_by_its_path_is_never_low(folder in "(/|\\./|\\.\\./|/tmp/x/|a/)", rule in 0..BOOK.read.len()) {
        let reading = &BOOK.read[rule];
        for example in &reading.examples {
            let mut argv = example.argv();
            let program = format!("{folder}{}", argv[0]);
            argv[0] = &program;
            prop_assert_ne!(judge_command(&argv, false).risk, Some(RiskLevel::Low));
        }
    }
}
