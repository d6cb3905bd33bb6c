//! What an operator may say on the pages, and how they look: checked when it is read, so that no page can fail for it.

mod accent;
mod frames;
mod logo;

pub use accent::Accent;
pub use frames::FrameAncestors;
pub use logo::{Logo, LogoError};

use super::Template;

/// What an operator may set about the pages.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// The site's name; the host of the request when missing.
    pub name: Option<String>,
    /// Whom a stuck visitor may ask: a mail address or an `https://` address becomes a link, anything else stands as text.
    pub contact: Option<String>,
    /// The picture above the heading.
    pub logo: Option<Logo>,
    /// The colour of links, buttons and the progress bar.
    pub accent: Accent,
    /// A line at the foot of every page.
    pub footer: Option<String>,
    /// The tag of the one language of all pages ([`super::language_tag`]); each visitor's own when missing.
    pub language: Option<&'static str>,
    /// The operator's own template instead of ours.
    pub template: Option<Template>,
    /// Which sites may show the pages in a frame.
    pub frame_ancestors: FrameAncestors,
}
