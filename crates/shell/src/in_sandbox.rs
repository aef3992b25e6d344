//! Classification within a sandbox: a command works on a state that is judged before any of it is kept, so
//! only what needs more than that is dangerous. A command that is not known to be read-only counts as `dev`.

use super::analysis::{Analysis, Nesting, Simple, Word};
use super::class::Class;
use super::classify::{Scope, Verdict};
use super::options::{is_in, is_option, operands};
use super::place::{is_out_of_reach, is_stream};
use super::refusal::{Refusal, WayOut};
use super::variables::is_loader;
use super::{loopback, reach, strict, table};

/// Programs that write to what their operands name, and to which of these.
const WRITERS: [(&str, Written); 2] = [
    ("mkdir touch rm rmdir mv truncate tee shred unlink patch", Written::All),
    ("cp ln install", Written::Last),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    All,
    Last,
}

/// A program that only reads, besides those in the table, unless one of the options is given or a word
/// contains one of the texts.
struct Reader {
    names: &'static str,
    options: &'static str,
    texts: &'static [&'static str],
}

const READERS: [Reader; 4] = [
    Reader { names: "sed gsed", options: "-i --in-place -f --file", texts: &["w ", "/w"] },
    Reader {
        names: "awk gawk mawk nawk",
        options: "-i -f --file -E --exec -l --load",
        texts: &[">", "|", "system", "getline", "@load", "@include"],
    },
    Reader { names: "find", options: "-delete -ok -okdir -fprint -fprint0 -fprintf -fls", texts: &[] },
    Reader {
        names: "nl strings column fmt pr cksum b2sum sha512sum md5 base64 egrep less more bat batcat ag ack tokei cloc scc fd fdfind eza exa \
                numfmt expr zcat bzcat xzcat zgrep jq yq xmllint diffstat ps free lscpu lsb_release sw_vers tput",
        options: "-o --output -i --in-place --inplace -x --exec -X --exec-batch",
        texts: &[],
    },
];

/// Classifies one command of a line.
pub(super) fn verdict(analysis: &Analysis, simple: &Simple, scope: Scope<'_>) -> Verdict {
    let refusal = reach::beyond(simple)
        .filter(|_| scope.own.class(simple).is_none() && !loopback::is_asked_alone(simple))
        .or_else(|| written(simple, scope));
    if let Some(refusal) = refusal {
        return refusal.map(|reason| format!("{reason}{}", simple.place)).into();
    }
    let class = class(analysis, simple, scope);
    let writes = |simple: &Simple| {
        simple
            .redirects
            .iter()
            .any(|redirect| redirect.writes && !redirect.target.text().is_some_and(is_stream))
    };
    if class == Class::Safe && writes(simple) {
        return Verdict::new(Class::Dev, "it writes to a file");
    }
    match (class, simple.assignments.iter().find(|(name, _)| is_loader(name))) {
        (Class::Safe, Some((name, _))) => Verdict::new(Class::Dev, format!("it sets {name}")),
        (Class::Safe, None) => Verdict::safe(),
        (class, _) => {
            let name = simple.words.first().map_or("", |word| word.text().unwrap_or(&word.raw));
            let known = scope.own.class(simple).or_else(|| strict::class(analysis, simple, scope));
            Verdict::new(
                class,
                match known {
                    Some(Class::Dev) => strict::reason(name, class),
                    _ => format!("'{name}' may change files"),
                },
            )
        }
    }
}

fn class(analysis: &Analysis, simple: &Simple, scope: Scope<'_>) -> Class {
    let Some(first) = simple.words.first() else { return Class::Safe };
    let Some(name) = first.text() else { return Class::Dev };
    if let Some(class) = scope.own.class(simple) {
        return class;
    }
    // A function's body is classified where it is defined; wrappers do not see functions.
    if analysis.functions.iter().any(|function| function == name) {
        let sees =
            matches!(simple.place, Nesting::Plain | Nesting::Substitution | Nesting::ProcessSubstitution);
        return if sees { Class::Safe } else { Class::Dev };
    }
    // The command that it runs is classified by itself.
    if table::known_name(name) == Some("xargs") {
        return Class::Safe;
    }
    if table::is_of_checkout(name) {
        return Class::Dev;
    }
    let known = table::known_name(name).unwrap_or(name);
    if READERS.iter().any(|reader| is_in(reader.names, known) && reader.only_reads(simple.arguments())) {
        return Class::Safe;
    }
    match strict::class(analysis, simple, scope) {
        // The runner of the tool counts as `dev` already.
        Some(class) if !matches!(simple.place, Nesting::Tool(_)) => class,
        _ => Class::Dev,
    }
}

impl Reader {
    fn only_reads(&self, arguments: &[Word]) -> bool {
        arguments.iter().all(|word| {
            let Some(text) = word.text() else { return !word.raw.starts_with('-') && self.texts.is_empty() };
            let writes = self.options.split(' ').any(|option| is_option(text, option));
            let writes = writes && text.starts_with('-');
            !writes && !self.texts.iter().any(|part| text.contains(part))
        })
    }
}

/// Returns a refusal for the first path that a command would write to although nothing can be written there.
fn written(simple: &Simple, scope: Scope<'_>) -> Option<Refusal> {
    let beyond = |word: &&Word| word.text().is_some_and(|text| is_out_of_reach(text, scope));
    let redirected =
        simple.redirects.iter().filter(|redirect| redirect.writes).map(|redirect| &redirect.target);
    let name = simple
        .name()
        .and_then(table::known_name)
        .filter(|_| !matches!(simple.place, Nesting::Tool(_)))
        .unwrap_or_default();
    let writer = WRITERS.iter().find(|(names, _)| is_in(names, name)).map(|(_, written)| *written);
    let operands = if writer.is_some() { operands(simple.arguments(), "") } else { Vec::new() };
    // `cp -t FOLDER FILE…`
    let folder_first = simple.arguments().iter().filter_map(Word::text).any(|text| is_option(text, "-t"));
    let first = match writer {
        Some(Written::Last) if !folder_first => operands.len().saturating_sub(1),
        _ => 0,
    };
    let word = redirected.chain(operands[first..].iter().copied()).find(beyond)?;
    Some(Refusal::new(format!("{} is not writable", word.raw), WayOut::InWorkspaceOrTemporary))
}
