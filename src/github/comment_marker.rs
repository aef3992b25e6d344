//! Hidden lines at the beginning of our comments, by which a comment and its plan are found again.

use sha2::{Digest, Sha256};

/// Returns the first line of the comment, by which it is found again. The key comes from trusted
/// configuration, but must not end the HTML comment that it stands in.
pub fn comment_marker(key: &str) -> String {
    format!("<!-- architect-ci comment: {} -->", marker_key(key))
}

/// Reduces a key to characters that may stand in a hidden line. Where it has others, a hash of it keeps it apart from other keys.
pub fn marker_key(key: &str) -> String {
    let mut plain: String =
        key.chars().filter(|c| c.is_ascii_alphanumeric() || "._/ -".contains(*c)).collect();
    // Two of them could end the line.
    while plain.contains("--") {
        plain = plain.replace("--", "-");
    }
    if plain == key {
        return plain;
    }
    let plain = plain.trim_end_matches(['-', ' ']);
    let hash = &hex::encode(Sha256::digest(key))[..8];
    if plain.is_empty() { hash.to_owned() } else { format!("{plain}-{hash}") }
}

/// The hidden second line of a comment that shows a plan: what is needed to apply the plan from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanMark {
    /// The plan's digest.
    pub digest: String,
    /// The id of the workflow run that uploaded the plan as an artifact.
    pub run: u64,
    /// The head commit of the pull request for which the plan was made.
    pub head: String,
}

impl PlanMark {
    const START: &str = "<!-- architect-ci plan: ";

    /// Returns the line.
    fn line(&self) -> String {
        format!("{}{} {} {} -->\n", Self::START, self.digest, self.run, self.head)
    }

    /// Parses the mark out of our own comment, or returns `None` if that has none. Text that others wrote
    /// cannot imitate it, because neutralizing breaks up its beginning.
    pub fn find(comment: &str) -> Option<Self> {
        let line = comment.lines().nth(1)?.strip_prefix(Self::START)?.strip_suffix(" -->")?;
        let mut parts = line.split(' ');
        let hex = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
        let digest = parts.next().filter(|digest| hex(digest) && digest.len() == 64)?.to_owned();
        let run = parts.next()?.parse().ok()?;
        let head = parts.next().filter(|head| hex(head))?.to_owned();
        parts.next().is_none().then_some(Self { digest, run, head })
    }
}

/// The hidden line that says which run wrote a comment, so that an older run does not replace what a newer head has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMark {
    /// The id of the workflow run; later runs have larger ones.
    pub run: u64,
    /// The head commit of the pull request that the run was about.
    pub head: String,
}

impl RunMark {
    const START: &str = "<!-- architect-ci run: ";

    /// Parses the mark out of our own comment, or returns `None` if that has none.
    pub fn find(comment: &str) -> Option<Self> {
        let line = comment.lines().skip(1).take(2).find_map(|line| line.strip_prefix(Self::START))?;
        let (run, head) = line.strip_suffix(" -->")?.split_once(' ')?;
        Some(Self { run: run.parse().ok()?, head: head.to_owned() })
    }

    /// Returns whether this run is outdated: the comment is by a later run, about another commit.
    pub fn is_outdated_by(&self, comment: &str) -> bool {
        Self::find(comment).is_some_and(|other| other.run > self.run && other.head != self.head)
    }

    /// Returns the comment with the mark below the lines by which it is found.
    pub fn put_into(&self, comment: &str) -> String {
        let is_hidden = |line: &&str| line.starts_with("<!-- architect-ci ");
        let above: usize = comment.split_inclusive('\n').take(2).take_while(is_hidden).map(str::len).sum();
        let (above, below) = comment.split_at(above);
        format!("{above}{}{} {} -->\n{below}", Self::START, self.run, marker_key(&self.head))
    }
}

/// The hidden line that says what has been reviewed of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedMark {
    /// The commit up to which it has been reviewed.
    pub head: String,
    /// The commit at which the reviewed change left its base.
    pub base: String,
}

impl ReviewedMark {
    const START: &str = "<!-- architect-ci reviewed: ";

    /// Parses the mark out of our own comment, or returns `None` if that has none.
    pub fn find(comment: &str) -> Option<Self> {
        let hidden = comment.lines().take_while(|line| line.starts_with("<!-- architect-ci "));
        let mut marks = hidden.filter_map(|line| line.strip_prefix(Self::START)?.strip_suffix(" -->"));
        let (head, base) = marks.next()?.split_once(' ')?;
        let is_id = |id: &str| id.len() >= 40 && id.bytes().all(|b| b.is_ascii_hexdigit());
        (is_id(head) && is_id(base)).then(|| Self { head: head.to_owned(), base: base.to_owned() })
    }

    /// Returns the line.
    pub fn line(&self) -> String {
        format!("{}{} {} -->\n", Self::START, marker_key(&self.head), marker_key(&self.base))
    }

    /// Returns a comment with the mark of the one that it replaces, unless it has its own: a run that was cancelled or has
    /// failed reviewed nothing, and the next one continues where the last has ended.
    pub(super) fn kept(old: &str, new: &str) -> String {
        let Some(mark) = Self::find(old).filter(|_| Self::find(new).is_none()) else { return new.to_owned() };
        let is_hidden = |line: &&str| line.starts_with("<!-- architect-ci ");
        let above: usize = new.split_inclusive('\n').take_while(is_hidden).map(str::len).sum();
        let (above, below) = new.split_at(above);
        format!("{above}{}{below}", mark.line())
    }
}

/// Returns the key of our own comment, or `None` if it does not begin with a marker.
pub(super) fn key_of(comment: &str) -> Option<&str> {
    comment.lines().next()?.strip_prefix("<!-- architect-ci comment: ")?.strip_suffix(" -->")
}

/// Returns the hidden lines with which the comment of a key begins; each ends in a line feed.
pub fn hidden_lines(key: &str, plan: Option<&PlanMark>) -> String {
    let plan = plan.map_or_else(String::new, PlanMark::line);
    format!("{}\n{plan}", comment_marker(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_run_about_another_commit_makes_an_earlier_one_outdated() {
        let (old, new) = (RunMark { run: 1, head: "a".into() }, RunMark { run: 2, head: "b".into() });
        let plan = PlanMark { digest: "ab".repeat(32), run: 2, head: "b".into() };
        for plan in [None, Some(&plan)] {
            let comment = new.put_into(&format!("{}### ✅\n", hidden_lines("k", plan)));
            assert_eq!(RunMark::find(&comment), Some(new.clone()));
            assert_eq!(PlanMark::find(&comment).as_ref(), plan);
            assert_eq!(key_of(&comment), Some("k"));
            assert!(comment.ends_with("-->\n### ✅\n"), "{comment}");
            assert!(old.is_outdated_by(&comment));
            assert!(!new.is_outdated_by(&comment));
            assert!(!RunMark { run: 1, head: "b".into() }.is_outdated_by(&comment), "the same commit");
            assert!(!RunMark { run: 3, head: "a".into() }.is_outdated_by(&comment), "a later run");
        }
        assert!(!old.is_outdated_by("text\n<!-- architect-ci run: x b -->\n"));
    }

    #[test]
    fn keys_that_hidden_lines_cannot_hold_stay_apart() {
        assert_eq!(marker_key("docs/a_b.c-d e"), "docs/a_b.c-d e");
        let keys = ["テスト", "ドキュメント", "a--b", "a-b", "docs: orders", "docs orders", "docs-->"]
            .map(marker_key);
        let distinct: std::collections::HashSet<&String> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len(), "{keys:?}");
        assert!(
            keys.iter().all(|key| !key.is_empty() && !key.contains("--") && marker_key(key) == *key),
            "{keys:?}"
        );
    }

    #[test]
    fn reviewed_commit_outlives_comments_that_do_not_say_it() {
        let mark = ReviewedMark { head: "ab".repeat(20), base: "cd".repeat(20) };
        let run = RunMark { run: 7, head: "b".into() };
        let old = run.put_into(&format!("{}{}### x\n", hidden_lines("k", None), mark.line()));
        assert_eq!(ReviewedMark::find(&old), Some(mark.clone()));
        let new = run.put_into(&format!("{}### y\n", hidden_lines("k", None)));
        let kept = ReviewedMark::kept(&old, &new);
        assert_eq!(ReviewedMark::find(&kept), Some(mark.clone()));
        assert_eq!(RunMark::find(&kept), Some(run));
        assert!(kept.ends_with("-->\n### y\n"), "{kept}");
        assert_eq!(ReviewedMark::kept(&kept, &old), old);
        assert_eq!(ReviewedMark::find(&format!("text\n{}", mark.line())), None);
    }

    #[test]
    fn a_plan_is_found_where_we_have_put_it_and_nowhere_else() {
        let mark = PlanMark { digest: "ab".repeat(32), run: 4711, head: "c".repeat(40) };
        let line = mark.line();
        let comment = format!("{}\n{line}### ✅\n", comment_marker("k"));
        assert_eq!(PlanMark::find(&comment), Some(mark));
        assert_eq!(PlanMark::find(&format!("{}\n### x\n{line}", comment_marker("k"))), None);
        for wrong in ["<!-- architect-ci plan: xyz 1 a -->", "<!-- architect-ci plan: -->", "text", ""] {
            assert_eq!(PlanMark::find(&format!("{}\n{wrong}\n", comment_marker("k"))), None, "{wrong}");
        }
    }
}
