//! Where the files of a run lie, and how they are written.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

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
            plan: place(&config.plan, "plan.json")?,
            patch: place(&config.patch, "plan.patch")?,
            transcript: place(&config.transcript, TRANSCRIPT)?,
        };
        for path in files.all().into_iter().filter(|path| !goes_on || **path != files.transcript) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(wrong(error, path)),
                _ => {}
            }
        }
        Ok(files)
    }

    /// Writes a file in place of whatever lies there: never through a link, which a command of the agent's
    /// could have planted, nor into a folder that was swapped.
    pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        let file = Self::fresh(path, content)?;
        readable(file.as_file())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Writes a file that other users of the machine cannot read, and otherwise as [`Self::write`] does.
    pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
        // Temporary files are this user's alone.
        Self::fresh(path, content)?.persist(path).map(drop).map_err(|error| error.error)
    }

    fn fresh(path: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
        let folder = path.parent().unwrap_or(path);
        if folder.canonicalize()? != folder {
            return Err(io::Error::other("its folder was replaced by a link"));
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

/// Makes the folder of a file below `out`; none on the way may be a link, which the checkout could hold.
fn make_folder(out: &Path, path: &Path) -> io::Result<()> {
    let below = path.strip_prefix(out).ok().filter(|below| {
        below.file_name().is_some() && below.components().all(|part| matches!(part, Component::Normal(_)))
    });
    let below = below.ok_or_else(|| io::Error::other("it is not inside of the output folder"))?;
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

/// As files are made by default, and not as temporary ones are.
#[cfg(unix)]
fn readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &fs::File) -> io::Result<()> {
    Ok(())
}
