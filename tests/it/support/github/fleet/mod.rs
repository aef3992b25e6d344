//! Many repositories behind one loopback GitHub, each with a bare Git repository of its own.

mod graphql;
mod routes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use super::app::App;
use super::{Repository, World};
use routes::Responder;
use serde_json::Value;
use wiremock::{Mock, MockServer, matchers};

/// The token that may write everywhere.
pub const TOKEN: &str = "ghs_0123456789";

/// The repository with the campaign's state and dashboard.
pub const HOME: &str = "octo/campaigns";

/// What GitHub knows.
#[derive(Default)]
pub struct State {
    pub places: BTreeMap<String, Place>,
    /// The names that renamed repositories have now, by those that still lead there.
    redirects: BTreeMap<String, String>,
    /// Issues of the home repository: title, text, author.
    pub issues: BTreeMap<u64, (String, String, String)>,
    /// Comments on them: issue, author, text.
    pub comments: BTreeMap<u64, (u64, String, String)>,
    pub people: BTreeMap<String, String>,
    pub requests: Vec<String>,
    pub violations: Vec<String>,
    /// Requests by which the token that may only read would have written.
    pub refused_writes: Vec<String>,
    /// Who GitHub says has written commits; else the bot, committed and signed by GitHub.
    pub authors: BTreeMap<String, Authorship>,
    /// The app, in place of the one token.
    pub app: Option<App>,
    /// A repository in which no pull request can be opened for an hour.
    pub limited: Option<String>,
    /// Reviewers that were asked for, by repository.
    pub reviewers: BTreeMap<String, Value>,
    /// From this request on nothing is answered any more; whether that request itself is done.
    pub silent_from: Option<(usize, bool)>,
    last: u64,
}

/// Who has written a commit, as GitHub says.
#[derive(Clone)]
pub struct Authorship {
    pub author: &'static str,
    pub committer: &'static str,
    pub is_signed: bool,
}

/// A repository.
#[derive(Default)]
pub struct Place {
    pub world: World,
    pub archived: bool,
    /// Under which name it is shown now.
    pub renamed: Option<String>,
    /// Whether branches cannot be created.
    pub protected: bool,
    /// After how many more changes of branches none is allowed any more.
    pub allowed_writes: Option<usize>,
    pub pulls: BTreeMap<u64, Pull>,
    pub topics: &'static [&'static str],
    /// The branch that somebody pushes to right before the next compare and swap.
    pub pushed_meanwhile: Option<String>,
}

/// A pull request.
#[derive(Clone)]
pub struct Pull {
    pub branch: String,
    /// The branch that it is for.
    pub base: String,
    pub draft: bool,
    pub title: String,
    pub state: &'static str,
    pub checks: Option<&'static str>,
    pub conflicting: bool,
    created: SystemTime,
    merge: Option<String>,
    /// The files that it changed when it was closed; its branch may be gone since.
    files: Vec<String>,
}

impl State {
    fn id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A repository by its name, or by one that it had before.
    fn find(&self, name: &str) -> Option<(&String, &Place)> {
        let name = name.to_lowercase();
        self.places.get_key_value(self.redirects.get(&name).unwrap_or(&name))
    }

    pub fn place(&mut self, name: &str) -> &mut Place {
        self.places.get_mut(name).expect("the repository is there")
    }

    /// Merges what is open, as people do.
    pub fn merge_all(&mut self) {
        for place in self.places.values_mut() {
            let open: Vec<u64> = place
                .pulls
                .iter()
                .filter(|(_, pull)| pull.state == "OPEN")
                .map(|(number, _)| *number)
                .collect();
            for number in open {
                place.merge(number);
            }
        }
    }

    /// How many pull requests stand so.
    pub fn count(&self, state: &str) -> usize {
        self.places.values().flat_map(|place| place.pulls.values()).filter(|pull| pull.state == state).count()
    }

    pub fn comment(&mut self, issue: u64, login: &str, text: &str) {
        let id = self.id();
        self.comments.insert(id, (issue, login.to_owned(), text.to_owned()));
    }
}

impl Place {
    pub fn git(&self) -> &Repository {
        self.world.repository.as_ref().expect("every place has one")
    }

    /// The files that a pull request changes.
    pub fn files(&self, number: u64) -> Vec<String> {
        let pull = self.pulls.get(&number).expect("the pull request");
        let range = format!("main...{}", pull.branch);
        let files = self.git().text(&["diff", "--name-only", &range]);
        files.map_or_else(|| pull.files.clone(), |files| files.lines().map(str::to_owned).collect())
    }

    /// Merges a pull request: the default branch with the branch's changes or, if they are in conflict, the branch's tree.
    pub fn merge(&mut self, number: u64) {
        let pull = self.pulls.get(&number).expect("the pull request").clone();
        let git = self.git();
        let head = git.branch(&pull.branch).expect("the branch is there");
        let main = git.branch("main").expect("main is there");
        let merged = git.text(&["merge-tree", "--write-tree", &main, &head]);
        let tree = merged.map_or_else(|| git.tree_of(&head), |tree| tree.trim().to_owned());
        let merge = git.write_commit(&tree, &[main], &pull.title);
        git.set("refs/heads/main", &merge);
        let known = self.pulls.get_mut(&number).expect("the pull request");
        (known.state, known.merge) = ("MERGED", Some(merge));
    }
}

/// A running GitHub with many repositories.
pub struct Fleet {
    server: MockServer,
    state: Arc<Mutex<State>>,
    dir: tempfile::TempDir,
}

impl Fleet {
    /// Starts one with the home repository, which holds these files.
    pub async fn start() -> Self {
        let server = MockServer::start().await;
        let state: Arc<Mutex<State>> = Arc::default();
        let people = [("dev", "write"), ("reader", "read")];
        state.lock().unwrap().people =
            people.map(|(login, permission)| (login.to_owned(), permission.to_owned())).into();
        let responder = Responder { state: Arc::clone(&state) };
        Mock::given(matchers::any()).respond_with(responder).mount(&server).await;
        let fleet = Self { server, state, dir: tempfile::tempdir().expect("a folder") };
        fleet.add(HOME, &[("README.md", "campaigns\n")]);
        fleet
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Adds a repository with one commit; without files, with none.
    pub fn add(&self, name: &str, files: &[(&str, &str)]) {
        let repository = Repository::empty(self.dir.path().join(format!("{name}.git")));
        if !files.is_empty() {
            let entry = |(path, text): &(&str, &str)| {
                ((*path).to_owned(), "100644".to_owned(), Some(repository.write_blob(text.as_bytes())))
            };
            let tree = repository.write_tree(None, &files.iter().map(entry).collect::<Vec<_>>());
            repository.set("refs/heads/main", &repository.write_commit(&tree, &[], "start"));
        }
        let world = World { repository: Some(repository), ..World::default() };
        self.state().places.insert(name.to_owned(), Place { world, ..Place::default() });
    }

    /// Renames a repository. The old name leads to it.
    pub fn rename(&self, old: &str, new: &str) {
        let folder = |name: &str| self.dir.path().join(format!("{name}.git"));
        std::os::unix::fs::symlink(folder(old), folder(new)).expect("a link");
        let mut state = self.state();
        let place = state.places.remove(old).expect("the repository is there");
        state.places.insert(new.to_owned(), place);
        state.redirects.insert(old.to_owned(), new.to_owned());
    }

    /// Keeps branches of campaigns from being created, by the API and by a push.
    pub fn protect(&self, name: &str) {
        let mut state = self.state();
        let place = state.place(name);
        place.protected = true;
        place.git().text(&["config", "receive.hideRefs", "refs/heads/architect-ci"]).expect("a setting");
    }

    pub fn variables(&self, token: &str) -> Vec<(String, String)> {
        let root = self.server.uri();
        [
            ("GITHUB_API_URL", root.clone()),
            ("GITHUB_GRAPHQL_URL", format!("{root}/graphql")),
            ("GITHUB_SERVER_URL", format!("file://{}", self.dir.path().display())),
            ("GITHUB_REPOSITORY", HOME.to_owned()),
            ("GITHUB_TOKEN", token.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}
