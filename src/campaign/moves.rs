//! Moved files of a plan: each is deleted in one place and created in another, and neither makes sense alone.

use std::collections::{BTreeMap, HashMap};

use workspace::{Operation, WorkspacePath};

use crate::event::PlannedAction;
use crate::plan::{Contents, PlanFile};

/// The tool that moves files.
const MOVE: &str = "move_file";

/// Most pairs of deleted and created files that are all compared; of more, only those whose names are alike.
const MAX_PAIRS: usize = 10_000;

/// Returns the group of each file, as the index of one of its members. Files are in one group if one was moved to the other: by an
/// action, or because what was deleted and what was created are the same, or alike for at least one half.
pub(super) fn groups(files: &[PlanFile], actions: &[PlannedAction]) -> Vec<usize> {
    let mut groups = Groups((0..files.len()).collect());
    let indices: HashMap<&WorkspacePath, usize> =
        files.iter().enumerate().map(|(at, file)| (&file.path, at)).collect();
    for (from, to) in moved_by(actions) {
        if let (Some(from), Some(to)) = (indices.get(from), indices.get(to)) {
            groups.join(*from, *to);
        }
    }
    for compare in [same, alike] {
        let alone = groups.alone();
        let of = |op: Operation| alone.iter().copied().filter(|at| files[*at].op == op).collect::<Vec<_>>();
        for (from, to) in compare(files, &of(Operation::Delete), &of(Operation::Add)) {
            groups.join(from, to);
        }
    }
    (0..files.len()).map(|at| groups.of(at)).collect()
}

/// The group of each file, as another member of it, or as itself.
struct Groups(Vec<usize>);

impl Groups {
    fn of(&self, mut at: usize) -> usize {
        while self.0[at] != at {
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[other] = one;
    }

    /// Returns the files that nothing was joined with.
    fn alone(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.0.len()];
        for at in 0..self.0.len() {
            sizes[self.of(at)] += 1;
        }
        (0..self.0.len()).filter(|at| sizes[self.of(*at)] == 1).collect()
    }
}

/// Returns which files actions have moved, from where they were at first.
fn moved_by(actions: &[PlannedAction]) -> Vec<(&WorkspacePath, &WorkspacePath)> {
    let mut origins: BTreeMap<&WorkspacePath, &WorkspacePath> = BTreeMap::new();
    for action in actions.iter().filter(|action| action.tool_name == MOVE) {
        for pair in action.effects.writes.chunks_exact(2) {
            let from = origins.get(&pair[0]).copied().unwrap_or(&pair[0]);
            origins.insert(&pair[1], from);
        }
    }
    origins.into_iter().map(|(to, from)| (from, to)).collect()
}

/// Returns which files were created with the content of a deleted one. Empty files are the same everywhere.
fn same(files: &[PlanFile], deleted: &[usize], created: &[usize]) -> Vec<(usize, usize)> {
    let mut by_content: HashMap<&str, Vec<usize>> = HashMap::new();
    let has_content = |at: &&usize| !matches!(&files[**at].contents, Contents::Patch(patch) if lines(&patch.text()).is_empty());
    for at in deleted.iter().rev().filter(has_content) {
        let hash = files[*at].before_sha256.as_deref().unwrap_or_default();
        by_content.entry(hash).or_default().push(*at);
    }
    let origin = |to: &usize| {
        let from = by_content.get_mut(files[*to].after_sha256.as_deref()?)?.pop()?;
        Some((from, *to))
    };
    created.iter().filter_map(origin).collect()
}

/// Returns which files were created with at least one half of the lines of a deleted one.
fn alike(files: &[PlanFile], deleted: &[usize], created: &[usize]) -> Vec<(usize, usize)> {
    let are_few = deleted.len() * created.len() <= MAX_PAIRS;
    let read = |at: &usize| (*at, stem(&files[*at].path), Lines::of(&files[*at]));
    let deleted: Vec<_> = deleted.iter().map(read).collect();
    let created = created.iter().map(read);
    let origin = |(to, name, lines): (usize, &str, Lines)| {
        let candidates = deleted.iter().filter(|(_, other, _)| are_few || *other == name);
        let scored = candidates.map(|(from, _, other)| (lines.common(other), *from, other));
        let (common, from, other) = scored.max_by_key(|(common, ..)| *common)?;
        (common > 0 && 2 * common >= lines.count.max(other.count)).then_some((from, to))
    };
    created.filter_map(origin).collect()
}

/// Returns the name of a file without its folder and its endings.
fn stem(path: &WorkspacePath) -> &str {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    name.split('.').next().unwrap_or_default()
}

/// The lines of a file that is created or deleted.
struct Lines {
    count: usize,
    times: HashMap<String, usize>,
}

impl Lines {
    fn of(file: &PlanFile) -> Self {
        let mut times: HashMap<String, usize> = HashMap::new();
        let mut count = 0;
        if let Contents::Patch(patch) = &file.contents {
            for line in lines(&patch.text()) {
                *times.entry(line.to_owned()).or_default() += 1;
                count += 1;
            }
        }
        Self { count, times }
    }

    fn common(&self, other: &Self) -> usize {
        let shared =
            self.times.iter().map(|(line, times)| other.times.get(line).map_or(0, |more| *times.min(more)));
        shared.sum()
    }
}

/// Returns the lines that a patch adds or deletes, without those that are blank.
fn lines(patch: &str) -> Vec<&str> {
    let body = patch.lines().skip_while(|line| !line.starts_with("@@"));
    let changed = body.filter_map(|line| line.strip_prefix(['+', '-']));
    changed.map(str::trim).filter(|line| !line.is_empty()).collect()
}
