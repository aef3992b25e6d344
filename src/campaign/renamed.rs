//! Renamed repositories: a repository is one target, whatever its name was. What began under a name that leads to another target by now
//! goes on as that one, with all that is known and decided of it.

use super::session::Session;
use super::standing::twin;
use super::state::{Record, State};
use super::target::TargetId;
use crate::github::{Observed, ObservedRepository};

impl Session<'_> {
    /// Lets observed targets go on under the names that their repositories have now, as far as these are targets as well. Those have to be
    /// observed again.
    pub(super) fn follow_renames(&mut self) {
        let renamed = |(id, observed): (&TargetId, &Observed)| {
            let ObservedRepository::Present { name, .. } = &observed.repository else { return None };
            let is_renamed = id.part.is_empty() && twin(&self.state.targets, id)(name);
            is_renamed.then(|| (id.clone(), TargetId { repository: name.clone(), ..id.clone() }))
        };
        let all: Vec<(TargetId, TargetId)> = self.observed.iter().filter_map(renamed).collect();
        for (old, new) in all {
            if self.state.follow_rename(&old, &new) {
                self.observed.retain(|id, _| !id.is_part_of(&new));
                self.notices.push(format!("{old} has been renamed, and goes on as {new}"));
            }
            // What is seen under the old name is that of the other target.
            if let Some(observed) = self.observed.get_mut(&old) {
                (observed.pulls, observed.reverts) = Default::default();
            }
        }
        self.observed.retain(|id, _| self.state.targets.contains_key(id));
    }
}

impl State {
    /// Lets a target and its parts go on as another one. Of two that have begun, the one with the new name counts, with what people have
    /// decided about the other. The old name stays, without anything, for as long as the campaign's file selects it. Returns whether there
    /// was anything to go on with.
    fn follow_rename(&mut self, old: &TargetId, new: &TargetId) -> bool {
        let has_begun = |(id, record): (&TargetId, &Record)| !id.part.is_empty() || record.has_begun();
        let is_selected = self.targets.get(old).is_some_and(|record| !record.left_out);
        if is_selected && !self.parts_of(old).any(has_begun) {
            return false;
        }
        let left_out = self.targets.get(new).is_some_and(|record| record.left_out);
        let wave = self.parts_of(old).chain(self.parts_of(new)).filter_map(|(_, record)| record.wave).min();
        let ids: Vec<TargetId> = self.parts_of(old).map(|(id, _)| id.clone()).collect();
        for record_id in ids {
            let Some(earlier) = self.targets.remove(&record_id) else { continue };
            let now = self.targets.entry(new.with_part(&record_id.part)).or_default();
            let (withdrawn, excused) = (now.withdrawn || earlier.withdrawn, now.excused || earlier.excused);
            let counts = if now.has_begun() { now.clone() } else { earlier };
            *now = Record { excused, withdrawn, ..counts };
        }
        for (_, record) in self.parts_of_mut(new) {
            (record.wave, record.left_out) = (wave, left_out);
        }
        if is_selected {
            self.targets.insert(old.clone(), Record { wave, ..Record::default() });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::AttemptOutcome;
    use super::*;

    fn id(text: &str) -> TargetId {
        TargetId::try_from(text.to_owned()).expect("a target")
    }

    fn state(records: &[(&str, Record)]) -> State {
        let mut state = State::new("clock");
        state.targets.extend(records.iter().map(|(text, record)| (id(text), record.clone())));
        state
    }

    /// Records by the names of their repositories.
    type Records<'a> = &'a [(&'a str, Record)];

    #[test]
    fn renamed_repository_goes_on_as_one_target() {
        let begun = |wave| Record { wave: Some(wave), ..Record::default() };
        let open = |wave, number| Record { pull: Some(number), ..begun(wave) };
        let gone = |record: Record| Record { left_out: true, ..record };
        let new = Record::default;
        let planned = Record { outcome: AttemptOutcome::Planned("d".to_owned()), attempts: 1, ..begun(1) };
        let merged_before = Record { earlier: vec![3], past: 3, ..begun(0) };
        let withdrawn = |record: Record| Record { withdrawn: true, ..record };
        let rows: &[(&str, Records<'_>, Records<'_>)] = &[
            ("open", &[("o/old", gone(open(0, 7))), ("o/new", new())], &[("o/new", open(0, 7))]),
            ("planned", &[("o/old", gone(planned.clone())), ("o/new", new())], &[("o/new", planned)]),
            (
                "mended",
                &[("o/old", gone(merged_before.clone())), ("o/new", new())],
                &[("o/new", merged_before)],
            ),
            (
                "a part as well",
                &[("o/old", gone(begun(1))), ("o/old@web", gone(open(1, 7))), ("o/new", new())],
                &[("o/new", begun(1)), ("o/new@web", open(1, 7))],
            ),
            (
                "both have begun",
                &[("o/old", gone(withdrawn(open(0, 7)))), ("o/new", open(2, 8)), ("o/new@web", open(2, 9))],
                &[("o/new", withdrawn(open(0, 8))), ("o/new@web", open(0, 9))],
            ),
            (
                "both are selected",
                &[("o/old", open(0, 7)), ("o/new", begun(2))],
                &[("o/new", open(0, 7)), ("o/old", begun(0))],
            ),
            (
                "the old name is found again",
                &[("o/old", begun(0)), ("o/new", open(0, 7))],
                &[("o/new", open(0, 7)), ("o/old", begun(0))],
            ),
        ];
        for (name, before, after) in rows {
            let mut saved = state(before);
            saved.follow_rename(&id("o/old"), &id("o/new"));
            assert_eq!(saved, state(after), "{name}");
            assert!(
                !saved.targets.contains_key(&id("o/old")) || !saved.follow_rename(&id("o/old"), &id("o/new")),
                "{name}: twice"
            );
        }
    }
}
