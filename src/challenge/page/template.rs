//! The templates: ours, and the operator's own, which is tried with every state of the pages before it is taken.

use minijinja::Error;
use thiserror::Error;

use super::preview;
use super::{Pages, Settings};

/// The page. The name of every template ends in `.html`, which switches escaping on.
pub(super) const PAGE: &str = "page.html";
/// The operator's own page.
pub(super) const OWN: &str = "own.html";
const HEAD: &str = "head.html";
const SCRIPT: &str = "script.html";

/// Our page and its parts, which an own template may extend or include.
pub(super) const PARTS: [(&str, &str); 5] = [
    (PAGE, BUILT_IN),
    (HEAD, include_str!("assets/head.html")),
    ("content.html", include_str!("assets/content.html")),
    ("footer.html", include_str!("assets/footer.html")),
    (SCRIPT, include_str!("assets/script.html")),
];

/// The source of our page: where an own template may begin.
pub const BUILT_IN: &str = include_str!("assets/page.html");

/// The longest template, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The operator's own template: it compiles, and shows every state of the pages with all that it takes to get through.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Template(String);

/// Why a template cannot be used.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{}{what}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct TemplateError {
    /// The line of the template, from 1, where it has one.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl Template {
    /// Compiles a template and shows every state with it.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let fail = |what: String| Err(TemplateError { line: None, what });
        if source.len() > MAX_BYTES {
            return fail(format!("the template has {} bytes and may have {MAX_BYTES}", source.len()));
        }
        let own = Self(source.to_owned());
        let settings = Settings { template: Some(own.clone()), ..preview::sample() };
        let pages = match Pages::new(&settings, "/.tollgate/") {
            Ok(pages) => pages,
            Err(super::PageError::Template(error)) => return Err(told(&error)),
            Err(other) => return fail(other.to_string()),
        };
        for (state, sheet) in preview::sheets(&pages, "en") {
            let page = pages.render_with(OWN, &sheet).map_err(|error| told(&error))?;
            let part = |name| pages.render_with(name, &sheet).map_err(|error| told(&error));
            let parts = [
                ("{% include \"head.html\" %}", part(HEAD)?),
                ("{% include \"script.html\" %}", part(SCRIPT)?),
            ];
            // An attribute's value is escaped, and so are texts.
            let escaped = |(name, text): (&'static str, String)| (name, text.replace('&', "&amp;"));
            let wanted = parts.into_iter().chain(sheet.essentials().map(escaped));
            for (name, text) in wanted {
                if !page.contains(text.trim()) {
                    let text = text.trim().lines().next().unwrap_or_default();
                    return fail(format!(
                        "in the state `{state}`, {name} is not on the page; it must show: {text}"
                    ));
                }
            }
        }
        Ok(own)
    }

    pub(super) fn source(&self) -> &str {
        &self.0
    }
}

/// What the engine says, and the line where it is the template's own.
fn told(error: &Error) -> TemplateError {
    let own = error.name() == Some(OWN);
    let what = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    TemplateError { line: error.line().filter(|_| own), what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(source: &str) -> (Option<usize>, String) {
        let TemplateError { line, what } = Template::parse(source).expect_err(source);
        (line, what)
    }

    #[test]
    fn our_own_page_is_a_template() {
        Template::parse(BUILT_IN).unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn a_template_may_extend_ours_or_be_all_its_own() {
        for source in [
            "{% extends 'page.html' %}{% block header %}<p>{{ site }}</p>{% endblock %}",
            "{% extends 'page.html' %}\n{% block style %}{{ style }} main { max-width: 40rem }{% endblock %}",
            "<!doctype html><html lang=\"{{ lang }}\" dir=\"{{ dir }}\"><head>{% include 'head.html' %}</head>\n<body>{% include 'content.html' %}{{ request_id }}{% include 'script.html' %}</body></html>",
        ] {
            Template::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        }
    }

    #[test]
    fn a_broken_template_is_refused_with_its_line() {
        for (source, line, names) in [
            ("{% extends 'page.html' %}\n{% block header %}\n{{ titel }}\n{% endblock %}", 3, "undefined"),
            ("<!doctype html>\n{% if job %}", 2, "syntax"),
            ("\n\n{{ title | no_such_filter }}", 3, "filter"),
            ("\n{% include 'other.html' %}", 2, "template"),
            ("{% extends 'other.html' %}", 1, "template"),
        ] {
            let (at, what) = refused(source);
            assert_eq!(at, Some(line), "{source}: {what}");
            assert!(what.contains(names), "{source}: {what}");
        }
    }

    #[test]
    fn a_template_without_what_visitors_need_is_refused_by_name() {
        let whole = BUILT_IN.replace("{% include \"content.html\" %}", include_str!("assets/content.html"));
        let whole = whole.replace("{% include \"footer.html\" %}", "{{ request_id }}");
        Template::parse(&whole).unwrap_or_else(|error| panic!("{error}"));
        for (piece, names) in [
            ("{% include \"head.html\" %}", "head.html"),
            ("{% include \"script.html\" %}", "script.html"),
            ("{{ request_id }}", "request_id"),
            ("{{ intro }}", "intro"),
            ("{{ heading }}", "heading"),
            ("dir=\"{{ dir }}\"", "dir"),
            ("id=\"status\"", "status"),
            ("id=\"more\"", "id=\"more\""),
            ("href=\"{{ link.url }}\"", "link.url"),
            ("<p>{{ line }}</p>", "lane"),
        ] {
            assert!(whole.contains(piece), "{piece}");
            let (_, what) = refused(&whole.replacen(piece, "", 1));
            assert!(what.contains(names), "{piece}: {what}");
        }
        assert!(refused("").1.contains("head.html"));
        assert!(refused(&" ".repeat(MAX_BYTES + 1)).1.contains("65536"));
    }
}
