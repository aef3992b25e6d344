//! Applying a reviewed plan exactly: its content is checked first, then all files change or none.

use std::collections::BTreeSet;

use workspace::{ChangeSet, DiskWorkspace, FileChange, FileError, FileState, Operation, WorkspacePath};

use super::file::Plan;
use super::journal::{Journal, MayWrite, Step};
use super::journal_error::JournalError;
use super::journal_folder::JournalFolder;
use super::links::link_outside;
use super::planned_file::{Damaged, PlanFile};

/// Number of characters of a digest that have to be given: 128 bits. Another plan with fewer of them in common can be found by trying.
const SHORTEST_DIGEST: usize = 32;

/// What is found in the place of a file that is gone.
const GONE: &str = "it no longer exists";

/// Plan that fits the checkout.
#[derive(Debug)]
pub struct Checked {
    /// What the plan changes: what is left to be written, and what [`Checked::compare`] adds.
    changes: ChangeSet,
    /// What is left to be written to the checkout.
    left: ChangeSet,
    /// Files that already are as the plan leaves them, and their states.
    in_place: Vec<(PlanFile, Option<FileState>)>,
}

/// Result of applying a plan.
#[derive(Debug, PartialEq, Eq)]
pub enum Applied {
    /// These are the changes, of which some may have been in the checkout already.
    Done(Vec<FileChange>),
    /// There was nothing left to do.
    Already,
}

/// File that is not as the plan found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Path of the file.
    pub path: WorkspacePath,
    /// What was found instead.
    pub now: String,
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.path, self.now)
    }
}

/// Reason why a plan was not applied. Nothing was written, or what was written has been reverted.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The digest in the plan does not match its content.
    #[error(
        "the plan's content has the digest {computed}, but the plan says {written}; it was changed after the \
         review, so make a new plan"
    )]
    Tampered {
        /// Digest given in the plan.
        written: String,
        /// Digest of the content.
        computed: String,
    },
    /// The plan was written by a run that had not finished.
    #[error("the plan is incomplete: {0}; make a new plan, or use `git apply plan.patch` for what there is")]
    Incomplete(String),
    /// So little of the digest is given that another plan may begin with it.
    #[error(
        "`digest` has {given} characters, and at least {SHORTEST_DIGEST} are needed, as another plan with the same beginning could be \
         made; give the whole digest of the plan that you have reviewed"
    )]
    ShortDigest {
        /// Number of characters given.
        given: usize,
    },
    /// The plan is not the one that was reviewed.
    #[error("the plan has the digest {found}, not {wanted}; check `digest`")]
    OtherPlan {
        /// Digest that was requested.
        wanted: String,
        /// Digest of the plan.
        found: String,
    },
    /// Files of the checkout have changed since the plan was made.
    #[error("the plan is stale; make a new plan{}: {}", elsewhere(.0), list(.0))]
    Stale(Vec<Stale>),
    /// A file's content is not what the plan promises.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// A command's call runs a different line than people are shown.
    #[error("the plan shows the command `{0}`, but its input runs a different one; make a new plan")]
    Disguised(String),
    /// A file occurs twice.
    #[error("the plan has two entries for {0}; make a new plan")]
    Twice(WorkspacePath),
    /// A link would lead out of the workspace.
    #[error(
        "the plan turns {0} into a link that may lead outside of the workspace; create the link yourself if you want it"
    )]
    LinkOutside(WorkspacePath),
    /// A guardrail forbids a file.
    #[error("the plan changes a protected file: {0}")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The changes could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Asks whether this is the checkout that the plan was made for, if none of its files is here.
fn elsewhere(stale: &[Stale]) -> &'static str {
    let is_gone = |stale: &Stale| stale.now == GONE;
    if stale.iter().all(is_gone) {
        ", or name the checkout that it was made for with `--workspace`"
    } else {
        ""
    }
}

fn list(stale: &[Stale]) -> String {
    stale.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Plan {
    /// Checks that the plan is whole and unchanged, and the one that was reviewed.
    pub fn check_digest(&self, reviewed: Option<&str>) -> Result<(), ApplyError> {
        let computed = self.computed_digest();
        if computed != self.digest {
            return Err(ApplyError::Tampered { written: self.digest.clone(), computed });
        }
        if let Some(wanted) = reviewed {
            if !computed.starts_with(&wanted.to_ascii_lowercase()) {
                return Err(ApplyError::OtherPlan { wanted: wanted.to_owned(), found: computed });
            }
            if wanted.len() < SHORTEST_DIGEST {
                return Err(ApplyError::ShortDigest { given: wanted.len() });
            }
        }
        if let Some(reason) = &self.incomplete {
            return Err(ApplyError::Incomplete(reason.clone()));
        }
        Ok(())
    }

    /// Checks the plan against its own digest, against the digest that was reviewed, and against the
    /// checkout. `may_write` returns the reason if a file must not be written.
    pub fn check(
        &self,
        disk: &DiskWorkspace,
        reviewed: Option<&str>,
        may_write: impl Fn(&WorkspacePath) -> MayWrite,
    ) -> Result<Checked, ApplyError> {
        self.check_digest(reviewed)?;
        if let Some(command) = self.commands.iter().find(|command| !command.is_as_shown()) {
            return Err(ApplyError::Disguised(command.command.clone()));
        }
        let mut paths = BTreeSet::new();
        if let Some(file) = self.files.iter().find(|file| !paths.insert(&file.path)) {
            return Err(ApplyError::Twice(file.path.clone()));
        }
        let (mut changes, mut stale, mut in_place) = (Vec::new(), Vec::new(), Vec::new());
        for file in &self.files {
            may_write(&file.path).map_err(ApplyError::Refused)?;
            // A link in the way was put there by somebody else, unless the plan removes it.
            let link = disk.link_above(&file.path)?;
            if link.is_some_and(|link| !self.deletes(&link)) {
                stale.push(Stale {
                    path: file.path.clone(),
                    now: "a folder above it is now a link".to_owned(),
                });
                continue;
            }
            let now = disk.state_of(&file.path)?;
            if file.is_after(now.as_ref()) {
                in_place.push((file.clone(), now));
            } else if !file.is_before(now.as_ref()) {
                let text = match (&now, &file.before_sha256) {
                    (None, _) => GONE.to_owned(),
                    (Some(_), None) => "it already exists".to_owned(),
                    (Some(now), Some(_)) if file.has_content_before(Some(now)) => {
                        format!("its mode is now {}", now.mode)
                    }
                    (Some(_), Some(_)) => "it has changed".to_owned(),
                };
                stale.push(Stale { path: file.path.clone(), now: text });
            } else {
                let after = file.after(now.as_ref())?;
                changes.extend(FileChange::new(file.path.clone(), now, after));
            }
        }
        let changes = ChangeSet::new(changes);
        if let Some(link) = link_outside(disk.path(), &changes)? {
            return Err(ApplyError::LinkOutside(link));
        }
        stale.extend(
            disk.occupied(&changes)?
                .into_iter()
                .map(|path| Stale { path, now: "it is in the way of a planned file".to_owned() }),
        );
        if stale.is_empty() {
            Ok(Checked { left: changes.clone(), changes, in_place })
        } else {
            Err(ApplyError::Stale(stale))
        }
    }

    fn deletes(&self, path: &WorkspacePath) -> bool {
        self.files.iter().any(|file| file.path == *path && file.op == Operation::Delete)
    }
}

impl Checked {
    /// Returns the planned files that already are as the plan leaves them.
    pub fn in_place(&self) -> impl Iterator<Item = &PlanFile> {
        self.in_place.iter().map(|(file, _)| file)
    }

    /// Compares the files that already are as the plan leaves them with the commit that they are delivered on, whose state of
    /// each file `committed` returns: those that the commit does not have so are changes of the plan as well.
    pub fn compare(
        &mut self,
        disk: &DiskWorkspace,
        committed: impl Fn(&PlanFile) -> Option<FileState>,
    ) -> Result<(), ApplyError> {
        let mut changes: Vec<FileChange> = self.left.iter().cloned().collect();
        let mut stale = Vec::new();
        for (file, now) in &self.in_place {
            let before = committed(file);
            if file.is_after(before.as_ref()) {
                continue;
            }
            if file.is_before(before.as_ref()) {
                changes.extend(FileChange::new(file.path.clone(), before, now.clone()));
            } else {
                let now =
                    "it has its planned content here, but not what the plan was made from in the commit";
                stale.push(Stale { path: file.path.clone(), now: now.to_owned() });
            }
        }
        if !stale.is_empty() {
            return Err(ApplyError::Stale(stale));
        }
        self.changes = ChangeSet::new(changes);
        match link_outside(disk.path(), &self.changes)? {
            Some(link) => Err(ApplyError::LinkOutside(link)),
            None => Ok(()),
        }
    }

    /// Returns what the plan changes.
    pub fn changes(&self) -> &ChangeSet {
        &self.changes
    }

    /// Returns those of the changes that the checkout has already.
    pub fn made(&self) -> Vec<FileChange> {
        let left: BTreeSet<&WorkspacePath> = self.left.iter().map(|change| &change.path).collect();
        self.changes.iter().filter(|change| !left.contains(&change.path)).cloned().collect()
    }

    /// Changes all files, or none. `observe` is called with every step before it is made.
    pub fn apply(
        self,
        disk: &DiskWorkspace,
        journal: &JournalFolder,
        observe: &dyn Fn(Step),
    ) -> Result<Applied, ApplyError> {
        if self.changes.is_empty() {
            return Ok(Applied::Already);
        }
        if !self.left.is_empty() {
            let left: Vec<FileChange> = self.left.iter().cloned().collect();
            Journal::write(disk, journal, &left, observe, &|| false)?.perform(observe)?;
        }
        Ok(Applied::Done(self.changes.iter().cloned().collect()))
    }
}
