//! Records of Git that a command makes, such as commits: they belong to a state that ends with the run.

/// What the model is told of commits, branches and tags.
const NOT_KEPT: &str = "[commits, branches, tags and stashes end with this run; what is kept of it, and delivered, is the files of \
                        the working tree]";
/// What it is told of a stash.
const STASHED: &str =
    "[a stash ends with this run: `git stash pop` before you finish, or its changes are lost]";

/// Returns a remark if one of these commands, each without its quotes, makes records that will not be kept.
pub(super) fn remark(commands: &[String]) -> Option<&'static str> {
    let made = |(at, command): (usize, &String)| Some((at, made_by(command)?));
    let made: Vec<(usize, Record)> = commands.iter().enumerate().filter_map(made).collect();
    let (last, _) = *made.last()?;
    if made.iter().any(|(_, record)| *record == Record::Other) {
        return Some(NOT_KEPT);
    }
    let is_restored = commands[last + 1..].iter().any(|command| restores(command));
    (!is_restored).then_some(STASHED)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Record {
    Stash,
    Other,
}

/// Returns the subcommand of Git that this is, and its arguments.
fn git(command: &str) -> Option<(&str, Vec<&str>)> {
    let mut words = command.split_whitespace();
    if words.next()?.rsplit('/').next() != Some("git") {
        return None;
    }
    let mut words = words.peekable();
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        if matches!(option, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace") {
            words.next();
        }
    }
    Some((words.next()?, words.collect()))
}

/// Returns whether a command restores what was stashed.
fn restores(command: &str) -> bool {
    git(command).is_some_and(|(subcommand, rest)| {
        subcommand == "stash" && rest.first().is_some_and(|word| matches!(*word, "pop" | "apply"))
    })
}

fn made_by(command: &str) -> Option<Record> {
    let (subcommand, rest) = git(command)?;
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(word));
    let names_one = rest.iter().any(|word| !word.starts_with('-'));
    let lists = has(&[
        "-l",
        "--list",
        "-a",
        "-r",
        "-v",
        "-vv",
        "--contains",
        "--merged",
        "--no-merged",
        "--points-at",
    ]);
    let is_made = match subcommand {
        // Of `git commit`, `-n` means `--no-verify`.
        "cherry-pick" | "revert" if has(&["-n"]) => false,
        "commit" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" => {
            !has(&["--abort", "--quit", "--dry-run", "--no-commit"])
        }
        "stash" => {
            let makes =
                rest.first().is_none_or(|word| word.starts_with('-') || matches!(*word, "push" | "save"));
            return makes.then_some(Record::Stash);
        }
        "branch" | "tag" => names_one && !lists,
        "switch" => has(&["-c", "-C", "--create", "--orphan"]),
        "checkout" => has(&["-b", "-B", "--orphan"]),
        _ => false,
    };
    is_made.then_some(Record::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_make_records_are_known() {
        for (commands, expected) in [
            (&["git commit -am x"][..], Some(NOT_KEPT)),
            (&["cd src", "/usr/bin/git -C . -c user.name=a commit -m x"], Some(NOT_KEPT)),
            (&["git commit -nm x"], Some(NOT_KEPT)),
            (&["git commit -n -m x"], Some(NOT_KEPT)),
            (&["git cherry-pick -n topic"], None),
            (&["git checkout -b topic"], Some(NOT_KEPT)),
            (&["git switch -c topic"], Some(NOT_KEPT)),
            (&["git tag v1"], Some(NOT_KEPT)),
            (&["git branch topic"], Some(NOT_KEPT)),
            (&["git stash"], Some(STASHED)),
            (&["git stash push -m x", "git commit -m y"], Some(NOT_KEPT)),
            (&["git stash pop"], None),
            (&["git stash", "make test", "git stash pop"], None),
            (&["git stash pop", "git stash"], Some(STASHED)),
            (&["git stash list"], None),
            (&["git tag"], None),
            (&["git tag -l v*"], None),
            (&["git branch -a"], None),
            (&["git branch --show-current"], None),
            (&["git checkout -- a.txt"], None),
            (&["git log --grep commit"], None),
            (&["git merge --abort"], None),
            (&["echo git commit"], None),
            (&[], None),
        ] {
            let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
            assert_eq!(remark(&commands), expected, "{commands:?}");
        }
    }
}
