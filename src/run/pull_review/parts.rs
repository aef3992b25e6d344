//! A diff in parts, none longer than what a model is shown at once. Each part can be read on its own: where one begins within a
//! file, it repeats the file's name and says at which lines it goes on.

/// Splits a diff into parts of at most `limit` bytes, apart from the two lines that a part within a file begins with.
pub(super) fn parts(diff: &str, limit: usize) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let mut place = Place::default();
    for line in diff.split_inclusive('\n') {
        for piece in pieces(line, limit) {
            if !part.is_empty() && part.len() + piece.len() > limit {
                parts.push(std::mem::replace(&mut part, place.header()));
            }
            part += &piece;
        }
        place.pass(line);
    }
    parts.push(part);
    parts
}

/// Splits a line that is longer than a part; each piece begins with the sign of the line.
fn pieces(line: &str, limit: usize) -> Vec<String> {
    if line.len() <= limit {
        return vec![line.to_owned()];
    }
    let sign = line.chars().next().filter(|sign| "+- ".contains(*sign)).map(String::from).unwrap_or_default();
    let (mut rest, mut pieces) = (&line[sign.len()..], Vec::new());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(limit.max(4)));
        let end = if after.is_empty() { "" } else { "\n" };
        pieces.push(format!("{sign}{piece}{end}"));
        rest = after;
    }
    pieces
}

/// A place in a diff.
#[derive(Default)]
struct Place {
    /// The last line that names the file as it is now, or as it was.
    file: String,
    /// The next lines of the file, before and now, and how many of them the hunk has left.
    before: (usize, usize),
    now: (usize, usize),
}

impl Place {
    /// Goes beyond a line.
    fn pass(&mut self, line: &str) {
        if self.before.1 == 0 && self.now.1 == 0 {
            if let Some((before, now)) = hunk(line) {
                (self.before, self.now) = (before, now);
            } else if line.starts_with("diff --git ") || line.starts_with("+++ b/") {
                line.clone_into(&mut self.file);
            }
            return;
        }
        let is_in = |sign: &str| line.starts_with(sign);
        for (side, sign) in [(&mut self.before, "-"), (&mut self.now, "+")] {
            if is_in(" ") || is_in(sign) {
                *side = (side.0 + 1, side.1.saturating_sub(1));
            }
        }
    }

    /// Returns the lines with which a part begins here.
    fn header(&self) -> String {
        let (before, now) = (self.before, self.now);
        if before.1 == 0 && now.1 == 0 {
            return String::new();
        }
        format!("{}@@ -{},{} +{},{} @@ continued\n", self.file, before.0, before.1, now.0, now.1)
    }
}

/// Reads the header of a hunk: its first line and the number of its lines, before and now.
fn hunk(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (before, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (now, _) = rest.split_once(" @@")?;
    let side = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((side(before)?, side(now)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIFF: &str = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+++ b/no name\n+2\n \
                        three\ndiff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -7 +7 @@ fn x\n-old\n+new\n";

    #[test]
    fn parts_within_a_file_say_where_they_go_on() {
        assert_eq!(parts(DIFF, 10_000), [DIFF]);
        assert_eq!(parts("", 10), [""]);
        let parts = parts(DIFF, 90);
        let expected = [
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n",
            "+++ b/a.txt\n@@ -3,1 +2,3 @@ continued\n+++ b/no name\n+2\n three\ndiff --git a/b.txt b/b.txt\n",
            "--- a/b.txt\n+++ b/b.txt\n@@ -7 +7 @@ fn x\n-old\n+new\n",
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn a_line_that_is_too_long_goes_on_in_the_next_part() {
        let diff = format!(
            "+++ b/a.js\n@@ -0,0 +1,3 @@\n+{}\n+++ b/no name\n+{}\n",
            "x".repeat(100),
            "y".repeat(40)
        );
        let parts = parts(&diff, 50);
        let shown: usize = parts.iter().map(|part| part.matches('x').count()).sum();
        assert_eq!(shown, 100, "{parts:?}");
        // Each piece is of the same line, and what is added is no name of a file.
        assert!(parts[1].starts_with("+++ b/a.js\n@@ -0,0 +1,3 @@ continued\n+x"), "{parts:?}");
        assert!(parts.last().unwrap().starts_with("+++ b/a.js\n@@ -0,0 +3,1 @@ continued\n+y"), "{parts:?}");
    }

    proptest! {
        /// Whatever the diff is, its parts are the diff, but for the lines that say where a part goes on.
        #[test]
        fn nothing_is_lost(diff in "(([ +d-][ -~]{0,40}|@@ -[1-9],[1-9] [+][1-9],[1-9] @@|[+]{3} b/a)\n){0,30}", limit in 60_usize..200) {
            let own = |part: &String| part.find(" @@ continued\n").map_or(0, |at| at + " @@ continued\n".len());
            let shown: String = parts(&diff, limit).iter().map(|part| part[own(part)..].to_owned()).collect();
            prop_assert_eq!(shown, diff);
        }
    }
}
