//! What a visitor sees: the challenge page, the notices, and the files that they load.
//!
//! Everything is built once: templates compiled, assets squeezed, hashed and gzipped. Per request a page is filled in and escaped, and
//! the common ones are rendered once and copied.
//! It issues nothing and judges nothing; tokens, links and reasons are handed in by the gate, which also owns status and headers.

mod asset;
mod brand;
mod language;
mod mold;
mod preview;
mod sheet;
mod squeeze;
mod template;
#[cfg(test)]
mod tests;
mod view;

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior, Value, escape_formatter};
use thiserror::Error;
use tracing::error;

pub use asset::Asset;
pub use brand::{Accent, FrameAncestors, Logo, LogoError, Settings};
use language::Language;
use mold::Molds;
pub use preview::Preview;
use sheet::Sheet;
pub use template::{BUILT_IN, Template, TemplateError};
pub use view::{ChallengeView, Notice, NoticeView, WaitLink, Work};

/// A page, ready to be sent.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its source.
    pub html: String,
    /// The tag of the language it is written in.
    pub language: &'static str,
}

/// The tag of the language of ours that a tag means, such as `pt-BR` for `pt`; else every tag there is.
pub fn language_tag(wanted: &str) -> Result<&'static str, String> {
    language::tag(wanted).ok_or_else(|| {
        let all: Vec<_> = language::tags().collect();
        format!("`{wanted}` is no language of the pages; there are {}", all.join(", "))
    })
}

/// The pages and their assets. Built once, shared by all requests.
pub struct Pages {
    templates: Environment<'static>,
    languages: Vec<Language>,
    /// By language.
    molds: Vec<Molds>,
    script: Asset,
    script_name: String,
    prefix: String,
    settings: Settings,
    /// Whether the log was told that the operator's template fails.
    told: AtomicBool,
}

impl Pages {
    /// Compiles the templates and prepares the assets. `prefix` is the public prefix, such as `/.tollgate/`: a path that begins and
    /// ends with `/`.
    pub fn new(settings: &Settings, prefix: &str) -> Result<Self, PageError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
        if prefix.len() < 3
            || !prefix.starts_with('/')
            || prefix.starts_with("//")
            || !prefix.ends_with('/')
            || !prefix.bytes().all(plain)
        {
            return Err(PageError::Prefix(prefix.to_owned()));
        }
        let mut templates = Environment::new();
        templates.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        templates.set_formatter(escape);
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        let style = squeeze::css(STYLE)
            .replace("@light@", &settings.accent.light())
            .replace("@dark@", &settings.accent.dark());
        templates.add_global("style", Value::from_safe_string(style));
        templates.add_global("guard", Value::from_safe_string(squeeze::js(GUARD)));
        for (name, source) in template::PARTS {
            templates.add_template(name, source)?;
        }
        if let Some(own) = &settings.template {
            templates.add_template_owned(template::OWN, own.source().to_owned())?;
        }
        let script = Asset::script();
        let languages = language::load()?;
        Ok(Self {
            told: AtomicBool::new(false),
            templates,
            molds: languages.iter().map(|_| Molds::new()).collect(),
            languages,
            script_name: format!("{}.js", script.etag.trim_matches('"')),
            script,
            prefix: prefix.to_owned(),
            settings: settings.clone(),
        })
    }

    /// Whether these are the pages of such settings, so that others would be no different.
    pub fn are_of(&self, settings: &Settings, prefix: &str) -> bool {
        self.settings == *settings && self.prefix == prefix
    }

    /// The page that lets a browser pay, or wait where scripts are off.
    pub fn challenge(&self, view: &ChallengeView<'_>) -> Page {
        let (place, language) = self.language(view.accept_language);
        let render = |view: &ChallengeView<'_>| self.render_challenge(&self.languages[place], view);
        let copy = if self.settings.template.is_none() { self.molds[place].page(view, render) } else { None };
        Page { html: copy.unwrap_or_else(|| render(view)), language }
    }

    fn render_challenge(&self, texts: &Language, view: &ChallengeView<'_>) -> String {
        let script = format!("{}static/{}", self.prefix, self.script_name);
        self.render(&sheet::challenge(self, texts, view, script, None))
    }

    /// A page that says what happened and what to do about it.
    pub fn notice(&self, view: &NoticeView<'_>) -> Page {
        let (place, language) = self.language(view.accept_language);
        Page { html: self.render(&sheet::notice(self, &self.languages[place], view)), language }
    }

    /// The content security policy of every page. `nonce` is new for each response.
    pub fn security_policy(&self, nonce: &str) -> String {
        // `form-action 'none'` would make Chromium block the form that is sent again on reload.
        format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; worker-src 'self'; connect-src 'self'; \
             img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors {}",
            self.settings.frame_ancestors.as_str()
        )
    }

    /// Whether each visitor gets a language of their own.
    pub fn varies_by_language(&self) -> bool {
        self.settings.language.is_none()
    }

    /// The file `static/<name>`, if the pages of this build load one of that name.
    pub fn asset(&self, name: &str) -> Option<&Asset> {
        (name == self.script_name).then_some(&self.script)
    }

    /// The place of the language that a visitor gets, and its tag.
    fn language(&self, accept_language: &[u8]) -> (usize, &'static str) {
        language::choose(self.settings.language.map_or(accept_language, str::as_bytes))
    }

    fn render(&self, sheet: &Sheet<'_>) -> String {
        if self.settings.template.is_some() {
            // It was tried with every state when it was read; what it cannot show all the same, ours can.
            match self.render_with(template::OWN, sheet) {
                Ok(page) => return page,
                // Visitors can bring this about at will; once says it all.
                Err(error) => {
                    if !self.told.swap(true, Ordering::Relaxed) {
                        error!(%error, "the template of `page.template` failed, and our own page is shown");
                    }
                }
            }
        }
        self.render_with(template::PAGE, sheet)
            .expect("the template was compiled at start, and no value of a sheet can make it fail")
    }

    fn render_with(&self, template: &str, sheet: &Sheet<'_>) -> Result<String, minijinja::Error> {
        self.templates.get_template(template)?.render(Value::from(Serde(sheet)))
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("prefix", &self.prefix)
            .field("settings", &self.settings)
            .field("script", &self.script_name)
            .finish_non_exhaustive()
    }
}

/// Why the pages could not be built.
#[derive(Debug, Error)]
pub enum PageError {
    /// A language file cannot be read.
    #[error("cannot read the texts of language `{tag}`")]
    Language {
        /// The language's tag.
        tag: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The public prefix is no path that a page can link to.
    #[error("`{0}` is no public prefix; write a path that begins and ends with `/`, such as /.tollgate/")]
    Prefix(String),
    /// The template cannot be compiled.
    #[error("cannot compile the page's template")]
    Template(#[from] minijinja::Error),
}

/// Escapes for HTML as the default formatter does, but leaves `/` alone: it is harmless, and people read addresses in page sources.
fn escape(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    let text = match value.as_str() {
        Some(text) if !value.is_safe() && matches!(state.auto_escape(), AutoEscape::Html) => text,
        _ => return escape_formatter(out, state, value),
    };
    Ok(escape_into(out, text)?)
}

fn escape_into(out: &mut impl Write, text: &str) -> fmt::Result {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        out.write_str(&rest[..at])?;
        out.write_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => "&#39;",
        })?;
        rest = &rest[at + 1..];
    }
    out.write_str(rest)
}

const STYLE: &str = include_str!("assets/page.css");
const GUARD: &str = include_str!("assets/guard.js");
