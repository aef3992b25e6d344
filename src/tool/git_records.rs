//! Records of Git that a command makes, such as commits: they belong to a state that ends with the run.

/// What the model is told of commits, branches and tags.
const NOT_KEPT: &str = "[commits, branches, tags and stashes end with this run; what is kept of it, and delivered, is the files of \
                        the working tree]";
/// What it is told of a stash.
const STASHED: &str =
    "[a stash ends with this run: `git stash pop` before you finish, or its changes are lost]";

/// Returns a remark if one of these commands, each without its quotes, makes records that will not be kept.
pub(super) fn remark(commands: &[String]) -> Option<&'static str> {
    let mut made = commands.iter().filter_map(|command| made_by(command));
    let first = made.next()?;
    Some(if made.fold(first == Record::Stash, |only, record| only && record == Record::Stash) {
        STASHED
    } else {
        NOT_KEPT
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Record {
    Stash,
    Other,
}

fn made_by(command: &str) -> Option<Record> {
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
    let subcommand = words.next()?;
    let rest: Vec<&str> = words.collect();
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
        "commit" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" => {
            !has(&["--abort", "--quit", "--dry-run", "-n", "--no-commit"])
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
            (&["git checkout -b topic"], Some(NOT_KEPT)),
            (&["git switch -c topic"], Some(NOT_KEPT)),
            (&["git tag v1"], Some(NOT_KEPT)),
            (&["git branch topic"], Some(NOT_KEPT)),
            (&["git stash"], Some(STASHED)),
            (&["git stash push -m x", "git commit -m y"], Some(NOT_KEPT)),
            (&["git stash pop"], None),
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
