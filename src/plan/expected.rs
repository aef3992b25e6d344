//! The run that a plan has to come from, before it is written.

use super::file::Plan;
use crate::event::Status;

/// The run that a plan has to come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The repository.
    pub repository: String,
    /// The folder of the repository that is worked on; `None` for its root.
    pub folder: Option<String>,
    /// The run, if it has to be a certain one.
    pub run: Option<u64>,
    /// What the second of two jobs asks for besides; `None` if a person has reviewed the plan.
    pub second_job: Option<SecondJob>,
}

/// What a job asks for that writes what another job of its run has planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondJob {
    /// The workflow, where the runner names it.
    pub workflow: Option<String>,
    /// The commit that the event is about.
    pub commit: Option<String>,
    /// Names of the gates that must have passed.
    pub gates: Vec<String>,
}

/// Reason why a plan of that origin is not applied here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MadeError {
    /// It says nothing.
    #[error("the plan does not say where it was made; make a new plan in a job of this workflow run")]
    Unknown,
    /// It comes from elsewhere.
    #[error("the plan was made for the {what} {made}, but this is {here}; make a new plan here")]
    Elsewhere {
        /// What differs.
        what: &'static str,
        /// What the plan says.
        made: String,
        /// What is true here.
        here: String,
    },
    /// Its run did not succeed.
    #[error("the run that made the plan ended as {0}; only the plan of a run that succeeded is written")]
    NotSuccessful(Status),
    /// A gate did not pass.
    #[error("the required quality gate `{0}` did not pass when the plan was made; make a new plan")]
    Gate(String),
}

fn text(value: Option<&String>) -> &str {
    value.map_or("none", String::as_str)
}

/// Shortens a commit's hash.
fn shown(text: &str) -> &str {
    let is_hash = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { &text[..10] } else { text }
}

impl Expected {
    /// Checks where a plan was made.
    pub fn check(&self, plan: &Plan) -> Result<(), MadeError> {
        let Some(made) = &plan.made else {
            return if self.second_job.is_some() { Err(MadeError::Unknown) } else { Ok(()) };
        };
        let same = |what, made: &str, here: &str| {
            let error =
                || MadeError::Elsewhere { what, made: shown(made).to_owned(), here: shown(here).to_owned() };
            if made.eq_ignore_ascii_case(here) { Ok(()) } else { Err(error()) }
        };
        same("repository", &made.repository, &self.repository)?;
        let folder = |folder: &Option<String>| folder.clone().unwrap_or_else(|| "(the root)".to_owned());
        // Names that differ in case alone may be two folders.
        if made.folder != self.folder {
            let (made, here) = (folder(&made.folder), folder(&self.folder));
            return Err(MadeError::Elsewhere { what: "folder", made, here });
        }
        if let Some(run) = self.run {
            same("run", &made.run.to_string(), &run.to_string())?;
        }
        let Some(second) = &self.second_job else { return Ok(()) };
        same("workflow", text(made.workflow.as_ref()), text(second.workflow.as_ref()))?;
        same("commit", text(made.commit.as_ref()), text(second.commit.as_ref()))?;
        if made.status != Status::Success {
            return Err(MadeError::NotSuccessful(made.status));
        }
        // Several may have one name: a gate, and a check that a run had to pass.
        let passed = |name: &String| {
            let mut named = made.gates.iter().filter(|gate| gate.name == *name).peekable();
            named.peek().is_some() && named.all(|gate| gate.passed)
        };
        match second.gates.iter().find(|name| !passed(name)) {
            Some(name) => Err(MadeError::Gate(name.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Made, MadeGate, PlanFile, Planned};
    use workspace::ChangeSet;

    fn plan(change: impl FnOnce(&mut Made)) -> Plan {
        let (changes, actions) = (ChangeSet::default(), Vec::new());
        let planned = Planned {
            task: "t",
            agent: "build",
            model: "m",
            base: None,
            actions,
            files: changes.iter().map(PlanFile::new).collect(),
        };
        let mut plan = Plan::new(planned);
        let mut made = Made {
            repository: "octo/demo".into(),
            folder: Some("web".into()),
            workflow: Some("octo/demo/.github/workflows/a.yml@refs/heads/main".into()),
            run: 7,
            commit: Some("c".repeat(40)),
            at: None,
            status: Status::Success,
            gates: vec![MadeGate { name: "tests".into(), passed: true }],
        };
        change(&mut made);
        plan.made = Some(made);
        plan.seal();
        plan
    }

    fn expected() -> Expected {
        let second = SecondJob {
            workflow: Some("octo/demo/.github/workflows/a.yml@refs/heads/main".into()),
            commit: Some("c".repeat(40)),
            gates: vec!["tests".into()],
        };
        Expected {
            repository: "Octo/demo".into(),
            folder: Some("web".into()),
            run: Some(7),
            second_job: Some(second),
        }
    }

    #[test]
    fn second_job_writes_only_what_its_own_run_has_planned() {
        type Change = fn(&mut Made);
        let refused: [(Change, &str); 10] = [
            (
                |made| made.repository = "octo/other".into(),
                "for the repository octo/other, but this is Octo/demo",
            ),
            (|made| made.folder = None, "for the folder (the root), but this is web"),
            (|made| made.folder = Some("Web".into()), "for the folder Web, but this is web"),
            (|made| made.run = 8, "for the run 8, but this is 7"),
            (|made| made.workflow = None, "for the workflow none, but this is octo/demo/"),
            (|made| made.commit = Some("d".repeat(40)), "for the commit dddddddddd, but this is cccccccccc"),
            (|made| made.status = Status::Partial, "ended as partial"),
            (|made| made.gates.clear(), "gate `tests` did not pass"),
            (|made| made.gates[0].passed = false, "gate `tests` did not pass"),
            (
                |made| made.gates.push(MadeGate { name: "tests".into(), passed: false }),
                "gate `tests` did not pass",
            ),
        ];
        for (change, message) in refused {
            let error = expected().check(&plan(change)).expect_err(message).to_string();
            assert!(error.contains(message), "{error}");
        }
        assert_eq!(expected().check(&plan(|_| ())), Ok(()));
        let mut unknown = plan(|_| ());
        unknown.made = None;
        assert_eq!(expected().check(&unknown), Err(MadeError::Unknown));
        let reviewed = Expected { second_job: None, ..expected() };
        assert_eq!(reviewed.check(&unknown), Ok(()));
    }

    #[test]
    fn plans_without_a_folder_are_for_the_root() {
        let mut text = serde_json::to_value(plan(|made| made.folder = None)).expect("a plan is JSON");
        assert!(
            text["made"].as_object_mut().expect("an object").remove("folder").is_none(),
            "as older ones are"
        );
        let older: Plan = serde_json::from_value(text).expect("and reads back");
        assert_eq!(older.computed_digest(), older.digest);
        assert_eq!(Expected { folder: None, ..expected() }.check(&older), Ok(()));
        let reviewed = Expected { second_job: None, ..expected() };
        assert!(reviewed.check(&older).is_err());
    }

    #[test]
    fn digest_covers_the_origin() {
        let one = plan(|_| ());
        assert_ne!(one.digest, plan(|made| made.folder = None).digest);
        let mut other = plan(|made| made.run = 8);
        assert_ne!(one.digest, other.digest);
        other.made.clone_from(&one.made);
        assert_eq!(other.computed_digest(), one.digest);
    }
}
