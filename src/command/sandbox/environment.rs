//! Environment variables of a child, adapted to what it sees.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::plan::Sandbox;

impl Sandbox {
    /// Adapts a child's variables to what it sees.
    pub(in crate::command) fn adapt(
        &self,
        environment: &mut BTreeMap<String, String>,
        own_root: bool,
        root: &Path,
    ) -> io::Result<()> {
        if !own_root && root != self.0.workspace {
            move_paths(environment, &self.0.workspace, root);
        }
        if !self.stands(own_root) {
            return Ok(());
        }
        let temporary = if own_root { PathBuf::from("/tmp") } else { self.private()?.join("tmp") };
        for name in ["TMPDIR", "TMP", "TEMP"] {
            environment.insert(name.to_owned(), temporary.display().to_string());
        }
        environment.remove("XDG_RUNTIME_DIR");
        if !own_root && let Some(home) = self.home()? {
            let kept = self.0.writable.iter().map(PathBuf::as_path).chain([root]);
            home.adapt(environment, &kept.collect::<Vec<_>>());
        }
        // In containers the checkout belongs to another user, for which Git refuses it. Whatever its
        // configuration could do stays in the sandbox.
        let mut settings = vec![("safe.directory", "*")];
        // The settings of folders that merely look like a repository would take effect, whoever made them.
        settings.extend(self.0.trusted.is_some().then_some(("safe.bareRepository", "explicit")));
        environment.insert("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
        for (index, (key, value)) in settings.into_iter().enumerate() {
            environment.insert(format!("GIT_CONFIG_KEY_{index}"), key.to_owned());
            environment.insert(format!("GIT_CONFIG_VALUE_{index}"), value.to_owned());
        }
        // An overlay above a subfolder of a repository is a file system of its own.
        environment.insert("GIT_DISCOVERY_ACROSS_FILESYSTEM".to_owned(), "1".to_owned());
        environment.insert("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned());
        Ok(())
    }
}

/// Makes variables that name paths in a folder name the same paths in another: a virtual environment, or a build folder,
/// is the one in the copy.
fn move_paths(environment: &mut BTreeMap<String, String>, from: &Path, to: &Path) {
    for value in environment.values_mut() {
        let moved = value.split(':').map(|path| match Path::new(path).strip_prefix(from) {
            Ok(below) if below.as_os_str().is_empty() => to.display().to_string(),
            Ok(below) => to.join(below).display().to_string(),
            Err(_) => path.to_owned(),
        });
        *value = moved.collect::<Vec<_>>().join(":");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_name_the_copy_of_what_they_named() {
        let mut variables: BTreeMap<String, String> = [
            ("VIRTUAL_ENV", "/work/repo/.venv"),
            ("PATH", "/work/repo/bin:/usr/bin:/work/repository/bin"),
            ("HERE", "/work/repo"),
            ("TEXT", "see /work/repo"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        move_paths(&mut variables, Path::new("/work/repo"), Path::new("/tmp/copy"));
        let values: Vec<&str> = variables.values().map(String::as_str).collect();
        let moved =
            ["/tmp/copy", "/tmp/copy/bin:/usr/bin:/work/repository/bin", "see /work/repo", "/tmp/copy/.venv"];
        assert_eq!(values, moved);
    }
}
