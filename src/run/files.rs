//! Where the files of a run lie, and how they are written.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::config;
use crate::inputs::InputError;

/// The transcript, where the configuration says nothing else.
pub(crate) const TRANSCRIPT: &str = "transcript.jsonl";

/// Where the files of a run lie.
#[derive(Clone, Debug)]
pub struct Files {
    pub(super) report: PathBuf,
    pub(super) markdown: PathBuf,
    pub(super) html: PathBuf,
    pub(super) comment: PathBuf,
    pub(super) summary: PathBuf,
    pub(super) junit: PathBuf,
    pub(super) plan: PathBuf,
    pub(super) patch: PathBuf,
    pub(super) transcript: PathBuf,
}

impl Files {
    /// The places, with their folders made, and without files of an earlier run; a run that goes on replaces its
    /// transcript itself.
    pub(super) fn new(out: &Path, config: &config::Report, goes_on: bool) -> Result<Self, InputError> {
        let place = |configured: &Option<String>, name: &str| out.join(configured.as_deref().unwrap_or(name));
        let files = Self {
            report: place(&config.json, "report.json"),
            markdown: place(&config.markdown, "report.md"),
            html: place(&config.html, "report.html"),
            comment: out.join("comment.md"),
            summary: out.join("summary.md"),
            junit: place(&config.junit, "junit.xml"),
            plan: place(&config.plan, "plan.json"),
            patch: place(&config.patch, "plan.patch"),
            transcript: place(&config.transcript, TRANSCRIPT),
        };
        for path in files.all().into_iter().filter(|path| !goes_on || **path != files.transcript) {
            let parent = path.parent().unwrap_or(out);
            let clear = fs::create_dir_all(parent).and_then(|()| match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            });
            clear.map_err(|error| InputError::Write { path: path.clone(), error })?;
        }
        files.canonical()
    }

    /// The same places with every link in their folders followed, once and for all.
    fn canonical(mut self) -> Result<Self, InputError> {
        let Self { report, markdown, html, comment, summary, junit, plan, patch, transcript } = &mut self;
        for path in [report, markdown, html, comment, summary, junit, plan, patch, transcript] {
            if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
                let folder =
                    folder.canonicalize().map_err(|error| InputError::Write { path: path.clone(), error })?;
                *path = folder.join(name);
            }
        }
        Ok(self)
    }

    /// Writes a file in place of whatever lies there: never through a link, which a command of the agent's
    /// could have planted, nor into a folder that was swapped.
    pub(crate) fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
        let file = Self::fresh(path, content)?;
        readable(file.as_file())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Writes a file that other users of the machine cannot read, and otherwise as [`Self::write`] does.
    pub(crate) fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
        // Temporary files are this user's alone.
        Self::fresh(path, content)?.persist(path).map(drop).map_err(|error| error.error)
    }

    fn fresh(path: &Path, content: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
        let folder = path.parent().unwrap_or(path);
        if folder.canonicalize()? != folder {
            return Err(std::io::Error::other("its folder was replaced by a link"));
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(content)?;
        Ok(file)
    }

    fn all(&self) -> [&PathBuf; 9] {
        let Self { report, markdown, html, comment, summary, junit, plan, patch, transcript } = self;
        [report, markdown, html, comment, summary, junit, plan, patch, transcript]
    }
}

/// As files are made by default, and not as temporary ones are.
#[cfg(unix)]
fn readable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &fs::File) -> std::io::Result<()> {
    Ok(())
}
