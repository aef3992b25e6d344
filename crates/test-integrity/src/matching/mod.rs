//! Matches the tests after a change with those before it, in whatever file and by whatever name, and finds reasons for tests
//! that are gone. It uses what was read ([`crate::extract`]) and whether assertions say the same ([`crate::weaker`]).

pub(crate) mod definitions;
pub(crate) mod inherited;
pub(crate) mod reasons;
pub(crate) mod renamed;
pub(crate) mod state;
mod subject;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::assertion::Assertion;
use crate::extract::Test;
use crate::weaker::subsumption::{bare, has_rows_for, is_value, says_all};
use state::State;
use subject::Subject;

/// Least share of tokens in common of two tests that are the same under another name.
const ALIKE: f64 = 0.6;
/// Least share of a test's own words that another test has to have to stand for it.
const CONTAINED: f64 = 0.75;
/// Least share of a test's own words in a new test that has all of its literals, if it is the same in other words.
const REWRITTEN: f64 = 0.5;

/// Tests before and after a change, by what became of them.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    /// Pairs of the same test: its place before and after.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// Tests that are in no pair, before.
    pub(crate) gone: Vec<usize>,
    /// Tests that are in no pair, after.
    pub(crate) new: Vec<usize>,
}

/// Most tokens that are compared for one change. Beyond that, tests are distinguished by name alone.
const MAX_COMPARED: usize = 40_000_000;

/// What two tests have to have in common: a path, which may be empty, and a name.
type Key = fn(&Test) -> (String, String);

/// Finds the pairs: by path and name, by name alone, by simple name, then by likeness.
pub(crate) fn pairs(before: &[Test], after: &[Test]) -> Matching {
    let mut found =
        Matching { pairs: Vec::new(), gone: (0..before.len()).collect(), new: (0..after.len()).collect() };
    let keys: [Key; 5] = [
        |test| (test.path.clone(), test.name.clone()),
        |test| (test.path.clone(), test.simple_name().to_owned()),
        // Of several that have a name, it is the one that does the same.
        |test| (test.body.words.join(" "), test.simple_name().to_owned()),
        |test| (String::new(), test.simple_name().to_owned()),
        |test| (test.path.clone(), spelled_alike(test.simple_name())),
    ];
    for key in keys {
        let mut by_key: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for at in found.new.iter().rev() {
            by_key.entry(key(&after[*at])).or_default().push(*at);
        }
        let gone = std::mem::take(&mut found.gone);
        for at in gone {
            match by_key.get_mut(&key(&before[at])).and_then(Vec::pop) {
                Some(other) => found.pairs.push((at, other)),
                None => found.gone.push(at),
            }
        }
        let taken: BTreeSet<usize> = found.pairs.iter().map(|(_, other)| *other).collect();
        found.new.retain(|at| !taken.contains(at));
    }

    let mut work = MAX_COMPARED;
    let (gone, new) = (bags(before, &found.gone), bags(after, &found.new));
    let mut candidates: Vec<(f64, usize, usize)> = Vec::new();
    for (one, words, subject) in &gone {
        for (other, others, theirs) in new.iter().filter(|(_, others, _)| words.could_be_alike(others)) {
            let cost = words.kinds() + others.kinds();
            let Some(left) = work.checked_sub(cost) else { break };
            work = left;
            let likeness = words.likeness(others);
            let subject = || subject.get_or_init(|| Subject::of(&before[*one]));
            let theirs = || theirs.get_or_init(|| Subject::of(&after[*other]));
            if likeness >= ALIKE && subject().is_that_of(theirs()) {
                candidates.push((likeness, *one, *other));
            }
        }
    }
    candidates.sort_by(|one, other| other.0.total_cmp(&one.0));
    let (mut gone, mut new): (BTreeSet<usize>, BTreeSet<usize>) =
        (found.gone.drain(..).collect(), found.new.drain(..).collect());
    for (_, one, other) in candidates {
        if gone.contains(&one) && new.remove(&other) {
            gone.remove(&one);
            found.pairs.push((one, other));
        }
    }
    found.gone.extend(gone);
    found.new.extend(new);
    found
}

/// Returns what a name has in common with those of other runners: `TestRefusesZero`, `test_refuses_zero` and `refuses zero`.
fn spelled_alike(name: &str) -> String {
    let plain: String = name.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    plain.strip_prefix("test").filter(|rest| !rest.is_empty()).unwrap_or(&plain).to_owned()
}

/// Returns the tokens of chosen tests, with room for what they are about.
fn bags<'a>(tests: &'a [Test], chosen: &[usize]) -> Vec<(usize, Bag, OnceCell<Subject<'a>>)> {
    let words = |at: usize| Bag::new(tests[at].body.words.iter().map(String::as_str));
    chosen.iter().map(|at| (*at, words(*at), OnceCell::new())).collect()
}

/// Tests that may stand for others, which may say more than those do.
pub(crate) struct Heirs<'a> {
    state: &'a State,
    tests: Vec<Heir<'a>>,
}

/// Test that may stand for others.
struct Heir<'a> {
    test: &'a Test,
    /// Whether it was not there before.
    is_new: bool,
    words: Bag,
    /// Those of its tables and of what it names as well.
    all_words: OnceCell<Bag>,
}

impl<'a> Heirs<'a> {
    /// Takes those tests of a state that run; `new` are those that were not there before.
    pub(crate) fn new(state: &'a State, new: &[&'a Test]) -> Self {
        let new: BTreeSet<*const Test> = new.iter().map(|test| std::ptr::from_ref(*test)).collect();
        let running = state.tests.iter().filter(|test| test.runs());
        let heir = |test| {
            let (is_new, words) = (new.contains(&std::ptr::from_ref(test)), Bag::of_content(test));
            Heir { test, is_new, words, all_words: OnceCell::new() }
        };
        Self { state, tests: running.map(heir).collect() }
    }

    /// Returns the one of these that says what a test says: most of its words, and each of its assertions.
    pub(crate) fn heir_of(&self, test: &Test, asserted: &[Assertion]) -> Option<&'a Test> {
        let own = Bag::of_content(test);
        let mut work = MAX_COMPARED / 16;
        let says = |heir: &&Heir<'a>| {
            let (other, theirs) = (heir.test, &heir.words);
            work = work.saturating_sub(own.kinds() + theirs.kinds());
            let common = share(own.common(theirs), own.total.max(1));
            let is_alike = common >= CONTAINED || common >= REWRITTEN && self.is_rewritten(test, heir);
            if work == 0 || own.total == 0 || !is_alike {
                return false;
            }
            let assertions = self.state.assertions(&other.body, None);
            work = work.saturating_sub(assertions.len() * (1 + asserted.len()));
            own.total == own.common(theirs)
                || work > 0
                    && (other.rows() == 1 || self.all_words(heir).have_all(numbers(test)))
                    && says_all(other, &assertions, asserted)
        };
        self.tests.iter().find(says).map(|heir| heir.test)
    }

    fn all_words<'h>(&self, heir: &'h Heir<'a>) -> &'h Bag {
        heir.all_words.get_or_init(|| Bag::of_table(heir.test, self.state))
    }

    /// Returns whether a test that was not there before has all literals of another one, of which there are several.
    fn is_rewritten(&self, test: &Test, heir: &Heir<'a>) -> bool {
        let several = || literals(test).map(|word| bare(word)).collect::<BTreeSet<_>>().len() > 1;
        heir.is_new && several() && self.all_words(heir).have_all(literals(test))
    }
}

/// Returns the numbers that a test says, which a table may give to what it tests.
fn numbers(test: &Test) -> impl Iterator<Item = &String> {
    test.body.words.iter().filter(|word| word.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns the numbers and the texts that a test says.
fn literals(test: &Test) -> impl Iterator<Item = &String> {
    let texts = test.body.words.iter().filter(|word| word.starts_with(['"', '\'', '`']));
    numbers(test).chain(texts)
}

/// Returns whether most of what a test says comes from another one.
pub(crate) fn is_piece(test: &Test, whole: &Test) -> bool {
    let own = Bag::of_content(test);
    own.total > 0 && share(own.common(&Bag::of_content(whole)), own.total) >= CONTAINED
}

/// Tests that have more cases than before, each of which may be what another test was.
pub(crate) struct Tables<'a> {
    state: &'a State,
    tables: Vec<Table<'a>>,
}

/// Test with more cases than before.
struct Table<'a> {
    test: &'a Test,
    words: Bag,
    /// Number of cases that no other test has become yet.
    room: usize,
    has_taken: bool,
}

impl<'a> Tables<'a> {
    /// Takes those tests that run and have more than one case, each with the number of cases that it had before.
    pub(crate) fn new(state: &'a State, tests: impl Iterator<Item = (&'a Test, usize)>) -> Self {
        let room = |test: &Test, had: usize| {
            let rows = Some(test.rows()).filter(|rows| *rows > 1 && test.runs())?;
            Some(rows.saturating_sub(had)).filter(|room| *room > 0)
        };
        let table = |(test, had): (&'a Test, usize)| {
            Some(Table { test, words: Bag::of_table(test, state), room: room(test, had)?, has_taken: false })
        };
        Self { state, tables: tests.filter_map(table).collect() }
    }

    /// Returns whether a test became a case of one of these, in the same file or in one that is new. No more tests do than there are
    /// cases.
    pub(crate) fn take_in(
        &mut self,
        test: &Test,
        asserted: &[Assertion],
        is_new: impl Fn(&str) -> bool,
    ) -> bool {
        let own = Bag::of_demands(test);
        let state = self.state;
        let fits = |table: &&mut Table<'_>| {
            let is_alike = table.room > 0
                && (table.test.path == test.path || is_new(&table.test.path))
                && own.total > 0
                && share(own.common(&table.words), own.total) >= ALIKE;
            let assertions = if is_alike { state.assertions(&table.test.body, None) } else { Vec::new() };
            is_alike
                && assertions.len() >= asserted.len()
                && table.words.have_all(numbers(test))
                && has_rows_for(table.test, &assertions, asserted)
        };
        self.tables.iter_mut().find(fits).is_some_and(|table| {
            table.room -= 1;
            table.has_taken = true;
            true
        })
    }
}

impl Tables<'_> {
    /// Returns whether other tests became cases of a test, so that it stands for those alone.
    pub(crate) fn have_taken(&self, test: &Test) -> bool {
        self.tables.iter().any(|table| table.has_taken && std::ptr::eq(table.test, test))
    }
}

/// Returns the words of a test, of its tables, and of the fixtures and functions of its file that it names.
fn words_of_table<'a>(test: &'a Test, state: &'a State) -> impl Iterator<Item = &'a String> {
    let named: BTreeSet<&String> = test.body.words.iter().collect();
    let within = state.names.get(&test.path).map(|names| &names.within);
    let of_others = named.into_iter().filter_map(move |word| within?.get(word)).flatten();
    test.body.words.iter().chain(&test.body.cells).chain(of_others)
}

/// Tokens, and how often each occurs. Tests are compared with many others, so a number stands for each token.
pub(crate) struct Bag {
    /// By the number of the token.
    counts: Vec<(u64, usize)>,
    total: usize,
}

impl Bag {
    pub(crate) fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut numbers: Vec<u64> = words.map(number).collect();
        numbers.sort_unstable();
        let counts = numbers.chunk_by(|one, other| one == other).map(|same| (same[0], same.len())).collect();
        Self { counts, total: numbers.len() }
    }

    /// Takes the names and literals of a test, whatever their quotes are.
    fn of_content(test: &Test) -> Self {
        Self::of_words(test.body.words.iter())
    }

    /// Takes the names and literals of a test, of its tables, and of the fixtures and functions of its file that it names.
    fn of_table(test: &Test, state: &State) -> Self {
        Self::of_words(words_of_table(test, state))
    }

    /// Takes the names and literals of a test but for the names that it gives itself, and for what is said of a failure in Go.
    fn of_demands(test: &Test) -> Self {
        let mut depth = 0_usize;
        let words = test.body.words.iter().filter(|word| {
            match word.as_str() {
                "Errorf" | "Fatalf" | "Error" | "Fatal" | "Logf" => depth = 1,
                "(" if depth > 0 => depth += 1,
                ")" if depth > 0 => depth = if depth == 2 { 0 } else { depth - 1 },
                _ => {
                    depth = if depth == 1 { 0 } else { depth };
                    return depth == 0 && !test.body.defined.contains_key(*word);
                }
            }
            false
        });
        Self::of_words(words)
    }

    fn of_words<'a>(words: impl Iterator<Item = &'a String>) -> Self {
        Self::new(words.filter(|word| is_value(word)).map(|word| bare(word)))
    }

    /// Returns whether all of some literals are among these, whatever their quotes are.
    fn have_all<'a>(&self, mut literals: impl Iterator<Item = &'a String>) -> bool {
        let has = |literal| self.counts.binary_search_by_key(&number(bare(literal)), |(one, _)| *one).is_ok();
        literals.all(|literal| !is_value(literal) || has(literal))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(crate) fn kinds(&self) -> usize {
        self.counts.len()
    }

    fn common(&self, other: &Self) -> usize {
        let (mut ours, mut theirs) = (self.counts.as_slice(), other.counts.as_slice());
        let mut common = 0;
        while let ([(one, count), rest @ ..], [(other, other_count), other_rest @ ..]) = (ours, theirs) {
            if one == other {
                common += count.min(other_count);
            }
            if one <= other {
                ours = rest;
            }
            if other <= one {
                theirs = other_rest;
            }
        }
        common
    }

    /// Returns the share of tokens that two have in common, from 0 to 1.
    pub(crate) fn likeness(&self, other: &Self) -> f64 {
        let total = self.total + other.total;
        if total == 0 { 0.0 } else { share(2 * self.common(other), total) }
    }

    /// Returns whether their sizes allow them to be alike.
    pub(crate) fn could_be_alike(&self, other: &Self) -> bool {
        let (least, total) = (self.total.min(other.total), self.total + other.total);
        total > 0 && share(2 * least, total) >= ALIKE
    }
}

/// Returns a number that stands for a token: the same for the same, and another one for any other that occurs.
fn number(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tokens are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
