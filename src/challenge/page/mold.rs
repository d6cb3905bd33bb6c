//! A page that was written once, with holes for what differs from visitor to visitor: a flood of visitors costs copies, no rendering.
//!
//! There is a mold for every language and level, made when it is first needed. What is rare (a form, an odd rule, a page that asks
//! before it works) has none, and the operator's own template cannot have one, because it may look at what it shows.

use std::array;
use std::sync::OnceLock;

use super::{ChallengeView, WaitLink, Work, escape_into};

/// The molds of one language, each with the shape that it was made for: by level, which the target tells, and one for a wait; each
/// with and without a link for robots, which a visitor without an address does not get.
pub(super) struct Molds([OnceLock<Option<(Shape, Mold)>>; 2 * 34]);

/// What the text of a page depends on beside its language and the values in its holes.
#[derive(Eq, PartialEq)]
struct Shape {
    /// `k`, size, target and life of the work.
    work: Option<(u8, u8, u32, u16)>,
    /// The seconds of the wait.
    seconds: Option<u32>,
}

impl Molds {
    pub(super) fn new() -> Self {
        Self(array::from_fn(|_| OnceLock::new()))
    }

    /// The page, unless it has to be rendered. `render` writes one out.
    pub(super) fn page(
        &self,
        view: &ChallengeView<'_>,
        render: impl FnOnce(&ChallengeView<'_>) -> String,
    ) -> Option<String> {
        if view.method != "GET" || view.prior_is_fresh {
            return None;
        }
        let work = view.work.map(|work| (work.k, work.size, work.target, work.ttl));
        let shape = Shape { work, seconds: view.wait.map(|wait| wait.seconds) };
        let place = view.work.map_or(0, |work| 1 + work.target.leading_zeros() as usize);
        let place = 2 * place + usize::from(view.trap.is_some());
        let cast = || {
            let [host, request_id, nonce, original, token, url, link] = MARKS;
            let work = view.work.map(|work| Work { token, ..work });
            let wait = view.wait.map(|wait| WaitLink { url, ..wait });
            let trap = view.trap.map(|_| link);
            let blank =
                ChallengeView { host, request_id, nonce, original, work, wait, trap, prior: None, ..*view };
            let shape = Shape { ..shape };
            Mold::cast(&render(&blank)).map(|mold| (shape, mold))
        };
        let (made_for, mold) = self.0[place].get_or_init(cast).as_ref()?;
        let (token, url) = (view.work.map_or("", |work| work.token), view.wait.map_or("", |wait| wait.url));
        let values = [
            view.host,
            view.request_id,
            view.nonce,
            view.original,
            token,
            url,
            view.trap.unwrap_or_default(),
        ];
        if *made_for == shape { mold.fill(values) } else { None }
    }
}

/// What stands in the holes while a mold is made: characters that Unicode keeps free for uses such as this, each with a `&` that
/// shows whether the place escapes.
const MARKS: [&str; 7] =
    ["\u{fdd0}&", "\u{fdd1}&", "\u{fdd2}&", "\u{fdd3}&", "\u{fdd4}&", "\u{fdd5}&", "\u{fdd6}&"];

struct Mold {
    pieces: Vec<Piece>,
    end: Box<str>,
}

/// A text, and the value that follows it.
struct Piece {
    text: Box<str>,
    value: usize,
    /// Whether the value stands in HTML; else it stands in a string of the data block.
    html: bool,
}

impl Mold {
    /// Makes a mold of a page with marks in it. There is none if a text of the operator's holds such a character.
    fn cast(page: &str) -> Option<Self> {
        let (mut pieces, mut rest) = (Vec::new(), page);
        while let Some(at) = rest.find(|c| ('\u{fdd0}'..='\u{fdd6}').contains(&c)) {
            let (text, mark) = rest.split_at(at);
            let value = MARKS.iter().position(|known| mark.starts_with(*known))?;
            let after = &mark[MARKS[value].len()..];
            let escaped = after.strip_prefix("amp;");
            pieces.push(Piece { text: text.into(), value, html: escaped.is_some() });
            rest = escaped.unwrap_or(after);
        }
        Some(Self { pieces, end: rest.into() })
    }

    /// Fills the holes, with one allocation unless much has to be escaped. There is no page if a value would need JSON's escapes: those
    /// that stand in the data block are tokens and links of ours, which never do.
    fn fill(&self, values: [&str; 7]) -> Option<String> {
        let length = |piece: &Piece| piece.text.len() + values[piece.value].len();
        let mut page =
            String::with_capacity(self.pieces.iter().map(length).sum::<usize>() + self.end.len() + ESCAPES);
        for Piece { text, value, html } in &self.pieces {
            page.push_str(text);
            let value = values[*value];
            if *html {
                escape_into(&mut page, value).ok()?;
            } else if value.bytes().all(|b| b.is_ascii_graphic() && !b"\"\\<".contains(&b)) {
                page.push_str(value);
            } else {
                return None;
            }
        }
        page.push_str(&self.end);
        Some(page)
    }
}

/// Room for what escapes add: the link of the wait alone has six.
const ESCAPES: usize = 256;
