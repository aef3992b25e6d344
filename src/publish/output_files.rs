//! The files that a run leaves: where they are, and what is written to them.

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use sanitize::Masker;

use super::secret_watch::{SecretSearch, SecretWatch, Unwritten};
use crate::base::fs::{write_atomic, write_atomic_from, write_private_from};
use crate::base::time_limit::{Grace, WriteUntil};
use crate::config;
use crate::plan::{Contents, Plan, WholePatch};
use crate::report::masked::MaskError;
use crate::report::{RunReport, html, junit, markdown, plan_holds_secret, summary};
use crate::request::InputError;

/// The transcript, where the configuration says nothing else.
pub(crate) const TRANSCRIPT: &str = "transcript.jsonl";

/// The table of the places that a recipe changed.
pub(super) const MATCHES: &str = "matches.csv";

/// Where the files of a run lie.
#[derive(Clone, Debug)]
pub(crate) struct OutputFiles {
    pub(crate) report: PathBuf,
    pub(crate) markdown: PathBuf,
    pub(crate) html: PathBuf,
    pub(crate) comment: PathBuf,
    pub(crate) summary: PathBuf,
    pub(crate) junit: PathBuf,
    pub(crate) sarif: PathBuf,
    pub(crate) plan: PathBuf,
    pub(crate) patch: PathBuf,
    pub(crate) transcript: PathBuf,
    /// Written by recipes alone.
    pub(crate) matches: PathBuf,
}

impl OutputFiles {
    /// The places, with their folders made, and without files of an earlier run; a run that continues replaces its
    /// transcript itself.
    pub(crate) fn new(out: &Path, config: &config::Report, goes_on: bool) -> Result<Self, InputError> {
        let wrong = |error, path: &Path| InputError::Write { path: path.to_owned(), error };
        let out = &out.canonicalize().map_err(|error| wrong(error, out))?;
        let place = |configured: &Option<String>, name: &str| {
            let path = out.join(configured.as_deref().unwrap_or(name));
            make_folder(out, &path).map_err(|error| wrong(error, &path))?;
            Ok::<_, InputError>(path)
        };
        let files = Self {
            report: place(&config.json, "report.json")?,
            markdown: place(&config.markdown, "report.md")?,
            html: place(&config.html, "report.html")?,
            comment: out.join("comment.md"),
            summary: out.join("summary.md"),
            junit: place(&config.junit, "junit.xml")?,
            sarif: place(&config.sarif, "findings.sarif")?,
            plan: place(&config.plan, "plan.json")?,
            patch: place(&config.patch, "plan.patch")?,
            transcript: place(&config.transcript, TRANSCRIPT)?,
            matches: out.join(MATCHES),
        };
        for path in files.all().into_iter().filter(|path| !goes_on || **path != files.transcript) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(wrong(error, path)),
                _ => {}
            }
        }
        Ok(files)
    }

    /// Writes plan and patch as they are, or not at all: masked ones could not be applied. Neither is held in memory as a whole.
    pub(super) fn write_plan(
        &self,
        plan: Option<&mut Plan>,
        patch: &WholePatch,
        search: SecretSearch<'_>,
    ) -> Result<(), PlanFileError> {
        let Some(plan) = plan else {
            return if patch.is_empty() { Ok(()) } else { self.write_patch(patch, search) };
        };
        if !plan.is_sealed() {
            return Err(PlanFileError::TimeUp);
        }
        // What would give a secret away is noticed before anything lies there. Its texts are those of the patch.
        if plan_holds_secret(plan, search.masker)? || contents_hold_secret(plan, search)? {
            return Err(PlanFileError::Secret);
        }
        self.write_patch(patch, search)?;
        let write = |to: &mut dyn io::Write| {
            let to = WriteUntil::new(to, search.time_limit, Grace::Report);
            serde_json::to_writer_pretty(to, plan).map_err(io::Error::from)
        };
        write_private_from(&self.plan, write).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => {
                self.remove_plan();
                PlanFileError::TimeUp
            }
            _ => PlanFileError::Write { path: self.plan.clone(), error },
        })
    }

    fn write_patch(&self, patch: &WholePatch, search: SecretSearch<'_>) -> Result<(), PlanFileError> {
        let written = write_private_from(&self.patch, |to| {
            let mut watch = SecretWatch::new(to, search);
            patch.write(&mut watch)?;
            if watch.end()? { Err(Unwritten::Secret) } else { Ok(()) }
        });
        written.map_err(|error| match error {
            Unwritten::Secret => PlanFileError::Secret,
            Unwritten::TimeUp => PlanFileError::TimeUp,
            Unwritten::Failed(error) => PlanFileError::Write { path: self.patch.clone(), error },
        })
    }

    /// Removes plan and patch.
    pub(super) fn remove_plan(&self) {
        for path in [&self.plan, &self.patch] {
            let _ = fs::remove_file(path);
        }
    }

    /// Writes the table of the places that a recipe changed.
    pub(super) fn write_matches(&self, table: &str, masker: &Masker) -> Result<(), PlanFileError> {
        let path = &self.matches;
        write_atomic(path, masker.mask_rendered(table).as_bytes())
            .map_err(|error| PlanFileError::Write { path: path.clone(), error })
    }

    /// Writes every rendering of a report; what cannot be written becomes a notice of it. `comment` renders the comment. Returns
    /// the files that could not be written.
    pub(super) fn write_report(
        &self,
        report: &mut RunReport,
        masker: &Masker,
        comment: impl FnOnce(&RunReport) -> String,
        sarif: impl FnOnce(&RunReport) -> String,
    ) -> Vec<PathBuf> {
        let mut failed = Vec::new();
        if let Err(error) = replace_from(&self.report, |to| report.write_json(to)) {
            report.warn(format!("could not write {}: {error}", self.report.display()));
            failed.push(self.report.clone());
        }
        let junit = junit(report).unwrap_or_else(|error| {
            report.warn(error.to_string());
            String::new()
        });
        let mut write = |report: &mut RunReport, path: &Path, text: String| {
            // Masked as a value before; renderings may bring together what was apart. JSON keeps its form.
            let is_json = path == self.sarif;
            let text = if is_json { text.as_str().into() } else { masker.mask_rendered(&text) };
            if let Err(error) = replace(path, text.as_bytes()) {
                report.warn(format!("could not write {}: {error}", path.display()));
                failed.push(path.to_owned());
            }
        };
        // One at a time: each may have many megabytes.
        for (path, render) in [
            (&self.markdown, markdown as fn(&RunReport) -> String),
            (&self.html, html),
            (&self.summary, summary),
        ] {
            let text = render(report);
            write(report, path, text);
        }
        for (path, text) in
            [(&self.comment, comment(report)), (&self.junit, junit), (&self.sarif, sarif(report))]
        {
            write(report, path, text);
        }
        failed
    }

    /// Returns the files that should be there and are not, and those that could not be written; plan and patch count unless the
    /// run has none.
    pub(super) fn missing(&self, has_no_plan: bool, failed: &[PathBuf]) -> Vec<String> {
        let Self { report, markdown, html, comment, summary, junit, sarif, plan, patch, transcript, .. } =
            self;
        let always = [report, markdown, html, comment, summary, junit, sarif, transcript];
        let planned = [plan, patch].into_iter().filter(|_| !has_no_plan);
        let missing =
            always.into_iter().chain(planned).filter(|path| !path.exists() || failed.contains(path));
        missing.map(|path| path.display().to_string()).collect()
    }

    fn all(&self) -> [&PathBuf; 11] {
        let Self { report, markdown, html, comment, summary, junit, sarif, plan, patch, transcript, matches } =
            self;
        [report, markdown, html, comment, summary, junit, sarif, plan, patch, transcript, matches]
    }
}

/// Why plan and patch were not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanFileError {
    /// One of them would give a secret away.
    #[error(
        "the changes contain one of this job's secrets, so neither the plan nor the patch was written; remove \
         the secret from the checkout"
    )]
    Secret,
    /// There was no time to find out.
    #[error(
        "the time of the run was up before plan and patch had been searched for secrets and written, so there is neither; allow more \
         time, or divide the task"
    )]
    TimeUp,
    /// It is not certain that none of them would.
    #[error("the plan was not written: {0}")]
    Unmasked(#[from] MaskError),
    /// A file cannot be written.
    #[error("could not write {path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Returns whether a plan holds a known secret in contents that are no text, and so not in its patch.
fn contents_hold_secret(plan: &Plan, search: SecretSearch<'_>) -> Result<bool, PlanFileError> {
    if search.masker.secrets().is_empty() {
        return Ok(false);
    }
    for file in &plan.files {
        let Contents::Base64(content) = &file.contents else { continue };
        let mut watch = SecretWatch::new(io::sink(), search);
        let searched = watch.write_all(content.as_bytes()).and_then(|()| watch.end());
        // A sink takes everything, so that only time can be missing.
        if searched.map_err(|_| PlanFileError::TimeUp)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes a file whole. Where there is no room for it beside its earlier version, that one goes first: what it says may no longer
/// be so.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    replace_from(path, |to| to.write_all(text))
}

/// Writes a file as [`replace`] does, from what `content` writes.
fn replace_from(path: &Path, content: impl Fn(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    write_atomic_from(path, &content).or_else(|error| match fs::remove_file(path) {
        Ok(()) => write_atomic_from(path, &content),
        Err(_) => Err(error),
    })
}

/// Makes the folder of a file below `out`; none on the way may be a link, which the checkout could hold.
fn make_folder(out: &Path, path: &Path) -> io::Result<()> {
    let below = path.strip_prefix(out).ok().filter(|below| {
        below.file_name().is_some() && below.components().all(|part| matches!(part, Component::Normal(_)))
    });
    let below = below.ok_or_else(|| io::Error::other("it is not inside the output folder"))?;
    let mut folder = out.to_owned();
    for name in below.parent().into_iter().flat_map(Path::components) {
        folder.push(name);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("{} is a link or a file", folder.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&folder)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
