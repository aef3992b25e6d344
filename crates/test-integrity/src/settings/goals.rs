//! Goals of builds: what Maven and Gradle are told to check.

use super::check::Check;

/// Returns the goal of a build that checks something, and that none of its calls names any more.
pub(super) fn lost<'a>(check: &'a Check, now: &[&'a Check]) -> Option<(&'a str, &'a Check)> {
    const PARTS: &[&str] =
        &["test", "check", "verif", "lint", "coverage", "spotbugs", "detekt", "pmd", "ktlint", "analy"];
    // Options whose value is a word of its own.
    const WITH_VALUE: &[&str] = &[
        "-pl",
        "--projects",
        "-P",
        "--activate-profiles",
        "-rf",
        "--resume-from",
        "-f",
        "--file",
        "-s",
        "--settings",
        "-T",
        "--threads",
        "-x",
        "--exclude-task",
        "--tests",
        "-p",
        "--project-dir",
    ];
    let is_build = matches!(check.tool.as_str(), "mvn" | "gradle");
    let goals = |text: &'a str| {
        let mut before = "";
        text.split_whitespace().filter(move |word| {
            let is_value = WITH_VALUE.contains(&before);
            before = word;
            !is_value && !word.starts_with(['-', '.', '$', '{', '\'', '"'])
        })
    };
    let is_check = |goal: &&str| PARTS.iter().any(|part| goal.to_ascii_lowercase().contains(part));
    // A later phase of Maven's includes the earlier ones.
    let includes = |goal: &str| {
        now.iter().any(|other| {
            let mut theirs = goals(&other.text);
            theirs.any(|their| {
                their == goal
                    || matches!(
                        (goal, their),
                        ("test", "verify" | "install" | "package" | "deploy")
                            | ("verify", "install" | "deploy")
                            | ("test" | "check", "build" | "check")
                    )
            })
        })
    };
    let gone = goals(&check.text).filter(is_check).find(|goal| !includes(goal)).filter(|_| is_build)?;
    Some((gone, now.first().copied()?))
}
