//! Texts of which every match of a pattern holds one, so that a search for all patterns' texts at once tells which
//! patterns are worth a search of their own.

use memchr::memmem;
use regex_syntax::hir::{Class, Hir, HirKind};

/// The most ways to spell one part of a pattern: letters without case are folded, a class of four letters is four ways.
const MAX_SPELLINGS: usize = 16;

/// The most texts of one pattern: a list of a thousand agents.
const MAX_NEEDLES: usize = 4_000;

/// The longest text that is looked for, in bytes; of a longer one its beginning.
const MAX_LENGTH: usize = 32;

/// Up to how many texts are compared with each other, to leave out those that say no more than another.
const MAX_COMPARED: usize = 128;

/// Texts in lower case, of which a match holds at least one, in any case.
pub(in crate::policy) type Needles = Vec<Vec<u8>>;

/// What is known of the matches of a part of a pattern.
struct Known {
    /// All its matches, if they are few; in lower case.
    whole: Option<Needles>,
    /// Texts of which each match holds one.
    held: Option<Choice>,
}

/// Texts to look for, and what they are worth.
struct Choice {
    needles: Needles,
    worth: usize,
}

impl Choice {
    /// `None` for what would sift nothing out.
    fn of(needles: Needles) -> Option<Self> {
        let worth = needles.iter().map(|n| worth(n)).min().filter(|worth| *worth > 0)?;
        Some(Self { needles, worth })
    }

    /// The better one: the worst of its texts decides, and where that is equal fewer are better.
    fn better(self, other: Self) -> Self {
        let rank = |choice: &Self| (choice.worth, std::cmp::Reverse(choice.needles.len()));
        if rank(&other) > rank(&self) { other } else { self }
    }
}

impl Known {
    const NOTHING: Self = Self { whole: None, held: None };

    fn exactly(text: &[u8]) -> Self {
        Self { whole: Some(vec![text.to_ascii_lowercase()]), held: None }
    }

    /// What each match holds, whether or not all matches are known.
    fn choice(self) -> Option<Choice> {
        self.whole.and_then(Choice::of).into_iter().chain(self.held).reduce(Choice::better)
    }
}

/// The best texts to look for, if there are any.
pub(super) fn best(hir: &Hir) -> Option<Needles> {
    let mut needles = known(hir).choice()?.needles;
    needles.iter_mut().for_each(|n| n.truncate(MAX_LENGTH));
    needles.sort_unstable();
    needles.dedup();
    if needles.len() <= MAX_COMPARED {
        // Whoever holds a text holds every part of it.
        let all = needles.clone();
        needles.retain(|n| !all.iter().any(|part| part.len() < n.len() && memmem::find(n, part).is_some()));
    }
    Some(needles)
}

fn known(hir: &Hir) -> Known {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Known::exactly(b""),
        HirKind::Literal(literal) => Known::exactly(&literal.0),
        HirKind::Class(class) => Known { whole: letters(class), held: None },
        HirKind::Capture(capture) => known(&capture.sub),
        HirKind::Repetition(repetition) => match (repetition.min, repetition.max) {
            (0, Some(1)) => {
                let whole = known(&repetition.sub).whole.map(|mut all| {
                    all.push(Vec::new());
                    all
                });
                Known { whole: whole.filter(|all| all.len() <= MAX_SPELLINGS), held: None }
            }
            (0, _) => Known::NOTHING,
            (1, Some(1)) => known(&repetition.sub),
            _ => Known { whole: None, held: known(&repetition.sub).choice() },
        },
        HirKind::Concat(parts) => concat(parts),
        HirKind::Alternation(branches) => alternation(branches),
    }
}

/// The letters of a small class, without case where they are of ASCII.
fn letters(class: &Class) -> Option<Needles> {
    let mut all: Needles = match class {
        Class::Bytes(bytes) => {
            let few = bytes.iter().map(|r| r.len()).sum::<usize>() <= MAX_SPELLINGS;
            let each = || bytes.iter().flat_map(|r| r.start()..=r.end());
            few.then(|| each().map(|b| vec![b.to_ascii_lowercase()]).collect())?
        }
        Class::Unicode(letters) => {
            let few = letters.iter().map(|r| r.len()).sum::<usize>() <= MAX_SPELLINGS;
            let each = || letters.iter().flat_map(|r| r.start()..=r.end());
            few.then(|| each().map(|c| c.to_ascii_lowercase().to_string().into_bytes()).collect())?
        }
    };
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// Parts one after another: the spellings of neighbours are joined as long as they stay few; of all such runs, and of
/// what the parts between them hold, the best counts.
fn concat(parts: &[Hir]) -> Known {
    let mut run: Needles = vec![Vec::new()];
    let mut whole = true;
    let mut best: Option<Choice> = None;
    let mut offer = |choice: Option<Choice>| {
        best = best.take().into_iter().chain(choice).reduce(Choice::better);
    };
    for part in parts {
        let Known { whole: spellings, held } = known(part);
        offer(held);
        match spellings {
            Some(spellings) if spellings.len() * run.len() <= MAX_SPELLINGS => run = joined(&run, &spellings),
            // Too many together, but few alone: the next run starts with them.
            Some(spellings) if spellings.len() <= MAX_SPELLINGS => {
                whole = false;
                offer(Choice::of(std::mem::replace(&mut run, spellings)));
            }
            spellings => {
                whole = false;
                offer(spellings.and_then(Choice::of));
                offer(Choice::of(std::mem::replace(&mut run, vec![Vec::new()])));
            }
        }
    }
    if whole {
        return Known { whole: Some(run), held: best };
    }
    offer(Choice::of(run));
    Known { whole: None, held: best }
}

/// Every beginning with every end.
fn joined(beginnings: &Needles, ends: &Needles) -> Needles {
    beginnings.iter().flat_map(|start| ends.iter().map(|end| [&start[..], end].concat())).collect()
}

/// One of several branches: each must hold something.
fn alternation(branches: &[Hir]) -> Known {
    let known: Vec<_> = branches.iter().map(known).collect();
    if known.iter().all(|k| k.whole.is_some()) {
        let all: Needles = known.into_iter().filter_map(|k| k.whole).flatten().collect();
        return Known { whole: Some(all).filter(|all| all.len() <= MAX_NEEDLES), held: None };
    }
    let held: Option<Vec<_>> = known.into_iter().map(Known::choice).collect();
    let held = held.and_then(|all| Choice::of(all.into_iter().flat_map(|choice| choice.needles).collect()));
    Known { whole: None, held: held.filter(|choice| choice.needles.len() <= MAX_NEEDLES) }
}

/// How well a text sifts: its length, up to a point, and next to nothing where nearly everybody sends it.
fn worth(needle: &[u8]) -> usize {
    match needle.len() {
        0 | 1 => 0,
        length if is_common(needle) => usize::from(length > 2),
        length => 1 + length.min(8),
    }
}

/// What browsers send, and what most robots do, in lower case.
const COMMON: &[u8] = b"mozilla/5.0 (windows nt 10.0; win64; x64) applewebkit/537.36 (khtml, like gecko) chrome/150.0.0.0 safari/537.36\n\
    mozilla/5.0 (iphone; cpu iphone os 26_0 like mac os x) applewebkit/605.1.15 (khtml, like gecko) version/26.0 mobile/15e148 safari/604.1\n\
    mozilla/5.0 (x11; linux x86_64; rv:150.0) gecko/20100101 firefox/150.0\n\
    mozilla/5.0 (compatible; (+https://www. (http://www. )";

/// Whether a text is part of what nearly everybody sends.
pub(in crate::policy) fn is_common(needle: &[u8]) -> bool {
    memmem::find(COMMON, needle).is_some()
}
