//! Texts of which every match of a pattern holds one, so that a search for all patterns' texts at once tells which
//! patterns are worth a search of their own.

use regex_syntax::hir::{Class, Hir, HirKind};

/// The most ways to spell one part of a pattern: letters without case are folded, a class of four letters is four ways.
const MAX_SPELLINGS: usize = 16;

/// The most texts of one pattern: a list of a thousand agents.
const MAX_NEEDLES: usize = 4_000;

/// The longest text that is looked for, in bytes; of a longer one its beginning.
const MAX_LENGTH: usize = 32;

/// Texts in lower case, of which a match holds at least one, in any case.
pub(in crate::policy) type Needles = Vec<Vec<u8>>;

/// What is known of the matches of a part of a pattern.
struct Known {
    /// All its matches, if they are few; in lower case.
    whole: Option<Needles>,
    /// Texts of which each match holds one.
    held: Option<Needles>,
}

impl Known {
    const NOTHING: Self = Self { whole: None, held: None };

    fn exactly(text: &[u8]) -> Self {
        Self { whole: Some(vec![text.to_ascii_lowercase()]), held: None }
    }

    /// What each match holds, whether or not all matches are known.
    fn needles(self) -> Option<Needles> {
        self.whole.into_iter().chain(self.held).filter(|n| value(n) > 0).max_by_key(value_of)
    }
}

/// The best texts to look for, if there are any.
pub(super) fn best(hir: &Hir) -> Option<Needles> {
    let mut needles = known(hir).needles()?;
    needles.iter_mut().for_each(|n| n.truncate(MAX_LENGTH));
    needles.sort();
    needles.dedup();
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
            _ => Known { whole: None, held: known(&repetition.sub).needles() },
        },
        HirKind::Concat(parts) => concat(parts),
        HirKind::Alternation(branches) => alternation(branches),
    }
}

/// The letters of a small class, without case where it is of ASCII.
fn letters(class: &Class) -> Option<Needles> {
    let mut all: Needles = match class {
        Class::Bytes(bytes) => {
            let few =
                bytes.iter().map(|r| usize::from(r.end() - r.start()) + 1).sum::<usize>() <= MAX_SPELLINGS;
            let each =
                || bytes.iter().flat_map(|r| r.start()..=r.end()).map(|b| vec![b.to_ascii_lowercase()]);
            few.then(|| each().collect())?
        }
        Class::Unicode(letters) => {
            let few = letters.iter().map(|r| r.len()).sum::<usize>() <= MAX_SPELLINGS;
            let each = || letters.iter().flat_map(|r| r.start()..=r.end());
            few.then(|| each().map(|c| c.to_ascii_lowercase().to_string().into_bytes()).collect())?
        }
    };
    all.sort();
    all.dedup();
    Some(all)
}

/// Parts one after another: the spellings of neighbours are joined as long as they stay few; of all such runs, and of
/// what the parts between them hold, the best counts.
fn concat(parts: &[Hir]) -> Known {
    let mut run: Needles = vec![Vec::new()];
    let mut whole = true;
    let mut best: Option<Needles> = None;
    let mut offer = |needles: Option<Needles>| {
        best = best.take().into_iter().chain(needles).filter(|n| value(n) > 0).max_by_key(value_of);
    };
    for part in parts {
        let Known { whole: spellings, held } = known(part);
        offer(held);
        let joined = spellings.as_ref().filter(|s| s.len() * run.len() <= MAX_SPELLINGS).map(|spellings| {
            let join =
                |start: &Vec<u8>| spellings.iter().map(|end| [&start[..], end].concat()).collect::<Needles>();
            run.iter().flat_map(join).collect()
        });
        match joined {
            Some(joined) => run = joined,
            None => {
                whole = false;
                offer(Some(std::mem::replace(&mut run, vec![Vec::new()])));
                offer(spellings.clone());
                // Too many together, but few alone: the next run starts with them.
                if let Some(spellings) = spellings.filter(|s| s.len() <= MAX_SPELLINGS) {
                    run = spellings;
                }
            }
        }
    }
    if whole {
        return Known { whole: Some(run), held: best };
    }
    offer(Some(run));
    Known { whole: None, held: best }
}

/// One of several branches: each must hold something.
fn alternation(branches: &[Hir]) -> Known {
    let known: Vec<_> = branches.iter().map(known).collect();
    if known.iter().all(|k| k.whole.is_some()) {
        let all: Needles = known.iter().filter_map(|k| k.whole.as_ref()).flatten().cloned().collect();
        if all.len() <= MAX_NEEDLES {
            return Known { whole: Some(all), held: None };
        }
    }
    let held: Option<Vec<_>> = known.into_iter().map(Known::needles).collect();
    let held = held.map(|all| all.into_iter().flatten().collect::<Needles>());
    Known { whole: None, held: held.filter(|all| all.len() <= MAX_NEEDLES) }
}

/// How well texts sift, as far as the texts themselves tell: the shortest decides, and where that is equal fewer are better.
fn value_of(needles: &Needles) -> (usize, std::cmp::Reverse<usize>) {
    (value(needles), std::cmp::Reverse(needles.len()))
}

/// The length of the shortest text, and next to nothing for one that nearly every `User-Agent` holds: it would sift nothing out.
fn value(needles: &Needles) -> usize {
    let worst = |needle: &Vec<u8>| match needle.len() {
        0 | 1 => 0,
        length if is_common(needle) => usize::from(length > 2),
        length => 1 + length.min(8),
    };
    needles.iter().map(worst).min().unwrap_or(0)
}

/// What browsers send, and what most robots do, in lower case.
const COMMON: [&[u8]; 4] = [
    b"mozilla/5.0 (compatible; (+https://www. (http://www. )",
    b"mozilla/5.0 (windows nt 10.0; win64; x64) applewebkit/537.36 (khtml, like gecko) chrome/150.0.0.0 safari/537.36",
    b"mozilla/5.0 (iphone; cpu iphone os 26_0 like mac os x) applewebkit/605.1.15 (khtml, like gecko) version/26.0 mobile/15e148 safari/604.1",
    b"mozilla/5.0 (x11; linux x86_64; rv:150.0) gecko/20100101 firefox/150.0",
];

/// Whether a text is part of what nearly everybody sends.
pub(in crate::policy) fn is_common(needle: &[u8]) -> bool {
    COMMON.iter().any(|agent| agent.windows(needle.len().max(1)).any(|part| part == needle))
}
